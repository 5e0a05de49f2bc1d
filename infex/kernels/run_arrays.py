"""What compiled runs share: the arrays of a ridge, who decides when, rewards, what a run leaves."""

from typing import NamedTuple

from infex.arrays import Floats, Integers


class State(NamedTuple):
    """The six arrays of a ridge, as `kernels` describes them, and its penalty."""

    truth: Floats
    solved: Floats
    columns: Floats
    board: Floats
    vectors: Floats
    run: Floats
    penalty: float


class Rewarding(NamedTuple):
    """The law of rewards, and every arm's mean and gap."""

    law: int
    noise: float
    means: Floats
    gaps: Floats


class Outcome(NamedTuple):
    """What a run leaves: the regret at `checkpoints`, and every round's arm and reward if there is room."""

    checkpoints: Integers
    curve: Floats
    tally: Floats
    counts: Integers
    arms: Integers
    rewards: Floats
    losses: Floats
