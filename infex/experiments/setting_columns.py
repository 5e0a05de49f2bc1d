"""Settings as columns: every setting that was played, of policies, schedules, estimators and problems.

Settings belong to a policy's label (with a horizon, for a delta of 1/T) and to a problem's label, so a sweep
keeps them once, in `sweep.json`, and a table gets them as columns when it is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from infex import environments
from infex.arrays import Integers
from infex.checks import settings_by_name
from infex.experiments.entrants import LabelledPolicy
from infex.experiments.recipes import Recipe
from infex.experiments.run_lists import by_round, ends_of
from infex.experiments.runs_table import RUN_COLUMNS
from infex.policies import Policy
from infex.registry import GENERATORS, described, label_of, setting_text
from infex.schedules.base import has

Facts = dict[str, Any]
POLICY_KEYS, PROBLEM_KEYS = ("policy", "horizon"), ("environment",)
SETTING_COLUMNS: Mapping[str, pa.DataType] = {  # those that every table has
    "kind": pa.string(),
    "base": pa.string(),
    "schedule": pa.string(),
    "period": pa.int64(),
    "data": pa.string(),
    "delta": pa.float64(),
    "scale": pa.float64(),
    "penalty": pa.float64(),
    "estimator": pa.string(),
}
ROWS_AT_A_TIME = 1 << 14  # which take some 10 MB with all their settings
TAKEN = {*RUN_COLUMNS.names, *SETTING_COLUMNS} - {"period", "data", "delta", "scale"}


def settings_of(players: Iterable[LabelledPolicy], problems: Iterable[Recipe]) -> dict[str, list[Facts]]:
    """The settings of all policies and problems of a sweep, as plain data."""
    told = [{"environment": problem.label} | of_problem(problem) for problem in problems]
    return {"policies": [_of_player(player) for player in players], "environments": told}


def _of_player(player: LabelledPolicy) -> Facts:
    facts: Facts = {"policy": player.label, "horizon": player.horizon, "penalty": player.penalty}
    estimator = player.estimator
    facts |= of_policy(player.policy) | {"estimator": "Ridge" if estimator is None else estimator.label}
    if estimator is not None:
        kind, settings, _ = described(estimator.thing)
        facts |= {"estimator_kind": kind} | {
            f"estimator_{name}": _plain(each) for name, each in settings.items()
        }
    names = {"base": player.base, "schedule": player.schedule}
    return facts | {name: label for name, label in names.items() if label is not None}


def of_policy(policy: Policy) -> Facts:
    """The settings of a policy by the names of their columns.

    >>> from infex import Infex, LinUCB, every
    >>> facts = of_policy(Infex(LinUCB(delta=0.1), every(20)))
    >>> [facts[name] for name in ("kind", "base", "base_kind", "schedule", "period", "delta")]
    ['Infex', 'LinUCB(delta=0.1)', 'LinUCB', 'every(20)', 20, 0.1]
    """
    kind, settings, _ = described(policy)
    facts: Facts = {"kind": kind}
    for name, value in settings.items():
        if name == "schedule" and has(value, "explores"):
            facts |= {"schedule": label_of(value)} | dict(_of_schedule(value))
        elif name != "base" or value is None:
            facts[f"policy_{name}" if name in TAKEN else name] = _plain(value)
    return facts | _of_base(settings["base"], facts) if settings.get("base") is not None else facts


def _of_base(base: Policy, around: Facts) -> Facts:
    """The settings of a base; those that the policy around it has too are its own columns."""
    inner = of_policy(base)
    facts: Facts = {"base": label_of(base), "base_kind": inner.pop("kind")}
    taken = {*around, *facts}
    return facts | {word if word not in taken else f"base_{word}": each for word, each in inner.items()}


def _of_schedule(schedule: object) -> Iterator[tuple[str, Any]]:
    """Its kind and settings, and those of a schedule inside it."""
    kind, settings, _ = described(schedule)
    yield "schedule_kind", kind
    for name, value in settings.items():
        if name == "schedule" and has(value, "explores"):
            yield from ((word, each) for word, each in _of_schedule(value) if word != "schedule_kind")
        elif name in ("m", "period"):
            yield "period", _plain(value)
        elif not isinstance(value, list | tuple):
            yield f"schedule_{name}", _plain(value)


def of_problem(problem: Recipe) -> Facts:
    """The settings of a problem, those that have their defaults too; but for dimension and arms."""
    kind, settings = problem.source, dict(problem.settings)
    if problem.is_of_a_kind:
        settings = _all_of(problem)
    elif not isinstance(kind, str):
        kind, settings, _ = described(kind)
    plain = {name: _plain(value) for name, value in settings.items() if not isinstance(value, np.ndarray)}
    facts = {f"environment_{name}": value for name, value in plain.items() if name not in ("dim", "arms")}
    return {"environment_kind": kind} | facts


def _all_of(problem: Recipe) -> Facts:
    """What was said, defaults, and what an instance has where there is no default by that name."""
    asked = environments.settings_of(GENERATORS[problem.source])
    settings = {name: each for name, each in asked.items() if each is not inspect.Parameter.empty}
    made = settings_by_name(problem.make(seed=0))
    settings |= {name: made.get(name) for name, each in settings.items() if each is None}
    return settings | dict(problem.settings)


def _plain(value: object) -> Any:
    """A setting as JSON has it: a number, a text, or nothing."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    return value.item() if isinstance(value, np.generic) else setting_text(value)


