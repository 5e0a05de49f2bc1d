"""Ridge regression that forgets bit by bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from infex.arrays import Floats
from infex.checks import real
from infex.estimators.fit import Fit
from infex.estimators.solution import Solution
from infex.estimators.sums import Sums
from infex.linear.estimating import Arrays


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Discounted:
    """Ridge regression in which a reward weighs rate^age; the age is how many rewards came after it.

    For rewards that drift: about 1/(1 - rate) rewards count. As in D-LinUCB (Russac, Vernade and
    Cappe, *Weighted linear bandits for non-stationary environments*, 2019), with V = penalty I +
    sum w x x' and W = penalty I + sum w^2 x x' the covariance is V^-1 W V^-1, and the volume is that
    of W. Samples of LinTS have this covariance too.

    The paper's two conditions on an estimator do not hold if the rate is below 1: no more than
    1/(1 - rate) rewards count, so the error stops falling. With rate 1 it is ridge regression.

    >>> from infex import Bandit, Greedy
    >>> bandit = Bandit([[1.0]], Greedy(), estimator=Discounted(rate=0.5))
    >>> for reward in (1.0, 0.0):
    ...     bandit.tell(bandit.ask(), reward)
    >>> bandit.estimates().estimate.tolist()  # (1/2 + 0)/(1 + 1/2 + 1)
    [0.2]
    """

    rate: float = 0.99

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", real("rate", self.rate, above=0, most=1))

    def start(self, columns: Floats, penalty: float) -> DiscountedFit:
        """Statistics over these arms, with nothing learnt."""
        return DiscountedFit(columns, penalty, self)


@final
class DiscountedFit(Fit):
    """Two sums: of rewards by their weights, and by the squares of these; O(d^3) to solve."""

    def __init__(self, columns: Floats, penalty: float, estimator: Discounted) -> None:
        super().__init__(columns, penalty, estimator)
        self._rate = estimator.rate
        self._sums = Sums(self.dim, self.penalty)
        self._squares = Sums(self.dim, self.penalty)

    def take(self, x: Floats, reward: float, weight: float) -> None:
        self._sums.fade(self._rate)
        self._squares.fade(self._rate**2)
        self._sums.add(x, reward, weight)
        self._squares.add(x, 0.0, weight)

    def solve(self, start: Floats) -> Solution:
        """With W = L L', the factor of V^-1 W V^-1 is L'V^-1."""
        mean, noise = self._sums.solve(), self._squares.solve()
        root: Any = np.linalg.solve(noise.factor.T, mean.factor.T @ mean.factor)
        return mean.spread(root, noise.volume)

    def kept(self) -> Arrays:
        return {"faded": self._sums.truth.copy(), "faded twice": self._squares.truth.copy()}

    def recall(self, arrays: Arrays) -> None:
        sums, squares = (Sums.kept(name, arrays, self.dim, self.penalty) for name in ("faded", "faded twice"))
        self._sums, self._squares = sums, squares

    def sums(self) -> tuple[Floats | None, int]:
        """The sums by their weights; as many rewards as these weights add up to."""
        rate = self._rate
        weights = self.told if rate == 1.0 else round((1.0 - rate**self.told) / (1.0 - rate))
        return self._sums.truth.copy(), weights
