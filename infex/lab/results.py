"""Results as a table, and what is read from it."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from infex._stats import (
    Difference,
    Interval,
    Spread,
    holm,
    mean_intervals,
    paired,
    paired_test,
    quantile_intervals,
    slope,
    spread,
)
from infex.arrays import Floats, Integers
from infex.checks import hint, one_of, real, whole
from infex.errors import InvalidSetting
from infex.files import replace
from infex.lab.comparison import Against, ResultsDiff, difference, grids_of, matching
from infex.lab.environments import PROBLEMS
from infex.lab.expressions import canonical, quietly
from infex.lab.fingerprint import commit, digest, versions
from infex.lab.reports.series import Band, Look
from infex.lab.runner import Progress, outcome_of
from infex.lab.simulation import Run
from infex.lab.specs import Facts, policy_facts
from infex.lab.table import CURVE, Table, by_round, by_run, ends_of, last_rounds, runs_of, with_settings
from infex.policies import Infex, Policy
from infex.policies.base import checked, resolve_defaults
from infex.registry import has_expression, label_of, parse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infex.lab.sweep import Sweep

BAND_RESAMPLES = 1000  # a band has a hundred points, so each is drawn again less often than a figure
BY_HAND = "by hand"  # the problem of runs that were made by hand, if nobody names it
Naming = str | Callable[[Run], str]

PROBLEM_COLUMNS = ("environment", "dim", "arms", "horizon")
REGRET_COLUMNS = ("regret_mean", "regret_low", "regret_high")
SUMMARY_COLUMNS = (
    *PROBLEM_COLUMNS, "policy", "instances", *REGRET_COLUMNS, "regret_std", "regret_median", "explored_mean",
    "different_mean", "seconds_median",
)  # fmt: skip
TEST_COLUMNS = (
    *PROBLEM_COLUMNS, "policy", "against", "pairs", "mean", "low", "high", "median", "below", "p", "p_holm",
)  # fmt: skip
WORST_COLUMNS = (
    "policy", "problems", *PROBLEM_COLUMNS, *REGRET_COLUMNS, "regret_median", "ratio", "regret_most",
    "seed_of_most",
)  # fmt: skip
Drawn = Sequence["str | Policy"] | Mapping[Any, str] | None


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One problem of a sweep: its label, dimension, number of arms, and the horizon if there are several."""

    environment: str
    dim: int
    arms: int
    horizon: int | None = None


def last_line(failure: dict[str, str]) -> str:
    """The last line of the traceback of a run that failed."""
    return failure["traceback"].strip().splitlines()[-1]


class Best(NamedTuple):
    """The policy of the lowest "mean" or "median" regret in a cell; `regret` is that, with its interval.

    It is the first of `ranked`, and was `chosen_from` so many on the very seeds that `regret` is of: what
    is chosen for being low is low by luck too, so fresh seeds give more. `confirm` plays them.
    """

    cell: Cell
    policy: str
    of: Literal["mean", "median"]
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
        return self.results.best(self.cell, self.best.of)

    @property
    def stays(self) -> bool:
        """Is it still the best of these?"""
        return self.again.policy == self.best.policy

    def tests(self) -> Table:
        """Each neighbour against it, paired, with p-values that are corrected for all of them."""
        return self.results.tests(self.best.policy, cell=self.cell)

    def __str__(self) -> str:
        policy, before = self.best.policy, self.best.regret
        fresh = self.results._figure(self.cell, policy, self.best.of)
        seeds = self.results.seeds(self.cell, policy).size
        words = (
            f"{policy}: {self.best.of} regret {fresh} over {seeds} fresh "
            f"seeds; {before.value:,.4g} over the {self.best.seeds} that chose it among "
            f"{self.best.chosen_from}"
        )
        state = "it stays the best" if self.stays else f"{self.again.policy} is lower"
        return f"{words}; {state} of {self.again.chosen_from}\n{self.tests()!r}"


