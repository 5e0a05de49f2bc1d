"""Ridge regression, the default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from infex.arrays import Floats
from infex.linear import RidgeStatistics
from infex.linear.regression import checked_penalty


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """theta = V^-1 sum y x with V = penalty I + sum x x', as if no estimator were given.

    `penalty` goes before that of the bandit.

    The paper's two conditions on an estimator hold: sum over t of (X_t'theta_{t-1} - X_t'theta)^2 is
    O(d^2 log^2 T), and the error of x'theta falls as 1/sqrt(n) with n rewards of x (Abbasi-Yadkori, Pal
    and Szepesvari, 2011).

    >>> from infex import Bandit, Greedy
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), estimator=Ridge(penalty=0.1)).penalty
    0.1
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None:
            object.__setattr__(self, "penalty", checked_penalty(self.penalty))

    def scaled(self, unit: float) -> Ridge:
        """The same for features that are divided by `unit`: theta is then that many times as long."""
        return self if self.penalty is None else replace(self, penalty=self.penalty / unit**2)

    def start(self, columns: Floats, penalty: float) -> RidgeStatistics:
        """Statistics over these arms, with nothing learnt."""
        return RidgeStatistics(columns, penalty if self.penalty is None else self.penalty)
