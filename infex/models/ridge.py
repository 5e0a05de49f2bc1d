"""What is known of arms that share one regression."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.checks import real
from infex.core import posterior as core_posterior
from infex.core import ridge as core
from infex.core.pending import Pending
from infex.errors import DamagedFile, InvalidChoice, NotKept
from infex.models.base import Arrays, ModelPosterior
from infex.models.layout import (
    ContextOffer,
    DesignRow,
    DesignRows,
    Layout,
    Offer,
    Radius,
    check_arm,
    check_design,
    features_only,
    one_regression,
    radius_at,
    readable_rows,
)
from infex.models.noise import NoiseEstimate, NoiseSums, noise_estimate, noise_sums_kept
from infex.models.sums import Moments, Revision, SufficientStatistics, fitting_sums


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
class RidgePosterior(core_posterior.RidgePosterior):
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

    def on(self, offer: Offer) -> RidgePosterior:
        """What is known of other arms."""
        if isinstance(offer, ContextOffer):
            raise NotKept("a context alone says nothing of arms that share one regression: give their rows")
        return self.over(offer)

    def design_row(self, arm: int, features: Floats | None) -> DesignRow:
        """The index of a fixed arm, the row of one that changes, or the features themselves."""
        if features is not None:
            return np.array(features, dtype=np.float64)
        return arm if self.fixed else np.array(self.columns[:, arm])

    @property
    def moments(self) -> Moments:
        """What was learnt, as sums."""
        sums = self.sums()
        if sums is None:
            raise NotKept("the estimator keeps no sums of x x' and y x, which the policy asks for")
        return Moments.of(sums, self.told)


@final
class RidgePendingSums:
    """One sum of w x x' for all arms: see `core/pending.pxd`."""

    __slots__ = ("_columns", "_sums")

    def __init__(self, columns: Floats, sums: Pending | None = None) -> None:
        self._columns = columns
        self._sums = Pending(columns.shape[0]) if sums is None else sums

    def add(self, design: DesignRows, weights: Floats, times: int) -> None:
        """So many decisions on each of these more are pending, or fewer."""
        fixed = (design.place >= 0) & (weights == 1.0)
        if fixed.any():  # the same arm again and again
            arms, counts = np.unique(design.place[fixed], return_counts=True)
            self._sums.add_rows(self._columns.T[arms], np.ones(arms.size), times * counts)
        if not fixed.all():
            others = design.at(~fixed)
            self._sums.add_rows(others.features(self._columns), weights[~fixed], np.full(others.size, times))

    def none(self) -> RidgePendingSums:
        """Sums over no decision."""
        return RidgePendingSums(self._columns)

    def copy(self) -> RidgePendingSums:
        """The same, which stays as it is."""
        return RidgePendingSums(self._columns, self._sums.copy())

    def rearranged(self, layout: Layout, places: Integers) -> RidgePendingSums:
        """A copy, over other arms."""
        return RidgePendingSums(one_regression(layout), self._sums.copy())

    def narrowed(self, known: ModelPosterior) -> ModelPosterior:
        """What is known, with these sums in V."""
        assert isinstance(known, RidgePosterior)
        return self._sums.narrowed(known)


LEAST_PENALTY = 1e-10  # with which V can still be factored when arms lie in a plane


def checked_penalty(penalty: float) -> float:
    """`penalty`, if V can be factored with it."""
    return real("penalty", real("penalty", penalty, above=0), least=LEAST_PENALTY)


