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
    """Each claim of the paper, and in how many of the cells that can tell it holds."""
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


def _claim(results: Results, claim: str, pairs: list[tuple[str, str]], figure: str = "regret") -> Verdict:
    """That the first of each pair is below the second, in mean regret or in median time."""
    cells = [
        cell for cell in results.cells if all(results.has(cell, name) for pair in pairs for name in pair)
    ]
    if figure == "seconds":
        return Verdict(
            claim, sum(_all_below(results, cell, pairs, figure, np.median) for cell in cells), len(cells)
        )
    means, medians = (
        sum(_all_below(results, cell, pairs, figure, average) for cell in cells)
        for average in (np.mean, np.median)
    )
    return Verdict(claim, means, len(cells), f"In median regret: {medians} of {len(cells)}.")


def _all_below(results: Results, cell: Cell, pairs: list[tuple[str, str]], figure: str, average: Any) -> bool:
    read = results.regret if figure == "regret" else results.seconds
    return all(bool(average(read(cell, one)) < average(read(cell, other))) for one, other in pairs)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
