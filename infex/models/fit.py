"""Estimators in the place of ridge regression, for all arms or one for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.checks import safe_repr
from infex.core.bank import RidgeBank
from infex.core.estimators import fade_sums, solve_ridge
from infex.core.ridge import add_rewards
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
    refuse_block,
    refuse_place,
    refuse_separate,
)
from infex.models.noise import (
    NoiseEstimate,
    NoiseSums,
    Scattering,
    by_arm,
    noise_estimate,
    noise_sums_of,
    of_all_arms,
)
from infex.models.ridge import RidgePendingSums, RidgePosterior, checked_penalty
from infex.models.ridge_bank import NOBODY, BankPendingSums, BankPosterior, in_block, separate
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
        add_rewards(self.truth, self.penalty, x, weight, weight * reward)

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
    def kept(name: str, arrays: Arrays, dim: int, told: int, penalty: float) -> Sums:
        """Those of `told` rewards that were kept under a name."""
        sums = Sums(dim, penalty)
        sums.truth = fitting_sums(name, arrays[name], dim, told, penalty)
        return sums


class Fit(ABC):
    """What was learnt, and what it says of the fixed arms in `columns`, (d, K).

    A subclass says how a reward is taken in, what follows from all of them, and how they are kept;
    `estimator` are its settings, whose `start` makes more like it. The first figure that is asked
    for after a reward costs what `solve` costs and O(d^2 K) for the arms. A search starts from the
    estimate of the last decision that was entered, so that reading in between changes nothing.

    `penalty` is that of the ridge it resembles.
    """

    squares: bool = True
    logistic: bool = False  # is x'theta the log-odds of a reward of 1?

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        self.columns: Floats = np.ascontiguousarray(columns, dtype=np.float64)
        self.penalty = checked_penalty(penalty)
        self.estimator = estimator
        self.told = 0
        self.counts: Floats = np.zeros((2, self.columns.shape[1]))
        self._start: Floats = np.zeros(self.dim)  # of the search for the present solution
        self._next_start: Floats = self._start  # of the one after the next reward
        self._solution: Solution | None = None
        self._known: RidgePosterior | None = None

    @abstractmethod
    def take(self, x: Floats, reward: float, weight: float) -> None:
        """Takes in one reward, or refuses it and changes nothing."""

    @abstractmethod
    def solve(self, start: Floats) -> Solution:
        """What follows from all rewards; `start` is an earlier estimate, from which a search may go on."""

    @abstractmethod
    def kept(self) -> Arrays:
        """All rewards or their sums, as arrays."""

    @abstractmethod
    def recall(self, arrays: Arrays, told: int) -> None:
        """Takes `told` rewards from arrays that were kept; refuses those that do not fit."""

    def put_right(self, x: Floats, revision: Revision) -> None:
        """Gives a reward of x another value, or takes it out; or refuses to, and changes nothing."""
        raise NotKept(
            f"{self.estimator!r} cannot give a reward that was learnt another value, or take it out"
        )

    def refuse(self, reward: float) -> None:  # noqa: B027 - most take any reward
        """Refuses a reward that cannot be taken in; changes nothing."""

    def counted(self, on: DesignRow, weight: float) -> float:
        """The weight with which a reward is to be learnt: that which was told, for most."""
        return weight

    def join(self, other: Self) -> None:
        """Takes in what another of the same settings has learnt."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt cannot be merged: rewards count by their order"
        )

    def sums(self) -> tuple[Floats | None, int]:
        """sum x x' and sum y x with their carries, (2, d + 1, d), None if not kept; of how many rewards."""
        return None, self.told

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says of arms, for those that keep squares of rewards."""
        raise NotKept(
            f"{self.estimator!r} has no intervals by the noise that was seen: it keeps no squares of "
            "rewards, or is not least squares; `low` and `high` of `estimates` are the theory's"
        )

    def asked_about(self, offer: Offer | None) -> Floats:
        """The rows of the fixed arms, or of those on offer, (n, d)."""
        return (offer if isinstance(offer, np.ndarray) else self.columns).T

    def row(self, on: DesignRow) -> Floats:
        """The features of a fixed arm, by its index, or x itself."""
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])
        return np.array(self.columns[:, on]) if isinstance(on, int) else refuse_block(on)

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

    def known(self) -> RidgePosterior:
        """What is known of the fixed arms, as numbers that stay as they are."""
        if self._known is None:
            (solved, log_det_ratio), (truth, told) = self.solution, self.sums()
            self._known = RidgePosterior.of_solution(
                self.columns, solved, log_det_ratio, self.penalty, truth, told, self.counts, self.logistic
            )
        return self._known

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": None}

    def pending(self) -> RidgePendingSums:
        """Sums over no pending decision."""
        return RidgePendingSums(self.columns)

    def learn(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in one reward of a fixed arm, by its index, or of any x."""
        self.take(self.row(on), reward, weight)
        if isinstance(on, int):
            self.counts[:, on] += 1.0, reward
        self.told += 1
        self._renew()

    def learn_many(self, grounds: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other."""
        for place, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.learn(grounds.on(place), reward, weight)

    gather = learn_many

    def turn(self, on: DesignRow) -> int:
        """How many rewards were told."""
        return self.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none, where `put_right` can do that."""
        if revision.after is not None:
            self.refuse(revision.after)
        self.put_right(self.row(revision.on), revision)
        if isinstance(revision.on, int):
            self.counts[:, revision.on] += revision.pulls, revision.gain
        self.told += revision.pulls
        self._renew()

    def entered(self) -> None:
        """The next search starts from the present estimate."""
        self._next_start = self.solution.theta

    def add(self, other: Self, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self.join(other)
        self.told += other.told
        self.counts += moved(other.counts, places, self.counts.shape[1])
        self._renew()

    def growth(self) -> SufficientStatistics:
        """All that was learnt, as sums that add up, for those that keep such."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt is not kept as sums that add up: "
            "its rewards count by their order, or one by one"
        )

    def grow(self, growth: SufficientStatistics) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self.growth()

    def over(self, layout: Layout, places: Integers) -> Self:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other = type(self)(refuse_separate(layout), self.penalty, self.estimator)
        known = places >= 0
        counts = np.zeros((2, places.size))
        counts[:, known] = self.counts[:, places[known]]
        other._take(self.arrays() | {"counts": counts})
        return other

    def arrays(self) -> Arrays:
        """All of it, as arrays to be kept."""
        return self.kept() | {
            "told": np.array(self.told),
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
        told = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], told)
        nowhere = np.zeros(self.dim)
        starts = [fitting(name, arrays.get(name, nowhere), (self.dim,)) for name in ("start", "next start")]
        self.recall(arrays, told)
        self.told, self.counts = told, counts
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

    def take(self, x: Floats, reward: float, weight: float) -> None:
        self._sums.add(x, reward, weight)
        self._scatter.squares += weight * reward * reward

    def kept(self) -> Arrays:
        return {"truth": self._sums.truth.copy(), "scatter": np.array(self._scatter.figures)}

    def recall(self, arrays: Arrays, told: int) -> None:
        sums = Sums.kept("truth", arrays, self.dim, told, self.penalty)
        self._scatter = noise_sums_of(arrays, sums.truth, self.penalty, told)
        self._sums = sums

    def put_right(self, x: Floats, revision: Revision) -> None:
        revise_sums(self._sums.truth, self.penalty, x, revision)
        self._scatter.revise(revision, self._sums.truth, self.penalty, self.told + revision.pulls)

    def join(self, other: Self) -> None:
        self._sums.merge(other._sums)
        self._scatter.join(other._scatter, self._sums.truth, self.penalty, self.told + other.told)

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says, by the weights of rewards: 1/variance, but for a factor."""
        return noise_estimate(
            self._sums.truth, self.penalty, self._scatter, self.told, self.asked_about(offer), most
        )

    def growth(self) -> SufficientStatistics:
        return SufficientStatistics(self._sums.truth.copy(), self.counts.copy(), self.told)

    def grow(self, growth: SufficientStatistics) -> None:
        self._sums.truth = added(self._sums.truth, growth.truth)
        self.told += growth.told
        self.counts += growth.counts
        self._scatter.begin(self._sums.truth, self.penalty, self.told)
        self._renew()

    def sums(self) -> tuple[Floats | None, int]:
        """The sums, by their weights, and how many rewards are in them."""
        return self._sums.truth.copy(), self.told


OF_ALL = ("told", "counts")  # what is kept of all arms together


@final
class FitBank:
    """Statistics of an estimator for each arm, on contexts: a reward reaches that of its arm alone.

    `parts` are these statistics. Their estimates are copied into a bank when somebody reads them.
    """

    __slots__ = (
        "_asked", "_bank", "_estimator", "_late", "_logistic", "_stale", "_summed",
        "columns", "layout", "parts", "told",
    )  # fmt: skip

    def __init__(self, layout: PerArm, penalty: float, estimator: Estimator) -> None:
        self.layout, self._asked, self._estimator, self.told = layout, penalty, estimator, 0
        arms, dim, _ = layout
        self.columns: Floats = np.empty((arms * dim, 0))  # none are fixed
        self.parts: list[Model] = [estimator.start(np.empty((dim, 0)), penalty) for _ in range(arms)]
        self._bank = RidgeBank(arms, dim, self.penalty)
        self._summed: list[int | None] = [None] * arms  # rewards in the sums of each; None if it keeps none
        self._logistic = False
        self._stale = set(range(arms))  # arms whose numbers in the bank are of before their last reward
        self._late = set(range(arms))  # arms that were told since a decision was entered

    @property
    def squares(self) -> bool:
        """Is it least squares?"""
        return self.parts[0].squares

    @property
    def penalty(self) -> float:
        """That of each."""
        return self.parts[0].penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self._bank.counts

    def known(self) -> BankPosterior:
        """What is known as of now; of arms it tells in a context (`on`)."""
        for arm in self._stale:
            known = self._known(arm)
            self._bank.put(arm, known.factor, known.theta, known.log_det_ratio, known.sums())
            self._summed[arm], self._logistic = (
                known.told if known.sums() is not None else None,
                known.logistic,
            )
        self._stale = set()
        told = None if None in self._summed else sum(told or 0 for told in self._summed)
        return BankPosterior(self._bank, told, self._logistic)

    def pending(self) -> BankPendingSums:
        """Sums over no pending decision."""
        return BankPendingSums.of(self.layout)

    def _known(self, arm: int) -> RidgePosterior:
        known = self.parts[arm].known()
        assert isinstance(known, RidgePosterior), "an estimator starts statistics of one regression"
        return known

    def refuse(self, reward: float) -> None:
        """Refuses a reward that could not be taken in."""
        self.parts[0].refuse(reward)

    def counted(self, on: DesignRow, weight: float) -> float:
        """The weight with which a reward is to be learnt."""
        arm, context = in_block(on)
        return weight if arm == GONE else self.parts[arm].counted(context, weight)

    def entered(self) -> None:
        """A decision was taken on what is known now."""
        for arm in self._late:
            self.parts[arm].entered()
        self._late = set()

    def learn(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm in a context; nothing, if the arm is gone."""
        arm, context = in_block(on)
        if arm != GONE:
            refuse_place(arm, self.layout.arms)
            self.parts[arm].learn(context, reward, weight)
            self._note(arm, 1, reward)

    def _note(self, arm: int, pulls: int, rewards: float) -> None:
        """An arm has so many rewards more, which come to so much."""
        self.told += pulls
        self._bank.note(arm, pulls, rewards)
        self._stale.add(arm)
        self._late.add(arm)

    def learn_many(self, grounds: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other."""
        for place, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.learn(grounds.on(place), reward, weight)

    gather = learn_many

    def turn(self, on: DesignRow) -> int:
        """How many rewards the arm's own regression was told."""
        arm = in_block(on).arm
        return 0 if arm == GONE else self.parts[arm].told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; nothing, if the arm is gone."""
        arm, context = in_block(revision.on)
        if arm != GONE:
            refuse_place(arm, self.layout.arms)
            self.parts[arm].revise(revision._replace(on=context))
            self._note(arm, revision.pulls, revision.gain)

    def add(self, other: FitBank, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        for arm, place in enumerate(places.tolist()):
            if place != GONE:
                self.parts[place].add(other.parts[arm], NOBODY)
                self._note(place, 0, 0.0)
                self._bank.note(place, *other.counts[:, arm].tolist())
        self.told += other.told

    def growth(self) -> SufficientStatistics:
        """None: what each estimator keeps is its own."""
        raise CannotMerge(f"what {self._estimator!r} has learnt of each arm is not kept as sums that add up")

    def grow(self, growth: SufficientStatistics) -> None:
        """None can be taken in."""
        self.growth()

    def over(self, layout: Layout, places: Integers) -> FitBank:
        """What was learnt of the arms that stay: each at its old place, or new (-1)."""
        other = FitBank(separate(layout), self._asked, self._estimator)
        other._bank = self._bank.over(places)
        for new, old in enumerate(places.tolist()):
            if old != GONE:
                other.parts[new] = self.parts[old]
                if old not in self._late:
                    other._late.discard(new)
        other.told = self.told - int(self.counts[0].sum() - other.counts[0].sum())
        return other

    def arrays(self) -> Arrays:
        """All of it: what each keeps, one behind the other."""
        kept = [part.arrays() for part in self.parts]
        found: Arrays = {"told": np.array(self.told), "counts": np.array(self.counts)}
        found["late"] = np.array(sorted(self._late), dtype=np.int64)
        found["tolds"] = np.array([part.told for part in self.parts], dtype=np.int64)
        for name in kept[0]:
            if name not in OF_ALL:
                found |= _joined(name, [each[name] for each in kept])
        return found

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here, or refuses the arrays and changes nothing."""
        count = self.layout.arms
        told = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], count, told)
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
        self.parts, self.told, self._bank = fresh.parts, told, fresh._bank
        self._stale, self._late = set(range(count)), set(late.tolist())

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says of every arm in a context, each by its own rewards."""
        assert isinstance(offer, ContextOffer), offer
        return self.scattered_in(*of_all_arms(self.layout.arms, offer.context), most)

    def scattered_in(self, arms: Integers, rows: Floats, most: float = 0.0) -> NoiseEstimate:
        """The same of arms, each in a context."""

        def tell(arm: int, own: Floats) -> NoiseEstimate:
            part = self.parts[arm]
            if not isinstance(part, Scattering):
                raise NotKept(f"{safe_repr(self._estimator)} tells nothing of the noise that was seen")
            return part.noise_estimate(own.T, most)

        return by_arm(arms, rows, tell)


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
