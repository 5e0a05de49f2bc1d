"""Where results come from: versions of what played them, and the commit of the folder they were played in."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("infex", "numpy", "scipy", "joblib", "pyarrow")
GIT_SECONDS = 10  # a repository on a slow disk is left out rather than waited for


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The version of each package that is installed, and of Python."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found | {"python": platform.python_version()}


def commit(folder: Path | None = None) -> str:
    """The commit that a folder (the current one) is at, marked if files differ from it; "" outside git.

    >>> commit(Path("/"))
    ''
    """
    where = Path() if folder is None else folder
    head = _git(where, "rev-parse", "HEAD")
    if not head:
        return ""
    changed = _git(where, "status", "--porcelain", "--untracked-files=no")
    return f"{head}, with changes" if changed else head


def _git(folder: Path, *words: str) -> str:
    """What git says, or nothing where it cannot."""
    try:
        said = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()
