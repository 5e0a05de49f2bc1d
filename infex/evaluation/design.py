"""Which rounds of a log were drawn with known propensities, and which rounds they represent.

A schedule explores by blocks. In `jittered(m)` one round of each block of m is drawn uniformly, so that the
exploring round represents all rounds of its block, with the base's propensity. Once a block has explored, the
probability of exploring is 0: weights by the probability given the past, as in other people's logs, would be
wrong there. In `every(m)` exploring rounds are fixed: they represent the others only if offers are alike.
Where every round may play any arm, every round is a block by itself.

Where the policy changed (the column `policy`), blocks begin anew, by the schedule that was then in force. One
that the change has cut represents nothing.

If rows were left out of a log (`kept`), a row represents 1/kept rounds. A block that lacks rows is of no use,
so that whole blocks would be left out, with probabilities that the log does not say: it then has no draws.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.errors import InfexError
from infex.logs import Log
from infex.logs.schema import period_of
from infex.policies import Infex
from infex.registry import parse

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
    are not represented. `drawn` says of each block whether any of its rounds might have been the exploring
    one; if there are others, the design is "fixed". `counts` is the number of rounds that each of `rows`
    represents. `unknown` counts drawn rounds whose propensity is unknown. `is_thinned`: were rows left out of
    the log (`kept`)? `cut` are rows after which a block should go on.
    """

    kind: Kind
    rows: Integers
    propensity: Floats
    block: Integers
    starts: Integers
    of_round: Integers
    drawn: Bools
    counts: Floats
    period: int
    unknown: int = 0
    is_thinned: bool = False
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
    def shares(self) -> Floats | None:
        """How much each drawn round counts, with mean 1; None if all count the same and no row is missing."""
        counts = self.counts
        if not counts.size or (not self.is_thinned and (counts == counts[0]).all()):
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
    counts = log.inverse_kept
    return Design(
        kind="every round" if rows.size else without_draws,
        rows=rows,
        propensity=propensity[rows],
        block=of_round[rows],
        starts=pieces,
        of_round=of_round,
        drawn=np.ones(pieces.size, dtype=bool),
        counts=np.ones(rows.size) if counts is None else counts[rows],
        period=1,
        unknown=int(np.isnan(propensity).sum()) if unknown is None else unknown,
        is_thinned=counts is not None,
    )


def _scheduled(log: Log, explored: Bools, probability: Floats) -> Design:
    """A log whose rounds explore by blocks."""
    eras = _eras(log)
    starts, lengths, last_rounds = _blocks(log, eras, explored, probability)
    rounds = np.diff(np.r_[starts, len(log)])
    of_round = np.repeat(np.arange(starts.size), rounds)
    draws = np.bincount(eras.of_round, weights=(probability > 0.0) & (probability < 1.0)) > 0
    drawn = draws[eras.of_round[starts]] | (draws.any() & (lengths == 1))
    usable = np.where(
        drawn,
        _complete_blocks(log, explored, probability, starts, lengths),
        np.add.reduceat(explored.astype(np.int64), starts) > 0,
    )
    of_round = np.where(usable[of_round], of_round, -1)
    propensity = np.full(len(log), np.nan) if log.base_propensity is None else log.base_propensity
    explored = explored & (of_round >= 0)
    rows = np.flatnonzero(explored & log.rewarded & ~np.isnan(propensity))
    block, ends = of_round[rows], np.r_[starts[1:], len(log)] - 1
    if draws.any() or not eras.alike:
        counts = rounds[block].astype(np.float64)
    else:  # rounds that are fixed are assumed to be alike, and count the same
        counts = np.full(rows.size, max(float(eras.periods[0]), 1.0))
    return Design(
        kind="jittered" if drawn[usable].all() and draws.any() else "fixed",
        rows=rows,
        propensity=propensity[rows],
        block=block,
        starts=starts,
        of_round=of_round,
        drawn=drawn,
        counts=counts,
        period=int(np.median(lengths)),
        unknown=int((explored & np.isnan(propensity)).sum()),
        cut=ends[log.round[ends] < last_rounds],
    )


class _Eras(NamedTuple):
    """Rows of one stream under one policy: the era of each row, and the block length of each, 0 if unknown.

    `begins` says whether a row is the first of its era, and `alike` that block lengths do not change.
    """

    of_round: Integers
    periods: Integers
    begins: Bools
    alike: bool


def _eras(log: Log) -> _Eras:
    policy = log.others.get("policy")
    begins = np.arange(len(log)) == 0
    for column in (log.stream, policy):
        if column is not None:
            begins[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(begins)
    names = [None] * first.size if policy is None else policy[first].tolist()
    alone = len(set(names)) == 1
    known = {name: _period(log, name, alone) for name in set(names)}
    alike = alone or (len(set(known.values())) == 1 and 0 not in known.values())
    return _Eras(np.cumsum(begins) - 1, np.array([known[name] for name in names]), begins, alike)


def _period(log: Log, policy: object, alone: bool) -> int:
    """The block length of a policy's schedule; 0 if it is not known, so that probabilities have to tell."""
    if log.facts.period is not None and (alone or policy == log.facts.policy):
        return log.facts.period
    with contextlib.suppress(InfexError, RecursionError, MemoryError):
        found = parse(policy) if isinstance(policy, str) else None
        return (period_of(found.schedule) or 0) if isinstance(found, Infex) else 0
    return 0


def _blocks(
    log: Log, eras: _Eras, explored: Bools, probability: Floats
) -> tuple[Integers, Integers, Integers]:
    """The first row of each block, the number of rounds that the schedule gives it, and its last round."""
    period = eras.periods[eras.of_round]
    number = (log.round - 1) // np.maximum(period, 1)
    opens = np.r_[True, number[1:] != number[:-1]] & (period > 0)
    done = np.cumsum(np.r_[False, explored[:-1]])  # explorations before each round
    live = np.flatnonzero((probability > 0.0) | eras.begins)
    opens[live[np.r_[True, done[live][1:] != done[live][:-1]] & (period[live] == 0)]] = True
    starts = np.flatnonzero(opens | eras.begins)
    hazard = probability[starts]
    spaced = np.diff(np.r_[starts, len(log)])
    lengths = np.where((hazard > 0.0) & (hazard < 1.0), np.rint(1.0 / np.maximum(hazard, 1e-300)), spaced)
    known = period[starts]
    lengths = np.where(known > 0, known, lengths).astype(np.int64)
    last = np.where(known > 0, (number[starts] + 1) * known, log.round[starts] + lengths - 1)
    return starts, lengths, last


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

    In a drawn block any round might have explored: the base's propensities, in all of its rounds. Where
    exploring rounds are fixed, only theirs. Otherwise those of the whole round.
    """
    if log.base_propensities is None:
        return _certain_arms(log, design, span)
    propensities = log.base_propensities[span]
    if design.kind == "fixed" and log.explored is not None:
        needed = log.explored[span] | design.drawn[np.maximum(design.of_round[span], 0)]
        return np.where(needed[:, None], propensities, np.nan)
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
