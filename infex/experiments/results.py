"""Results as a table, and what is read from it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting
from infex.experiments.naming import hint
from infex.experiments.runs_table import RUN_COLUMNS, SUMMARY_COLUMNS, Table
from infex.experiments.setting_columns import Facts, wide_parquet, widened
from infex.experiments.settings_found import Against, against, found_name, told_by_labels
from infex.files import replace
from infex.policies import Policy
from infex.policies.traits import checked
from infex.records.thing_labels import label_of
from infex.statistics import Difference, Spread, paired, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One problem of a sweep: its label, dimension, number of arms, and the horizon if there are several."""

    environment: str
    dim: int
    arms: int
    horizon: int | None = None


class Runs(NamedTuple):
    """The runs of one policy on one problem, by seed: final regret, and seconds of computation."""

    seeds: Integers
    regret: Floats
    seconds: Floats


def by_cell(table: pa.Table) -> dict[tuple[Cell, str], Integers]:
    """The rows of each cell and policy, sorted by seed and round."""
    names = [table[name].combine_chunks().dictionary_encode() for name in ("environment", "policy")]
    groups = [name.indices.to_numpy() for name in names]
    groups += [table[name].to_numpy() for name in ("dim", "arms", "horizon")]
    several = np.unique(groups[-1]).size > 1
    order = np.lexsort((table["t"].to_numpy(), table["seed"].to_numpy(), *groups))
    ends = np.flatnonzero(np.any([np.diff(group[order]) != 0 for group in groups], axis=0)) + 1
    rows_of_group = {}
    for rows in np.split(order, ends) if order.size else ():
        environment, policy, dim, arms, horizon = (int(group[rows[0]]) for group in groups)
        label = names[0].dictionary[environment].as_py()
        cell = Cell(label, dim, arms, horizon if several else None)
        rows_of_group[cell, names[1].dictionary[policy].as_py()] = rows
    return rows_of_group


