"""What a compiled loop keeps of rewards on their way, as exploring rounds read it; see `awaiting`."""

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.awaiting import expect, narrow
from infex.kernels.compiling import inner, woven
from infex.kernels.layout import RUN

PENDING_ALL, PENDING_EXPLORED = 0, 1


class Outlook(NamedTuple):
    """Pending decisions, all of them and those that explored, and room for what is read with them in V.

    `changes` are those of fixed arms since `sums` were brought up to date. All is empty where exploring does
    not look at what is pending.
    """

    sums: Integers  # (2, 2, d, d)
    counts: Integers  # (2,)
    changes: Integers  # (2, K)
    solved: Floats
    vectors: Floats
    run: Floats
    board: Floats
    truth: Floats  # the sums without them, with the run under way


def outlook(dim: int, arms: int) -> Outlook:
    """That of nothing pending."""
    sums: Integers = np.zeros((2, 2, dim, dim), dtype=np.int64)
    counts, changes = np.zeros(2, dtype=np.int64), np.zeros((2, arms), dtype=np.int64)
    floats = np.zeros((dim + 1, dim)), np.zeros((4, dim)), np.zeros(RUN), np.zeros((4, arms))
    return Outlook(sums, counts, changes, *floats, np.zeros((2, dim + 1, dim)))


@woven
def await_arm(ahead: Outlook, arm: int, explored: bool, own: bool, times: int) -> None:
    """A decision on a fixed arm waits from now on (1), or no more (-1)."""
    if ahead.changes.shape[1] > 0:
        ahead.counts[PENDING_ALL] += times
        ahead.changes[PENDING_ALL, arm] += times
        if explored and own:
            ahead.counts[PENDING_EXPLORED] += times
            ahead.changes[PENDING_EXPLORED, arm] += times


@inner
def await_row(ahead: Outlook, x: Floats, weight: float, explored: bool, own: bool, times: int) -> None:
    """The same for any x, with a weight."""
    if ahead.sums.shape[2] > 0:
        ahead.counts[PENDING_ALL] += times
        expect(ahead.sums[PENDING_ALL], x, weight, times)
        if explored and own:
            ahead.counts[PENDING_EXPLORED] += times
            expect(ahead.sums[PENDING_EXPLORED], x, weight, times)


@inner
def look_ahead(ahead: Outlook, own: bool, solved: Floats, vectors: Floats, run: Floats) -> None:
    """What was learnt with all that is pending in V, or with exploring rounds alone."""
    narrow(
        solved, vectors, run, ahead.sums[PENDING_EXPLORED if own else PENDING_ALL], ahead.solved, ahead.run
    )
