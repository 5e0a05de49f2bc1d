"""What a policy reads of the arms on offer: estimates, widths, samples."""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers, shown
from infex.checks import one_of, whole
from infex.core.posterior import to_sphere
from infex.errors import InvalidSetting, NotKept, StalePosterior, UnknownArm
from infex.models.base import ModelPosterior
from infex.models.layout import DesignRow, Offer, Radius
from infex.models.pending import PendingDesign
from infex.models.sums import BlockMoments, Moments


class Spent(NamedTuple):
    """What exploring has taken so far, under whatever policies were in force.

    `done`: decisions that explored; `cost`: their summed estimated loss; `owed`: explorations that
    were due, did not happen and are to be made up for; `recent`: the round and the estimated loss of
    each exploration in the last rounds, as many as the windows of the policy's limits look back, which
    is from round `whole_from` on.
    """

    done: int = 0
    cost: float = 0.0
    owed: int = 0
    recent: tuple[tuple[int, float], ...] = ()
    whole_from: int = 1

    def since(self, t: int) -> tuple[int, float]:
        """How many explorations there were from round t on, and what they cost."""
        if max(t, 1) < self.whole_from:
            raise NotKept(
                f"explorations were kept one by one from round {self.whole_from} on, not from {t}: a control "
                "that looks back says so by its `window`, and a policy that holds another by `base`"
            )
        count, cost = 0, 0.0
        for at, loss in self.recent:
            if at >= t:  # added up one by one: `sum` differs in its last bit between versions of Python
                count, cost = count + 1, cost + loss
        return count, cost


NOTHING = Spent()


class OfferSubset(NamedTuple):
    """Where the arms of posterior stand among all arms of the round; without `places` they are all.

    `whole` and `explored` are what is known of all of them, from every round and from exploring ones.
    `may_explore` is False where whoever asks forbids exploring in this one request.
    """

    places: Integers | None = None
    whole: ModelPosterior | None = None
    explored: ModelPosterior | None = None
    may_explore: bool = True

    def among(self, places: Integers, known: ModelPosterior, explored: ModelPosterior | None) -> OfferSubset:
        """The same for some of the arms, which are known so far."""
        if places.size == known.count:
            return self
        if self.places is None:
            return OfferSubset(places, known, explored, self.may_explore)
        return self._replace(places=self.places[places])

    def of_explored(self) -> OfferSubset:
        """The same for what exploring rounds have taught."""
        return self if self.places is None else self._replace(whole=self.explored, explored=None)

    def copy(self) -> OfferSubset:
        """The same of what is known now, which stays."""
        whole, explored = (None if each is None else each.copy() for each in (self.whole, self.explored))
        return self._replace(whole=whole, explored=explored)

    def place(self, arm: int) -> int:
        """Where an arm stands among all."""
        return arm if self.places is None else self.places.item(arm)

    def seat(self, place: int) -> int:
        """Which of these arms stands at a place."""
        return place if self.places is None else int(np.searchsorted(self.places, place))

    def all_places(self, count: int) -> Integers:
        """The places of so many arms."""
        return shown(np.arange(count) if self.places is None else self.places)

    def all_known(self, known: ModelPosterior) -> ModelPosterior:
        """What is known of all arms, where `known` are these."""
        return known if self.whole is None else self.whole

    def design_row(self, known: ModelPosterior, arm: int, features: Floats | None) -> DesignRow:
        """What the reward of an arm is learnt on: as if all had been shown."""
        return self.all_known(known).design_row(self.place(arm), features)


ANYTHING = OfferSubset()


SAMPLINGS = ("gaussian", "spherical")


def draw(shape: tuple[int, ...], rng: np.random.Generator, sampling: str) -> Floats:
    """eta, of the law that `sampling` names; one for each row of the shape."""
    eta = rng.standard_normal(shape)
    if one_of("sampling", sampling, SAMPLINGS) == "spherical":
        for each in eta.reshape(-1, shape[-1]):
            to_sphere(each)
    return eta


