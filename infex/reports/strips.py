"""One policy's curve on one problem: a line with a band, of means or of medians."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infex.checks import one_of
from infex.reports.shown import Floats, P, Shown

Look = Literal["std", "interval", "median"]
LOOKS: dict[str, str] = {  # what a line and its band are
    "std": "mean, one std",
    "interval": "mean, 95 % interval",
    "median": "median, quartiles",
}


class Strip(NamedTuple):
    """Rounds, a line, and the ends of its band; both are the line itself where there is no band."""

    rounds: NDArray[np.int64]
    line: Floats
    low: Floats
    high: Floats

    @property
    def has_band(self) -> bool:
        """Is there more than the line?"""
        return bool((self.high > self.low).any())


def strip(results: Shown[P], cell: P, policy: str, show: Look) -> Strip:
    """A policy's regret as `show` says: "std", "interval" or "median"."""
    one_of("show", show, tuple(LOOKS))
    if show == "std":
        rounds, mean, std = results.band(cell, policy)
        return Strip(rounds, mean, np.maximum(mean - std, 0), mean + std)
    if show == "interval":
        rounds, mean, low, high = results.bands(cell, policy)
        few = np.isnan(low) | np.isnan(high)
        return Strip(rounds, mean, np.where(few, mean, low), np.where(few, mean, high))
    rounds, curves = results.curves(cell, policy)
    low, line, high = np.quantile(curves, (0.25, 0.5, 0.75), axis=0)
    return Strip(rounds, line, low, high)
