"""Ridge regression in which some rewards count more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import HEAVIEST_WEIGHT, real
from infex.core import estimators as core
from infex.errors import InvalidSetting
from infex.models.base import FitSpec
from infex.models.fit import Solution, SummedFit
from infex.models.layout import DesignRow, features_of

Weight = Callable[[Floats], float]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """Ridge regression that minimises sum w (y - x'theta)^2 + penalty |theta|^2 with w = weight(x).

    For rewards that scatter more on some arms than on others: let `weight` be 1/variance, and the
    policy's `noise` 1. A weight given to `bandit.tell` comes on top, as a factor. A file cannot
    hold the function: `Bandit.load(path, estimator=...)` takes it again.

    The paper's two conditions on an estimator hold if all weights lie between two numbers above 0:
    it is ridge regression of sqrt(w) y on sqrt(w) x, and the bounds change by their ratio. Without
    such numbers nothing is known.

    >>> from infex import Bandit, Greedy
    >>> bandit = Bandit([[1.0]], Greedy(), estimator=Weighted(weight=lambda x: 3.0))
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.estimates().estimate.tolist()  # 3/(1 + 3)
    [0.75]
    """

    weight: Weight

    def __post_init__(self) -> None:
        if not callable(self.weight):
            raise InvalidSetting(f"weight must be a function of an arm's features, got {self.weight!r}")

    def compiled(self) -> FitSpec:
        """The same in compiled loops, with the weight of every arm."""
        return FitSpec(self._make, weigh=self._weigh)

    def _make(self, dim: int, penalty: float, rows: int, horizon: int) -> core.Fit:
        return core.WeightedFit(dim, penalty)

    def _weigh(self, columns: Floats) -> Floats:
        return np.array([self.weight_of(x) for x in columns.T])

    def weight_of(self, x: Floats) -> float:
        """The weight of rewards of x."""
        return real("weight(x)", self.weight(x.copy()), above=0)

    def new_model(self, columns: Floats, penalty: float) -> WeightedFit:
        """A model over these arms, with nothing learnt."""
        return WeightedFit(columns, penalty, self)


@final
class WeightedFit(SummedFit):
    """One sum of rewards by their weights; O(d^3) to solve."""

    def __init__(self, columns: Floats, penalty: float, estimator: Weighted) -> None:
        super().__init__(columns, penalty, estimator)
        self._weight_of = estimator.weight_of

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        own = self._weight_of(features_of(on, self.columns))
        return real("weight(x), with the weight that was told,", weight * own, above=0, most=HEAVIEST_WEIGHT)

    def solve(self, start: Floats) -> Solution:
        return Solution.of(self._sums, self.penalty)
