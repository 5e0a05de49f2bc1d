"""`infex reproduce` and `infex lab`: sweeps, their results, the suite and the atlas."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from infex.arrays import as_json as to_json
from infex.cli import INTERRUPTED_CODE
from infex.cli.options import FOLDER, RoundsOption, json_option, out_option, several, workers_option
from infex.cli.output import number, say_json, show_table
from infex.errors import ForeignFolder, InvalidSetting

if TYPE_CHECKING:
    from infex.lab import Results, Sweep
    from infex.lab.bases.atlas import Atlas
    from infex.lab.results import Cell

F = TypeVar("F", bound=Callable[..., Any])

FAILURES_SHOWN = 5
RUNS_SHOWN = 10  # of each kind of difference; --json has all
SMALLEST_P_SHOWN = 0.001  # smaller p-values are said to be below it

_force = click.option(
    "--force", is_flag=True, help="Play all runs anew, also into a folder with other contents."
)


def _play_options(folder: str) -> Callable[[F], F]:
    """Where a sweep is played, and where its results go."""
    engine = click.option(
        "--engine",
        type=click.Choice(["local", "dask", "ray", "spark"]),
        default="local",
        show_default=True,
        help="Where runs are played.",
    )
    scheduler = click.option("--scheduler", metavar="ADDRESS", help="Address of the engine's scheduler.")

    def add(command: F) -> F:
        for option in (json_option, scheduler, engine, _force, out_option(folder), workers_option):
            command = option(command)
        return command

    return add


def _out_is_default() -> bool:
    return click.get_current_context().get_parameter_source("out") is ParameterSource.DEFAULT


@click.command()
@click.option(
    "--dim",
    "dims",
    type=click.IntRange(min=1),
    multiple=True,
    help="Dimension; may be given again [default: 10, 20 and 40; 10 with --contexts].",
)
@click.option(
    "--arms",
    type=click.IntRange(min=1),
    multiple=True,
    help="Number of arms; may be given again [default: 10, 100 and 1000; 20 with --contexts].",
)
@click.option("--instances", type=click.IntRange(min=1), help="Random instances of each cell [default: 20].")
@click.option("--horizon", type=click.IntRange(min=1), help="Rounds of a run [default: 10000].")
@several(
    "--policy",
    "policies",
    "POLICY",
    "An expression or package.module:Policy(a=1); may be given again [default: the paper's policies].",
)
@click.option(
    "--contexts",
    "changing",
    is_flag=True,
    help="Arms that change every round, as the paper's appendix discusses [--out: reproduction-contexts].",
)
@_play_options("reproduction")
def reproduce(
    dims: tuple[int, ...],
    arms: tuple[int, ...],
    instances: int | None,
    horizon: int | None,
    policies: tuple[str, ...],
    changing: bool,
    out: Path,
    **played: Any,
) -> None:
    """The paper's experiment, in a folder with a report.

    The folder gets the table (results.parquet, summary.csv), Figures 1, 2 and 3 (d = 10, 20 and 40) and
    report.html.

    \b
    infex reproduce
    infex reproduce --dim 10 --arms 100 --instances 200 --out d10
    infex reproduce --dim 10 --policy "Infex(LinUCB, every(5))" --policy LinUCB --policy Greedy
    infex reproduce --contexts

    With --contexts, three problems in which the arms change every round: diverse arms, drawn anew; a
    fixed best arm among such; and sets of arms that come again and again, so that the best arm moves
    but nothing is learnt of the others by chance.
    """
    from infex.lab.paper import changing_arms, paper

    if changing and _out_is_default():
        out = Path(f"{out}-contexts")
    shape = {"dims": dict.fromkeys(dims), "arms": dict.fromkeys(arms), "instances": instances}
    asked = shape | {"horizon": horizon, "chosen": policies}
    make: Callable[..., Sweep] = changing_arms if changing else paper
    _play(make(**{name: value for name, value in asked.items() if value}), out, **played)


def _print_example(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(files("infex.cli").joinpath("example.toml").read_text(encoding="utf-8"), nl=False)
        context.exit()


def _print_kinds(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        from infex.lab.specs import kinds

        click.echo("\n".join(kinds()))
        context.exit()


@click.command()
@click.argument("sweep", type=click.Path(path_type=Path))
@_play_options("results")
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_example,
    help="Print a sweep file to start from, and play nothing.",
)
@click.option(
    "--kinds",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_kinds,
    help="Print the kinds of environments with their settings, and play nothing.",
)
def run(sweep: Path, out: Path, **played: Any) -> None:
    """A sweep of your own, from a TOML file or a folder.

    \b
    infex lab run --example > sweep.toml
    infex lab run sweep.toml --out results
    infex lab run results                 what the folder's sweep.json says and the folder lacks
    infex lab run results --out again     the same sweep in another folder; infex lab diff compares them

    Every environment is played with every policy and every seed. Keys of the file:

    \b
    environments  tables as below, or text: "gaussian(dim=5, arms=20)", "package.module:object"
    policies      expressions: "LinUCB", "Infex(LinUCB, every(5))", "package.module:Policy(a=1)"
    bases         policies that are played as Infex with every one of the ...
    schedules     ... schedules: "every(20)", "stretched(1)", "package.module:Schedule(c=3)"
    data          what a base learns from: "shared", "own" or both [default: ["shared"]]
    horizon       rounds of a run, or a list [default: 10000]
    seeds         how many, or a list of them [default: 20]
    penalty       of the ridge, or a list [default: 1.0]
    delta         of policies that say none, or a list [default: "1/T", one over the horizon]
    estimator     text such as "Discounted(rate=0.99)", or a list [default: ridge regression]
    title         of the report

    \b
    A list in an expression stands for its values: "LinUCB(scale=[0.1, 0.5])" is two policies.
    Policies, bases, schedules and environments may be tables, whose keys are names:
    [policies]
    ours = "Infex(LinUCB(scale=0.2), every(20))"

    \b
    [[environments]]      a problem of infex.lab.environments by its name, such as the paper's generator
    kind = "gaussian"
    dim = [10, 20]        each setting is a value or a list; every one is played with every other
    arms = 100
    label = "mine"        its name in tables [default: the kind with its settings]

    \b
    [[environments]]      an instance of your own, or a function that makes one from a seed
    kind = "object"
    object = "package.module:object"
    gap = [0.1, 0.2]      any settings that the function takes

    infex lab run --kinds prints all kinds with their settings.
    """
    from infex.lab.sweep import read_sweep, sweep_in

    is_folder = sweep.is_dir()
    if is_folder and _out_is_default():
        out = sweep
    _play(sweep_in(sweep) if is_folder else read_sweep(sweep), out, **played)


def _play(sweep: Sweep, out: Path, *, force: bool, as_json: bool, **where: Any) -> None:
    """Plays a sweep into a folder, draws its report, and ends the program with a code if runs failed."""
    from infex.lab.store import held

    begun = time.perf_counter()
    before = {} if force else held(out)
    try:
        results = sweep.run(out=out, force=force, progress=True, **where)
    except ForeignFolder as error:
        raise InvalidSetting(
            f"the folder {out} has other contents; name another, or --force to write there"
        ) from error
    except KeyboardInterrupt:
        click.echo(
            f"interrupted; what was finished is kept in {out}, and the same command goes on from there",
            err=True,
        )
        sys.exit(INTERRUPTED_CODE)
    earlier = results.about.get("earlier", 0)
    count = len(results.finals) + len(results.failures) - earlier
    words = f"{count:,} {'run' if count == 1 else 'runs'} played in {time.perf_counter() - begun:.1f} s"
    there = f"; {earlier:,} {'was' if earlier == 1 else 'were'} there already" if earlier else ""
    click.echo(words + there, err=True)
    if _lacks(results.about, before):
        click.echo(
            "this folder held another sweep; its runs are kept, its table and figures are replaced", err=True
        )
    is_drawn = _draw(results, out, as_json)
    _list_failures(results, out)
    if results.failures or not is_drawn:
        sys.exit(1)


def _lacks(about: dict[str, Any], before: dict[str, Any]) -> bool:
    """Had the earlier sweep of a folder anything that this one has not?"""
    if "policies" not in before:
        return False
    return any(
        set(before.get(name, ())) - set(about[name]) for name in ("environments", "policies", "seeds")
    ) or any(before.get(name) != about[name] for name in ("horizon", "penalty", "delta"))


def _draw(results: Results, out: Path, as_json: bool) -> bool:
    """Writes the report and shows the tables, or JSON; False, after a message, if that went wrong."""
    from infex.lab.reports.page import write_report

    try:
        write_report(results, out)
        if as_json:
            say_json(results.summary().to_pylist())
        elif results.cells:
            show(results)
    except Exception as error:  # a fault in drawing must not hide the runs that failed
        click.echo(f"the report could not be drawn: {type(error).__name__}: {error}", err=True)
        click.echo(f"the table is in {out}; infex lab report {out} draws again", err=True)
        return False
    what = "table, figures and report.html" if results.cells else "an empty table and report.html"
    click.echo(f"{what} are in {out}", err=True)
    return True


def _list_failures(results: Results, out: Path) -> None:
    """Says on stderr which runs failed, and where their tracebacks are."""
    _name_failures(results.failures)
    if results.failures:
        click.echo(f"tracebacks are in {out / 'failures.json'}; the same command tries them again", err=True)


def _name_failures(failures: Sequence[dict[str, str]]) -> None:
    """Names runs that failed on stderr, each with what was wrong."""
    from infex.lab.results import last_line

    lines = [f"{each['run']}: {last_line(each)}" for each in failures]
    _list_runs(f"{len(lines)} runs failed", lines, FAILURES_SHOWN, err=True)


def _list_runs(title: str, runs: Sequence[str], most: int, err: bool = False) -> None:
    """Names runs below a title, the first of them if they are many."""
    if runs:
        more = [f"and {len(runs) - most:,} more"] if len(runs) > most else []
        click.echo("\n  ".join([f"\n{title}:", *runs[:most], *more]), err=err)


def counted(results: Results, cell: Cell, policy: str) -> str:
    """Mean numbers of exploring rounds and of deviations; nothing without a schedule."""
    different = float(results.deviations(cell, policy).mean())
    if math.isnan(different):
        return ""
    return f"{results.explored(cell, policy).mean():,.0f}, {different:,.0f}"


def show(results: Results) -> None:
    """Prints mean regret, how often schedules explored and median time: a table of each for a dimension."""
    import numpy as np
    from rich.console import Console

    console = Console()
    if not results.shapes_are_distinct:
        for place, cell in enumerate(results.cells, 1):
            console.print(f"#{place}: {results.title(cell)}", highlight=False, markup=False)
    for dim in sorted({cell.dim for cell in results.cells}):
        cells = [cell for cell in results.cells if cell.dim == dim]
        head, regrets, counts, times = ["policy"], [], [], []
        for cell in cells:
            shape = f"K = {cell.arms}" + ("" if cell.horizon is None else f", T = {cell.horizon:,}")
            head.append(shape if results.shapes_are_distinct else f"#{results.cells.index(cell) + 1}")
        for policy in results.policies:
            regrets.append([policy])
            counts.append([policy])
            times.append([policy])
            for cell in cells:
                is_played = results.has(cell, policy)
                regret = results.spread(cell, policy) if is_played else None
                mean_std = regret and f"{number(regret.mean, ',.0f')} ± {number(regret.std, ',.0f')}"
                regrets[-1].append(mean_std or "")
                counts[-1].append(counted(results, cell, policy) if is_played else "")
                times[-1].append(f"{1e3 * np.median(results.seconds(cell, policy)):.2f}" if is_played else "")
        show_table(console, f"d = {dim}: final regret, mean ± std", head, regrets)
        if scheduled := [row for row in counts if any(row[1:])]:
            show_table(console, f"d = {dim}: rounds explored, and those not greedy, means", head, scheduled)
        show_table(console, f"d = {dim}: milliseconds a run, median", head, times)


@click.command()
@several(
    "--policy",
    "policies",
    "POLICY",
    "An entrant beside the paper's: an expression or package.module:Policy(a=1); may be given again.",
)
@click.option("--only", multiple=True, metavar="NAME", help="A challenge by name; may be given again.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="Seeds of each.")
@workers_option
@out_option("suite")
@_force
@json_option
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
    infex lab suite
    infex lab suite --policy "LinUCB(scale=0.2)" --policy my.module:Policy
    infex lab suite --only drift --only "late rewards" --seeds 50

    The folder gets suite.html, scores.csv and the table of all runs; infex lab report and infex lab compare
    read it as any other. Played again, it goes on with what is missing. A policy has no score where some of
    its runs failed, and means are then over the challenges that all have finished; the exit code is then 1.
    """
    from rich.console import Console

    from infex.lab import suite as challenges

    begun = time.perf_counter()
    sweep = challenges.suite(policies, only, seeds)
    results = sweep.run(workers=workers, out=out, force=force, progress=True)
    _list_failures(results, out)
    scores = challenges.scores(results)
    challenges.write_suite(results, out)
    if markdown:
        click.echo(challenges.markdown_table(scores))
    elif as_json:
        say_json([score._asdict() for score in scores])
    else:
        head, *rows = challenges.score_table(scores)
        show_table(Console(), "scores: 1 is the best entrant, 0 is uniform play", head, rows)
        if note := challenges.failure_note(scores):
            click.echo(note)
    seconds = time.perf_counter() - begun
    click.echo(f"suite.html and scores.csv are in {out} ({seconds:.0f} s)", err=True)
    if results.failures:
        sys.exit(1)


