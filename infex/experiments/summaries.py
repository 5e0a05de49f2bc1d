"""Tables that are read from results: the summary, paired tests, and the worst case over problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from infex.checks import one_of
from infex.experiments.runs_table import Table
from infex.statistics import holm, paired, paired_test

if TYPE_CHECKING:
    from infex.experiments.results import Cell, Results

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
        for policy in _played(results, cell):
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
        for policy in _played(results, cell):
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
        cell: min(results.spread(cell, policy).mean for policy in _played(results, cell))
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


def _played(results: Results, cell: Cell) -> list[str]:
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
