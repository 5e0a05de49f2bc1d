"""Estimators other than ridge regression: the base class of their models, and one model for each arm."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, Integers, fitting, fitting_counts
from infex.core.bank import BankPosterior, RidgeBank
from infex.core.estimators import solve_ridge
from infex.core.posterior import RidgePosterior
from infex.core.ridge import add_rewards
from infex.errors import DamagedFile, InvalidSetting, NotKept
from infex.models.base import Arrays, Estimator, Model
from infex.models.layout import (
    GONE,
    DesignRow,
    Layout,
    PerArm,
    arm_row_of,
    check_arm,
    features_of,
    fixed_arms_of,
    per_arm_of,
)
from infex.models.noise import SquaredRewards, StandardErrors
from infex.models.ridge import checked_penalty
from infex.models.sums import Revision, SufficientStatistics, added, fitting_sums, revise_sums


class Solution(NamedTuple):
    """theta, a lower triangular M with M'M its covariance, and the log_det_ratio.

    `solved`, (d + 1, d), has M and, in its last row, theta.
    """

    solved: Floats
    log_det_ratio: float

    @staticmethod
    def of(sums: Floats, penalty: float) -> Solution:
        """Ridge regression: theta = V^-1 b and M'M = V^-1, by sums of x x' and y x, (2, d + 1, d)."""
        solved = np.zeros(sums.shape[1:])
        return Solution(solved, solve_ridge(sums, penalty, solved))

    @staticmethod
    def about(theta: npt.ArrayLike, covariance: npt.ArrayLike, log_det_ratio: float) -> Solution:
        """The solution with this theta, (d,), covariance, (d, d) and positive definite, and log_det_ratio.

        >>> Solution.about([0.5], [[0.25]], log_det_ratio=0.1).factor.tolist()
        [[0.5]]
        """
        vector, matrix = np.asarray(theta, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
        if vector.ndim != 1 or matrix.shape != (vector.size, vector.size):
            raise InvalidSetting(
                "theta and covariance of a Solution must have the shapes (d,) and (d, d), "
                f"got {vector.shape} and {matrix.shape}"
            )
        for name, numbers in (("theta", vector), ("covariance", matrix)):
            if not (finite := np.isfinite(numbers)).all():
                raise InvalidSetting(f"{name} of a Solution must be finite, got {numbers[~finite][0]}")
        try:
            root: Any = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(matrix)[0]
            raise InvalidSetting(
                f"covariance of a Solution must be positive definite, got one with the eigenvalue {least:.3g}"
            ) from None
        upper: Any = np.linalg.qr(root.T[:, ::-1], mode="r")  # M is the one with a positive diagonal
        turned: Floats = upper[::-1, ::-1]
        factor = np.tril(turned) * np.where(np.diag(turned) < 0.0, -1.0, 1.0)[:, None]
        return Solution(np.vstack([factor, vector]), log_det_ratio)

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""
        return np.array(self.solved[-1])

    @property
    def factor(self) -> Floats:
        """M, (d, d)."""
        return self.solved[:-1].copy()


class Fit(Model):
    """The model of an estimator, over the fixed arms in `columns`, (d, K).

    A subclass says how an observation is added, what follows from all of them, and how they are kept;
    `estimator` are its settings, whose `new_model` makes more like it. The first figure that is read after
    a reward costs what `solve` costs and O(d^2 K) for the arms. A search starts from the estimate of the last
    decision that was taken, so that reading in between changes nothing. `penalty` is that of the ridge that
    it resembles.
    """

    logistic: bool = False  # is x'theta the log-odds of a reward of 1?
    likelihood: bool = False  # is the radius that of the likelihood ratio?

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        self.columns = self.layout = np.ascontiguousarray(columns, dtype=np.float64)
        self.estimator: Estimator = estimator
        self.counts: Floats = np.zeros((2, self.columns.shape[1]))
        self._penalty, self._n_observations = checked_penalty(penalty), 0
        self._start: Floats = np.zeros(self.dim)  # of the search for the present solution
        self._next_start: Floats = self._start  # of the one after the next reward
        self._solution: Solution | None = None
        self._posterior: RidgePosterior | None = None

    @abstractmethod
    def add_observation(self, x: Floats, reward: float, weight: float) -> None:
        """Adds one reward of x, or refuses it and changes nothing."""

    @abstractmethod
    def solve(self, start: Floats) -> Solution:
        """The solution for all rewards; `start` is an earlier estimate, from which a search may go on."""

    @abstractmethod
    def observation_arrays(self) -> Arrays:
        """All observations or their sums, as arrays."""

    @abstractmethod
    def restore_observations(self, arrays: Arrays, n_observations: int) -> None:
        """Restores what `observation_arrays` gave; raises DamagedFile if it does not fit."""

    def revise_observation(self, x: Floats, revision: Revision) -> None:
        """Replaces or removes a reward of x; or raises NotKept, and changes nothing."""
        raise NotKept(
            f"{self.estimator!r} cannot give a reward that was learnt another value, or take it out"
            f"{self._define('revise_observation')}"
        )

    def sums(self) -> tuple[Floats | None, int]:
        """Sums of x x' and y x with carries, (2, d + 1, d), or None, and how many rewards are in them."""
        return None, self.n_observations

    @property
    def is_least_squares(self) -> bool:
        return not self.logistic

    @property
    def n_observations(self) -> int:
        return self._n_observations

    @property
    def penalty(self) -> float:
        return self._penalty

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def solution(self) -> Solution:
        """The solution for all rewards, computed once after each update."""
        if self._solution is None:
            solution: object = self.solve(self._start)
            if not isinstance(solution, Solution):
                raise InvalidSetting(
                    f"solve of {type(self).__name__} must return a models.Solution, "
                    f"got {type(solution).__name__}"
                )
            self._solution = solution
        return self._solution

    def posterior(self) -> RidgePosterior:
        """The posterior of the fixed arms; its numbers stay as they are."""
        if self._posterior is None:
            (solved, log_det_ratio), (sums, told) = self.solution, self.sums()
            self._posterior = RidgePosterior.of_solution(
                self.columns,
                solved,
                log_det_ratio,
                self.penalty,
                sums,
                told,
                self.counts,
                self.logistic,
                self.likelihood,
            )
        return self._posterior

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_posterior": None}

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        self.add_observation(features_of(on, self.columns), reward, weight)
        self._observed(on, 1, reward)

    def revise(self, revision: Revision) -> None:
        """Replaces or removes a reward, where `revise_observation` can do that."""
        if revision.after is not None:
            self.check_reward(revision.after)
        self.revise_observation(features_of(revision.on, self.columns), revision)
        self._observed(revision.on, revision.pulls, revision.gain)

    def _observed(self, on: DesignRow | None, pulls: int, gain: float) -> None:
        """Counts `pulls` more rewards with the sum `gain`; the solution is out of date."""
        if isinstance(on, int):
            self.counts[:, on] += pulls, gain
        self._n_observations += pulls
        self._start = self._next_start
        self._solution = self._posterior = None

    def set_warm_start(self) -> None:
        self._next_start = self.solution.theta

    def rearranged(self, layout: Layout, places: Integers) -> Self:
        other = type(self)(fixed_arms_of(layout), self.penalty, self.estimator)
        known = places >= 0
        counts = np.zeros((2, places.size))
        counts[:, known] = self.counts[:, places[known]]
        other._restore(self.arrays() | {"counts": counts})
        return other

    def arrays(self) -> Arrays:
        return self.observation_arrays() | {
            "told": np.array(self.n_observations),
            "counts": self.counts.copy(),
            "start": self._start.copy(),
            "next start": self._next_start.copy(),
        }

    def restore(self, arrays: Arrays) -> None:
        self._restore(arrays)
        try:
            with np.errstate(all="ignore"):  # numbers of a file may be anything
                solved, log_det_ratio = self.solution
        except InvalidSetting as error:
            raise DamagedFile(f"what it has learnt cannot be solved: {error}") from None
        if not (np.isfinite(solved).all() and np.isfinite(log_det_ratio)):
            raise DamagedFile("its theta would not be finite")

    def _restore(self, arrays: Arrays) -> None:
        n_observations = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], n_observations)
        nowhere = np.zeros(self.dim)
        starts = [fitting(name, arrays.get(name, nowhere), (self.dim,)) for name in ("start", "next start")]
        self.restore_observations(arrays, n_observations)
        self._n_observations, self.counts = n_observations, counts
        self._start, self._next_start = starts
        self._solution = self._posterior = None


