"""All commands as Markdown, from the same words that `--help` prints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from infex.cli.main import main


def write(_: str, __: list[str]) -> str:
    """A section for each command, and for each command within one."""
    context = click.Context(main, info_name="infex")
    return "\n".join(line for each in walk(main, context) for line in section(*each))


def walk(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command below this one, with the context that knows its full name."""
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None, name
        below = click.Context(inner, info_name=name, parent=context)
        yield inner, below
        yield from walk(inner, below)


def section(command: click.Command, context: click.Context) -> Iterator[str]:
    """What one command does, and its options."""
    path = context.command_path
    yield f"{'#' * (path.count(' ') + 1)} {path}\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{path} {usage}\n```\n"
    yield prose(command.help or "")
    records = [each.get_help_record(context) for each in command.get_params(context)]
    rows = [each for each in records if each is not None and not each[0].startswith("-h, --help")]
    if rows:
        yield "| option | what it does |\n|---|---|"
        yield from (f"| `{safe(names)}` | {safe(words)} |" for names, words in rows if names)
        yield ""


def prose(help_text: str) -> str:
    """Help as Markdown: a paragraph behind a backspace is kept as it stands, in a block."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(help_text.split("\f")[0]))
    return "\n\n".join(block(part) if part.startswith("\b") else flowing(part) for part in parts) + "\n"


def block(part: str) -> str:
    """Lines as they are."""
    return "```text\n" + part.lstrip("\b\n") + "\n```"


def flowing(part: str) -> str:
    """Words, in which nothing is a sign of Markdown."""
    return re.sub(r"([*_<>\[\]|])", r"\\\1", part)


def safe(words: str) -> str:
    """Words of a table's cell."""
    return words.replace("|", "\\|")
