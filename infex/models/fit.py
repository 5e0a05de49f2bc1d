"""Estimators in the place of ridge regression, for all arms or one for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.checks import safe_repr
from infex.core.bank import RidgeBank
from infex.core.estimators import add_reward, fade_sums, solve_ridge
from infex.errors import CannotMerge, DamagedFile, NotKept
from infex.models.base import Arrays, Estimator, Model
from infex.models.layout import (
    GONE,
    ContextOffer,
    DesignRow,
    DesignRows,
    Layout,
    Offer,
    PerArm,
    check_arm,
    features_only,
    one_regression,
)
from infex.models.noise import (
    NoiseEstimate,
    NoiseSums,
    Scattering,
    all_arms_in,
    for_each_arm,
    noise_estimate,
    noise_sums_of,
)
from infex.models.ridge import RidgePendingSums, RidgePosterior, checked_penalty
from infex.models.ridge_bank import NO_ARMS, BankPendingSums, BankPosterior, arm_row, per_arm_layout
from infex.models.sums import Revision, SufficientStatistics, added, fitting_sums, revise_sums


class Solution(NamedTuple):
    """theta, a lower triangular M with M'M its covariance, and the log_det_ratio.

    `solved`, (d + 1, d), has M and, in its last row, theta.
    """

    solved: Floats
    log_det_ratio: float

    @staticmethod
    def of(truth: Floats, penalty: float) -> Solution:
        """Ridge regression: theta = V^-1 b and M'M = V^-1, by sums of x x' and y x, (2, d + 1, d)."""
        solved = np.zeros(truth.shape[1:])
        return Solution(solved, solve_ridge(truth, penalty, solved))

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""
        theta: Floats = self.solved[-1].copy()
        return theta

    @property
    def factor(self) -> Floats:
        """M, (d, d)."""
        return self.solved[:-1].copy()

    def at(self, theta: Floats) -> Solution:
        """The same about another estimate."""
        return Solution(np.vstack([self.factor, theta]), self.log_det_ratio)

    @staticmethod
    def about(theta: npt.ArrayLike, covariance: npt.ArrayLike, log_det_ratio: float) -> Solution:
        """That of an estimate, (d,), its covariance, (d, d) and positive definite, and the log_det_ratio.

        >>> Solution.about([0.5], [[0.25]], log_det_ratio=0.1).factor.tolist()
        [[0.5]]
        """
        root: Any = np.linalg.cholesky(np.asarray(covariance, dtype=np.float64))
        return Solution(np.vstack([lower(root.T), np.asarray(theta, dtype=np.float64)]), log_det_ratio)


def lower(root: Floats) -> Floats:
    """The lower triangular M with a positive diagonal and M'M = root'root; there is one."""
    upper: Any = np.linalg.qr(root[:, ::-1], mode="r")
    turned: Floats = upper[::-1, ::-1]
    return np.tril(turned) * np.where(np.diag(turned) < 0.0, -1.0, 1.0)[:, None]


@final
class Sums:
    """sum w x x' and sum w y x, each with a carry, so that what is added and taken away leaves nothing.

    `truth` is laid out as `core/ridge.pxd` says, (2, d + 1, d); how exact it must be, the `penalty` says.
    """

    __slots__ = ("penalty", "truth")

    def __init__(self, dim: int, penalty: float) -> None:
        self.truth: Floats = np.zeros((2, dim + 1, dim))
        self.penalty = penalty

    def add(self, x: Floats, reward: float, weight: float) -> None:
        """One reward more; one less, if its weight is below 0."""
        add_reward(self.truth, self.penalty, np.ascontiguousarray(x), reward, weight)

    def fade(self, rate: float) -> None:
        """All weights become `rate` times what they were."""
        fade_sums(self.truth, self.penalty, rate)

    def merge(self, other: Sums) -> None:
        """Adds another's sums."""
        self.truth = added(self.truth, other.truth)

    def solve(self) -> Solution:
        """Ridge regression."""
        return Solution.of(self.truth, self.penalty)

    @staticmethod
    def restored(name: str, arrays: Arrays, dim: int, n_observations: int, penalty: float) -> Sums:
        """Those of `told` rewards that were kept under a name."""
        sums = Sums(dim, penalty)
        sums.truth = fitting_sums(name, arrays[name], dim, n_observations, penalty)
        return sums


