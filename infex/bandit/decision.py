"""What a bandit decided, and why."""

from typing import NamedTuple

from infex.arrays import Label


class Decision(NamedTuple):
    """One decision, which cannot be changed: which arm, explored or greedy, and what was known of it.

    `low` and `high` are estimate -+ radius width, with the radius of the policy (that of
    LinUCB's default settings if it has none). `probability` is the chance of this arm in this
    round, given the rounds before it, over all draws, those of a jittered schedule included; None
    where it is not known. `greedy` is the arm of the largest estimate; in a greedy round it is the arm
    played, ties may be random, unless the policy has estimates of its own (least squares, LASSO).
    `reason` says in words why it explored or why not, as in "scheduled", "greedy" or "skipped:
    paused".
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
    reason: str


class Exploration(NamedTuple):
    """How much was explored, and what it cost.

    `planned`: how many of the rounds so far the schedule names, and `next_due` the next one after
    them; None without a schedule that can tell. `done`: decisions that explored. `skipped`:
    rounds in which exploration was due and did not happen; `made_up` of them later did. `cost`:
    the summed estimated loss of exploring (estimate of the greedy arm minus that of the arm
    played).
    """

    planned: int | None
    done: int
    skipped: int
    made_up: int
    next_due: int | None
    cost: float
