"""What was decided in a round."""

from __future__ import annotations

from typing import NamedTuple

from infex.linear import On
from infex.policies.choice import Choice


class Taken(NamedTuple):
    """What was decided in round t: the choice, what its reward is learnt on, and what exploring costs.

    `on` is the index of a fixed arm, features, or an arm in a context. `loss` is the estimated loss of an
    exploration, `different` says whether it played another arm than the greedy one. `noticed` are the rules
    that it took to read the context, such as "age clipped".
    """

    t: int
    choice: Choice
    on: On
    loss: float = 0.0
    different: bool = False
    noticed: tuple[str, ...] = ()
