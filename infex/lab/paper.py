"""The paper's experiments (Lee and Oh, 2025, section 6 and appendix), and its claims on one's own runs.

`paper` is the experiment of its figures. `changing_arms` is what its appendix on time-varying features
discusses, in three problems: diverse contexts, a fixed best arm among changing ones, and a best arm that
moves among a few sets that come again and again. On the last problem the paper has no theorem: it is an open
question.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.lab.results import Cell, Results
from infex.lab.specs import problem_specs
from infex.lab.sweep import Sweep

BASES = ("LinUCB", "LinTS")
PAPER_DIMS = (10, 20, 40)
PAPER_ARMS = (10, 100, 1000)
PAPER_PERIODS = (5, 20, 100)
PAPER_INSTANCES = 20
PAPER_HORIZON = 10_000
TOLD_THE_GAP = "OLSBandit(preset=paper)"
OLS_BANDITS = ("OLSBandit", TOLD_THE_GAP)  # the second forces eight times as many rounds
TIME_NOISE = 0.1  # medians of time differ by this part by chance alone

CHANGING_TITLE = "Infrequent exploration with arms that change"
CHANGING_HEADING = "What the paper's appendix discusses, on these runs"
CHANGING_PERIODS = (5, 20)
NEAR_FACTOR = 1.2  # a regret up to so many times the least is called near it

Average = Callable[[Floats], np.floating[Any]]
Pairs = list[tuple[str, str]]


def _infex_and(base: str, other: str) -> Pairs:
    """INFEX of a base with each period of the paper, and what it is compared with."""
    return [(f"Infex({base}, every({period}))", other) for period in PAPER_PERIODS]


LISTED = ", ".join(map(str, PAPER_PERIODS))
REGRET_CLAIMS = (  # each with the pairs of which the first has less regret
    (
        f"LinTS improves for m = {LISTED}: INFEX has less mean regret than LinTS itself.",
        _infex_and("LinTS", "LinTS"),
    ),
    ("LinUCB improves for m = 5.", [("Infex(LinUCB, every(5))", "LinUCB")]),
    (
        "Infex(LinUCB, every(5)) and Infex(LinTS, every(m)) also have less mean regret than Greedy, "
        f"for m = {LISTED}.",
        [("Infex(LinUCB, every(5))", "Greedy"), *_infex_and("LinTS", "Greedy")],
    ),
    (
        "Epsilon-greedy is decent: less mean regret than LinUCB and LinTS.",
        [("EpsilonGreedy", "LinUCB"), ("EpsilonGreedy", "LinTS")],
    ),
)
TIME_CLAIM = f"Computation time falls for m = {LISTED}, with either base."
OLS_CLAIM = (
    "OLSBandit is inefficient, as most of its rounds are forced: more mean regret than INFEX with m = 5, "
    "with either base."
)
CHANGING_CLAIMS = {  # by which arm is the best
    "moving": "Diverse contexts explore by themselves: greedy's mean regret is at most "
    f"{NEAR_FACTOR:g} times the least of all policies.",
    "fixed": "With a fixed best arm among changing ones, where the theorem holds, INFEX keeps the order of "
    "its base: less mean regret, and less in the second half of the rounds than in the first.",
    "recurring": "A best arm that moves without diverse contexts, where nothing is proven: greedy locks on "
    "worse arms in some instances, and has more mean regret than every INFEX.",
}


class Verdict(NamedTuple):
    """A claim, in how many of the cells that can tell it holds, and what more there is to say.

    `cells` may be of another `unit`; of those in which it does not hold, some may be `undecided`.
    """

    claim: str
    holds: int
    cells: int
    note: str = ""
    unit: str = "cells"
    undecided: int = 0


# Experiments


def policies() -> list[str]:
    """The policies of the paper's figures."""
    return [*_bases_and_infex(PAPER_PERIODS), "Greedy", "EpsilonGreedy", *OLS_BANDITS]


def _bases_and_infex(periods: Iterable[int]) -> list[str]:
    """LinUCB and LinTS, each followed by its `Infex` for every period."""
    return [name for base in BASES for name in (base, *(f"Infex({base}, every({m}))" for m in periods))]


