"""Numbers of 32 digits, as pairs of floats: a value, and what is left over (Dekker, 1971).

A ridge whose penalty is small needs them. After 10^8 pulls the sums of x x' are of the size 10^8, and
their rounding, 10^-8, is more than a penalty of 10^-9: in a direction in which no arm differs from
the others, V would be that rounding. The operations are exact to about 10^-31 of what they are given.
"""

import math

from infex.kernels.compiling import woven

HALVES = 134217729.0  # 2^27 + 1: a float times this falls into two halves of 26 bits


@woven
def exact_product(a: float, b: float) -> tuple[float, float]:
    """a b, and what rounding took from it."""
    product = a * b
    left, right = HALVES * a, HALVES * b
    a0, b0 = left - (left - a), right - (right - b)
    a1, b1 = a - a0, b - b0
    return product, ((a0 * b0 - product) + a0 * b1 + a1 * b0) + a1 * b1


@woven
def minus_product(
    value: float, rest: float, a: float, a_rest: float, b: float, b_rest: float
) -> tuple[float, float]:
    """value - a b, of pairs."""
    product, lost = exact_product(a, b)
    found = value - product
    part = found - value
    rest += (value - (found - part)) - (product + part) - (lost + (a * b_rest + a_rest * b))
    return found + rest, rest - ((found + rest) - found)


@woven
def quotient(value: float, rest: float, by: float, by_rest: float) -> tuple[float, float]:
    """value/by, of pairs."""
    found = value / by
    product, lost = exact_product(found, by)
    return found, (((value - product) - lost) + (rest - found * by_rest)) / by


@woven
def root(value: float, rest: float) -> tuple[float, float]:
    """The square root of a pair."""
    found = math.sqrt(value)
    product, lost = exact_product(found, found)
    return found, (((value - product) - lost) + rest) / (2.0 * found)
