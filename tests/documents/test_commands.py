"""The page of all commands says what `--help` says."""

import re
import tomllib

import click
from click.testing import CliRunner

from docs.building import command_pages, pages
from infex.cli.main import main


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
    said = CliRunner().invoke(main, ["bound", "--help"]).output
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
