"""`infex lab bound`, `worst-case` and `verify`: the paper's theory, its open problem, and its statements."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from infex.arrays import as_json as to_json
from infex.cli import INTERRUPTED_CODE
from infex.cli.options import (
    FILE,
    RoundsOption,
    folder_for,
    json_option,
    out_option,
    ready_for_figure,
    several,
    workers_option,
)
from infex.cli.output import say_json, show_table
from infex.errors import InvalidSetting

if TYPE_CHECKING:
    from infex.lab.verification import Finding

Result = TypeVar("Result")

COMPARED_SCHEDULES = ("every(5)", "every(100)", "power(0.75)")  # drawn beside those whose bound is asked for


@click.command(name="worst-case")
@click.option(
    "--horizon",
    "horizons",
    type=RoundsOption(),
    multiple=True,
    help="Rounds of a run; may be given again [default: two to a decade from 100 to --longest].",
)
@click.option(
    "--longest",
    type=RoundsOption(),
    default="1e5",
    show_default=True,
    help="The longest of the usual horizons; 1e6 takes some ten times as long.",
)
@several(
    "--base",
    "bases",
    "POLICY",
    "Who explores; may be given again [default: LinUCB, LinUCB(scale=0.3) and Uniform].",
)
@several(
    "--schedule",
    "schedules",
    "SCHEDULE",
    "When; may be given again [default: ten, power(r) and logarithmic(r)].",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Fresh seeds of each instance.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the search.")
@workers_option
@out_option("worst-case")
@json_option
def worst_case(
    horizons: tuple[int, ...],
    longest: int,
    bases: tuple[str, ...],
    schedules: tuple[str, ...],
    seeds: int,
    seed: int,
    workers: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Searches the worst regret, by how often one explores.

    For every base, schedule and horizon T a search looks for the instance with the greatest regret: the two
    arms of the paper's lower bound, near ties, an informative arm, and small sets of arms, with gaps scaled
    with T. The worst is judged on fresh seeds. How fast it grows with T is compared with T/sqrt(f(T)),
    which some instance forces on every base. All of it is a lower bound on the worst case.

    \b
    infex lab worst-case
    infex lab worst-case --longest 1e6
    infex lab worst-case --base LinTS --schedule "every(20)" --schedule "power([0.5, 0.9])"

    Schedules are fixed ones: f(T) must be known beforehand, so those that look at the data are refused. Bases
    that need data of their own, such as PhasedElimination, have them (data="own").

    The folder gets worst-case.html and worst-case.json. With two cores the default takes some two minutes;
    bases that are played in Python take far longer.
    """
    from rich.console import Console

    from infex.lab import worst_case as search
    from infex.lab.reports.worst_case import text_rows, write_worst_cases

    begun = time.perf_counter()
    chosen = bases or search.BASES, schedules or search.SCHEDULES, horizons or search.horizons_to(longest)
    steps = search.steps_of(*chosen)  # refuses what does not fit, before the folder is made
    folder_for(out)
    found = _with_progress(
        steps,
        lambda step: search.worst_cases(*chosen, seeds, seed=seed, workers=workers, listener=step),
    )
    write_worst_cases(found, out)
    if as_json:
        click.echo(to_json(found.as_data()))
    else:
        head, *rows = text_rows(found)
        title = f"worst regret found at T = {found.horizons[-1]:,}, and how it grows with T"
        show_table(Console(), title, head, rows)
    seconds = time.perf_counter() - begun
    click.echo(f"worst-case.html and worst-case.json are in {out} ({seconds:.0f} s)", err=True)