class Fit(ABC):
    """What was learnt, and what it says of the fixed arms in `columns`, (d, K).

    A subclass says how a reward is taken in, what follows from all of them, and how they are kept;
    `estimator` are its settings, whose `start` makes more like it. The first figure that is asked
    for after a reward costs what `solve` costs and O(d^2 K) for the arms. A search starts from the
    estimate of the last decision that was entered, so that reading in between changes nothing.

    `penalty` is that of the ridge it resembles.
    """

    is_least_squares: bool = True
    logistic: bool = False  # is x'theta the log-odds of a reward of 1?

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        self.columns: Floats = np.ascontiguousarray(columns, dtype=np.float64)
        self.penalty = checked_penalty(penalty)
        self.estimator = estimator
        self.n_observations = 0
        self.counts: Floats = np.zeros((2, self.columns.shape[1]))
        self._start: Floats = np.zeros(self.dim)  # of the search for the present solution
        self._next_start: Floats = self._start  # of the one after the next reward
        self._solution: Solution | None = None
        self._known: RidgePosterior | None = None

    @abstractmethod
    def add_observation(self, x: Floats, reward: float, weight: float) -> None:
        """Takes in one reward, or refuses it and changes nothing."""

    @abstractmethod
    def solve(self, start: Floats) -> Solution:
        """What follows from all rewards; `start` is an earlier estimate, from which a search may go on."""

    @abstractmethod
    def observation_arrays(self) -> Arrays:
        """All rewards or their sums, as arrays."""

    @abstractmethod
    def restore_observations(self, arrays: Arrays, n_observations: int) -> None:
        """Takes `told` rewards from arrays that were kept; refuses those that do not fit."""

    def revise_observation(self, x: Floats, revision: Revision) -> None:
        """Gives a reward of x another value, or takes it out; or refuses to, and changes nothing."""
        raise NotKept(
            f"{self.estimator!r} cannot give a reward that was learnt another value, or take it out"
        )

    def check_reward(self, reward: float) -> None:  # noqa: B027 - most take any reward
        """Refuses a reward that cannot be taken in; changes nothing."""

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        """The weight with which a reward is to be learnt: that which was told, for most."""
        return weight

    def merge_observations(self, other: Self) -> None:
        """Takes in what another of the same settings has learnt."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt cannot be merged: rewards count by their order"
        )

    def sums(self) -> tuple[Floats | None, int]:
        """sum x x' and sum y x with their carries, (2, d + 1, d), None if not kept; of how many rewards."""
        return None, self.n_observations

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says of arms, for those that keep squares of rewards."""
        raise NotKept(
            f"{self.estimator!r} has no intervals by the noise that was seen: it keeps no squares of "
            "rewards, or is not least squares; `low` and `high` of `estimates` are the theory's"
        )

    def rows_of(self, offer: Offer | None) -> Floats:
        """The rows of the fixed arms, or of those on offer, (n, d)."""
        return (offer if isinstance(offer, np.ndarray) else self.columns).T

    def row(self, on: DesignRow) -> Floats:
        """The features of a fixed arm, by its index, or x itself."""
        if isinstance(on, int):
            check_arm(on, self.columns.shape[1])
        return np.array(self.columns[:, on]) if isinstance(on, int) else features_only(on)

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def solution(self) -> Solution:
        """What follows from all rewards."""
        if self._solution is None:
            self._solution = self.solve(self._start)
        return self._solution

    def posterior(self) -> RidgePosterior:
        """What is known of the fixed arms, as numbers that stay as they are."""
        if self._known is None:
            (solved, log_det_ratio), (truth, n_observations) = self.solution, self.sums()
            self._known = RidgePosterior.of_solution(
                self.columns,
                solved,
                log_det_ratio,
                self.penalty,
                truth,
                n_observations,
                self.counts,
                self.logistic,
            )
        return self._known

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": None}

    def pending(self) -> RidgePendingSums:
        """Sums over no pending decision."""
        return RidgePendingSums(self.columns)

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in one reward of a fixed arm, by its index, or of any x."""
        self.add_observation(self.row(on), reward, weight)
        if isinstance(on, int):
            self.counts[:, on] += 1.0, reward
        self.n_observations += 1
        self._renew()

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other."""
        for place, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.update(design.on(place), reward, weight)

    bulk_update = update_many

    def observation_number(self, on: DesignRow) -> int:
        """How many rewards were told."""
        return self.n_observations

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none, where `put_right` can do that."""
        if revision.after is not None:
            self.check_reward(revision.after)
        self.revise_observation(self.row(revision.on), revision)
        if isinstance(revision.on, int):
            self.counts[:, revision.on] += revision.pulls, revision.gain
        self.n_observations += revision.pulls
        self._renew()

    def set_warm_start(self) -> None:
        """The next search starts from the present estimate."""
        self._next_start = self.solution.theta

    def merge(self, other: Self, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self.merge_observations(other)
        self.n_observations += other.n_observations
        self.counts += moved(other.counts, places, self.counts.shape[1])
        self._renew()

    def sufficient_statistics(self) -> SufficientStatistics:
        """All that was learnt, as sums that add up, for those that keep such."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt is not kept as sums that add up: "
            "its rewards count by their order, or one by one"
        )

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self.sufficient_statistics()

    def rearranged(self, layout: Layout, places: Integers) -> Self:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other = type(self)(one_regression(layout), self.penalty, self.estimator)
        known = places >= 0
        counts = np.zeros((2, places.size))
        counts[:, known] = self.counts[:, places[known]]
        other._take(self.arrays() | {"counts": counts})
        return other

    def arrays(self) -> Arrays:
        """All of it, as arrays to be kept."""
        return self.observation_arrays() | {
            "told": np.array(self.n_observations),
            "counts": self.counts.copy(),
            "start": self._start.copy(),
            "next start": self._next_start.copy(),
        }

    def restore(self, arrays: Arrays) -> None:
        """Takes what was learnt from arrays that were kept, in the place of all that is here."""
        self._take(arrays)
        with np.errstate(all="ignore"):  # numbers of a file may be anything
            solved, log_det_ratio = self.solution
        if not (np.isfinite(solved).all() and np.isfinite(log_det_ratio)):
            raise DamagedFile("its theta would not be finite")

    def _take(self, arrays: Arrays) -> None:
        n_observations = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], n_observations)
        nowhere = np.zeros(self.dim)
        starts = [fitting(name, arrays.get(name, nowhere), (self.dim,)) for name in ("start", "next start")]
        self.restore_observations(arrays, n_observations)
        self.n_observations, self.counts = n_observations, counts
        self._start, self._next_start = starts
        self._solution = self._known = None

    def _renew(self) -> None:
        self._start = self._next_start
        self._solution = self._known = None


class SummedFit(Fit):
    """One sum of rewards, which adds up with another's; a subclass says how it solves."""

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        super().__init__(columns, penalty, estimator)
        self._sums = Sums(self.dim, self.penalty)
        self._scatter = NoiseSums()

    def add_observation(self, x: Floats, reward: float, weight: float) -> None:
        self._sums.add(x, reward, weight)
        self._scatter.squares += weight * reward * reward

    def observation_arrays(self) -> Arrays:
        return {"truth": self._sums.truth.copy(), "scatter": np.array(self._scatter.figures)}

    def restore_observations(self, arrays: Arrays, n_observations: int) -> None:
        sums = Sums.restored("truth", arrays, self.dim, n_observations, self.penalty)
        self._scatter = noise_sums_of(arrays, sums.truth, self.penalty, n_observations)
        self._sums = sums

    def revise_observation(self, x: Floats, revision: Revision) -> None:
        revise_sums(self._sums.truth, self.penalty, x, revision)
        self._scatter.revise(revision, self._sums.truth, self.penalty, self.n_observations + revision.pulls)

    def merge_observations(self, other: Self) -> None:
        self._sums.merge(other._sums)
        self._scatter.merge_observations(
            other._scatter, self._sums.truth, self.penalty, self.n_observations + other.n_observations
        )

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says, by the weights of rewards: 1/variance, but for a factor."""
        return noise_estimate(
            self._sums.truth, self.penalty, self._scatter, self.n_observations, self.rows_of(offer), most
        )

    def sufficient_statistics(self) -> SufficientStatistics:
        return SufficientStatistics(self._sums.truth.copy(), self.counts.copy(), self.n_observations)

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        self._sums.truth = added(self._sums.truth, statistics.truth)
        self.n_observations += statistics.n_observations
        self.counts += statistics.counts
        self._scatter.begin(self._sums.truth, self.penalty, self.n_observations)
        self._renew()

    def sums(self) -> tuple[Floats | None, int]:
        """The sums, by their weights, and how many rewards are in them."""
        return self._sums.truth.copy(), self.n_observations


OF_ALL = ("told", "counts")  # what is kept of all arms together


@final
class FitBank:
    """Statistics of an estimator for each arm, on contexts: a reward reaches that of its arm alone.

    `parts` are these statistics. Their estimates are copied into a bank when somebody reads them.
    """

    __slots__ = (
        "_asked", "_bank", "_estimator", "_late", "_logistic", "_stale", "_summed",
        "columns", "layout", "n_observations", "parts",
    )  # fmt: skip

    def __init__(self, layout: PerArm, penalty: float, estimator: Estimator) -> None:
        self.layout, self._asked, self._estimator, self.n_observations = layout, penalty, estimator, 0
        arms, dim, _ = layout
        self.columns: Floats = np.empty((arms * dim, 0))  # none are fixed
        self.parts: list[Model] = [estimator.new_model(np.empty((dim, 0)), penalty) for _ in range(arms)]
        self._bank = RidgeBank(arms, dim, self.penalty)
        self._summed: list[int | None] = [None] * arms  # rewards in the sums of each; None if it keeps none
        self._logistic = False
        self._stale = set(range(arms))  # arms whose numbers in the bank are of before their last reward
        self._late = set(range(arms))  # arms that were told since a decision was entered

    @property
    def is_least_squares(self) -> bool:
        """Is it least squares?"""
        return self.parts[0].is_least_squares

    @property
    def penalty(self) -> float:
        """That of each."""
        return self.parts[0].penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self._bank.counts

    def posterior(self) -> BankPosterior:
        """What is known as of now; of arms it tells in a context (`on`)."""
        for arm in self._stale:
            known = self._known(arm)
            self._bank.put(arm, known.factor, known.theta, known.log_det_ratio, known.sums())
            self._summed[arm], self._logistic = (
                known.told if known.sums() is not None else None,
                known.logistic,
            )
        self._stale = set()
        n_observations = (
            None if None in self._summed else sum(n_observations or 0 for n_observations in self._summed)
        )
        return BankPosterior(self._bank, n_observations, self._logistic)

    def pending(self) -> BankPendingSums:
        """Sums over no pending decision."""
        return BankPendingSums.of(self.layout)

    def _known(self, arm: int) -> RidgePosterior:
        known = self.parts[arm].posterior()
        assert isinstance(known, RidgePosterior), "an estimator starts statistics of one regression"
        return known

    def check_reward(self, reward: float) -> None:
        """Refuses a reward that could not be taken in."""
        self.parts[0].check_reward(reward)

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        """The weight with which a reward is to be learnt."""
        arm, context = arm_row(on)
        return weight if arm == GONE else self.parts[arm].effective_weight(context, weight)

    def set_warm_start(self) -> None:
        """A decision was taken on what is known now."""
        for arm in self._late:
            self.parts[arm].set_warm_start()
        self._late = set()

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm in a context; nothing, if the arm is gone."""
        arm, context = arm_row(on)
        if arm != GONE:
            check_arm(arm, self.layout.arms)
            self.parts[arm].update(context, reward, weight)
            self._note(arm, 1, reward)

    def _note(self, arm: int, pulls: int, rewards: float) -> None:
        """An arm has so many rewards more, which come to so much."""
        self.n_observations += pulls
        self._bank.note(arm, pulls, rewards)
        self._stale.add(arm)
        self._late.add(arm)

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other."""
        for place, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.update(design.on(place), reward, weight)

    bulk_update = update_many

    def observation_number(self, on: DesignRow) -> int:
        """How many rewards the arm's own regression was told."""
        arm = arm_row(on).arm
        return 0 if arm == GONE else self.parts[arm].n_observations

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; nothing, if the arm is gone."""
        arm, context = arm_row(revision.on)
        if arm != GONE:
            check_arm(arm, self.layout.arms)
            self.parts[arm].revise(revision._replace(on=context))
            self._note(arm, revision.pulls, revision.gain)

    def merge(self, other: FitBank, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        for arm, place in enumerate(places.tolist()):
            if place != GONE:
                self.parts[place].merge(other.parts[arm], NO_ARMS)
                self._note(place, 0, 0.0)
                self._bank.note(place, *other.counts[:, arm].tolist())
        self.n_observations += other.n_observations

    def sufficient_statistics(self) -> SufficientStatistics:
        """None: what each estimator keeps is its own."""
        raise CannotMerge(f"what {self._estimator!r} has learnt of each arm is not kept as sums that add up")

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        """None can be taken in."""
        self.sufficient_statistics()

    def rearranged(self, layout: Layout, places: Integers) -> FitBank:
        """What was learnt of the arms that stay: each at its old place, or new (-1)."""
        other = FitBank(per_arm_layout(layout), self._asked, self._estimator)
        other._bank = self._bank.over(places)
        for new, old in enumerate(places.tolist()):
            if old != GONE:
                other.parts[new] = self.parts[old]
                if old not in self._late:
                    other._late.discard(new)
        other.n_observations = self.n_observations - int(self.counts[0].sum() - other.counts[0].sum())
        return other

    def arrays(self) -> Arrays:
        """All of it: what each keeps, one behind the other."""
        kept = [part.arrays() for part in self.parts]
        found: Arrays = {"told": np.array(self.n_observations), "counts": np.array(self.counts)}
        found["late"] = np.array(sorted(self._late), dtype=np.int64)
        found["tolds"] = np.array([part.n_observations for part in self.parts], dtype=np.int64)
        for name in kept[0]:
            if name not in OF_ALL:
                found |= _joined(name, [each[name] for each in kept])
        return found

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here, or refuses the arrays and changes nothing."""
        count = self.layout.arms
        n_observations = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], count, n_observations)
        pulls = counts[0].astype(np.int64)
        tolds: Integers = fitting("tolds", arrays.get("tolds", pulls), (count,), whole=True)
        late: Integers = fitting("late", arrays.get("late", np.arange(count)), (-1,), whole=True)
        if (late >= count).any():
            raise DamagedFile(f"an arm that was told since is number {late.max()} of {count}")
        fresh = FitBank(self.layout, self._asked, self._estimator)
        for arm, part in enumerate(fresh.parts):
            names = [name for name in part.arrays() if name not in OF_ALL and name in arrays]
            own = {name: _part_of(name, arrays, arm, count) for name in names}
            part.restore(own | {"told": tolds[arm], "counts": np.zeros((2, 0))})
            fresh._bank.note(arm, *counts[:, arm].tolist())
        self.parts, self.n_observations, self._bank = fresh.parts, n_observations, fresh._bank
        self._stale, self._late = set(range(count)), set(late.tolist())

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says of every arm in a context, each by its own rewards."""
        assert isinstance(offer, ContextOffer), offer
        return self.noise_estimate_of(*all_arms_in(self.layout.arms, offer.context), most)

    def noise_estimate_of(self, arms: Integers, rows: Floats, most: float = 0.0) -> NoiseEstimate:
        """The same of arms, each in a context."""

        def tell(arm: int, own: Floats) -> NoiseEstimate:
            part = self.parts[arm]
            if not isinstance(part, Scattering):
                raise NotKept(f"{safe_repr(self._estimator)} tells nothing of the noise that was seen")
            return part.noise_estimate(own.T, most)

        return for_each_arm(arms, rows, tell)


def _joined(name: str, parts: list[Any]) -> Arrays:
    """Arrays of all arms as one: side by side where they are of one shape, else one behind the other."""
    if len({part.shape for part in parts}) == 1:
        return {name: np.stack(parts)}
    return {name: np.concatenate(parts), f"{name} lengths": np.array([len(part) for part in parts])}


def _part_of(name: str, arrays: Arrays, arm: int, count: int) -> Any:
    """What `_joined` has of one arm."""
    whole = np.asarray(arrays[name])
    if f"{name} lengths" not in arrays:
        if whole.ndim == 0 or len(whole) != count:
            raise DamagedFile(f"{name} must be of {count} arms, got the shape {whole.shape}")
        return whole[arm]
    lengths: Integers = fitting(f"{name} lengths", arrays[f"{name} lengths"], (count,), whole=True)
    if whole.ndim == 0 or int(lengths.sum()) != len(whole):
        raise DamagedFile(f"{name} must be {int(lengths.sum())} rows, got the shape {whole.shape}")
    first = int(lengths[:arm].sum())
    return whole[first : first + int(lengths[arm])]
