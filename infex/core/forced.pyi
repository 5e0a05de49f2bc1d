import numpy as np

from infex.arrays import Floats, Integers
from infex.core.runs import Law, Outcome

def fading_strength(scale: float, of_n: float, of_d: float, rewards: float, dim: float) -> float: ...
def least_estimate(top: float, keep: float) -> float: ...

class ForcedRun(Outcome):
    def __init__(
        self,
        columns: Floats,
        penalty: float,
        means: Floats,
        gaps: Floats,
        law: Law,
        noise: float,
        reward_rng: np.random.Generator,
        rng: np.random.Generator,
        horizon: int,
        checkpoints: Integers,
        *,
        keep: float = 0.0,
        first: float = 0.0,
        later: float = 0.0,
        of_n: float = 1.0,
        of_d: float = 1.0,
        screens: bool = True,
        random_ties: bool = False,
        record: bool = False,
    ) -> None: ...
    def play(self, first: int, last: int, forced: Integers) -> None: ...
