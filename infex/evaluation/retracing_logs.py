"""A bandit goes through events: in compiled code where arms are given and policies are infex's own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Bools, Integers
from infex.bandit import Bandit
from infex.features import Encoded
from infex.logs import Log

EVENTS_RETRACED = 32_768  # of which offers stand in memory at a time


class RetracedSteps(NamedTuple):
    """The rows of a log that a bandit agreed with, and which of its rounds explored."""

    rows: Integers
    explored: Bools


def retraced(bandit: Bandit, log: Log, rows: Integers, usable: Bools, rounds: int) -> RetracedSteps:
    """Goes through rows of a log until so many rounds were played, or the rows end.

    In each the bandit decides; if it plays the arm that was played, and the row is `usable`, it is told the
    reward. Else nothing changes.
    """
    return _one_by_one(bandit, log, rows, usable, rounds)


def _one_by_one(bandit: Bandit, log: Log, rows: Integers, usable: Bools, rounds: int) -> RetracedSteps:
    """Each row by itself, whatever the policy and the map are."""
    taken: list[int] = []
    explored: list[bool] = []
    for row, may in zip(rows.tolist(), usable.tolist(), strict=True):
        if len(taken) == rounds:
            break
        asked, place = asked_in(log, row)
        decided = bandit.decide(**asked)
        if may and place == decided.decision.arm:
            bandit.tell(bandit.enter(decided), float(log.reward[row]))
            taken.append(row)
            explored.append(decided.decision.explored)
    return RetracedSteps(np.array(taken, dtype=np.int64), np.array(explored, dtype=bool))


def _spanned(rows: Integers) -> slice:
    """Rows as a slice where they follow each other, which costs no copy; else as they are."""
    follow = rows[-1] - rows[0] + 1 == rows.size
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows  # type: ignore[return-value]


def _asked_at(log: Log, rows: Integers, place: int) -> dict[str, Any]:
    return asked_in(log, int(rows[place]))[0]


def asked_in(log: Log, row: int) -> tuple[dict[str, Any], int]:
    """What a bandit is asked in a row of a log, and which of the arms that it sees was played."""
    arm = int(log.arm[row])
    if log.offers is not None:
        if log.offered is None:
            return {"arms": log.offers[row]}, arm
        on = log.offered[row]
        return {"arms": log.offers[row][on]}, int(np.count_nonzero(on[:arm]))
    if log.arms is not None:
        if log.offered is None:
            return {}, arm
        on = log.offered[row]
        return {"arms": log.arms[on]}, int(np.count_nonzero(on[:arm]))
    assert log.context is not None
    return {"context": Encoded(log.context[row]) if log.facts.encoded else log.context[row]}, arm
