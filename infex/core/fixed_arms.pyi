import numpy as np

from infex.arrays import Floats, Integers
from infex.core.choosing import Base
from infex.core.ridge import Ridge
from infex.core.runs import Law, Outcome

class FixedArmsRun(Outcome):
    def __init__(
        self,
        ridge: Ridge,
        base: Base,
        means: Floats,
        gaps: Floats,
        law: Law,
        noise: float,
        reward_rng: np.random.Generator,
        rng: np.random.Generator,
        horizon: int,
        checkpoints: Integers,
        *,
        own: Ridge | None = None,
        always: bool = False,
        random_ties: bool = False,
        record: bool = False,
    ) -> None: ...
    def play(self, last: int, exploring: Integers) -> None: ...
