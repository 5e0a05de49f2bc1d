"""What a policy may read about the arms on offer in one round."""

from __future__ import annotations

import copy
from typing import Any, Protocol, final

import numpy as np

from infex import kernels
from infex.arrays import Bools, Floats, Integers, shown
from infex.checks import one_of
from infex.errors import NotKept
from infex.kernels.view import View
from infex.linear.moments import Moments
from infex.linear.tally import Tally

SAMPLINGS = ("gaussian", "spherical")


class Scorer(Protocol):
    """What is known of a set of arms: `Ridge` of its fixed arms, `Offer` of those of one round."""

    columns: Floats
    lasting: bool

    @property
    def penalty(self) -> float:
        """The ridge penalty: V_0 = penalty I."""

    @property
    def volume(self) -> float:
        """alpha = log(det V/det V_0)."""

    def estimates(self) -> tuple[int, Floats]:
        """The greedy arm, and every arm's estimate."""

    def widths(self) -> Floats:
        """Every arm's width |x| in V^-1."""

    def width(self, arm: int) -> float:
        """One arm's width."""

    def upper(self, beta: float) -> Floats:
        """Every arm's estimate + beta width."""

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        """The parameter theta + scale V^-1/2 direction."""

    def means(self, scores: Floats) -> Floats:
        """The mean rewards of arms by their x'theta: these themselves, if rewards are linear."""

    def view(self, settings: Floats) -> View:
        """What a kernel sees."""

    def on(self, columns: Floats) -> Scorer:
        """What is known of other arms."""

    def moments(self) -> Moments:
        """What was learnt, as sums."""


def draw(dim: int, rng: np.random.Generator, sampling: str) -> Floats:
    """eta, of the law that `sampling` names."""
    eta = rng.standard_normal(dim)
    if one_of("sampling", sampling, SAMPLINGS) == "spherical":
        kernels.to_sphere(eta)
    return eta


@final
class Evidence:
    """What a policy may read about the K arms on offer; good until the next reward is learnt.

    >>> from infex.linear import Ridge
    >>> ridge = Ridge(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> ridge.learn(1, reward=1.0)
    >>> evidence = Evidence(ridge)
    >>> evidence.greedy, evidence.estimates.tolist()
    (1, [0.0, 0.5])
    """

    __slots__ = (
        "_estimates", "_explored", "_own_tally", "_scorer", "_tally", "_widths",
        "allowed", "greedy", "note", "penalty", "volume",
    )  # fmt: skip

    greedy: int
    """The arm of the largest estimate, the lowest index among ties."""
    penalty: float
    """The ridge penalty: V_0 = penalty I."""
    volume: float
    """alpha = log(det V/det V_0)."""
    note: Any
    """What the policy noted in its last choice, None at first."""
    allowed: Bools | None
    """The arms that may be tried by exploring, (K,); None if all are."""

    def __init__(
        self,
        scorer: Scorer,
        explored: Scorer | None = None,
        tally: Tally | None = None,
        own_tally: Tally | None = None,
        note: Any = None,
    ) -> None:
        self._scorer = scorer
        self._explored = explored
        self._tally = tally
        self._own_tally = own_tally
        self.allowed = None
        self.note = note
        self._widths: Floats | None = None
        self.greedy, self._estimates = scorer.estimates()
        self.penalty = scorer.penalty
        self.volume = scorer.volume

    def __len__(self) -> int:
        """K, the number of arms."""
        return self._estimates.size

    @property
    def arms(self) -> Floats:
        """The arms, (K, d)."""
        return shown(self._scorer.columns.T)

    @property
    def estimates(self) -> Floats:
        """Every arm's estimated mean reward x'theta, (K,)."""
        return shown(self._estimates)

    @property
    def widths(self) -> Floats:
        """Every arm's width |x| in V^-1, (K,)."""
        if self._widths is None:
            self._widths = self._scorer.widths()
        return shown(self._widths)

    @property
    def explored(self) -> Evidence:
        """The same from the exploring rounds alone, for a policy that says it `uses_explored`."""
        if self._explored is None:
            raise NotKept("exploring rounds are not kept apart; give the policy `uses_explored = True`")
        found = Evidence(self._explored, tally=self._own_tally, note=self.note)
        found.allowed = self.allowed
        return found

    @property
    def lasting(self) -> bool:
        """Are these arms on offer in every round?"""
        return self._scorer.lasting

    @property
    def pulls(self) -> Integers:
        """How many rewards every fixed arm was told, (K,)."""
        return shown(self._counted().pulls)

    @property
    def sums(self) -> Floats:
        """Every fixed arm's rewards added up, (K,)."""
        return shown(self._counted().sums)

    @property
    def moments(self) -> Moments:
        """What was learnt as sums: sum x x', sum y x, and the number of rewards."""
        return self._scorer.moments()

    def among(self, allowed: Bools) -> tuple[Evidence, Integers]:
        """What is known of some arms, and which they are."""
        places = np.flatnonzero(allowed)
        columns = self._scorer.columns[:, places]
        explored = None if self._explored is None else self._explored.on(columns)
        tally, own = (None if each is None else each.at(places) for each in (self._tally, self._own_tally))
        return Evidence(self._scorer.on(columns), explored, tally, own, self.note), places

    def on(self, columns: Floats) -> Evidence:
        """What is known of other arms, (d, K)."""
        explored = None if self._explored is None else self._explored.on(columns)
        return Evidence(self._scorer.on(columns), explored, note=self.note)

    def optimistic(self, arm: int, radius: float) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,).

        That is theta + radius V^-1 x/|x| in V^-1, and theta for an arm of width 0.
        """
        x = self._scorer.columns[:, arm]
        still = np.zeros(x.size)
        theta = self._scorer.perturbed(0.0, still)
        rows = np.array([self._scorer.perturbed(1.0, unit) for unit in np.eye(x.size)]) - theta
        towards = rows @ x
        length = float(np.linalg.norm(towards))
        return theta if length == 0.0 else self._scorer.perturbed(radius, towards / length)

    def noted(self, note: Any) -> Evidence:
        """The same, with another note."""
        found = copy.copy(self)
        found.note = note
        return found

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""
        return float(self._estimates.item(arm))

    def width(self, arm: int) -> float:
        """One arm's width."""
        return self._scorer.width(arm)

    def upper(self, radius: float) -> Floats:
        """Every arm's estimate + radius width, (K,)."""
        return self._scorer.upper(radius)

    def perturbed(self, scale: float, rng: np.random.Generator, sampling: str = "gaussian") -> Floats:
        """Every arm's score under one sampled parameter theta + scale V^-1/2 eta, (K,).

        `sampling` is the law of eta: "gaussian" is N(0, I), "spherical" is uniform on the
        sphere of radius sqrt(d). V^-1/2 is the transposed inverse of the Cholesky factor of V.
        """
        columns = self._scorer.columns
        theta = self._scorer.perturbed(scale, draw(columns.shape[0], rng, sampling))
        out = np.empty(columns.shape[1])
        kernels.product(columns, theta, out)
        return self._scorer.means(out)

    def _counted(self) -> Tally:
        if self._tally is None:
            raise NotKept("arms that change every round have no pulls of their own")
        return self._tally

    def view(self, settings: Floats) -> View:
        """What a policy written as a kernel sees, with its settings."""
        return self._scorer.view(settings)