class SummedFit(Fit):
    """The model of an estimator that needs no more than sum w x x' and sum w y x; a subclass solves."""

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        super().__init__(columns, penalty, estimator)
        self._sums: Floats = np.zeros((2, self.dim + 1, self.dim))  # each with a carry: see `core/ridge.pxd`
        self._squares = SquaredRewards()

    def add_observation(self, x: Floats, reward: float, weight: float) -> None:
        add_rewards(self._sums, self.penalty, np.ascontiguousarray(x), weight, weight * reward)
        self._squares.total += weight * reward * reward

    def observation_arrays(self) -> Arrays:
        return {"truth": self._sums.copy(), "scatter": np.array(self._squares.figures)}

    def restore_observations(self, arrays: Arrays, n_observations: int) -> None:
        sums = fitting_sums("truth", arrays["truth"], self.dim, n_observations, self.penalty)
        self._squares = SquaredRewards.restored_or_unknown(arrays, sums, self.penalty, n_observations)
        self._sums = sums

    def revise_observation(self, x: Floats, revision: Revision) -> None:
        revise_sums(self._sums, self.penalty, x, revision)
        if not self._squares.revise(revision):
            self._squares = self._unknown_squares(self.n_observations + revision.pulls)

    def sufficient_statistics(self) -> SufficientStatistics:
        return SufficientStatistics(self._sums.copy(), self.counts.copy(), self.n_observations)

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        self._sums = added(self._sums, statistics.sums)
        self.counts += statistics.counts
        self._squares = self._unknown_squares(self.n_observations + statistics.n_observations)
        self._observed(None, statistics.n_observations, 0.0)

    def _unknown_squares(self, n_observations: int) -> SquaredRewards:
        return SquaredRewards.unknown_of(self._sums, self.penalty, n_observations)

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        """Standard errors where the weights of rewards are 1/variance, up to a factor."""
        n = self.n_observations
        return self._squares.standard_errors(self._sums, self.penalty, n, rows, largest_variance)

    def sums(self) -> tuple[Floats | None, int]:
        return self._sums.copy(), self.n_observations


