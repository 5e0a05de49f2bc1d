"""What a policy reads of the arms on offer: estimates, widths, samples."""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers, shown
from infex.checks import one_of, whole
from infex.core.bank import NO_ROWS, BankPosterior
from infex.core.posterior import RidgePosterior, to_sphere
from infex.errors import InvalidSetting, NotKept, StalePosterior, UnknownArm
from infex.models.hybrid import HybridPosterior
from infex.models.layout import ArmRow, ContextOffer, DesignRow, Offer, Radius
from infex.models.pending import PendingDesign
from infex.models.sums import BlockMoments, Moments

ModelPosterior = RidgePosterior | BankPosterior | HybridPosterior
"""What a model knows of some arms: by one regression, by one for each arm, or by both."""


def on_offer(known: ModelPosterior, offer: Offer) -> ModelPosterior:
    """The model's posterior of the arms on offer."""
    if isinstance(offer, ContextOffer):
        if isinstance(known, RidgePosterior):
            raise NotKept("a context alone says nothing of arms that share one regression: give their rows")
        return known.over(offer.context) if isinstance(known, BankPosterior) else known.over(*offer)
    if not isinstance(known, RidgePosterior):
        raise NotKept(NO_ROWS)
    return known.over(offer)


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


SAMPLINGS = ("gaussian", "spherical")


def draw(shape: tuple[int, ...], rng: np.random.Generator, sampling: str) -> Floats:
    """eta by the law that `sampling` names; of a matrix, each row is a draw."""
    eta = rng.standard_normal(shape)
    if one_of("sampling", sampling, SAMPLINGS) == "spherical":
        for each in eta.reshape(-1, shape[-1]):
            to_sphere(each)
    return eta


