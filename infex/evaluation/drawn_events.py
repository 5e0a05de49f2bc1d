"""The rounds of a log that were drawn with known propensities, and with which of them a learner may agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import NoSupport
from infex.logs import Log


class DrawnEvents(NamedTuple):
    """Rows of drawn rounds with a reward, the propensity of each arm, and the least that any arm had."""

    rows: Integers
    propensity: Floats
    acceptance_rate: float


def drawn_events(log: Log) -> DrawnEvents:
    """Exploring rounds of a log that explores by a schedule, else all whose propensity is known."""
    rows, propensity = _drawn(log)
    if not rows.size:
        raise NoSupport(
            "no round of this log was drawn with a known propensity: a learner has nothing to agree with"
        )
    least = _least(log, rows, propensity)
    if least == 1.0 and log.count > 1:
        raise NoSupport(
            f"in {rows.size:,} of {rows.size:,} drawn rounds the log could play one arm only; a learner that "
            "plays another can learn nothing from it. evaluation.simulate can try it under the model"
        )
    return DrawnEvents(rows, propensity, least)


def _drawn(log: Log) -> tuple[Integers, Floats]:
    """Rows and the propensities of their arms."""
    explore = log.explore_probability
    told = explore is not None and not np.isnan(explore).all() and not (explore == 1.0).all()
    scheduled = log.explored is not None and told
    propensity = log.base_propensity if scheduled or log.propensity is None else log.propensity
    if propensity is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    known = log.rewarded & ~np.isnan(propensity)
    if scheduled and log.explored is not None:
        known &= log.explored
    rows = np.flatnonzero(known)
    return rows, propensity[rows]


def _least(log: Log, rows: Integers, propensity: Floats) -> float:
    """The least propensity of an arm on offer in these rounds; refused if one had none."""
    if log.base_propensities is None:
        return float(propensity.min())
    propensities = log.base_propensities[rows]
    on = np.ones(propensities.shape, dtype=bool) if log.offered is None else log.offered[rows]
    known = np.asarray(~np.isnan(propensities).any(axis=1))
    lacking = known & ((propensities <= 0.0) & on).any(axis=1)
    if lacking.any():
        rounds = ", ".join(str(t) for t in log.round[rows[lacking]][:3])
        raise NoSupport(
            f"in {int(lacking.sum()):,} of {rows.size:,} drawn rounds the log could not play every arm "
            f"(rounds {rounds}, ...): a learner that plays the others could never agree. A base of full "
            "support, such as Softened(LinUCB()), leaves logs that can be replayed"
        )
    return float(min(propensity.min(), propensities[on & known[:, None]].min(initial=1.0)))
