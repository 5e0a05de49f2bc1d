"""The paper's experiment (Lee and Oh, 2025, section 6 and appendix), and its claims on one's own runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.lab.results import Cell, Results
from infex.lab.specs import Recipe
from infex.lab.sweep import Sweep
from infex.lab.table import of_problem


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


PAPER_DIMS = (10, 20, 40)
PAPER_ARMS = (10, 100, 1000)
PAPER_PERIODS = (5, 20, 100)
PAPER_INSTANCES = 20
PAPER_HORIZON = 10_000
TOLD_THE_GAP = "OLSBandit(preset=paper)"
OLS_BANDITS = ("OLSBandit", TOLD_THE_GAP)  # the second forces eight times as many rounds
TIME_NOISE = 0.1  # medians of time differ by this part by chance alone
Average = Callable[[Floats], np.floating[Any]]
Pairs = list[tuple[str, str]]
INEFFICIENT = (
    "OLSBandit is inefficient, as most of its rounds are forced: more mean regret than INFEX with m = 5, "
    "with either base."
)


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


def verdicts(results: Results) -> list[Verdict]:
    """Each claim of the paper, and in how many cells it holds, of those that can tell."""
    judged = [claim(results) for claim in PAPER_CLAIMS]
    return [verdict for verdict in judged if verdict.cells > 0]


def figures(results: Results) -> dict[int, int] | None:
    """The paper's numbers of figures by dimension, if the runs are a part of its experiment."""
    numbers = {dim: number for number, dim in enumerate(PAPER_DIMS, 1)}
    of_the_paper = all(_is_of_the_paper(results, cell) and cell.dim in numbers for cell in results.cells)
    return numbers if of_the_paper else None


def caveat(results: Results) -> str:
    """What a reader of the verdicts should know: whether runs are as long as the paper's."""
    given = results.about.get("horizon", PAPER_HORIZON)
    horizons = list(given) if isinstance(given, list | tuple) else [given]
    words = f"The paper plays {PAPER_HORIZON:,} rounds; these runs have {_told_rounds(horizons)}."
    return "" if horizons == [PAPER_HORIZON] else words


def _told_rounds(horizons: Iterable[int]) -> str:
    return " and ".join(f"{horizon:,}" for horizon in horizons)


def _is_of_the_paper(results: Results, cell: Cell) -> bool:
    """Is it the paper's problem: its generator, with rewards of +1 and -1?"""
    told = {name: value for name, value in results.problem(cell).items() if name != "environment"}
    return told == of_problem(Recipe("gaussian", (("dim", cell.dim), ("arms", cell.arms))))


def _claim(results: Results, claim: str, pairs: Pairs) -> Verdict:
    """The claim that the first of each pair has less mean regret; the note says the same of medians."""
    cells = _telling(results, pairs)
    means, medians = (_count_below(results, cells, pairs, average) for average in (np.mean, np.median))
    return Verdict(claim, means, len(cells), f"In median regret: {medians} of {len(cells)}.")


def _lints_improves(results: Results) -> Verdict:
    words = f"LinTS improves for m = {_listed(PAPER_PERIODS)}: INFEX has less mean regret than LinTS itself."
    return _claim(results, words, _infex_and("LinTS", "LinTS"))


def _linucb_improves(results: Results) -> Verdict:
    return _claim(results, "LinUCB improves for m = 5.", [("Infex(LinUCB, every(5))", "LinUCB")])


def _infex_beats_greedy(results: Results) -> Verdict:
    least = "Infex(LinUCB, every(5)) and Infex(LinTS, every(m)) also have less mean regret than Greedy"
    pairs = [("Infex(LinUCB, every(5))", "Greedy"), *_infex_and("LinTS", "Greedy")]
    return _claim(results, f"{least}, for m = {_listed(PAPER_PERIODS)}.", pairs)


def _time_falls(results: Results) -> Verdict:
    words = f"Computation time falls for m = {_listed(PAPER_PERIODS)}, with either base."
    return _time_claim(results, words, _infex_and("LinUCB", "LinUCB") + _infex_and("LinTS", "LinTS"))


def _epsilon_greedy_is_decent(results: Results) -> Verdict:
    words = "Epsilon-greedy is decent: less mean regret than LinUCB and LinTS."
    return _claim(results, words, [("EpsilonGreedy", "LinUCB"), ("EpsilonGreedy", "LinTS")])


def _infex_and(base: str, other: str) -> Pairs:
    """INFEX of a base with each period of the paper, and what it is compared with."""
    return [(f"Infex({base}, every({period}))", other) for period in PAPER_PERIODS]


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
    note = f"In median regret: {sum(medians.values())} of {len(judged)}.{_where_few_are_forced(rest)}"
    return Verdict(INEFFICIENT, sum(judged.values()), len(judged), note)


def _where_few_are_forced(below: Mapping[Cell, bool]) -> str:
    words = f" Where it forces fewer, in mean regret: {sum(below.values())} of {len(below)}."
    return words if below else ""


def _time_claim(results: Results, claim: str, pairs: Pairs) -> Verdict:
    """The claim that the first of each pair takes less time, in the median; small differences are noise."""
    cells = _telling(results, pairs)
    ratios = [_time_ratio(results, cell, *pair) for cell in cells for pair in pairs]
    lower = sum(ratio < 1 - TIME_NOISE for ratio in ratios)
    alike = sum(1 - TIME_NOISE <= ratio <= 1 + TIME_NOISE for ratio in ratios)
    note = f"By medians; apart by {TIME_NOISE:.0%} or less is within noise.".replace("%", " %")
    return Verdict(claim, lower, len(ratios), note, "comparisons", alike)


def _time_ratio(results: Results, cell: Cell, one: str, other: str) -> float:
    left, right = results.both(cell, one, other, "seconds")
    return float(np.median(left)) / max(float(np.median(right)), 1e-9)


def _telling(results: Results, pairs: Pairs) -> list[Cell]:
    """The cells of the paper's problem in which all pairs were played."""
    cells = [cell for cell in results.cells if _is_of_the_paper(results, cell)]
    return [cell for cell in cells if all(_can_be_told(results, cell, *pair) for pair in pairs)]


def _can_be_told(results: Results, cell: Cell, one: str, other: str) -> bool:
    if results.names_several(one) or results.names_several(other):
        return False
    return results.has(cell, one) and results.has(cell, other) and results.both(cell, one, other)[0].size > 0


def _count_below(results: Results, cells: list[Cell], pairs: Pairs, average: Average) -> int:
    return sum(_all_below(results, cell, pairs, average) for cell in cells)


def _all_below(results: Results, cell: Cell, pairs: Pairs, average: Average) -> bool:
    """Has the first of each pair less regret than the second, over the seeds that both played?"""
    each = (results.both(cell, one, other) for one, other in pairs)
    return all(average(left) < average(right) for left, right in each)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


PAPER_CLAIMS = (
    _lints_improves,
    _linucb_improves,
    _infex_beats_greedy,
    _time_falls,
    _epsilon_greedy_is_decent,
    _ols_bandit_is_inefficient,
)
