"""What was decided in a round."""

from __future__ import annotations

from typing import NamedTuple

from infex.arrays import Floats
from infex.policies.choice import Choice


class Taken(NamedTuple):
    """What was decided in round t: the choice, what its reward is learnt on, and what exploring costs.

    `on` is the index of a fixed arm, or features. `loss` is the estimated loss of an exploration,
    `different` says whether it played another arm than the greedy one.
    """

    t: int
    choice: Choice
    on: int | Floats
    loss: float = 0.0
    different: bool = False