def paper(
    dims: Iterable[int] = PAPER_DIMS,
    arms: Iterable[int] = PAPER_ARMS,
    instances: int = PAPER_INSTANCES,
    horizon: int = PAPER_HORIZON,
    chosen: Iterable[Any] | None = None,
) -> Sweep:
    """The paper's sweep, or a part of it."""
    return Sweep(
        environments=[f"gaussian(dim={dim}, arms={count})" for dim, count in itertools.product(dims, arms)],
        policies=policies() if chosen is None else list(chosen),
        seeds=instances,
        horizon=horizon,
    )


def changing_arms(
    dims: Iterable[int] = (10,),
    arms: Iterable[int] = (20,),
    instances: int = PAPER_INSTANCES,
    horizon: int = PAPER_HORIZON,
    chosen: Iterable[Any] | None = None,
) -> Sweep:
    """The sweep over arms that change: every kind, with every dimension and number of arms."""
    return Sweep(
        environments=[
            f"changing(dim={dim}, arms={count}, best={kind})"
            for dim, count, kind in itertools.product(dims, arms, CHANGING_CLAIMS)
        ],
        policies=[*_bases_and_infex(CHANGING_PERIODS), "Greedy"] if chosen is None else list(chosen),
        seeds=instances,
        horizon=horizon,
        title=CHANGING_TITLE,
    )


def figures(results: Results) -> dict[int, int] | None:
    """The paper's numbers of figures by dimension, if the runs are a part of its experiment."""
    numbers = {dim: number for number, dim in enumerate(PAPER_DIMS, 1)}
    of_the_paper = all(_is_of_the_paper(results, cell) and cell.dim in numbers for cell in results.cells)
    return numbers if of_the_paper else None


def caveat(results: Results) -> str:
    """What a reader of the verdicts should know: whether runs are as long as the paper's."""
    given = results.about.get("horizon", PAPER_HORIZON)
    horizons = list(given) if isinstance(given, list | tuple) else [given]
    rounds = " and ".join(f"{horizon:,}" for horizon in horizons)
    words = f"The paper plays {PAPER_HORIZON:,} rounds; these runs have {rounds}."
    return "" if horizons == [PAPER_HORIZON] else words


# Claims of the paper


def verdicts(results: Results) -> list[Verdict]:
    """Each claim of the paper, and in how many cells it holds, of those that can tell."""
    judged = [_regret_claim(results, claim, pairs) for claim, pairs in REGRET_CLAIMS]
    judged.insert(3, _time_claim(results))  # in the paper's order
    judged.append(_ols_bandit_claim(results))
    return [verdict for verdict in judged if verdict.cells > 0]


def _is_of_the_paper(results: Results, cell: Cell) -> bool:
    """Is it a problem of the paper's generator, whatever its dimension and arms?"""
    told = {name: value for name, value in results.problem(cell).items() if name != "environment"}
    return told == problem_specs("gaussian(dim=1, arms=1)")[0].facts


def _regret_claim(results: Results, claim: str, pairs: Pairs) -> Verdict:
    """The claim that the first of each pair has less mean regret; the note says the same of medians."""
    cells = _telling(results, pairs)
    means, medians = (
        sum(_all_below(results, cell, pairs, average) for cell in cells) for average in (np.mean, np.median)
    )
    return Verdict(claim, means, len(cells), f"In median regret: {medians} of {len(cells)}.")


def _ols_bandit_claim(results: Results) -> Verdict:
    """The claim on OLSBandit, where it forces most of its rounds, as in the paper; the note says of the rest.

    In a cell where both of ours do, it is judged by the one that forces more.
    """
    judged: dict[Cell, tuple[bool, bool]] = {}  # by means, and by medians
    rest: dict[Cell, bool] = {}
    for name in OLS_BANDITS:
        pairs = [(f"Infex({base}, every(5))", name) for base in BASES]
        for cell in _telling(results, pairs):
            mean, median = (_all_below(results, cell, pairs, average) for average in (np.mean, np.median))
            horizon = cell.horizon or results.finals["horizon"][0].as_py()
            if float(np.mean(results.explored(cell, name))) > 0.5 * horizon:
                judged[cell] = mean, median
            else:
                rest[cell] = mean
    means, medians = (sum(each[place] for each in judged.values()) for place in (0, 1))
    note = f"In median regret: {medians} of {len(judged)}."
    if rest:
        note += f" Where it forces fewer, in mean regret: {sum(rest.values())} of {len(rest)}."
    return Verdict(OLS_CLAIM, means, len(judged), note)


