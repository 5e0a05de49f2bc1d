"""Many optimistic decisions in contexts, of which each narrows the widths that the next ones read.

Each arm has a ridge of its own. A single decision computes the factor of V + P of every arm anew from whole
sums P over what is pending (`awaiting`): O(c^3) for each. Here a decision changes W = (V + P)^-1 of its arm
in O(c^2), which is the same but for rounding:

    W - u u'/(1 + x'u),  where u = W x.

So x'W x is known but for a `slack` that is far larger than rounding. If that leaves one arm that may be the
best, it is the one that exact bounds would choose. Otherwise the factors of all that may be are computed
anew, and exact bounds decide: to the last bit as single decisions do.
"""

import math
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import product
from infex.kernels.awaited_batches import PARTS, expect_own
from infex.kernels.awaiting import UNITS, narrow, narrow_blocks
from infex.kernels.compiling import compiled, inlined, larger, lend, loosely, woven
from infex.kernels.given_arms import TILE
from infex.kernels.layout import RUN, TIE
from infex.kernels.reading import best
from infex.kernels.small_ridges import width_of_block

MOST_UPDATES = 256  # of an inverse, until it is computed anew
FEW_UPDATES = 16  # that take less time at once than to compute it anew
UPDATE_SLACK = 1e-11  # what so many updates may change x'W x by, for each feature, against the trace of V^-1
AWAITED_SLACK = 1e-14  # what rounding of sums may change it by, for each decision pending too


class Ahead(NamedTuple):
    """What is known of each arm with all that is pending in V, and decisions that are not in it yet.

    `near` are factors of V + P as they were computed last, and `inverse` the lower triangles of W, row by
    row. `latest` is the last decision on each arm that is not in `awaited`, and `before` the one before each:
    -1 is none. `unread` are how many of these are not in `inverse`, and `updates` how many came into it since
    it was computed.
    """

    awaited: Integers  # (K, 2, c, c)
    near: Floats  # (K, c + 1, c)
    inverse: Floats  # (K, c (c + 1)/2)
    latest: Integers  # (K,)
    before: Integers  # (n,)
    unread: Integers  # (K,)
    updates: Integers  # (K,)
    slack: Floats  # (K,)


class ContextBatch(NamedTuple):
    """What was learnt, all contexts of a batch, and room to work with."""

    solved: Floats
    runs: Floats
    contexts: Floats  # (n, c)
    row: Integers  # 0, 1, ..., n - 1
    weights: Floats  # 1 for each
    turned: Floats
    signs: Floats
    own: Integers
    along: Floats  # (c,)


def batch_of(solved: Floats, runs: Floats, contexts: Floats) -> ContextBatch:
    """That of contexts, (n, c)."""
    count, size = contexts.shape
    room = np.empty((PARTS, size, TILE)), np.empty(TILE), np.empty(TILE, dtype=np.int64), np.empty(size)
    return ContextBatch(solved, runs, contexts, np.arange(count), np.ones(count), *room)


