"""What is known of arms that share one regression."""

from __future__ import annotations

import math
from typing import final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats
from infex.core.posterior import RidgePosterior
from infex.errors import InvalidChoice, NotKept
from infex.linear.moments import Moments
from infex.linear.offers import InContext, Offer, On, Radius, radius_at


def confidence_radius(
    log_det_ratio: float, penalty: float, noise: float, bound: float, delta: float
) -> float:
    """noise sqrt(alpha + 2 log(1/delta)) + sqrt(penalty) bound (Abbasi-Yadkori et al., 2011)."""
    return noise * math.sqrt(log_det_ratio - 2.0 * math.log(delta)) + math.sqrt(penalty) * bound


def one_radius(radius: Radius) -> float:
    """A radius, if it is one for all arms."""
    if isinstance(radius, np.ndarray) and radius.ndim:
        raise InvalidChoice(f"arms that share one regression have one radius, got {radius.size}")
    return float(radius)


@final
class Known(RidgePosterior):
    """What is known of K arms, (d, K), until the model learns again (then StalePosterior); a `copy` stays."""

    __slots__ = ()

    @property
    def drawn(self) -> tuple[int, ...]:
        """One draw for each feature, (d,)."""
        return (self.dim,)

    def radii(self, noise: float, bound: float, delta: float) -> float:
        """The confidence radius, one for all arms."""
        return confidence_radius(self.log_det_ratio, self.penalty, noise, bound, delta)

    def upper(self, beta: Radius) -> Floats:
        """Every arm's upper bound: estimate + beta width; for chances, that of the log-odds."""
        return super().upper(one_radius(beta))

    def perturbed(self, scale: Radius, direction: npt.ArrayLike) -> Floats:
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""
        return super().perturbed(one_radius(scale), direction)

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,)."""
        return super().optimistic(arm, radius_at(radius, arm))

    def on(self, offer: Offer) -> Known:
        """What is known of other arms."""
        if isinstance(offer, InContext):
            raise NotKept("a context alone says nothing of arms that share one regression: give their rows")
        return self.over(offer)

    def learnt_on(self, arm: int, features: Floats | None) -> On:
        """The index of a fixed arm, the row of one that changes, or the features themselves."""
        if features is not None:
            return np.array(features, dtype=np.float64)
        return arm if self.lasting else np.array(self.columns[:, arm])

    @property
    def moments(self) -> Moments:
        """What was learnt, as sums."""
        sums = self.sums()
        if sums is None:
            raise NotKept("the estimator keeps no sums of x x' and y x, which the policy asks for")
        return Moments.of(sums, self.told)
