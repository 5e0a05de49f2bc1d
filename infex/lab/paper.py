"""The paper's experiments (Lee and Oh, 2025, section 6 and appendix), and its claims on one's own runs.

`paper` is the experiment of its figures. `changing_arms` is what its appendix on time-varying features
discusses, in three problems: diverse contexts, a fixed best arm among changing ones, and a best arm that
moves among a few sets that come again and again. On the last problem the paper has no theorem: it is an open
question.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.lab.results import Cell, Results
from infex.lab.specs import Facts, problem_specs
from infex.lab.sweep import Sweep

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
CHANGING_KINDS = ("moving", "fixed", "recurring")
CHANGING_DIMS: tuple[int, ...] = (10,)
CHANGING_ARMS: tuple[int, ...] = (20,)
CHANGING_PERIODS = (5, 20)
NEAR_FACTOR = 1.2  # a regret up to so many times the least is called near it

Average = Callable[[Floats], np.floating[Any]]
Pairs = list[tuple[str, str]]


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
    return [*bases_and_infex(PAPER_PERIODS), "Greedy", "EpsilonGreedy", *OLS_BANDITS]


def bases_and_infex(periods: Iterable[int]) -> list[str]:
    """LinUCB and LinTS, each followed by its `Infex` for every period."""
    listed = list(periods)
    return [
        policy
        for base in ("LinUCB", "LinTS")
        for policy in (base, *(f"Infex({base}, every({period}))" for period in listed))
    ]


def paper(
    dims: Iterable[int] = PAPER_DIMS,
    arms: Iterable[int] = PAPER_ARMS,
    instances: int = PAPER_INSTANCES,
    horizon: int = PAPER_HORIZON,
    chosen: Iterable[Any] | None = None,
) -> Sweep:
    """The paper's sweep, or a part of it."""
    counts = list(arms)
    return Sweep(
        environments=[f"gaussian(dim={dim}, arms={count})" for dim in dims for count in counts],
        policies=policies() if chosen is None else list(chosen),
        seeds=instances,
        horizon=horizon,
        delta="1/T",
    )


