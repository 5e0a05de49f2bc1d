"""Named challenges, each of which shows one thing, and the scored page of a suite."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infex._stats import INTERVAL_ENDS, PAIRS_OF_AN_INTERVAL, resamples
from infex.arrays import Floats
from infex.checks import hint
from infex.errors import InvalidSetting
from infex.files import replace
from infex.lab import paper
from infex.lab.results import Results
from infex.lab.sweep import Sweep
from infex.pages import breakable, chart, rounded, shell, table

SUITE_HORIZON = 5000
SUITE_SEEDS = 20
SCORE_RESAMPLES = 2000
WORST_ENTRANT = "Uniform"


class Challenge(NamedTuple):
    """A problem by its `name` and as an expression, and what it `shows`, in a sentence."""

    name: str
    environment: str
    shows: str


CHALLENGES = (
    Challenge(
        "the paper's",
        "gaussian(dim=10, arms=100)",
        "The problem of the paper: can a policy do with few explorations what others do with many?",
    ),
    Challenge(
        "sparse",
        "sparse(dim=40, arms=100, nonzero=3)",
        "Three of forty features matter: who pays for the others?",
    ),
    Challenge(
        "near ties",
        "near_ties(dim=10, arms=50, ties=10, gap=0.01)",
        "Ten arms are nearly the best: telling them apart costs more than it brings.",
    ),
    Challenge(
        "collinear",
        "collinear(dim=10, arms=50, spread=0.1)",
        "All arms lie close to one line: what decides among the best is learnt from small differences.",
    ),
    Challenge(
        "10,000 arms",
        "many_arms(dim=20, arms=10000)",
        "Very many arms, of which many are good: trying each is out of the question.",
    ),
    Challenge(
        "heavy tails",
        "gaussian(dim=10, arms=100, rewards=student, degrees=2.1)",
        "Rewards with hardly a variance: one outlier can mislead a policy that then stops looking.",
    ),
    Challenge(
        "drift",
        "gaussian(dim=10, arms=100, moves=steps(every=1250))",
        "The parameter jumps three times: whoever stops exploring, or remembers all, is left behind.",
    ),
    Challenge(
        "misspecified",
        "misspecified(dim=10, arms=100, error=0.3)",
        "Means that no linear model has: confidence in the model is misplaced.",
    ),
    Challenge(
        "late rewards",
        "gaussian(dim=10, arms=100, late=late(mean=200, lost=0.1))",
        "Rewards come 200 rounds later on average, and one in ten never: decisions are taken in the dark.",
    ),
    Challenge(
        "lower bound",
        "lower_bound(gap=0.1)",
        "The two arms of the paper's lower bound: who explores too rarely drops the better one for good.",
    ),
    Challenge(
        "recurring contexts",
        "changing(dim=10, arms=20, best=recurring)",
        "Three sets of arms come again and again: luck teaches nothing that is not tried.",
    ),
)


def suite(policies: Iterable[Any] = (), only: Iterable[str] = (), seeds: Any = SUITE_SEEDS) -> Sweep:
    """The sweep of all challenges, or of some by name: the paper's policies, uniform play, and `policies`.

    `OLSBandit(preset=paper)` is left out: it is told the gap of fixed arms, and others have none.
    """
    usual = [*(policy for policy in paper.policies() if policy != paper.TOLD_THE_GAP), WORST_ENTRANT]
    known = {each.name: each.environment for each in CHALLENGES}
    names = list(only) or list(known)
    for name in names:
        if name not in known:
            near = hint(name, known)
            raise InvalidSetting(f"no challenge is called {name!r}{near}; there are {', '.join(known)}")
    return Sweep(
        environments={name: known[name] for name in names},
        policies=[*usual, *(policy for policy in policies if policy not in usual)],
        horizon=SUITE_HORIZON,
        seeds=seeds,
        title="infex lab suite",
    )


class Score(NamedTuple):
    """How well a policy did on one challenge: 1 is the best entrant, 0 is uniform play.

    `low` and `high` bound an interval of 95 % between quantiles of seeds drawn again (percentile bootstrap),
    the best entrant chosen anew each time; NaN with fewer than 12 seeds. `regret` is the mean,
    `milliseconds` the median time of a run. `explored` and `deviations` are the mean numbers of rounds in
    which the base of a schedule decided, and of those whose arm was not the greedy one; NaN without a
    schedule. A policy with runs that `failed` has no score (NaN): the runs
    that are left may be the ones that went well.
    """

    policy: str
    challenge: str
    score: float
    low: float
    high: float
    regret: float
    milliseconds: float
    explored: float
    deviations: float
    failed: int = 0


def scores(results: Results) -> list[Score]:
    """The scores of all policies on all challenges of a suite that was played, in the order of the suite.

    Policies that finished all runs of a challenge have a score there, over all seeds; the others have none.
    """
    order = {each.name: place for place, each in enumerate(CHALLENGES)}
    entrants = dict.fromkeys([*results.about.get("policies", ()), *results.policies])
    found = []
    for cell in sorted(results.cells, key=lambda cell: order.get(cell.environment, len(order))):
        regrets = {name: results.regret(cell, name) for name in results.played(cell)}
        runs = max(regret.size for regret in regrets.values())
        complete = [name for name, regret in regrets.items() if regret.size == runs]
        if WORST_ENTRANT not in complete:
            raise InvalidSetting(
                f"a score on {cell.environment!r} needs all runs of {WORST_ENTRANT}, and some are missing"
            )
        rows, worst = np.array([regrets[name] for name in complete]), complete.index(WORST_ENTRANT)
        means, ends = rows.mean(axis=1), np.full((2, len(rows)), np.nan)
        if runs >= PAIRS_OF_AN_INTERVAL:
            redrawn = [
                _scored(rows[:, seeds].mean(axis=2).T, worst) for seeds in resamples(runs, SCORE_RESAMPLES)
            ]
            ends = np.nanquantile(np.concatenate(redrawn), INTERVAL_ENDS, axis=0)
        figures = dict(zip(complete, np.stack([_scored(means, worst), *ends, means]).T.tolist(), strict=True))
        for name in entrants:
            score, low, high, regret = figures.get(name, [math.nan] * 4)
            seconds = float(np.median(results.seconds(cell, name))) if name in figures else math.nan
            failed = runs - (regrets[name].size if name in regrets else 0)
            deviations = float(results.deviations(cell, name).mean()) if name in figures else math.nan
            scheduled = not math.isnan(deviations)
            explored = float(results.explored(cell, name).mean()) if scheduled else math.nan
            measured = (regret, 1e3 * seconds, explored, deviations)
            found.append(Score(name, cell.environment, score, low, high, *measured, failed))
    return found


def _scored(means: Floats, worst: int) -> Floats:
    """From the means of all entrants, (entrants,) or (draws, entrants); `worst` is uniform play's place."""
    nil = means[..., [worst]]
    span = nil - means.min(axis=-1, keepdims=True)
    return np.asarray((nil - means) / np.where(span > 0.0, span, np.nan))


