"""What is asked and told, row by row, checked at the door of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from infex.checks import HEAVIEST_WEIGHT, LARGEST_REWARD, quick, real
from infex.errors import InvalidReward, InvalidSetting
from infex.features.vectors import refuse_single_values, table_rows
from infex.study.contents import CONTENT_VERSION, RewardContent
from infex.study.moves import KeyedRequest, row_by_row
from infex.study.plain_requests import (
    are_plain_keys,
    checked_key,
    checked_unit,
    request_of,
    requests_of_contexts,
)


def question_of(key: str, unit: str | None, words: dict[str, Any]) -> KeyedRequest:
    """What is asked under a key, checked."""
    about = checked_unit(unit)
    return quick(KeyedRequest, (checked_key(key), about, request_of(words, about)))


def questions_of(
    keys: Sequence[str], units: Sequence[str | None], given: dict[str, Any], more: dict[str, Any]
) -> list[KeyedRequest]:
    """What is asked under each key, checked; `given` are one for each key, `more` is the same for all."""
    if not more and given["arms"] is None and given["context"] is not None:
        quickly = _in_contexts(keys, units, given["context"])
        if quickly is not None:
            return quickly
    words = options_of_rows(given, more, len(keys))
    return row_by_row(keys, lambda row, key: question_of(key, units[row], words[row]))


def _in_contexts(
    keys: Sequence[str], units: Sequence[str | None], contexts: Sequence[object]
) -> list[KeyedRequest] | None:
    """The same of contexts that are plain numbers, by columns; None if the rows need a look."""
    if not are_plain_keys(keys) or any(unit is not None for unit in units):
        return None
    nobody = [""] * len(keys)
    requests = requests_of_contexts(contexts, nobody)
    if requests is None:
        return None
    return list(map(quick, repeat(KeyedRequest), zip(keys, nobody, requests, strict=True)))


def in_places(many: Any) -> list[Any] | None:
    """One for each key, by its place: of a table its rows, also where they have an index of their own."""
    if isinstance(many, Mapping):
        return _rows_of_columns(many)
    rows = table_rows(many)
    if rows is not None and not isinstance(rows, Iterable):
        raise InvalidSetting(
            f"contexts and arms are lists with one for each key, got a {type(many).__name__}"
        )
    return None if rows is None else list(rows)


def _rows_of_columns(many: Mapping[Any, Any]) -> list[Any]:
    refuse_single_values(many)
    columns = {name: list(values) for name, values in many.items()}
    refuse_lengths(max(map(len, columns.values()), default=0), columns)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def options_of_rows(given: dict[str, Any], more: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What is given for each key, and for all."""
    known = {word: each for word, each in given.items() if each is not None}
    if len(known) == 1 and not more:  # the common question
        ((word, column),) = known.items()
        return [{word: column[row]} for row in range(count)]
    return [{word: column[row] for word, column in known.items()} | more for row in range(count)]


def reward_content(
    reward: float, weight: float = 1.0, part: str | None = None, reason: str = ""
) -> RewardContent:
    """What is told of a decision, as its entry says it."""
    value = real("reward", reward, least=-LARGEST_REWARD, most=LARGEST_REWARD, error=InvalidReward)
    heavy = real("weight", weight, above=0, most=HEAVIEST_WEIGHT, error=InvalidReward)
    return RewardContent(v=CONTENT_VERSION, reward=value, weight=heavy, part=part, reason=reason)


def refuse_lengths(count: int, given: dict[str, Any]) -> None:
    """Refuses a column that is not as long as the keys."""
    for word, each in given.items():
        if each is not None and len(each) != count:
            raise InvalidSetting(f"{word} must be as many as the keys, {count}, got {len(each)}")
