"""Ridge regression that forgets bit by bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import real
from infex.errors import NotKept
from infex.estimators.fit import Fit
from infex.estimators.solution import Solution
from infex.estimators.sums import Sums
from infex.kernels.calling import address_of, fitter_arguments
from infex.kernels.fitters import fit_discounted, spread
from infex.linear.estimating import Arrays, FitForm
from infex.linear.revising import Revision, revise_sums


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

    def compiled(self) -> FitForm:
        """The same in compiled loops."""
        fitter = address_of(fit_discounted, fitter_arguments(built_in=True))
        settings = np.array([self.rate, self.rate**2])
        return FitForm(fitter, settings, lambda dim, arms, horizon: 4 * (dim + 1) * dim)

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

    def put_right(self, x: Floats, revision: Revision) -> None:
        """The age of what came before would change if a reward had never been."""
        if revision.after is None:
            raise NotKept(f"{self.estimator!r} cannot take a reward out: rewards count by their order")
        age = self.told - 1 - revision.turn
        revise_sums(self._sums.truth, self.penalty, x, revision, self._rate**age)

    def solve(self, start: Floats) -> Solution:
        """The covariance is V^-1 W V^-1."""
        solution = Solution.blank(self.dim)
        return solution.grown(spread(self._sums.truth, self._squares.truth, self.penalty, solution.solved))

    def kept(self) -> Arrays:
        return {"faded": self._sums.truth.copy(), "faded twice": self._squares.truth.copy()}

    def recall(self, arrays: Arrays, told: int) -> None:
        sums, squares = (
            Sums.kept(name, arrays, self.dim, told, self.penalty) for name in ("faded", "faded twice")
        )
        self._sums, self._squares = sums, squares

    def sums(self) -> tuple[Floats | None, int]:
        """The sums by their weights; as many rewards as these weights add up to."""
        rate = self._rate
        weights = self.told if rate == 1.0 else round((1.0 - rate**self.told) / (1.0 - rate))
        return self._sums.truth.copy(), weights