def _time_claim(results: Results) -> Verdict:
    """The claim that INFEX takes less time than its base, in the median; small differences are noise."""
    pairs = [*_infex_and("LinUCB", "LinUCB"), *_infex_and("LinTS", "LinTS")]
    ratios = []
    for cell in _telling(results, pairs):
        for pair in pairs:
            left, right = map(np.median, results.both(cell, *pair, "seconds"))
            ratios.append(float(left) / max(float(right), 1e-9))
    lower = sum(ratio < 1 - TIME_NOISE for ratio in ratios)
    alike = sum(1 - TIME_NOISE <= ratio <= 1 + TIME_NOISE for ratio in ratios)
    note = f"By medians; apart by {TIME_NOISE:.0%} or less is within noise.".replace("%", " %")
    return Verdict(TIME_CLAIM, lower, len(ratios), note, "comparisons", alike)


def _telling(results: Results, pairs: Pairs) -> list[Cell]:
    """The cells of the paper's problem in which all pairs were played, on some seeds in common."""
    names = {policy for pair in pairs for policy in pair}
    if any(map(results.names_several, names)):
        return []
    return [
        cell
        for cell in results.cells
        if _is_of_the_paper(results, cell)
        and all(results.has(cell, policy) for policy in names)
        and all(results.both(cell, *pair)[0].size > 0 for pair in pairs)
    ]


def _all_below(results: Results, cell: Cell, pairs: Pairs, average: Average) -> bool:
    """Has the first of each pair less regret than the second, over the seeds that both played?"""
    each = (results.both(cell, one, other) for one, other in pairs)
    return all(average(left) < average(right) for left, right in each)


# What the appendix discusses


def changing_verdicts(results: Results) -> list[Verdict]:
    """A verdict on each kind of problem: in how many cells its claim holds, and the figures.

    A cell can tell if it has runs of greedy and of some INFEX.
    """
    if results.names_several("Greedy"):
        return []
    found = []
    for kind, claim in CHANGING_CLAIMS.items():
        judged = []
        for cell in results.cells:
            told = results.problem(cell)
            is_of_kind = (told.get("environment_kind"), told.get("environment_best")) == ("changing", kind)
            explorers = [policy for policy in results.played(cell) if policy in results.bases]
            if is_of_kind and explorers and results.has(cell, "Greedy"):
                holds, figures = _judged(results, cell, kind, explorers)
                judged.append((holds, f"{results.title(cell)}: {figures}."))
        if judged:
            notes = " ".join(note for _, note in judged)
            found.append(Verdict(claim, sum(holds for holds, _ in judged), len(judged), notes))
    return found


def _judged(results: Results, cell: Cell, kind: str, explorers: list[str]) -> tuple[bool, str]:
    """Whether a cell bears out the claim on its kind, and its figures; `explorers` are the `Infex` in it."""
    played = results.played(cell)
    growth = {policy: _growth(results, cell, policy) for policy in played}

    def is_below(one: str, other: str, times: float = 1.0) -> bool:
        left, right = results.both(cell, one, other)
        return left.size == 0 or bool(np.mean(left) <= times * np.mean(right))

    if kind == "moving":
        means = {policy: f"{results.spread(cell, policy).mean:,.0f}" for policy in played}
        return all(is_below("Greedy", policy, NEAR_FACTOR) for policy in played), _each(means)
    if kind == "fixed":
        holds = all(
            growth[policy] < 1.0
            and (not results.has(cell, results.bases[policy]) or is_below(policy, results.bases[policy]))
            for policy in explorers
        )
        return holds, f"second half over first {_each({name: f'{it:.2f}' for name, it in growth.items()})}"
    pairs = {policy: results.compare(cell, policy, "Greedy") for policy in explorers}
    less = _each({policy: f"in {each.below} of {each.pairs}" for policy, each in pairs.items()})
    most = _each({name: f"{results.regret(cell, name).max():,.0f}" for name in ("Greedy", *explorers)})
    words = f"less regret than greedy: {less} instances; in the worst instance {most}; greedy's second half "
    words += f"over its first {growth[results.known('Greedy')]:.2f}"
    return all(is_below(policy, "Greedy") for policy in explorers), words


def _growth(results: Results, cell: Cell, policy: str) -> float:
    """The mean regret of the second half of the rounds as a multiple of the first's; 0 if there was none."""
    rounds, mean, _ = results.band(cell, policy)
    first = float(np.interp(rounds[-1] / 2, rounds, mean))
    second = float(mean[-1]) - first
    if first > 0:
        return second / first
    return math.inf if second > 0 else 0.0


def _each(words: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {word}" for name, word in words.items())
