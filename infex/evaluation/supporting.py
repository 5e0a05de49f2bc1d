"""Can weights judge a target? If not: which rounds and arms lack support, and what could answer instead."""

from __future__ import annotations

import numpy as np

from infex.errors import InvalidTarget, NoSupport
from infex.evaluation.designs import Design
from infex.evaluation.groundwork import Groundwork, TargetRounds
from infex.logs import Log

MOST_MISSING = 1e-3  # of a target's choices that a log may not be able to play
ROUNDS_SHOWN, ARMS_SHOWN = 3, 3


def lacking(work: Groundwork, rounds: TargetRounds) -> str | None:
    """Why weights cannot judge a target; None if they can."""
    if rounds.target.is_learnt:
        return "it was learnt from this very log, or a part of it, which weights do not allow for"
    return _undrawn(work.design) or _unsupported(rounds)


def _undrawn(design: Design) -> str | None:
    """Why draws cannot be weighed, whatever the target."""
    if not design.rows.size:
        return _without_draws(design)
    drawn = design.unknown + design.rows.size
    many = f"in {design.unknown:,} of {drawn:,} drawn rounds the propensity is not known"
    return many if design.unknown > 0.01 * drawn else None


def _without_draws(design: Design) -> str:
    if design.unknown:
        return f"in {design.unknown:,} drawn rounds the propensity of the arm is not known"
    if design.drawn_blocks:
        return "no block of its schedule is there in full with a reward of its exploration"
    return "the log does not say the propensities of its arms"


def _unsupported(rounds: TargetRounds) -> str | None:
    gone = _share_missing(rounds)
    return f"the log could not play {gone:.1%} of its choices" if gone > MOST_MISSING else None


def _share_missing(rounds: TargetRounds) -> float:
    """The share of a target's choices that the log could not play; 0 where that is not known."""
    support = rounds.support
    return 0.0 if support is None else 1.0 - support


def has_gaps(work: Groundwork, rounds: TargetRounds) -> bool:
    """Is all that weights lack of a target that the log could not play some of its choices?"""
    if rounds.target.is_logged or rounds.target.is_learnt or not work.design.rows.size:
        return False
    return _share_missing(rounds) > MOST_MISSING


def require_support(work: Groundwork, rounds: TargetRounds) -> None:
    """Refuses a weighted estimator where the log could not play what the target plays."""
    reason = lacking(work, rounds)
    if reason is None:
        return
    name = rounds.target.name
    if rounds.target.is_learnt:
        raise InvalidTarget(
            f'{name!r}: {reason}; say estimator="dm", whose interval holds for all targets at once, '
            "or judge it by rounds that it has not learnt from"
        )
    raise NoSupport(f"{_words(work, rounds, reason)} {_instead(work)}")


def _words(work: Groundwork, rounds: TargetRounds, reason: str) -> str:
    log = work.log
    if log.propensity is not None and (log.propensity == 1.0).all():
        return _one_arm_only(log, rounds)
    where = _where_missing(log, rounds) if _share_missing(rounds) > MOST_MISSING else ""
    return f"weights cannot judge {rounds.target.name!r}: {reason}{where}."


def _one_arm_only(log: Log, rounds: TargetRounds) -> str:
    apart = float(1.0 - rounds.of_arm.mean())
    return (
        f"in {len(log):,} of {len(log):,} rounds the log could play one arm only; weights cannot judge "
        f"{rounds.target.name!r}, which differs from it in {apart:.0%} of rounds."
    )


def _where_missing(log: Log, rounds: TargetRounds) -> str:
    """The first rounds in which a target plays what the log could not, and the arms that it plays most so."""
    gone = np.flatnonzero(rounds.missing > 0.0)
    first = ", ".join(f"{log.round[row]}" for row in gone[:ROUNDS_SHOWN])
    more = ", ..." if gone.size > ROUNDS_SHOWN else ""
    where = f"in {gone.size:,} rounds ({first}{more})"
    return f"; it plays arms without a chance {where}, most of all {_arms_missing(log, rounds)}"


def _arms_missing(log: Log, rounds: TargetRounds) -> str:
    order = np.argsort(-rounds.missing_arms, kind="stable")[:ARMS_SHOWN]
    return ", ".join(f"{log.label(int(arm))!r}" for arm in order if rounds.missing_arms[arm] > 0.0)


def _instead(work: Groundwork) -> str:
    features = "" if work.log.dim is not None else ", by the mean reward of each arm"
    return f'estimator="dm" can{features}, if rewards are linear in the features.'
