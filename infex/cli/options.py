"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from infex.errors import InvalidSetting

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)

context_option = click.option(
    "--context", multiple=True, metavar="COLUMN", help="Columns of the log that are the context of a round."
)
features_option = click.option(
    "--features",
    metavar="MAP",
    help="Map that joins contexts with arms: disjoint, or interactions or hybrid with --arms; after the word "
    "table if contexts have texts; or module:name. A log of infex may name its own.",
)
workers_option = click.option(
    "--workers", type=click.IntRange(min=1), help="Processes at once [default: all cores]."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON in place of tables.")


def out_option(folder: str) -> Callable[[F], F]:
    """The folder for all results, `folder` by default."""
    return click.option(
        "--out", type=FOLDER, default=folder, show_default=True, help="Folder for all results."
    )


def several(option: str, name: str, metavar: str, help_text: str) -> Callable[[F], F]:
    """An option that may be given several times; the command gets a tuple under this name."""
    return click.option(option, name, multiple=True, metavar=metavar, help=help_text)


class RoundsOption(click.ParamType[int]):
    """A number of rounds, also as 1e6."""

    name = "ROUNDS"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The whole number that is meant."""
        try:
            number = float(value)
        except ValueError:
            number = 0.5
        if not number.is_integer():
            self.fail(f"{value!r} is not a whole number of rounds", param, ctx)
        return int(number)


def folder_for(folder: Path) -> Path:
    """The folder, made if it is missing: before the work, so that none is done in vain."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise InvalidSetting(f"cannot write to {folder}: {fault.strerror}") from None
    return folder


def ready_for_figure(file: Path) -> None:
    """Makes the folder of a picture, if its ending is one of a picture: before the work, too."""
    from infex.lab.reports.figures import format_of

    format_of(file)
    folder_for(file.parent)
