"""`infex suite`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from infex.cli.options import FOLDER


@click.command()
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="An entrant beside the paper's: an expression or package.module:Policy(a=1); may be given again.",
)
@click.option("--only", multiple=True, metavar="NAME", help="A challenge by name; may be given again.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="Seeds of each.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at once [default: all cores].")
@click.option("--out", type=FOLDER, default="suite", show_default=True, help="Folder for all results.")
@click.option("--force", is_flag=True, help="Write into a folder with other contents; play all runs anew.")
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON in place of a table.")
@click.option(
    "--markdown", is_flag=True, help="Print the table in Markdown, as the laboratory's page has it."
)
def suite(
    policies: tuple[str, ...],
    only: tuple[str, ...],
    seeds: int,
    workers: int | None,
    out: Path,
    force: bool,
    as_json: bool,
    markdown: bool,
) -> None:
    """Named challenges, with policies of yours, on one scored page.

    \b
    infex suite
    infex suite --policy "LinUCB(scale=0.2)" --policy my.module:Policy
    infex suite --only drift --only "late rewards" --seeds 50

    The folder gets suite.html, scores.csv and the table of all runs; infex report and infex compare
    read it as any other. Played again, it goes on with what is missing. A policy has no score where some of
    its runs failed, and means are then over the challenges that all have finished; the exit code is then 1.
    """
    from infex.cli.output import say_json
    from infex.cli.sweeping import tell_failures
    from infex.lab import suite as challenges
    from infex.lab.runner import ProgressBar
    from infex.lab.suite import write_suite

    begun = time.perf_counter()
    sweep = challenges.suite(policies, only, seeds)
    with ProgressBar() as bar:
        results = sweep.run(workers=workers, out=out, force=force, progress=bar.show)
    tell_failures(results, out)
    found = challenges.scores(results)
    write_suite(results, out)
    if markdown:
        click.echo(challenges.markdown_table(found))
    elif as_json:
        say_json([score._asdict() for score in found])
    else:
        _show(challenges.score_table(found))
        if note := challenges.failure_note(found):
            click.echo(note)
    seconds = time.perf_counter() - begun
    click.echo(f"suite.html and scores.csv are in {out} ({seconds:.0f} s)", err=True)
    if results.failures:
        sys.exit(1)


def _show(rows: list[list[str]]) -> None:
    """A row for each policy: its mean score, and those of all challenges."""
    from rich.console import Console

    from infex.cli.tables import show_table

    show_table(Console(), "scores: 1 is the best entrant, 0 is uniform play", rows[0], rows[1:])
