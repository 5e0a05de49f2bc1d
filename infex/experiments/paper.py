"""The paper's experiment (Lee and Oh, 2025, section 6 and appendix), and its claims on one's own runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from infex.experiments.results import Cell, Results
from infex.experiments.sweep import Sweep
from infex.policies import catalog
from infex.reports import Verdict

DIMS = (10, 20, 40)
ARMS = (10, 100, 1000)
PERIODS = (5, 20, 100)
INSTANCES = 20
HORIZON = 10_000


def policies() -> list[str]:
    """The policies of the paper's figures; OLSBandit if it is there."""
    found = [
        each
        for base in ("LinUCB", "LinTS")
        for each in (base, *(f"Infex({base}, every({period}))" for period in PERIODS))
    ]
    return [*found, "Greedy", "EpsilonGreedy", *(["OLSBandit"] if "OLSBandit" in catalog.POLICIES else [])]


def paper(
    dims: Iterable[int] = DIMS,
    arms: Iterable[int] = ARMS,
    instances: int = INSTANCES,
    horizon: int = HORIZON,
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
    """Each claim of the paper, and in how many cells of its problem that can tell it holds."""
    found = [
        _claim(
            results,
            f"LinTS improves for m = {_listed(PERIODS)}: INFEX has less mean regret than LinTS itself.",
            [(f"Infex(LinTS, every({period}))", "LinTS") for period in PERIODS],
        ),
        _claim(
            results,
            "LinUCB improves for m = 5.",
            [("Infex(LinUCB, every(5))", "LinUCB")],
        ),
        _claim(
            results,
            "These configurations also have less mean regret than greedy.",
            [("Infex(LinUCB, every(5))", "Greedy")]
            + [(f"Infex(LinTS, every({period}))", "Greedy") for period in PERIODS],
        ),
        _claim(
            results,
            f"Computation time falls for every m = {_listed(PERIODS)}, with either base.",
            [(f"Infex({base}, every({period}))", base) for base in ("LinUCB", "LinTS") for period in PERIODS],
            figure="seconds",
        ),
        _claim(
            results,
            "Epsilon-greedy is decent: less mean regret than LinUCB and LinTS.",
            [("EpsilonGreedy", "LinUCB"), ("EpsilonGreedy", "LinTS")],
        ),
        _claim(
            results,
            "OLSBandit is inefficient: more mean regret than any INFEX with the same m.",
            [(f"Infex({base}, every(5))", "OLSBandit") for base in ("LinUCB", "LinTS")],
        ),
    ]
    return [verdict for verdict in found if verdict.cells > 0]


def caveat(results: Results) -> str:
    """What a reader of the verdicts should know: whether runs are as long as the paper's."""
    horizon = results.about.get("horizon", HORIZON)
    return "" if horizon == HORIZON else f"The paper plays {HORIZON:,} rounds; these runs have {horizon:,}."


def _is_of_the_paper(cell: Cell) -> bool:
    """Is it the paper's problem: its generator, with rewards of +1 and -1?"""
    return cell.environment == f"gaussian(dim={cell.dim}, arms={cell.arms})"


def _claim(results: Results, claim: str, pairs: list[tuple[str, str]], figure: str = "regret") -> Verdict:
    """That the first of each pair is below the second, in mean regret or in median time."""
    cells = [
        cell
        for cell in results.cells
        if _is_of_the_paper(cell) and all(_can_be_told(results, cell, *pair) for pair in pairs)
    ]
    means, medians = (
        sum(_all_below(results, cell, pairs, figure, average) for cell in cells)
        for average in (np.mean, np.median)
    )
    if figure == "seconds":
        return Verdict(claim, medians, len(cells))
    return Verdict(claim, means, len(cells), f"In median regret: {medians} of {len(cells)}.")


def _can_be_told(results: Results, cell: Cell, one: str, other: str) -> bool:
    return results.has(cell, one) and results.has(cell, other) and results.both(cell, one, other)[0].size > 0


def _all_below(results: Results, cell: Cell, pairs: list[tuple[str, str]], figure: str, average: Any) -> bool:
    """Is the first of each pair below the second, over the seeds that both played?"""
    for one, other in pairs:
        left, right = results.both(cell, one, other, figure)
        if not average(left) < average(right):
            return False
    return True


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
