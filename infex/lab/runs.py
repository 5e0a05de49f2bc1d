"""The runs of a table, found by policy, problem and settings."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from infex._stats import Spread, spread
from infex.arrays import Floats, Integers
from infex.errors import InfexError, InvalidSetting
from infex.lab.expressions import canonical, hint, quietly
from infex.lab.fingerprint import digest
from infex.lab.specs import recipes
from infex.lab.table import (
    CURVE,
    RUN_COLUMNS,
    Facts,
    Table,
    by_round,
    by_run,
    ends_of,
    lasts_of,
    of_policy,
    of_problem,
    widened,
)
from infex.lab.tasks import grouped
from infex.policies import Policy
from infex.policies.base import checked, resolve_defaults
from infex.registry import has_expression, label_of, parse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infex.lab.reports.series import Look


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One problem of a sweep: its label, dimension, number of arms, and the horizon if there are several."""

    environment: str
    dim: int
    arms: int
    horizon: int | None = None


class Runs(NamedTuple):
    """The runs of one policy on one problem, by seed: final regret, seconds, and the share that explored."""

    seeds: Integers
    regret: Floats
    seconds: Floats
    explored: Floats


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


PROBLEM_SETTINGS = ("dim", "arms", "horizon")  # beside those that begin with "environment_"
RegretsByValue = dict[Any, list[float]]
MEASURED = {*RUN_COLUMNS.names} - {"environment", "policy", *PROBLEM_SETTINGS}
NAMING_COLUMNS = ("policy", "base", "schedule", "estimator")  # which hold other settings in them


def found_name(
    name: str, policy: str | Policy, about: Mapping[str, Any], records: Sequence[Facts]
) -> str | None:
    """The name in tables of what a user calls a policy: as the sweep was told, or by what was played.

    None if nothing of the kind was played.
    """
    labels: list[str] = about.get("names", {}).get(name, []) if isinstance(policy, str) else []
    meant = canonical(name) if isinstance(policy, str) else None
    if not labels and meant in about.get("policies", ()):
        return str(meant)
    if not labels:
        thing = _thing(meant, policy)
        labels = [] if thing is None else list(dict.fromkeys(_alike(thing, about, records)))
    if len(labels) > 1:
        told = "".join(f"\n  {label}" for label in labels)
        raise InvalidSetting(f"{name!r} names several policies here:{told}")
    return labels[0] if labels else None


def _thing(meant: str | None, policy: str | Policy) -> Policy | None:
    """The policy that is meant; None of a text with a user's objects, which are not loaded for it."""
    if not isinstance(policy, str):
        return policy
    return None if meant is None or ":" in meant else cast(Policy, quietly(parse, meant))


def _alike(policy: Policy, about: Mapping[str, Any], records: Sequence[Facts]) -> Iterator[str]:
    """The names of policies that are the same, where a delta that is not said is the sweep's.

    Whether they are the same is told by their contents; where none were kept, by their settings.
    """
    given = about.get("delta", "1/T")
    contents = about.get("contents", [None] * len(records))
    for record, content in zip(records, contents, strict=True):
        for delta in given if isinstance(given, list | tuple) else [given]:
            filled = resolve_defaults(policy, 1.0 / record["horizon"] if delta in ("1/T", None) else delta)
            if _has_settings(filled, record) if content is None else digest(filled) == content:
                yield record["policy"]


def _has_settings(policy: Policy, record: Facts) -> bool:
    wanted = of_policy(policy)
    return all(record.get(name) == wanted[name] for name in {*wanted} - {"base", "schedule"})


def told_by_labels(labels: Iterable[tuple[str, int]], problems: Iterable[str]) -> dict[str, list[Facts]]:
    """The settings of policies, with their horizons, and of problems in a table that does not keep them.

    Tables of infex before settings were kept have labels alone, most of which are expressions.
    """
    return {
        "policies": [
            {"policy": label, "horizon": horizon} | _facts_of_policy(label) for label, horizon in labels
        ],
        "environments": [{"environment": label} | _facts_of_problem(label) for label in problems],
    }


def _facts_of_policy(label: str) -> Facts:
    policy = _thing(canonical(label), label)
    return {} if policy is None else of_policy(policy)


def _facts_of_problem(label: str) -> Facts:
    with contextlib.suppress(InfexError):
        return {} if ":" in label else of_problem(recipes(label)[0])
    return {}


class SettingLine(NamedTuple):
    """Regret by the values of a setting, all other settings being what `name` says."""

    name: str
    values: list[Any]
    regrets: list[Floats]

    @property
    def spreads(self) -> list[Spread]:
        """Of the regrets of each value."""
        return list(map(spread, self.regrets))


@final
class Against:
    """Final regret by the values of one setting: `lines`, a `table()` and a `plot()`."""

    def __init__(self, setting: str, lines: list[SettingLine]) -> None:
        self.setting = setting
        self.lines = lines

    def __repr__(self) -> str:
        return f"Against({self.setting!r}, {len(self.lines)} lines)"

    def table(self) -> Table:
        """A row for each line and value: how many runs, and their mean, spread and median."""
        rows = [
            {"line": line.name, self.setting: value} | regret._asdict()
            for line in self.lines
            for value, regret in zip(line.values, line.spreads, strict=True)
        ]
        return Table(pa.Table.from_pylist(rows))

    def plot(self, show: Look | None = None, log: bool = False) -> Figure:
        """A matplotlib figure: mean regret with one standard error, and medians.

        `show` draws other bars, as in `Results.plot`. With `log` regret has a
        logarithmic axis, and so has the setting if its values are positive numbers.
        """
        from infex.lab.reports.figures import setting_figure

        return setting_figure(self.setting, self.lines, show, log)


