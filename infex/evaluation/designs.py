"""Which rounds of a log were drawn with known chances, and for which rounds they speak.

A schedule explores by blocks. In `jittered(m)` one round of each block of m is drawn uniformly, so that the
block's exploring round speaks for all its rounds, with the base's propensity b. Once a block
has explored, the chance of exploring is 0: a weight by the chance given the past, as in other people's logs,
would be wrong there. In `every(m)` exploring rounds are fixed: they speak for the others only if offers are
alike. Where every round may play any arm, every round is a block by itself.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.logs import Log

HAZARD_ROUNDING = 1e-9
PIECE_SHARE = (
    16  # a piece of a log without blocks is this part of all rounds before it, by which it is judged
)
FEWEST_PIECES = 64

Kind = Literal["jittered", "fixed", "every round", "none"]


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """The drawn rounds of a log.

    `rows` are drawn rounds with a reward and a known `propensity` of their arm; `block` is the block of each
    of them. Block b begins at round `starts[b]`; `of_round` is the block of every round, -1 for rounds that
    the estimate does not speak for. `unknown` counts drawn rounds whose propensity is not known.
    """

    kind: Kind
    rows: Integers
    propensity: Floats
    block: Integers
    starts: Integers
    of_round: Integers
    period: int
    unknown: int = 0

    @functools.cached_property
    def covered(self) -> Bools:
        """Which rounds the estimate speaks for."""
        return self.of_round >= 0

    @functools.cached_property
    def lengths(self) -> Integers:
        """How many rounds each block speaks for."""
        found: Integers = np.bincount(self.of_round[self.covered], minlength=self.starts.size)
        return found

    @functools.cached_property
    def shares(self) -> Floats | None:
        """What each drawn round counts, 1 in the mean, where drawn blocks differ in length; else None.

        A drawn round speaks for all rounds of its block, so that one of a long block counts more. Where
        rounds are fixed they are taken for alike, and each counts the same.
        """
        mine = self.lengths[self.block]
        if self.kind != "jittered" or not mine.size or (mine == mine[0]).all():
            return None
        found: Floats = mine / mine.mean()
        return found

    @property
    def drawn_blocks(self) -> bool:
        """Does each block draw one round that speaks for it?"""
        return self.kind in ("jittered", "fixed")


def design_of(log: Log) -> Design:
    """How the rounds of this log were drawn."""
    explore_probability = log.explore_probability
    known = explore_probability is not None and not np.isnan(explore_probability).any()
    if (
        known
        and explore_probability is not None
        and log.explored is not None
        and _explores_by_blocks(log, explore_probability)
    ):
        return _scheduled(log, explore_probability)
    if log.propensity is not None:
        return _every_round(log, log.propensity)
    if (
        known
        and explore_probability is not None
        and (explore_probability == 1.0).all()
        and log.base_propensity is not None
    ):
        return _every_round(log, log.base_propensity)
    none = np.zeros(0, dtype=np.int64)
    starts, of_round = _pieces(len(log))
    return Design(
        kind="none",
        rows=none,
        propensity=np.zeros(0),
        block=none,
        starts=starts,
        of_round=of_round,
        period=1,
    )


def _explores_by_blocks(log: Log, explore_probability: Floats) -> bool:
    """Some rounds cannot explore, or chances grow from round to round as those of a drawn block do."""
    if (explore_probability == 0.0).any() or (log.facts.period or 1) > 1:
        return True
    assert log.explored is not None
    waits = ~log.explored[:-1] & (explore_probability[:-1] < 1.0)
    grown = explore_probability[:-1] / np.where(waits, 1.0 - explore_probability[:-1], 1.0)
    return bool((waits & (np.abs(explore_probability[1:] - grown) <= HAZARD_ROUNDING)).any())


def _every_round(log: Log, propensity: Floats) -> Design:
    starts, of_round = _pieces(len(log))
    rows = np.flatnonzero(log.rewarded & ~np.isnan(propensity))
    return Design(
        kind="every round" if rows.size else "none",
        rows=rows,
        propensity=propensity[rows],
        block=of_round[rows],
        starts=starts,
        of_round=of_round,
        period=1,
        unknown=int(np.isnan(propensity).sum()),
    )


def _pieces(rounds: int) -> tuple[Integers, Integers]:
    """A log cut into pieces, short ones first, as little is known there: their first rounds; that of each."""
    starts, first = [], 0
    while first < rounds:
        starts.append(first)
        first += max(1, min(first // PIECE_SHARE, rounds // FEWEST_PIECES))
    found = np.array(starts, dtype=np.int64)
    return found, np.repeat(np.arange(found.size), np.diff(np.r_[found, rounds]))


def _scheduled(log: Log, explore_probability: Floats) -> Design:
    """A log whose rounds explore by blocks."""
    assert log.explored is not None
    starts, lengths = _blocks(log, explore_probability)
    of_round = np.repeat(np.arange(starts.size), np.diff(np.r_[starts, len(log)]))
    drawn = ((explore_probability > 0.0) & (explore_probability < 1.0)).any()
    whole = (
        _whole_jittered(explore_probability, log, starts, lengths) if drawn else _explored_once(log, starts)
    )
    of_round = np.where(whole[of_round], of_round, -1)
    base_propensity = np.full(len(log), np.nan) if log.base_propensity is None else log.base_propensity
    explored = log.explored & (of_round >= 0)
    rows = np.flatnonzero(explored & log.rewarded & ~np.isnan(base_propensity))
    return Design(
        kind="jittered" if drawn else "fixed",
        rows=rows,
        propensity=base_propensity[rows],
        block=of_round[rows],
        starts=starts,
        of_round=of_round,
        period=int(np.median(lengths)),
        unknown=int((explored & np.isnan(base_propensity)).sum()),
    )


def _blocks(log: Log, explore_probability: Floats) -> tuple[Integers, Integers]:
    """The first row of each block, and how many rounds the schedule gives it."""
    period, stream = log.facts.period, log.stream
    other = np.zeros(len(log), dtype=bool) if stream is None else np.r_[False, stream[1:] != stream[:-1]]
    if period is not None:
        number = (log.round - 1) // period
        first = np.r_[True, number[1:] != number[:-1]] | other
        starts = np.flatnonzero(first)
        return starts, np.full(starts.size, period)
    assert log.explored is not None
    done = np.cumsum(np.r_[False, log.explored[:-1]])  # explorations before each round
    live = np.flatnonzero((explore_probability > 0.0) | other)
    opening = live[np.r_[True, done[live][1:] != done[live][:-1]] | other[live]]
    starts = np.unique(np.r_[0, opening])
    first_due = explore_probability[starts]
    spaced = np.diff(np.r_[starts, len(log)])
    lengths = np.where(
        (first_due > 0.0) & (first_due < 1.0), np.rint(1.0 / np.maximum(first_due, 1e-300)), spaced
    )
    return starts, lengths.astype(np.int64)


def _whole_jittered(explore_probability: Floats, log: Log, starts: Integers, lengths: Integers) -> Bools:
    """Which blocks are there in full and drew their round uniformly: chances 1/(m - j), then 0."""
    assert log.explored is not None
    ends = np.r_[starts[1:], len(log)]
    block = np.repeat(np.arange(starts.size), ends - starts)
    place = np.arange(len(log)) - starts[block]
    size = lengths[block]
    before: Integers = np.cumsum(log.explored) - log.explored
    done = before - before[starts][block] > 0
    with np.errstate(divide="ignore"):
        due = np.where(done | (place >= size), 0.0, 1.0 / np.maximum(size - place, 1))
    good = np.abs(explore_probability - due) <= HAZARD_ROUNDING
    following = np.ones(len(log), dtype=bool)
    following[1:] = (log.round[1:] - log.round[:-1] == 1) | (block[1:] != block[:-1])
    fits = np.logical_and.reduceat(good & following, starts)
    once = np.add.reduceat(log.explored.astype(np.int64), starts) == 1
    found: Bools = fits & once & (ends - starts == lengths)
    return found


def _explored_once(log: Log, starts: Integers) -> Bools:
    """Which blocks of a fixed schedule explored."""
    assert log.explored is not None
    found: Bools = np.add.reduceat(log.explored.astype(np.int64), starts) > 0
    return found


def reached_rounds(design: Design, log: Log) -> tuple[Integers, Floats, Floats]:
    """Rounds up to and with each block's exploration: rows, propensities of their arms, and shares.

    A round is reached with chance (m - j)/m at place j of its block; as part of the block's mean it counts
    1/m over that, which is 1/(m - j).
    """
    assert log.explore_probability is not None
    assert log.propensity is not None
    live = (log.explore_probability > 0.0) & design.covered & log.rewarded & ~np.isnan(log.propensity)
    rows = np.flatnonzero(live)
    block = design.of_round[rows]
    place = rows - design.starts[block]
    return rows, log.propensity[rows], 1.0 / (design.lengths[block] - place)


def logging_propensities(log: Log, design: Design, span: slice) -> Floats | None:
    """The propensities a target needs support in, (rounds, K); a row of NaN: not known, or not asked for.

    In a drawn block any round might have explored: the base's in all of them. Where exploring rounds are
    fixed, theirs alone. Else that of the whole round.
    """
    if log.base_propensities is None:
        return _sure_arms(log, design, span)
    propensities = log.base_propensities[span]
    if design.kind == "fixed" and log.explored is not None:
        return np.where(log.explored[span, None], propensities, np.nan)
    if design.drawn_blocks or log.explore_probability is None or log.greedy is None:
        return propensities
    explore_probability = log.explore_probability[span, None]
    greedy = np.eye(log.count)[np.maximum(log.greedy[span], 0)]
    found: Floats = explore_probability * propensities + (1.0 - explore_probability) * greedy
    return found


def _sure_arms(log: Log, design: Design, span: slice) -> Floats | None:
    """Without those of all arms, rounds whose arm was certain: they could play no other. NaN: not known."""
    if log.propensity is None or design.kind != "every round":
        return None
    sure = log.propensity[span] >= 1.0
    if not sure.any():
        return None
    propensities = np.full((sure.size, log.count), np.nan)
    propensities[sure] = np.eye(log.count)[log.arm[span][sure]]
    return propensities
