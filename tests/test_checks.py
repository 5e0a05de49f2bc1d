from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infex import InfexError
from infex.checks import one_of, plain, real, whole
from infex.errors import AlreadyTold, InvalidSetting, UnknownDecision


@pytest.mark.parametrize("value", [True, 1.0, "1", None, np.float64(3), np.True_])
def test_what_is_not_a_whole_number_is_refused_with_its_value(value: Any) -> None:
    with pytest.raises(InvalidSetting, match="period must be a whole number, got") as caught:
        whole("period", value)
    assert repr(value) in str(caught.value)


def test_numpy_integers_become_plain_ones() -> None:
    assert type(whole("period", np.int32(5), least=5)) is int


def test_a_whole_number_below_its_least_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="period must be at least 1, got 0"):
        whole("period", 0, least=1)


@pytest.mark.parametrize("value", [True, "1", None, 1j, np.nan, np.inf, -np.inf, 10**400, np.True_])
def test_what_is_not_a_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidSetting, match="scale must be"):
        real("scale", value)


@pytest.mark.parametrize("value", [1, 1.5, np.float32(0.5), np.int8(3), Fraction(1, 2)])
def test_real_numbers_of_any_kind_become_floats(value: Any) -> None:
    assert type(real("scale", value)) is float
    assert real("scale", value) == float(value)


def test_the_ends_of_a_range_are_told() -> None:
    for value, text in ((0, "above 0"), (-1, "above 0"), (1.5, "at most 1")):
        with pytest.raises(InvalidSetting, match=f"delta must be {text}, got {value}"):
            real("delta", value, above=0, most=1)
    with pytest.raises(InvalidSetting, match="noise must be at least 0, got -1"):
        real("noise", -1, least=0)
    assert real("delta", 1, above=0, most=1) == 1


def test_an_option_must_be_one_of_those_there_are() -> None:
    with pytest.raises(InvalidSetting, match="data must be 'shared' or 'own', got 'mine'"):
        one_of("data", "mine", ("shared", "own"))
    with pytest.raises(InvalidSetting, match="got 3"):
        one_of("data", 3, ("shared", "own"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_plain_text_reads_back_as_the_same_number(value: float) -> None:
    assert float(plain(value)) == value


def test_every_error_is_an_infex_error_and_the_built_in_it_refines() -> None:
    assert issubclass(InvalidSetting, InfexError)
    assert issubclass(InvalidSetting, ValueError)
    assert issubclass(UnknownDecision, KeyError)
    assert issubclass(AlreadyTold, ValueError)


def test_messages_are_shown_as_they_were_written() -> None:
    assert str(UnknownDecision("decision 3 was never taken")) == "decision 3 was never taken"
