from enum import IntEnum

from infex.arrays import Floats, Integers

class Law(IntEnum):
    SIGN = ...
    BERNOULLI = ...
    GAUSSIAN = ...
    STUDENT = ...
    TABLE = ...

class Outcome:
    regret_greedy: float
    regret_exploring: float
    explored: int
    different: int
    optimal: int
    curve: Floats
    counts: Integers
    arms: Integers
    rewards: Floats
    losses: Floats
    next_round: int
    @property
    def log_det_ratio(self) -> float: ...
