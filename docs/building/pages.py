"""Pages of `docs/`: the code that they show, and what happens when it is run from top to bottom."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.building.serving import PATIENT, SHOWN, served

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent
FENCE = re.compile(
    r"^(?P<ticks>```+)(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=ticks) *$", re.DOTALL | re.MULTILINE
)
PICTURE_OPTION = re.compile(r"^:[\w-]+:.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, what stands behind that, its code and its line in the page."""

    language: str
    rest: str
    code: str
    line: int


def pages() -> list[Path]:
    """All pages of the site that are written by hand."""
    return sorted(path for path in DOCS.rglob("*.md") if not {"_build", "building"} & set(path.parts))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom."""
    text = page.read_text()
    for found in FENCE.finditer(text):
        language, _, rest = found["info"].strip().partition(" ")
        yield Block(language, rest.strip(), found["code"], text[: found.start("code")].count("\n") + 1)


def programs(page: Path) -> list[Block]:
    """What is run: Python, pictures and shell blocks; lines of another library (`peer`) run by themselves."""
    found = [block for block in blocks(page) if block.language in ("python", "sh", "{picture}")]
    return [block for block in found if block.rest != "peer"]


def peer_lines(page: Path) -> list[Block]:
    """The lines of other libraries on a page."""
    return [block for block in blocks(page) if (block.language, block.rest) == ("python", "peer")]


def run(page: Path, pictures: Path | None = None) -> dict[str, object]:
    """The names that a page's code leaves behind, run in the current folder in one namespace.

    A `{picture}` block leaves a `figure`, which is saved into `pictures` under the name behind the word. A
    block marked `served` asks the service that the page starts with `infex serve --db`.
    """
    from matplotlib import rcParams

    rcParams["font.size"] = 11
    names: dict[str, object] = {"__name__": "page"}
    for block in programs(page):
        if block.language == "sh":
            run_shell(block.code)
        elif block.rest == "served":
            run_served(page, block, names)
        else:
            run_python(page, block, block.code, names)
        if block.language == "{picture}" and pictures is not None:
            save(names["figure"], pictures / block.rest)
    return names


def kept_pictures() -> dict[str, Path]:
    """Pictures that stand in docs/ too, with the page that draws each."""
    shown = [(block, page) for page in pages() for block in blocks(page) if block.language == "{picture}"]
    return {block.rest: page for block, page in shown if "\n:kept:\n" in "\n" + block.code}


def run_python(page: Path, block: Block, code: str, names: dict[str, object]) -> None:
    """Runs a block's code, whose errors name the page and the line."""
    source = "\n" * (block.line - 1) + PICTURE_OPTION.sub("\n", code)
    exec(compile(source, str(page), "exec", dont_inherit=True), names)  # annotations are as a user's


def run_served(page: Path, block: Block, names: dict[str, object]) -> None:
    """Runs a block against a real service, whose address stands in the place of the one that is shown."""
    assert f'"{SHOWN}"' in block.code, f"{page.name}, line {block.line}: it asks no service at {SHOWN}"
    with served(*serve_words(page)) as url:
        run_python(page, block, block.code.replace(f'"{SHOWN}"', f'"{url}", {PATIENT}'), names)


def serve_words(page: Path) -> list[str]:
    """What stands behind `infex serve` where a page starts a service on a database."""
    shown = [words for block in blocks(page) for words in commands(block.code)]
    return next(words[1:] for words in shown if words[:2] == ["serve", "--db"])


def save(figure: object, path: Path) -> None:
    """A figure of matplotlib as a file, the same bytes each time."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    assert isinstance(figure, Figure), f"{path.name}: a picture block leaves a figure called figure"
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "infex", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})


def commands(code: str) -> list[list[str]]:
    """The words of each `infex ...` line of a shell block; lines that end in a backslash go on."""
    lines = code.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("infex ")]


def run_shell(code: str) -> None:
    """Runs the infex commands of a block here, and stops at one that fails."""
    from click.testing import CliRunner

    from infex.cli.main import main

    for words in commands(code):
        with contextlib.chdir("."):
            done = CliRunner().invoke(main, words, catch_exceptions=False)
        assert done.exit_code == 0, f"infex {shlex.join(words)} ended with {done.exit_code}: {done.output}"
