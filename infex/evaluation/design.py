"""Which rounds of a log were drawn with known propensities, and which rounds they represent.

A schedule explores by blocks. In `jittered(m)` one round of each block of m is drawn uniformly, so that the
exploring round represents all rounds of its block, with the base's propensity. Once a block has explored, the
probability of exploring is 0: weights by the probability given the past, as in other people's logs, would be
wrong there. In `every(m)` exploring rounds are fixed: they represent the others only if offers are alike.
Where every round may play any arm, every round is a block by itself.

If rows were left out of a log (`kept`), a row represents 1/kept rounds. A block that lacks rows is of no use,
so that whole blocks would be left out, with probabilities that the log does not say: it then has no draws.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Literal, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.logs import Log

HAZARD_ROUNDING = 1e-9
PIECE_SHARE = 16  # a piece of a log without blocks has at most this part of the rounds before it
FEWEST_PIECES = 64

Kind = Literal["jittered", "fixed", "every round", "thinned blocks", "none"]


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """The drawn rounds of a log.

    `rows` are drawn rounds with a reward and a known `propensity` of their arm; `block` is the block of each
    of them. Block b begins at row `starts[b]`; `of_round` is the block of every round, -1 for rounds that
    are not represented. `unknown` counts drawn rounds whose propensity is unknown. `inverse_kept` is 1/kept
    of each of `rows`, if rows were left out of the log. `cut` are rows after which a block should go on.
    """

    kind: Kind
    rows: Integers
    propensity: Floats
    block: Integers
    starts: Integers
    of_round: Integers
    period: int
    unknown: int = 0
    inverse_kept: Floats | None = None
    cut: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @functools.cached_property
    def covered(self) -> Bools:
        """Which rounds are represented."""
        return self.of_round >= 0

    @functools.cached_property
    def lengths(self) -> Integers:
        """The number of represented rounds of each block."""
        found: Integers = np.bincount(self.of_round[self.covered], minlength=self.starts.size)
        return found

    @functools.cached_property
    def counts(self) -> Floats:
        """The number of rounds that each drawn round represents.

        A drawn round represents all rounds of its block, so one of a long block counts more. Fixed rounds are
        assumed to be alike, and count the same.
        """
        if self.inverse_kept is not None:
            return self.inverse_kept
        if self.kind == "jittered":
            return self.lengths[self.block].astype(np.float64)
        return np.ones(self.rows.size)

    @functools.cached_property
    def shares(self) -> Floats | None:
        """How much each drawn round counts, with mean 1; None if all count the same and no row is missing."""
        counts = self.counts
        if not counts.size or (self.inverse_kept is None and (counts == counts[0]).all()):
            return None
        found: Floats = counts / counts.mean()
        return found

    @property
    def drawn_blocks(self) -> bool:
        """Whether one round represents its block."""
        return self.kind in ("jittered", "fixed")


def design_of(log: Log) -> Design:
    """How the rounds of this log were drawn."""
    probability = log.explore_probability
    if probability is not None and np.isnan(probability).any():
        probability = None
    if probability is not None and log.explored is not None and _explores_by_blocks(log, probability):
        if log.inverse_kept is not None:
            unknown = np.full(len(log), np.nan)
            return _every_round(log, unknown, int(log.explored.sum()), "thinned blocks")
        return _scheduled(log, log.explored, probability)
    if log.propensity is not None:
        return _every_round(log, log.propensity)
    if probability is not None and (probability == 1.0).all() and log.base_propensity is not None:
        return _every_round(log, log.base_propensity)
    return _every_round(log, np.full(len(log), np.nan), unknown=0)


def _explores_by_blocks(log: Log, probability: Floats) -> bool:
    """Some rounds cannot explore, or probabilities grow from round to round as in a drawn block."""
    if (probability == 0.0).any() or (log.facts.period or 1) > 1:
        return True
    assert log.explored is not None
    waits = ~log.explored[:-1] & (probability[:-1] < 1.0)
    grown = probability[:-1] / np.where(waits, 1.0 - probability[:-1], 1.0)
    return bool((waits & (np.abs(probability[1:] - grown) <= HAZARD_ROUNDING)).any())


def _every_round(
    log: Log, propensity: Floats, unknown: int | None = None, without_draws: Kind = "none"
) -> Design:
    """A log without blocks, cut into pieces at whose starts the model is frozen: short ones first."""
    starts, first = [], 0
    while first < len(log):
        starts.append(first)
        first += max(1, min(first // PIECE_SHARE, len(log) // FEWEST_PIECES))
    pieces = np.array(starts, dtype=np.int64)
    of_round = np.repeat(np.arange(pieces.size), np.diff(np.r_[pieces, len(log)]))
    rows = np.flatnonzero(log.rewarded & ~np.isnan(propensity))
    return Design(
        kind="every round" if rows.size else without_draws,
        rows=rows,
        propensity=propensity[rows],
        block=of_round[rows],
        starts=pieces,
        of_round=of_round,
        period=1,
        unknown=int(np.isnan(propensity).sum()) if unknown is None else unknown,
        inverse_kept=None if log.inverse_kept is None else log.inverse_kept[rows],
    )


def _scheduled(log: Log, explored: Bools, probability: Floats) -> Design:
    """A log whose rounds explore by blocks."""
    starts, lengths, last_rounds = _blocks(log, explored, probability)
    of_round = np.repeat(np.arange(starts.size), np.diff(np.r_[starts, len(log)]))
    drawn = ((probability > 0.0) & (probability < 1.0)).any()
    if drawn:
        usable = _complete_blocks(log, explored, probability, starts, lengths)
    else:
        usable = np.add.reduceat(explored.astype(np.int64), starts) > 0
    of_round = np.where(usable[of_round], of_round, -1)
    propensity = np.full(len(log), np.nan) if log.base_propensity is None else log.base_propensity
    explored = explored & (of_round >= 0)
    rows = np.flatnonzero(explored & log.rewarded & ~np.isnan(propensity))
    ends = np.r_[starts[1:], len(log)] - 1
    return Design(
        kind="jittered" if drawn else "fixed",
        rows=rows,
        propensity=propensity[rows],
        block=of_round[rows],
        starts=starts,
        of_round=of_round,
        period=int(np.median(lengths)),
        unknown=int((explored & np.isnan(propensity)).sum()),
        cut=ends[log.round[ends] < last_rounds],
    )


def _blocks(log: Log, explored: Bools, probability: Floats) -> tuple[Integers, Integers, Integers]:
    """The first row of each block, the number of rounds that the schedule gives it, and its last round."""
    period, stream = log.facts.period, log.stream
    other = np.zeros(len(log), dtype=bool) if stream is None else np.r_[False, stream[1:] != stream[:-1]]
    if period is not None:
        number = (log.round - 1) // period
        starts = np.flatnonzero(np.r_[True, number[1:] != number[:-1]] | other)
        return starts, np.full(starts.size, period), (number[starts] + 1) * period
    done = np.cumsum(np.r_[False, explored[:-1]])  # explorations before each round
    live = np.flatnonzero((probability > 0.0) | other)
    opening = live[np.r_[True, done[live][1:] != done[live][:-1]] | other[live]]
    starts = np.unique(np.r_[0, opening])
    hazard = probability[starts]
    spaced = np.diff(np.r_[starts, len(log)])
    lengths = np.where((hazard > 0.0) & (hazard < 1.0), np.rint(1.0 / np.maximum(hazard, 1e-300)), spaced)
    whole: Integers = lengths.astype(np.int64)
    return starts, whole, log.round[starts] + whole - 1


def _complete_blocks(
    log: Log, explored: Bools, probability: Floats, starts: Integers, lengths: Integers
) -> Bools:
    """Which blocks are complete and drew their round uniformly: probabilities 1/(m - j), then 0."""
    ends = np.r_[starts[1:], len(log)]
    block = np.repeat(np.arange(starts.size), ends - starts)
    place = np.arange(len(log)) - starts[block]
    size = lengths[block]
    before: Integers = np.cumsum(explored) - explored
    done = before - before[starts][block] > 0
    with np.errstate(divide="ignore"):
        due = np.where(done | (place >= size), 0.0, 1.0 / np.maximum(size - place, 1))
    good = np.abs(probability - due) <= HAZARD_ROUNDING
    following = np.ones(len(log), dtype=bool)
    following[1:] = (log.round[1:] - log.round[:-1] == 1) | (block[1:] != block[:-1])
    fits = np.logical_and.reduceat(good & following, starts)
    once = np.add.reduceat(explored.astype(np.int64), starts) == 1
    found: Bools = fits & once & (ends - starts == lengths)
    return found


def logging_propensities(log: Log, design: Design, span: slice) -> Floats | None:
    """The propensities in which a target needs support, (rounds, K); a row of NaN is unknown or not needed.

    In a drawn block any round might have explored: the base's propensities, in all of its rounds. If
    exploring rounds are fixed, only theirs. Otherwise those of the whole round.
    """
    if log.base_propensities is None:
        return _certain_arms(log, design, span)
    propensities = log.base_propensities[span]
    if design.kind == "fixed" and log.explored is not None:
        return np.where(log.explored[span, None], propensities, np.nan)
    if design.drawn_blocks or log.explore_probability is None or log.greedy is None:
        return propensities
    probability = log.explore_probability[span, None]
    greedy = np.eye(log.count)[np.maximum(log.greedy[span], 0)]
    found: Floats = probability * propensities + (1.0 - probability) * greedy
    return found


def _certain_arms(log: Log, design: Design, span: slice) -> Floats | None:
    """Without the propensities of all arms: a round whose arm had propensity 1 could play no other."""
    if log.propensity is None or design.kind != "every round":
        return None
    sure = log.propensity[span] >= 1.0
    if not sure.any():
        return None
    propensities = np.full((sure.size, log.count), np.nan)
    propensities[sure] = np.eye(log.count)[log.arm[span][sure]]
    return propensities
