"""Ridge regression that forgets: by discounting, or by a window."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import MOST_COUNTED, Floats, Integers, fitting, fitting_rows, within
from infex.checks import HEAVIEST_WEIGHT, LARGEST_REWARD, real, whole
from infex.core import estimators as core
from infex.core.ridge import add_rewards
from infex.errors import InvalidSetting, NotKept
from infex.models.base import Arrays, FitSpec
from infex.models.fit import Fit, Solution
from infex.models.noise import (
    LARGE,
    RidgeSolution,
    SquaredRewards,
    StandardErrors,
    inverted,
    residual_variance,
)
from infex.models.sums import Moments, Revision, fitting_sums, revise_sums


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Discounted:
    """Ridge regression in which a reward weighs rate^age; the age is how many rewards came after it.

    For rewards that drift: about 1/(1 - rate) rewards count. As in D-LinUCB (Russac, Vernade and
    Cappe, *Weighted linear bandits for non-stationary environments*, 2019), with V = penalty I +
    sum w x x' and W = penalty I + sum w^2 x x' the covariance is V^-1 W V^-1, and the log_det_ratio is that
    of W. Samples of LinTS have this covariance too.

    The paper's two conditions on an estimator do not hold if the rate is below 1: no more than
    1/(1 - rate) rewards count, so the error stops falling. With rate 1 it is ridge regression.

    >>> from infex import Bandit, Greedy
    >>> bandit = Bandit([[1.0]], Greedy(), estimator=Discounted(rate=0.5))
    >>> for reward in (1.0, 0.0):
    ...     bandit.tell(bandit.ask(), reward)
    >>> bandit.estimates().estimate.tolist()  # (1/2 + 0)/(1 + 1/2 + 1)
    [0.2]
    """

    rate: float = 0.99

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", real("rate", self.rate, above=0, most=1))

    def compiled(self) -> FitSpec:
        """The same in compiled loops."""
        return FitSpec(self._make)

    def _make(self, dim: int, penalty: float, rows: int, horizon: int) -> core.Fit:
        return core.DiscountedFit(dim, penalty, self.rate)

    def new_model(self, columns: Floats, penalty: float) -> DiscountedFit:
        """A model over these arms, with nothing learnt."""
        return DiscountedFit(columns, penalty, self)


@final
class DiscountedFit(Fit):
    """Two sums: of rewards by their weights, and by the squares of these; O(d^3) to solve."""

    def __init__(self, columns: Floats, penalty: float, estimator: Discounted) -> None:
        super().__init__(columns, penalty, estimator)
        self._rate = estimator.rate
        self._sums: Floats = np.zeros((2, self.dim + 1, self.dim))
        self._squared_sums: Floats = np.zeros((2, self.dim + 1, self.dim))
        self._squares = 0.0  # sum w y^2
        self._unknown = 0.0  # the weights of rewards whose squares are not in it

    def add_observation(self, x: Floats, reward: float, weight: float) -> None:
        core.fade_sums(self._sums, self.penalty, self._rate)
        core.fade_sums(self._squared_sums, self.penalty, self._rate**2)
        x = np.ascontiguousarray(x)
        add_rewards(self._sums, self.penalty, x, weight, weight * reward)
        add_rewards(self._squared_sums, self.penalty, x, weight, 0.0)
        self._squares = self._rate * self._squares + weight * reward * reward
        self._unknown *= self._rate

    def revise_observation(self, x: Floats, revision: Revision) -> None:
        """Replaces a reward; removing one is refused, as the age of those before it would change."""
        if revision.after is None:
            raise NotKept(f"{self.estimator!r} cannot take a reward out: rewards count by their order")
        weight = self._rate ** (self.n_observations - 1 - revision.number)
        revise_sums(self._sums, self.penalty, x, revision, weight)
        if self._unknown or max(abs(revision.after), abs(revision.before)) > LARGE:
            self._forget_squares(self.n_observations)
        else:
            self._squares += weight * revision.weight * (revision.after**2 - revision.before**2)

    def solve(self, start: Floats) -> Solution:
        """The covariance is V^-1 W V^-1."""
        solved = np.zeros((self.dim + 1, self.dim))
        log_det_ratio = core.solve_discounted(self._sums, self._squared_sums, self.penalty, solved)
        return Solution(solved, log_det_ratio)

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        """Standard errors by the residuals of rewards by their weights, if nothing drifts while they count.

        With S and W as sums by weights and by their squares, E sum w (y - x'theta)^2 is the noise times
        sum w - 2 tr V^-1 W + tr V^-1 S V^-1 W; its degrees of freedom are this, times sum w / sum w^2.
        """
        (gram, moment, _), twice = Moments.of(self._sums, 0), Moments.of(self._squared_sums, 0).gram
        inverse, n = inverted(gram, self.penalty), self.n_observations
        theta, meat = inverse @ moment, inverse @ twice @ inverse
        whole, unknown = weights_of(n, self._rate), self._unknown
        counted = whole - unknown - 2.0 * float(np.sum(inverse * twice)) + float(np.sum(gram * meat))
        freedom = counted * whole / max(weights_of(n, self._rate**2), 1.0)
        norm, known = float(np.linalg.norm(theta)), 1.0 - unknown / max(whole, 1.0)
        left = self._squares - float(theta @ moment) - known * self.penalty * norm**2
        noise = residual_variance(left, counted, freedom, largest_variance)
        bias = self.penalty * np.linalg.norm(rows @ inverse, axis=1)
        unit_variance = np.einsum("ij,jk,ik->i", rows, meat, rows)
        return StandardErrors.of(rows @ theta, unit_variance, noise, bias, freedom, norm)

    def _forget_squares(self, n_observations: int) -> None:
        """Marks the squares of all rewards so far as unknown."""
        self._squares = max(RidgeSolution.of(self._sums, self.penalty).fitted, 0.0)
        self._unknown = weights_of(n_observations, self._rate)

    def observation_arrays(self) -> Arrays:
        squares = np.array([self._squares, self._unknown])
        return {
            "faded": self._sums.copy(),
            "faded twice": self._squared_sums.copy(),
            "faded squares": squares,
        }

    def restore_observations(self, arrays: Arrays, n_observations: int) -> None:
        sums, squared = (
            fitting_sums(name, arrays[name], self.dim, n_observations, self.penalty)
            for name in ("faded", "faded twice")
        )
        squares = within("faded squares", arrays.get("faded squares", np.zeros(2)), (2,), 0.0, np.inf)
        self._sums, self._squared_sums, (self._squares, self._unknown) = sums, squared, squares.tolist()
        if "faded squares" not in arrays:  # contexts have other features now
            self._forget_squares(n_observations)

    def sums(self) -> tuple[Floats | None, int]:
        """The sums by their weights; as many rewards as these weights add up to."""
        return self._sums.copy(), round(weights_of(self.n_observations, self._rate))


def weights_of(n_observations: int, rate: float) -> float:
    """The sum of the weights of n rewards: 1 + rate + ... + rate^(n - 1)."""
    return float(n_observations) if rate == 1.0 else (1.0 - rate**n_observations) / (1.0 - rate)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """Ridge regression of the last `size` rewards (SW-LinUCB; Cheung, Simchi-Levi and Zhu, 2019).

    For rewards that drift or jump: what is older is forgotten at once.

    The paper's two conditions on an estimator hold as long as the window holds all rewards, and not
    beyond: no more than `size` count, so the error stops falling.

    >>> from infex import Bandit, Greedy
    >>> bandit = Bandit([[1.0]], Greedy(), estimator=Windowed(size=1))
    >>> for reward in (1.0, 0.5):
    ...     bandit.tell(bandit.ask(), reward)
    >>> bandit.estimates().estimate.round(6).tolist()  # 0.5/(1 + 1)
    [0.25]
    """

    size: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole("size", self.size, least=1))
        if self.size > MOST_COUNTED:
            raise InvalidSetting(f"size must be at most {MOST_COUNTED:g}, got {self.size}")

    def compiled(self) -> FitSpec:
        """The same in compiled loops."""
        return FitSpec(self._make)

    def _make(self, dim: int, penalty: float, rows: int, horizon: int) -> core.Fit:
        return core.WindowedFit(dim, penalty, self.size, horizon)

    def new_model(self, columns: Floats, penalty: float) -> WindowedFit:
        """A model over these arms, with nothing learnt."""
        return WindowedFit(columns, penalty, self)


@final
class WindowedFit(Fit):
    """The rewards in the window, and their sums; O(d^3) to solve, whatever the size.

    The sums are taken anew once the window has gone round, O(d^2) for each reward.
    """

    def __init__(self, columns: Floats, penalty: float, estimator: Windowed) -> None:
        super().__init__(columns, penalty, estimator)
        self._size = estimator.size
        self._last: deque[tuple[Floats, float, float]] = deque()
        self._sum_anew()

    def _sum_anew(self) -> None:
        self._sums: Floats = np.zeros((2, self.dim + 1, self.dim))
        self._dropped = 0
        for x, reward, weight in self._last:
            add_rewards(self._sums, self.penalty, x, weight, weight * reward)

    def add_observation(self, x: Floats, reward: float, weight: float) -> None:
        x = np.array(x, order="C")
        self._last.append((x, reward, weight))
        add_rewards(self._sums, self.penalty, x, weight, weight * reward)
        if len(self._last) > self._size:
            oldest, gained, counted = self._last.popleft()
            add_rewards(self._sums, self.penalty, oldest, -counted, -counted * gained)
            self._dropped += 1
        if self._dropped == self._size:
            self._sum_anew()

    def revise_observation(self, x: Floats, revision: Revision) -> None:
        """Replaces a reward in the window; one that has left it counts no more."""
        if revision.after is None:
            raise NotKept(f"{self.estimator!r} cannot take a reward out: rewards count by their order")
        place = len(self._last) - (self.n_observations - revision.number)
        if place >= 0:
            self._last[place] = (self._last[place][0], revision.after, revision.weight)
            revise_sums(self._sums, self.penalty, x, revision)

    def solve(self, start: Floats) -> Solution:
        return Solution.of(self._sums, self.penalty)

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        """Standard errors by the residuals in the window, if nothing drifts there."""
        squares = SquaredRewards(sum(weight * reward * reward for _, reward, weight in self._last))
        return squares.standard_errors(self._sums, self.penalty, len(self._last), rows, largest_variance)

    def observation_arrays(self) -> Arrays:
        rows, rewards, weights = zip(*self._last, strict=True) if self._last else ((), (), ())
        return {
            "rows": np.array(rows, dtype=np.float64).reshape(len(rows), self.dim),
            "rewards": np.array(rewards, dtype=np.float64),
            "weights": np.array(weights, dtype=np.float64),
            "truth": self._sums.copy(),
            "dropped": np.array(self._dropped),
        }

    def restore_observations(self, arrays: Arrays, n_observations: int) -> None:
        rows = fitting_rows("rows", arrays["rows"], self.dim)
        rewards = within("rewards", arrays["rewards"], (len(rows),), -LARGEST_REWARD, LARGEST_REWARD)
        weights = within("weights", arrays["weights"], (len(rows),), 0.0, HEAVIEST_WEIGHT)
        last = deque(zip(rows, rewards.tolist(), weights.tolist(), strict=True), maxlen=self._size)
        sums, dropped = None, 0
        if "truth" in arrays and len(last) == len(rows):  # else of another size: added up anew
            sums = fitting_sums("truth", arrays["truth"], self.dim, n_observations, self.penalty)
            dropped = int(fitting("dropped", arrays["dropped"], (), whole=True))
        self._last = deque(last)
        self._sum_anew()
        if sums is not None:
            self._sums, self._dropped = sums, dropped

    def sums(self) -> tuple[Floats | None, int]:
        """The sums of the window, and how many rewards are in it."""
        return self._sums.copy(), len(self._last)
