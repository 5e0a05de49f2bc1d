"""Eppo's bandit events: who was shown what, with which probability; rewards have to be joined to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infex.errors import InvalidLog
from infex.logs.dsjson import number_in, text_in
from infex.logs.event_rows import LogEvent, named_features

SUBJECT = ("subjectNumericAttributes", "subjectCategoricalAttributes")


def eppo_events(events: Iterable[Mapping[str, Any] | str], reward: str) -> Iterator[LogEvent]:
    """Events, or lines of JSON, with the reward under a name of yours; arms are texts.

    Other arms and their features are not in these events: a target can look at the context alone.
    """
    for number, event in enumerate(events, start=1):
        if not isinstance(event, str):
            yield _event(number, dict(event), reward)
        elif event.strip():
            yield _event(number, _parsed(number, event), reward)


def _parsed(number: int, line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidLog(f"line {number} is no event of Eppo") from None
    if not isinstance(said, dict):
        raise InvalidLog(f"line {number} is no event of Eppo")
    return said


def _event(number: int, said: dict[str, Any], reward: str) -> LogEvent:
    if not isinstance(said.get("action"), str) or "actionProbability" not in said:
        raise InvalidLog(f"an event of Eppo has an action and an actionProbability; line {number} has not")
    if reward not in said:
        raise InvalidLog(
            f"events of Eppo hold no rewards: join them under the name {reward!r} (null where none came); "
            f"line {number} has none"
        )
    shared: dict[str, float] = {}
    for name in SUBJECT:
        shared |= named_features(said.get(name))
    return LogEvent(
        number=number,
        arm=said["action"],
        reward=None if said[reward] is None else number_in(said, reward, number),
        propensity=number_in(said, "actionProbability", number),
        shared=shared,
        time=text_in(said, "timestamp"),
        unit=text_in(said, "subject"),
    )
