"""The linear model of a log: ridge over all rounds, and as it was at the start of each block.

`LogAnalysis` holds all that is found about a log once, for all targets.
"""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

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
    residuals_of,
    spans,
)
from infex.logs.log import NOT_OF_POLICY, reward_range

REMEDY = "Set both in the unit of the rewards, or bring rewards to about -1 to 1."
MOST_WORK = 2e9  # multiplications that frozen estimates may take
DESIGNS = {
    "jittered": "one drawn round of each block explores",
    "fixed": "exploring rounds are fixed",
    "every round": "every round has a known propensity",
    "thinned blocks": "rows of its blocks were left out",
    "none": "propensities are unknown",
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class ModelSums:
    """Sums over rewarded rows, each of which stands for h = 1/kept rounds; parts of a log add up.

    They are those of h x x', h reward x, h reward^2, h^2 x x', h and h^2; and the number of these rows.
    """

    gram: Floats
    moment: Floats
    square: float
    squared_gram: Floats
    weight: float
    squared_weight: float
    count: int

    @staticmethod
    def of(log: Log, rows: PlayedRows) -> ModelSums:
        """The sums of a log, in which the arms of `rows` were played."""
        parts = (ModelSums._of_span(log, rows, span) for span in spans(len(log)))
        return functools.reduce(operator.add, parts)

    @staticmethod
    def _of_span(log: Log, rows: PlayedRows, span: slice) -> ModelSums:
        rewarded, counts = log.rewarded[span], log.inverse_kept
        x, reward = rows.inside(span)[rewarded], log.reward[span][rewarded]
        if counts is None:
            gram, size = x.T @ x, reward.size
            return ModelSums(gram, x.T @ reward, float(reward @ reward), gram, size, size, size)
        h = counts[span][rewarded]
        scaled = h[:, None] * x
        return ModelSums(
            scaled.T @ x,
            scaled.T @ reward,
            float(h @ reward**2),
            scaled.T @ scaled,
            float(h.sum()),
            float(h @ h),
            reward.size,
        )

    def __add__(self, other: ModelSums) -> ModelSums:
        names = ("gram", "moment", "square", "squared_gram", "weight", "squared_weight", "count")
        return ModelSums(*(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def is_thinned(self) -> bool:
        """Whether rows were left out of the log."""
        return self.weight != self.count

    @property
    def mean_weight(self) -> float:
        """The mean of h."""
        return self.weight / self.count if self.count else 1.0

    def scaled(self, count: int) -> LogSums:
        """The sums of so many rounds that are like all those that the rows stand for."""
        share = count / self.weight if self.count else 1.0
        return LogSums(self.gram * share, self.moment * share, self.square * share, count)

    @property
    def effective_count(self) -> int:
        """The number of rows of equal h that carry as much information: (sum h)^2/sum h^2."""
        return round(self.weight**2 / self.squared_weight) if self.is_thinned else self.count


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


def fit_model(sums: ModelSums, facts: LogFacts, unit: float, settings: ModelSettings) -> LogModel:
    """The model from sums over rounds; noise and bound by the caller, or by the log, or assumed.

    `unit` is what a map divides features by: penalty and bound are those of features before that.
    """
    penalty = (1.0 if facts.penalty is None else facts.penalty) / unit**2
    noise, ground, words = _noise(sums.scaled(sums.count), penalty, facts, settings)
    bound = settings.bound if settings.bound is not None else facts.bound
    if bound is None:
        bound, ground, words = 1.0, "assumed", f"{words}; |theta| <= 1 is assumed"
    if sums.is_thinned:
        ground, words = "assumed", f"{words}; that `kept` does not depend on rewards is assumed"
    fewer = sums.scaled(sums.effective_count)
    left = residuals_of(fewer, LEAST_POSTERIOR_PENALTY)  # a larger penalty leaves more than the noise
    misfit = misfit_words([fewer], left.square, noise, bound * unit, unit)
    if misfit:
        ground, misfit = "assumed", f"{misfit}, so that intervals of the model need not hold. {REMEDY}"
    ellipsoid = _ellipsoid(sums, 1.0 - settings.confidence, noise, bound * unit, penalty)
    return LogModel(ellipsoid, noise, bound * unit, ground, words, misfit)


def _ellipsoid(sums: ModelSums, delta: float, noise: float, bound: float, penalty: float) -> Ellipsoid:
    """The ellipsoid about the estimate of ridge regression, in which rows count h, divided by its mean.

    theta - theta* = V^-1 (sum h x noise - penalty theta*) with V = penalty + sum h x x'. The sum is bounded
    in U^-1 with U = penalty + sum h^2 x x', as for rows h x, and so the error in V U^-1 V (Russac et al.,
    2019, Theorem 1). U is V if no row was left out.
    """
    settings = {"delta": delta, "noise": noise, "bound": bound, "penalty": penalty}
    mean = sums.scaled(sums.count)
    if not sums.is_thinned:
        return ellipsoid_of_sums(mean.gram, mean.moment, **settings)
    rows = ellipsoid_of_sums(sums.squared_gram / sums.mean_weight**2, mean.moment, **settings)
    gram = penalty * np.eye(len(mean.gram)) + mean.gram
    shape = gram @ np.linalg.solve(rows.gram, gram)
    centre = np.asarray(np.linalg.solve(gram, mean.moment), dtype=np.float64)
    return Ellipsoid(centre, 0.5 * (shape + shape.T), rows.radius)


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
    """A log with its design and its model, of the decisions that a policy took.

    `left_out` counts others, which are not in it, by the columns that tell them (`NOT_OF_POLICY`).
    Its rows are those of one stream after the other: `order` are their places before, None if they were so.
    """

    log: Log
    order: Integers | None
    left_out: Mapping[str, int]
    features: ArmFeatures
    rows: PlayedRows
    design: Design
    sums: ModelSums
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
        rows, reward, counts = self.rows, self.log.reward, self.log.inverse_kept
        if counts is not None:
            roots = np.sqrt(counts / self.sums.mean_weight)
            rows, reward = (
                PlayedRows(rows.table[rows.which] * roots[:, None], np.arange(reward.size)),
                reward * roots,
            )
        return block_estimates(*rows, reward, self.log.rewarded, starts, renewed, penalty_of(self.log))

    @functools.cached_property
    def told_theta(self) -> Floats:
        """The estimate of a bandit that was told each reward of the log once, whatever `kept` says."""
        if not self.sums.is_thinned:
            return self.model.theta
        sums = ModelSums.of(replace(self.log, kept=None), self.rows)
        gram = penalty_of(self.log) * np.eye(len(sums.gram)) + sums.gram
        return np.asarray(np.linalg.solve(gram, sums.moment), dtype=np.float64)

    @functools.cached_property
    def shares(self) -> Floats | None:
        """How much each round counts, with mean 1, if rows were left out of the log; otherwise None."""
        counts = self.log.inverse_kept
        return None if counts is None else counts / counts.mean()

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

    def in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values for the rows of the log as it was given, in the order that its rows have here."""
        return values if self.order is None else values[self.order]

    def unit_rewards(self, reward: Floats) -> Floats:
        """Rewards scaled to [0, 1]."""
        assert self.rewards is not None
        least, most = self.rewards
        scaled: Floats = (reward - least) / (most - least)
        return scaled

    @functools.cached_property
    def _unit(self) -> NDArray[Any] | None:
        return self.log.own_unit

    def units(self, rows: Integers) -> Integers | None:
        """The unit of each row as a number; None if no unit has several rows."""
        unit = self._unit
        if unit is None:
            return None
        _, codes = np.unique(unit[rows], return_inverse=True)
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
    given, log = log, log.of_policy()
    order: Integers | None = None
    if log.stream is not None:
        codes = np.unique(log.stream, return_inverse=True)[1]
        if (np.diff(codes) < 0).any():
            order = np.argsort(codes, kind="stable")
            log = log.take(order)
    features = arm_features(log)
    rows = played_rows(log, features)
    sums = ModelSums.of(log, rows)
    return LogAnalysis(
        log=log,
        order=order,
        left_out=_left_out(given) if len(log) < len(given) else {},
        features=features,
        rows=rows,
        design=design_of(log),
        sums=sums,
        model=fit_model(sums, log.facts, unit_of(log.features), settings),
        confidence=settings.confidence,
        rewards=settings.rewards,
        anytime=anytime,
    )


def _left_out(log: Log) -> dict[str, int]:
    """How many decisions are none of a policy, by the columns that tell them."""
    columns = {name: getattr(log, name) for name in NOT_OF_POLICY}
    return {name: int(column.sum()) for name, column in columns.items() if column is not None}


def of_policy(part: Log) -> Log:
    """A part of a log with the decisions that the policy took; refused if there are none."""
    if sum(_left_out(part).values()) == len(part):
        raise InvalidLog(
            f"no decision of a part of this log was taken by a policy: read larger parts or, to evaluate by "
            f"these decisions alone, parts without the columns {', '.join(NOT_OF_POLICY)}"
        )
    return part.of_policy()
