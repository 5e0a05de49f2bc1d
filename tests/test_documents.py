"""What the documents show works."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import infex
from docs.building import pages

ROOT = Path(infex.__file__).parent.parent


def blocks(document: str) -> list[str]:
    """The Python that a document shows."""
    return [block.code for block in pages.blocks(ROOT / document) if block.language == "python"]


@pytest.mark.compiled
def test_the_readme_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("README.md"):
        exec(block, names)
    shop = names["shop"]
    assert isinstance(shop, infex.Bandit)
    assert infex.Bandit.load(tmp_path / "pricing.infex").digest() == shop.digest()


def test_the_readme_is_read_in_two_screens() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    assert len(text) < 6500
    assert "make test" in text
    assert text.count("![") == 1
    practitioner, researcher = blocks("README.md")
    for block in (practitioner, researcher):
        assert len([line for line in block.splitlines() if line]) <= 11  # ten, and the import


def test_the_laboratory_keeps_its_word_on_the_contract() -> None:
    names: dict[str, object] = {"infex": infex, "lab": infex.lab, "np": np}
    for block in blocks("docs/laboratory.md"):
        if "Curious" in block:
            exec(block, names)
    contract = names["TestCurious"]()
    for name in dir(contract):
        if name.startswith("test_"):
            getattr(contract, name)()


@pytest.mark.compiled
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) > 3


def test_the_version_has_an_entry_in_the_changelog() -> None:
    assert f"## {infex.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_public_name_has_a_docstring() -> None:
    for name in vars(infex)["__all__"]:
        assert getattr(infex, name).__doc__, name