@final
class FitBank(Model):
    """One model of an estimator for each arm, on contexts; a reward updates the model of its arm alone.

    `parts` are these models. Their solutions are copied into a bank, which compiled code reads, when needed.
    """

    __slots__ = (
        "_bank", "_given_penalty", "_late", "_stale", "_summed", "columns", "estimator", "layout", "parts",
    )  # fmt: skip

    def __init__(self, layout: PerArm, penalty: float, estimator: Estimator) -> None:
        self.layout: PerArm = layout
        self.estimator: Estimator = estimator
        self._given_penalty = penalty
        self.columns: Floats = np.empty((layout.parameters, 0))  # none are fixed
        one = np.empty((layout.dim, 0))
        self.parts: list[Model] = [estimator.new_model(one, penalty) for _ in range(layout.arms)]
        self._bank = RidgeBank(layout.arms, layout.dim, self.penalty)
        # of each arm: how many rewards are in its sums, None if it keeps none
        self._summed: list[int | None] = [None] * layout.arms
        self._stale = set(range(layout.arms))  # arms whose solution in the bank is out of date
        self._late = set(range(layout.arms))  # arms that have learnt since a decision was taken

    @property
    def is_least_squares(self) -> bool:
        return self.parts[0].is_least_squares

    @property
    def n_observations(self) -> int:
        return int(self._bank.counts[0].sum())

    @property
    def penalty(self) -> float:
        return self.parts[0].penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self._bank.counts

    def posterior(self) -> BankPosterior:
        """The posterior, of no arms until it is given a context."""
        for arm in self._stale:
            known = self.parts[arm].posterior()
            assert isinstance(known, RidgePosterior), "an estimator makes a model of one regression"
            if known.likelihood:
                raise NotKept(
                    "the radius of the likelihood ratio is for one regression of all arms, not for one each"
                )
            sums = known.sums()
            self._bank.put(arm, known.factor, known.theta, known.log_det_ratio, sums)
            self._summed[arm] = None if sums is None else known.told
        self._stale = set()
        told = None if None in self._summed else sum(each or 0 for each in self._summed)
        return BankPosterior(self._bank, told, not self.is_least_squares)

    def check_reward(self, reward: float) -> None:
        self.parts[0].check_reward(reward)

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        arm, context = arm_row_of(on)
        return weight if arm == GONE else self.parts[arm].effective_weight(context, weight)

    def set_warm_start(self) -> None:
        for arm in self._late:
            self.parts[arm].set_warm_start()
        self._late = set()

    def observation_number(self, on: DesignRow) -> int:
        arm = arm_row_of(on).arm
        return 0 if arm == GONE else self.parts[arm].n_observations

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        arm, context = arm_row_of(on)
        if arm != GONE:
            check_arm(arm, self.layout.arms)
            self.parts[arm].update(context, reward, weight)
            self._observed(arm, 1, reward)

    def revise(self, revision: Revision) -> None:
        arm, context = arm_row_of(revision.on)
        if arm != GONE:
            check_arm(arm, self.layout.arms)
            self.parts[arm].revise(revision._replace(on=context))
            self._observed(arm, revision.pulls, revision.gain)

    def _observed(self, arm: int, pulls: int, gain: float) -> None:
        self._bank.note(arm, pulls, gain)
        self._stale.add(arm)
        self._late.add(arm)

    def rearranged(self, layout: Layout, places: Integers) -> FitBank:
        other = FitBank(per_arm_of(layout), self._given_penalty, self.estimator)
        other._bank = self._bank.over(places)
        for new, old in enumerate(places.tolist()):
            if old != GONE:
                other.parts[new] = self.parts[old]
                if old not in self._late:
                    other._late.discard(new)
        return other

    def arrays(self) -> Arrays:
        """The whole state: arrays of equal shape are stacked, others concatenated."""
        found: Arrays = {
            "told": np.array(self.n_observations),
            "counts": np.array(self.counts),
            "late": np.array(sorted(self._late), dtype=np.int64),
            "tolds": np.array([part.n_observations for part in self.parts], dtype=np.int64),
        }
        kept = [part.arrays() for part in self.parts]
        for name in kept[0].keys() - found.keys():
            own = [each[name] for each in kept]
            if len({array.shape for array in own}) == 1:
                found[name] = np.stack(own)
            else:
                found[name], found[f"{name} lengths"] = np.concatenate(own), np.array([len(a) for a in own])
        return found

    def restore(self, arrays: Arrays) -> None:
        count, fresh = self.layout.arms, FitBank(self.layout, self._given_penalty, self.estimator)
        told = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], count, told)
        tolds = fitting("tolds", arrays.get("tolds", counts[0].astype(np.int64)), (count,), whole=True)
        late = fitting("late", arrays.get("late", np.arange(count)), (-1,), whole=True)
        if (late >= count).any():
            raise DamagedFile(f"an arm that was told since is number {late.max()} of {count}")
        names = (fresh.parts[0].arrays().keys() & arrays.keys()) - {"told", "counts"}
        own = {name: _split(name, arrays, count) for name in names}
        for arm, part in enumerate(fresh.parts):
            alone = {"told": tolds[arm], "counts": np.zeros((2, 0))}
            part.restore({name: each[arm] for name, each in own.items()} | alone)
            fresh._bank.note(arm, *counts[:, arm].tolist())
        self.parts, self._bank = fresh.parts, fresh._bank
        self._stale, self._late = set(range(count)), set(late.tolist())

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        assert arms is not None
        return StandardErrors.for_each(
            arms, rows, lambda arm, own: self.parts[arm].standard_errors(own, None, largest_variance)
        )


def _split(name: str, arrays: Arrays, count: int) -> list[Any]:
    """The array of each arm, from the one that `FitBank.arrays` made of them."""
    whole = np.asarray(arrays[name])
    if f"{name} lengths" not in arrays:
        if whole.ndim == 0 or len(whole) != count:
            raise DamagedFile(f"{name} must be of {count} arms, got the shape {whole.shape}")
        return list(whole)
    lengths = fitting(f"{name} lengths", arrays[f"{name} lengths"], (count,), whole=True)
    if whole.ndim == 0 or int(lengths.sum()) != len(whole):
        raise DamagedFile(f"{name} must be {int(lengths.sum())} rows, got the shape {whole.shape}")
    return np.split(whole, np.cumsum(lengths)[:-1])
