"""The runs of a table: which there are, and what each gave."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting
from infex.experiments.cells import Cell, Runs, by_cell
from infex.experiments.naming import hint
from infex.experiments.run_lists import CURVE, by_round, by_run, ends_of, lasts_of
from infex.experiments.runs_table import RUN_COLUMNS, Table
from infex.experiments.setting_columns import Facts, widened
from infex.experiments.settings_found import found_name, told_by_labels
from infex.policies import Policy
from infex.policies.base import checked
from infex.registry import has_expression, label_of


class PlayedRuns:
    """Runs by problem and policy, with every setting that was played.

    `bases`, `failures` and `about` are those of `Results`.
    """

    def __init__(
        self,
        table: pa.Table,
        bases: dict[str, str],
        failures: tuple[dict[str, str], ...],
        about: dict[str, Any],
    ) -> None:
        self._lists = by_run(table)  # settings are read from `about`
        self.bases = bases
        self.failures = failures
        self.about = about

    def __repr__(self) -> str:
        return f"Results({len(self.finals)} runs, {len(self.failures)} failed)"

    def table(self) -> Table:
        """One row for each run and recorded round, with a column for every setting that was played."""
        return Table(widened(by_round(self._lists), self.settings))

    @functools.cached_property
    def settings(self) -> dict[str, list[Facts]]:
        """The settings of all policies and problems; where the sweep kept none, what their labels say."""
        if "settings" in self.about:
            kept: dict[str, list[Facts]] = self.about["settings"]
            return {"policies": [], "environments": []} | kept
        pairs = self._lists.select(["policy", "horizon"]).group_by(["policy", "horizon"]).aggregate([])
        labels = [(row["policy"], row["horizon"]) for row in pairs.to_pylist()]
        return told_by_labels(labels, pc.unique(self._lists["environment"]).to_pylist())

    @functools.cached_property
    def rules(self) -> dict[str, str]:
        """When each policy that has a schedule explores, and on which data its base learns."""
        ruled = [record for record in self.settings["policies"] if record.get("schedule") is not None]
        return {record["policy"]: f"{record['schedule']}, {record.get('data')}" for record in ruled}

    def problem(self, cell: Cell) -> Facts:
        """The settings of a problem, by the names of their columns."""
        records = self.settings["environments"]
        return next((each for each in records if each["environment"] == cell.environment), {})

    @functools.cached_property
    def finals(self) -> pa.Table:
        """One row for each run: its last round, and every setting that was played."""
        runs = self._whole
        for name in CURVE:
            runs = runs.set_column(RUN_COLUMNS.names.index(name), name, pa.array(lasts_of(runs[name])))
        return widened(runs, self.settings)

    @functools.cached_property
    def _whole(self) -> pa.Table:
        """The runs whose last round is that of the horizon: all, but of a table that was cut."""
        reached = lasts_of(self._lists["t"]) == self._lists["horizon"].to_numpy()
        return self._lists if reached.all() else self._lists.filter(pa.array(reached))

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
        columns = [self.finals[name].to_numpy() for name in ("seed", "regret", "seconds")]
        columns.append(self.finals["explored"].to_numpy() / self.finals["horizon"].to_numpy())
        groups = by_cell(self.finals)
        return {key: Runs(*(column[rows] for column in columns)) for key, rows in groups.items()}

    def has(self, cell: Cell, policy: str | Policy) -> bool:
        """Are there runs of that policy in that cell?"""
        if isinstance(policy, str) and policy in self.policies:
            return (cell, policy) in self._runs
        return (cell, self._name(policy)) in self._runs

    def regret(self, cell: Cell, policy: str | Policy) -> Floats:
        """Final regret of each run, by seed."""
        return self._of(cell, policy).regret

    def seeds(self, cell: Cell, policy: str | Policy) -> Integers:
        """The seeds of the runs, in order."""
        return self._of(cell, policy).seeds

    def seconds(self, cell: Cell, policy: str | Policy) -> Floats:
        """Computation time of each run, by seed."""
        return self._of(cell, policy).seconds

    def explored(self, cell: Cell, policy: str | Policy) -> Floats:
        """The share of its rounds in which each run explored, by seed."""
        return self._of(cell, policy).explored

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
        if name in self.policies and (isinstance(policy, str) or not self._tells_apart(policy)):
            return name
        found = found_name(name, policy, self.about, self.settings["policies"])
        if found is None and name in self.policies:
            raise InvalidSetting(f"no runs of {name}: here that is the name of another policy")
        return found or name

    def _tells_apart(self, policy: Policy) -> bool:
        """Is it known what was played under each name, and is the policy built in from end to end?"""
        return "contents" in self.about and has_expression(policy)

    def _of(self, cell: Cell, policy: str | Policy) -> Runs:
        """The runs of one policy in one cell, if there are any."""
        name = self.known(policy)
        if (cell, name) not in self._runs:
            raise InvalidSetting(f"no runs of {name!r} in {cell}; results.cells and results.has tell where")
        return self._runs[cell, name]

    @functools.cached_property
    def _curves(self) -> dict[tuple[Cell, str], tuple[Integers, Floats]]:
        """Rounds and regret of each cell and policy, one row for each run."""
        t, regret = (pc.list_flatten(self._whole[name]).to_numpy() for name in CURVE)
        ends = ends_of(self._whole)
        curves = {}
        for key, runs in by_cell(self.finals).items():
            first, last = ends[runs[0]], ends[runs[0] + 1]
            places = ends[runs][:, None] + np.arange(last - first)
            curves[key] = t[first:last], regret[places]
        return curves

    def curves(self, cell: Cell, policy: str | Policy) -> tuple[Integers, Floats]:
        """Recorded rounds, and the regret up to them, one row for each run."""
        self._of(cell, policy)
        return self._curves[cell, self._name(policy)]