@final
class Results:
    """The runs of a sweep that went well, as `table()`, and those that failed, as `failures`.

    `bases` maps the name of a policy to that of the base it explores with. `about` tells how the runs
    were made.
    """

    def __init__(
        self,
        table: pa.Table,
        *,
        bases: dict[str, str] | None = None,
        failures: tuple[dict[str, str], ...] = (),
        about: dict[str, Any] | None = None,
    ) -> None:
        self._table = table
        self.bases = bases or {}
        self.failures = failures
        self.about = about or {}

    def __repr__(self) -> str:
        return f"Results({len(self.finals)} runs, {len(self.failures)} failed)"

    def table(self) -> Table:
        """One row for each run and recorded round, with a column for every setting that was played."""
        return Table(widened(self._table, self.settings))

    @functools.cached_property
    def settings(self) -> dict[str, list[Facts]]:
        """The settings of all policies and problems; where the sweep kept none, what their labels say."""
        if "settings" in self.about or not set(RUN_COLUMNS.names) <= set(self._table.column_names):
            kept: dict[str, list[Facts]] = self.about.get("settings", {})
            return {"policies": [], "environments": []} | kept
        pairs = self._table.select(["policy", "horizon"]).group_by(["policy", "horizon"]).aggregate([])
        labels = [(row["policy"], row["horizon"]) for row in pairs.to_pylist()]
        return told_by_labels(labels, pc.unique(self._table["environment"]).to_pylist())

    @functools.cached_property
    def rules(self) -> dict[str, str]:
        """When each policy that has a schedule explores, and on which data its base learns."""
        return {
            record["policy"]: f"{record['schedule']}, {record.get('data')}"
            for record in self.settings["policies"]
            if record.get("schedule") is not None
        }

    def problem(self, cell: Cell) -> Facts:
        """The settings of a problem, by the names of their columns."""
        records = self.settings["environments"]
        return next((each for each in records if each["environment"] == cell.environment), {})

    @functools.cached_property
    def finals(self) -> pa.Table:
        """One row for each run: its last round, and every setting that was played."""
        return widened(self._table.filter(pc.equal(self._table["t"], self._table["horizon"])), self.settings)

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """The problems, by dimension and number of arms."""
        cells = dict.fromkeys(cell for cell, _ in self._runs)
        return sorted(cells, key=lambda cell: (cell.dim, cell.arms, cell.environment, cell.horizon or 0))

    @functools.cached_property
    def shapes_are_distinct(self) -> bool:
        """Do dimension and number of arms tell all problems apart?"""
        return len({(cell.dim, cell.arms, cell.horizon) for cell in self.cells}) == len(self.cells)

    def title(self, cell: Cell) -> str:
        """What a reader calls a problem: its shape, and its label where another has that shape too."""
        shape = f"d = {cell.dim}, K = {cell.arms}" + (f", T = {cell.horizon:,}" if cell.horizon else "")
        return shape if self.shapes_are_distinct else f"{shape}: {cell.environment}"

    @functools.cached_property
    def policies(self) -> list[str]:
        """The names of all policies, in the order of the sweep."""
        names = dict.fromkeys(self.finals["policy"].to_pylist())
        order = {name: place for place, name in enumerate(self.about.get("policies", []))}
        return sorted(names, key=lambda name: order.get(name, len(order)))

    @functools.cached_property
    def _runs(self) -> dict[tuple[Cell, str], Runs]:
        """The runs of each cell and policy."""
        seeds, regret, seconds = (self.finals[name].to_numpy() for name in ("seed", "regret", "seconds"))
        groups = by_cell(self.finals)
        return {key: Runs(seeds[rows], regret[rows], seconds[rows]) for key, rows in groups.items()}

    def has(self, cell: Cell, policy: str | Policy) -> bool:
        """Are there runs of that policy in that cell?"""
        if isinstance(policy, str) and policy in self.policies:
            return (cell, policy) in self._runs
        return (cell, self._name(policy)) in self._runs

    def regret(self, cell: Cell, policy: str | Policy) -> Floats:
        """Final regret of each run, by seed."""
        return self._of(cell, policy).regret

    def seconds(self, cell: Cell, policy: str | Policy) -> Floats:
        """Computation time of each run, by seed."""
        return self._of(cell, policy).seconds

    def spread(self, cell: Cell, policy: str | Policy) -> Spread:
        """The spread of final regret."""
        return spread(self.regret(cell, policy))

    def both(
        self,
        cell: Cell,
        one: str | Policy,
        other: str | Policy,
        figure: Literal["regret", "seconds"] = "regret",
    ) -> tuple[Floats, Floats]:
        """Final "regret" or "seconds" of two policies, over the seeds that both played, by seed."""
        a, b = self._of(cell, one), self._of(cell, other)
        _, left, right = np.intersect1d(a.seeds, b.seeds, return_indices=True)
        if figure == "seconds":
            return a.seconds[left], b.seconds[right]
        return a.regret[left], b.regret[right]

    @overload
    def compare(self, cell: Cell, one: str | Policy, other: str | Policy) -> Difference: ...

    @overload
    def compare(self, cell: str | Policy, one: str | Policy) -> dict[Cell, Difference]: ...

    def compare(
        self, cell: Cell | str | Policy, one: str | Policy, other: str | Policy | None = None
    ) -> Difference | dict[Cell, Difference]:
        """Final regret of one policy minus that of another, over the seeds that both played.

        Without a cell, as in `results.compare("LinUCB", "Greedy")`, for each cell that has both.
        """
        if isinstance(cell, Cell) and other is not None:
            return paired(*self.both(cell, one, other))
        if isinstance(cell, Cell) or other is not None:
            raise InvalidSetting("compare takes two policies, or a cell of results.cells and two policies")
        left, right = self.known(cell), self.known(one)
        return {
            place: self.compare(place, left, right)
            for place in self.cells
            if self.has(place, left) and self.has(place, right)
        }

    def known(self, policy: str | Policy) -> str:
        """The name of a policy in the table, if there are runs of it.

        It may be given by that name, by any expression that means the same, or as the policy itself.
        """
        name = self._name(policy)
        if name in self.policies:
            return name
        if name in self.about.get("policies", ()):
            raise InvalidSetting(f"all runs of {name!r} failed: see failures.json, or results.failures")
        names = "".join(f"\n  {each}" for each in self.policies)
        raise InvalidSetting(f"no runs of {name!r}{hint(name, self.policies)}; there are runs of{names}")

    def names_several(self, policy: str | Policy) -> bool:
        """Does a name stand for several policies of the table, as it says less than they do?"""
        try:
            self._name(policy)
        except InvalidSetting:
            return True
        return False

    def _name(self, policy: str | Policy) -> str:
        """The name in the table for what a user gave, or that itself."""
        name = policy if isinstance(policy, str) else label_of(checked("policy", policy))
        known = name in self.policies
        return name if known else found_name(name, policy, self.about, self.settings["policies"])

    def _of(self, cell: Cell, policy: str | Policy) -> Runs:
        """The runs of one policy in one cell, if there are any."""
        name = self.known(policy)
        if (cell, name) not in self._runs:
            raise InvalidSetting(f"no runs of {name!r} in {cell}; results.cells and results.has tell where")
        return self._runs[cell, name]

    @functools.cached_property
    def _curves(self) -> dict[tuple[Cell, str], tuple[Integers, Floats]]:
        """Rounds and regret of each cell and policy, one row for each run."""
        t, seeds, regret = (self._table[name].to_numpy() for name in ("t", "seed", "regret"))
        curves = {}
        for key, rows in by_cell(self._table).items():
            runs = np.unique(seeds[rows]).size
            curves[key] = t[rows].reshape(runs, -1)[0], regret[rows].reshape(runs, -1)
        return curves

    def curves(self, cell: Cell, policy: str | Policy) -> tuple[Integers, Floats]:
        """Recorded rounds, and the regret up to them, one row for each run."""
        self._of(cell, policy)
        return self._curves[cell, self._name(policy)]

    def band(self, cell: Cell, policy: str | Policy) -> tuple[Integers, Floats, Floats]:
        """Recorded rounds, mean regret up to them, and its standard deviation (0 for one run)."""
        rounds, regret = self.curves(cell, policy)
        std = regret.std(axis=0, ddof=1) if len(regret) > 1 else np.zeros(rounds.size)
        return rounds, regret.mean(axis=0), std

    def summary(self) -> pa.Table:
        """One row for each cell and policy; with its `environment` where several have one shape.

        One run has no standard deviation (null).
        """
        rows = [
            self._summary_row(cell, policy)
            for cell in self.cells
            for policy in self.policies
            if self.has(cell, policy)
        ]
        more = [] if self.shapes_are_distinct else [pa.field("environment", pa.string())]
        more += [pa.field("horizon", pa.int64())] if any(cell.horizon for cell in self.cells) else []
        return pa.Table.from_pylist(rows, schema=pa.schema([*SUMMARY_COLUMNS, *more]))

    def _summary_row(self, cell: Cell, policy: str) -> dict[str, Any]:
        regret = self.spread(cell, policy)
        return {
            "dim": cell.dim,
            "arms": cell.arms,
            "policy": policy,
            "instances": regret.runs,
            "regret_mean": regret.mean,
            "regret_std": regret.std if regret.runs > 1 else None,
            "regret_median": regret.median,
            "seconds_median": float(np.median(self.seconds(cell, policy))),
            "environment": cell.environment,
            "horizon": cell.horizon,
        }

    def write(self, folder: Path) -> None:
        """Writes `results.parquet` and `summary.csv`."""
        replace(folder / "results.parquet", wide_parquet(self._table, self.settings))
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(self.summary(), sink)
        replace(folder / "summary.csv", sink.getvalue().to_pybytes())

    def against(self, setting: str, **only: object) -> Against:
        """Final regret by the values of a setting, with a line for each mixture of the others.

        `setting` is a column of the table, such as "period", "scale", "delta", "penalty", "horizon", "arms"
        or "environment_gap"; `only` keeps runs whose columns have these values, or one of a list.
        `.table()` of what comes out has the numbers, and `.plot()` draws them.
        """
        return against(self.finals, setting, only)

    def plot(self, dim: int | None = None, *, against: str | None = None, **only: object) -> Figure:
        """A matplotlib figure of regret and time, for one dimension if there are several.

        With `against` it is final regret against the values of that setting; `only` as in `against`.
        """
        if against is not None:
            return self.against(against, **only).plot()
        from infex.reports import figure

        return figure(self, dim)
