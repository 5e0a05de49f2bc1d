from infex.arrays import Floats
from infex.core.bank import RidgeBank
from infex.core.estimators import Fit
from infex.core.ridge import Ridge

def fading_strength(scale: float, of_n: float, of_d: float, rewards: float, dim: float) -> float: ...
def least_estimate(top: float, keep: float) -> float: ...

class Model:
    arms: int
    @property
    def log_det_ratio(self) -> float: ...

class SharedModel(Model):
    ridge: Ridge

class RegressionModel(SharedModel):
    def __init__(
        self,
        ridge: Ridge,
        *,
        changing: bool = False,
        fit: Fit | None = None,
        weights: Floats | None = None,
        logistic: bool = False,
    ) -> None: ...

class LassoModel(SharedModel):
    def __init__(
        self,
        ridge: Ridge,
        *,
        changing: bool = False,
        strength: float = 0.0,
        fading: float = 0.0,
        of_n: float = 1.0,
        of_d: float = 1.0,
        screen: LassoModel | None = None,
        keep: float = 0.0,
    ) -> None: ...

class DisjointModel(Model):
    def __init__(self, bank: RidgeBank) -> None: ...
