"""What `Posterior` asks of what is known, be it one regression for all arms, or one for each."""

from __future__ import annotations

from typing import Protocol, Self

from infex.arrays import Floats, Integers
from infex.linear.moments import BlockMoments, Moments
from infex.linear.offers import Offer, On, Radius


class Knowledge(Protocol):
    """What is known of K arms of d features, until the model learns again.

    Reading it after the model has learnt is refused (StalePosterior).
    """

    @property
    def greedy(self) -> int:
        """The arm of the largest estimate, -1 without arms."""

    @property
    def count(self) -> int:
        """K."""

    @property
    def dim(self) -> int:
        """d, how many parameters are estimated in all."""

    @property
    def drawn(self) -> tuple[int, ...]:
        """The shape of the draws that `perturbed` takes."""

    @property
    def lasting(self) -> bool:
        """Are these arms on offer in every round?"""

    @property
    def counted(self) -> bool:
        """Were rewards counted by arm?"""

    @property
    def columns(self) -> Floats:
        """The arms, (d, K)."""

    @property
    def penalty(self) -> float:
        """The ridge penalty: V_0 = penalty I."""

    @property
    def log_det_ratio(self) -> float:
        """log(det V/det V_0), of all that is estimated."""

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""

    @property
    def factor(self) -> Floats:
        """A lower triangular M with M'M the covariance of theta, (d, d)."""

    @property
    def estimates(self) -> Floats:
        """Every arm's estimated mean reward, (K,)."""

    @property
    def widths(self) -> Floats:
        """Every arm's width, (K,)."""

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of every arm, (2, K), where they are counted."""

    @property
    def moments(self) -> Moments | BlockMoments:
        """What was learnt, as sums."""

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""

    def width(self, arm: int) -> float:
        """One arm's width."""

    def radii(self, noise: float, bound: float, delta: float) -> Radius:
        """The confidence radius: of all arms, or of each."""

    def upper(self, beta: Radius) -> Floats:
        """Every arm's upper bound, (K,)."""

    def perturbed(self, scale: Radius, direction: Floats) -> Floats:
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (K,)."""

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,)."""

    def on(self, offer: Offer) -> Self:
        """What is known of other arms."""

    def among(self, places: Integers) -> Self:
        """What is known of some of the arms."""

    def learnt_on(self, arm: int, features: Floats | None) -> On:
        """What the reward of an arm is learnt on; `features` are what a policy wants it to be learnt on."""

    def copy(self) -> Self:
        """The same, which stays as it is whatever is learnt."""
