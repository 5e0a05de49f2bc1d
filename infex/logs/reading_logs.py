"""Logs from wherever they are, in memory or some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from infex.arrays import Label
from infex.errors import InvalidLog
from infex.features import FeatureMap
from infex.logs.log import Log
from infex.logs.log_tables import log_of
from infex.logs.naming_columns import ENCODED_KEY, PLAIN_NAMES, ColumnNames, arms_by_place, labels_in
from infex.logs.opening_logs import (
    LOG_ROWS_AT_ONCE,
    MOST_ROWS_AT_ONCE,
    LogForm,
    OpenLog,
    guarded_reading,
    open_log,
)

if TYPE_CHECKING:
    import pyarrow as pa


def read(
    source: object,
    form: LogForm | None = None,
    *,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str = "propensity",
    round: str = "round",  # noqa: A002 - what the schema calls it
    explored: str = "explored",
    greedy: str = "greedy",
    explore_probability: str = "explore_probability",
    base_propensity: str = "base_propensity",
    unit: str = "unit",
    stream: str = "stream",
    time: str = "time",
    context: str | Iterable[str] = (),
    arms: str | Iterable[str] = (),
    labels: Iterable[Label] | None = None,
    features: FeatureMap | None = None,
    rewards: tuple[float, float] | None = None,
    sort: bool = False,
) -> Log:
    """The log in a file or a table, all of it checked: what cannot be is refused with its column and rounds.

    `source` is a path or a table of pyarrow, pandas or polars; obp's dict; a list of Eppo's events; or a log.
    `form` is "infex" (Parquet in the schema of logs, or what `Bandit(log=...)` writes), "table" (any
    Parquet), "csv", "dsjson", "cb_adf", "obp" or "eppo"; None finds it out.

    The other arguments name columns where they are not called so. `context` names columns of numbers, or the
    features that all arms of an event share, and `arms` the features of each arm, in dsjson and cb_adf.
    `labels` are those of the arms, in their order; `features` is the map that joins contexts with arms. A map
    over `infex.features.table` reads columns by their names, also those of texts: those of `context`, or else
    all that the table names. The context of the log then has the table's features, divided by its `longest`.
    `rewards` are the least and the greatest reward there can be. With `sort` rows are brought into the order
    of rounds, which is refused otherwise.

    `round`, `explored`, `greedy`, `explore_probability`, `base_propensity`, `unit`, `stream` and `time`
    name further columns, as a `Log` has them.

    >>> import pyarrow as pa
    >>> table = pa.table({"shown": ["b", "a", "b"], "click": [1, 0, None], "p": [0.5, 0.25, 0.5]})
    >>> log = read(table, arm="shown", reward="click", propensity="p")
    >>> log.labels, log.arm.tolist(), log.rewarded.tolist()
    (('a', 'b'), [1, 0, 1], [True, True, False])
    """
    names = ColumnNames(
        arm=arm, reward=reward, propensity=propensity, round=round, explored=explored, greedy=greedy,
        explore_probability=explore_probability, base_propensity=base_propensity,
        unit=unit, stream=stream, time=time,
        context=_listed(context), arms=_listed(arms), labels=None if labels is None else tuple(labels),
        features=features,
    )  # fmt: skip
    found = _whole(open_log(source, form, names, MOST_ROWS_AT_ONCE), names, sort)
    return found if rewards is None else replace(found, facts=replace(found.facts, rewards=rewards))


def _listed(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _whole(opened: OpenLog, names: ColumnNames, sort: bool) -> Log:
    import pyarrow as pa

    with guarded_reading(opened.called):
        if opened.log is not None:
            return _mapped(opened.log, names)
        tables = list(opened.tables())
        if not tables:
            raise InvalidLog("a log must have at least one row, got none")
        table = pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]
        del tables
        labels = names.labels or tuple(sorted(labels_in(table))) or None
        table = arms_by_place(_sorted(table) if sort else table, labels)
        return _mapped(_labelled(log_of(table, opened.header), labels), names, table)


def _sorted(table: pa.Table) -> pa.Table:
    keys = [(name, "ascending") for name in ("stream", "round") if name in table.column_names]
    return table.sort_by(keys) if keys else table


def _labelled(log: Log, labels: tuple[Label, ...] | None) -> Log:
    return log if labels is None else replace(log, labels=labels, count=len(labels))


def _mapped(log: Log, names: ColumnNames, table: pa.Table | None = None) -> Log:
    """The log with the map that joins its contexts with arms."""
    if names.features is None:
        return log
    is_encoded = log.facts.encoded or (table is not None and ENCODED_KEY in (table.schema.metadata or {}))
    return replace(log, features=names.features, facts=replace(log.facts, encoded=is_encoded))


def read_parts(
    source: object,
    form: LogForm | None = None,
    *,
    rows: int = LOG_ROWS_AT_ONCE,
    names: ColumnNames = PLAIN_NAMES,
) -> Iterator[Log]:
    """The same log, so many rows at a time, in their order: a file of any size in little memory.

    `names` are those that `read` takes as arguments. What `Bandit(log=...)` wrote comes in one part.

    `source` and `form` are those of `read`.

    >>> import pyarrow as pa
    >>> table = pa.table({"arm": [0, 1, 1], "reward": [1.0, 0.0, 0.5]})
    >>> [part.round.tolist() for part in read_parts(table, rows=2)]
    [[1, 2], [3]]
    """
    opened = open_log(source, form, names, rows)
    if opened.log is not None:
        yield _mapped(opened.log, names)
        return
    with guarded_reading(opened.called):
        labels = names.labels or _all_labels(opened)
        first, last = 1, 0
        for table in opened.tables():
            log = _labelled(log_of(arms_by_place(table, labels), opened.header, first=first), labels)
            log = _mapped(log, names, table)
            if log.stream is None and int(log.round[0]) <= last:
                raise InvalidLog(f"round must rise, each of them once; 1 row is not: round {log.round[0]}")
            first, last = first + len(log), int(log.round[-1])
            yield log


def _all_labels(opened: OpenLog) -> tuple[Label, ...] | None:
    """The labels of all arms that are texts, found in a first pass."""
    found: set[str] = set()
    for table in opened.tables():
        mine = labels_in(table)
        if not mine:
            return None  # arms are places
        found |= mine
    return tuple(sorted(found)) or None
