"""`infex` and `infex lab`: the groups of commands, and how errors are shown."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from typing import Any

import click

from infex import __version__
from infex.checks import hint
from infex.cli import COMMANDS, INTERRUPTED_CODE, extras_with, needed_by
from infex.errors import InfexError, InfexWarning

RESEARCH = ("reproduce", "lab")  # shown below the commands of practitioners


class LazyGroup(click.Group):
    """The commands on the list that begin with the group's own words, each imported when it is called."""

    def __init__(self, *given: Any, path: str = "", **more: Any) -> None:
        super().__init__(*given, **more)
        self.path = path  # of the group, with a blank behind it, as in "lab run"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the list."""
        names = [path.removeprefix(self.path) for path in COMMANDS if path.startswith(self.path)]
        return [name for name in names if " " not in name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command from its module."""
        if cmd_name not in self.list_commands(ctx):
            known = hint(cmd_name, self.list_commands(ctx))
            raise click.UsageError(f"No such command {cmd_name!r}{known}.", ctx)
        path = self.path + cmd_name
        try:
            module = importlib.import_module(f"infex.cli.{COMMANDS[path].module}")
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "infex":
                raise
            raise click.UsageError(needed_by(path, error.name or "a library")) from error
        found: click.Command = vars(module)[cmd_name]
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list with its summaries; no command is imported for it."""
        names = self.list_commands(ctx)
        research = [name for name in names if self.path + name in RESEARCH]
        for title, some in (
            ("Commands", [name for name in names if name not in research]),
            ("Research", research),
        ):
            if some:
                with formatter.section(title):
                    formatter.write_dl([(name, COMMANDS[self.path + name].summary) for name in some])

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; where a library is missing, says what to install."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            library = (error.name or "").split(".")[0]
            if not extras_with(library):
                raise
            raise click.UsageError(needed_by(f"{self.path}{ctx.invoked_subcommand}", library)) from error


class Program(LazyGroup):
    """All of `infex`: its named errors are shown in one line, with code 2; an interruption has code 130."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; each warning of infex is shown once, other warnings never."""
        sys.path.append("")  # finds `package.module:object` in the current folder, and shadows no library
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", category=InfexWarning)
            warnings.showwarning = functools.partial(_show_warning, set())
            try:
                return super().invoke(ctx)
            except InfexError as error:
                raise click.UsageError(_words(error)) from error
            except OSError as error:
                if error.filename is None:
                    raise
                raise click.UsageError(f"{error.filename}: {error.strerror}") from error
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
                sys.exit(INTERRUPTED_CODE)


def _words(error: InfexError) -> str:
    """An error in words, with what was expected instead, where it says that apart."""
    words, expected = str(error), getattr(error, "expected", None)
    return words if expected is None or expected in words else f"{words}; expected: {expected}"


def _show_warning(shown: set[str], message: Warning | str, *where: object) -> None:
    """Prints a warning in one line, unless it was printed before."""
    words = " ".join(str(message).split())
    if words not in shown:
        shown.add(words)
        click.echo(f"warning: {words}", err=True)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="infex")
def main() -> None:
    """Linear bandits that explore only when they are told to.

    \b
    infex plan --arms arms.csv --horizon 50000        a schedule before the first decision
    infex evaluate year.parquet --policy now --policy Greedy --against now
    infex study verify sqlite:///shop.db tea          replay a journal, and check every decision
    infex serve --db sqlite:///shop.db                decisions over HTTP
    infex reproduce                                   the paper's experiment
    infex lab run sweep.toml --out results            a sweep of your own

    `infex COMMAND --help` explains a command and its options.
    """


@click.group(cls=LazyGroup, path="lab ")
def lab() -> None:
    """The laboratory: sweeps, their results, the suite and the theory.

    \b
    infex lab run sweep.toml --out results            infex lab run --example prints a file to start from
    infex lab compare LinUCB Greedy --in results      two policies, pair by pair
    infex lab report results --show median            figures and page again
    infex lab suite --policy my.module:Mine           your policy on eleven challenges
    infex lab atlas                                   every published base, alone and under schedules
    infex lab bound --dim 10 --gap 0.1 --horizon 1e6  what the theorem promises
    infex lab verify                                  the paper's statements, on fresh runs
    """
