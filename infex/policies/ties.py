"""The tie rule: arms within 1e-12 (1 + |max|) of the largest score are equally good.

Rescaled arms of length 1 differ in the last bit, and sums of rewards come back to zero, so ties
are common; a plain argmax would decide them by rounding, differently on each machine.
"""

from typing import Literal

import numpy as np

from infex.arrays import Floats
from infex.core.choosing import best_arm, tied_arms
from infex.errors import InvalidChoice

Ties = Literal["lowest", "random"]
TIES = ("lowest", "random")


def best(scores: Floats) -> int:
    """The arm of the largest score; the lowest index among ties.

    `scores` has one number for each arm.

    >>> best(np.array([0.1, 0.3, 0.3 + 1e-15]))
    1
    """
    given = np.ascontiguousarray(scores, dtype=np.float64)
    if given.ndim != 1 or given.size == 0:
        raise InvalidChoice(f"scores must be one number for each arm, got an array of shape {given.shape}")
    if np.isnan(given).any():
        raise InvalidChoice(f"a score is NaN: that of arm {int(np.argmax(np.isnan(given)))}")
    return best_arm(given)


def lowest(scores: Floats) -> int:
    """The same of scores that are an array of floats; refuses them if one is no number."""
    if (arm := best_arm(scores)) < 0:
        raise InvalidChoice("no arm has a finite score: are the settings of the policy too large?")
    return arm


def tied(scores: Floats) -> list[int]:
    """All arms of the largest score.

    >>> tied(np.array([0.1, 0.3, 0.3 + 1e-15]))
    [1, 2]
    """
    arms = tied_arms(scores)
    return arms or [lowest(scores)]  # which refuses scores that are no numbers


def picked(scores: Floats, ties: Ties, rng: np.random.Generator) -> tuple[int, float]:
    """The best arm, among ties the lowest index or one drawn uniformly; and with which probability."""
    if ties == "lowest":
        return lowest(scores), 1.0
    arms = tied(scores)
    return (arms[0], 1.0) if len(arms) == 1 else (arms[int(rng.integers(len(arms)))], 1.0 / len(arms))


def share(scores: Floats, ties: Ties, arm: int) -> float:
    """The probability that `picked` picks `arm`."""
    if ties == "lowest":
        return float(arm == lowest(scores))
    arms = tied(scores)
    return (arm in arms) / len(arms)
