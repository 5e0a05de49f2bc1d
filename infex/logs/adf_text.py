"""Vowpal Wabbit's text for contextual bandits with features of arms (cb_adf): some lines for each event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from infex.errors import InvalidLog
from infex.logs.event_rows import LogEvent

SHARED = "shared"


def adf_events(lines: Iterable[str]) -> Iterator[LogEvent]:
    """The events that have a label, numbered as they stand; a blank line ends an event.

    `0:cost:probability` stands before the arm that was played, and the reward is minus the cost.
    """
    number, block = 0, list[tuple[int, str]]()
    for place, line in enumerate(lines, start=1):
        if line.strip():
            block.append((place, line.strip()))
            continue
        if block:
            number += 1
            yield from _event(number, block)
            block = []
    if block:
        yield from _event(number + 1, block)


def _event(number: int, block: list[tuple[int, str]]) -> Iterator[LogEvent]:
    shared: dict[str, float] = {}
    each: list[dict[str, float]] = []
    labels: dict[int, tuple[float, float]] = {}
    for place, line in block:
        head, bar, rest = line.partition("|")
        if not bar:
            raise InvalidLog(f"line {place} has no features behind a bar, as lines of cb_adf have")
        if head.split()[:1] == [SHARED]:
            if each or shared:
                raise InvalidLog(f"line {place} is shared by arms that came before it")
            shared = _features(rest, place)
            continue
        if (label := _label(head, place)) is not None:
            labels[len(each)] = label
        each.append(_features(rest, place))
    if len(labels) > 1:
        raise InvalidLog(
            f"an event must have one label, and the one that ends in line {block[-1][0]} has more"
        )
    for arm, (cost, propensity) in labels.items():
        yield LogEvent(number, arm, 0.0 - cost, propensity, None, shared, each)


def _label(head: str, place: int) -> tuple[float, float] | None:
    """Cost and probability before the bar; a word without colons is a tag."""
    labelled = [word for word in head.split() if ":" in word and not word.startswith("'")]
    if not labelled:
        return None
    parts = labelled[0].split(":")
    if len(labelled) > 1 or len(parts) != 3:
        raise InvalidLog(f"a label must be action:cost:probability; line {place} has another")
    return _number(parts[1], place), _number(parts[2], place)


def _number(word: str, place: int) -> float:
    try:
        return float(word)
    except ValueError:
        raise InvalidLog(f"a number was expected in line {place}") from None


def _features(rest: str, place: int) -> dict[str, float]:
    """Features by name, those of a namespace as `namespace.name`; one without a value is 1."""
    found: dict[str, float] = {}
    for part in rest.split("|"):
        words = part.split()
        space, scale = "", 1.0
        if words and not part[0].isspace():
            space, _, value = words.pop(0).partition(":")
            scale = _number(value, place) if value else 1.0
        for word in words:
            name, colon, value = word.rpartition(":")
            key = name if colon else word
            found[f"{space}.{key}" if space else key] = scale * (_number(value, place) if colon else 1.0)
    return found
