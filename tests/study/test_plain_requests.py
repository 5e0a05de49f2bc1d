"""What was asked as plain data: rows of a batch are read, or refused, as they are one by one."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infex.arrays import plain_value
from infex.errors import InfexError, InvalidSetting
from infex.study.commands import Ask, each_row
from infex.study.requests import Request, checked_key

ODD = st.sampled_from([0, 1, True, None, "1", float("nan"), float("inf"), 1e308, -0.0, 5e-324])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CONTEXTS = st.lists(NUMBERS, max_size=4) | st.lists(NUMBERS | ODD, max_size=4) | st.just((0.5, 0.5))
KEYS = st.text(max_size=6) | st.sampled_from(["infex:x", "a" * 200, "a" * 201, "\0", "", "ü"]) | st.just(7)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except InfexError as error:
        return error


@given(st.lists(NUMBERS, max_size=4))
def test_the_same_numbers_give_the_same_request_in_any_form(numbers: list[float]) -> None:
    first = Request.of({"context": numbers, "labels": None}, "ann")
    assert json.loads(first.encoded) == {"context": numbers}
    for other in (tuple(numbers), np.array(numbers), [np.float64(number) for number in numbers]):
        assert Request.of({"context": other}, "ann") == first
    assert Request.of({"context": numbers}, "").digest != first.digest
    assert Request.of({"context": [*numbers, 1.0]}, "ann").digest != first.digest


def test_a_number_that_is_missing_has_a_name() -> None:
    assert plain_value("context", {"age": math.nan, "city": "Rome"}) == {"age": None, "city": "Rome"}
    with pytest.raises(InvalidSetting, match="context must be finite numbers, got nan"):
        plain_value("context", [math.nan])


@given(KEYS)
def test_a_key_is_taken_as_it_is_or_refused(key: Any) -> None:
    found = outcome(lambda: checked_key(key))
    if isinstance(found, InfexError):
        assert (
            not isinstance(key, str) or not key or len(key) > 200 or key.startswith("infex:") or "\0" in key
        )
    else:
        assert found == key


@given(st.lists(st.tuples(KEYS, CONTEXTS, st.none() | st.sampled_from(["", "anna"])), min_size=1, max_size=4))
def test_rows_are_asked_or_refused_as_one_by_one(rows: list[tuple[str, object, str | None]]) -> None:
    def ask(row: tuple[str, object, str | None]) -> Ask:
        return Ask.of(row[0], row[2], {"context": row[1]})

    together = outcome(lambda: each_row(rows, [row[0] for row in rows], ask))
    singles = [outcome(lambda row=row: ask(row)) for row in rows]  # type: ignore[misc]
    if isinstance(together, list):
        assert together == singles
    else:
        assert type(singles[together.row]) is type(together)
        assert all(isinstance(each, Ask) for each in singles[: together.row])
