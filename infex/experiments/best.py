"""The best of many: how many it was chosen from, and whether it stays the best on fresh seeds."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from infex.checks import one_of, whole
from infex.errors import InvalidSetting
from infex.experiments.runs_table import Table
from infex.experiments.sweep_log import Progress
from infex.statistics import Interval, quantile_intervals

if TYPE_CHECKING:
    from infex.experiments.results import Cell, Results
    from infex.experiments.sweep import Sweep


class Best(NamedTuple):
    """The policy of the lowest "mean" or "median" regret in a cell; `regret` is that, with its interval.

    It is the first of `ranked`, and was `chosen_from` so many on the very seeds that `regret` is of: what
    is chosen for being low is low by luck too, so fresh seeds give more. `confirm` plays them.
    """

    cell: Cell
    policy: str
    of: str
    regret: Interval
    seeds: int
    ranked: tuple[str, ...]

    @property
    def chosen_from(self) -> int:
        """Among how many policies it is the best."""
        return len(self.ranked)

    def __str__(self) -> str:
        words = f"{self.policy}: {self.of} regret {self.regret} over {self.seeds} seeds"
        if self.chosen_from == 1:
            return f"{words}, the only policy"
        return (
            f"{words}, the best of {self.chosen_from}, chosen on these very seeds: expect more on fresh ones "
            "(results.confirm)"
        )


class Confirmation(NamedTuple):
    """What fresh seeds say of the `best` of many: `results` of it and its neighbours, in a `cell`."""

    best: Best
    results: Results
    cell: Cell

    @property
    def again(self) -> Best:
        """The best of these policies on the fresh seeds."""
        return best(self.results, self.cell, self.best.of)

    @property
    def stays(self) -> bool:
        """Is it still the best of these?"""
        return self.again.policy == self.best.policy

    def tests(self) -> Table:
        """Each neighbour against it, paired, with p-values that are corrected for all of them."""
        return self.results.tests(self.best.policy, cell=self.cell)

    def __str__(self) -> str:
        fresh, before = _figure(self.results, self.cell, self.best.policy, self.best.of), self.best.regret
        seeds = len(self.results.regret(self.cell, self.best.policy))
        words = (
            f"{self.best.policy}: {self.best.of} regret {fresh} over {seeds} fresh seeds; "
            f"{before.value:,.4g} over the {self.best.seeds} that chose it among {self.best.chosen_from}"
        )
        state = "it stays the best" if self.stays else f"{self.again.policy} is lower"
        return f"{words}; {state} of {self.again.chosen_from}\n{self.tests()!r}"


def best(results: Results, cell: Cell, of: str) -> Best:
    """The policy of the lowest mean or median regret in a cell."""
    one_of("of", of, ("mean", "median"))
    played = _played(results, cell)
    figures = {policy: _figure(results, cell, policy, of) for policy in played}
    ranked = sorted(played, key=lambda policy: figures[policy].value)
    first = ranked[0]
    return Best(cell, first, of, figures[first], len(results.regret(cell, first)), tuple(ranked))


def _played(results: Results, cell: Cell) -> list[str]:
    """The policies that have runs in a cell; there must be some."""
    played = [policy for policy in results.policies if results.has(cell, policy)]
    if not played:
        raise InvalidSetting(f"no runs in {cell}; results.cells are the problems that there are")
    return played


def _figure(results: Results, cell: Cell, policy: str, of: str) -> Interval:
    if of == "mean":
        return results.interval(cell, policy)
    return Interval(*map(float, quantile_intervals(results.regret(cell, policy)[None], 0.5)[:, 0]))


def confirm(
    chosen: Best,
    sweep: Sweep,
    seeds: int,
    neighbours: int,
    workers: int | None,
    progress: Progress | bool | None,
) -> Confirmation:
    """The best and those that came next, on so many seeds after the last of the sweep."""
    count, near = whole("seeds", seeds, least=1), whole("neighbours", neighbours, least=0)
    results = _on_fresh_seeds(chosen, sweep, count, near).run(workers=workers, progress=progress)
    return Confirmation(chosen, results, _same_problem(results, chosen.cell))


def _on_fresh_seeds(chosen: Best, sweep: Sweep, count: int, near: int) -> Sweep:
    names, first = (chosen.cell.environment, *chosen.ranked[: 1 + near]), max(sweep.seeds) + 1
    horizon = sweep.horizon if chosen.cell.horizon is None else chosen.cell.horizon
    return dataclasses.replace(sweep, only=names, seeds=range(first, first + count), horizon=horizon)


def _same_problem(results: Results, cell: Cell) -> Cell:
    """The cell of the same environment, dimension and number of arms, whatever its other settings."""
    shape = (cell.environment, cell.dim, cell.arms)
    for other in results.cells:
        if (other.environment, other.dim, other.arms) == shape:
            return other
    raise InvalidSetting(f"no fresh run of {cell} went well; the problems were {results.cells}")
