"""Other people's formats: Vowpal Wabbit's dsjson (an event in each line) and the Open Bandit Pipeline's dict.

In dsjson costs stand for rewards, and `p` holds propensities in the order of the ranking `a`. Features have
names, and become numbers here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidLog
from infex.logs.log import Log

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_ARM = 10**6
LARGEST_SUM_ERROR = 1e-3  # of propensities in single precision
EXACT_SUM = 1e-9
OBP_ARRAYS = ("action", "reward", "pscore", "context", "action_context", "position", "pi_b")


def _full_propensities(log: Log, form: str) -> Floats | None:
    """The propensities of all arms if they hold in every round; refuses a log that the form cannot hold."""
    if log.propensity is None or np.isnan(log.propensity).any():
        raise InvalidLog(
            f"{form} needs the propensity of the arm in every round, which this log does not have"
        )
    if not log.rewarded.all():
        raise InvalidLog(f"{form} has no missing rewards: write log.take(log.rewarded)")
    always = log.explore_probability is None or (log.explore_probability == 1.0).all()
    return log.base_propensities if always else None


# dsjson


class Event(NamedTuple):
    """One event of dsjson; features by name, those that all arms share and those of each arm.

    `line` is its place in the file, from 1. `propensities` are those of all arms, in the order of arms.
    """

    line: int
    arm: int
    reward: float
    propensity: float
    propensities: list[float] | None
    shared: dict[str, float]
    each: list[dict[str, float]]
    kept: float | None
    id: str | None
    time: np.datetime64 | None


def dsjson_tables(
    lines: Iterable[str], context: Sequence[str], arms: Sequence[str], rows: int
) -> Iterator[pa.Table]:
    """Events as tables in the schema of logs, `rows` at a time; those marked `_skipLearn` are left out.

    `context` names the shared features to read, `arms` those of each arm. A name that no
    event has is refused.
    """
    events: list[Event] = []
    missing = {*context, *arms}
    for number, line in enumerate(lines, start=1):
        event = _event(number, line) if line.strip() else None
        if event is None:
            continue
        missing -= event.shared.keys()
        for each in event.each:
            missing -= each.keys()
        events.append(event)
        if len(events) == rows:
            yield _event_table(events, context, arms)
            events = []
    if events:
        yield _event_table(events, context, arms)
    if missing:
        raise InvalidLog(f"no event has a feature called {min(missing)!r}")


def _event_table(events: Sequence[Event], context: Sequence[str], arms: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    columns: dict[str, Any] = {
        "round": pa.array([event.line for event in events], pa.int64()),
        "arm": pa.array([event.arm for event in events]),
        "reward": pa.array([event.reward for event in events], pa.float64()),
        "propensity": pa.array([event.propensity for event in events]),
    }
    for name, values in (
        ("kept", [event.kept for event in events]),
        ("id", [event.id for event in events]),
        ("time", [event.time for event in events]),
    ):
        if any(value is not None for value in values):
            columns[name] = pa.array(values)
    if context:
        shared = [[event.shared.get(name, 0.0) for name in context] for event in events]
        columns["context"] = pa.array(shared, pa.list_(pa.float64()))
    sizes = {len(event.each) for event in events}
    if arms:
        each = [[[arm.get(name, 0.0) for name in arms] for arm in event.each] for event in events]
        columns["arms"] = pa.array(each, pa.list_(pa.list_(pa.float64())))
    elif len(sizes) > 1 and 0 not in sizes:
        columns["offered"] = pa.array([[True] * len(event.each) for event in events])
    if any(event.propensities is not None for event in events):
        width = max(len(event.propensities) for event in events if event.propensities is not None)
        padded = [
            None
            if event.propensities is None
            else event.propensities + [0.0] * (width - len(event.propensities))
            for event in events
        ]
        columns["base_propensities"] = pa.array(padded, pa.list_(pa.float64()))
    return pa.table(columns)


def _event(number: int, line: str) -> Event | None:
    try:
        said = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidLog(f"line {number} is not an event of dsjson") from None
    if not isinstance(said, dict) or "_label_cost" not in said:
        raise InvalidLog(f"line {number} has no _label_cost, as events of dsjson have")
    if said.get("_skipLearn") is True:
        return None
    context, kept = said.get("c"), None
    multi = context.get("_multi") if isinstance(context, dict) else None
    each = [named_features(arm) for arm in multi] if isinstance(multi, list) else []
    if "_kept" in said:
        kept = _number(said, "_kept", number)
    elif "pdrop" in said:
        kept = 1.0 - _number(said, "pdrop", number)
    return Event(
        line=number,
        arm=_event_arm(said, number),
        reward=0.0 - _number(said, "_label_cost", number),
        propensity=_number(said, "_label_probability", number),
        propensities=_event_propensities(said, number, len(each)),
        shared=named_features(context),
        each=each,
        kept=kept,
        id=id_ if isinstance(id_ := said.get("EventId"), str) else None,
        time=_date(said.get("Timestamp"), number),
    )


def _refuse_constant(word: str) -> float:
    raise ValueError(word)


def _number(said: dict[str, Any], name: str, number: int) -> float:
    value = said.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidLog(f"{name} must be a number; 1 row is not: line {number}")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _event_arm(said: dict[str, Any], number: int) -> int:
    """The index of the arm that was played, from 0; `_label_Action` counts from 1."""
    index, action = said.get("_labelIndex"), said.get("_label_Action")
    if index is None and type(action) is int:
        index = action - 1
    if type(index) is not int or not 0 <= index < LARGEST_ARM:
        raise InvalidLog(f"_labelIndex must be the index of an arm; 1 row is not: line {number}")
    if type(action) is int and action != index + 1:
        raise InvalidLog(f"_labelIndex and _label_Action must name one arm; 1 row does not: line {number}")
    return index


def _event_propensities(said: dict[str, Any], number: int, arms: int) -> list[float] | None:
    """Propensities in the order of arms, adding up to 1; single precision may miss that by a little."""
    ranked, given = said.get("a"), said.get("p")
    if ranked is None or given is None:
        return None
    paired = isinstance(ranked, list) and isinstance(given, list) and len(ranked) == len(given)
    if not paired or not all(type(arm) is int and 1 <= arm <= LARGEST_ARM for arm in ranked):
        raise InvalidLog(f"a and p must be lists of arms and their propensities; 1 row is not: line {number}")
    if len(set(ranked)) < len(ranked) or (ranked and max(ranked) > max(len(ranked), arms)):
        raise InvalidLog(f"a must name each arm once; 1 row does not: line {number}")
    found = [0.0] * max(len(ranked), arms)
    for arm, share in zip(ranked, given, strict=True):
        found[arm - 1] = _number({"p": share}, "p", number)
    total = math.fsum(found)
    if not abs(total - 1.0) <= LARGEST_SUM_ERROR or not all(0.0 <= share <= 1.0 for share in found):
        raise InvalidLog(f"propensities of all arms must add up to 1; 1 row is not: round {number}")
    return found if abs(total - 1.0) <= EXACT_SUM else [share / total for share in found]


def _date(text: object, number: int) -> np.datetime64 | None:
    if not isinstance(text, str):
        return None
    try:
        read = datetime.fromisoformat(text)
        return np.datetime64(read if read.tzinfo is None else read.astimezone(UTC).replace(tzinfo=None), "us")
    except (ValueError, OverflowError):
        raise InvalidLog(f"Timestamp must be a date; 1 row is not: line {number}") from None


def named_features(given: object, prefix: str = "") -> dict[str, float]:
    """The features in a JSON object by name: inner ones as `outer.inner`, texts as `name=text`.

    >>> named_features({"age": 3, "from": {"city": "Rome", "far": True}})
    {'age': 3.0, 'from.city=Rome': 1.0, 'from.far': 1.0}
    """
    found: dict[str, float] = {}
    if isinstance(given, list):
        given = {str(place): each for place, each in enumerate(given)} if prefix else {}
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if str(name).startswith("_"):
            continue
        if isinstance(value, str):
            found[f"{prefix}{name}={value}"] = 1.0
        elif isinstance(value, bool | int | float):
            found[f"{prefix}{name}"] = float(value)
        else:
            found |= named_features(value, f"{prefix}{name}.")
    return found


def dsjson_lines(log: Log) -> Iterator[str]:
    """A log as lines of dsjson; it needs the propensity of the arm in every round, and every reward."""
    propensities = _full_propensities(log, "dsjson")
    for row in range(len(log)):
        yield json.dumps(_event_data(log, row, None if propensities is None else propensities[row]))


def _event_data(log: Log, row: int, propensities: np.ndarray | None) -> dict[str, Any]:
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
    context = {} if log.context is None else {"context": _numbered(log.context[row])}
    features = log.arms if log.offers is None else log.offers[row]
    multi = [{"arm": _numbered(each)} for each in features] if features is not None else [{}] * log.count
    if log.offered is not None:
        multi = [each for each, offered in zip(multi, log.offered[row], strict=True) if offered]
    return said | {"c": context | {"_multi": multi}}


def _numbered(values: np.ndarray) -> dict[str, float]:
    return {f"x{place}": value for place, value in enumerate(values.tolist())}


# The Open Bandit Pipeline


def obp_log(feedback: Mapping[str, Any]) -> Log:
    """The log in obp's dict: action, reward, pscore, context, action_context, position and pi_b.

    `pscore` is the propensity of the arm, `pi_b` that of all arms, at the position of the row.
    `expected_reward`, which only a simulation knows, is not read.
    """
    for name in ("action", "reward"):
        if feedback.get(name) is None:
            raise InvalidLog(f"obp's feedback must have an array {name}")
    try:
        arrays = {name: np.asarray(feedback[name]) for name in OBP_ARRAYS if feedback.get(name) is not None}
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidLog(f"obp's feedback must be a dict of arrays ({type(error).__name__})") from None
    for name, array in arrays.items():
        if array.dtype.kind not in "iufb":
            raise InvalidLog(f"{name} must be an array of numbers in obp's feedback")
        if name in ("reward", "pscore") and array.dtype.kind == "f" and np.isnan(array).any():
            raise InvalidLog(f"{name} must be a number in every row of obp's feedback, and is NaN in some")
    if arrays["action"].dtype.kind == "b":
        arrays["action"] = arrays["action"].astype(np.int64)
    count, position = feedback.get("n_actions"), arrays.get("position")
    is_count = isinstance(count, int | np.integer) and not isinstance(count, bool)
    return Log(
        arm=arrays["action"],
        reward=arrays["reward"],
        propensity=arrays.get("pscore"),
        context=arrays.get("context"),
        arms=arrays.get("action_context"),
        base_propensities=_at_positions(arrays.get("pi_b"), position),
        count=int(count) if is_count else None,  # type: ignore[arg-type]
        others={} if position is None else {"position": position},
    )


def _at_positions(propensities: np.ndarray | None, position: np.ndarray | None) -> Floats | None:
    """Propensities of all arms, at the position of each row if there are several positions."""
    if propensities is None or propensities.ndim == 2:
        return None if propensities is None else propensities.astype(np.float64)
    if propensities.ndim != 3 or not propensities.shape[2]:
        raise InvalidLog(f"pi_b must have the shape (rounds, arms, positions), got {propensities.shape}")
    if propensities.shape[2] == 1:
        return propensities[:, :, 0].astype(np.float64)
    if position is None or position.shape != propensities.shape[:1] or position.dtype.kind not in "iu":
        raise InvalidLog("pi_b has several positions, and the feedback does not say the position of each row")
    if position.min() < 0 or position.max() >= propensities.shape[2]:
        raise InvalidLog(f"position must be from 0 to {propensities.shape[2] - 1} in every row")
    return propensities[np.arange(len(propensities)), :, position].astype(np.float64)


def obp_feedback(log: Log) -> dict[str, Any]:
    """A log as obp's dict; it needs the propensity of the arm in every round, and every reward."""
    propensities = _full_propensities(log, "obp")
    if propensities is not None and np.isnan(propensities).any():
        propensities = None
    return {
        "n_rounds": len(log),
        "n_actions": log.count,
        "context": log.context,
        "action": log.arm,
        "reward": log.reward,
        "pscore": log.propensity,
        "position": log.others.get("position"),
        "action_context": log.arms,
        "pi_b": None if propensities is None else propensities[:, :, None],
    }