def against(finals: pa.Table, setting: str) -> Against:
    """Final regret by the values of a setting; runs that do not have it are left out."""
    known = _settings_of(finals)
    _refuse_unknown(setting, known)
    rows = [row for row in finals.to_pylist() if row[setting] is not None]
    if not rows:
        raise InvalidSetting(f"none of these runs has a {setting}")
    others = _others(setting, known)
    groups = _grouped(rows, setting, others)
    names = _told_apart(others, list(groups))
    return Against(setting, [_line(name, found) for name, found in zip(names, groups.values(), strict=True)])


def matching(finals: pa.Table, wanted: Mapping[str, Collection[object]]) -> pa.Array:
    """Which runs have one of the wanted values in each of these columns; refused if none has."""
    found = np.ones(len(finals), bool)
    for name, values in wanted.items():
        _refuse_unknown(name, _settings_of(finals))
        column = finals[name].to_pylist()
        here = np.array([value in values for value in column], bool)
        if not here.any():
            there = sorted({*column} - {None}, key=lambda value: (isinstance(value, str), value))
            listed = ", ".join(map(str, there)) or "none"
            raise InvalidSetting(f"no run has {name} = {_one_or_list(values)}; there are {listed}")
        found &= here
    if not found.any():
        said = ", ".join(f"{name} = {_one_or_list(values)}" for name, values in wanted.items())
        raise InvalidSetting(f"no run has all of {said}")
    return pa.array(found)


def _one_or_list(values: Collection[object]) -> str:
    return " or ".join(map(str, values))


def _settings_of(finals: pa.Table) -> list[str]:
    return [name for name in finals.column_names if name not in MEASURED]


def _refuse_unknown(name: str, known: list[str]) -> None:
    if name not in known:
        listed = ", ".join(known)
        raise InvalidSetting(f"no setting is called {name!r}{hint(name, known)}; there are {listed}")


def _grouped(rows: list[Facts], setting: str, others: list[str]) -> dict[tuple[Any, ...], RegretsByValue]:
    """Regret by the values of the setting, for each mixture of the others."""
    lines = grouped(rows, lambda row: tuple(row[name] for name in others))
    return {line: _regrets(some, setting) for line, some in lines.items()}


def _regrets(rows: list[Facts], setting: str) -> RegretsByValue:
    """All regrets for each value of the setting."""
    by_value = grouped(rows, lambda row: row[setting])
    return {value: [row["regret"] for row in some] for value, some in by_value.items()}


def _others(setting: str, known: Iterable[str]) -> list[str]:
    """The columns that tell lines apart.

    Against a setting of policies: all of their other settings, and the label of the problem. Against one of
    problems: the label of the policy, and all other settings of the problem.
    """
    of_problems = setting in PROBLEM_SETTINGS or setting.startswith("environment")
    told = _beside_problems(setting, known) if of_problems else _beside_policies(known)
    return [name for name in told if name != setting and not _is_within(name, setting)]


def _beside_problems(setting: str, known: Iterable[str]) -> list[str]:
    mine = [name for name in known if name in PROBLEM_SETTINGS or name.startswith("environment_")]
    return ["policy", *(mine if setting != "environment" else ())]


def _beside_policies(known: Iterable[str]) -> list[str]:
    return [name for name in known if name not in NAMING_COLUMNS and not name.startswith("environment_")]


def _is_within(name: str, setting: str) -> bool:
    """Is a column a part of what the label of another says?"""
    of_schedule, of_estimator = (
        name == "period" or name.startswith("schedule_"),
        name.startswith("estimator_"),
    )
    of_run = name in ("environment", *PROBLEM_SETTINGS)
    return {
        "policy": not of_run,
        "base": not of_run
        and not of_schedule
        and name not in ("data", "kind", "penalty")
        and not of_estimator,
        "schedule": of_schedule,
        "estimator": of_estimator,
    }.get(setting, False)


def _told_apart(columns: list[str], groups: list[tuple[Any, ...]]) -> list[str]:
    """A name for each line: the fewest columns, the first ones, by which all differ."""
    told = [place for place, _ in enumerate(columns) if len({group[place] for group in groups}) > 1]
    for place in reversed(told):
        rest = [each for each in told if each != place]
        if len({tuple(group[each] for each in rest) for group in groups}) == len(groups):
            told = rest
    return [", ".join(_words(columns, group, told)) or "all runs" for group in groups]


def _words(columns: list[str], group: tuple[Any, ...], places: Iterable[int]) -> Iterator[str]:
    for place in places:
        if group[place] is not None:
            bare = columns[place] in ("policy", "environment") or columns[place].endswith("kind")
            yield str(group[place]) if bare else f"{columns[place]}={group[place]}"


def _line(name: str, found: Mapping[Any, list[float]]) -> SettingLine:
    values = sorted(found, key=lambda value: (isinstance(value, str), value))
    return SettingLine(name, values, [np.array(found[value]) for value in values])


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
