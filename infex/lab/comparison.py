"""Runs compared: final regret by the values of a setting, and two tables of runs bit by bit."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from infex._stats import Spread, mean_intervals, spread
from infex.arrays import Floats
from infex.checks import hint
from infex.errors import InvalidSetting
from infex.lab.reports.series import Look
from infex.lab.specs import Facts
from infex.lab.table import CURVE, RUN_COLUMNS, Table, ends_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM_SETTINGS = ("dim", "arms", "horizon")  # beside those that begin with "environment_"
NAMING_COLUMNS = ("policy", "base", "schedule", "estimator")  # which hold other settings in them
MEASURED = {*RUN_COLUMNS.names} - {"environment", "policy", *PROBLEM_SETTINGS}
COMPARED = (
    "explored",
    "different",
    "optimal",
    "regret_exploring",
    "regret_greedy",
    "log_det_ratio",
)  # beside curves
NOT_COMPARED = ("key", "seconds")  # the code and the clock: neither is what a run gave


# Regret against a setting


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
    """Final regret by the values of one setting: `lines`, a `table()` and a `plot()`.

    Runs of `finals`, a table with a row for each run, that do not have the setting are left out. `names` are
    those that readers see, by the names of policies in the table.
    """

    def __init__(self, finals: pa.Table, setting: str, names: Mapping[str, str] | None = None) -> None:
        known = _known_settings(finals, setting)
        rows = [row for row in finals.to_pylist() if row[setting] is not None]
        if not rows:
            raise InvalidSetting(f"none of these runs has a {setting}")
        others = _others(setting, known)
        groups: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
        policies: dict[tuple[Any, ...], dict[str, None]] = {}
        for row in rows:
            place = tuple(row[name] for name in others)
            groups.setdefault(place, {}).setdefault(row[setting], []).append(row["regret"])
            policies.setdefault(place, {})[row["policy"]] = None
        shown = [_without_setting(some, setting, names or {}) for some in policies.values()]
        if None in shown:
            told = _line_names(others, list(groups))
        elif len(shown) == 1:
            told = [str(shown[0])]
        else:
            told = _line_names(
                ["policy", *others], [(name, *group) for name, group in zip(shown, groups, strict=True)]
            )
        self.setting = setting
        self.lines = []
        for name, found in zip(told, groups.values(), strict=True):
            values = sorted(found, key=lambda value: (isinstance(value, str), value))
            self.lines.append(SettingLine(name, values, [np.array(found[value]) for value in values]))

    def __repr__(self) -> str:
        return f"Against({self.setting!r}, {len(self.lines)} lines)"

    def table(self) -> Table:
        """A row for each line and value: how many runs, their mean with its interval, spread and median.

        `low` and `high` bound the bootstrap-t interval of 95 % of the mean; fewer than 12 runs have none.
        """
        rows = [
            (line.name, value, runs, mean, low, high, std, median)
            for line in self.lines
            for value, (runs, mean, std, median), (_, low, high) in zip(
                line.values, line.spreads, mean_intervals(line.regrets), strict=True
            )
        ]
        names = ("line", self.setting, "runs", "mean", "low", "high", "std", "median")
        return Table.of(names, rows, **{self.setting: pa.infer_type([row[1] for row in rows])})

    def plot(
        self,
        show: Look | None = None,
        log: bool = False,
        size: tuple[float, float] | None = None,
        levels: Mapping[str, float] | None = None,
    ) -> Figure:
        """A matplotlib figure: mean regret with one standard error, and medians.

        `show` draws other bars, and `size` is width and height, as in `Results.plot`. With `log` regret has a
        logarithmic axis, and so has the setting if its values are positive numbers. `levels` are drawn as
        lines across, such as the regret of policies that do not have the setting.
        """
        from infex.lab.reports.figures import setting_figure

        return setting_figure(self.setting, self.lines, show, log, size, levels or {})


def grids_of(records: Sequence[Facts], least: int) -> dict[str, dict[str, float]]:
    """The numbers that took at least so many values, all else being equal; by policy, most values first.

    `records` are the settings of each policy and horizon.
    """
    names = dict.fromkeys(name for record in records for name in record if name not in ("horizon", "content"))
    found: dict[str, dict[str, float]] = {}
    for setting in names:
        others = [name for name in ("horizon", *_others(setting, names)) if name != setting]
        alike: dict[tuple[Any, ...], dict[str, float]] = {}
        for record in records:
            if type(record.get(setting)) in (int, float):
                group = alike.setdefault(tuple(record.get(name) for name in others), {})
                group[record["policy"]] = record[setting]
        for group in alike.values():
            if len({*group.values()}) >= least:
                found.setdefault(setting, {}).update(group)
    return dict(sorted(found.items(), key=lambda item: -len({*item[1].values()})))


def matching(finals: pa.Table, wanted: Mapping[str, Collection[object]]) -> pa.Array:
    """Which runs have one of the wanted values in each of these columns; refused if none has."""
    found = np.ones(len(finals), bool)
    words = {name: f"{name} = {' or '.join(map(str, values))}" for name, values in wanted.items()}
    for name, values in wanted.items():
        _known_settings(finals, name)
        column = finals[name].to_pylist()
        here = np.array([value in values for value in column], bool)
        if not here.any():
            there = sorted({*column} - {None}, key=lambda value: (isinstance(value, str), value))
            listed = ", ".join(map(str, there)) or "none"
            raise InvalidSetting(f"no run has {words[name]}; there are {listed}")
        found &= here
    if not found.any():
        raise InvalidSetting(f"no run has all of {', '.join(words.values())}")
    return pa.array(found)


def _known_settings(finals: pa.Table, asked: str) -> list[str]:
    """The columns that hold settings, of which one is asked for."""
    known = [name for name in finals.column_names if name not in MEASURED]
    if asked not in known:
        listed = ", ".join(known)
        raise InvalidSetting(f"no setting is called {asked!r}{hint(asked, known)}; there are {listed}")
    return known


def _others(setting: str, known: Iterable[str]) -> list[str]:
    """The columns that tell lines apart.

    Against a setting of problems: the label of the policy, and all other settings of the problem. Against one
    of policies: all of their other settings that are no part of it, and the label of the problem.
    """
    if setting == "environment":
        return ["policy"]
    if setting in PROBLEM_SETTINGS or setting.startswith("environment_"):
        own = [name for name in known if name in PROBLEM_SETTINGS or name.startswith("environment_")]
        return ["policy", *(name for name in own if name != setting)]
    told = [name for name in known if name not in (*NAMING_COLUMNS, setting)]
    parts = {name: _part(name) for name in told if not name.startswith("environment_")}
    if setting == "policy":
        return [name for name, part in parts.items() if part == "problem"]
    return [name for name, part in parts.items() if part != setting]


def _part(name: str) -> str:
    """What a column is a setting of."""
    if name in ("environment", *PROBLEM_SETTINGS):
        return "problem"
    if name == "period" or name.startswith("schedule_"):
        return "schedule"
    if name.startswith("estimator_"):
        return "estimator"
    return "policy" if name in ("data", "kind", "penalty") else "base"


def _without_setting(policies: Iterable[str], setting: str, names: Mapping[str, str]) -> str | None:
    """What the names of policies have in common that differ in a setting alone; None if that is not seen.

    >>> _without_setting(["Infex(LinUCB(scale=0.2), every(5))", "Infex(LinUCB, every(5))"], "scale", {})
    'Infex(LinUCB, every(5))'
    >>> _without_setting(["Infex(LinUCB, every(5))", "Infex(LinUCB, every(20))"], "period", {})
    'Infex(LinUCB, every(m))'
    """
    word = re.escape(setting.removeprefix("schedule_").removeprefix("estimator_"))
    found = set()
    for policy in policies:
        text = re.sub(rf"\({word}=[^,()]*\)|, {word}=[^,()]*", "", names.get(policy, policy))
        text = re.sub(rf"\b{word}=[^,()]*, ", "", text)
        found.add(re.sub(r"every\(\d+\)|always\(\)", "every(m)", text) if setting == "period" else text)
    return found.pop() if len(found) == 1 else None


def _line_names(columns: list[str], groups: list[tuple[Any, ...]]) -> list[str]:
    """A name for each line: the fewest columns, the first ones, by which all differ."""
    told = [place for place, _ in enumerate(columns) if len({group[place] for group in groups}) > 1]
    for place in reversed(told):
        rest = [each for each in told if each != place]
        if len({tuple(group[each] for each in rest) for group in groups}) == len(groups):
            told = rest
    bare = {name for name in columns if name in ("policy", "environment") or name.endswith("kind")}
    words = (
        [
            str(group[place]) if columns[place] in bare else f"{columns[place]}={group[place]}"
            for place in told
            if group[place] is not None
        ]
        for group in groups
    )
    return [", ".join(some) or "all runs" for some in words]


# Two tables of runs, bit by bit

Name = tuple[tuple[str, object], ...]


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
    """What differs between two tables with a row for each run, named by all columns that measure nothing."""
    left, right = _by_name(one), _by_name(other)
    pairs = [(name, left[name], right[name]) for name in left if name in right]
    parted = [_parted(name, a, b) for name, a, b in pairs]
    different = tuple(each for each in parted if each is not None)
    return ResultsDiff(
        len(pairs) - len(different),
        different,
        tuple(_words(name) for name in left if name not in right),
        tuple(_words(name) for name in right if name not in left),
    )


def _by_name(runs: pa.Table) -> dict[Name, dict[str, Any]]:
    """The runs of a table by their names, in its order."""
    ends, (t, regret) = ends_of(runs), (pc.list_flatten(runs[name]).to_numpy() for name in CURVE)
    naming = [name for name in RUN_COLUMNS.names if name not in (*CURVE, *COMPARED, *NOT_COMPARED)]
    found: dict[Name, dict[str, Any]] = {}
    for row, first, last in zip(runs.drop_columns(list(CURVE)).to_pylist(), ends, ends[1:], strict=False):
        name = tuple((column, row[column]) for column in naming)
        while name in found:  # another run of that name, told apart by nothing that the columns say
            name = (*name, ("again", True))
        found[name] = row | {"t": t[first:last], "regret": regret[first:last]}
    return found


def _parted(name: Name, one: dict[str, Any], other: dict[str, Any]) -> Parted | None:
    """Where two runs part; None if all that they gave is the same to the last bit."""
    both = min(len(one["t"]), len(other["t"]))
    apart = one["t"][:both] != other["t"][:both]
    apart |= one["regret"][:both].view(np.int64) != other["regret"][:both].view(np.int64)
    first = int(np.argmax(apart)) if apart.any() else both
    longer = max(one["t"], other["t"], key=len)
    where = int(longer[first]) if first < len(longer) else None
    if where is None and all(
        np.float64(one[it]).tobytes() == np.float64(other[it]).tobytes() for it in COMPARED
    ):
        return None
    ends = float(one["regret"][-1]), float(other["regret"][-1])
    return Parted(_words(name), where, *ends, one["key"] == other["key"])


def _words(name: Name) -> str:
    """A run as people say it."""
    facts = dict(name)
    more = [f"{key} {value}" for key, value in facts.items() if key not in ("policy", "environment", "seed")]
    return f"{facts['policy']} on {facts['environment']} with seed {facts['seed']} ({', '.join(more)})"
