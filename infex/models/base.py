"""The base class of models, and estimators: settings that make a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

from infex.arrays import Floats, Integers
from infex.checks import safe_repr
from infex.core import estimators as core
from infex.errors import CannotMerge, InvalidSetting, NotKept
from infex.models.layout import DesignRow, DesignRows, Layout
from infex.models.sums import Revision, SufficientStatistics

if TYPE_CHECKING:
    from infex.models.noise import StandardErrors
    from infex.models.posterior import ModelPosterior

Arrays = dict[str, NDArray[Any]]


class Model(ABC):
    """What was learnt from rewards, by one regression for all arms or one for each.

    `columns`, (d, K), are the fixed arms; a model with a regression for each arm has none, and learns rewards
    of arms in a context. Reading changes nothing.
    """

    __slots__ = ()

    layout: Layout
    columns: Floats
    estimator: Estimator | None = None  # None is ridge regression

    @property
    def is_least_squares(self) -> bool:
        """May a reward have a weight? If not, rewards are 0 or 1 and estimates probabilities."""
        return True

    @property
    @abstractmethod
    def n_observations(self) -> int:
        """How many rewards were learnt."""

    @property
    @abstractmethod
    def penalty(self) -> float:
        """The ridge penalty."""

    @abstractmethod
    def posterior(self) -> ModelPosterior:
        """The posterior of the fixed arms; reading it after the next update raises StalePosterior."""

    @abstractmethod
    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Adds an observation, weighted as `effective_weight` says; ignores one of an arm that is gone."""

    @abstractmethod
    def revise(self, revision: Revision) -> None:
        """Replaces or removes a reward, as if it had been told so from the start.

        Raises NotKept, and changes nothing, where the model cannot do that exactly.
        """

    @abstractmethod
    def rearranged(self, layout: Layout, places: Integers) -> Self:
        """A model of the same rewards over other arms; `places` are their old indices, -1 for a new arm."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """The whole state as arrays; a model restored from them goes on bit for bit."""

    @abstractmethod
    def restore(self, arrays: Arrays) -> None:
        """Replaces the state by saved arrays; DamagedFile for wrong shapes or numbers that are not finite."""

    def check_reward(self, reward: float) -> None:  # noqa: B027 - most take any reward
        """Raises an error for a reward that the model cannot learn; changes nothing."""

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        """The weight to learn a reward with. A user's weight function is called here and nowhere else."""
        return weight

    def set_warm_start(self) -> None:  # noqa: B027 - most do not search
        """Lets the next search start from the present estimate, on which a decision was taken."""

    def observation_number(self, on: DesignRow) -> int:
        """How many rewards the regression of this row has learnt so far."""
        return self.n_observations

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Adds many observations in their order; the same as `update` for each."""
        for place, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.update(design.on(place), reward, weight)

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Adds many observations at once: faster than `update_many`, and equal to it up to rounding."""
        self.update_many(design, rewards, weights)

    def sufficient_statistics(self) -> SufficientStatistics:
        """Sums that add up with those of other models; CannotMerge where the model keeps no such sums."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt is not kept as sums that add up: "
            "its rewards count by their order, or one by one"
            f"{self._define('sufficient_statistics and add_statistics')}"
        )

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        """Adds the sufficient statistics of a model elsewhere, over the same arms."""
        self.sufficient_statistics()

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        """Standard errors of x'theta for rows x, (n, d), by the residuals of the rewards that were learnt.

        With a regression for each arm, rows are contexts of `arms`, (n,), with shared features behind them.
        Rewards have a variance of `largest_variance` at most, if it is not 0. NotKept where the model keeps
        no squares of rewards.
        """
        raise NotKept(
            f"{safe_repr(self.estimator)} has no intervals by the noise that was seen: it keeps no squares "
            "of rewards, or is not least squares; `low` and `high` of `estimates` are the theory's"
            f"{self._define('standard_errors')}"
        )

    def _define(self, methods: str) -> str:
        """What a model of a user's may define to do what it cannot do yet, as the end of a message."""
        kind = type(self)
        return "" if kind.__module__.startswith("infex.") else f"; {kind.__name__} may define {methods}"


@runtime_checkable
class Estimator(Protocol):
    """Settings that make a model."""

    def new_model(self, columns: Floats, penalty: float) -> Model:
        """A model over these arms, (d, K), with nothing learnt."""


@runtime_checkable
class ScaledEstimator(Protocol):
    """An estimator some of whose settings are in the units of the features."""

    def scaled(self, unit: float) -> Estimator:
        """The estimator for features that are divided by `unit`."""


@runtime_checkable
class EstimatorWithPenalty(Protocol):
    """An estimator whose penalty goes before the bandit's, unless it is None."""

    @property
    def penalty(self) -> float | None:
        """The penalty, in the units of the features."""


def rescaled(estimator: Estimator | None, unit: float) -> Estimator | None:
    """The estimator with its settings converted to features that are divided by `unit`."""
    return estimator.scaled(unit) if unit != 1.0 and isinstance(estimator, ScaledEstimator) else estimator


class FitSpec(NamedTuple):
    """How compiled loops play an estimator.

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
        """How compiled loops play it; None if they cannot."""


def fit_spec(estimator: Estimator) -> FitSpec | None:
    """How compiled loops play an estimator, if they can; a subclass must say so itself."""
    if not isinstance(estimator, CompiledEstimator) or "compiled" not in vars(type(estimator)):
        return None
    return estimator.compiled()


def checked_estimator(estimator: object) -> Estimator | None:
    """`estimator`, if it makes models; None is ridge regression."""
    if estimator is None:
        return None
    if isinstance(estimator, type):
        kind = estimator.__name__
        raise InvalidSetting(f"estimator must be one of infex.models; got the class {kind}, say {kind}(...)")
    if not isinstance(estimator, Estimator):
        raise InvalidSetting(
            "estimator must be one of infex.models, or an object with a method new_model; got "
            f"{safe_repr(estimator)}"
        )
    return estimator
