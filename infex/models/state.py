"""What a bandit has learnt: a model of all rounds and, where asked for, one of exploring rounds."""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.errors import InvalidSetting
from infex.models.base import Arrays, Estimator, Model
from infex.models.fit import FitBank
from infex.models.hybrid import HybridModel
from infex.models.layout import ArmRow, DesignRow, Layout, Offer, PerArm
from infex.models.pending import PendingBatch, PendingDesign
from infex.models.posterior import NOTHING, Posterior, Spent, on_offer
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.models.sums import Revision, SufficientStatistics

StateStatistics = tuple[SufficientStatistics, SufficientStatistics | None]
"""Sufficient statistics of all rounds and, if there is a model of them, of exploring rounds."""
ObservationNumbers = tuple[int, int | None]
"""The number of a reward in the model of all rounds, and in that of exploring rounds."""


def new_model(layout: Layout, penalty: float, estimator: Estimator | None) -> Model:
    """A model with nothing learnt, by ridge regression or another estimator."""
    if not isinstance(layout, PerArm):
        return RidgeModel(layout, penalty) if estimator is None else estimator.new_model(layout, penalty)
    if estimator is None:
        return HybridModel(layout, penalty) if layout.shared else RidgeBankModel(layout, penalty)
    one = estimator.new_model(np.empty((layout.dim, 0)), penalty)
    if type(one) is RidgeModel:
        return new_model(layout, one.penalty, None)
    if layout.shared:
        raise InvalidSetting(
            f"features.hybrid is a ridge regression, which {type(estimator).__name__} is not: "
            "features.disjoint and features.interactions take any estimator"
        )
    return FitBank(layout, penalty, estimator)


