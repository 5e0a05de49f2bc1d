"""The linear model of a log: ridge over all its rounds, and as it stood at the start of each block."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.core.estimators import block_estimates
from infex.errors import LargeReward
from infex.evaluation.intervals import Bounds, Ground
from infex.lab.planner.beliefs import LEAST_POSTERIOR_PENALTY, misfit_words
from infex.lab.theory.bounds import Ellipsoid, ellipsoid_of_sums
from infex.logs import Log, LogFacts
from infex.logs.arm_features import LogSums, PlayedRows, penalty_of, residuals_of

REMEDY = "Set both in the unit of the rewards, or bring rewards to about -1 to 1."
MOST_WORK = 2e9  # multiplications that renewing frozen estimates may take


@final
@dataclass(frozen=True, slots=True, eq=False)
class LogModel:
    """Ridge over all rounds with the ellipsoid that holds the true parameter in all rounds at once.

    The interval of x'theta then holds for all policies together, also one that was chosen by this log. It
    rests on rewards that are linear in the features, and on the noise: `ground` says where that is from.
    `misfit` says why the rewards do not fit `noise` and `bound`; it is empty where they fit.
    """

    ellipsoid: Ellipsoid
    noise: float
    bound: float
    ground: Ground
    words: str
    misfit: str

    @property
    def theta(self) -> Floats:
        """The estimate."""
        return self.ellipsoid.centre

    def width(self, row: Floats) -> float:
        """|row| in the inverse of V."""
        return math.sqrt(max(float(row @ np.linalg.solve(self.ellipsoid.gram, row)), 0.0))

    def bounds(self, row: Floats) -> Bounds:
        """row'theta -+ radius width."""
        value, half = float(row @ self.theta), self.ellipsoid.radius * self.width(row)
        return Bounds(value - half, value + half, "ellipsoid", self.ground)


def model_of(
    sums: LogSums,
    facts: LogFacts,
    unit: float,
    *,
    noise: float | None,
    bound: float | None,
    confidence: float,
    rewards: tuple[float, float] | None,
) -> LogModel:
    """The model from its sums; noise and bound as they are said, by the caller or the log, or assumed.

    `unit` is what a map divides features by: penalty and bound are said for features before that.
    """
    penalty = (1.0 if facts.penalty is None else facts.penalty) / unit**2
    sigma, ground, words = noise_of(sums, penalty, noise, facts.noise, rewards)
    length = bound if bound is not None else facts.bound
    if length is None:
        length, ground, words = 1.0, "assumed", f"{words}; |theta| <= 1 is assumed"
    left = residuals_of(sums, LEAST_POSTERIOR_PENALTY)  # a larger penalty leaves more than the noise
    misfit = misfit_words([sums], left.square, sigma, length * unit, unit)
    if misfit:
        ground, misfit = "assumed", f"{misfit}, so that intervals of the model need not hold. {REMEDY}"
    found = ellipsoid_of_sums(
        sums.gram, sums.moment, delta=1.0 - confidence, noise=sigma, bound=length * unit, penalty=penalty
    )
    return LogModel(found, sigma, length * unit, ground, words, misfit)


def warn_of_misfit(model: LogModel, stacklevel: int = 2) -> None:
    """Warns of rewards that do not fit the noise and the bound that intervals of the model rest on."""
    if model.misfit:
        warnings.warn(model.misfit, LargeReward, stacklevel=stacklevel + 1)


def noise_of(
    sums: LogSums,
    penalty: float,
    said: float | None,
    logged: float | None,
    rewards: tuple[float, float] | None,
) -> tuple[float, Ground, str]:
    """The noise, what that rests on, and in words."""
    if said is not None:
        return said, "guaranteed", f"noise {said:g} as it was given"
    known = [] if rewards is None else [(0.5 * (rewards[1] - rewards[0]), "half the range of rewards")]
    known += [] if logged is None else [(logged, "as the log says")]
    if known:
        sigma, source = min(known)
        return sigma, "guaranteed", f"noise {sigma:g}, {source}"
    left = residuals_of(sums, penalty)
    sigma = math.sqrt(left.square / max(left.freedom, 1.0))
    return sigma, "assumed", f"noise {sigma:.3g}, estimated from residuals"


def frozen_thetas(rows: PlayedRows, log: Log, starts: Integers) -> Floats:
    """The estimate from all rounds before each block, (blocks, d), or, if that is too much work, some."""
    dim = rows.table.shape[1]
    most = max(int(MOST_WORK / max(dim, 4) ** 3), 1)
    renewed = np.arange(starts.size) % max(math.ceil(starts.size / most), 1) == 0
    return block_estimates(*rows, log.reward, log.rewarded, starts, renewed, penalty_of(log))
