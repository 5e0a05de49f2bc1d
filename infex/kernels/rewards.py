"""The plain laws of rewards in the loops of forced sampling."""

import numpy as np

from infex.kernels.compiling import inlined

SIGN, BERNOULLI, GAUSSIAN = range(3)


@inlined
def draw_of(law: int, rng: np.random.Generator) -> float:
    """A round's one draw: normal for GAUSSIAN, else uniform."""
    return float(rng.standard_normal()) if law == GAUSSIAN else float(rng.random())


@inlined
def reward_of(law: int, mean: float, noise: float, draw: float) -> float:
    """The reward of an arm of that mean, by the round's draw."""
    if law == GAUSSIAN:
        return mean + noise * draw
    if law == BERNOULLI:
        return 1.0 if draw < mean else 0.0
    return 1.0 if draw < (1.0 + mean) / 2.0 else -1.0
