"""Decisions one by one, as a bandit or a study has them, gathered into a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats, Label
from infex.errors import InvalidLog
from infex.logs.log import Log
from infex.logs.log_schema import LogHeader
from infex.logs.log_tables import table_of

if TYPE_CHECKING:
    import pyarrow as pa

NOT_KNOWN = float("nan")
NO_DATE = np.datetime64("NaT", "us")


class LogRow(NamedTuple):
    """One decision as a row of a log; None is: not known.

    `offers` are the arms on offer, (K, d), where they are not the same in all rows; or `context`, (c,), goes
    with the map of the header. `base_propensities` (K,) are those of all arms,
    given that the round explores.
    `offered` says which of the arms were on offer, (K,), where not all were.
    `at` are microseconds since 1970, UTC. The other fields are those of a `Decision`.
    """

    round: int
    arm: int
    id: str = ""
    label: Label | None = None
    explored: bool = False
    greedy: int = -1
    propensity: float | None = None
    explore_probability: float | None = None
    base_propensity: float | None = None
    base_propensities: Floats | None = None
    offers: Floats | None = None
    context: Floats | None = None
    at: int | None = None
    stream: str = ""
    reason: str = ""
    policy: str | None = None
    loss: float = 0.0
    offered: Bools | None = None


class LogReward(NamedTuple):
    """The reward of a decision, its weight in the squared error, and when it came."""

    reward: float
    weight: float = 1.0
    at: int | None = None


NO_REWARD = LogReward(NOT_KNOWN)


def rows_to_table(
    rows: Iterable[LogRow], rewards: Iterable[LogReward | None], header: LogHeader | None = None
) -> pa.Table:
    """Decisions, each with its reward or None, as a table in the schema of logs.

    `header` is what is said once of all rows: facts such as policy and schedule, arms that do not change,
    their labels, a feature map.

    >>> explored = LogRow(1, 0, "a-1", explored=True, explore_probability=1.0, base_propensity=0.5)
    >>> rows = [explored, LogRow(2, 1, "a-2", explore_probability=0.0)]
    >>> rows_to_table(rows, [LogReward(0.25), None])["reward"].to_pylist()
    [0.25, None]
    """
    return table_of(rows_to_log(rows, rewards, header))


def rows_to_log(
    rows: Iterable[LogRow], rewards: Iterable[LogReward | None], header: LogHeader | None = None
) -> Log:
    """The same as a log in memory."""
    taken, known = list(rows), header or LogHeader()
    told = [NO_REWARD if reward is None else reward for reward in rewards]
    if len(told) != len(taken):
        raise InvalidLog(f"rewards must be as many as the decisions, {len(taken)}, got {len(told)}")
    if not taken:
        raise InvalidLog("a log must have at least one row, got none")
    parts = _singles(taken) | _lists(taken) | _loose(taken, told)
    mapped = None if "offers" in parts else known.features
    fixed = None if "offers" in parts else known.arms
    return Log(**parts, arms=fixed, labels=known.labels, features=mapped, facts=known.facts)


def _singles(rows: Sequence[LogRow]) -> dict[str, Any]:
    whole = {
        name: np.array([row[place] for row in rows], dtype=np.int64)
        for name, place in (("round", 0), ("arm", 1), ("greedy", 5))
    }
    shares = {
        name: np.array([row[place] for row in rows], dtype=np.float64)  # None is NaN
        for name, place in (("propensity", 6), ("explore_probability", 7), ("base_propensity", 8))
    }
    return whole | shares | {"explored": np.array([row.explored for row in rows])}


def _loose(rows: Sequence[LogRow], told: Sequence[LogReward]) -> dict[str, Any]:
    others: dict[str, NDArray[Any]] = {
        "id": np.array([row.id for row in rows]),
        "reason": np.array([row.reason for row in rows]),
        "loss": np.array([row.loss for row in rows], dtype=np.float64),
    }
    if any(reward.weight != 1.0 for reward in told):
        others["weight"] = np.array([reward.weight for reward in told], dtype=np.float64)
    if len({row.policy for row in rows}) > 1:  # else the header says it
        others["policy"] = np.array([row.policy or "" for row in rows])
    if any(row.label is not None for row in rows):
        others["label"] = np.array(["" if row.label is None else str(row.label) for row in rows])
    found: dict[str, Any] = {
        "reward": np.array([reward.reward for reward in told], dtype=np.float64),
        "stream": np.array([row.stream for row in rows]),
        "others": others,
    }
    times = {"time": [row.at for row in rows], "reward_time": [reward.at for reward in told]}
    return found | {
        name: np.array([NO_DATE if at is None else np.datetime64(at, "us") for at in given])
        for name, given in times.items()
        if any(at is not None for at in given)
    }


def _lists(rows: Sequence[LogRow]) -> dict[str, Any]:
    """Laws, contexts and offers: as wide as the widest row."""
    found: dict[str, Any] = {}
    contexts = [row.context for row in rows if row.context is not None]
    if contexts:
        found["context"] = _even("contexts", contexts, len(rows))
    offers = [row.offers for row in rows if row.offers is not None]
    if offers:
        found |= _padded(offers, len(rows))
    if any(row.offered is not None for row in rows):
        found["offered"] = _masks(rows, found)
    if any(row.base_propensities is not None for row in rows):
        found["base_propensities"] = _propensities(rows, found.get("offers"))
    return found


def _masks(rows: Sequence[LogRow], found: dict[str, Any]) -> Bools:
    """Which arms were on offer in each row; all of those there are where a row does not say."""
    offers, sized = found.get("offers"), found.get("offered")
    width = max(row.offered.size for row in rows if row.offered is not None)
    masks = np.ones((len(rows), width if offers is None else offers.shape[1]), dtype=bool)
    if sized is not None:
        masks &= sized
    for place, row in enumerate(rows):
        if row.offered is not None:
            masks[place] = False
            masks[place, : row.offered.size] = row.offered
    return masks


def _propensities(rows: Sequence[LogRow], offers: Floats | None) -> Floats:
    count = max(row.base_propensities.size for row in rows if row.base_propensities is not None)
    width = max(count, 0 if offers is None else offers.shape[1])
    propensities = np.full((len(rows), width), NOT_KNOWN)
    for place, row in enumerate(rows):
        if row.base_propensities is not None:
            propensities[place] = 0.0
            propensities[place, : row.base_propensities.size] = row.base_propensities
    return propensities


def _even(name: str, given: Sequence[Floats], size: int) -> Floats:
    if len(given) != size or len({each.shape for each in given}) > 1:
        raise InvalidLog(f"{name} must be in every row or in none, of as many numbers each")
    return np.array(given)


def _padded(given: Sequence[Floats], size: int) -> dict[str, Floats | Bools]:
    """Offers as an array (n, K, d), and which of its places are arms, where some sets are smaller."""
    if len(given) != size or len({each.shape[1] for each in given}) > 1:
        raise InvalidLog("offers must be in every row or in none, of as many features each")
    sizes = np.array([len(each) for each in given])
    if (sizes == sizes[0]).all():
        return {"offers": np.array(given)}
    count = int(sizes.max())
    offers = np.zeros((size, count, given[0].shape[1]))
    for place, each in enumerate(given):
        offers[place, : len(each)] = each
    return {"offers": offers, "offered": np.arange(count) < sizes[:, None]}
