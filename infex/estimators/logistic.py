"""Logistic regression, for rewards of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from infex.arrays import MOST_COUNTED, Floats, fitting_rows, within
from infex.errors import DamagedFile, InvalidReward
from infex.estimators.fit import Fit
from infex.estimators.solution import Solution
from infex.kernels.calling import address_of, fitter_arguments
from infex.kernels.fitters import fit_logistic, logistic
from infex.linear.estimating import Arrays, FitForm
from infex.linear.known import LOGISTIC
from infex.linear.regression import checked_penalty
from infex.linear.revising import Revision


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """Rewards are 1 with the chance p = 1/(1 + exp(-x'theta)), else 0; estimates are chances.

    theta maximises the likelihood times exp(-penalty |theta|^2/2), by Newton's method from the last
    estimate; `penalty` goes before that of the bandit. Its covariance is Laplace's, H^-1 with H =
    penalty I + sum p(1-p) x x', and the volume that of H. A width is p(1-p)|x| in H^-1, the delta
    method; upper bounds and samples are chances of x'theta + beta |x| in H^-1 and of sampled
    parameters, so they lie within 0 and 1 (an interval by widths may not). Upper bounds nearer to 1
    than 1e-12 are ties. Other rewards are refused, and so are weights.

    The paper's two conditions on an estimator are known for rewards of this law and an estimate that
    is kept within a ball that holds theta, with a constant that grows as chances come near 0 or 1
    (Filippi et al., 2010; Faury et al., 2020). This one is not kept in a ball; then they are not known.

    >>> from infex import Bandit, Greedy
    >>> bandit = Bandit([[1.0]], Greedy(), estimator=Logistic())
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.estimates().estimate.round(3).tolist()
    [0.599]
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None:
            object.__setattr__(self, "penalty", checked_penalty(self.penalty))

    def compiled(self) -> FitForm:
        """The same in compiled loops."""
        fitter = address_of(fit_logistic, fitter_arguments())
        return FitForm(fitter, np.zeros(0), _room, linked=True, penalty=self.penalty)

    def scaled(self, unit: float) -> Logistic:
        """The same for features that are divided by `unit`: theta is then that many times as long."""
        return self if self.penalty is None else replace(self, penalty=self.penalty / unit**2)

    def start(self, columns: Floats, penalty: float) -> LogisticFit:
        """Statistics over these arms, with nothing learnt."""
        return LogisticFit(columns, penalty if self.penalty is None else self.penalty, self)


@final
class LogisticFit(Fit):
    """How often each x was followed by 0 and by 1; O(n d^2) for each step, with n different x."""

    squares = False
    link = LOGISTIC

    def __init__(self, columns: Floats, penalty: float, estimator: Logistic) -> None:
        super().__init__(columns, penalty, estimator)
        self._places: dict[bytes, int] = {}
        self._rows: Floats = np.empty((8, self.dim))
        self._plays: Floats = np.zeros((8, 2))

    def refuse(self, reward: float) -> None:
        """Refuses a reward that is neither 0 nor 1."""
        if reward not in (0.0, 1.0):
            raise InvalidReward(f"a reward for {self.estimator!r} must be 0 or 1, got {reward!r}")

    def take(self, x: Floats, reward: float, weight: float) -> None:
        self.refuse(reward)
        place = self._place(x)
        self._plays[place, int(reward)] += weight

    def put_right(self, x: Floats, revision: Revision) -> None:
        place = self._place(x)
        self._plays[place, int(revision.before)] -= revision.weight
        if revision.after is not None:
            self._plays[place, int(revision.after)] += revision.weight
        elif not self._plays[place].any():
            self._remove(place)

    def _remove(self, place: int) -> None:
        """Leaves nothing of a row that is not followed by any reward."""
        count = len(self._places)
        left = np.delete(self._rows[:count], place, axis=0), np.delete(self._plays[:count], place, axis=0)
        self._rows, self._plays = left
        self._places = {(row + 0.0).tobytes(): at for at, row in enumerate(self._rows)}

    def solve(self, start: Floats) -> Solution:
        count = len(self._places)
        losses, wins = self._plays[:count].T.copy()
        solution = Solution.blank(self.dim)
        volume = logistic(self._rows[:count], losses, wins, self.penalty, start.copy(), solution.solved)
        return solution.grown(volume)

    def kept(self) -> Arrays:
        count = len(self._places)
        return {"rows": self._rows[:count].copy(), "plays": self._plays[:count].copy()}

    def recall(self, arrays: Arrays, told: int) -> None:
        rows = fitting_rows("rows", arrays["rows"], self.dim)
        plays = within("plays", arrays["plays"], (len(rows), 2), 0.0, MOST_COUNTED)
        places = {(row + 0.0).tobytes(): place for place, row in enumerate(rows)}
        if len(places) < len(rows):
            raise DamagedFile("rows of logistic regression come twice")
        self._rows, self._plays, self._places = rows, plays, places

    def join(self, other: Self) -> None:
        for x, counts in zip(other._rows, other._plays[: len(other._places)], strict=False):
            place = self._place(x)
            self._plays[place] += counts

    def _place(self, x: Floats) -> int:
        """Where the counts of x stand; they may move to make room."""
        place = self._places.setdefault((x + 0.0).tobytes(), len(self._places))  # -0 is 0
        if place == len(self._rows):
            self._rows = np.vstack([self._rows, np.empty((place + 8, self.dim))])
            self._plays = np.vstack([self._plays, np.zeros((place + 8, 2))])
        self._rows[place] = x
        return place


def _room(dim: int, arms: int, horizon: int) -> int:
    """How many numbers a compiled loop keeps: a count, an estimate, and of every arm losses and wins."""
    return 1 + dim + arms * (dim + 2)
