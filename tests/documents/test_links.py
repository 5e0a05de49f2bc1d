"""Links lead somewhere, names exist, and words are spelt as others spell them."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.building import names, pages

WRITTEN = [pages.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS = [*WRITTEN, *pages.pages()]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAMED = re.compile(r"(?<![\w./])(?:infex\.|(?=lab\.))([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")  # lab is infex.lab
FILES = {"infex.rules.yml", "infex.html"}  # names of files that begin alike
ENDINGS = {"db", "log", "py", "toml", "yml"}


def called(page: Path) -> str:
    return str(page.relative_to(pages.ROOT))


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", pages.FENCE.sub("", text))


def anchor(heading: str) -> str:
    """The anchor that MyST and GitHub give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")


def anchors(file: Path) -> list[str]:
    return [anchor(each) for each in HEADING.findall(file.read_text())] if file.suffix == ".md" else []


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere: no such file, or no such heading in it."""
    found = []
    for link in LINK.findall(without_code(page.read_text())):
        target, _, place = link.partition("#")
        if target.startswith(("http://", "https://")):
            continue
        file = page.parent / target if target else page
        if not file.exists() or place not in {"", *anchors(file)}:
            found.append(link)
    return found


@pytest.mark.parametrize("page", DOCUMENTS, ids=called)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One place\n[a](page.md#one-place) [b](page.md#another) [c](gone.md) `[d](code.md)`\n")
    assert broken(page) == ["page.md#another", "gone.md"]


def gone(text: str) -> list[str]:
    """Names of infex in a text that infex does not have."""
    return sorted({f"infex.{each}" for each in NAMED.findall(text) if not exists(each.split("."))})


def exists(path: list[str]) -> bool:
    """Is there such a name, as far as modules and classes go?"""
    if f"infex.{'.'.join(path)}" in FILES or path[-1] in ENDINGS:
        return True
    value: object = importlib.import_module("infex")
    for name in path:
        try:
            value = getattr(value, name)
        except AttributeError:
            try:
                value = importlib.import_module(f"infex.{'.'.join(path[: path.index(name) + 1])}")
            except ModuleNotFoundError:
                return False
    return True


@pytest.mark.parametrize("page", [*WRITTEN[:1], *pages.pages()], ids=called)
def test_names_of_infex_exist(page: Path) -> None:
    assert gone(page.read_text()) == []


def test_a_dead_name_is_seen() -> None:
    assert gone(
        "infex.every(3), infex.evry(3), infex.Bandit.ask, infex.Bandit.asks, lab.play, lab.theory.infx"
    ) == ["infex.Bandit.asks", "infex.evry", "infex.lab.theory.infx"]


def test_words_are_spelt_as_others_spell_them() -> None:
    folders = [*WRITTEN, pages.DOCS, pages.ROOT / "examples", pages.ROOT / "infex"]
    command = [
        sys.executable,
        "-m",
        "codespell_lib",
        "--skip=*/_build/*,*/_static/*,*.ipynb,*.svg,*.png,*.pyc,*.nb?",
    ]
    words = ["--ignore-words-list=infex,nd,ons,convertor,convertors,worstcase"]
    told = subprocess.run([*command, *words, *map(str, folders)], capture_output=True, text=True)
    assert told.stdout == ""
    assert told.returncode == 0, told.stderr


def test_every_page_is_on_the_site_once() -> None:
    listed = []
    for page in pages.pages():
        for block in pages.blocks(page):
            if block.language == "{toctree}":
                lines = [line for line in block.code.splitlines() if line and not line.startswith(":")]
                listed += [str((page.parent / f"{line}.md").relative_to(pages.DOCS)) for line in lines]
    assert len(listed) == len(set(listed))
    assert {*listed, "index.md"} == {str(page.relative_to(pages.DOCS)) for page in pages.pages()}


def test_every_public_name_stands_in_the_api_once() -> None:
    shown = []
    for page in (pages.DOCS / "api").glob("*.md"):
        for block in pages.blocks(page):
            if block.language == "{names}":
                listed = [f"{block.rest}.{name}" for name in block.code.split()]
                room = [name for name in names.public() if name.rpartition(".")[0] == block.rest]
                shown += listed or room
    assert len(shown) == len(set(shown))
    assert set(shown) == set(names.public())