@final
class Posterior:
    """What a policy may read about the K arms on offer, until the model learns again; a `copy` stays.

    `known` is what all rounds have taught, and `explored` what exploring rounds have, if they are kept
    apart; `policy_state` what the policy remembers from its last choice, `allowed` the arms that exploring
    may try, and `spent` what exploring has taken so far. `pending` are the decisions that wait for
    their reward: in `narrowed`, which exploring reads, widths and samples are as if each had been told its
    estimate.

    >>> from infex.models.ridge import RidgeModel
    >>> ridge = RidgeModel(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> ridge.update(1, reward=1.0)
    >>> posterior = Posterior(ridge.posterior())
    >>> posterior.greedy, posterior.estimates.tolist()
    (1, [0.0, 0.5])
    """

    __slots__ = (
        "_allowed",
        "_best",
        "_explored",
        "_known",
        "_narrows",
        "_own",
        "_pending",
        "_policy_state",
        "_request",
        "_spent",
        "_version",
        "_wide",
    )  # fmt: skip

    def __init__(
        self,
        known: ModelPosterior,
        explored: ModelPosterior | None = None,
        policy_state: object = None,
        allowed: Bools | None = None,
        spent: Spent = NOTHING,
        pending: PendingDesign | None = None,
    ) -> None:
        self._known, self._explored = known, explored
        self._policy_state, self._allowed, self._spent = policy_state, allowed, spent
        self._pending, self._version = pending, 0
        if pending is not None:
            self._pending, self._version = (pending, pending.version) if len(pending) else (None, 0)
        self._request = ANYTHING  # which of all arms these are, and whether the round may explore
        self._best: float | None = None  # the largest estimate of all arms, where these are but some of them
        self._own = False  # are these exploring rounds alone, so that only these are pending for it?
        self._narrows = False  # is what is pending in widths and samples?
        self._wide: ModelPosterior | None = None  # what these are read from, once somebody has

    def _changed(self, known: ModelPosterior, explored: ModelPosterior | None) -> Posterior:
        """The same, with other knowledge."""
        other: Posterior = object.__new__(Posterior)
        other._known, other._explored, other._wide = known, explored, None
        other._policy_state, other._allowed, other._spent = self._policy_state, self._allowed, self._spent
        other._pending, other._version, other._narrows = self._pending, self._version, self._narrows
        other._request, other._best, other._own = self._request, self._best, self._own
        return other

    def copy(self) -> Posterior:
        """The same, which stays as it is whatever is learnt later."""
        explored = None if self._explored is None else self._explored.copy()
        other = self._changed(self._known.copy(), explored)
        other._request = self._request.copy()
        if self._pending is not None:
            other._pending = self._held().copy()
        return other

    def __len__(self) -> int:
        """K, the number of arms."""
        return self._known.count

    @property
    def dim(self) -> int:
        """d, the number of features of an arm; where each has a regression of its own, of all of them."""
        return self._known.dim

    @property
    def arms(self) -> Floats:
        """The arms, (K, d)."""
        return shown(self._known.columns.T)

    @property
    def greedy(self) -> int:
        """The arm of the largest estimate, the lowest index among ties."""
        return self._known.greedy

    @property
    def best(self) -> float:
        """The largest estimate; of all arms, where a mask hides some: what exploring costs counts from it."""
        return self._known.estimate(self._known.greedy) if self._best is None else self._best

    @property
    def estimates(self) -> Floats:
        """Every arm's estimated mean reward x'theta, (K,)."""
        return self._known.estimates

    @property
    def widths(self) -> Floats:
        """Every arm's width |x| in V^-1, (K,)."""
        return self._reach.widths

    @property
    def theta(self) -> Floats:
        """The estimated parameter, (d,)."""
        return self._known.theta

    @property
    def factor(self) -> Floats:
        """A lower triangular M with M'M = V^-1, the covariance of theta, (d, d)."""
        return self._reach.factor

    @property
    def penalty(self) -> float:
        """The ridge penalty: V_0 = penalty I."""
        return self._known.penalty

    @property
    def log_det_ratio(self) -> float:
        """alpha = log(det V/det V_0); of all arms together, where each has a regression of its own."""
        return self._reach.log_det_ratio

    def radii(self, noise: float, bound: float, delta: float) -> Radius:
        """beta = noise sqrt(alpha + 2 log(1/delta)) + sqrt(penalty) bound, as `upper` takes it.

        Where each arm has a regression of its own, alpha is that arm's, and there is a beta for each, (K,).
        """
        return self._reach.radii(noise, bound, delta)

    @property
    def policy_state(self) -> Any:
        """What the policy remembers from its last choice, None at first."""
        return self._policy_state

    @property
    def allowed(self) -> Bools | None:
        """The arms that may be tried by exploring, (K,); None if all are."""
        return None if self._allowed is None else shown(self._allowed)

    @property
    def spent(self) -> Spent:
        """What exploring has taken so far."""
        return self._spent

    @property
    def explored(self) -> Posterior:
        """The same from the exploring rounds alone, for a policy that says it `uses_explored`."""
        if self._explored is None:
            raise NotKept("exploring rounds are not kept apart; give the policy `uses_explored = True`")
        other = self._changed(self._explored, None)
        other._own, other._best, other._request = True, None, self._request.of_explored()
        return other

    @property
    def narrowed(self) -> Posterior:
        """The same as if every pending decision had been told its estimate: what exploring reads.

        Estimates and the radius stay; widths and samples are those of V + sum x x' over what is pending.
        """
        if self._pending is None or self._narrows:
            return self
        other = self._changed(self._known, self._explored)
        other._narrows = True
        return other

    @property
    def fixed(self) -> bool:
        """Are these arms on offer in every round?"""
        return self._known.fixed

    @property
    def has_counts(self) -> bool:
        """Were rewards counted by arm, so that `pulls` and `sums` are known?"""
        return self._known.has_counts

    @property
    def pulls(self) -> Integers:
        """How many rewards every fixed arm was told, (K,)."""
        return shown(self._known.counts[0].astype(np.int64))

    @property
    def sums(self) -> Floats:
        """Every fixed arm's rewards added up, (K,)."""
        return shown(self._known.counts[1].copy())

    @property
    def moments(self) -> Moments | BlockMoments:
        """What was learnt as sums: sum x x', sum y x, and the number of rewards."""
        return self._known.moments

    @property
    def may_explore(self) -> bool:
        """May this round explore? Not if whoever asks forbids it, by `ask(explore=False)`."""
        return self._request.may_explore

    @property
    def places(self) -> Integers:
        """The index of each of these arms among all of the round, of which these may be but some, (K,)."""
        return self._request.all_places(len(self))

    def place(self, arm: int) -> int:
        """The index of an arm, one of these, among all of the round."""
        places = self._request.places
        return arm if places is None else places.item(arm)

    def seat(self, place: int) -> int:
        """Which of these arms stands at a `place` among all of the round."""
        return self._request.seat(place)

    @property
    def shows_all(self) -> bool:
        """Are these all arms of the round?"""
        return self._request.places is None

    @property
    def pulled(self) -> int:
        """How many rewards all fixed arms were told together, those that are not shown included."""
        return int(self._request.all_known(self._known).counts[0].sum())

    def requested(self, offered: Bools | None, may_explore: bool) -> Posterior:
        """The same for a request with rules of its own: no arm but those `offered` can be played.

        What exploring costs counts from the best of these. None offers all of them. `may_explore` says
        whether the round may explore.
        """
        if offered is None:
            other = self._changed(self._known, self._explored)
        else:
            places = np.flatnonzero(offered)
            other = self._shown(places)
            other._allowed = None if self._allowed is None else self._allowed[places]
            other._best = None
        other._request = other._request._replace(may_explore=may_explore)
        return other

    def among(self, allowed: Bools) -> tuple[Posterior, Integers]:
        """What is known of the `allowed` arms alone, and which they are; `best` stays that of all."""
        places = np.flatnonzero(allowed)
        other = self._shown(places)
        other._allowed, other._best = None, self.best
        return other, places

    def _shown(self, places: Integers) -> Posterior:
        """The same of the arms at some places."""
        explored = None if self._explored is None else self._explored.among(places)
        other = self._changed(self._known.among(places), explored)
        other._request = self._request.among(places, self._known, self._explored)
        return other

    def on(self, offer: Offer) -> Posterior:
        """What is known of other arms: an `offer` is their columns, (d, K), or a context (`ContextOffer`)."""
        explored = None if self._explored is None else self._explored.on(offer)
        other = self._changed(self._known.on(offer), explored)
        other._allowed, other._best, other._request = None, None, OfferSubset(may_explore=self.may_explore)
        return other

    def design_row(self, arm: int, features: Floats | None = None) -> DesignRow:
        """What the reward of an arm is learnt on: the arm, or `features` that a policy names in its place."""
        request = self._request
        if request.places is None:
            return self._known.design_row(arm, features)
        return request.design_row(self._known, arm, features)

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,).

        That is theta + radius V^-1 x/|x| in V^-1, and theta for an arm of width 0.
        """
        return self._reach.optimistic(self._there(arm), radius)

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (K,)."""
        if np.shape(theta) != (self.dim,):  # compiled code would read on behind its end
            raise InvalidSetting(f"theta must have the shape ({self.dim},), got {np.shape(theta)}")
        return self._known.scores(theta)

    def exploited(self) -> Posterior:
        """The same for a policy that does not explore: every arm may be played, and nothing is remembered."""
        other = self._changed(self._known, self._explored)
        other._policy_state, other._allowed, other._pending = None, None, None
        other._narrows = other._own = False
        return other

    def with_policy_state(self, policy_state: object) -> Posterior:
        """The same, with another policy state."""
        return self.seen_by(policy_state, self._spent)

    def seen_by(self, policy_state: Any, spent: Spent) -> Posterior:
        """The same, with another `policy_state` and other limits `spent`, for a policy inside another."""
        other = self._changed(self._known, self._explored)
        other._policy_state, other._spent, other._wide = policy_state, spent, self._wide
        return other

    def _held(self) -> PendingDesign:
        """What is pending, if it is what was pending when this was made."""
        assert self._pending is not None
        if self._pending.version != self._version:
            raise StalePosterior(
                "decisions were made or told since this posterior was read: ask for a new one, or keep a copy"
            )
        return self._pending

    @property
    def _reach(self) -> ModelPosterior:
        """What widths and samples are read from; its factor is found when it is asked for."""
        found = self._wide
        if found is None:
            found = self._known
            if self._narrows and self._pending is not None:
                found = self._held().narrowed(self._known, self._own)
            self._wide = found
        return found

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""
        return self._known.estimate(self._there(arm))

    def width(self, arm: int) -> float:
        """One arm's width."""
        return self._reach.width(self._there(arm))

    def estimate_and_width(self, arm: int) -> tuple[float, float]:
        """Those of an arm that is known to be there: its index is not checked."""
        return self._known.estimate(arm), self._reach.width(arm)

    def _there(self, arm: int) -> int:
        """An arm that is there: compiled code would read on behind the last one."""
        place = whole("arm", arm, error=UnknownArm)
        if not 0 <= place < len(self):
            raise UnknownArm(f"arm must be 0 to {len(self) - 1}, got {arm!r}")
        return place

    def upper(self, radius: Radius) -> Floats:
        """Every arm's estimate + radius width, (K,)."""
        return self._reach.upper(radius)

    def perturbed(self, scale: Radius, rng: np.random.Generator, sampling: str = "gaussian") -> Floats:
        """Every arm's score under one parameter theta + scale V^-1/2 eta that `rng` draws, (K,).

        `sampling` is the law of eta: "gaussian" is N(0, I), "spherical" is uniform on the
        sphere of radius sqrt(d). V^-1/2 is the transposed inverse of the Cholesky factor of V.
        Where each arm has a regression of its own, each has an eta of its own.
        """
        return self._reach.perturbed(scale, draw(self._known.drawn, rng, sampling))
