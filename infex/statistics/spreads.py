"""How figures are spread over runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats


class Spread(NamedTuple):
    """How a figure is spread over runs; `std` is the sample's (n - 1), NaN for one run."""

    runs: int
    mean: float
    std: float
    median: float


def spread(values: Floats) -> Spread:
    """Count, mean, standard deviation and median.

    >>> spread(np.array([1.0, 2.0, 6.0]))._asdict()
    {'runs': 3, 'mean': 3.0, 'std': 2.6457513110645907, 'median': 2.0}
    """
    std = float(np.std(values, ddof=1)) if values.size > 1 else float("nan")
    return Spread(int(values.size), float(np.mean(values)), std, float(np.median(values)))
