"""Ways of estimating, in the place of ridge regression: `Bandit(..., estimator=...)`."""

from infex.estimators.discounted import Discounted
from infex.estimators.fit import Fit
from infex.estimators.lasso import Lasso
from infex.estimators.logistic import Logistic
from infex.estimators.ridge import Ridge
from infex.estimators.solution import Solution
from infex.estimators.weighted import Weighted
from infex.estimators.windowed import Windowed

__all__ = [
    "Discounted",
    "Fit",
    "Lasso",
    "Logistic",
    "Ridge",
    "Solution",
    "Weighted",
    "Windowed",
]
