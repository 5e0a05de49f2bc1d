"""Notebooks: run from top to bottom in a folder of their own, and shown with what they put out."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from docs.building.pages import DOCS

FOLDER = DOCS / "notebooks"
PICTURES = DOCS / "_static" / "pictures"


def executed(path: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs of its cells, run in an empty folder; a cell that fails is raised."""
    notebook = nbformat.reads(path.read_text(), as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        return client.execute()


def write(name: str, _: list[str]) -> str:
    """The notebook as Markdown; its pictures are saved beside those of pages."""
    notebook = executed(FOLDER / f"{name}.ipynb")
    assert notebook.cells[0].source.startswith("## "), (
        f"{name}: Sphinx drops what stands before the first heading"
    )
    return "\n\n".join(
        part for number, cell in enumerate(notebook.cells) for part in parts(name, number, cell)
    )


def parts(name: str, number: int, cell: nbformat.NotebookNode) -> Iterator[str]:
    """Words as they stand; code, and below it what it put out."""
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/png" in data:
            PICTURES.mkdir(parents=True, exist_ok=True)
            (PICTURES / f"{name}-{number}.png").write_bytes(base64.b64decode(data["image/png"]))
            words = cell.metadata.get("alt", "A picture made by the cell above")
            yield f"![{words}](/_static/pictures/{name}-{number}.png)"
        elif text := output.get("text") or data.get("text/plain"):
            yield f"```text\n{text.rstrip()}\n```"
