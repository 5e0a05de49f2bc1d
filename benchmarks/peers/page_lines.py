"""The other libraries' lines on docs/coming-from.md, run as they stand.

`make peers` runs all six, and records what each decided together with the digest of its lines: so the
tests of infex notice lines that were changed and never run, also of a library that they do not install.
"""

import contextlib
import datetime
import hashlib
import importlib.metadata
import json
import tempfile
from typing import Any

import numpy as np

from docs.building.pages import DOCS, Block, peer_lines, run_python

PAGE = DOCS / "coming-from.md"
FILE = DOCS / "measured" / "coming-from.json"
LIBRARIES = ("mabwiser", "contextualbandits", "vowpalwabbit", "river", "coba", "optuna")  # as on the page
DECIDED = ("drink", "drinks", "surest")  # what lines call the arms that were chosen without a draw


def lines() -> dict[str, Block]:
    """The lines of each library."""
    return dict(zip(LIBRARIES, peer_lines(PAGE), strict=True))


def digest(block: Block) -> str:
    """A name for these very lines."""
    return hashlib.sha256(block.code.encode()).hexdigest()


def played(block: Block) -> dict[str, Any]:
    """The names that lines leave behind, run in an empty folder."""
    names: dict[str, Any] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run_python(PAGE, block, block.code, names)
    return names


def decided(names: dict[str, Any]) -> dict[str, Any]:
    """The arms that were chosen, as plain text."""
    return {name: np.asarray(names[name]).tolist() for name in DECIDED if name in names}


def run_page(agreement: dict[str, int]) -> None:
    """Runs the lines of all libraries, and writes what they decided, and in how many rounds as infex did."""
    found = {
        name: {"digest": digest(block), "decided": decided(played(block))} for name, block in lines().items()
    }
    record = {
        "date": datetime.date.today().isoformat(),
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "lines": found,
        "rounds alike, of 300": agreement,
    }
    FILE.write_text(json.dumps(record, indent=1) + "\n")
