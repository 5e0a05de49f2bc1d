from collections.abc import Sequence

import numpy as np

from infex.arrays import Floats, Integers
from infex.core.choosing import Base
from infex.core.estimators import Fit
from infex.core.ridge import Ridge
from infex.core.runs import Law, Outcome

class GeneralRun(Outcome):
    def __init__(
        self,
        ridge: Ridge,
        base: Base,
        law: Law,
        noises: Floats,
        reward_rng: np.random.Generator,
        rng: np.random.Generator,
        horizon: int,
        checkpoints: Integers,
        *,
        changing: bool = False,
        apart: Ridge | None = None,
        own_clock: bool = False,
        fits: Sequence[Fit | None] = (None, None),
        weights: Floats | None = None,
        linked: bool = False,
        always: bool = False,
        random_ties: bool = False,
        degrees: float = 0.0,
        controls: Sequence[tuple[int, bool, float, int, float, float, float, float]] = (),
        spacing: int = 1,
        span: int = 0,
        delays: Integers | None = None,
        narrows: bool = False,
        steady: bool = False,
        record: bool = False,
    ) -> None: ...
    def play(
        self,
        first: int,
        last: int,
        exploring: Integers,
        ends: Integers,
        means: Floats,
        blocks: Floats | None = None,
        pauses: Sequence[Integers] = (),
    ) -> None: ...