def common_challenges(found: Sequence[Score]) -> list[str]:
    """The challenges on which all policies have a score, leaving out policies that have none anywhere."""
    finished: dict[str, set[str]] = {}
    for each in found:
        if not each.failed:
            finished.setdefault(each.policy, set()).add(each.challenge)
    names = dict.fromkeys(each.challenge for each in found)
    return [name for name in names if all(name in some for some in finished.values())]


def overall(found: Sequence[Score]) -> dict[str, float]:
    """Each policy's mean over the challenges that all have finished, the best first; NaN for none."""
    common = common_challenges(found)
    points: dict[str, list[float]] = {each.policy: [] for each in found}
    for each in found:
        if each.challenge in common:
            points[each.policy].append(each.score)
    means = {policy: float(np.mean(some)) if some else math.nan for policy, some in points.items()}
    return dict(sorted(means.items(), key=lambda item: (math.isnan(item[1]), -item[1])))


# Tables and the page


def failure_note(found: Sequence[Score]) -> str:
    """What a reader of means must know where runs failed; nothing where none did."""
    if not any(each.failed for each in found):
        return ""
    count, common = len({each.challenge for each in found}), len(common_challenges(found))
    means = f"Means are over the {common} of {count} challenges that all policies with a mean have finished."
    return (
        "A policy has no score on a challenge where some of its runs failed, because the runs that are left "
        "may be the ones that went well. "
        + (means if common else "There are no means, because no challenge was finished by all policies.")
        + " Tracebacks are in failures.json."
    )


def score_table(found: Sequence[Score]) -> list[list[str]]:
    """All scores: a row of headings, then one for each policy, the best first; no mean is an empty text."""
    texts = {
        (each.policy, each.challenge): f"{each.failed} failed" if each.failed else _points(each.score)
        for each in found
    }
    names = list(dict.fromkeys(each.challenge for each in found))
    means = overall(found).items()
    rows = [[policy, _points(mean), *(texts[policy, name] for name in names)] for policy, mean in means]
    return [["policy", "mean", *names], *rows]


