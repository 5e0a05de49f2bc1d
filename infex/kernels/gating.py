"""Controls around a schedule in a compiled loop: may a round explore? As `policies.gate` has it."""

import math
from typing import NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers
from infex.kernels.compiling import within
from infex.kernels.reading import to_chances

LIMITS, GUARDS, CERTAINTY, PAUSES = range(4)

# The columns of a table of controls, the inner ones first: the kind, is a missed round made up for, the
# limit, over how many rounds (0: all), the settings of a radius, and where its pauses stand in the list.
CONTROL, MAKES_UP, MOST_SPENT, OVER, NOISE, BOUND, DELTA, SCALE, FROM, TO, CONTROL_COLUMNS = range(11)

# What exploring has taken so far: how many, their summed loss, how many are owed; where the latest of
# `recent` stands, and how many are there; then for each control, has it stopped for good?
DONE, COST, STILL_OWED, LATEST, HELD, STOPPED = range(6)

OPEN, RESTS = -1, -2


class Controls(NamedTuple):
    """A table of controls, the rounds in which they pause, how far apart missed rounds are made up for."""

    table: Floats
    pauses: Integers
    spacing: int


class Spending(NamedTuple):
    """What exploring has taken so far, and rounds and losses of the latest explorations, (2, span)."""

    totals: Floats
    recent: Floats


@within
def since(spending: Spending, t: int) -> tuple[int, float]:
    """How many explorations there were from round t on, and what they cost, summed from the first on."""
    totals, recent = spending
    size, kept, found = recent.shape[1], int(totals[HELD]), 0
    latest = int(totals[LATEST])
    while found < kept and recent[0, (latest - found) % size] >= t:
        found += 1
    cost = 0.0
    for back in range(found - 1, -1, -1):
        cost += recent[1, (latest - back) % size]
    return found, cost


@within
def spent(t: int, control: Floats, spending: Spending) -> tuple[float, float]:
    """How many explorations a control looks back at in round t, and what they cost."""
    over = int(control[OVER])
    if over == 0:
        return spending.totals[DONE], spending.totals[COST]
    done, cost = since(spending, t - over + 1)
    return float(done), cost


@within
def opening(
    t: int, due: bool, controls: Controls, spending: Spending, penalty: float, board: Floats, run: Floats,
    linked: bool, scores: Floats,
) -> int:  # fmt: skip
    """OPEN if round t may explore, RESTS if nothing was to happen, else the control that objects."""
    table, pauses, spacing = controls
    totals = spending.totals
    if not due and (
        totals[STILL_OWED] == 0.0 or not (spacing == 1 or since(spending, t - spacing + 1)[0] == 0)
    ):
        return RESTS
    for place in range(table.shape[0]):  # first of all those that say which rounds are due
        limits = int(table[place, CONTROL]) == LIMITS
        if limits and spent(t, table[place], spending)[0] >= table[place, MOST_SPENT]:
            return RESTS
    for place in range(table.shape[0]):
        kind = int(table[place, CONTROL])
        if kind == LIMITS:
            continue
        if kind == PAUSES:
            if pauses_at(pauses, int(table[place, FROM]), int(table[place, TO]), t):
                return place
        elif totals[STOPPED + place] > 0.0 or (
            kind == CERTAINTY and is_certain(table[place], penalty, board, run, linked, scores)
        ):
            return place
    return OPEN


@within
def pauses_at(pauses: Integers, low: int, high: int, t: int) -> bool:
    """Is t among the rounds from place low up to high? They rise."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if pauses[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low < end and pauses[low] == t


@within
def is_certain(
    control: Floats, penalty: float, board: Floats, run: Floats, linked: bool, scores: Floats
) -> bool:
    """Does the greedy arm's lower bound exceed every other arm's upper bound?"""
    beta = control[SCALE] * kernels.radius(
        kernels.volume(run), penalty, control[NOISE], control[BOUND], control[DELTA]
    )
    best = greedy(board, run, linked, scores)
    bounds(board, run, -beta, linked, scores)
    lower = scores[best]
    bounds(board, run, beta, linked, scores)
    scores[best] = -math.inf
    return bool(lower > np.max(scores))


@within
def bounds(board: Floats, run: Floats, beta: float, linked: bool, scores: Floats) -> None:
    """Every arm's estimate + beta width."""
    kernels.upper(board, run, beta, scores)
    if linked:
        to_chances(scores)


@within
def greedy(board: Floats, run: Floats, linked: bool, scores: Floats) -> int:
    """The greedy arm, the lowest index among ties, and every arm's estimate in `scores`."""
    arm = kernels.estimates(board, run, scores)
    if not linked:
        return arm
    to_chances(scores)
    return kernels.best(scores)


@within
def refusal(t: int, loss: float, controls: Controls, spending: Spending) -> int:
    """The control that refuses an arm of that estimated loss; OPEN if none does."""
    table = controls.table
    for place in range(table.shape[0]):
        limit = table[place, MOST_SPENT]
        if int(table[place, CONTROL]) == GUARDS and spent(t, table[place], spending)[1] + loss > limit:
            return place
    return OPEN


@within
def skip(place: int, due: bool, table: Floats, totals: Floats, anew: bool) -> None:
    """A control keeps a round from exploring: it may stop for good, and what was due may be owed.

    What is certain of arms that are drawn `anew` is certain in this round alone.
    """
    kind = int(table[place, CONTROL])
    if (kind == CERTAINTY and not anew) or (kind == GUARDS and table[place, OVER] == 0.0):
        totals[STOPPED + place] = 1.0
    if due and table[place, MAKES_UP] > 0.0:
        totals[STILL_OWED] += 1.0


@within
def explore(t: int, due: bool, loss: float, spending: Spending) -> None:
    """A round explored, with its estimated loss."""
    totals, recent = spending
    totals[DONE] += 1.0
    totals[COST] += loss
    if not due:
        totals[STILL_OWED] -= 1.0
    size = recent.shape[1]
    if size > 0:
        latest = (int(totals[LATEST]) + 1) % size
        recent[0, latest], recent[1, latest] = t, loss
        totals[LATEST] = latest
        totals[HELD] = min(totals[HELD] + 1.0, float(size))