@click.command()
@several(
    "--base",
    "bases",
    "BASE",
    "A base of the atlas by name, or an expression of your own; may be given again.",
)
@several(
    "--problem",
    "problems",
    "PROBLEM",
    "A problem of the atlas by name, or an expression of your own; may be given again.",
)
@several("--schedule", "schedules", "SCHEDULE", "A schedule; may be given again.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="Seeds of each.")
@click.option(
    "--horizon", type=RoundsOption(), default=5000, show_default=True, help="Rounds, such as 10000 or 1e5."
)
@click.option("--large", is_flag=True, help="The paper's problems with 1,000 arms, too: this takes hours.")
@click.option("--tune/--no-tune", default=True, show_default=True, help="Choose settings of bases, too.")
@click.option(
    "--tuning-seeds",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Other seeds, on which settings are chosen.",
)
@click.option("--list", "listed", is_flag=True, help="Print bases, problems and schedules, and play nothing.")
@_play_options("atlas")
def atlas(
    bases: tuple[str, ...],
    problems: tuple[str, ...],
    schedules: tuple[str, ...],
    seeds: int,
    horizon: int,
    large: bool,
    tune: bool,
    tuning_seeds: int,
    listed: bool,
    out: Path,
    as_json: bool,
    **played: Any,
) -> None:
    """Every published base, alone and under schedules, on many problems: a page.

    \b
    infex lab atlas
    infex lab atlas --list
    infex lab atlas --base LinUCB --base my.module:Policy --problem "near ties" --out mine
    infex lab atlas --seeds 100 --horizon 1e5 --engine dask --scheduler tcp://head:8786

    The folder gets atlas.html, atlas.csv and the runs of each problem. Played again, it goes on with what is
    missing. Without --no-tune, each base is also played alone and under every(20) at the best of five
    settings, chosen on other seeds; for a base of your own these are the values of a list in its expression,
    of which the first counts as published. A base that cannot play a problem is left out there, with the
    reason. The exit code is 1 if runs failed in any other way, or if a base or a problem has no runs at all.
    """
    from infex.lab.bases import catalogue
    from infex.lab.bases.atlas import atlas as play_atlas

    if listed:
        for base in catalogue.BASES:
            click.echo(f"base      {base.name}: {'; '.join(base.settings)}")
        for problem in (*catalogue.PROBLEMS, *catalogue.LARGE_PROBLEMS):
            more = f", learnt by {problem.estimator}" if problem.estimator else ""
            more += ", with --large" if problem in catalogue.LARGE_PROBLEMS else ""
            click.echo(f"problem   {problem.name}: {problem.environment}{more}")
        for schedule in catalogue.SCHEDULES:
            click.echo(f"schedule  {schedule}")
        return
    begun = time.perf_counter()
    settings: dict[str, Any] = {"seeds": seeds, "horizon": horizon, "large": large, "tune": tune}
    settings |= {"tuning_seeds": tuning_seeds}
    found = play_atlas(bases, problems, schedules, out=out, progress=True, **settings, **played)
    found.write(out)
    if as_json:
        say_json(found.table())
    else:
        _show_atlas(found)
    seconds = time.perf_counter() - begun
    click.echo(f"atlas.html and atlas.csv are in {out} ({seconds:.0f} s)", err=True)
    _name_failures(found.failures)
    for (where, who), reason in found.refusals().items():
        click.echo(f"left out: {who} on {where}: {reason}", err=True)
    if found.failures or not found.is_complete:
        sys.exit(1)


def _show_atlas(found: Atlas) -> None:
    """Mean regrets, where there is one problem, and the ratios of all to those of the base alone."""
    from rich.console import Console

    from infex.lab.bases.atlas import CellKey

    if len(found.problems) == 1:
        (problem,) = found.problems
        rows = []
        for base in found.bases:
            keys = [CellKey(problem.name, base.name, *column) for column in found.columns]
            rows.append([base.name, *(str(found.regret(key)) if key in found.cells else "" for key in keys)])
        heads = ["base", *(f"{schedule}, {setting}" for schedule, setting in found.columns)]
        show_table(Console(), f"mean regret on {problem.name}", heads, rows)
    if found.schedules:
        rows = []
        for base in found.bases:
            ratios = (found.overall_ratio(base.name, schedule) for schedule in found.schedules)
            rows.append([base.name, *("" if math.isnan(each.value) else str(each) for each in ratios)])
        title = "regret over that of the base alone, published settings, all problems"
        show_table(Console(), title, ["base", *found.schedules], rows)


@click.command()
@click.argument("one")
@click.argument("other")
@click.option("--in", "folder", type=FOLDER, required=True, help="A folder that a sweep has written.")
@json_option
def compare(one: str, other: str, folder: Path, as_json: bool) -> None:
    """Two policies of a sweep, pair by pair.

    Final regret of ONE minus that of OTHER, paired by instance and noise: the mean with a 95 % interval
    (12 pairs are the fewest), the median, and the p-value of Wilcoxon's signed ranks, corrected for the
    number of problems.

    \b
    infex lab compare "Infex(LinUCB, every(5))" LinUCB --in reproduction
    """
    from rich.console import Console

    from infex.lab import Results

    results = Results.load(folder)
    one, other = results.known(one), results.known(other)
    compared = results.tests(other, policy=one).to_pylist()
    if as_json:
        say_json(compared)
        return
    rows = []
    for row in compared:
        (cell,) = (
            each
            for each in results.cells
            if (each.environment, each.dim, each.arms) == (row["environment"], row["dim"], row["arms"])
            and each.horizon in (None, row["horizon"])
        )
        low, high, p = row["low"], row["high"], row["p_holm"]
        interval = "too few" if low is None else f"{number(low, '+,.1f')} to {number(high, '+,.1f')}"
        is_small = p is not None and p < SMALLEST_P_SHOWN
        rows.append(
            [
                results.title(cell),
                number(row["mean"], "+,.1f"),
                interval,
                number(row["median"], "+,.1f"),
                f"{row['below']} of {row['pairs']}",
                f"< {SMALLEST_P_SHOWN}" if is_small else number(p, ".3f"),
            ]
        )
    title = f"final regret of {one} minus that of {other}"
    show_table(Console(), title, ["problem", "mean", "95 % interval", "median", "lower in", "p (Holm)"], rows)


@click.command()
@click.argument("one", type=FOLDER)
@click.argument("other", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all runs.")
def diff(one: Path, other: Path, as_json: bool) -> None:
    """Which runs of two folders agree bit for bit.

    Runs are matched by problem, policy, seed and horizon. All that a run gave is compared to the last bit,
    but for its computation time. The exit code is 0 if both folders have the same runs and all agree, else 1.

    \b
    infex lab diff reproduction reproduction-on-another-machine
    """
    from infex.lab import Results

    found = Results.load(one).diff(other)
    if as_json:
        click.echo(to_json(found._asdict() | {"agrees": found.agrees}))
    else:
        different = []
        for each in found.different:
            where = "not in their curves" if each.round is None else f"from round {each.round:,} on"
            code = "" if each.same_content else "; another problem, policy or code was played"
            ends = f"{each.one:.17g} and {each.other:.17g} at the end"
            different.append(f"{each.run}: {where}, {ends}{code}")
        click.echo(str(found))
        _list_runs("differ", different, RUNS_SHOWN)
        _list_runs(f"only in {one}", found.only_one, RUNS_SHOWN)
        _list_runs(f"only in {other}", found.only_other, RUNS_SHOWN)
    if not found.agrees:
        sys.exit(1)


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and draw nothing.")
@click.option("--latex", is_flag=True, help="Print final regret as a LaTeX table and draw nothing.")
@click.option(
    "--show",
    type=click.Choice(["std", "interval", "median"]),
    default="std",
    show_default=True,
    help="In figures and --latex: means with one std or their 95 % interval, or medians with quartiles.",
)
@click.option("--log", is_flag=True, help="Logarithmic axes in figures.")
def report(
    folder: Path, as_json: bool, latex: bool, show: Literal["std", "interval", "median"], log: bool
) -> None:
    """Figures and page of a sweep, drawn again from the folder's table.

    With --json the summary goes to stdout, and runs that failed are told on stderr.

    \b
    infex lab report reproduction
    infex lab report reproduction --json
    infex lab report reproduction --show median --log
    infex lab report reproduction --latex > regret.tex
    """
    from infex.lab import Results
    from infex.lab.reports.page import write_report

    results = Results.load(folder)
    if as_json:
        say_json(results.summary().to_pylist())
        _list_failures(results, folder)
    elif latex:
        click.echo(results.latex(show), nl=False)
    else:
        for path in write_report(results, folder, show, log):
            click.echo(path)
