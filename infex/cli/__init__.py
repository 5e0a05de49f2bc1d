"""The command line: one file for each command, each calling one function."""

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Iterator

INTERRUPTED_CODE = 130  # what a program that Ctrl-C has ended exits with
OBJECTS_TO_COLLECT = (
    50_000  # new objects between two garbage collections; Python's own 700 take 0.3 s of imports
)


def main() -> None:
    """The program `infex`."""
    gc.set_threshold(OBJECTS_TO_COLLECT)
    try:
        with _quiet():
            from infex.cli.main import main as commands
    except ModuleNotFoundError as error:
        from infex.cli.extras import command_in, needed_by

        sys.exit(f"infex: {needed_by(command_in(sys.argv[1:]), error.name or 'a library')}")
    commands(prog_name="infex")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Ctrl-C ends the program at once and in silence; a library being imported would print a traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a shell may have set it to be ignored
        signal.signal(signal.SIGINT, lambda *given: os._exit(INTERRUPTED_CODE))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
