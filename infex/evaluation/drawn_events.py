"""The rounds of a log that were drawn with known chances, and with which of them a learner may agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import NoSupport
from infex.logs import Log


class DrawnEvents(NamedTuple):
    """Rows of drawn rounds with a reward, the probability of each arm, and the least that any arm had."""

    rows: Integers
    probability: Floats
    chance: float


def drawn_events(log: Log) -> DrawnEvents:
    """Those of a log: exploring rounds where it explores by a schedule, else all whose chance is known."""
    rows, probability = _drawn(log)
    if not rows.size:
        raise NoSupport(
            "no round of this log was drawn with a known chance: a learner has nothing to agree with"
        )
    least = _least(log, rows, probability)
    if least == 1.0 and log.count > 1:
        raise NoSupport(
            f"in {rows.size:,} of {rows.size:,} drawn rounds the log could play one arm only; a learner that "
            "plays another can learn nothing from it. evaluation.simulate can try it under the model"
        )
    return DrawnEvents(rows, probability, least)


def _drawn(log: Log) -> tuple[Integers, Floats]:
    """Rows and the probabilities of their arms."""
    chance = log.chance
    told = chance is not None and not np.isnan(chance).all() and not (chance == 1.0).all()
    scheduled = log.explored is not None and told
    chances = log.law if scheduled or log.probability is None else log.probability
    if chances is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    known = log.rewarded & ~np.isnan(chances)
    if scheduled and log.explored is not None:
        known &= log.explored
    rows = np.flatnonzero(known)
    return rows, chances[rows]


def _least(log: Log, rows: Integers, probability: Floats) -> float:
    """The least chance of an arm on offer in these rounds; refused if one had none."""
    if log.laws is None:
        return float(probability.min())
    laws = log.laws[rows]
    on = np.ones(laws.shape, dtype=bool) if log.offered is None else log.offered[rows]
    known = np.asarray(~np.isnan(laws).any(axis=1))
    lacking = known & ((laws <= 0.0) & on).any(axis=1)
    if lacking.any():
        rounds = ", ".join(str(t) for t in log.round[rows[lacking]][:3])
        raise NoSupport(
            f"in {int(lacking.sum()):,} of {rows.size:,} drawn rounds the log could not play every arm "
            f"(rounds {rounds}, ...): a learner that plays the others could never agree. A base of full "
            "support, such as Softened(LinUCB()), leaves logs that can be replayed"
        )
    return float(min(probability.min(), laws[on & known[:, None]].min(initial=1.0)))
