"""Models of rewards, and estimators in the place of ridge regression: `Bandit(..., estimator=...)`."""

from infex.models.fit import Fit, Solution
from infex.models.forgetting import Discounted, Windowed
from infex.models.lasso import Lasso
from infex.models.logistic import Logistic
from infex.models.posterior import Posterior, Spent
from infex.models.ridge import Ridge
from infex.models.weighted import Weighted

__all__ = [
    "Discounted",
    "Fit",
    "Lasso",
    "Logistic",
    "Posterior",
    "Ridge",
    "Solution",
    "Spent",
    "Weighted",
    "Windowed",
]
