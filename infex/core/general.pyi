from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from infex.arrays import Floats, Integers
from infex.core.choosing import Base
from infex.core.estimators import Fit
from infex.core.ridge import Ridge
from infex.core.runs import Law, Outcome

class ControlKind(IntEnum):
    LIMITS = ...
    GUARDS = ...
    CERTAINTY = ...
    PAUSES = ...

class Control:
    def __init__(
        self,
        kind: ControlKind,
        makes_up: bool = False,
        limit: float = 0.0,
        over: int = 0,
        noise: float = 0.0,
        bound: float = 0.0,
        delta: float = 1.0,
        scale: float = 0.0,
    ) -> None: ...

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
        explored: Ridge | None = None,
        own_clock: bool = False,
        fits: Sequence[Fit | None] = (None, None),
        weights: Floats | None = None,
        linked: bool = False,
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
        rewards: Floats | None = None,
    ) -> None: ...
    def play_arm(
        self,
        arm: int,
        explores: bool,
        means: Floats,
        columns: Floats | None = None,
        rewards: Floats | None = None,
        features: Floats | None = None,
    ) -> None: ...