@final
class ModelState:
    """A model of all rounds and, where exploring rounds are learnt apart too, one of them.

    `pending_design` are the decisions that wait for their reward; None where exploring ignores them. `pulls`
    are the rewards of each arm of a feature map, (K,), where one regression is for all arms, which does not
    count them; None where the model does. `searches` says that a model may search for its estimate, weigh
    rewards or refuse some.
    """

    __slots__ = ("all", "explored", "pending_design", "pulls", "searches")

    def __init__(
        self,
        everything: Model,
        explored: Model | None,
        pending_design: PendingDesign | None = None,
        pulls: Integers | None = None,
    ) -> None:
        self.all = everything
        self.explored = explored
        self.pending_design = pending_design
        self.pulls = pulls
        self.searches = not isinstance(everything, RidgeModel | RidgeBankModel | HybridModel)

    @staticmethod
    def empty(
        layout: Layout, penalty: float, keep_explored: bool, estimator: Estimator | None = None
    ) -> ModelState:
        """No observations yet; `keep_explored` adds a model of exploring rounds alone."""
        explored = new_model(layout, penalty, estimator) if keep_explored else None
        return ModelState(new_model(layout, penalty, estimator), explored)

    @property
    def columns(self) -> Floats:
        """The fixed arms, (d, K)."""
        return self.all.columns

    def row(self, on: DesignRow) -> Floats:
        """The features that a reward is learnt on, (d,), for a policy that learns by itself."""
        if isinstance(on, ArmRow):
            shared = self.all.layout.shared if isinstance(self.all, HybridModel) else 0
            return on.row(len(self.columns), shared)
        return self.columns[:, on].copy() if isinstance(on, int) else on.copy()

    def posterior(
        self, policy_state: object = None, allowed: Bools | None = None, spent: Spent = NOTHING
    ) -> Posterior:
        """The posterior of the fixed arms."""
        explored = None if self.explored is None else self.explored.posterior()
        return Posterior(self.all.posterior(), explored, policy_state, allowed, spent, self.pending_design)

    def offer(
        self, offer: Offer, policy_state: object = None, allowed: Bools | None = None, spent: Spent = NOTHING
    ) -> Posterior:
        """The posterior of the arms on offer in one round."""
        explored = None if self.explored is None else on_offer(self.explored.posterior(), offer)
        known = on_offer(self.all.posterior(), offer)
        return Posterior(known, explored, policy_state, allowed, spent, self.pending_design)

    def track_pending(self, pending: PendingBatch | None = None) -> None:
        """Makes exploring read pending decisions from now on; `pending` are those that there are."""
        self.pending_design = PendingDesign.of(self.all, self.explored, pending)

    def effective_weight(self, on: DesignRow, reward: float, weight: float = 1.0) -> float:
        """The weight to learn a reward with; raises an error if it cannot be learnt, and changes nothing."""
        if weight != 1.0 and not self.all.is_least_squares:
            raise InvalidSetting(f"a weight ({weight:g}) needs an estimator of least squares")
        self.all.check_reward(reward)
        return self.all.effective_weight(on, weight)

    def update(self, on: DesignRow, reward: float, explored: bool, weight: float) -> None:
        """Adds an observation with the weight that `effective_weight` gave: this cannot fail."""
        self.all.update(on, reward, weight)
        if explored and self.explored is not None:
            self.explored.update(on, reward, weight)

    def observation_numbers(self, on: DesignRow, explored: bool) -> ObservationNumbers:
        """The numbers that the next reward of this row will have."""
        model = self.explored if explored else None
        return self.all.observation_number(on), None if model is None else model.observation_number(on)

    def revise(self, revision: Revision, explored_number: int | None) -> None:
        """Replaces or removes a reward; `explored_number` is its number among exploring rounds."""
        self.all.revise(revision)
        if self.explored is not None and explored_number is not None:
            self.explored.revise(revision._replace(number=explored_number))

    def set_warm_start(self, explored: bool) -> None:
        """Lets the next search start from the present estimates, on which a decision was taken."""
        self.all.set_warm_start()
        if explored and self.explored is not None:
            self.explored.set_warm_start()

    def rearranged(self, layout: Layout, places: Integers) -> ModelState:
        """The same rewards over other arms; `places` are their old indices, -1 for a new arm."""
        explored = None if self.explored is None else self.explored.rearranged(layout, places)
        pending = None if self.pending_design is None else self.pending_design.rearranged(layout, places)
        return ModelState(self.all.rearranged(layout, places), explored, pending)

    def with_pulls(self, pulls: Integers) -> ModelState:
        """The state of a feature map with other arms, which had these numbers of rewards."""
        return ModelState(self.all, self.explored, self.pending_design, pulls)

    def sufficient_statistics(self) -> StateStatistics:
        """Sums that add up with those of other states; CannotMerge where a model keeps no such sums."""
        everything = self.all.sufficient_statistics()
        explored = None if self.explored is None else self.explored.sufficient_statistics()
        if self.pulls is None:
            return everything, explored
        none = np.zeros_like(self.pulls)
        counted = everything._replace(counts=np.array([self.pulls, none], dtype=np.float64))
        return counted, None if explored is None else explored._replace(counts=np.zeros((2, none.size)))

    def add_statistics(self, statistics: StateStatistics) -> None:
        """Adds the sufficient statistics of another state, over the same arms."""
        everything, explored = statistics
        if self.pulls is not None:
            self.pulls += everything.counts[0].astype(np.int64)
            everything = everything._replace(counts=np.zeros((2, 0)))  # which the regression does not count
            explored = None if explored is None else explored._replace(counts=np.zeros((2, 0)))
        self.all.add_statistics(everything)
        if self.explored is not None and explored is not None:
            self.explored.add_statistics(explored)

    def arrays(self) -> Arrays:
        """The whole state as arrays."""
        kept: Arrays = {"columns": self.columns}
        for name, model in self._models():
            kept |= {f"{name} {part}": array for part, array in model.arrays().items()}
        return kept

    def restore(self, arrays: Arrays) -> None:
        """Replaces the state by saved arrays."""
        for name, model in self._models():
            prefix = f"{name} "
            model.restore({key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)})

    def _models(self) -> list[tuple[str, Model]]:
        explored = [] if self.explored is None else [("explored", self.explored)]
        return [("all", self.all), *explored]
