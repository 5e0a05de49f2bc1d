"""Ridge regression of the last rewards alone."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import MOST_COUNTED, Floats, fitting, fitting_rows, within
from infex.checks import HEAVIEST_WEIGHT, LARGEST_REWARD, whole
from infex.core import estimators as core
from infex.errors import InvalidSetting, NotKept
from infex.estimators.fit import Fit
from infex.estimators.solution import Solution
from infex.estimators.sums import Sums
from infex.linear.estimating import Arrays, FitForm
from infex.linear.offers import Offer
from infex.linear.revising import Revision, revise_sums
from infex.linear.scatter import Scatter, Scattered, scattered


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

    def compiled(self) -> FitForm:
        """The same in compiled loops."""
        return FitForm(self._make)

    def _make(self, dim: int, penalty: float, rows: int, horizon: int) -> core.Fit:
        return core.WindowedFit(dim, penalty, self.size, horizon)

    def start(self, columns: Floats, penalty: float) -> WindowedFit:
        """Statistics over these arms, with nothing learnt."""
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
        self._sums = Sums(self.dim, self.penalty)
        self._dropped = 0

    def take(self, x: Floats, reward: float, weight: float) -> None:
        self._last.append((x.copy(), reward, weight))
        self._sums.add(x, reward, weight)
        if len(self._last) > self._size:
            oldest, gained, counted = self._last.popleft()
            self._sums.add(oldest, gained, -counted)
            self._dropped += 1
        if self._dropped == self._size:
            self._sum_anew()

    def put_right(self, x: Floats, revision: Revision) -> None:
        """What has left the window counts no more, with any value."""
        if revision.after is None:
            raise NotKept(f"{self.estimator!r} cannot take a reward out: rewards count by their order")
        place = len(self._last) - (self.told - revision.turn)
        if place >= 0:
            self._last[place] = (self._last[place][0], revision.after, revision.weight)
            revise_sums(self._sums.truth, self.penalty, x, revision)

    def solve(self, start: Floats) -> Solution:
        return self._sums.solve()

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise in the window says, if nothing drifts there."""
        scatter = Scatter(sum(weight * reward * reward for _, reward, weight in self._last))
        count, rows = len(self._last), self.asked_about(offer)
        return scattered(self._sums.truth, self.penalty, scatter, count, rows, most)

    def kept(self) -> Arrays:
        rows, rewards, weights = zip(*self._last, strict=True) if self._last else ((), (), ())
        return {
            "rows": np.array(rows, dtype=np.float64).reshape(len(rows), self.dim),
            "rewards": np.array(rewards, dtype=np.float64),
            "weights": np.array(weights, dtype=np.float64),
            "truth": self._sums.truth.copy(),
            "dropped": np.array(self._dropped),
        }

    def recall(self, arrays: Arrays, told: int) -> None:
        rows = fitting_rows("rows", arrays["rows"], self.dim)
        rewards = within("rewards", arrays["rewards"], (len(rows),), -LARGEST_REWARD, LARGEST_REWARD)
        weights = within("weights", arrays["weights"], (len(rows),), 0.0, HEAVIEST_WEIGHT)
        values = rewards.tolist(), weights.tolist()
        window = deque(zip(rows, *values, strict=True), maxlen=self._size)
        sums, dropped = None, 0
        if "truth" in arrays and len(window) == len(rows):  # else of another size: added up anew
            sums, dropped = (
                Sums.kept("truth", arrays, self.dim, told, self.penalty),
                int(fitting("dropped", arrays["dropped"], (), whole=True)),
            )
        self._last = deque(window)
        self._sum_anew()
        if sums is not None:
            self._sums, self._dropped = sums, dropped

    def sums(self) -> tuple[Floats | None, int]:
        """The sums of the window, and how many rewards are in it."""
        return self._sums.truth.copy(), len(self._last)

    def _sum_anew(self) -> None:
        self._sums = Sums(self.dim, self.penalty)
        for x, reward, weight in self._last:
            self._sums.add(x, reward, weight)
        self._dropped = 0