@final
class Results:
    """The runs of a sweep that went well, as `table()`, and those that failed, as `failures`.

    `bases` maps the name of a policy to that of the base it explores with. `about` tells how the runs
    were made. Where a method asks for a policy, it is named as in the table or the sweep, or is the object.
    Intervals of means are bootstrap-t intervals of 95 %: runs are drawn again with replacement.
    """

    def __init__(
        self,
        table: pa.Table,
        *,
        bases: dict[str, str] | None = None,
        failures: tuple[dict[str, str], ...] = (),
        about: dict[str, Any] | None = None,
        sweep: Sweep | None = None,
    ) -> None:
        self._lists = by_run(table)  # settings are read from `about`
        self.about = about or {}
        self.bases: dict[str, str] = self.about.get("bases", {}) if bases is None else bases
        self.failures = failures
        self._sweep = sweep

    @staticmethod
    def load(folder: str | Path) -> Results:
        """The results that a folder holds, of a sweep or of `save`."""
        from infex.lab.store import read

        return read(folder)

    @staticmethod
    def of(runs: Iterable[Run] | Mapping[str, Iterable[Run]], *, environment: Naming = BY_HAND) -> Results:
        """Results of runs that `play` and `play_many` gave; a dict of them, {name: runs}, names policies.

        `environment` names the problem, or is a function of a run that does. Runs with one seed on problems
        of one name are paired, so they must be of one problem; others are refused. Of a name that stands for
        policies of several settings, those are known which all of them share.

        >>> from infex import Greedy, LinUCB
        >>> from infex.lab import environments, play_many
        >>> problem = environments.gaussian(dim=3, arms=5, seed=1)
        >>> runs = {"UCB": play_many(problem, LinUCB(), 50), "greedy": play_many(problem, Greedy(), 50)}
        >>> Results.of(runs).policies
        ['UCB', 'greedy']
        """
        outcomes = []
        bases: dict[str, str | None] = {}
        settings: dict[tuple[str, int], Facts] = {}
        problems: dict[tuple[object, ...], str] = {}
        seen: set[tuple[object, ...]] = set()
        for policy, run in _runs_by_policy(runs):
            label = environment if isinstance(environment, str) else environment(run)
            shape = (label, run.instance.dim, run.instance.count, run.horizon, run.seed)
            problem, content = digest(run.instance), digest(run.policy)
            if problems.setdefault(shape, problem) != problem:
                raise InvalidSetting(
                    f"two problems with seed {run.seed} are both called {label!r}, and their runs would be "
                    "compared as if they were one: play each problem with a seed of its own "
                    "(play_many(..., paired=True)), or name them by environment=lambda run: ..."
                )
            if (*shape, policy) in seen:
                raise InvalidSetting(
                    f"two runs of {policy!r} on {label!r} have seed {run.seed}; "
                    "a dict of runs, {name: runs}, tells policies apart"
                )
            seen.add((*shape, policy))
            key = digest([label, problem, policy, content, run.seed, run.horizon])
            outcomes.append(outcome_of(run, key, label, policy))
            bases.setdefault(policy, label_of(run.policy.base) if isinstance(run.policy, Infex) else None)
            facts = {"policy": policy, "horizon": run.horizon, "content": content} | policy_facts(run.policy)
            known = settings.setdefault((policy, run.horizon), facts)
            settings[policy, run.horizon] = {
                word: value for word, value in known.items() if facts.get(word) == value
            }
        table = runs_of(outcomes)
        horizons = table["horizon"].unique().to_pylist()
        about = {
            "title": "Runs made by hand",
            "environments": table["environment"].unique().to_pylist(),
            "policies": list(bases),
            "bases": {policy: base for policy, base in bases.items() if base in bases},
            "horizon": horizons[0] if len(horizons) == 1 else horizons,
            "seeds": sorted(table["seed"].unique().to_pylist()),
            "settings": {"policies": list(settings.values()), "environments": []},
            "versions": versions(),
            "commit": commit(),
        }
        return Results(table, about=about)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes table, summary, settings and failures into a folder, as `load` and all commands read it.

        A folder with other contents is written to with `force` alone.
        """
        from infex.lab.store import save

        save(self, folder, force)

    def __getstate__(self) -> dict[str, Any]:
        """All but the sweep, whose objects a pickle may not hold."""
        return self.__dict__ | {"_sweep": None}

    def __repr__(self) -> str:
        return f"Results({len(self.finals)} runs, {len(self.failures)} failed)"

    # Runs by problem and policy

    def table(self) -> Table:
        """One row for each run and recorded round, with a column for every setting that was played."""
        return Table(by_round(self.wide()))

    def wide(self) -> pa.Table:
        """One row for each run with its curve as lists, and a column for every setting that was played."""
        return with_settings(self._lists, self.settings)

    @functools.cached_property
    def settings(self) -> dict[str, list[Facts]]:
        """The settings of all "policies" and "environments", as far as it is known how they were made."""
        kept: dict[str, list[Facts]] = self.about.get("settings", {})
        return {"policies": [], "environments": []} | kept

    @functools.cached_property
    def finals(self) -> pa.Table:
        """One row for each run: its last round, and every setting that was played."""
        return with_settings(last_rounds(self._whole), self.settings)

    @functools.cached_property
    def _whole(self) -> pa.Table:
        """The runs whose last round is that of the horizon: all, but of a table that was cut."""
        reached = pc.equal(last_rounds(self._lists)["t"], self._lists["horizon"])
        return self._lists if pc.all(reached).as_py() in (True, None) else self._lists.filter(reached)

    @functools.cached_property
    def _rows(self) -> dict[tuple[Cell, str], Integers]:
        """The rows of `finals` of each cell and policy, by seed."""
        names = ("environment", "dim", "arms", "horizon", "policy", "seed")
        columns = [self.finals[name].to_pylist() for name in names]
        several = len({*columns[3]}) > 1
        groups: dict[tuple[Cell, str], list[tuple[int, int]]] = {}
        for row, (environment, dim, arms, horizon, policy, seed) in enumerate(zip(*columns, strict=True)):
            cell = Cell(environment, dim, arms, horizon if several else None)
            groups.setdefault((cell, policy), []).append((seed, row))
        return {key: np.array([row for _, row in sorted(rows)]) for key, rows in groups.items()}

    def _of(self, cell: Cell, policy: str | Policy) -> Integers:
        """The rows of one policy in one cell, if there are any."""
        name = self.known(policy)
        if (cell, name) not in self._rows:
            raise InvalidSetting(f"no runs of {name!r} in {cell}; results.cells and results.has tell where")
        return self._rows[cell, name]

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """The problems, in the order of the sweep; those of one name by dimension, arms and horizon."""
        cells = dict.fromkeys(cell for cell, _ in self._rows)
        names = dict.fromkeys([*self.about.get("environments", []), *(cell.environment for cell in cells)])
        order = {name: place for place, name in enumerate(names)}
        return sorted(cells, key=lambda it: (order[it.environment], it.dim, it.arms, it.horizon or 0))

    @functools.cached_property
    def policies(self) -> list[str]:
        """The names of all policies, in the order of the sweep."""
        names = dict.fromkeys(self.finals["policy"].to_pylist())
        order = {name: place for place, name in enumerate(self.about.get("policies", []))}
        return sorted(names, key=lambda name: order.get(name, len(order)))

    def played(self, cell: Cell) -> list[str]:
        """The policies that have runs in a cell; there must be some."""
        found = [policy for policy in self.policies if (cell, policy) in self._rows]
        if not found:
            raise InvalidSetting(f"no runs in {cell}; results.cells are the problems that there are")
        return found

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
    def shapes_are_distinct(self) -> bool:
        """Do dimension and number of arms tell all problems apart, none of which has a name of its own?"""
        shapes = {(cell.dim, cell.arms, cell.horizon) for cell in self.cells}
        return len(shapes) == len(self.cells) and not any(map(_has_own_name, self.cells))

    def title(self, cell: Cell) -> str:
        """What a reader calls a problem: the name that a user gave it; else its shape, and its label if it
        is not the only one of that shape.
        """
        horizon = "" if cell.horizon is None else f", T = {cell.horizon:,}"
        shape = f"d = {cell.dim}, K = {cell.arms}{horizon}"
        if self.shapes_are_distinct:
            return shape
        if not _has_own_name(cell):
            return f"{shape}: {cell.environment}"
        shapes = {(each.dim, each.arms) for each in self.cells if each.environment == cell.environment}
        return f"{cell.environment}{horizon}" if len(shapes) == 1 else f"{cell.environment}: {shape}"

    def has(self, cell: Cell, policy: str | Policy) -> bool:
        """Are there runs of that policy in that cell?"""
        return (cell, self._name(policy)) in self._rows

    def regret(self, cell: Cell, policy: str | Policy) -> Floats:
        """Final regret of each run, by seed."""
        return self._column("regret", cell, policy)

    def seeds(self, cell: Cell, policy: str | Policy) -> Integers:
        """The seeds of the runs, in order."""
        return self._column("seed", cell, policy)

    def seconds(self, cell: Cell, policy: str | Policy) -> Floats:
        """Computation time of each run, by seed."""
        return self._column("seconds", cell, policy)

    def explored(self, cell: Cell, policy: str | Policy) -> Integers:
        """In how many rounds each run explored, by seed."""
        return self._column("explored", cell, policy)

    def deviations(self, cell: Cell, policy: str | Policy) -> Floats:
        """In how many of these each run played another arm than the greedy one, by seed.

        NaN where there is no schedule: then nobody asked for the greedy arm.
        """
        return self._column("different", cell, policy).astype(np.float64)

    def _column(self, name: str, cell: Cell, policy: str | Policy) -> NDArray[Any]:
        return np.asarray(self.finals[name].to_numpy()[self._of(cell, policy)])

    def curves(self, cell: Cell, policy: str | Policy) -> tuple[Integers, Floats]:
        """Recorded rounds, and the regret up to them, one row for each run."""
        rows, (ends, t, regret) = self._of(cell, policy), self._points
        first, last = ends[rows[0]], ends[rows[0] + 1]
        return t[first:last], regret[ends[rows][:, None] + np.arange(last - first)]

    @functools.cached_property
    def _points(self) -> tuple[Integers, Integers, Floats]:
        """Where each run begins among all recorded rounds of all runs, these rounds, and their regret."""
        t, regret = (pc.list_flatten(self._whole[name]).to_numpy() for name in CURVE)
        return ends_of(self._whole), t, regret

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
        return len(self._labels(policy)) > 1

    def _name(self, policy: str | Policy) -> str:
        """The name in the table for what a user gave, or that itself."""
        first, *more = self._labels(policy)
        if more:
            name = policy if isinstance(policy, str) else label_of(policy)
            told = "".join(f"\n  {label}" for label in (first, *more))
            raise InvalidSetting(f"{name!r} names several policies here:{told}")
        return first

    def _labels(self, policy: str | Policy) -> list[str]:
        """The names in the table that a user's name or policy may stand for; itself, if there are none.

        What is built in from end to end is found by what was played, if that is known.
        """
        if isinstance(policy, str):
            labels = [policy] if policy in self.policies else self.about.get("names", {}).get(policy, [])
            meant = None if labels else canonical(policy)
            if meant in self.about.get("policies", ()):
                labels = [meant]
            elif meant is not None and ":" not in meant:  # what is not built in is not loaded
                labels = self._played_as(quietly(parse, meant))
            return labels or [policy]
        name = label_of(checked("policy", policy))
        contents_known = any("content" in record for record in self.settings["policies"])
        if name in self.policies and not (contents_known and has_expression(policy)):
            return [name]
        labels = self._played_as(policy)
        if not labels and name in self.policies:
            raise InvalidSetting(f"no runs of {name}: here that is the name of another policy")
        return labels or [name]

    def _played_as(self, policy: Any) -> list[str]:
        """The names under which a policy was played, where a delta that is not said is the sweep's."""
        given = self.about.get("delta", "1/T")
        found = []
        for record in self.settings["policies"]:
            for delta in given if isinstance(given, list | tuple) else [given]:
                said = 1.0 / record["horizon"] if delta in ("1/T", None) else delta
                if record.get("content") == digest(resolve_defaults(policy, said)):
                    found.append(record["policy"])
        return list(dict.fromkeys(found))

    # Figures of one policy

    def spread(self, cell: Cell, policy: str | Policy) -> Spread:
        """The spread of final regret."""
        return spread(self.regret(cell, policy))

    @functools.cached_property
    def _intervals(self) -> dict[tuple[Cell, str], Interval]:
        """Mean final regret of each cell and policy; all share their draws."""
        regret = self.finals["regret"].to_numpy()
        return dict(
            zip(self._rows, mean_intervals([regret[rows] for rows in self._rows.values()]), strict=True)
        )

    def interval(self, cell: Cell, policy: str | Policy) -> Interval:
        """Mean final regret with its interval of 95 %; fewer than 12 runs are too few for one (NaN)."""
        self._of(cell, policy)
        return self._intervals[cell, self.known(policy)]

    def bands(self, cell: Cell, policy: str | Policy, of: Literal["mean"] | float = "mean") -> Band:
        """Recorded rounds, the mean or a quantile (0.5 is the median) of regret, and its interval of 95 %.

        Each round has an interval of its own; fewer than 12 runs are too few for any (NaN). Intervals of
        means are bootstrap-t, those of quantiles are between quantiles of runs drawn again.
        """
        rounds, curves = self.curves(cell, policy)
        if of == "mean":
            return Band(rounds, *np.array(mean_intervals(list(curves.T), BAND_RESAMPLES)).T)
        return Band(rounds, *quantile_intervals(curves.T, real("of", of, least=0, most=1)))

    def band(self, cell: Cell, policy: str | Policy) -> tuple[Integers, Floats, Floats]:
        """Recorded rounds, mean regret up to them, and its standard deviation (0 for one run)."""
        rounds, regret = self.curves(cell, policy)
        std = regret.std(axis=0, ddof=1) if len(regret) > 1 else np.zeros(rounds.size)
        return rounds, regret.mean(axis=0), std

    def slope(self, cell: Cell, policy: str | Policy, since: int | None = None) -> Interval:
        """How fast mean regret grows from round `since` (a tenth of the horizon) on: 1 is linear, 0.5 a root.

        It is the slope of its logarithm against that of the round, with an interval of 95 % over runs.
        """
        rounds, curves = self.curves(cell, policy)
        kept = rounds >= (rounds[-1] / 10 if since is None else since)
        return slope(rounds[kept], curves[:, kept])

    def _figure(self, cell: Cell, policy: str, of: Literal["mean", "median"]) -> Interval:
        if of == "mean":
            return self.interval(cell, policy)
        return Interval(*map(float, quantile_intervals(self.regret(cell, policy)[None], 0.5)[:, 0]))

    # Policies compared

    def both(
        self,
        cell: Cell,
        one: str | Policy,
        other: str | Policy,
        figure: Literal["regret", "seconds"] = "regret",
    ) -> tuple[Floats, Floats]:
        """Final "regret" or "seconds" of two policies, over the seeds that both played, by seed."""
        seeds = self.seeds(cell, one), self.seeds(cell, other)
        _, left, right = np.intersect1d(*seeds, return_indices=True)
        return self._column(figure, cell, one)[left], self._column(figure, cell, other)[right]

    @overload
    def compare(self, cell: Cell, one: str | Policy, other: str | Policy) -> Difference: ...

    @overload
    def compare(self, cell: str | Policy, one: str | Policy) -> dict[Cell, Difference]: ...

    def compare(
        self, cell: Cell | str | Policy, one: str | Policy, other: str | Policy | None = None
    ) -> Difference | dict[Cell, Difference]:
        """Final regret of one policy minus that of another, over the seeds that both played.

        Without a cell, as in `results.compare("LinUCB", "Greedy")`, for each cell that has both. The interval
        of the mean is a paired bootstrap-t interval.
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

    def tests(
        self,
        against: str | Policy,
        *,
        policy: str | Policy | None = None,
        cell: Cell | None = None,
        test: Literal["wilcoxon", "sign"] = "wilcoxon",
    ) -> Table:
        """Every policy, or one, less another: a row for each cell with means, medians, intervals, p-values.

        `p` is two-sided, of Wilcoxon's signed ranks or of signs; `p_holm` is corrected for all rows of the
        table (Holm). `below` counts the pairs in which the policy has less regret.
        """
        other, chosen = self.known(against), None if policy is None else self.known(policy)
        if cell is not None and cell not in self.cells:
            raise InvalidSetting(f"no runs in {cell}; results.cells are the problems that there are")
        found = []
        for place in self.cells if cell is None else [cell]:
            for name in self.played(place) if self.has(place, other) else ():
                if name == chosen or (chosen is None and name != other):
                    one, two = self.both(place, name, other)
                    gap, median, p = paired(one, two), math.nan, math.nan
                    if one.size:
                        median, p = float(np.median(one - two)), paired_test(one, two, test).p
                    names = (*self._problem(place), name, other)
                    found.append((*names, gap.pairs, gap.mean, gap.low, gap.high, median, gap.below, p))
        corrected = holm([row[-1] for row in found])
        return Table.of(TEST_COLUMNS, [(*row, p) for row, p in zip(found, corrected, strict=True)])

    def _problem(self, cell: Cell) -> tuple[str, int, int, int]:
        """A problem by its columns; all runs have one horizon where cells have none of their own."""
        return cell.environment, cell.dim, cell.arms, cell.horizon or self.finals["horizon"][0].as_py()

    def summary(self) -> Table:
        """One row for each cell and policy: regret with its interval and spread, explorations, and time.

        Rows are in the order of the sweep. Intervals are bootstrap-t. One run has no standard deviation, and
        fewer than 12 have no interval (null). `explored_mean` is in how many rounds of a run the base
        decided, and `different_mean` in how many of these the arm was not the greedy one: null for a policy
        without a schedule.
        """
        rows = []
        for cell in self.cells:
            for policy in self.played(cell):
                count, _, std, median = self.spread(cell, policy)
                seconds = float(np.median(self.seconds(cell, policy)))
                counts = (self.explored(cell, policy), self.deviations(cell, policy))
                means = [float(np.mean(each)) for each in counts]
                figures = (*self.interval(cell, policy), std, median, *means, seconds)
                rows.append((*self._problem(cell), policy, count, *figures))
        return Table.of(SUMMARY_COLUMNS, rows)

    def worst(self, by: Literal["regret", "ratio"] = "regret") -> Table:
        """The problem on which each policy does worst: by mean regret, or by its ratio to the least there.

        `regret_most` is that of its worst run there, with `seed_of_most`.
        """
        one_of("by", by, ("regret", "ratio"))
        means = {key: float(np.mean(self.regret(*key))) for key in self._rows}
        least = {cell: min(means[cell, other] for other in self.played(cell)) for cell in self.cells}
        rows = []
        for policy in self.policies:
            mine = {cell: means[cell, policy] for cell in self.cells if self.has(cell, policy)}
            ratios = {cell: _ratio(mean, least[cell]) for cell, mean in mine.items()}
            cell = max(mine, key=(ratios if by == "ratio" else mine).__getitem__)
            regret = self.regret(cell, policy)
            most = int(np.argmax(regret))
            seed = int(self.seeds(cell, policy)[most])
            figures = (float(np.median(regret)), ratios[cell], float(regret[most]), seed)
            rows.append((policy, len(mine), *self._problem(cell), *self.interval(cell, policy), *figures))
        return Table.of(WORST_COLUMNS, rows)

    def best(self, cell: Cell | None = None, of: Literal["mean", "median"] = "mean") -> Best:
        """The policy of the lowest mean or median regret in a cell, and how many it was chosen from.

        Without a cell there must be one problem alone.
        """
        if cell is None and len(self.cells) != 1:
            raise InvalidSetting(f"there are {len(self.cells)} problems: name one of results.cells")
        place = self.cells[0] if cell is None else cell
        one_of("of", of, ("mean", "median"))
        figures = {policy: self._figure(place, policy, of) for policy in self.played(place)}
        ranked = sorted(figures, key=lambda policy: figures[policy].value)
        first = ranked[0]
        return Best(place, first, of, figures[first], self.seeds(place, first).size, tuple(ranked))

    def confirm(
        self,
        seeds: int = 200,
        *,
        cell: Cell | None = None,
        of: Literal["mean", "median"] = "mean",
        neighbours: int = 4,
        workers: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Confirmation:
        """Plays the best policy of a cell, and the `neighbours` that came next, on so many fresh seeds.

        Seeds go on after the last of the sweep, so none of them has chosen the policy. `workers` and
        `progress` are those of `Sweep.run`.
        """
        from infex.lab.sweep import sweep_of

        if self._sweep is None and "sweep" not in self.about:
            raise InvalidSetting("these runs are of no sweep, so nothing knows how to play more of them")
        sweep, chosen = self._sweep or sweep_of(self.about["sweep"]), self.best(cell, of)
        count, near = whole("seeds", seeds, least=1), whole("neighbours", neighbours, least=0)
        place, first = chosen.cell, max(sweep.seeds) + 1
        fresh = dataclasses.replace(
            sweep,
            only=(place.environment, *chosen.ranked[: 1 + near]),
            seeds=range(first, first + count),
            horizon=place.horizon or sweep.horizon,
        ).run(workers=workers, progress=progress)
        alike = [each for each in fresh.cells if (each.dim, each.arms) == (place.dim, place.arms)]
        if not alike:
            raise InvalidSetting(f"no fresh run of {place} went well; the problems were {fresh.cells}")
        return Confirmation(chosen, fresh, alike[0])

    def diff(self, other: Results | str | Path) -> ResultsDiff:
        """Which runs agree bit for bit with another's, or a folder's, which do not, which are missing."""
        second = other if isinstance(other, Results) else Results.load(other)
        return difference(self._lists, second._lists)

    # Tables and figures

    def latex(
        self,
        show: Look = "std",
        *,
        policies: Drawn = None,
        against: str | Policy | None = None,
        caption: str | None = None,
        label: str = "tab:regret",
    ) -> str:
        r"""Final regret as a LaTeX table (booktabs): a row for each policy, a column for each problem.

        `show` and `policies` are as in `plot`. Bold are the least of a column and all that are not
        significantly worse, paired over seeds (Wilcoxon's test, 5 %, Holm's correction); with `against`, a
        dagger marks what differs significantly from that policy. `caption` is LaTeX; without one it says what
        the numbers are.
        """
        from infex.lab.reports.latex import latex

        other = None if against is None else self.known(against)
        return latex(self, show, self._named(policies), other, caption, label)

    def report(self, path: str | Path) -> None:
        """Writes the report as one HTML page that loads nothing: verdicts, charts, tables and settings."""
        from infex.lab.reports.page import report_page

        replace(Path(path), report_page(self).encode())

    def against(self, setting: str, **only: object) -> Against:
        """Final regret by the values of a setting, with a line for each mixture of the others.

        `setting` is a column of the table, such as "period", "scale", "delta", "penalty", "horizon", "arms"
        or "environment_gap"; `only` keeps runs whose columns have these values, or one of a list.
        `.table()` of what comes out has the numbers, and `.plot()` draws them.
        """
        return Against(self._only(only).finals, setting)

    def grids(self, least: int = 4) -> dict[str, dict[str, float]]:
        """The numbers that policies were played with at least so many values of, all else being equal.

        For each such setting the value that each policy has; a setting of more values comes first.
        """
        whole("least", least, least=2)
        played = [each for each in self.settings["policies"] if each["policy"] in self.policies]
        return grids_of(played, least)

    def plot(
        self,
        *,
        policies: Drawn = None,
        show: Look | None = None,
        log: bool = False,
        times: bool = False,
        columns: int | None = None,
        size: tuple[float, float] | None = None,
        against: str | None = None,
        **only: object,
    ) -> Figure:
        """A matplotlib figure of regret, with a panel for each problem.

        `policies` are drawn in the order given; a dict, {policy: name}, names them in the legend. `only`
        keeps runs whose columns have these values, or one of a list, as in `against`: `plot(dim=10)`,
        `plot(arms=50, scale=0.2)`. `show` is "std" (means with one standard deviation, as if nothing is
        said), "interval" (means with intervals of 95 %) or "median" (medians with quartiles); with `log`,
        regret and rounds have logarithmic axes. With `times` a panel of computation times stands beside each.
        `columns` is how many problems stand side by side, `size` is width and height in inches.

        A grid of settings, such as "LinUCB(scale=[0.1, 0.2, 0.5, 1])", is drawn as final regret against that
        setting; `against` names another setting, or is "round" for regret by round. If no `show` is given it
        has means with one standard error, and medians; with `log`, regret has a logarithmic axis, and so has
        the setting if its values are positive numbers.
        """
        from infex.lab.reports.figures import regret_figure

        names = self._named(policies)
        kept = self._only(only if policies is None else {"policy": list(names)} | only)
        setting = next(iter(kept.grids()), None) if against is None else against
        if setting not in (None, "round"):
            across = kept._without(setting, names)
            return Against(kept.finals, setting, names).plot(show, log, size, across)
        layout: dict[str, Any] = {"times": times, "columns": columns, "size": size}
        return regret_figure(kept, kept.cells, names=names, show=show or "std", log=log, **layout)

    def _named(self, policies: Drawn) -> dict[str, str]:
        """The policies to draw, by their names in the table, with the names that readers see."""
        if policies is None:
            return {policy: policy for policy in self.policies}
        if isinstance(policies, str):
            raise InvalidSetting(f"policies must be a list, or a dict of names, got the text {policies!r}")
        names: dict[str, str] = {}
        for policy in policies:
            labels = self._labels(policy)
            called = policy if isinstance(policy, str) else labels[0]
            shown = policies[policy] if isinstance(policies, Mapping) else called
            if len(labels) == 1:
                names[self.known(policy)] = shown
            else:  # the name of a list of policies
                names |= {label: shown + label.removeprefix(called) for label in labels}
        if not names:
            raise InvalidSetting("policies must name at least one policy, got none")
        return names

    def _without(self, setting: str, names: Mapping[str, str]) -> dict[str, float]:
        """Mean regret of the policies that do not have a setting, by their names, if there is one problem."""
        having = {record["policy"] for record in self.settings["policies"] if record.get(setting) is not None}
        if len(self.cells) > 1 or not having:
            return {}
        rest = [policy for policy in self.policies if policy not in having]
        return {names[policy]: self.spread(self.cells[0], policy).mean for policy in rest}

    def _only(self, only: dict[str, object]) -> Results:
        """The runs whose columns have these values, or one of a list; policies are named as everywhere."""
        if not only:
            return self
        lists = (list, tuple, set)
        wanted: dict[str, Any] = {
            name: value if isinstance(value, lists) else [value] for name, value in only.items()
        }
        if "policy" in wanted:
            wanted["policy"] = [self.known(policy) for policy in wanted["policy"]]
        kept = self._whole.filter(matching(self.finals, wanted))
        return Results(kept, bases=self.bases, about=self.about)


def _has_own_name(cell: Cell) -> bool:
    """Did a user name the problem? A problem of `infex.lab.environments` is else called by its settings."""
    kind, bracket, _ = cell.environment.partition("(")
    return not (kind in PROBLEMS and bracket) and cell.environment != BY_HAND


def _ratio(mean: float, least: float) -> float:
    """How many times the least mean; 1 for that one itself, also where it is 0."""
    if mean == least:
        return 1.0
    return mean / least if least > 0 else math.inf


def _runs_by_policy(runs: Iterable[Run] | Mapping[str, Iterable[Run]]) -> Iterator[tuple[str, Run]]:
    """Every run with the name of its policy: that of its key, or the one that a sweep would give."""
    groups = runs.items() if isinstance(runs, Mapping) else [(None, runs)]
    for name, some in groups:
        for run in [some] if isinstance(some, Run) or not isinstance(some, Iterable) else some:
            if not isinstance(run, Run):
                raise InvalidSetting(f"runs must be what play and play_many give, got a {type(run).__name__}")
            yield (label_of(run.policy) if name is None else name), run