def changing_arms(
    dims: Iterable[int] = CHANGING_DIMS,
    arms: Iterable[int] = CHANGING_ARMS,
    instances: int = 20,
    horizon: int = 10_000,
    chosen: Iterable[Any] | None = None,
) -> Sweep:
    """The sweep over arms that change: every kind, with every dimension and number of arms."""
    counts = list(arms)
    return Sweep(
        environments=[
            f"changing(dim={dim}, arms={count}, best={kind})"
            for dim in dims
            for count in counts
            for kind in CHANGING_KINDS
        ],
        policies=[*bases_and_infex(CHANGING_PERIODS), "Greedy"] if chosen is None else list(chosen),
        seeds=instances,
        horizon=horizon,
        delta="1/T",
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
    listed = ", ".join(map(str, PAPER_PERIODS))
    lints, linucb = (_infex_and(base, base) for base in ("LinTS", "LinUCB"))
    judged = [
        _claim(
            results,
            f"LinTS improves for m = {listed}: INFEX has less mean regret than LinTS itself.",
            lints,
        ),
        _claim(results, "LinUCB improves for m = 5.", [("Infex(LinUCB, every(5))", "LinUCB")]),
        _claim(
            results,
            "Infex(LinUCB, every(5)) and Infex(LinTS, every(m)) also have less mean regret than Greedy, "
            f"for m = {listed}.",
            [("Infex(LinUCB, every(5))", "Greedy"), *_infex_and("LinTS", "Greedy")],
        ),
        _time_claim(
            results, f"Computation time falls for m = {listed}, with either base.", [*linucb, *lints]
        ),
        _claim(
            results,
            "Epsilon-greedy is decent: less mean regret than LinUCB and LinTS.",
            [("EpsilonGreedy", "LinUCB"), ("EpsilonGreedy", "LinTS")],
        ),
        _ols_bandit_is_inefficient(results),
    ]
    return [verdict for verdict in judged if verdict.cells > 0]


@functools.cache
def _papers_settings() -> Facts:
    """The settings of the paper's generator, whatever its dimension and arms; rewards are +1 and -1."""
    return problem_specs("gaussian(dim=1, arms=1)")[0].facts


def _is_of_the_paper(results: Results, cell: Cell) -> bool:
    told = {name: value for name, value in results.problem(cell).items() if name != "environment"}
    return told == _papers_settings()


def _infex_and(base: str, other: str) -> Pairs:
    """INFEX of a base with each period of the paper, and what it is compared with."""
    return [(f"Infex({base}, every({period}))", other) for period in PAPER_PERIODS]


def _claim(results: Results, claim: str, pairs: Pairs) -> Verdict:
    """The claim that the first of each pair has less mean regret; the note says the same of medians."""
    cells = _telling(results, pairs)
    means, medians = (
        sum(_all_below(results, cell, pairs, average) for cell in cells) for average in (np.mean, np.median)
    )
    return Verdict(claim, means, len(cells), f"In median regret: {medians} of {len(cells)}.")


def _ols_bandit_is_inefficient(results: Results) -> Verdict:
    """The claim on OLSBandit, where it forces most of its rounds, as in the paper; the note says of the rest.

    In a cell where both of ours do, it is judged by the one that forces more.
    """
    judged: dict[Cell, bool] = {}
    medians: dict[Cell, bool] = {}
    rest: dict[Cell, bool] = {}
    for name in OLS_BANDITS:
        pairs = [(f"Infex({base}, every(5))", name) for base in ("LinUCB", "LinTS")]
        for cell in _telling(results, pairs):
            mean = _all_below(results, cell, pairs, np.mean)
            if float(np.mean(results.explored(cell, name))) > 0.5:
                judged[cell], medians[cell] = mean, _all_below(results, cell, pairs, np.median)
            else:
                rest[cell] = mean
    note = f"In median regret: {sum(medians.values())} of {len(judged)}."
    if rest:
        note += f" Where it forces fewer, in mean regret: {sum(rest.values())} of {len(rest)}."
    words = (
        "OLSBandit is inefficient, as most of its rounds are forced: more mean regret than INFEX with m = 5, "
        "with either base."
    )
    return Verdict(words, sum(judged.values()), len(judged), note)


def _time_claim(results: Results, claim: str, pairs: Pairs) -> Verdict:
    """The claim that the first of each pair takes less time, in the median; small differences are noise."""
    ratios = []
    for cell in _telling(results, pairs):
        for pair in pairs:
            left, right = map(np.median, results.both(cell, *pair, "seconds"))
            ratios.append(float(left) / max(float(right), 1e-9))
    lower = sum(ratio < 1 - TIME_NOISE for ratio in ratios)
    alike = sum(1 - TIME_NOISE <= ratio <= 1 + TIME_NOISE for ratio in ratios)
    note = f"By medians; apart by {TIME_NOISE:.0%} or less is within noise.".replace("%", " %")
    return Verdict(claim, lower, len(ratios), note, "comparisons", alike)


def _telling(results: Results, pairs: Pairs) -> list[Cell]:
    """The cells of the paper's problem in which all pairs were played."""
    if any(results.names_several(policy) for pair in pairs for policy in pair):
        return []
    return [
        cell
        for cell in results.cells
        if _is_of_the_paper(results, cell)
        and all(results.has(cell, policy) for pair in pairs for policy in pair)
        and all(results.both(cell, *pair)[0].size > 0 for pair in pairs)
    ]


def _all_below(results: Results, cell: Cell, pairs: Pairs, average: Average) -> bool:
    """Has the first of each pair less regret than the second, over the seeds that both played?"""
    each = (results.both(cell, one, other) for one, other in pairs)
    return all(average(left) < average(right) for left, right in each)


# What the appendix discusses


def changing_verdicts(results: Results) -> list[Verdict]:
    """A verdict on each kind of problem: in how many cells its claim holds, and the figures."""
    found = []
    for kind, (claim, holds, note) in CHANGING_CLAIMS.items():
        cells = [cell for cell in results.cells if _can_tell(results, cell, kind)]
        words = " ".join(f"{results.title(cell)}: {note(results, cell)}." for cell in cells)
        if cells:
            found.append(Verdict(claim, sum(holds(results, cell) for cell in cells), len(cells), words))
    return found


def _can_tell(results: Results, cell: Cell, kind: str) -> bool:
    """Are its arms those that change in that way, with runs of greedy and of some INFEX?"""
    told = results.problem(cell)
    is_of_kind = told.get("environment_kind") == "changing" and told.get("environment_best") == kind
    told_apart = is_of_kind and not results.names_several("Greedy")
    return told_apart and results.has(cell, "Greedy") and bool(_explorers(results, cell))


def _explorers(results: Results, cell: Cell) -> list[str]:
    """The policies of a cell that are an `Infex`."""
    return [policy for policy in results.played(cell) if policy in results.bases]


def _is_below(results: Results, cell: Cell, one: str, other: str, times: float = 1.0) -> bool:
    """Is the mean regret of one at most so many times that of the other, over the seeds that both played?"""
    left, right = results.both(cell, one, other)
    return left.size == 0 or bool(np.mean(left) <= times * np.mean(right))


def _growth(results: Results, cell: Cell, policy: str) -> float:
    """The mean regret of the second half of the rounds as a multiple of the first's; 0 if there was none."""
    rounds, mean, _ = results.band(cell, policy)
    first = float(np.interp(rounds[-1] / 2, rounds, mean))
    second = float(mean[-1]) - first
    if first > 0:
        return second / first
    return math.inf if second > 0 else 0.0


def _greedy_is_near(results: Results, cell: Cell) -> bool:
    return all(_is_below(results, cell, "Greedy", policy, NEAR_FACTOR) for policy in results.played(cell))


def _keeps_order(results: Results, cell: Cell) -> bool:
    for policy in _explorers(results, cell):
        base = results.bases[policy]
        if results.has(cell, base) and not _is_below(results, cell, policy, base):
            return False
        if _growth(results, cell, policy) >= 1.0:
            return False
    return True


def _greedy_is_worst(results: Results, cell: Cell) -> bool:
    return all(_is_below(results, cell, policy, "Greedy") for policy in _explorers(results, cell))


def _means(results: Results, cell: Cell) -> str:
    return _each({policy: f"{results.spread(cell, policy).mean:,.0f}" for policy in results.played(cell)})


def _halves(results: Results, cell: Cell) -> str:
    shares = {policy: f"{_growth(results, cell, policy):.2f}" for policy in results.played(cell)}
    return f"second half over first {_each(shares)}"


def _counts(results: Results, cell: Cell) -> str:
    explorers = _explorers(results, cell)
    pairs = {policy: results.compare(cell, policy, "Greedy") for policy in explorers}
    less = _each({policy: f"in {each.below} of {each.pairs}" for policy, each in pairs.items()})
    most = _each({name: f"{results.regret(cell, name).max():,.0f}" for name in ("Greedy", *explorers)})
    return (
        f"less regret than greedy: {less} instances; in the worst instance {most}; greedy's second half over "
        f"its first {_growth(results, cell, 'Greedy'):.2f}"
    )


def _each(words: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {word}" for name, word in words.items())


CHANGING_CLAIMS = {  # by kind: the claim, whether a cell bears it out, and the figures of a cell
    "moving": (
        "Diverse contexts explore by themselves: greedy's mean regret is at most "
        f"{NEAR_FACTOR:g} times the least of all policies.",
        _greedy_is_near,
        _means,
    ),
    "fixed": (
        "With a fixed best arm among changing ones, where the theorem holds, INFEX keeps the order of "
        "its base: less mean regret, and less in the second half of the rounds than in the first.",
        _keeps_order,
        _halves,
    ),
    "recurring": (
        "A best arm that moves without diverse contexts, where nothing is proven: greedy locks on worse "
        "arms in some instances, and has more mean regret than every INFEX.",
        _greedy_is_worst,
        _counts,
    ),
}
