"""Logged rewards from files: two columns of a table, or a whole log with what its arms looked like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidReward
from infex.logs import Log, is_own_log, read
from infex.logs.named_maps import read_with_map
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
    path: str | Path,
    features: str | None = None,
    context: Sequence[str] = (),
    arms: Floats | None = None,
    labels: Sequence[str] | None = None,
    *,
    arm: str = "arm",
    reward: str = "reward",
) -> LoggedRewards:
    """The rewards of a log: one in infex's own form, a table with contexts, or a plain one of two columns.

    `features` name a map for the columns `context`, as `map_named` reads it; `arms` are features of arms
    for it, in the order of `labels`. `arm` and `reward` name the columns of arms and rewards. What is not
    read is named in `words`.
    """
    if features is not None:
        found = read_with_map(path, features, context, arms, labels=labels, arm=arm, reward=reward)
        return _whole(found.log, f"; map: {found.code}")
    if context:
        raise InvalidReward(
            f"{path}: contexts need a map that joins them with arms, as in --features disjoint"
        )
    if is_own_log(path):
        return _own_log(path)
    played, rewards = read_log(path, arm, reward)
    names = [name for name in table_in(Path(path), InvalidReward).column_names if name not in (arm, reward)]
    return LoggedRewards(played, rewards, None, None, f"{len(rewards):,} logged rewards{_ignored(names)}")


def _ignored(names: list[str]) -> str:
    return f"; columns that are not read: {few_of(names)}" if names else ""


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


def read_log(path: str | Path, arm: str = "arm", reward: str = "reward") -> tuple[list[object], Floats]:
    """The columns `arm` (a label, or an index from 0 where arms have none) and `reward` of a file."""
    table = table_in(Path(path), InvalidReward)
    for option, name in (("arm", arm), ("reward", reward)):
        if name not in table.column_names:
            raise InvalidReward(
                f"{path}: a column {name!r} is needed, got {', '.join(table.column_names)}; "
                f"another is named by --{option}"
            )
    if not is_numeric(table, reward) or table[reward].null_count:
        raise InvalidReward(f"{path}: the column {reward!r} must hold a number in every row")
    return table[arm].to_pylist(), table[reward].to_numpy().astype(np.float64)
