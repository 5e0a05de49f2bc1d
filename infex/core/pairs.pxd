"""Numbers of 32 digits, as pairs of floats: a value, and what rounding took from it (Dekker, 1971).

After 10^8 rewards the sums of x x' are of the size 10^8 and their rounding is 10^-8, more than a penalty of 10^-9:
in a direction in which no two arms differ, V would be that rounding. The operations are exact to about 10^-31 of
what they are given.
"""

from libc.math cimport sqrt


cdef struct Pair:
    double value, rest


cdef inline Pair exact_product(double a, double b) noexcept nogil:
    """a b: 2^27 + 1 splits a number into two halves of 26 bits."""
    cdef double product = a * b, left = 134217729.0 * a, right = 134217729.0 * b
    cdef double a0 = left - (left - a), b0 = right - (right - b)
    cdef double a1 = a - a0, b1 = b - b0
    return Pair(product, ((a0 * b0 - product) + a0 * b1 + a1 * b0) + a1 * b1)


cdef inline Pair minus_product(Pair v, Pair a, Pair b) noexcept nogil:
    """v - a b."""
    cdef Pair exact = exact_product(a.value, b.value)
    cdef double found = v.value - exact.value
    cdef double part = found - v.value
    cdef double rest = v.rest + (
        (v.value - (found - part)) - (exact.value + part) - (exact.rest + (a.value * b.rest + a.rest * b.value))
    )
    return Pair(found + rest, rest - ((found + rest) - found))


cdef inline Pair quotient(Pair v, Pair by) noexcept nogil:
    cdef double found = v.value / by.value
    cdef Pair exact = exact_product(found, by.value)
    return Pair(found, (((v.value - exact.value) - exact.rest) + (v.rest - found * by.rest)) / by.value)


cdef inline Pair root(Pair v) noexcept nogil:
    cdef double found = sqrt(v.value)
    cdef Pair exact = exact_product(found, found)
    return Pair(found, (((v.value - exact.value) - exact.rest) + v.rest) / (2.0 * found))


cdef inline Pair add(double total, double carry, double value) noexcept nogil:
    """total + value, and the carry with what rounding took from that sum (Knuth's two-sum)."""
    cdef double grown = total + value
    cdef double part = grown - total
    return Pair(grown, carry + ((total - (grown - part)) + (value - part)))