@final
class RidgeModel:
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    The sums keep what rounding takes from them; all else is derived from them, kept up by exact algebra, and
    computed anew before rounding can tell (see `core/ridge.pxd`). `columns` are the arms, (d, K); K may be 0.
    `scatter` is what the squares of rewards tell of their noise.
    """

    __slots__ = ("_known", "_ridge", "columns", "scatter")

    is_least_squares = True

    def __init__(self, columns: Floats, penalty: float = 1.0) -> None:
        self._ridge = core.Ridge(columns, checked_penalty(penalty))
        self.columns = self._ridge.columns
        self.scatter = NoiseSums()
        self._known = RidgePosterior(self._ridge), self._ridge.version

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def penalty(self) -> float:
        """The ridge penalty."""
        return self._ridge.penalty

    @property
    def n_observations(self) -> int:
        """How many rewards were learnt."""
        return self._ridge.told

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self._ridge.counts

    def posterior(self) -> RidgePosterior:
        """What is known of the arms until the next reward is learnt."""
        known, version = self._known
        if version != self._ridge.version:
            known = RidgePosterior(self._ridge)
            self._known = known, self._ridge.version
        return known

    def pending(self) -> RidgePendingSums:
        """Sums over no pending decision."""
        return RidgePendingSums(self.columns)

    def __reduce__(self) -> tuple[Callable[..., RidgeModel], tuple[core.Ridge, NoiseSums]]:
        return RidgeModel._on, (self._ridge, self.scatter)

    @staticmethod
    def _on(ridge: core.Ridge, scatter: NoiseSums) -> RidgeModel:
        """Statistics that go on with this ridge."""
        made = RidgeModel(ridge.columns, ridge.penalty)
        made._ridge, made.columns, made.scatter = ridge, ridge.columns, scatter
        made._known = RidgePosterior(ridge), ridge.version
        return made

    def check_reward(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        """The weight itself."""
        return weight

    def set_warm_start(self) -> None:
        """Nothing is searched for."""

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm, O(1) while the same arm goes on, or of any x."""
        if isinstance(on, int):
            check_arm(on, self.columns.shape[1])
            self._ridge.learn(on, reward, weight)
        else:
            self._ridge.absorb(features_only(on), reward, weight)
        self.scatter.squares += weight * reward * reward

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        check_design(design, self.columns.shape)
        self._ridge.learn_many(design.place, design.row, readable_rows(design, self.dim), rewards, weights)
        self.scatter.update_many(rewards, weights)

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        check_design(design, self.columns.shape)
        self._ridge.gather(design.place, design.row, readable_rows(design, self.dim), rewards, weights)
        self.scatter.update_many(rewards, weights)

    def observation_number(self, on: DesignRow) -> int:
        """How many rewards were told."""
        return self.n_observations

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; O(d^3 + d^2 K)."""
        on = revision.on if isinstance(revision.on, int) else features_only(revision.on)
        if isinstance(on, int):
            check_arm(on, self.columns.shape[1])
        self._ridge.revise(on, revision.before, revision.after, revision.weight)
        self.scatter.revise(revision, self._ridge.sums, self.penalty, self.n_observations)

    def merge(self, other: RidgeModel, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self._ridge.add(
            other.snapshot(), moved(other.counts, places, self.columns.shape[1]), other.n_observations
        )
        self.scatter.merge_observations(other.scatter, self._ridge.sums, self.penalty, self.n_observations)

    def sufficient_statistics(self) -> SufficientStatistics:
        """All that was learnt, as sums."""
        return SufficientStatistics(self.snapshot(), self.counts.copy(), self.n_observations)

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self._ridge.add(statistics.truth, statistics.counts, statistics.n_observations)
        self.scatter.begin(self._ridge.sums, self.penalty, self.n_observations)

    def rearranged(self, layout: Layout, places: Integers) -> RidgeModel:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other, known = RidgeModel(one_regression(layout), self.penalty), places >= 0
        counts = np.zeros(other.counts.shape)
        counts[:, known] = self.counts[:, places[known]]
        other._ridge.restart(self.snapshot(), counts, self.n_observations)
        other.scatter = self.scatter.copy()
        return other

    def arrays(self) -> Arrays:
        """All of it verbatim. `truth` has the run under way in it, for an estimator that knows of no runs."""
        return self._ridge.arrays() | {"scatter": np.array(self.scatter.figures)}

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here, to go on bit for bit, or from sums where no more is given."""
        n_observations = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], n_observations)
        scatter = noise_sums_kept(arrays["scatter"], n_observations) if "scatter" in arrays else None
        try:
            if "closed" in arrays:
                self._ridge.restore(arrays)
            else:  # of another estimator, or over other arms
                truth = fitting_sums("truth", arrays["truth"], self.dim, n_observations, self.penalty)
                self._ridge.restart(truth, counts, n_observations)
        except ValueError as wrong:
            raise DamagedFile(str(wrong)) from None
        self.scatter = scatter or NoiseSums().begin(self.snapshot(), self.penalty, n_observations)

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says of the fixed arms, or of those on offer."""
        columns = self.columns if offer is None or not isinstance(offer, np.ndarray) else offer
        return noise_estimate(
            self.snapshot(), self.penalty, self.scatter, self.n_observations, columns.T, most
        )

    def snapshot(self) -> Floats:
        """The sums with the run under way in them, (2, d + 1, d), as an array of its own."""
        return self._ridge.whole_sums()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """theta = V^-1 sum y x with V = penalty I + sum x x', as if no estimator were given.

    `penalty` goes before that of the bandit.

    The paper's two conditions on an estimator hold: sum over t of (X_t'theta_{t-1} - X_t'theta)^2 is
    O(d^2 log^2 T), and the error of x'theta falls as 1/sqrt(n) with n rewards of x (Abbasi-Yadkori, Pal
    and Szepesvari, 2011).

    >>> from infex import Bandit, Greedy
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), estimator=Ridge(penalty=0.1)).penalty
    0.1
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None:
            object.__setattr__(self, "penalty", checked_penalty(self.penalty))

    def scaled(self, unit: float) -> Ridge:
        """The same for features that are divided by `unit`: theta is then that many times as long."""
        return self if self.penalty is None else replace(self, penalty=self.penalty / unit**2)

    def new_model(self, columns: Floats, penalty: float) -> RidgeModel:
        """Statistics over these arms, with nothing learnt."""
        return RidgeModel(columns, penalty if self.penalty is None else self.penalty)