def widened(table: pa.Table, settings: Mapping[str, Sequence[Facts]]) -> pa.Table:
    """A table of runs with a column for every setting; those of a run that has none are null."""
    found = {name: pa.nulls(table.num_rows, kind) for name, kind in SETTING_COLUMNS.items()}
    for keys, records in (
        (POLICY_KEYS, settings.get("policies", ())),
        (PROBLEM_KEYS, settings.get("environments", ())),
    ):
        if records and set(keys) <= set(table.column_names):
            found |= _columns(table, keys, records)
    for name, column in found.items():
        table = table.append_column(name, column)
    return table


def write_wide(runs: pa.Table, settings: Mapping[str, Sequence[Facts]], sink: IO[bytes]) -> None:
    """Writes runs as a Parquet file with a row for each recorded round, some rows at a time."""
    schema = widened(by_round(runs.slice(0, 1)), settings).schema
    step = max(1, ROWS_AT_A_TIME * runs.num_rows // max(int(ends_of(runs)[-1]), 1))
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        for first in range(0, max(runs.num_rows, 1), step):
            writer.write_table(widened(by_round(runs.slice(first, step)), settings))
            pa.default_memory_pool().release_unused()


def _columns(table: pa.Table, keys: tuple[str, ...], records: Sequence[Facts]) -> dict[str, pa.Array]:
    """What the records say of each row, which is told by its keys."""
    places = pa.array(_places(table, keys, records))
    names = dict.fromkeys(name for record in records for name in record if name not in keys)
    columns = {}
    for name in names:
        values = _array([record.get(name) for record in records], SETTING_COLUMNS.get(name))
        columns[name] = pa.concat_arrays([values, pa.nulls(1, values.type)]).take(places)
    return columns


def _places(table: pa.Table, keys: tuple[str, ...], records: Sequence[Facts]) -> Integers:
    """The number of each row's record; that of none is their count."""
    known = {tuple(record[key] for key in keys): place for place, record in enumerate(records)}
    codes = [table[key].combine_chunks().dictionary_encode() for key in keys]
    parts = [(code.indices.to_numpy(), code.dictionary.to_pylist()) for code in codes]
    mixed = np.zeros(table.num_rows, dtype=np.int64)
    for indices, values in parts:
        mixed = mixed * len(values) + indices
    numbers, inverse = np.unique(mixed, return_inverse=True)
    found = [known.get(_told(int(number), parts), len(records)) for number in numbers]
    return np.array(found, dtype=np.int64)[inverse.reshape(-1)]


def _told(number: int, parts: Sequence[tuple[Any, list[Any]]]) -> tuple[Any, ...]:
    """The values of the keys that a mixed number stands for."""
    told: list[Any] = []
    for _, values in reversed(parts):
        number, place = divmod(number, len(values))
        told.insert(0, values[place])
    return tuple(told)


def _array(values: list[Any], wanted: pa.DataType | None) -> pa.Array:
    """Values as one column: whole numbers, numbers, truths, or text where they are of several kinds."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.nulls(len(values), wanted or pa.string())
    if kinds == {int} and wanted != pa.float64():
        return pa.array(values, pa.int64())
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    texts = [value if value is None or isinstance(value, str) else setting_text(value) for value in values]
    return pa.array(texts, pa.string())
