"""What every model and estimator can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

from infex.arrays import Floats, Integers
from infex.checks import safe_repr
from infex.core import estimators as core
from infex.errors import InvalidSetting
from infex.models.layout import DesignRow, DesignRows, Layout, Offer, Radius
from infex.models.sums import BlockMoments, Moments, Revision, SufficientStatistics


class ModelPosterior(Protocol):
    """What is known of K arms of d features, until the model learns again.

    Reading it after the model has learnt is refused (StalePosterior).
    """

    @property
    def greedy(self) -> int:
        """The arm of the largest estimate, -1 without arms."""

    @property
    def count(self) -> int:
        """K."""

    @property
    def dim(self) -> int:
        """d, how many parameters are estimated in all."""

    @property
    def drawn(self) -> tuple[int, ...]:
        """The shape of the draws that `perturbed` takes."""

    @property
    def fixed(self) -> bool:
        """Are these arms on offer in every round?"""

    @property
    def has_counts(self) -> bool:
        """Were rewards counted by arm?"""

    @property
    def columns(self) -> Floats:
        """The arms, (d, K)."""

    @property
    def penalty(self) -> float:
        """The ridge penalty: V_0 = penalty I."""

    @property
    def log_det_ratio(self) -> float:
        """log(det V/det V_0), of all that is estimated."""

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""

    @property
    def factor(self) -> Floats:
        """A lower triangular M with M'M the covariance of theta, (d, d)."""

    @property
    def estimates(self) -> Floats:
        """Every arm's estimated mean reward, (K,)."""

    @property
    def widths(self) -> Floats:
        """Every arm's width, (K,)."""

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of every arm, (2, K), where they are counted."""

    @property
    def moments(self) -> Moments | BlockMoments:
        """What was learnt, as sums."""

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""

    def width(self, arm: int) -> float:
        """One arm's width."""

    def radii(self, noise: float, bound: float, delta: float) -> Radius:
        """The confidence radius: of all arms, or of each."""

    def upper(self, beta: Radius) -> Floats:
        """Every arm's upper bound, (K,)."""

    def perturbed(self, scale: Radius, direction: Floats) -> Floats:
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (K,)."""

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,)."""

    def on(self, offer: Offer) -> Self:
        """What is known of other arms."""

    def among(self, places: Integers) -> Self:
        """What is known of some of the arms."""

    def design_row(self, arm: int, features: Floats | None) -> DesignRow:
        """What the reward of an arm is learnt on; `features` are what a policy wants it to be learnt on."""

    def copy(self) -> Self:
        """The same, which stays as it is whatever is learnt."""


Arrays = dict[str, NDArray[Any]]


class PendingSums(Protocol):
    """Sums over decisions that wait for their reward, as suits the statistics that will learn from them.

    They depend on what is pending alone, to the last bit, and not on the order in which it came and went.
    """

    def add(self, design: DesignRows, weights: Floats, times: int) -> None:
        """So many decisions on each of these more are pending, or fewer (below 0), with weights up to 1."""

    def none(self) -> Self:
        """Sums over no decision."""

    def copy(self) -> Self:
        """The same, which stays as it is."""

    def rearranged(self, layout: Layout, places: Integers) -> Self:
        """A copy, over other arms: each at its old place, or new (-1)."""

    def narrowed(self, known: ModelPosterior) -> ModelPosterior:
        """What is known, with these sums in V; estimates stay."""


