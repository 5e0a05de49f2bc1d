"""The page of all commands says what `--help` says."""

import click
from click.testing import CliRunner

from docs.building import command_pages
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
