"""The linear model of a log: ridge over all rounds, and as it was at the start of each block.

`LogAnalysis` holds all that is found about a log once, for all targets.
"""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.core.estimators import block_estimates
from infex.errors import InvalidLog, InvalidSetting, LargeReward
from infex.evaluation.design import Design, design_of
from infex.evaluation.intervals import Bounds, Ground
from infex.features.base import unit_of
from infex.lab.planner.beliefs import LEAST_POSTERIOR_PENALTY, misfit_words
from infex.lab.theory.bounds import Ellipsoid, ellipsoid_of_sums
from infex.logs import Log, LogFacts
from infex.logs.arm_features import (
    ArmFeatures,
    LogSums,
    PlayedRows,
    arm_features,
    penalty_of,
    played_rows,
    played_sums,
    residuals_of,
    spans,
)
from infex.logs.log import reward_range

REMEDY = "Set both in the unit of the rewards, or bring rewards to about -1 to 1."
MOST_WORK = 2e9  # multiplications that frozen estimates may take
DESIGNS = {
    "jittered": "one drawn round of each block explores",
    "fixed": "exploring rounds are fixed",
    "every round": "every round has a known propensity",
    "none": "propensities are unknown",
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class LogModel:
    """Ridge over all rounds, with the ellipsoid that contains the true parameter in all rounds at once.

    So the interval of x'theta holds for all policies together, also for one that was chosen by this log. It
    rests on rewards that are linear in the features, and on the noise: `ground` says where that is from.
    `misfit` says why the rewards do not fit `noise` and `bound`; it is empty if they fit.
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

    def bounds(self, row: Floats) -> Bounds:
        """row'theta -+ radius |row| in V^-1."""
        width = math.sqrt(max(float(row @ np.linalg.solve(self.ellipsoid.gram, row)), 0.0))
        value, half = float(row @ self.theta), self.ellipsoid.radius * width
        return Bounds(value - half, value + half, "ellipsoid", self.ground)

    def warn_of_misfit(self) -> None:
        """Warns of rewards that do not fit the noise and the bound on which intervals rest."""
        if self.misfit:
            warnings.warn(self.misfit, LargeReward, stacklevel=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The arguments that every evaluation takes, checked.

    `rewards` are the smallest and the largest reward, by the log if the caller does not say; `noise` and
    `bound` are None if the log decides.
    """

    rewards: tuple[float, float] | None
    confidence: float
    noise: float | None
    bound: float | None


def model_settings(
    facts: LogFacts, *, rewards: object, confidence: float, noise: float | None, bound: float | None
) -> ModelSettings:
    """Checks what callers pass."""
    return ModelSettings(
        rewards=facts.rewards if rewards is None else reward_range(rewards),
        confidence=real("confidence", confidence, above=0, most=1 - 1e-12),
        noise=None if noise is None else real("noise", noise, above=0),
        bound=None if bound is None else real("bound", bound, above=0),
    )


def fit_model(sums: LogSums, facts: LogFacts, unit: float, settings: ModelSettings) -> LogModel:
    """The model from sums over rounds; noise and bound by the caller, or by the log, or assumed.

    `unit` is what a map divides features by: penalty and bound are those of features before that.
    """
    penalty = (1.0 if facts.penalty is None else facts.penalty) / unit**2
    noise, ground, words = _noise(sums, penalty, facts, settings)
    bound = settings.bound if settings.bound is not None else facts.bound
    if bound is None:
        bound, ground, words = 1.0, "assumed", f"{words}; |theta| <= 1 is assumed"
    left = residuals_of(sums, LEAST_POSTERIOR_PENALTY)  # a larger penalty leaves more than the noise
    misfit = misfit_words([sums], left.square, noise, bound * unit, unit)
    if misfit:
        ground, misfit = "assumed", f"{misfit}, so that intervals of the model need not hold. {REMEDY}"
    delta = 1.0 - settings.confidence
    ellipsoid = ellipsoid_of_sums(
        sums.gram, sums.moment, delta=delta, noise=noise, bound=bound * unit, penalty=penalty
    )
    return LogModel(ellipsoid, noise, bound * unit, ground, words, misfit)


def _noise(
    sums: LogSums, penalty: float, facts: LogFacts, settings: ModelSettings
) -> tuple[float, Ground, str]:
    """The noise, what it rests on, and both in words."""
    if settings.noise is not None:
        return settings.noise, "guaranteed", f"noise {settings.noise:g} as given"
    known = []
    if settings.rewards is not None:
        known.append((0.5 * (settings.rewards[1] - settings.rewards[0]), "half the range of rewards"))
    if facts.noise is not None:
        known.append((facts.noise, "as the log says"))
    if known:
        noise, source = min(known)
        return noise, "guaranteed", f"noise {noise:g}, {source}"
    left = residuals_of(sums, penalty)
    noise = math.sqrt(left.square / max(left.freedom, 1.0))
    return noise, "assumed", f"noise {noise:.3g}, estimated from residuals"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LogAnalysis:
    """A log with its design and its model; `held_out` decisions of the holdout were left out of it."""

    log: Log
    held_out: int
    features: ArmFeatures
    rows: PlayedRows
    design: Design
    sums: LogSums
    model: LogModel
    confidence: float
    rewards: tuple[float, float] | None
    anytime: bool

    @functools.cached_property
    def thetas(self) -> Floats:
        """Estimates from all rounds before each block, (blocks, d); not for each if that is too much work."""
        starts, dim = self.design.starts, self.rows.table.shape[1]
        most = max(int(MOST_WORK / max(dim, 4) ** 3), 1)
        renewed = np.arange(starts.size) % max(math.ceil(starts.size / most), 1) == 0
        log = self.log
        return block_estimates(*self.rows, log.reward, log.rewarded, starts, renewed, penalty_of(log))

    @functools.cached_property
    def frozen_estimates(self) -> Floats:
        """The frozen model's estimate of the arm played, in every round."""
        block, found = np.maximum(self.design.of_round, 0), np.empty(len(self.log))
        for span in spans(len(self.log)):
            found[span] = np.einsum("ij,ij->i", self.rows.inside(span), self.thetas[block[span]])
        return found

    @functools.cached_property
    def estimates(self) -> Floats:
        """The estimate of the model of all rounds of the arm played, in every round."""
        return self.rows.times(self.model.theta)

    @property
    def drawn_estimates(self) -> Floats:
        """The frozen model's estimates of the arms that were drawn."""
        found: Floats = self.frozen_estimates[self.design.rows]
        return found

    @property
    def ground(self) -> Ground:
        """What an interval of draws rests on: that fixed rounds represent the others is assumed."""
        return "assumed" if self.design.kind == "fixed" else "asymptotic"

    def unit_rewards(self, reward: Floats) -> Floats:
        """Rewards scaled to [0, 1]."""
        assert self.rewards is not None
        least, most = self.rewards
        scaled: Floats = (reward - least) / (most - least)
        return scaled

    def units(self, rows: Integers) -> Integers | None:
        """The unit of each row as a number; None if no unit has several rows."""
        if self.log.unit is None:
            return None
        _, codes = np.unique(self.log.unit[rows], return_inverse=True)
        return codes if codes.size and int(codes.max()) + 1 < codes.size else None

    def __str__(self) -> str:
        missing = int((~self.log.rewarded).sum())
        parts = [f"{len(self.log):,} rounds", f"{self.log.count} arms", DESIGNS[self.design.kind]]
        if self.design.drawn_blocks:
            parts.append(f"{self.design.rows.size:,} explorations")
        if missing:
            parts.append(f"{missing:,} rewards missing")
        return ", ".join(parts)


def analyse(
    log: Log,
    *,
    rewards: object = None,
    confidence: float = 0.95,
    noise: float | None = None,
    bound: float | None = None,
    anytime: bool = False,
) -> LogAnalysis:
    """All that does not depend on targets; the arguments are those of `evaluate`, and are checked here."""
    if not isinstance(log, Log):
        raise InvalidSetting(f"log must be a Log, as evaluation.read gives it, got a {type(log).__name__}")
    settings = model_settings(log.facts, rewards=rewards, confidence=confidence, noise=noise, bound=bound)
    given = len(log)
    log = log.without_held_out()
    if log.stream is not None:  # one stream after the other
        codes = np.unique(log.stream, return_inverse=True)[1]
        log = log if (np.diff(codes) >= 0).all() else log.take(np.argsort(codes, kind="stable"))
    features = arm_features(log)
    rows = played_rows(log, features)
    sums = played_sums(rows, log.reward, log.rewarded)
    return LogAnalysis(
        log=log,
        held_out=given - len(log),
        features=features,
        rows=rows,
        design=design_of(log),
        sums=sums,
        model=fit_model(sums, log.facts, unit_of(log.features), settings),
        confidence=settings.confidence,
        rewards=settings.rewards,
        anytime=anytime,
    )


def without_held_out(part: Log) -> Log:
    """A part of a log without the decisions of the holdout; refused if it has no others."""
    if part.held_out is not None and part.held_out.all():
        raise InvalidLog(
            "all decisions of a part of this log are of the holdout: read larger parts or, to evaluate by "
            "these decisions alone, parts without the column held_out"
        )
    return part.without_held_out()
