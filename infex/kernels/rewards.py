"""The laws of rewards, each written once, for Python and for compiled loops."""

from typing import NamedTuple

import numpy as np

from infex.arrays import Words
from infex.kernels.calling import call_law
from infex.kernels.compiling import compiled, inlined

SIGN, BERNOULLI, GAUSSIAN, STUDENT, OWN = range(5)
LAWS = {"sign": SIGN, "bernoulli": BERNOULLI, "gaussian": GAUSSIAN, "student": STUDENT}


@inlined
def draw_of(law: int, rng: np.random.Generator) -> float:
    """A round's one draw: normal for GAUSSIAN, else uniform; STUDENT and OWN have none of these."""
    return float(rng.standard_normal()) if law == GAUSSIAN else float(rng.random())


@inlined
def reward_of(law: int, mean: float, noise: float, draw: float) -> float:
    """The reward of an arm of that mean, by the round's draw."""
    if law == GAUSSIAN:
        return mean + noise * draw
    if law == BERNOULLI:
        return 1.0 if draw < mean else 0.0
    return 1.0 if draw < (1.0 + mean) / 2.0 else -1.0


class Law(NamedTuple):
    """Any law: its kind, the degrees of freedom of STUDENT, and the address of a user's kernel.

    `counter` and `rest` are the memory of the Philox that a user's kernel draws from (`streams.Rounds`).
    """

    kind: int
    degrees: float
    address: int
    counter: Words
    rest: Words


@compiled
def rewarded(law: Law, mean: float, noise: float, t: int, rng: np.random.Generator) -> tuple[float, int]:
    """A reward of round t by any law, and 0; or any number, and the fault of a kernel that raised.

    A kernel's draws depend on the round alone, however many it took in others.
    """
    if law.kind == OWN:
        for i in range(4):
            law.counter[i] = 0
        law.counter[1] = t
        law.rest[2] = 4
        law.rest[7] = 0
        gain: tuple[float, int] = call_law(law.address, mean, rng)
        return gain
    if law.kind == STUDENT:
        return mean + noise * rng.standard_t(law.degrees), 0
    return reward_of(law.kind, mean, noise, draw_of(law.kind, rng)), 0
