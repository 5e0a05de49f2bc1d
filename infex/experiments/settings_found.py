"""Runs found by their settings: by a name that means the same, and regret by the values of one setting."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

import numpy as np
import pyarrow as pa

from infex.arrays import Floats
from infex.errors import InfexError, InvalidSetting
from infex.experiments.content import digest
from infex.experiments.expressions import canonical, quietly
from infex.experiments.grouping import grouped
from infex.experiments.naming import hint
from infex.experiments.recipes import recipes
from infex.experiments.runs_table import RUN_COLUMNS, Table
from infex.experiments.setting_columns import Facts, of_policy, of_problem
from infex.policies import Policy
from infex.policies.base import resolve_defaults
from infex.registry import parse
from infex.statistics import Spread, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infex.reports.strips import Look

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
        from infex.reports import setting_figure

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