@click.command()
@click.option("--dim", type=click.IntRange(min=1), required=True, help="Dimension d.")
@click.option("--gap", type=float, required=True, help="What the second best arm falls short of the best.")
@click.option("--horizon", type=RoundsOption(), required=True, help="Rounds, such as 50000 or 1e6.")
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    metavar="SCHEDULE",
    default=("every(5)", "every(20)", "every(100)"),
    show_default=True,
    help="A schedule of the catalogue; may be given again.",
)
@click.option(
    "--base",
    type=click.Choice(["LinUCB", "LinTS"]),
    default="LinUCB",
    show_default=True,
    help="Who explores.",
)
@click.option(
    "--arms", type=click.IntRange(min=1), help="Number of arms; LinTS has a smaller bound with few."
)
@click.option("--noise", type=float, default=1.0, show_default=True, help="How far rewards scatter.")
@click.option(
    "--bound", type=float, default=1.0, show_default=True, help="Greatest length S of the parameter."
)
@click.option("--penalty", type=float, default=1.0, show_default=True, help="The ridge penalty.")
@click.option("--delta", type=float, help="The chance of failure [default: 1/T].")
@click.option("--out", type=FILE, help="Draw bounds against the horizon into a file .png, .svg or .pdf.")
@json_option
def bound(
    dim: int,
    gap: float,
    horizon: int,
    schedules: tuple[str, ...],
    base: str,
    arms: int | None,
    noise: float,
    bound: float,
    penalty: float,
    delta: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """What the regret bound promises, if anything.

    The three terms of the paper's Theorem 1 with explicit constants; a bound above 2 S T is vacuous.
    The figure of bound against horizon has three more schedules to compare with.

    \b
    infex lab bound --dim 10 --gap 0.1 --horizon 1e6 --schedule "every(20)"
    infex lab bound --dim 10 --gap 0.1 --horizon 1e12 --base LinTS --arms 100 --out bound.png
    infex lab bound --dim 2 --gap 1 --noise 0.1 --horizon 1e6 --schedule "power(0.5)" --json
    """
    from infex.lab.reports.figures import write_figure
    from infex.lab.specs import named
    from infex.lab.theory import Setting
    from infex.lab.theory.report import bound_rows, bounds_figure, bounds_text

    if out is not None:
        ready_for_figure(out)
    setting = Setting(dim=dim, gap=gap, noise=noise, bound=bound, penalty=penalty, delta=delta, arms=arms)
    asked, compared = (
        [each.thing for text in dict.fromkeys(texts) for each in named(text, "schedule")]
        for texts in (schedules, COMPARED_SCHEDULES)
    )
    rows = bound_rows(setting, asked, horizon, base)
    if as_json:
        say_json(rows)
    else:
        click.echo(bounds_text(rows, base))
    if out is not None:
        drawn = [*asked, *(schedule for schedule in compared if schedule not in asked)]
        figure = bounds_figure(setting, drawn, horizon, base, [row["useful_from"] for row in rows])
        click.echo(write_figure(figure, out), err=True)


@click.command()
@click.option(
    "--only", multiple=True, metavar="ID", help="Check this statement, such as C5; may be given again."
)
@click.option("--thorough", is_flag=True, help="Twelve passes of a hundred times as many runs: some hours.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all runs.")
@json_option
@click.option(
    "--lower-bound", is_flag=True, help="Show what too little exploration costs on two arms, instead."
)
@click.option("--out", type=FILE, help="With --lower-bound: draw it into a file .png, .svg or .pdf.")
def verify(
    only: tuple[str, ...], thorough: bool, seed: int, as_json: bool, lower_bound: bool, out: Path | None
) -> None:
    """Checks the paper's statements on fresh runs.

    Statements C1 to C21 are those behind its theorems. Each measures one figure, which may not exceed a
    limit. The exit code is 1 if one does.

    \b
    infex lab verify
    infex lab verify --only C5 --only C10 --seed 7
    infex lab verify --thorough --json
    infex lab verify --lower-bound --out lower-bound.png
    """
    if lower_bound:
        if only:
            raise InvalidSetting("--lower-bound checks no statements: leave out --only")
        _lower_bound(thorough, seed, as_json, out)
        return
    if out is not None:
        raise InvalidSetting("--out is for the picture of --lower-bound")
    from infex.lab.verification import findings_text

    findings, done = _checked(only, thorough, seed)
    if as_json:
        say_json([finding._asdict() for finding in findings])
    else:
        click.echo(findings_text(findings))
    if not done:
        click.echo("interrupted: these are the passes that were finished", err=True)
        sys.exit(INTERRUPTED_CODE)
    if not all(finding.holds for finding in findings):
        sys.exit(1)


def _checked(only: tuple[str, ...], thorough: bool, seed: int) -> tuple[list[Finding], bool]:
    """The findings, the worst of all passes, and whether all passes were finished."""
    from infex.lab.verification import chosen, passes, statements

    count = statements.THOROUGH_PASSES if thorough else 1
    findings: list[Finding] = []

    def work(step: Callable[[str], None]) -> bool:
        nonlocal findings
        try:
            every = passes(seed, thorough=thorough, only=only, listener=lambda next_: step(next_.id))
            for number, findings in enumerate(every, 1):
                if thorough:
                    words = statements.verdict(findings, "all hold")
                    click.echo(f"pass {number} of {count}: {words}", err=True)
        except KeyboardInterrupt:
            if not findings:
                raise
            return False
        return True

    done = _with_progress(count * len(chosen(only)), work)
    return findings, done


def _lower_bound(thorough: bool, seed: int, as_json: bool, out: Path | None) -> None:
    """Regret against the horizon on the two arms, as figures and, with a file, as a picture."""
    from infex.lab.reports.figures import write_figure
    from infex.lab.verification import Effort, statements, two_arms

    if out is not None:
        ready_for_figure(out)
    effort = Effort(seed, statements.THOROUGH_SCALE if thorough else 1)
    measured = _with_progress(
        len(two_arms.SCHEDULES), lambda step: two_arms.measure(effort, count=1000, listener=step)
    )
    if as_json:
        say_json(measured.as_data())
    else:
        click.echo(str(measured))
    if out is not None:
        click.echo(write_figure(measured.figure(), out), err=True)


def _with_progress(total: int, work: Callable[[Callable[[str], None]], Result]) -> Result:
    """The result of the work, which calls its argument with a name before each of its parts."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line, begun = bar.add_task("checking", total=total), 0

        def step(name: str) -> None:
            nonlocal begun
            bar.update(line, description=name, completed=begun)
            begun += 1

        return work(step)
