"""What pending decisions will add to V where arms are tied by shared features: see `awaiting`, `tied_ridges`.

Sums in whole numbers as in `awaiting`: sum x x' of each arm, (K, 2, c, c), sum x z', (K, 2, c, s), and of all
arms sum z z', (2, s, s).
"""

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import add
from infex.kernels.awaiting import SMALL_UNITS, UNITS, expect_product, narrow, narrow_by
from infex.kernels.compiling import compiled, copy_into, within, woven
from infex.kernels.pairs import minus_product


@compiled
def expect_tied(
    own: Integers, cross: Integers, common: Integers, arms: Integers, rows: Floats, weights: Floats
) -> None:
    """More decisions on rows, (n, c + s), each of x and z; a weight below 0 is of one that is gone."""
    c, s = cross.shape[2], cross.shape[3]
    for n in range(weights.size):
        times, arm = 1 if weights[n] > 0.0 else -1, arms[n]
        for i in range(c):
            scaled = abs(weights[n]) * rows[n, i]
            for j in range(i + 1):
                expect_product(own[arm], i, j, scaled, rows[n, j], times)
            for j in range(s):
                expect_product(cross[arm], i, j, scaled, rows[n, c + j], times)
        for i in range(s):
            scaled = abs(weights[n]) * rows[n, c + i]
            for j in range(i + 1):
                expect_product(common, i, j, scaled, rows[n, c + j], times)


@woven
def pair_of(awaited: Integers, i: int, j: int) -> tuple[float, float]:
    """One of the sums as a pair of floats."""
    return add(awaited[0, i, j] / UNITS, 0.0, awaited[1, i, j] / SMALL_UNITS)


@within
def miss(own: Integers, cross: Integers, tied: Floats, out: Floats, rest: Floats) -> None:
    """D = Q - P G, (c, s): sum x u' over what is pending of one arm, of 32 digits."""
    c, s = tied.shape
    for i in range(c):
        for j in range(s):
            value, over = pair_of(cross, i, j)
            for k in range(c):
                part, left = pair_of(own, max(i, k), min(i, k))
                value, over = minus_product(value, over, part, left, tied[k, j], 0.0)
            out[i, j], rest[i, j] = value, over


@within
def take_told(cross: Integers, tied: Floats, missed: Floats, missed_rest: Floats, grown: Floats) -> None:
    """Takes Q'G + G'D of one arm from sum z z': sum u u' over what is pending is left of it."""
    c, s = tied.shape
    for i in range(s):
        for j in range(i + 1):
            value, over = grown[0, i, j], grown[1, i, j]
            for k in range(c):
                part, left = pair_of(cross, k, i)
                value, over = minus_product(value, over, part, left, tied[k, j], 0.0)
                value, over = minus_product(value, over, missed[k, j], missed_rest[k, j], tied[k, i], 0.0)
            grown[0, i, j], grown[1, i, j] = value, over


@within
def narrow_tie(narrowed: Floats, missed: Floats, tied: Floats, grown: Floats) -> None:
    """G + A^-1 D in `tied`, with the A of before and what is pending; sum u u' less D'A^-1 D."""
    c, s = tied.shape
    parts = np.zeros((c, s))  # M D
    for i in range(c):
        for k in range(i + 1):
            for j in range(s):
                parts[i, j] += narrowed[i, k] * missed[k, j]
        for k in range(i + 1):
            for j in range(s):
                tied[k, j] += narrowed[i, k] * parts[i, j]
    for i in range(s):
        for j in range(i + 1):
            for k in range(c):
                grown[0, i, j], grown[1, i, j] = add(
                    grown[0, i, j], grown[1, i, j], -parts[k, i] * parts[k, j]
                )


@compiled
def narrow_tied(
    solved: Floats,
    runs: Floats,
    tied: Floats,
    left_solved: Floats,
    left_vectors: Floats,
    left_run: Floats,
    own: Integers,
    cross: Integers,
    common: Integers,
    narrowed: Floats,
    after: Floats,
    left_narrowed: Floats,
    left_after: Floats,
) -> None:
    """All ridges with what is pending in V and the thetas there were; `tied` changes in its place."""
    arms, c, s = tied.shape
    nothing, missed, grown = np.zeros((4, c)), np.empty((2, c, s)), np.empty((2, s, s))
    for i in range(s):
        for j in range(i + 1):
            grown[0, i, j], grown[1, i, j] = pair_of(common, i, j)
    for k in range(arms):
        if not np.any(own[k]):
            copy_into(narrowed[k], solved[k])
            copy_into(after[k], runs[k])
            continue
        narrow(solved[k], nothing, runs[k], own[k], narrowed[k], after[k])
        miss(own[k], cross[k], tied[k], missed[0], missed[1])
        take_told(cross[k], tied[k], missed[0], missed[1], grown)
        narrow_tie(narrowed[k], missed[0], tied[k], grown)
    pending = np.empty((s, s))
    for i in range(s):
        for j in range(i + 1):
            pending[i, j] = pending[j, i] = grown[0, i, j] + grown[1, i, j]
    narrow_by(left_solved, left_vectors, left_run, pending, left_narrowed, left_after)
