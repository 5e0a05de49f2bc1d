"""Numbers of 32 digits, against exact fractions."""

import math
from fractions import Fraction

import mpmath
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.kernels.compiling import plain_python
from infex.kernels.pairs import exact_product, minus_product, quotient, root

EXAMPLES = 50 if plain_python else 300
CLOSE = Fraction(1, 10**30)

sizes = st.floats(1e-20, 1e20)
numbers = st.one_of(sizes, sizes.map(lambda value: -value))
shares = st.floats(-0.5, 0.5)


def pair(value: float, share: float) -> tuple[float, float]:
    """A number, and what is left over: a share of a unit in its last place."""
    return value, share * math.ulp(value)


def exact(both: tuple[float, float]) -> Fraction:
    return Fraction(both[0]) + Fraction(both[1])


@given(a=numbers, b=numbers)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_product_with_what_rounding_took_is_exact(a: float, b: float) -> None:
    product, lost = exact_product(a, b)
    assert product == a * b
    assert exact((product, lost)) == Fraction(a) * Fraction(b)


@given(a=numbers, b=numbers, c=numbers, rests=st.tuples(shares, shares, shares), near=st.booleans())
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_product_is_taken_away_to_thirty_digits(
    a: float, b: float, c: float, rests: tuple[float, float, float], near: bool
) -> None:
    """Of the larger of the two; `near` is a difference in which all digits of a float cancel."""
    one, other = pair(a, rests[0]), pair(b, rests[1])
    value = pair(a * b if near else c, rests[2])
    found = exact(minus_product(*value, *one, *other))
    product = exact(one) * exact(other)
    assert abs(found - (exact(value) - product)) <= CLOSE * max(abs(product), abs(exact(value)))


@given(a=numbers, b=numbers, rests=st.tuples(shares, shares))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_quotient_has_thirty_digits(a: float, b: float, rests: tuple[float, float]) -> None:
    one, other = pair(a, rests[0]), pair(b, rests[1])
    expected = exact(one) / exact(other)
    assert abs(exact(quotient(*one, *other)) - expected) <= CLOSE * abs(expected)


@given(a=sizes, rest=shares)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_root_has_thirty_digits(a: float, rest: float) -> None:
    value = pair(a, rest)
    with mpmath.workdps(60):
        expected = mpmath.sqrt(mpmath.mpf(value[0]) + mpmath.mpf(value[1]))
        found = sum(map(mpmath.mpf, root(*value)))
        assert abs(found - expected) <= mpmath.mpf(10) ** -30 * expected
