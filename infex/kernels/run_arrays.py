"""What compiled runs share: the arrays of a ridge, who decides when, rewards, what a run leaves."""

from typing import NamedTuple

from infex import kernels
from infex.arrays import Floats, Integers, Words
from infex.kernels.compiling import copy_into, lending, woven


class State(NamedTuple):
    """The six arrays of a ridge, as `kernels` describes them, and its penalty."""

    truth: Floats
    solved: Floats
    columns: Floats
    board: Floats
    vectors: Floats
    run: Floats
    penalty: float


class Rule(NamedTuple):
    """Who decides when.

    `exploring` are the rounds of the base; all are if `always`, where the base itself says what
    explores. With `own` it sees the data of its rounds alone and counts time by them.
    """

    exploring: Integers
    always: bool
    own: bool
    random_ties: bool


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


@lending
def begun(state: State, columns: Floats, fresh: bool, learnt: Floats) -> State:
    """The ridge over these arms; if `fresh`, with what was `learnt` before, which may be empty."""
    truth, solved, _, board, vectors, run, penalty = state
    if fresh:
        truth[:], vectors[:] = 0.0, 0.0  # a run before may have left what is no number
        if learnt.size > 0:
            copy_into(truth, learnt)
        kernels.refresh(truth, penalty, solved, columns, board, run)
    return State(truth, solved, columns, board, vectors, run, penalty)


class GeneratorMemory(NamedTuple):
    """The memory of the generators of rewards and of the policy (see `streams.SettableGenerator`)."""

    reward_state: Words
    state: Words
    reward_buffer: Words
    buffer: Words


@woven
def set_generators(memory: GeneratorMemory, starts: Words, r: int) -> None:
    """Sets both generators to the start of their streams."""
    reward_state, state, reward_buffer, buffer = memory
    for i in range(4):
        reward_state[i] = starts[r, 0, i]
        state[i] = starts[r, 1, i]
    reward_buffer[0] = 0
    buffer[0] = 0
