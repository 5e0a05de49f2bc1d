"""A reward that was learnt gets another value, or is taken out again: as if it had come so."""

from __future__ import annotations

from typing import NamedTuple

from infex.arrays import Floats
from infex.core.ridge import add_rewards
from infex.linear.offers import On


class Revision(NamedTuple):
    """A reward `before`, learnt on `on` with the weight that `counted` gave, is `after`; None is never told.

    `turn` is what `Statistics.turn` said before it was learnt: its number where rewards count by their order.
    """

    on: On
    before: float
    after: float | None
    weight: float = 1.0
    turn: int = 0

    @property
    def pulls(self) -> int:
        """How many rewards there are more: none, or one less."""
        return -1 if self.after is None else 0

    @property
    def gain(self) -> float:
        """How much more all rewards come to."""
        return (0.0 if self.after is None else self.after) - self.before


def revise_sums(truth: Floats, penalty: float, x: Floats, revision: Revision, share: float = 1.0) -> None:
    """Brings sums, (2, d + 1, d), to a revision of a reward of x, whose weight is `share` of what it was.

    What went in comes out again as the very same products, so that nothing of it stays; where the reward
    only gets another value, sum x x' does not change at all.
    """
    weight = share * float(revision.weight)
    if revision.after is None:
        add_rewards(truth, penalty, x, -weight, -weight * revision.before)
        return
    add_rewards(truth, penalty, x, 0.0, -weight * revision.before)
    add_rewards(truth, penalty, x, 0.0, weight * revision.after)