def ahead_of(solved: Floats, runs: Floats, awaited: Integers | None, count: int) -> Ahead:
    """All that is pending before the first of so many decisions; None if that narrows nothing."""
    arms, _, size = solved.shape
    sums: Integers = np.zeros((arms, 2, size, size), dtype=np.int64) if awaited is None else awaited.copy()
    near = np.empty_like(solved)
    narrow_blocks(solved, runs, sums, near, np.empty_like(runs))
    inverse = np.empty((arms, size * (size + 1) // 2))
    for k in range(arms):
        invert(near[k], inverse[k])
    unread, updates = np.zeros((2, arms), dtype=np.int64)
    before, slack = np.empty(count, dtype=np.int64), slack_of(solved, sums, count)
    return Ahead(sums, near, inverse, np.full(arms, -1), before, unread, updates, slack)


def slack_of(solved: Floats, awaited: Integers, count: int) -> Floats:
    """How far two ways to compute a squared width may differ for each arm, with so many more pending."""
    size = solved.shape[2]
    trace = (solved[:, :size] ** 2).sum(axis=(1, 2))
    pending = np.trace(awaited[:, 0], axis1=1, axis2=2) / UNITS + count
    slack: Floats = trace * size * (UPDATE_SLACK + AWAITED_SLACK * trace * pending)
    return slack


@compiled
def invert(factor: Floats, inverse: Floats) -> None:
    """W = M'M, its lower triangle row by row."""
    size, row = factor.shape[1], 0
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, size):
                total += factor[k, i] * factor[k, j]
            inverse[row + j] = total
        row += i + 1


@compiled
def decide_ahead(
    batch: ContextBatch,
    thetas: Floats,
    due: Integers,
    betas: Floats,
    narrows: bool,
    ahead: Ahead,
    arms: Integers,
    means: Floats,
) -> bool:
    """The optimistic arm and its estimate at places that are `due`; False if a bound is no number.

    `thetas` are (c, K). `arms` and `means` are those of greedy decisions, and stay so at all other places. In
    the end all decisions are in the sums.
    """
    batch, ahead, count = lend(batch), lend(ahead), betas.size
    scores, upper, lower = np.empty(count), np.empty(count), np.empty(count)
    products = np.empty(ahead.inverse.shape[1])
    done = 0
    for place in due:
        if narrows:
            for n in range(done, place):
                expect_at(ahead, arms[n], n)
            done = place
            keep_up(ahead, batch)
        x = batch.contexts[place]
        product(thetas, x, scores)
        bounds(ahead, x, betas, scores, products, lower, upper)
        if not np.isfinite(upper.sum()):
            return False
        arm = leading(lower, upper)
        if arm < 0:
            arm = exactly_leading(ahead, batch, x, betas, scores, lower, upper)
        arms[place], means[place] = arm, scores[arm]
    if narrows:
        for n in range(done, batch.row.size):
            expect_at(ahead, arms[n], n)
        for k in range(count):
            sum_up(ahead, k, batch)
    return True


@inlined
def expect_at(ahead: Ahead, arm: int, n: int) -> None:
    """One more decision on an arm is pending."""
    ahead.before[n] = ahead.latest[arm]
    ahead.latest[arm] = n
    ahead.unread[arm] += 1


@inlined
def bounds(
    ahead: Ahead, x: Floats, betas: Floats, scores: Floats, products: Floats, lower: Floats, upper: Floats
) -> None:
    """Between which numbers the upper bound of each arm lies."""
    pair_products(x, products)
    for k in range(betas.size):
        square, slack = sum_of_pairs(ahead.inverse, k, products), ahead.slack[k]
        lower[k] = scores[k] + betas[k] * math.sqrt(larger(square - slack, 0.0))
        upper[k] = scores[k] + betas[k] * math.sqrt(larger(square + slack, 0.0))


@inlined
def pair_products(x: Floats, products: Floats) -> None:
    """What a lower triangle is multiplied with, row by row, to give x'W x."""
    row = 0
    for i in range(x.size):
        twice = 2.0 * x[i]
        for j in range(i + 1):
            products[row + j] = twice * x[j]
        products[row + i] = x[i] * x[i]
        row += i + 1


@loosely
def sum_of_pairs(inverse: Floats, k: int, products: Floats) -> float:
    """x'W x of one arm."""
    total = 0.0
    for j in range(products.size):
        total += inverse[k, j] * products[j]
    return total


@inlined
def least_leading(lower: Floats) -> float:
    """What the bound of an arm must reach to be the best, or tied with it."""
    top = lower[0]
    for k in range(1, lower.size):
        top = larger(top, lower[k])
    return float(top - 2.0 * TIE * (1.0 + abs(top)))


@inlined
def leading(lower: Floats, upper: Floats) -> int:
    """The one arm that may be the best; -1 if there are several."""
    limit, found = least_leading(lower), -1
    for k in range(upper.size):
        if upper[k] >= limit:
            if found >= 0:
                return -1
            found = k
    return found


@inlined
def exactly_leading(
    ahead: Ahead, batch: ContextBatch, x: Floats, betas: Floats, scores: Floats, lower: Floats, upper: Floats
) -> int:
    """The best arm by exact bounds of all that may be it."""
    limit = least_leading(lower)
    for k in range(upper.size):
        if upper[k] < limit:
            upper[k] = -math.inf
            continue
        if ahead.updates[k] > 0:
            renew(ahead, k, batch)
        upper[k] = scores[k] + betas[k] * width_of_block(ahead.near, x, k)
    return best(upper)


@inlined
def keep_up(ahead: Ahead, batch: ContextBatch) -> None:
    """Brings the inverse of every arm up to date."""
    for k in range(ahead.unread.size):
        unread = ahead.unread[k]
        if unread > FEW_UPDATES or unread + ahead.updates[k] > MOST_UPDATES:
            renew(ahead, k, batch)
        elif unread > 0:
            update(ahead, k, batch)


@inlined
def update(ahead: Ahead, k: int, batch: ContextBatch) -> None:
    """Brings the inverse of one arm up to date, decision by decision."""
    n = ahead.latest[k]
    for _ in range(ahead.unread[k]):
        take_pair(ahead.inverse, k, batch.contexts, n, batch.along)
        n = ahead.before[n]
    ahead.updates[k] += ahead.unread[k]
    ahead.unread[k] = 0


@woven
def take_pair(inverse: Floats, k: int, contexts: Floats, n: int, along: Floats) -> None:
    """W becomes the inverse with one more x x'; `along` has room for W x."""
    size, row, grown = along.size, 0, 1.0
    for i in range(size):
        here, total = contexts[n, i], 0.0
        for j in range(i):
            total += inverse[k, row + j] * contexts[n, j]
            along[j] += inverse[k, row + j] * here
        along[i] = total + inverse[k, row + i] * here
        row += i + 1
    for i in range(size):
        grown += along[i] * contexts[n, i]
    row = 0
    for i in range(size):
        part = along[i] / grown
        for j in range(i + 1):
            inverse[k, row + j] -= part * along[j]
        row += i + 1


@compiled
def renew(ahead: Ahead, k: int, batch: ContextBatch) -> None:
    """Computes the factor and inverse of one arm anew, from sums that all its decisions are in."""
    sum_up(ahead, k, batch)
    ahead.unread[k], ahead.updates[k] = 0, 0
    nothing, after = np.zeros((4, batch.along.size)), np.empty(RUN)
    narrow(batch.solved[k], nothing, batch.runs[k], ahead.awaited[k], ahead.near[k], after)
    invert(ahead.near[k], ahead.inverse[k])


@compiled
def sum_up(ahead: Ahead, k: int, batch: ContextBatch) -> None:
    """Brings all decisions on one arm into its sums."""
    sums, own, n, size = ahead.awaited[k], batch.own, ahead.latest[k], 0
    while n >= 0:
        own[size] = n
        n, size = ahead.before[n], size + 1
        if n < 0 or size == own.size:
            expect_own(
                sums, batch.row, batch.contexts, batch.weights, own[:size], batch.turned, batch.signs
            )  # fmt: skip
            size = 0
    ahead.latest[k] = -1
