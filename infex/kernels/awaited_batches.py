"""Sums over many pending decisions at once, in the whole numbers of `awaiting`: to the last bit the same.

Contexts of one arm are turned, some at a time, so that the loop over them runs along memory. Whole numbers
can be added in any order, which lets that loop be vectorised.
"""

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.awaiting import SMALL_UNITS, UNITS, expect
from infex.kernels.compiling import compiled, inlined
from infex.kernels.given_arms import TILE
from infex.kernels.pairs import HALVES

FEWEST = 6  # for which turning is worth its time

# What is kept of each context that was turned: x and its halves, w x and its halves.
X, X_HIGH, X_LOW, SCALED, SCALED_HIGH, SCALED_LOW, PARTS = range(7)


@compiled
def expect_blocks(
    awaited: Integers, arms: Integers, row: Integers, rows: Floats, weights: Floats, order: Integers
) -> None:
    """More decisions on arms with sums of their own, (K, 2, c, c), each on `arms[n]` in `rows[row[n]]`.

    A weight below 0 is that of a decision that is gone. `order` names decisions of one arm in a row; an arm
    below 0 is left out.
    """
    room, signs = np.empty((PARTS, rows.shape[1], TILE)), np.empty(TILE)
    first = 0
    while first < order.size:
        arm, last = arms[order[first]], first + 1
        while last < order.size and last - first < TILE and arms[order[last]] == arm:
            last += 1
        if arm >= 0:
            expect_own(awaited[arm], row, rows, weights, order[first:last], room, signs)
        first = last


@inlined
def expect_own(
    awaited: Integers,
    row: Integers,
    rows: Floats,
    weights: Floats,
    own: Integers,
    room: Floats,
    signs: Floats,
) -> None:
    """Decisions on one arm, at most as many as `room` has columns: a few of them one after the other."""
    if own.size >= FEWEST:
        turn_expected(row, rows, weights, own, room, signs)
        expect_turned(awaited, room, signs, own.size)
        return
    for n in own:
        expect(awaited, rows[row[n]], abs(weights[n]), 1 if weights[n] > 0.0 else -1)


@inlined
def turn_expected(
    row: Integers, rows: Floats, weights: Floats, own: Integers, room: Floats, signs: Floats
) -> None:
    """Puts contexts into columns of `room`, with their halves as `pairs.exact_product` makes them."""
    for n in range(own.size):
        at = own[n]
        weight, signs[n] = abs(weights[at]), 1.0 if weights[at] > 0.0 else -1.0
        for j in range(rows.shape[1]):
            room[X, j, n] = rows[row[at], j]
            room[SCALED, j, n] = weight * rows[row[at], j]
    for j in range(rows.shape[1]):
        halve(room[X, j], room[X_HIGH, j], room[X_LOW, j], own.size)
        halve(room[SCALED, j], room[SCALED_HIGH, j], room[SCALED_LOW, j], own.size)


@inlined
def halve(values: Floats, high: Floats, low: Floats, count: int) -> None:
    """The two halves of each number."""
    for n in range(count):
        part = HALVES * values[n]
        high[n] = part - (part - values[n])
        low[n] = values[n] - high[n]


@inlined
def expect_turned(awaited: Integers, room: Floats, signs: Floats, count: int) -> None:
    """Adds up the products of all pairs of features over so many columns."""
    for i in range(room.shape[1]):
        scaled, high, low = room[SCALED, i, :count], room[SCALED_HIGH, i, :count], room[SCALED_LOW, i, :count]
        for j in range(i + 1):
            x, x_high, x_low = room[X, j, :count], room[X_HIGH, j, :count], room[X_LOW, j, :count]
            units, small = sum_of_products(scaled, high, low, x, x_high, x_low, signs)
            awaited[0, i, j] += units
            awaited[1, i, j] += small


@inlined
def sum_of_products(
    a: Floats, a0: Floats, a1: Floats, b: Floats, b0: Floats, b1: Floats, signs: Floats
) -> tuple[int, int]:
    """The sum of a b as `awaiting.expect_product` counts each: in units, and in small units."""
    units, small = 0, 0
    for n in range(a.size):
        value = a[n] * b[n]
        lost = ((a0[n] * b0[n] - value) + a0[n] * b1[n] + a1[n] * b0[n]) + a1[n] * b1[n]
        whole = np.floor(UNITS * value + 0.5)
        rest = (value - whole / UNITS) + lost
        units += int(signs[n] * whole)
        small += int(signs[n] * np.floor(SMALL_UNITS * rest + 0.5))
    return units, small
