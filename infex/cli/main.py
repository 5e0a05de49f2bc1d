"""`infex`: the group of all commands, and how errors are shown."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from typing import Any

import click

from infex import __version__
from infex.cli import INTERRUPTED_CODE
from infex.cli.extras import EXTRAS_OF_COMMANDS, is_of_extras, needed_by
from infex.errors import InfexError, InfexWarning


class Group(click.Group):
    """Commands that show named errors of infex in one line, with code 2; an interruption has code 130."""

    def list_commands(self, context: click.Context) -> list[str]:
        """All of them, in alphabetical order."""
        return sorted(EXTRAS_OF_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """A command, from its file; one whose extra is not installed says so when it is called."""
        if name not in EXTRAS_OF_COMMANDS:
            return None
        try:
            found: click.Command = vars(importlib.import_module(f"infex.cli.{name}_command"))[name]
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "infex":
                raise
            return _missing(name, error.name or "a library")
        return found

    def invoke(self, context: click.Context) -> Any:
        """Runs a command; each warning of infex is shown once, other warnings never."""
        sys.path.insert(0, "")  # finds `package.module:object` in the current folder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", category=InfexWarning)
            warnings.showwarning = functools.partial(_say, set())
            try:
                return super().invoke(context)
            except InfexError as error:
                raise click.UsageError(str(error)) from error
            except ModuleNotFoundError as error:
                library = (error.name or "").split(".")[0]
                if not is_of_extras(library):
                    raise
                raise click.UsageError(needed_by(context.invoked_subcommand, library)) from error
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
                sys.exit(INTERRUPTED_CODE)


def _missing(name: str, library: str) -> click.Command:
    """A command that cannot run, for want of a library."""
    words = needed_by(name, library)

    @click.command(
        name,
        short_help=words.partition("; ")[2],
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )
    @click.argument("rest", nargs=-1, type=click.UNPROCESSED)
    def refuse(rest: tuple[str, ...]) -> None:
        raise click.UsageError(words)

    return refuse


def _say(said: set[str], message: Warning | str, *where: object) -> None:
    """Prints a warning in one line, unless it was printed before."""
    words = " ".join(str(message).split())
    if words not in said:
        said.add(words)
        click.echo(f"warning: {words}", err=True)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="infex")
def main() -> None:
    """Linear bandits that explore only when they are told to.

    \b
    infex reproduce                         the paper's whole experiment, in a folder with a report
    infex run sweep.toml --out results      a sweep of your own; infex run results plays it again
    infex compare LinUCB Greedy --in DIR    two policies, pair by pair
    infex diff DIR DIR                      which runs of two folders agree bit for bit
    infex suite --policy my.module:Mine     named challenges, with your policies, on one scored page
    infex report DIR                        figures and page anew from the table
    infex plan --horizon 1e6 ...            how rarely may I explore?
    infex evaluate LOG --policy now ...     which policy would have been better?
    infex log convert A B                   a log of others, or of a bandit, as Parquet, and back
    infex bound --dim 10 --gap 0.1 ...      what the theorem promises, if anything
    infex verify                            the paper's statements, checked on fresh runs
    infex study list sqlite:///shop.db      studies: show, log, explain, verify, export, backup and more
    infex serve --db sqlite:///shop.db      decisions over HTTP, and a page
    infex token make | list | revoke        who may ask a service, and for what
    """