def _copied(known: ModelPosterior | None) -> ModelPosterior | None:
    return None if known is None else known.copy()


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
        "_allowed", "_best", "_explored", "_known", "_may_explore", "_narrowed_known", "_narrows",
        "_of_explored", "_pending", "_places", "_policy_state", "_spent", "_version", "_whole",
        "_whole_explored",
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
        self._pending, self._version = None, 0
        if pending is not None and pending.count:
            self._pending, self._version = pending, pending.version
        self._narrows = False  # is what is pending in widths and samples?
        self._narrowed_known: ModelPosterior | None = None  # with what is pending, once somebody has read it
        self._of_explored = False  # is it of exploring rounds alone, so that only these are pending for it?
        self._may_explore = True  # or whoever asks forbids it
        # where these are but some arms of the round: their places among all, what is known of all of them
        # (from every round, from exploring ones), and the largest estimate of all
        self._places: Integers | None = None
        self._whole: ModelPosterior | None = None
        self._whole_explored: ModelPosterior | None = None
        self._best: float | None = None

    def _changed(self, known: ModelPosterior, explored: ModelPosterior | None) -> Posterior:
        """A posterior with other model posteriors, and all else as here."""
        other: Posterior = object.__new__(Posterior)
        other._known, other._explored, other._narrowed_known = known, explored, None
        other._policy_state, other._allowed, other._spent = self._policy_state, self._allowed, self._spent
        other._pending, other._version, other._narrows = self._pending, self._version, self._narrows
        other._of_explored, other._may_explore, other._best = self._of_explored, self._may_explore, self._best
        other._places, other._whole, other._whole_explored = self._places, self._whole, self._whole_explored
        return other

    def copy(self) -> Posterior:
        """A copy, which stays as it is whatever is learnt later."""
        other = self._changed(self._known.copy(), _copied(self._explored))
        other._whole, other._whole_explored = _copied(self._whole), _copied(self._whole_explored)
        if self._pending is not None:
            other._pending = self._current_pending().copy()
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
        return self._known.log_det_ratio

    def radii(self, noise: float, bound: float, delta: float, mixture: bool = False) -> Radius:
        """beta = noise sqrt(alpha + 2 log(1/delta)) + sqrt(penalty) bound, as `upper` takes it.

        As a `mixture` it is sqrt(noise^2 (alpha + 2 log(1/delta)) + penalty bound^2), which is smaller.
        Where each arm has a regression of its own, alpha is that arm's, and there is a beta for each, (K,).
        """
        return self._known.radii(noise, bound, delta, mixture)  # which what is pending does not change

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
        other._of_explored, other._best = True, None
        other._whole, other._whole_explored = self._whole_explored, None
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
        """How many rewards every fixed arm has had, (K,)."""
        return shown(self._known.counts[0].astype(np.int64))

    @property
    def sums(self) -> Floats:
        """The sum of every fixed arm's rewards, (K,)."""
        return shown(self._known.counts[1].copy())

    @property
    def history(self) -> tuple[Floats, Integers, Floats]:
        """All fixed arms, (K, d), those that are not shown included, their pulls and summed rewards, (K,)."""
        known = self._known if self._whole is None else self._whole
        pulls, sums = known.counts
        if not known.fixed:
            raise NotKept("arms whose features change with contexts have no history of their own")
        return shown(known.columns.T), shown(pulls.astype(np.int64)), shown(sums.copy())

    @property
    def moments(self) -> Moments | BlockMoments:
        """What was learnt as sums: sum x x', sum y x, and the number of rewards."""
        known = self._known
        if isinstance(known, HybridPosterior):
            return Moments.of(known.sums(), known.n_observations)
        if isinstance(known, BankPosterior):
            if known.told is not None:
                sums = known.ridges().sums
                return BlockMoments(tuple(Moments.of(each, known.told) for each in sums), known.told)
        elif (whole := known.sums()) is not None:
            return Moments.of(whole, known.told)
        raise NotKept("the estimator keeps no sums of x x' and y x, which the policy asks for")

    @property
    def may_explore(self) -> bool:
        """May this round explore? Not if whoever asks forbids it, by `ask(explore=False)`."""
        return self._may_explore

    @property
    def places(self) -> Integers:
        """The index of each of these arms among all of the round, of which these may be but some, (K,)."""
        return shown(np.arange(len(self)) if self._places is None else self._places)

    def place(self, arm: int) -> int:
        """The index of an arm, one of these, among all of the round."""
        return arm if self._places is None else self._places.item(arm)

    @property
    def shows_all(self) -> bool:
        """Are these all arms of the round?"""
        return self._places is None

    @property
    def pulled(self) -> int:
        """How many rewards all fixed arms have had together, those that are not shown included."""
        return int((self._known if self._whole is None else self._whole).counts[0].sum())

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
        other._may_explore = may_explore
        return other

    def among(self, allowed: Bools) -> tuple[Posterior, Integers]:
        """What is known of the `allowed` arms alone, and which they are; `best` stays that of all."""
        places = np.flatnonzero(allowed)
        other = self._shown(places)
        other._allowed, other._best = None, self.best
        return other, places

    def _shown(self, places: Integers) -> Posterior:
        """The posterior of the arms at some places, in their order."""
        if places.size == self._known.count:
            return self._changed(self._known, self._explored)
        explored = None if self._explored is None else self._explored.among(places)
        other = self._changed(self._known.among(places), explored)
        if self._places is None:
            other._places, other._whole, other._whole_explored = places, self._known, self._explored
        else:
            other._places = self._places[places]
        return other

    def on(self, offer: Offer) -> Posterior:
        """What is known of other arms: an `offer` is their columns, (d, K), or a context (`ContextOffer`)."""
        explored = None if self._explored is None else on_offer(self._explored, offer)
        other = self._changed(on_offer(self._known, offer), explored)
        other._allowed = other._best = other._places = other._whole = other._whole_explored = None
        return other

    def design_row(self, arm: int, features: Floats | None = None) -> DesignRow:
        """What the reward of an arm is learnt on: the arm, or `features` that a policy names in its place."""
        if self._places is None or self._whole is None:
            row = self._known.design_row(arm, features)
        else:
            row = self._whole.design_row(self._places.item(arm), features)
        return ArmRow(*row) if isinstance(row, tuple) else row

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,).

        That is theta + radius V^-1 x/|x| in V^-1, and theta for an arm of width 0.
        """
        return self._reach.optimistic(self._checked(arm), radius)

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (K,)."""
        if np.shape(theta) != (self.dim,):  # compiled code would read on behind its end
            raise InvalidSetting(f"theta must have the shape ({self.dim},), got {np.shape(theta)}")
        return self._known.scores(theta)

    def exploited(self) -> Posterior:
        """The same for a policy that does not explore: every arm may be played, and nothing is remembered."""
        other = self._changed(self._known, self._explored)
        other._policy_state, other._allowed, other._pending = None, None, None
        other._narrows = other._of_explored = False
        return other

    def with_policy_state(self, policy_state: object) -> Posterior:
        """The same, with another policy state."""
        return self.seen_by(policy_state, self._spent)

    def seen_by(self, policy_state: Any, spent: Spent) -> Posterior:
        """The same, with another `policy_state` and other limits `spent`, for a policy inside another."""
        other = self._changed(self._known, self._explored)
        other._policy_state, other._spent, other._narrowed_known = policy_state, spent, self._narrowed_known
        return other

    def _current_pending(self) -> PendingDesign:
        """What is pending, if it is what was pending when this was made."""
        assert self._pending is not None
        if self._pending.version != self._version:
            raise StalePosterior(
                "decisions were made or told since this posterior was read: ask for a new one, or keep a copy"
            )
        return self._pending

    @property
    def _reach(self) -> ModelPosterior:
        """What widths and samples are read from: the model, with what is pending where that narrows."""
        if not self._narrows or self._pending is None:
            return self._known
        if self._narrowed_known is None:
            self._narrowed_known = self._current_pending().narrowed(self._known, self._of_explored)
        return self._narrowed_known

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""
        return self._known.estimate(self._checked(arm))

    def loss(self, arm: int) -> float:
        """One arm's estimated loss: the best estimate of all arms minus its own, but for rounding."""
        return max(self.best - self.estimate(arm), 0.0)

    def width(self, arm: int) -> float:
        """One arm's width."""
        return self._reach.width(self._checked(arm))

    def estimate_and_width(self, arm: int) -> tuple[float, float]:
        """One arm's estimate and width; the index is not checked."""
        return self._known.estimate(arm), (self._reach if self._narrows else self._known).width(arm)

    def _checked(self, arm: int) -> int:
        """The index of an arm, if it is there."""
        if type(arm) is not int or not 0 <= arm < self._known.count:
            arm = whole("arm", arm, error=UnknownArm)
            if not 0 <= arm < len(self):
                raise UnknownArm(f"arm must be 0 to {len(self) - 1}, got {arm!r}")
        return arm

    def upper(self, radius: Radius) -> Floats:
        """Every arm's estimate + radius width, (K,)."""
        return self._reach.upper(radius)

    def covariances(self, arm: int) -> Floats:
        """The covariance of every arm's estimate with that of `arm`, x'V^-1 x_arm, (K,), for noise of 1."""
        place, reach = self._checked(arm), self._reach
        if isinstance(reach, RidgePosterior):
            return reach.covariances(place)
        if isinstance(reach, BankPosterior):  # whose arms have nothing in common
            return np.where(np.arange(len(self)) == place, np.square(reach.widths), 0.0)
        rows = self._gradients @ reach.factor.T
        found: Floats = rows @ rows[place]
        return found

    def distances(self, arm: int) -> Floats:
        """The width of every arm's difference from `arm`, |x - x_arm| in V^-1, (K,)."""
        place, reach = self._checked(arm), self._reach
        if isinstance(reach, RidgePosterior):
            return reach.distances(place)
        if isinstance(reach, BankPosterior):
            squares = np.square(reach.widths)
            return np.where(np.arange(len(self)) == place, 0.0, np.sqrt(squares + squares[place]))
        rows = self._gradients
        found: Floats = np.linalg.norm((rows - rows[place]) @ reach.factor.T, axis=1)
        return found

    @property
    def _gradients(self) -> Floats:
        """How every arm's estimate changes with theta, (K, d): x, times p(1 - p) for a probability."""
        known = self._known
        slopes = known.estimates * (1.0 - known.estimates) if getattr(known, "logistic", False) else 1.0
        found: Floats = self.arms * np.reshape(slopes, (-1, 1))
        return found

    def perturbed(self, scale: Radius, rng: np.random.Generator, sampling: str = "gaussian") -> Floats:
        """Every arm's score under one parameter theta + scale V^-1/2 eta that `rng` draws, (K,).

        `sampling` is the law of eta: "gaussian" is N(0, I), "spherical" is uniform on the
        sphere of radius sqrt(d). V^-1/2 is the transposed inverse of the Cholesky factor of V.
        Where each arm has a regression of its own, each has an eta of its own.
        """
        return self._reach.perturbed(scale, draw(self._known.draw_shape, rng, sampling))

    def sampled_maxima(self, scale: Radius, rng: np.random.Generator, count: int) -> Floats:
        """The largest score of any arm in each of `count` samples, (count,), which `rng` draws.

        Samples are those of `perturbed` with that `scale`.
        """
        reach = self._reach
        if isinstance(reach, RidgePosterior) and not isinstance(scale, np.ndarray):
            return reach.sampled_maxima(scale, rng.standard_normal((count, *self._known.draw_shape)))
        return np.array([self.perturbed(scale, rng).max() for _ in range(count)])
