"""`infex`: the group of all commands, and how errors are shown."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import click

from infex import __version__
from infex.cli import INTERRUPTED_CODE
from infex.cli.bound_command import bound
from infex.cli.compare_command import compare
from infex.cli.diff_command import diff
from infex.cli.evaluate_command import evaluate
from infex.cli.log_command import log
from infex.cli.plan_command import plan
from infex.cli.report_command import report
from infex.cli.reproduce_command import reproduce
from infex.cli.run_command import run
from infex.cli.study_command import study
from infex.cli.suite_command import suite
from infex.cli.verify_command import verify
from infex.cli.warm_command import warm
from infex.errors import InfexError, InfexWarning


class Group(click.Group):
    """Commands that show named errors of infex in one line, with code 2; an interruption has code 130."""

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
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
                sys.exit(INTERRUPTED_CODE)


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
    infex warm                              compiles all that is needed, ahead of its first use
    """


for command in (
    reproduce, run, suite, report, compare, diff, log, plan, evaluate, bound, verify, warm, study,
):  # fmt: skip
    main.add_command(command)
