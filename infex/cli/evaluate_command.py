"""`infex evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from infex.arrays import as_json
from infex.cli.options import FILE, RoundsOption, context_option, features_option
from infex.errors import InvalidLog, InvalidSetting

if TYPE_CHECKING:
    from infex.logs import Log

NOTHING_CODE = 1
FORMATS = ("infex", "table", "csv", "dsjson", "obp")


@click.command()
@click.argument("log_file", metavar="LOG", type=FILE)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME|NAME=WHAT",
    help="A target: now (what was played), Greedy, Uniform, a label, a saved bandit, module:function.",
)
@click.option("--against", metavar="NAME", help="Compare all others with this one.")
@click.option(
    "--rewards", type=(float, float), metavar="MIN MAX", help="The smallest and the largest possible reward."
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of intervals.")
@click.option("--estimator", default="auto", show_default=True, help="auto, dm, ips, snips, dr, switch, ...")
@click.option("--anytime", is_flag=True, help="Intervals that hold however often one looks.")
@click.option("--noise", type=float, help="Standard deviation of rewards, if the log does not say it.")
@click.option("--bound", type=float, help="Largest length of the parameter, if the log does not say it.")
@click.option(
    "--bound-missing", is_flag=True, help="Count choices that the log could not play as any possible reward."
)
@click.option(
    "--check", "wants_check", is_flag=True, help="Say what the log can tell; exit code 1 if nothing."
)
@click.option("--schedule", "schedules", multiple=True, metavar="SCHEDULE", help="Simulate, as in every(20).")
@click.option("--base", default="LinUCB", show_default=True, help="What explores in these schedules.")
@click.option("--horizon", type=RoundsOption(), help="Rounds to simulate [default: as many as the log has].")
@click.option("--worlds", type=int, default=100, show_default=True, help="Number of problems to simulate.")
@click.option("--form", type=click.Choice(FORMATS), help="Format of the log [default: detected].")
@click.option("--arm", default="arm", show_default=True, help="Column of arms.")
@click.option("--reward", default="reward", show_default=True, help="Column of rewards.")
@click.option("--propensity", default="propensity", show_default=True, help="Column of propensities.")
@context_option
@features_option
@click.option("--arms", type=FILE, help="Features of arms for --features, a row each: CSV, Parquet or .npy.")
@click.option("--held-out", is_flag=True, help="Evaluate by the decisions of the holdout alone.")
@click.option("--sort", is_flag=True, help="Sort rows by round.")
@click.option("--json", "wants_json", is_flag=True, help="Print JSON.")
@click.option("--page", type=FILE, help="Write a page, as in --page evaluation.html.")
def evaluate(log_file: Path, wants_check: bool, wants_json: bool, page: Path | None, **asked: Any) -> None:
    """Which policy would have been better, and how sure is that?

    Evaluates policies by the log of another one: a file of infex, or anybody's Parquet, CSV or dsjson.
    Schedules are simulated, because they learn, each on the same problems like the log's.

    \b
    infex evaluate year.parquet --policy now --policy Greedy --rewards 0 1 --against now
    infex evaluate year.parquet --policy now --policy mine=shop.infex --against now --page evaluation.html
    infex evaluate year.csv --context age --context country --features "table disjoint" --policy now
    infex evaluate year.parquet --check
    infex evaluate year.parquet --schedule "every(5)" --schedule "every(50)" --horizon 50000
    """
    log = _read(log_file, asked)
    if wants_check:
        _check(log, asked, wants_json)
    elif asked["schedules"]:
        _simulate(log, asked, wants_json)
    else:
        _evaluate(log, asked, wants_json, page)


def _read(path: Path, asked: dict[str, Any]) -> Log:
    from infex.cli.inputs import read_arms
    from infex.evaluation import read
    from infex.logs.files import read_with_map

    columns = {name: asked[name] for name in ("arm", "reward", "propensity", "sort", "form")}
    words, context = asked["features"], asked["context"]
    if words is None:
        if asked["arms"] is not None:
            raise InvalidSetting("--arms are for a map of contexts: --features interactions, or hybrid")
        log = read(path, context=context, **columns)
    else:
        rows, labels, _ = (None, None, "") if asked["arms"] is None else read_arms(asked["arms"])
        log = read_with_map(path, words, context, rows, labels=labels, **columns).log
    if not asked["held_out"]:
        return log
    if log.held_out is None or not log.held_out.any():
        raise InvalidLog(f"{path}: none of its decisions is of a holdout")
    return log.take(log.held_out)


def _check(log: Log, asked: dict[str, Any], wants_json: bool) -> None:
    from infex.evaluation import check

    found = check(log, rewards=asked["rewards"])
    click.echo(as_json(found.as_record()) if wants_json else str(found))
    if not found.can_tell:
        sys.exit(NOTHING_CODE)


def _evaluate(log: Log, asked: dict[str, Any], wants_json: bool, page: Path | None) -> None:
    from infex import evaluation
    from infex.evaluation.targets import named_targets

    if not asked["policies"]:
        raise InvalidSetting("name a target: --policy now --policy Greedy, or use --check, or --schedule")
    settings = {
        name: asked[name]
        for name in (
            "rewards", "confidence", "against", "estimator", "anytime", "noise", "bound", "bound_missing",
        )
    }  # fmt: skip
    found = evaluation.evaluate(log, named_targets(asked["policies"], log), **settings)
    click.echo(as_json(found.as_record()) if wants_json else str(found))
    if page is not None:
        found.page(page)
        click.echo(f"written: {page}", err=True)


def _simulate(log: Log, asked: dict[str, Any], wants_json: bool) -> None:
    from infex.evaluation import simulate

    policies = {schedule: f"Infex({asked['base']}, {schedule})" for schedule in asked["schedules"]}
    settings = {name: asked[name] for name in ("rewards", "confidence", "noise", "bound", "worlds")}
    found = simulate(log, policies, asked["horizon"] or len(log), **settings)
    first, *others = policies
    pairs = [found.compare(other, first) for other in others]
    if wants_json:
        click.echo(as_json({**found.as_record(), "comparisons": pairs}))
    else:
        click.echo("\n".join([str(found), *map(str, pairs)]))
