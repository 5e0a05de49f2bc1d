"""Arms that change every round: what the paper's appendix on time-varying features discusses.

Three problems: diverse contexts, a fixed best arm among changing ones, and a best arm that moves
among a few sets that come again and again. On the last problem the paper has no theorem: it is an open
question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from infex.lab.paper import Verdict, bases_and_infex
from infex.lab.reports.series import played
from infex.lab.results import Cell, Results
from infex.lab.sweep import Sweep

CHANGING_TITLE = "Infrequent exploration with arms that change"
CHANGING_HEADING = "What the paper's appendix discusses, on these runs"
CHANGING_KINDS = ("moving", "fixed", "recurring")
CHANGING_DIMS: tuple[int, ...] = (10,)
CHANGING_ARMS: tuple[int, ...] = (20,)
CHANGING_PERIODS = (5, 20)
NEAR_FACTOR = 1.2  # a regret up to so many times the least is called near it


def policies() -> list[str]:
    """LinUCB, LinTS, INFEX of both, and greedy."""
    return [*bases_and_infex(CHANGING_PERIODS), "Greedy"]


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
        policies=policies() if chosen is None else list(chosen),
        seeds=instances,
        horizon=horizon,
        delta="1/T",
        title=CHANGING_TITLE,
    )


def verdicts(results: Results) -> list[Verdict]:
    """A verdict on each kind of problem: in how many cells its claim holds, and the figures."""
    judged = [_verdict(results, claim) for claim in CHANGING_CLAIMS]
    return [verdict for verdict in judged if verdict.cells > 0]


class ChangingClaim(NamedTuple):
    """What is claimed of a kind of problem, whether a cell bears it out, and the figures of a cell."""

    kind: str
    words: str
    holds: Callable[[Results, Cell], bool]
    note: Callable[[Results, Cell], str]


def _verdict(results: Results, claim: ChangingClaim) -> Verdict:
    cells = [cell for cell in results.cells if _can_tell(results, cell, claim.kind)]
    words = " ".join(f"{results.title(cell)}: {claim.note(results, cell)}." for cell in cells)
    return Verdict(claim.words, sum(claim.holds(results, cell) for cell in cells), len(cells), words)


def _can_tell(results: Results, cell: Cell, kind: str) -> bool:
    """Is it of that kind, with runs of greedy and of some INFEX?"""
    is_known = _kind(results, cell) == kind and results.has(cell, "Greedy")
    return is_known and bool(_explorers(results, cell))


def _kind(results: Results, cell: Cell) -> str | None:
    """The `best` of changing arms; None for other problems."""
    told = results.problem(cell)
    return told.get("environment_best") if told.get("environment_kind") == "changing" else None


def _explorers(results: Results, cell: Cell) -> list[str]:
    """The policies of a cell that are an `Infex`."""
    return [policy for policy in played(results, cell) if policy in results.bases]


def _mean(results: Results, cell: Cell, policy: str) -> float:
    return float(np.mean(results.regret(cell, policy)))


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
    return all(_is_below(results, cell, "Greedy", policy, NEAR_FACTOR) for policy in played(results, cell))


def _keeps_order(results: Results, cell: Cell) -> bool:
    return all(_keeps_order_of_base(results, cell, policy) for policy in _explorers(results, cell))


def _keeps_order_of_base(results: Results, cell: Cell, policy: str) -> bool:
    base = results.bases[policy]
    less = not results.has(cell, base) or _is_below(results, cell, policy, base)
    return less and _growth(results, cell, policy) < 1.0


def _greedy_is_worst(results: Results, cell: Cell) -> bool:
    return all(_is_below(results, cell, policy, "Greedy") for policy in _explorers(results, cell))


def _means(results: Results, cell: Cell) -> str:
    return ", ".join(f"{policy} {_mean(results, cell, policy):,.0f}" for policy in played(results, cell))


def _halves(results: Results, cell: Cell) -> str:
    shares = ", ".join(f"{policy} {_growth(results, cell, policy):.2f}" for policy in played(results, cell))
    return f"second half over first {shares}"


def _counts(results: Results, cell: Cell) -> str:
    compared = [(policy, results.compare(cell, policy, "Greedy")) for policy in _explorers(results, cell)]
    less = ", ".join(f"{policy} in {pairs.below} of {pairs.pairs}" for policy, pairs in compared)
    return (
        f"less regret than greedy: {less} instances; in the worst instance {_worst(results, cell)}; greedy's "
        f"second half over its first {_growth(results, cell, 'Greedy'):.2f}"
    )


def _worst(results: Results, cell: Cell) -> str:
    """The most regret of greedy and of each INFEX."""
    most = {name: results.regret(cell, name).max() for name in ("Greedy", *_explorers(results, cell))}
    return ", ".join(f"{policy} {regret:,.0f}" for policy, regret in most.items())


CHANGING_CLAIMS = (
    ChangingClaim(
        "moving",
        "Diverse contexts explore by themselves: greedy's mean regret is at most "
        f"{NEAR_FACTOR:g} times the least of all policies.",
        _greedy_is_near,
        _means,
    ),
    ChangingClaim(
        "fixed",
        "With a fixed best arm among changing ones, where the theorem holds, INFEX keeps the order of "
        "its base: less mean regret, and less in the second half of the rounds than in the first.",
        _keeps_order,
        _halves,
    ),
    ChangingClaim(
        "recurring",
        "A best arm that moves without diverse contexts, where nothing is proven: greedy locks on worse "
        "arms in some instances, and has more mean regret than every INFEX.",
        _greedy_is_worst,
        _counts,
    ),
)
