from infex.arrays import Floats

class RidgeBank:
    sums: Floats
    solved: Floats
    runs: Floats
    def __init__(
        self, arms: int, features: int, penalty: float = 1.0, sums: Floats | None = None
    ) -> None: ...
    @property
    def log_det_ratio(self) -> float: ...
