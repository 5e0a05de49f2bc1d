"""Statistics for any layout of arms: one regression over all of them, or one for each."""

from __future__ import annotations

import numpy as np

from infex.errors import InvalidSetting
from infex.linear.estimating import Estimator, Statistics
from infex.linear.fitted_blocks import FittedBlocks
from infex.linear.hybrid import HybridRidge
from infex.linear.offers import Layout, Separate
from infex.linear.regression import RidgeStatistics
from infex.linear.ridge_bank import BlockRidge


def started(layout: Layout, penalty: float, estimator: Estimator | None) -> Statistics:
    """Statistics with nothing learnt, by ridge regression or another estimator."""
    if not isinstance(layout, Separate):
        return RidgeStatistics(layout, penalty) if estimator is None else estimator.start(layout, penalty)
    if estimator is None:
        return HybridRidge(layout, penalty) if layout.shared else BlockRidge(layout, penalty)
    one = estimator.start(np.empty((layout.dim, 0)), penalty)
    if type(one) is RidgeStatistics:
        return started(layout, one.penalty, None)
    if layout.shared:
        raise InvalidSetting(
            f"features.hybrid is a ridge regression, which {type(estimator).__name__} is not: "
            "features.disjoint and features.interactions take any estimator"
        )
    return FittedBlocks(layout, penalty, estimator)
