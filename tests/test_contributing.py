"""CONTRIBUTING's recipes, followed to the letter in a copy of the package."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import infex
from docs.building.pages import FENCE
from infex.core import ridge

ROOT = Path(__file__).parent.parent
RECIPES = dict(
    re.findall(
        r"^## (.*?)\n(.*?)(?=^## |\Z)", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE
    )
)
FOLDERS = ("infex", "tests", "docs", "examples", "deploy")
PYTEST = """  # an editable install would lead back to the checkout
import sys
sys.meta_path = [each for each in sys.meta_path if "editable" not in type(each).__module__]
import infex, pytest
assert infex.__file__.startswith(sys.argv[1]), infex.__file__
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


def copy_to(folder: Path) -> None:
    """Puts all that a recipe may change into a folder."""
    leave = shutil.ignore_patterns("__pycache__", "_build", "*.so")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for file in (*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"):
        shutil.copy(file, folder)
    for built in Path(ridge.__file__).parent.glob("*.so"):  # where an editable install has built them
        shutil.copy(built, folder / "infex" / "core")


def applied(change: str, text: str) -> str:
    """A text after the hunks of a change, each of which must fit in one place."""
    lines = text.splitlines()
    for hunk in re.split(r"^@@\n", change, flags=re.MULTILINE):
        before = [line[1:] for line in hunk.splitlines() if line[0] in " -"]
        after = [line[1:] for line in hunk.splitlines() if line[0] in " +"]
        places = [place for place in range(len(lines)) if lines[place : place + len(before)] == before]
        assert len(places) == 1, f"this stands in {len(places)} places: {before}"
        lines[places[0] : places[0] + len(before)] = after
    return "\n".join([*lines, ""])


def follow(recipe: str, folder: Path) -> list[str]:
    """Writes the files of a recipe and applies its changes; the commands that it names."""
    commands: list[str] = []
    for block in FENCE.finditer(recipe):
        first, _, rest = block["code"].partition("\n")
        if block["info"] == "python":
            assert first.startswith("# "), first
            file = folder / first[2:]
            assert not file.exists(), file
            file.write_text(rest)
        elif block["info"] == "diff":
            file = folder / first.removeprefix("+++ ")
            file.write_text(applied(rest, file.read_text()))
        else:
            assert block["info"] == "console", block["info"]
            commands += block["code"].splitlines()
    return commands


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works_as_it_is_written(name: str, tmp_path: Path) -> None:
    copy_to(tmp_path)
    commands = follow(RECIPES[name], tmp_path)
    assert commands
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "pytest"
        ran = subprocess.run(
            [sys.executable, "-c", PYTEST, str(tmp_path), *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout[-4000:]}{ran.stderr[-2000:]}"


def test_there_is_a_recipe_for_all_that_is_often_added() -> None:
    assert [*RECIPES] == [
        "A policy", "A schedule", "A problem", "An estimator", "A store", "A figure or a table for the report"
    ]  # fmt: skip
    assert Path(infex.__file__).parent == ROOT / "infex"


def test_a_change_that_does_not_fit_is_seen() -> None:
    assert applied(" a\n+b\n@@\n-c\n+d\n", "a\nc\n") == "a\nb\nd\n"
    with pytest.raises(AssertionError, match="0 places"):
        applied(" x\n+b\n", "a\nc\n")
    with pytest.raises(AssertionError, match="2 places"):
        applied(" a\n+b\n", "a\na\n")
