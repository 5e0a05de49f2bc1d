"""Can weights judge a target? If not: which rounds and arms lack support, and what could answer instead."""

from __future__ import annotations

import numpy as np

from infex.errors import InvalidTarget, NoSupport
from infex.evaluation.groundwork import Groundwork, TargetRounds

MOST_MISSING = 1e-3  # of a target's choices that a log may not be able to play
ROUNDS_SHOWN, ARMS_SHOWN = 3, 3


def lacking(work: Groundwork, rounds: TargetRounds) -> str | None:
    """Why weights cannot judge a target; None if they can."""
    if rounds.target.is_learnt:
        return "it was learnt from this very log, or a part of it, which weights do not allow for"
    design = work.design
    if not design.rows.size:
        if design.unknown:
            return f"in {design.unknown:,} drawn rounds the law of the arm is not known"
        if design.drawn_blocks:
            return "no block of its schedule is there in full with a reward of its exploration"
        return "the log does not say with which chances its arms were drawn"
    if design.unknown > 0.01 * (design.rows.size + design.unknown):
        drawn = design.unknown + design.rows.size
        return f"in {design.unknown:,} of {drawn:,} drawn rounds the law is not known"
    support = rounds.support
    if support is not None and 1.0 - support > MOST_MISSING:
        return f"the log could not play {1.0 - support:.1%} of its choices"
    return None


def has_gaps(work: Groundwork, rounds: TargetRounds) -> bool:
    """Is all that weights lack of a target that the log could not play some of its choices?"""
    if rounds.target.is_logged or rounds.target.is_learnt or not work.design.rows.size:
        return False
    return rounds.support is not None and 1.0 - rounds.support > MOST_MISSING


def require_support(work: Groundwork, rounds: TargetRounds) -> None:
    """Refuses a weighted way where the log could not play what the target plays."""
    reason = lacking(work, rounds)
    if reason is None:
        return
    name = rounds.target.name
    if rounds.target.is_learnt:
        raise InvalidTarget(
            f'{name!r}: {reason}; say way="model", whose interval holds for all targets at once, '
            "or judge it by rounds that it has not learnt from"
        )
    raise NoSupport(f"{_words(work, rounds, reason)} {_instead(work)}")


def _words(work: Groundwork, rounds: TargetRounds, reason: str) -> str:
    log, name = work.log, rounds.target.name
    if log.probability is not None and (log.probability == 1.0).all():
        apart = float(1.0 - rounds.of_arm.mean())
        return (
            f"in {len(log):,} of {len(log):,} rounds the log could play one arm only; weights cannot judge "
            f"{name!r}, which differs from it in {apart:.0%} of rounds."
        )
    if rounds.support is None or 1.0 - rounds.support <= MOST_MISSING:
        return f"weights cannot judge {name!r}: {reason}."
    gone = np.flatnonzero(rounds.missing > 0.0)
    first = ", ".join(f"{log.round[row]}" for row in gone[:ROUNDS_SHOWN])
    order = np.argsort(-rounds.missing_arms, kind="stable")[:ARMS_SHOWN]
    arms = ", ".join(f"{log.label(int(arm))!r}" for arm in order if rounds.missing_arms[arm] > 0.0)
    return (
        f"weights cannot judge {name!r}: {reason}; it plays arms without a chance in {gone.size:,} rounds "
        f"({first}{', ...' if gone.size > ROUNDS_SHOWN else ''}), most of all {arms}."
    )


def _instead(work: Groundwork) -> str:
    features = "" if work.log.dim is not None else ", by the mean reward of each arm"
    return f'way="model" can{features}, if rewards are linear in the features.'
