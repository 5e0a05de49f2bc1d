import numpy.typing as npt

from infex.arrays import Floats, Integers
from infex.core.bank import RidgeBank

class Hybrid:
    own: RidgeBank
    shared: RidgeBank
    gone: float
    told: int
    version: int
    ties: Floats
    cross: Floats
    common: Floats
    def __init__(self, arms: int, features: int, shared: int, penalty: float = 1.0) -> None: ...
    @property
    def log_det_ratio(self) -> float: ...
    def update(self, arm: int, row: npt.ArrayLike, reward: float, weight: float = 1.0) -> None: ...
    def update_many(
        self, arms: Integers, places: Integers, rows: Floats, rewards: Floats, weights: Floats
    ) -> None: ...
    def gather(
        self, arms: Integers, places: Integers, rows: Floats, rewards: Floats, weights: Floats
    ) -> None: ...
    def revise(
        self, arm: int, row: npt.ArrayLike, before: float, after: float | None, weight: float = 1.0
    ) -> None: ...
    def add(
        self,
        sums: Floats,
        counts: Floats,
        cross: Floats,
        common: Floats,
        places: Integers,
        own_told: int,
        told: int,
        gone: float = 0.0,
    ) -> None: ...
    def over(self, places: Integers) -> Hybrid: ...
    def copy(self) -> Hybrid: ...
    def restore(
        self,
        own: RidgeBank,
        shared: RidgeBank | None,
        ties: Floats | None,
        cross: Floats,
        common: Floats,
        gone: float,
        told: int,
    ) -> None: ...
    def estimates(self, context: npt.ArrayLike, rows: npt.ArrayLike) -> Floats: ...
    def widths(self, context: npt.ArrayLike, rows: npt.ArrayLike) -> Floats: ...
    def deviations(
        self, context: npt.ArrayLike, rows: npt.ArrayLike, scale: float, direction: Floats
    ) -> Floats: ...
    def untold(self, context: npt.ArrayLike, rows: npt.ArrayLike) -> Floats: ...
    def narrowed(self, own: Integers, cross: Integers, common: Integers) -> Hybrid: ...
