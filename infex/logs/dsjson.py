"""Vowpal Wabbit's dsjson: an event in each line, costs for rewards, propensities in ranked order."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from infex.errors import InvalidLog
from infex.logs.event_rows import LogEvent, named_features
from infex.logs.log import Log

LARGEST_ARM = 10**6


def dsjson_events(lines: Iterable[str]) -> Iterator[LogEvent]:
    """The events of lines of dsjson that are to be learnt from, numbered by line."""
    events = (_event(number, line) for number, line in enumerate(lines, start=1) if line.strip())
    return (event for event in events if event is not None)


def _event(number: int, line: str) -> LogEvent | None:
    said = _parsed(number, line)
    if said.get("_skipLearn") is True:
        return None
    each = [named_features(arm) for arm in _offered(said)]
    return LogEvent(
        number=number,
        arm=_arm(said, number),
        reward=0.0 - number_in(said, "_label_cost", number),
        propensity=number_in(said, "_label_probability", number),
        propensities=_propensities(said, number, len(each)),
        shared=named_features(said.get("c")),
        each=each,
        kept=_kept(said, number),
        id=text_in(said, "EventId"),
        time=text_in(said, "Timestamp"),
    )


def _parsed(number: int, line: str) -> dict[str, Any]:
    try:
        said = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidLog(f"line {number} is no event of dsjson") from None
    if not isinstance(said, dict) or "_label_cost" not in said:
        raise InvalidLog(f"line {number} has no _label_cost, as events of dsjson have")
    return said


def _offered(said: dict[str, Any]) -> list[object]:
    """What an event says of each arm; nothing where it does not tell arms apart."""
    context = said.get("c")
    multi = context.get("_multi") if isinstance(context, dict) else None
    return multi if isinstance(multi, list) else []


def _refuse_constant(word: str) -> float:
    raise ValueError(word)


def text_in(said: dict[str, Any], name: str) -> str | None:
    """A text of an event; None where it has none."""
    value = said.get(name)
    return value if isinstance(value, str) else None


def number_in(said: dict[str, Any], name: str, number: int) -> float:
    """A number of an event."""
    value = said.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidLog(f"{name} must be a number; 1 row is not: line {number}")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _arm(said: dict[str, Any], number: int) -> int:
    """The place of the arm that was played, from 0; `_label_Action` counts from 1."""
    index, action = said.get("_labelIndex"), said.get("_label_Action")
    if index is None and type(action) is int:
        index = action - 1
    if type(index) is not int or not 0 <= index < LARGEST_ARM:
        raise InvalidLog(f"_labelIndex must be the place of an arm; 1 row is not: line {number}")
    if type(action) is int and action != index + 1:
        raise InvalidLog(f"_labelIndex and _label_Action must name one arm; 1 row does not: line {number}")
    return index


def _kept(said: dict[str, Any], number: int) -> float | None:
    if "_kept" in said:
        return number_in(said, "_kept", number)
    return 1.0 - number_in(said, "pdrop", number) if "pdrop" in said else None


def _propensities(said: dict[str, Any], number: int, arms: int) -> list[float] | None:
    """The propensities `p`, which stand in the order of `a`, in the order of arms."""
    ranked, shares = said.get("a"), said.get("p")
    if ranked is None or shares is None:
        return None
    whole = isinstance(ranked, list) and isinstance(shares, list) and len(ranked) == len(shares)
    if not whole or not all(type(arm) is int and 1 <= arm <= LARGEST_ARM for arm in ranked):
        raise InvalidLog(f"a and p must be lists of arms and their propensities; 1 row is not: line {number}")
    if len(set(ranked)) < len(ranked) or (ranked and max(ranked) > max(len(ranked), arms)):
        raise InvalidLog(f"a must name each arm once; 1 row does not: line {number}")
    found = [0.0] * max(len(ranked), arms)
    for arm, share in zip(ranked, shares, strict=True):
        found[arm - 1] = number_in({"p": share}, "p", number)
    return found


def dsjson_lines(log: Log) -> Iterator[str]:
    """A log as lines of dsjson; needs the propensity of each arm that was played, and every reward."""
    if log.propensity is None or np.isnan(log.propensity).any():
        raise InvalidLog(
            "dsjson needs the propensity of the arm of every round, which this log does not have"
        )
    if not log.rewarded.all():
        raise InvalidLog("dsjson has no missing rewards: write log.take(log.rewarded)")
    full = (
        log.base_propensities
        if log.explore_probability is None or (log.explore_probability == 1.0).all()
        else None
    )
    for row in range(len(log)):
        yield json.dumps(_said(log, row, None if full is None else full[row]))


def _said(log: Log, row: int, propensities: np.ndarray | None) -> dict[str, Any]:
    assert log.propensity is not None
    arm = int(log.arm[row])
    said: dict[str, Any] = {
        "_label_cost": -float(log.reward[row]),
        "_label_probability": float(log.propensity[row]),
        "_label_Action": arm + 1,
        "_labelIndex": arm,
        "EventId": str(log.others["id"][row]) if "id" in log.others else str(log.round[row]),
    }
    if log.time is not None and log.time.dtype.kind == "M":
        said["Timestamp"] = f"{log.time[row]}Z"
    if propensities is not None and not np.isnan(propensities).any():
        ranked = sorted(range(propensities.size), key=lambda place: (place != arm, -propensities[place]))
        said |= {"a": [place + 1 for place in ranked], "p": [float(propensities[place]) for place in ranked]}
    if log.kept is not None:
        said |= {"pdrop": 1.0 - float(log.kept[row]), "_kept": float(log.kept[row])}
    return said | {"c": _features(log, row)}


def _features(log: Log, row: int) -> dict[str, Any]:
    """What was known of the round: features of all arms, and of each, called x0, x1, ..."""
    context = {} if log.context is None else {"context": _numbered(log.context[row])}
    looks = log.arms if log.offers is None else log.offers[row]
    multi = [{} for _ in range(log.count)] if looks is None else [{"arm": _numbered(each)} for each in looks]
    if log.offered is not None:
        multi = [each for each, offered in zip(multi, log.offered[row], strict=True) if offered]
    return context | {"_multi": multi}


def _numbered(values: np.ndarray) -> dict[str, float]:
    return {f"x{place}": value for place, value in enumerate(values.tolist())}
