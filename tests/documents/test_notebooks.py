"""Notebooks run from top to bottom."""

import os
from pathlib import Path

import pytest

from docs.building import notebook_pages, pages

NOTEBOOKS = sorted(notebook_pages.FOLDER.glob("*.ipynb"))


@pytest.mark.compiled
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(pages.ROOT), os.environ.get("PYTHONPATH", "")]))
    found = notebook_pages.executed(path)
    assert all(cell.execution_count for cell in found.cells if cell.cell_type == "code")
    assert (path.parent / f"{path.stem}.md").exists()


def test_a_notebook_is_kept_without_what_it_put_out() -> None:
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        assert '"outputs": []' in path.read_text()
        assert '"execution_count": 1' not in path.read_text()
