"""Builds the wheel, looks at what it links to, and runs README's example with it in an empty environment."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, folder: Path) -> str:
    """The output of a command run in `folder`, where this checkout is out of sight."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Exits with a message if anything is amiss."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            folder,
            ROOT,
            folder=folder,
        )
        (wheel,) = folder.glob("*.whl")
        linked = run(sys.executable, "-m", "auditwheel", "show", wheel, folder=folder)
        if "manylinux" not in linked:
            sys.exit(f"the wheel links to libraries that not every Linux has:\n{linked}")
        venv.create(folder / "empty", with_pip=True)
        python = folder / "empty" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, folder=folder)
        example = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
        printed = run(python, "-c", example, folder=folder)
        if "explored" not in printed or not (folder / "pricing.infex").exists():
            sys.exit(f"README's example printed {printed!r} and saved nothing")
        names = run(python, "-c", "import infex.testing; print(infex.__file__)", folder=folder)
        if str(folder) not in names:
            sys.exit(f"the wheel was not what ran: {names}")
    print(f"{wheel.name}: installs and runs README's example. It printed: {printed.strip()}")


if __name__ == "__main__":
    main()
