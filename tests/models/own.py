"""An estimator of a user's, in Python: the mean of x y, with the covariance of nothing learnt."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from infex.models import Fit, Solution


@dataclass(frozen=True)
class Averaging:
    """Settings, of which there are none."""

    def new_model(self, columns: Any, penalty: float) -> "AveragingFit":
        return AveragingFit(columns, penalty, self)


class AveragingFit(Fit):
    """What was learnt: a sum."""

    def __init__(self, columns: Any, penalty: float, estimator: Any) -> None:
        super().__init__(columns, penalty, estimator)
        self.total = np.zeros(self.dim)

    def add_observation(self, x: Any, reward: float, weight: float) -> None:
        self.total = self.total + weight * reward * x

    def solve(self, start: Any) -> Solution:
        return Solution.about(self.total / max(self.n_observations, 1), np.eye(self.dim) / self.penalty, 0.0)

    def observation_arrays(self) -> Any:
        return {"total": self.total}

    def restore_observations(self, arrays: Any, n_observations: int) -> None:
        self.total = np.array(arrays["total"])
