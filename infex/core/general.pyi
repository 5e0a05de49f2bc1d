from collections.abc import Sequence

import numpy as np

from infex.arrays import Floats, Integers
from infex.core.choosing import Base
from infex.core.controls import Control
from infex.core.models import Model
from infex.core.runs import Law, Outcome

class GeneralRun(Outcome):
    def __init__(
        self,
        model: Model,
        base: Base,
        law: Law,
        noises: Floats,
        reward_rng: np.random.Generator,
        rng: np.random.Generator,
        horizon: int,
        checkpoints: Integers,
        *,
        explored: Model | None = None,
        own_clock: bool = False,
        always: bool = False,
        random_ties: bool = False,
        degrees: float = 0.0,
        controls: Sequence[Control] = (),
        spacing: int = 1,
        span: int = 0,
        delays: Integers | None = None,
        narrows: bool = False,
        steady: bool = False,
        record: bool = False,
        asks: bool = False,
    ) -> None: ...
    def play(
        self,
        first: int,
        last: int,
        exploring: Integers,
        ends: Integers,
        means: Floats,
        offers: Floats | None = None,
        pauses: Sequence[Integers] = (),
        rewards: Floats | None = None,
    ) -> None: ...
    def play_arm(self, arm: int, explores: bool, features: Floats | None = None) -> bool: ...
    @property
    def waiting(self) -> bool: ...
