"""Results compared: bands of curves, differences run by run, summaries, and the best of many."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from infex._stats import Interval, holm, mean_intervals, paired, paired_test, quantile_intervals, slope
from infex.arrays import Floats, Integers
from infex.checks import one_of, real, whole
from infex.errors import InvalidSetting
from infex.lab.progress import Progress
from infex.lab.table import Table

if TYPE_CHECKING:
    from infex.lab.results import Cell, Results
    from infex.lab.sweep import Sweep


BAND_RESAMPLES = 1000  # a band has a hundred points, so each is drawn again less often than a figure


class Band(NamedTuple):
    """Rounds, a figure of regret up to each, and the ends of its interval of 95 %."""

    rounds: Integers
    value: Floats
    low: Floats
    high: Floats


def band_of(rounds: Integers, curves: Floats, of: Literal["mean"] | float) -> Band:
    """The mean of curves, one row for each run, or a quantile of them, with an interval at each round."""
    return Band(rounds, *(_means(curves) if of == "mean" else _quantiles(curves, of)))


def _means(curves: Floats) -> Floats:
    """Value, low and high of each round, of means."""
    return np.array(mean_intervals(list(curves.T), BAND_RESAMPLES)).T


def _quantiles(curves: Floats, of: float) -> Floats:
    """Value, low and high of each round, of the quantile `of`."""
    return quantile_intervals(curves.T, real("of", of, least=0, most=1))


def slope_of(rounds: Integers, curves: Floats, since: int | None) -> Interval:
    """How fast the mean of curves grows from a round on, or from a tenth of the last."""
    kept = rounds >= (rounds[-1] / 10 if since is None else since)
    return slope(rounds[kept], curves[:, kept])


COMPARED = ("t", "regret", "explored", "optimal", "regret_exploring", "regret_greedy", "log_det_ratio")
NOT_COMPARED = ("key", "seconds")  # the code and the clock: neither is what a run gave

Name = tuple[tuple[str, object], ...]


class RunBits(NamedTuple):
    """One run of a table: the name of its content, its rounds, and all that was measured, as bits."""

    key: str
    rounds: Integers
    regret: Floats
    bits: bytes


class Parted(NamedTuple):
    """Two runs of one name that differ: from which recorded round on, and the regret of both at the end.

    `round` is None where the curves agree and only other figures differ. `same_content` says whether the
    same problem, policy and code were played.
    """

    run: str
    round: int | None
    one: float
    other: float
    same_content: bool


class ResultsDiff(NamedTuple):
    """How many runs agree bit for bit, which do not, and which are missing from one of the two."""

    same: int
    different: tuple[Parted, ...]
    only_one: tuple[str, ...]
    only_other: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Have both the same runs, equal to the last bit?"""
        return not (self.different or self.only_one or self.only_other)

    def __str__(self) -> str:
        return (
            f"{self.same:,} runs agree bit for bit, {len(self.different):,} differ, "
            f"{len(self.only_one):,} are in the first alone, {len(self.only_other):,} in the second alone"
        )


def difference(one: pa.Table, other: pa.Table) -> ResultsDiff:
    """What differs between two tables of runs, each named by all columns of both that measure nothing."""
    common = [name for name in one.column_names if name in other.column_names]
    naming = [name for name in common if name not in (*COMPARED, *NOT_COMPARED)]
    measured = [name for name in common if name in COMPARED]
    left, right = (_runs(table, naming, measured) for table in (one, other))
    pairs = [(name, left[name], right[name]) for name in left if name in right]
    different = [_parted(name, a, b) for name, a, b in pairs if a.bits != b.bits]
    return ResultsDiff(
        len(pairs) - len(different),
        tuple(different),
        tuple(_words(name) for name in left if name not in right),
        tuple(_words(name) for name in right if name not in left),
    )


