"""What was asked as plain data: many at once are the same bytes as one by one."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from infex.errors import InfexError
from infex.study.given_rows import question_of, questions_of
from infex.study.moves import KeyedRequest
from infex.study.plain_requests import are_plain_keys, checked_key, request_of, requests_of_contexts

ODD = st.sampled_from([0, 1, True, None, "1", float("nan"), float("inf"), 1e308, -0.0, 5e-324])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CONTEXTS = st.lists(NUMBERS, max_size=4) | st.lists(NUMBERS | ODD, max_size=4) | st.just((0.5, 0.5))
KEYS = st.text(max_size=6) | st.sampled_from(["infex:x", "a" * 200, "a" * 201, "\0", "", "ü"]) | st.just(7)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except InfexError as error:
        return type(error), error.row, str(error)


@given(st.lists(CONTEXTS, min_size=1, max_size=5))
def test_contexts_at_once_are_requests_one_by_one(contexts: list[Any]) -> None:
    found = requests_of_contexts(contexts, [""] * len(contexts))
    if found is not None:
        assert found == [request_of({"context": context}, "") for context in contexts]
    else:
        plain = all(type(each) is list and {*map(type, each)} <= {float} for each in contexts)
        small = all(abs(x) < 1e300 for each in contexts for x in each) if plain else False
        assert not small or not any(contexts)


@given(st.lists(KEYS, min_size=1, max_size=4))
def test_keys_that_are_plain_together_are_taken_one_by_one(keys: list[str]) -> None:
    if are_plain_keys(keys):
        assert [checked_key(key) for key in keys] == keys


@given(st.lists(st.tuples(KEYS, CONTEXTS, st.none() | st.sampled_from(["", "anna"])), min_size=1, max_size=4))
def test_rows_are_asked_or_refused_as_one_by_one(rows: list[tuple[str, object, str | None]]) -> None:
    keys, contexts, units = (list(column) for column in zip(*rows, strict=True))
    together = outcome(lambda: questions_of(keys, units, {"context": contexts, "arms": None}, {}))
    singles = [outcome(partial(question_of, key, unit, {"context": context})) for key, context, unit in rows]
    if isinstance(together, list):
        assert together == singles
    else:
        kind, row, _ = together
        assert singles[row][0] is kind
        assert all(isinstance(each, KeyedRequest) for each in singles[:row])
