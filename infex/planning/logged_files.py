"""Logged rewards from files: two columns of a table, or a whole log with what its arms looked like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidReward
from infex.logs import Log, is_own_log, read
from infex.logs.named_maps import map_named
from infex.planning.arm_files import few_of, is_numeric, table_in


class LoggedRewards(NamedTuple):
    """Rewards of a file and their arms; rows and labels of arms, if it has them; and what was read.

    `log` is all of it where arms are other ones in every round, or contexts are joined with them.
    """

    arms: list[object]
    rewards: Floats
    rows: Floats | None
    labels: list[str] | None
    words: str
    log: Log | None = None


def read_logged(
    path: str | Path, features: str | None = None, context: Sequence[str] = (), arms: Floats | None = None
) -> LoggedRewards:
    """The rewards of a log: one in infex's own form, a table with contexts, or a plain one of two columns.

    `features` name a map for the columns `context`, as `map_named` reads it; `arms` are features of arms
    for it. What is not read is named in `words`.
    """
    if features is not None:
        return _with_map(path, features, context, arms)
    if context:
        raise InvalidReward(
            f"{path}: contexts need a map that joins them with arms, as in --features disjoint"
        )
    if is_own_log(path):
        return _own_log(path)
    played, rewards = read_log(path)
    names = [
        name for name in table_in(Path(path), InvalidReward).column_names if name not in ("arm", "reward")
    ]
    return LoggedRewards(played, rewards, None, None, f"{len(rewards):,} logged rewards{_ignored(names)}")


def _ignored(names: list[str]) -> str:
    return f"; columns that are not read: {few_of(names)}" if names else ""


def _with_map(path: str | Path, features: str, context: Sequence[str], arms: Floats | None) -> LoggedRewards:
    by_table = "table" in features.replace(",", " ").split()
    found = map_named(features, read(path, context=() if by_table else context), context, arms)
    return _whole(found.log, f"; map: {found.code}")


def _whole(log: Log, more: str = "") -> LoggedRewards:
    """A log of which all is needed."""
    missing = int((~log.rewarded).sum())
    words = f"{len(log) - missing:,} logged rewards of {log.count} arms" + (
        f"; {missing:,} rounds have none" if missing else ""
    )
    return LoggedRewards([], np.zeros(0), None, None, words + more, log)


def _own_log(path: str | Path) -> LoggedRewards:
    log = read(path)
    if log.arms is None or log.offers is not None or log.offered is not None:
        return _whole(log)
    rows = log.rewarded
    names = None if log.labels is None else [str(label) for label in log.labels]
    arms: list[object] = [place if names is None else names[place] for place in log.arm[rows].tolist()]
    return LoggedRewards(arms, log.reward[rows], log.arms, names, _whole(log).words)


def read_log(path: str | Path) -> tuple[list[object], Floats]:
    """The columns `arm` (a label, or an index from 0 where arms have none) and `reward` of a file."""
    table = table_in(Path(path), InvalidReward)
    for name in ("arm", "reward"):
        if name not in table.column_names:
            raise InvalidReward(f"{path}: a column {name!r} is needed, got {', '.join(table.column_names)}")
    if not is_numeric(table, "reward") or table["reward"].null_count:
        raise InvalidReward(f"{path}: the column 'reward' must hold a number in every row")
    return table["arm"].to_pylist(), table["reward"].to_numpy().astype(np.float64)