def _runs(table: pa.Table, naming: list[str], measured: list[str]) -> dict[Name, RunBits]:
    """The runs of a table by their names, in its order."""
    rows = table.combine_chunks()
    if not rows.num_rows:
        return {}
    codes = rows["key"].combine_chunks().dictionary_encode().indices.to_numpy()
    order = np.lexsort((rows["t"].to_numpy(), codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    bits = np.stack([rows[name].to_numpy()[order].view(np.int64) for name in measured], axis=1)
    t, regret = rows["t"].to_numpy()[order], rows["regret"].to_numpy()[order]
    firsts = rows.select(["key", *naming]).take(order[starts]).to_pylist()
    runs: dict[Name, RunBits] = {}
    for row, a, b in zip(firsts, starts, [*starts[1:], len(order)], strict=True):
        name = tuple((column, row[column]) for column in naming)
        while name in runs:  # another run of that name, told apart by nothing that the columns say
            name = (*name, ("again", True))
        runs[name] = RunBits(row["key"], t[a:b], regret[a:b], bits[a:b].tobytes())
    return runs


def _parted(name: Name, one: RunBits, other: RunBits) -> Parted:
    both = min(one.rounds.size, other.rounds.size)
    apart = (one.rounds[:both] != other.rounds[:both]) | (
        one.regret[:both].view(np.int64) != other.regret[:both].view(np.int64)
    )
    longer = one if one.rounds.size > other.rounds.size else other
    first = int(np.argmax(apart)) if apart.any() else both
    where = int(longer.rounds[first]) if first < longer.rounds.size else None
    ends = float(one.regret[-1]), float(other.regret[-1])
    return Parted(_words(name), where, *ends, one.key == other.key)


def _words(name: Name) -> str:
    """A run as people say it."""
    facts = dict(name)
    more = [f"{key} {value}" for key, value in facts.items() if key not in ("policy", "environment", "seed")]
    return f"{facts['policy']} on {facts['environment']} with seed {facts['seed']} ({', '.join(more)})"


PROBLEM_COLUMNS = [
    ("environment", pa.string()),
    ("dim", pa.int64()),
    ("arms", pa.int64()),
    ("horizon", pa.int64()),
]
SUMMARY_COLUMNS = pa.schema(
    [
        *PROBLEM_COLUMNS,
        ("policy", pa.string()),
        ("instances", pa.int64()),
        ("regret_mean", pa.float64()),
        ("regret_low", pa.float64()),
        ("regret_high", pa.float64()),
        ("regret_std", pa.float64()),
        ("regret_median", pa.float64()),
        ("seconds_median", pa.float64()),
    ]
)
TEST_COLUMNS = pa.schema(
    [
        *PROBLEM_COLUMNS,
        ("policy", pa.string()),
        ("against", pa.string()),
        ("pairs", pa.int64()),
        ("mean", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("median", pa.float64()),
        ("below", pa.int64()),
        ("p", pa.float64()),
        ("p_holm", pa.float64()),
    ]
)
WORST_COLUMNS = pa.schema(
    [
        ("policy", pa.string()),
        ("problems", pa.int64()),
        *PROBLEM_COLUMNS,
        ("regret_mean", pa.float64()),
        ("regret_low", pa.float64()),
        ("regret_high", pa.float64()),
        ("regret_median", pa.float64()),
        ("ratio", pa.float64()),
        ("regret_most", pa.float64()),
        ("seed_of_most", pa.int64()),
    ]
)


def summary(results: Results) -> Table:
    """One row for each cell and policy."""
    rows = []
    for cell in results.cells:
        for policy in _played_rows(results, cell):
            regret, mean = results.spread(cell, policy), results.interval(cell, policy)
            figures = {
                "instances": regret.runs,
                "regret_mean": regret.mean,
                "regret_low": mean.low,
                "regret_high": mean.high,
                "regret_std": regret.std,
                "regret_median": regret.median,
                "seconds_median": float(np.median(results.seconds(cell, policy))),
            }
            rows.append(_problem(results, cell) | {"policy": policy} | figures)
    return _table(rows, SUMMARY_COLUMNS)


def tests(
    results: Results,
    against: str,
    chosen: str | None,
    cells: Sequence[Cell],
    test: Literal["wilcoxon", "sign"],
) -> Table:
    """Every other policy, or a chosen one, against one, paired; p-values are corrected for all rows."""
    rows = []
    for cell in cells:
        for policy in _played_rows(results, cell):
            asked = policy != against if chosen is None else policy == chosen
            if not (asked and results.has(cell, against)):
                continue
            one, other = results.both(cell, policy, against)
            figures = paired(one, other)._asdict()
            figures |= {"median": float(np.median(one - other)) if one.size else math.nan}
            figures |= {"p": paired_test(one, other, test).p if one.size else math.nan}
            rows.append(_problem(results, cell) | {"policy": policy, "against": against} | figures)
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = float(corrected)
    return _table(rows, TEST_COLUMNS)


def worst(results: Results, by: Literal["regret", "ratio"]) -> Table:
    """The problem on which each policy does worst, by its mean regret or its ratio to the least there."""
    one_of("by", by, ("regret", "ratio"))
    least = {
        cell: min(results.spread(cell, policy).mean for policy in _played_rows(results, cell))
        for cell in results.cells
    }
    rows = []
    for policy in results.policies:
        played = [cell for cell in results.cells if results.has(cell, policy)]
        means = {cell: results.spread(cell, policy).mean for cell in played}
        ratios = {cell: _ratio(means[cell], least[cell]) for cell in played}
        cell = max(played, key=(means if by == "regret" else ratios).__getitem__)
        mean = results.interval(cell, policy)
        figures = {"regret_mean": mean.value, "regret_low": mean.low, "regret_high": mean.high}
        figures |= {"regret_median": results.spread(cell, policy).median, "ratio": ratios[cell]}
        most = int(np.argmax(results.regret(cell, policy)))
        figures |= {"regret_most": float(results.regret(cell, policy)[most])}
        figures |= {"seed_of_most": int(results.seeds(cell, policy)[most])}
        rows.append({"policy": policy, "problems": len(played)} | _problem(results, cell) | figures)
    return _table(rows, WORST_COLUMNS)


def _ratio(mean: float, least: float) -> float:
    """How many times the least mean; 1 for that one itself, also where it is 0."""
    if mean == least:
        return 1.0
    return mean / least if least > 0 else math.inf


def _played_rows(results: Results, cell: Cell) -> list[str]:
    return [policy for policy in results.policies if results.has(cell, policy)]


def _problem(results: Results, cell: Cell) -> dict[str, Any]:
    """A problem by its columns; all runs have one horizon where cells have none of their own."""
    horizon = cell.horizon or results.finals["horizon"][0].as_py()
    return {"environment": cell.environment, "dim": cell.dim, "arms": cell.arms, "horizon": horizon}


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> Table:
    """Rows as a table; what is not a number is null."""
    plain = [
        {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items()
        }
        for row in rows
    ]
    return Table(pa.Table.from_pylist(plain, schema=schema))


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
