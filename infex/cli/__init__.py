"""The command line: one file for each command, each calling one function."""

import sys


def main() -> None:
    """The program `infex`."""
    try:
        from infex.cli.main import main as commands
    except ModuleNotFoundError as error:
        sys.exit(f"infex: {error.name} is missing; the commands need: pip install 'infex[experiments]'")
    except KeyboardInterrupt:
        sys.exit(130)
    commands(prog_name="infex")