class Model(Protocol):
    """What was learnt from `told` rewards, over the fixed arms in `columns`, (d, K).

    Where arms have a regression each, none is fixed, and rewards are learnt on arms in a context. Reading
    changes nothing. `is_least_squares`: is it least squares, so that a reward may have a weight?
    """

    columns: Floats

    @property
    def n_observations(self) -> int:
        """How many rewards were learnt."""

    @property
    def is_least_squares(self) -> bool:
        """Is it least squares?"""

    @property
    def penalty(self) -> float:
        """The ridge penalty."""

    def posterior(self) -> ModelPosterior:
        """What is known of the fixed arms until the next reward is learnt (then StalePosterior)."""

    def pending(self) -> PendingSums:
        """Sums over no pending decision."""

    def check_reward(self, reward: float) -> None:
        """Refuses a reward that could not be taken in; changes nothing."""

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        """The weight with which a reward of a fixed arm, or of any x, is to be learnt; changes nothing.

        Where a user's function says it, it is asked here alone.
        """

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of a fixed arm, or of any x, with the weight that `counted` gave."""

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, with the weights that `counted` gave."""

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """The same as quickly as can be: all but for rounding as if they were learnt in this order."""

    def observation_number(self, on: DesignRow) -> int:
        """How many rewards were told to what learns on this: the number of the next one."""

    def revise(self, revision: Revision) -> None:
        """Gives a reward that was learnt another value, or takes it out: as if it had been told so.

        NotKept, and nothing has changed, where that cannot be had exactly.
        """

    def set_warm_start(self) -> None:
        """A decision was taken on what is known now: a search may start from its estimate next time."""

    def rearranged(self, layout: Layout, places: Integers) -> Self:
        """What was learnt, over other arms: each at its old place, or new (-1)."""

    def merge(self, other: Self, places: Integers) -> None:
        """Takes in what another has learnt; each of its arms is at a place here, or nowhere (-1)."""

    def sufficient_statistics(self) -> SufficientStatistics:
        """All that was learnt, as sums that add up; CannotMerge where rewards are not kept as sums."""

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""

    def arrays(self) -> Arrays:
        """All of it, as arrays to be kept: what is restored from them goes on bit for bit."""

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; refuses other shapes, or what is not finite (DamagedFile)."""


@runtime_checkable
class Estimator(Protocol):
    """Settings that make statistics."""

    def new_model(self, columns: Floats, penalty: float) -> Model:
        """Statistics over these arms, with nothing learnt."""


@runtime_checkable
class ScaledEstimator(Protocol):
    """An estimator some of whose settings are in the units of the features."""

    def scaled(self, unit: float) -> Estimator:
        """The same for features that are divided by `unit`."""


@runtime_checkable
class EstimatorWithPenalty(Protocol):
    """An estimator whose penalty goes before the bandit's, unless it is None."""

    @property
    def penalty(self) -> float | None:
        """The penalty, in the units of the features."""


def rescaled(estimator: Estimator | None, unit: float) -> Estimator | None:
    """An estimator for features that are divided by `unit`; its settings are for them as they were."""
    return estimator.scaled(unit) if unit != 1.0 and isinstance(estimator, ScaledEstimator) else estimator


class FitSpec(NamedTuple):
    """An estimator in the terms of compiled loops.

    `make` gives the core's estimator, by dimension, penalty, number of different rows, and horizon. With
    `linked` scores are log-odds. `weigh` gives the weight of rewards of each arm, from the arms, (d, K).
    `penalty` goes before the run's.
    """

    make: Callable[[int, float, int, int], core.Fit]
    linked: bool = False
    weigh: Callable[[Floats], Floats] | None = None
    penalty: float | None = None


@runtime_checkable
class CompiledEstimator(Protocol):
    """An estimator that compiled loops can play."""

    def compiled(self) -> FitSpec | None:
        """How they do; None if they cannot."""


def fit_spec(estimator: Estimator) -> FitSpec | None:
    """How compiled loops play an estimator, if they can; a subclass must say so itself."""
    if not isinstance(estimator, CompiledEstimator) or "compiled" not in vars(type(estimator)):
        return None
    return estimator.compiled()


def checked_estimator(estimator: object) -> Estimator | None:
    """`estimator`, if it can start statistics; None is ridge regression."""
    if estimator is None:
        return None
    if isinstance(estimator, type) or not isinstance(estimator, Estimator):
        raise InvalidSetting(f"estimator must be one of infex.models, got {safe_repr(estimator)}")
    return estimator
