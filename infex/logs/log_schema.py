"""The columns of a log as a table of Arrow or a file of Parquet, and what its metadata say of all rows.

One row for each decision. `round`, `arm` and `reward` are always there; a column that is missing is not
known, and a null is: not known in this round. `arms` is a list of K lists of d numbers (a null among them is
an arm that was not on offer), or stands once in the metadata where it is the same in all rows.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Floats, Label
from infex.checks import settings_by_name
from infex.errors import InfexError, InvalidLog
from infex.features import FeatureMap
from infex.logs.log_facts import LogFacts
from infex.registry import from_record, parse, to_record
from infex.schedules.periodic import Every, Jittered

LOG_FORMAT = 1
METADATA_KEY = b"infex"
UNJOINED = "unjoined"  # in metadata: why rows of all times cannot be read under one header
WHOLE_COLUMNS = ("round", "arm", "greedy")
SHARE_COLUMNS = ("reward", "propensity", "explore_probability", "base_propensity", "kept")
LIST_COLUMNS = ("base_propensities", "context", "offered", "arms")
LOOSE_COLUMNS = ("unit", "stream", "time", "reward_time")
NAMED_COLUMNS = (*WHOLE_COLUMNS, *SHARE_COLUMNS, "explored", "held_out", *LIST_COLUMNS, *LOOSE_COLUMNS)
FACT_TEXTS = ("policy", "schedule", "estimator")


class LogHeader(NamedTuple):
    """What is said once of a whole log: facts, arms that do not change, labels, a map, how many arms.

    `dim` is how many features an arm has. `has_blocks`: has every arm features of its own, in rows of all?
    """

    facts: LogFacts = LogFacts()
    arms: Floats | None = None
    labels: tuple[Label, ...] | None = None
    features: FeatureMap | None = None
    arms_count: int | None = None
    dim: int | None = None
    has_blocks: bool = False

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        rewards = None if self.facts.rewards is None else list(self.facts.rewards)
        return (
            {"format": LOG_FORMAT}
            | settings_by_name(self.facts)
            | {
                "rewards": rewards,
                "dim": self.dim if self.arms is None else int(self.arms.shape[1]),
                "arms": None if self.arms is None else self.arms.tolist(),
                "labels": None if self.labels is None else list(self.labels),
                "features": None if self.features is None else map_data(self.features),
                "count": self.arms_count,
                **({"blocks": True} if self.has_blocks else {}),
            }
        )

    def metadata(self) -> dict[bytes, bytes]:
        """The same as the metadata of a schema."""
        return {METADATA_KEY: json.dumps(self.as_data()).encode()}


def map_data(features: FeatureMap) -> dict[str, Any] | None:
    """A map as a record; None for one with code of a user's, of which rows are kept instead."""
    with contextlib.suppress(InfexError):
        return to_record(features)
    return None


def header_of(metadata: Mapping[bytes, bytes] | None) -> LogHeader | None:
    """What metadata say of a log; None if they are not infex's."""
    if not metadata or METADATA_KEY not in metadata:
        return None
    try:
        said = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError):
        raise InvalidLog("the metadata of this log cannot be read") from None
    return header_from(said)


def header_from(said: object) -> LogHeader:
    """A header from plain data, all of it looked at."""
    if not isinstance(said, dict):
        raise InvalidLog("the metadata of this log are none of infex's")
    version = said.get("format")
    if type(version) is not int or not 1 <= version <= LOG_FORMAT:
        raise InvalidLog(f"this log has format {version!r}, and this infex reads {LOG_FORMAT} at most")
    if UNJOINED in said:
        raise InvalidLog(f"{said[UNJOINED]}")
    try:
        return _header(said)
    except InvalidLog:
        raise
    except (InfexError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidLog(f"the metadata of this log do not fit: {type(error).__name__}") from None


def _header(said: dict[str, Any]) -> LogHeader:
    facts = {each.name: said[each.name] for each in fields(LogFacts) if each.name in said}
    for name in FACT_TEXTS:
        if not isinstance(facts.get(name), str | None):
            raise InvalidLog(f"{name} in the metadata of this log must be a text")
    if facts.get("period") is None:
        facts["period"] = period_of(facts.get("schedule"))
    facts["encoded"] = facts.get("encoded") is True
    arms, labels, features, count = (said.get(name) for name in ("arms", "labels", "features", "count"))
    return LogHeader(
        LogFacts(**facts),
        None if arms is None else _fixed(arms),
        None if labels is None else tuple(labels),
        None if features is None else from_record(features),
        count if type(count) is int else None,
        dim if type(dim := said.get("dim")) is int else None,
        said.get("blocks") is True,
    )


def period_of(schedule: object) -> int | None:
    """The length of the blocks of a schedule, of each of which one round explores; None if it has none.

    >>> period_of("jittered(20, seed=1)"), period_of("every(5)"), period_of("listed([1, 7])")
    (20, 5, None)
    """
    if isinstance(schedule, str):
        try:
            schedule = parse(schedule)
        except (InfexError, RecursionError, MemoryError):
            return None
    return schedule.period if isinstance(schedule, Jittered | Every) else None


def _fixed(arms: object) -> Floats:
    rows = np.asarray(arms, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidLog("arms in the metadata of this log must be rows of finite numbers")
    return rows
