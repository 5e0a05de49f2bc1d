"""What a bandit decided, and why."""

from typing import NamedTuple

Label = str | int


class Decision(NamedTuple):
    """One decision, which cannot be changed: which arm, explored or greedy, and what was known of it.

    `low` and `high` are estimate -+ radius width, with the radius of the policy (that of
    LinUCB's default settings if it has none). `probability` is the chance of this arm in this
    round, given the rounds before it, over all draws, those of a jittered schedule included; None
    where it is not known. In a greedy round `greedy` is the arm played; ties may be random.
    """

    id: int
    t: int
    arm: int
    label: Label | None
    explored: bool
    greedy: int
    estimate: float
    low: float
    high: float
    probability: float | None
