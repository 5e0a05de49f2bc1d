"""What a log is known by, so that whoever has learnt from it can be told: numbers that its rewards come to.

Rounds are cut into windows of 64 by their numbers. A mark is a hash of all (round, arm, reward) of a window,
in any order, so that parts of a log have the marks of the whole. Whoever learns keeps the 256 least marks of
all that it has learnt: a fair sample of the windows, which adds up over parts and over logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from infex.arrays import Bools, Floats, Integers, Words
from infex.logs.log import Log

MARKED_ROUNDS = 64  # rounds
MARKS_KEPT = 256
MOST_BY_CHANCE, SHARE_BY_CHANCE = 2, 0.05  # marks that one may share with a log that it does not know

NO_WORDS: Words = np.zeros(0, dtype=np.uint64)


def marks_of(log: Log) -> Words:
    """The marks of all windows of a log, least first; of one in which nothing varies there is none."""
    rows = np.flatnonzero(log.rewarded)
    window = (log.round[rows] - 1) // MARKED_ROUNDS
    if not (np.diff(window) >= 0).all():  # of several streams
        order = np.argsort(window, kind="stable")
        rows, window = rows[order], window[order]
    if not rows.size:
        return NO_WORDS
    starts = np.flatnonzero(np.r_[True, window[1:] != window[:-1]])
    reward = log.reward[rows] + 0.0  # -0 is 0
    hashed = _mixed(log.round[rows].astype(np.uint64))
    hashed = _mixed(hashed + log.arm[rows].astype(np.uint64))
    hashed = _mixed(hashed ^ reward.view(np.uint64))
    found = _mixed(np.add.reduceat(hashed, starts))
    return np.unique(found[_varies(reward, starts)])


def _mixed(values: Words) -> Words:
    """A hash of each (splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _varies(reward: Floats, starts: Integers) -> Bools:
    """Which windows have two rewards that differ: another log hardly has the same ones by chance."""
    found: Bools = np.maximum.reduceat(reward, starts) > np.minimum.reduceat(reward, starts)
    return found


@final
class Taught:
    """The marks of what somebody has learnt: the 256 least.

    >>> log = Log(arm=[0, 1] * 100, reward=[1.0, 0.5, 0.0, 2.0] * 50)
    >>> Taught.by(log).knows(log), Taught().knows(log), Taught.by(log).knows(log.take(slice(0, 64)))
    (True, False, True)
    """

    __slots__ = ("marks",)

    def __init__(self, marks: Iterable[int] = ()) -> None:
        self.marks = tuple(sorted(set(marks))[:MARKS_KEPT])

    @staticmethod
    def by(log: Log) -> Taught:
        """What a log teaches."""
        return Taught(marks_of(log)[:MARKS_KEPT].tolist())

    def __add__(self, other: Taught) -> Taught:
        return Taught((*self.marks, *other.marks))

    def knows(self, log: Log) -> bool:
        """Has it learnt from rounds of this log, more than would agree by chance?"""
        return is_known(self.shared(log), len(self.marks))

    def shared(self, log: Log) -> int:
        """How many of the marks are those of this log; over its parts they add up."""
        if not self.marks:
            return 0
        return int(np.isin(np.array(self.marks, dtype=np.uint64), marks_of(log)).sum())


def is_known(shared: int, marks: int) -> bool:
    """Do so many shared marks, of all there are, say that the same rounds were learnt?"""
    return shared > MOST_BY_CHANCE or shared > SHARE_BY_CHANCE * marks
