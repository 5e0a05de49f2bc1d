"""Means, quantiles, spreads, paired differences and slopes, with intervals that ask for no normal law.

Nothing here loads SciPy before a function that needs it is called.
"""

from infex.statistics.order_statistics import quantile_intervals
from infex.statistics.paired_tests import PairedTest, holm, paired_test
from infex.statistics.resampling import (
    PAIRS_OF_AN_INTERVAL,
    Difference,
    Interval,
    mean_intervals,
    paired,
    quantile,
)
from infex.statistics.slopes import slope
from infex.statistics.spreads import Spread, spread

__all__ = [
    "PAIRS_OF_AN_INTERVAL",
    "Difference",
    "Interval",
    "PairedTest",
    "Spread",
    "holm",
    "mean_intervals",
    "paired",
    "paired_test",
    "quantile",
    "quantile_intervals",
    "slope",
    "spread",
]
