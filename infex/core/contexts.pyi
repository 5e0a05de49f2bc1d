import numpy as np

from infex.arrays import Floats, Integers
from infex.core.bank import RidgeBank
from infex.core.choosing import Base
from infex.core.runs import Law, Outcome

class ContextsRun(Outcome):
    def __init__(
        self,
        bank: RidgeBank,
        base: Base,
        law: Law,
        noises: Floats,
        reward_rng: np.random.Generator,
        rng: np.random.Generator,
        horizon: int,
        checkpoints: Integers,
        *,
        own: RidgeBank | None = None,
        always: bool = False,
        random_ties: bool = False,
        degrees: float = 0.0,
        record: bool = False,
    ) -> None: ...
    def play(
        self, first: int, contexts: Floats, means: Floats, exploring: Integers, rewards: Floats | None = None
    ) -> None: ...
