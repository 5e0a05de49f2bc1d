from collections.abc import Callable

import numpy.typing as npt

from infex.arrays import Bools, Floats, Integers

LOGISTIC_PROGRESS: int

def solve_ridge(sums: Floats, penalty: float, solved: Floats) -> float: ...
def block_estimates(
    table: Floats,
    which: Integers,
    rewards: Floats,
    rewarded: Bools,
    starts: Integers,
    renewed: Bools,
    penalty: float,
) -> Floats: ...
def fade_sums(sums: Floats, penalty: float, rate: float) -> None: ...
def solve_discounted(sums: Floats, squares: Floats, penalty: float, solved: Floats) -> float: ...
def least_squares(gram: npt.ArrayLike, moment: npt.ArrayLike) -> Floats: ...
def lasso(
    gram: npt.ArrayLike, moment: npt.ArrayLike, strength: float, start: npt.ArrayLike | None = None
) -> Floats: ...
def solve_logistic(
    rows: Floats, losses: Floats, wins: Floats, penalty: float, start: Floats, solved: Floats
) -> float: ...
def update_logistic(x: Floats, reward: float, weight: float, solved: Floats, progress: Floats) -> float: ...
def logistic_fit_is_due(rows: int, rewards: float, weight: float, progress: Floats) -> bool: ...
def begin_logistic_progress(progress: Floats, rewards: float) -> None: ...

class Fit:
    dim: int
    penalty: float
    memory: Floats
    @property
    def search_at(self) -> int | None: ...
    def update(self, x: npt.ArrayLike, reward: float, weight: float, solved: Floats) -> float: ...
    def restore(self, memory: npt.ArrayLike) -> None: ...

class WeightedFit(Fit):
    def __init__(self, dim: int, penalty: float) -> None: ...

class WindowedFit(Fit):
    window: int
    def __init__(self, dim: int, penalty: float, window: int, rows: int | None = None) -> None: ...

class DiscountedFit(Fit):
    rate: float
    def __init__(self, dim: int, penalty: float, rate: float) -> None: ...

class LassoFit(Fit):
    strength: float
    def __init__(self, dim: int, penalty: float, strength: float) -> None: ...

class LogisticFit(Fit):
    rows: int
    def __init__(self, dim: int, penalty: float, rows: int) -> None: ...

class PythonFit(Fit):
    function: Callable[[Floats, float, float, float, Floats, Floats], float]
    def __init__(
        self,
        dim: int,
        penalty: float,
        function: Callable[[Floats, float, float, float, Floats, Floats], float],
        size: int,
    ) -> None: ...
