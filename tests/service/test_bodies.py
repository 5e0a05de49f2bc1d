"""A body that does not fit is refused by the name of its field."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infex.errors import InvalidBody
from infex.service.schemas import (
    AmendmentRequest,
    BodyDecoder,
    CorrectionRequest,
    DecisionRequest,
    ErasureRequest,
    PreviewRequest,
    RewardRequest,
    StudyRequest,
)

DECISIONS = BodyDecoder(DecisionRequest | list[DecisionRequest])
REWARDS = BodyDecoder(RewardRequest | list[RewardRequest])
STUDY, PREVIEW = BodyDecoder(StudyRequest), BodyDecoder(PreviewRequest)
OPERATIONS = tuple(map(BodyDecoder, (AmendmentRequest, CorrectionRequest, ErasureRequest)))
DECODERS_TESTED = (DECISIONS, REWARDS, STUDY, PREVIEW, *OPERATIONS)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"key":"a","reward":NaN}', "reward"),
        (b'{"key":"a","reward":-Infinity}', "reward"),
        (b'{"key":"a","reward":1e999}', "reward"),
        (b'{"key":"a","reward":true}', "reward"),
        (b'{"key":"a","reward":"1"}', "reward"),
        (b'{"key":"a","reward":null}', "reward"),
        (b'{"key":"a"}', "reward"),
        (b'{"key":"","reward":1}', "key"),
        (b'{"key":1,"reward":1}', "key"),
        (b'{"key":"a","reward":1,"extra":2}', "extra"),
        (b'[{"key":"a","reward":1},{"key":"b","reward":"x"}]', "[1].reward"),
        (b'{"key":"a","reward":' + b"[" * 100_000, "reward"),
        (b"[" * 100_000, "[0]"),
        (b"", "body"),
        (b"\xff", "body"),
        (b'{"key":"\xff","reward":1}', "body"),
        (b'{"key":"a","reward":1} x', "body"),
    ],
)
def test_a_wrong_reward_is_refused_with_the_field(body: bytes, field: str) -> None:
    with pytest.raises(InvalidBody) as raised:
        REWARDS.decode(body)
    assert raised.value.field == field
    assert raised.value.expected


def test_the_value_is_said_but_not_that_of_a_context() -> None:
    with pytest.raises(InvalidBody) as raised:
        REWARDS.decode(b'[{"key":"a","reward":"12 EUR"}]')
    assert (raised.value.value, raised.value.expected) == ('"12 EUR"', "number")
    assert str(raised.value) == "Expected number, got string in [0].reward"
    for body in (b'{"context":["Lyon"]}', b'{"context":{"town":[]}}', b'{"unit":7}'):
        with pytest.raises(InvalidBody) as raised:
            DECISIONS.decode(body)
        assert raised.value.value is None


def test_a_record_that_is_nested_without_end_is_refused() -> None:
    deep = b'{"name":"a","policy":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}"
    with pytest.raises(InvalidBody, match="deep"):
        STUDY.decode(deep)


def test_right_bodies_are_read() -> None:
    one = DECISIONS.decode(b'{"key":"a","context":{"age":45,"country":"FR","income":null}}')
    assert one.context == {"age": 45, "country": "FR", "income": None}
    assert [each.key for each in DECISIONS.decode(b'[{"key":"a"},{"key":"b"}]')] == ["a", "b"]


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_fit_or_be_refused(body: bytes) -> None:
    for decoder in DECODERS_TESTED:
        with contextlib.suppress(InvalidBody):
            decoder.decode(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["key", "reward", "context", "arms", "name", "policy", "add_arms", "extend", "unit"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_no_json_does_anything_but_fit_or_be_refused(value: object) -> None:
    body = msgspec.json.encode(value)
    for decoder in DECODERS_TESTED:
        with contextlib.suppress(InvalidBody):
            decoder.decode(body)
