"""Logistic regression, for rewards of 0 and 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from infex.arrays import MOST_COUNTED, Floats, fitting_rows, within
from infex.errors import DamagedFile, InvalidReward
from infex.estimators.fit import Fit
from infex.estimators.solution import Solution
from infex.linear.estimating import Arrays
from infex.linear.known import LOGISTIC, chance
from infex.linear.regression import checked_penalty

STEPS = 100
SHORTEST_STEP = 1e-26  # the squared length of a step in H, for each reward, at which the search stops


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

    def solve(self, start: Floats) -> Solution:
        counts = self._plays[: len(self._places)]
        return fit(self._rows[: len(counts)], counts.sum(axis=1), counts[:, 1], self.penalty, start)

    def kept(self) -> Arrays:
        count = len(self._places)
        return {"rows": self._rows[:count].copy(), "plays": self._plays[:count].copy()}

    def recall(self, arrays: Arrays) -> None:
        rows = fitting_rows("rows", arrays["rows"], self.dim)
        plays = within("plays", arrays["plays"], (len(rows), 2), 0.0, MOST_COUNTED)
        places = {row.tobytes(): place for place, row in enumerate(rows)}
        if len(places) < len(rows):
            raise DamagedFile("rows of logistic regression come twice")
        self._rows, self._plays, self._places = rows, plays, places

    def join(self, other: Self) -> None:
        for x, counts in zip(other._rows, other._plays[: len(other._places)], strict=False):
            place = self._place(x)
            self._plays[place] += counts

    def _place(self, x: Floats) -> int:
        """Where the counts of x stand; they may move to make room."""
        place = self._places.setdefault(x.tobytes(), len(self._places))
        if place == len(self._rows):
            self._rows = np.vstack([self._rows, np.empty((place + 8, self.dim))])
            self._plays = np.vstack([self._plays, np.zeros((place + 8, 2))])
        self._rows[place] = x
        return place


def fit(rows: Floats, plays: Floats, wins: Floats, penalty: float, start: Floats) -> Solution:
    """The estimate and H after so many plays of each row, of which so many won, by Newton's method.

    With r the largest change of any x'theta, log(1 + r)/r of a step never goes too far: along it the
    third derivative is at most r times the second (Bach, 2010), and this minimises the bound that
    follows from that. Near the end it is a whole step.
    """
    theta, still = start, SHORTEST_STEP * (1.0 + plays.sum())
    for _ in range(STEPS):
        chances = chance(rows @ theta)
        slope = rows.T @ (wins - plays * chances) - penalty * theta
        found = newton(rows, plays * chances * (1.0 - chances), slope, penalty)
        if slope @ found.theta <= still:
            break
        reach = np.abs(rows @ found.theta).max()
        theta = theta + (math.log1p(reach) / reach if reach > 0.0 else 1.0) * found.theta
    return found.at(theta)


def newton(rows: Floats, weights: Floats, slope: Floats, penalty: float) -> Solution:
    """The step H^-1 slope, and the factor of H^-1, where H = penalty I + sum weight x x'."""
    truth = np.zeros((2, slope.size + 1, slope.size))
    truth[0, :-1] = (rows.T * weights) @ rows
    truth[0, -1] = slope
    return Solution.of(truth, penalty)
