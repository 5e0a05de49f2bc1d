"""Logistic regression, for rewards of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from infex.arrays import MOST_COUNTED, Floats, fitting, fitting_rows, within
from infex.checks import one_of
from infex.core import estimators as core
from infex.core.estimators import (
    LOGISTIC_PROGRESS,
    begin_logistic_progress,
    logistic_fit_is_due,
    solve_logistic,
    update_logistic,
)
from infex.errors import DamagedFile, InvalidReward
from infex.models.base import Arrays, FitSpec
from infex.models.fit import Fit, Solution
from infex.models.layout import DesignRows, features_of
from infex.models.ridge import checked_penalty
from infex.models.sums import Revision


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """Logistic regression: a reward is 1 with the chance p = 1/(1 + exp(-x'theta)), else 0.

    Estimates are chances. theta maximises the likelihood times exp(-penalty |theta|^2/2); `penalty` goes
    before that of the bandit. It is found by Newton's method over all rewards when they have doubled, or
    theta has moved so far that chances may be off by 1e-3 (with every reward while they are few, or where
    there are at most 4 different x), and kept up in O(d^2) a reward in between. Its covariance is
    Laplace's, H^-1 with H = penalty I + sum p(1-p) x x', and the log_det_ratio that of H. A width is
    p(1-p)|x| in H^-1, the delta method; upper bounds and samples are chances of x'theta + beta |x| in H^-1
    and of sampled parameters, so they lie within 0 and 1 (an interval by widths may not). Upper bounds
    nearer to 1 than 1e-12 are ties. Other rewards are refused, and so are weights.

    The paper's two conditions on an estimator are known for rewards of this law and an estimate that
    is kept within a ball that holds theta, with a constant that grows as chances come near 0 or 1
    (Filippi et al., 2010; Faury et al., 2020). This one is not kept in a ball; then they are not known.

    The `radius` of a policy is made for linear rewards: with it, LinUCB is the optimism of logistic bandits
    with a linear radius. With `radius="likelihood"` every policy has the radius of the likelihood ratio in
    its place, of whose settings it takes `bound` (S) and `delta`: beta^2 = 2 (1 + S) (1 + log(1/delta) + d
    log max(e, 2 e S (1 + S/2) (n - 1)/d)) after n rewards (OFUGLB-e; Lee, Yun and Jun, 2024, Theorem 3.2).
    The 1 pays for a penalty in H of up to (1 + S)/(2 S^2), and the authors' code has 1/(8 S^2 (1 + S)). Their
    estimate has no penalty, and is kept in the ball of radius S instead.

    >>> from infex import Bandit, Greedy
    >>> bandit = Bandit([[1.0]], Greedy(), estimator=Logistic())
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.estimates().estimate.round(3).tolist()
    [0.599]
    """

    penalty: float | None = None
    radius: Literal["policy", "likelihood"] = "policy"

    def __post_init__(self) -> None:
        one_of("radius", self.radius, ("policy", "likelihood"))
        if self.penalty is not None:
            object.__setattr__(self, "penalty", checked_penalty(self.penalty))

    def compiled(self) -> FitSpec | None:
        """The same in compiled loops, which have the radius of the policy."""
        if self.radius == "likelihood":
            return None
        return FitSpec(self._make, linked=True, penalty=self.penalty)

    def _make(self, dim: int, penalty: float, rows: int, horizon: int) -> core.Fit:
        return core.LogisticFit(dim, penalty, rows)

    def scaled(self, unit: float) -> Logistic:
        """The same for features that are divided by `unit`: theta is then that many times as long."""
        return self if self.penalty is None else replace(self, penalty=self.penalty / unit**2)

    def new_model(self, columns: Floats, penalty: float) -> LogisticFit:
        """A model over these arms, with nothing learnt."""
        return LogisticFit(columns, penalty if self.penalty is None else self.penalty, self)


@final
class LogisticFit(Fit):
    """How often each x was followed by 0 and by 1, and what was fitted to it: see `core.estimators`.

    A reward costs O(d^2), and reading nothing. All rows are kept, as a fit needs them: n different x take
    n (d + 2) numbers.
    """

    logistic = True

    def __init__(self, columns: Floats, penalty: float, estimator: Logistic) -> None:
        super().__init__(columns, penalty, estimator)
        self.likelihood = estimator.radius == "likelihood"
        self._places: dict[bytes, int] = {}
        self._rows: Floats = np.empty((8, self.dim))
        self._plays: Floats = np.zeros((8, 2))
        self._solved: Floats = np.zeros((self.dim + 1, self.dim))
        self._volume, self._state = 0.0, np.zeros(LOGISTIC_PROGRESS)
        self.refit(0)

    def check_reward(self, reward: float) -> None:
        """Refuses a reward that is neither 0 nor 1."""
        if reward not in (0.0, 1.0):
            raise InvalidReward(f"a reward for {self.estimator!r} must be 0 or 1, got {reward!r}")

    def add_observation(self, x: Floats, reward: float, weight: float) -> None:
        self.check_reward(reward)
        place = self._place(x)
        self._plays[place, int(reward)] += weight
        if logistic_fit_is_due(len(self._places), self.n_observations + 1.0, weight, self._state):
            self.refit(self.n_observations + 1)
        else:
            self._volume += update_logistic(x, reward, weight, self._solved, self._state)

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Adds many observations, and fits all anew once."""
        for number, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.check_reward(reward)
            on = design.on(number)
            place = self._place(features_of(on, self.columns))
            self._plays[place, int(reward)] += weight
            self._observed(on, 1, reward)
        self.refit(self.n_observations)

    def refit(self, n_observations: int) -> None:
        """Fits all rows anew, by Newton's method from the present estimate."""
        rows, plays = self._counted
        losses, wins = plays[:, 0], plays[:, 1]
        self._volume = solve_logistic(rows, losses, wins, self.penalty, self._solved[-1], self._solved)
        begin_logistic_progress(self._state, n_observations)

    @property
    def _counted(self) -> tuple[Floats, Floats]:
        """Every x that was seen, and how often it was followed by 0 and by 1."""
        return self._rows[: len(self._places)], self._plays[: len(self._places)]

    def revise_observation(self, x: Floats, revision: Revision) -> None:
        place = self._place(x)
        self._plays[place, int(revision.before)] -= revision.weight
        if revision.after is not None:
            self._plays[place, int(revision.after)] += revision.weight
        elif not self._plays[place].any():
            self._remove(place)
        self.refit(self.n_observations + revision.pulls)

    def _remove(self, place: int) -> None:
        """Removes a row without rewards."""
        rows, plays = self._counted
        self._rows, self._plays = np.delete(rows, place, axis=0), np.delete(plays, place, axis=0)
        self._places = _places_of(self._rows)

    def solve(self, start: Floats) -> Solution:
        """The last fit, kept up since; there is nothing to search for."""
        return Solution(self._solved.copy(), self._volume)

    def observation_arrays(self) -> Arrays:
        (rows, plays), figures = self._counted, np.append(self._volume, self._state)
        kept = {"rows": rows, "plays": plays, "fitted": self._solved, "fit figures": figures}
        return {name: array.copy() for name, array in kept.items()}

    def restore_observations(self, arrays: Arrays, n_observations: int) -> None:
        rows = fitting_rows("rows", arrays["rows"], self.dim)
        plays = within("plays", arrays["plays"], (len(rows), 2), 0.0, MOST_COUNTED)
        places = _places_of(rows)
        if len(places) < len(rows):
            raise DamagedFile("rows of logistic regression come twice")
        self._rows, self._plays, self._places = rows, plays, places
        if "fitted" in arrays:  # it goes on bit for bit
            self._solved = fitting("fitted", arrays["fitted"], self._solved.shape)
            figures = fitting("fit figures", arrays["fit figures"], (1 + LOGISTIC_PROGRESS,))
            self._volume, self._state = float(figures[0]), figures[1:].copy()
        else:  # contexts have other features now: all is fitted anew
            self._solved = np.zeros((self.dim + 1, self.dim))
            self.refit(n_observations)

    def _place(self, x: Floats) -> int:
        """The index of the counts of x; arrays may move to make room."""
        place = self._places.setdefault((x + 0.0).tobytes(), len(self._places))  # -0 is 0
        if place == len(self._rows):
            self._rows = np.vstack([self._rows, np.empty((place + 8, self.dim))])
            self._plays = np.vstack([self._plays, np.zeros((place + 8, 2))])
        self._rows[place] = x
        return place


def _places_of(rows: Floats) -> dict[bytes, int]:
    """The index of each row; -0 is 0."""
    return {(row + 0.0).tobytes(): place for place, row in enumerate(rows)}
