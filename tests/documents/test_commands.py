"""The page of all commands says what `--help` says."""

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from docs.building import command_pages, pages
from infex.cli.main import main
from tests.documents.test_pages import unknown_words


def test_every_command_and_option_is_on_the_page() -> None:
    page = command_pages.write("", [])
    context = click.Context(main, info_name="infex")
    commands = list(command_pages.walk(main, context))
    assert len(commands) > 20
    for command, inner in commands:
        assert f"# {inner.command_path}\n" in page
        for each in command.get_params(inner):
            record = each.get_help_record(inner)
            if record is not None and each.name != "help":
                assert command_pages.safe(record[1]) in page, (inner.command_path, each.name)


def test_help_and_page_have_the_same_words() -> None:
    page = " ".join(command_pages.write("", []).split())
    said = CliRunner().invoke(main, ["lab", "bound", "--help"]).output
    first = " ".join(said.split("\n\n")[1].split())
    assert first.split(".")[0] in page


def shown_lines() -> list[str]:
    """Every line of code in the documents that are read first, and on all pages."""
    written = [pages.ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    found = [block.code for page in [*written, *pages.pages()] for block in pages.blocks(page)]
    return "\n".join(found).splitlines()


def test_what_is_made_by_make_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([\w-]+):", (pages.ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {line.split()[1] for line in shown_lines() if line.startswith("make ")}
    assert len(named) > 5
    assert named <= targets


def test_what_is_installed_beside_infex_is_known_to_the_package() -> None:
    known = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {
        each
        for line in shown_lines()
        for group in re.findall(r"pip install \"?[.\w]+\[([\w,]+)\]", line)
        for each in group.split(",")
    }
    assert {"experiments", "service", "study"} <= named <= set(known)


def written_texts() -> Iterator[tuple[Path, str]]:
    """All that a user may read: texts in the code, pages, and files for the service."""
    for path in sorted((pages.ROOT / "infex").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value
    for where in (
        "*.md",
        "docs/*.md",
        "deploy/*",
        "infex/service/static/*.js",
        "infex/service/static/*.html",
    ):
        for path in sorted(pages.ROOT.glob(where)):
            yield path, path.read_text()
    yield Path("code on pages"), "\n".join(f"`{line}" for line in shown_lines())


def test_every_command_that_is_named_somewhere_exists() -> None:
    """Within backticks and in code; of groups, such as `infex study`, also in plain words."""
    context = click.Context(main, info_name="infex")
    paths = {inner.command_path.split(" ", 1)[-1] for _, inner in command_pages.walk(main, context)}
    groups = {path.split()[0] for path in paths if " " in path}
    named = [
        (path, first, second)
        for path, text in written_texts()
        for quote, first, second in re.findall(r"(`?)\binfex ([a-z]+)(?:\s+([a-z]+(?:-[a-z]+)*)\b)?", text)
        if quote or first in groups
    ]
    assert len(named) > 50
    for path, first, second in named:
        assert first in paths, f"{path} names `infex {first}`"
        assert first not in groups or not second or f"{first} {second}" in paths, (
            f"{path} names `infex {first} {second}`"
        )


def test_every_example_of_help_is_a_command_with_its_options() -> None:
    """What stands behind two blanks says what an example does."""
    context = click.Context(main, info_name="infex")
    helps = [main.help, *(command.help for command, _ in command_pages.walk(main, context))]
    lines = [line.strip() for text in helps for line in (text or "").splitlines()]
    examples = [re.split(r" {2,}", line)[0] for line in lines if re.match(r"infex [a-z]+ ?[^|]*$", line)]
    assert len(examples) > 40
    for example in examples:
        words = shlex.split(example.partition(" > ")[0])[1:]
        assert not unknown_words(words), example
