"""The other libraries' lines on docs/coming-from.md, run as they stand."""

import os
import tempfile
from pathlib import Path

from docs.building.pages import DOCS, blocks


def run_page() -> None:
    """Runs every block that the tests of infex leave out, each by itself, in a folder of its own."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks(DOCS / "coming-from.md"):
                if block.rest == "norun":
                    exec(block.code, {"__name__": "page"})
        finally:
            os.chdir(here)