def _points(score: float) -> str:
    return "" if math.isnan(score) else f"{round(score, 2) + 0.0:.2f}"  # no -0.00


def markdown_table(found: Sequence[Score]) -> str:
    """The same as a table of Markdown, as the laboratory's page has it, and a note if runs failed."""
    heading, *rows = score_table(found)
    lines = [heading, ["---"] * len(heading), *([f"`{policy}`", *rest] for policy, *rest in rows)]
    note = failure_note(found)
    return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + (["", note] if note else []))


def write_suite(results: Results, folder: Path) -> list[Path]:
    """Writes `suite.html` and `scores.csv`; the files."""
    found, text = scores(results), io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Score._fields, *found])
    files = {folder / "suite.html": suite_page(results, found), folder / "scores.csv": text.getvalue()}
    for path, content in files.items():
        replace(path, content.encode())
    return list(files)


def suite_page(results: Results, found: Sequence[Score]) -> str:
    """One self-contained page: all scores as a heat map and a table, then each challenge by itself."""
    (_, _, *names), *rows = score_table(found)
    points = {(each.policy, each.challenge): each.score for each in found}
    heat_map = {
        "kind": "heat",
        "title": "Scores of all policies on all challenges",
        "label": "score: 1 is the best entrant, 0 is uniform play",
        "from": 0,
        "to": 1,
        "columns": names,
        "rows": [policy for policy, *_ in rows],
        "values": [rounded(points[policy, name] for name in names) for policy, *_ in rows],
        "texts": [texts for _, _, *texts in rows],
    }
    marked = [[_code(policy), f"<b>{mean}</b>", *texts] for policy, mean, *texts in rows]
    note = failure_note(found)
    parts = [
        "<h1>Challenges</h1>",
        f"<p>Each challenge has {len(results.about.get('seeds', ()))} seeds of {SUITE_HORIZON:,} rounds. A "
        "score of 1 is the mean regret of the challenge's best entrant, 0 that of uniform play; below 0 is "
        "worse than that. Intervals of 95 % come from drawing seeds again (percentile bootstrap); the best "
        "entrant is chosen anew each time. A best of many looks better than it is. Explored is the mean "
        "number of rounds in which a schedule let its base decide, and deviations those of them in which the "
        "base played another arm than the greedy one.</p>",
        "<h2>All in all</h2>",
        f"<p><b>{escape(note)}</b></p>" if note else "",
        chart(heat_map, "scores"),
        table(("policy", "mean score", *map(escape, names)), marked),
        *(part for name in names for part in _challenge(name, found)),
    ]
    return shell("Challenges", parts)


def _challenge(name: str, found: Sequence[Score]) -> list[str]:
    """What a challenge shows, and how all did, the best first; the chart ends at uniform play."""
    mine = sorted(
        (each for each in found if each.challenge == name), key=lambda each: (each.failed, -each.score)
    )
    bars, rows = [], []
    for each in mine:
        if not math.isnan(each.score):
            value, low, high = rounded((each.score, each.low, each.high))
            text = _points(each.score)
            bars.append({"value": value, "low": low, "high": high, "name": each.policy, "text": text})
        if each.failed:
            rows.append([_code(each.policy), f"{each.failed} runs failed", *[""] * 5])
        else:
            few = math.isnan(each.low)
            interval = "too few seeds" if few else f"{each.low:.2f} to {each.high:.2f}"
            counts = ["" if math.isnan(n) else f"{n:,.0f}" for n in (each.explored, each.deviations)]
            measured = [f"{each.regret:,.1f}", *counts, f"{each.milliseconds:,.2f}"]
            rows.append([_code(each.policy), _points(each.score), interval, *measured])
    axis = {"label": "score (0: uniform play, 1: the best entrant)", "from": -0.02, "to": 1.02}
    return [
        f"<h2>{escape(name[:1].upper() + name[1:])}</h2>",
        *(
            f"<p>{escape(each.shows)} <code>{escape(each.environment)}</code></p>"
            for each in CHALLENGES
            if each.name == name
        ),
        chart({"kind": "rows", "title": f"Scores: {name}", "x": axis, "rows": bars}),
        table(("policy", "score", "95 %", "regret", "explored", "deviations", "ms a run"), rows),
    ]


def _code(policy: str) -> str:
    return f"<code>{breakable(policy)}</code>"
