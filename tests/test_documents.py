"""What the documents show works."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import infex
from docs.building import pages
from infex.arrays import Floats

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
    names: dict[str, object] = {"infex": infex, "np": np}
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


def upper_bounds(x: Floats, log: list[tuple[Floats, str, float]], labels: list[str]) -> list[float]:
    """LinUCB with alpha = 1 and a penalty of 1, for each arm, by NumPy (Li et al., 2010, Algorithm 1)."""
    found = []
    for label in labels:
        mine = [(seen, reward) for seen, played, reward in log if played == label]
        inverse = np.linalg.inv(
            np.eye(x.size) + sum((np.outer(seen, seen) for seen, _ in mine), np.zeros((2, 2)))
        )
        theta = inverse @ sum((reward * seen for seen, reward in mine), np.zeros(2))
        found.append(float(x @ theta + np.sqrt(x @ inverse @ x)))
    return found


def test_those_who_come_from_elsewhere_find_the_same_ten_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = blocks("docs/coming-from.md")
    assert [len([line for line in block.splitlines() if line]) for block in pairs[:8]] == [10] * 8
    libraries = ("mabwiser", "contextualbandits", "vowpalwabbit", "river", "coba", "optuna")
    assert [name for block in pairs[::2] for name in libraries if name in block] == list(libraries)
    assert not any("infex" in block for block in pairs[::2])
    shop, other, news = ({} for _ in range(3))  # type: ignore[var-annotated]
    for block, names in zip(pairs[1:6:2], (shop, other, news), strict=True):
        exec(block, names)
    rows = [np.array(row) for row in shop["visits"]]
    log = list(zip(rows, ["tea", "coffee", "tea"], [1.0, 0.0, 1.0], strict=True))
    x = np.array([1.0, 0.3])
    bounds = upper_bounds(x, log, ["tea", "coffee"])
    assert shop["drink"].label == ["tea", "coffee"][int(np.argmax(bounds))]
    log.append((x, shop["drink"].label, 1.0))
    for seen, drink in zip([[1.0, 0.5], [1.0, 0.8]], shop["drinks"], strict=True):
        assert drink == ["tea", "juice"][int(np.argmax(upper_bounds(np.array(seen), log, ["tea", "juice"])))]
    assert other["surest"] == ["tea"] * 3
    assert other["shop"].exploration().done == 1
    assert news["shown"].label in news["actions"]
    assert news["chance"] == pytest.approx(0.95 if news["shown"].arm == news["shown"].greedy else 0.05)
    assert news["loaded"].digest() == news["news"].digest()


def test_the_version_has_an_entry_in_the_changelog() -> None:
    assert f"## {infex.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_public_name_has_a_docstring() -> None:
    for name in vars(infex)["__all__"]:
        assert getattr(infex, name).__doc__, name
