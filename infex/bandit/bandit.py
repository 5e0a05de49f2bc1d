"""Ask and tell: a bandit for use."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterable
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from infex import kernels
from infex.arrays import Bools, Floats, Label, columns_of, shown
from infex.bandit import saving
from infex.bandit.arms import NOTHING_ASKED, Arms, Asked, Changing, Fixed, Mapped
from infex.bandit.decision import Decided, Decision
from infex.bandit.lives import Lives, key_of
from infex.bandit.merging import merge
from infex.bandit.waiting import Pending, Waiting
from infex.checks import HEAVIEST_WEIGHT, LARGEST_REWARD, quick, real, whole
from infex.errors import (
    CannotMerge,
    InvalidArms,
    InvalidReward,
    InvalidRound,
    InvalidSetting,
    UnknownDecision,
)
from infex.features import FeatureMap, checked_map
from infex.linear import Evidence, Memory
from infex.linear.estimating import Estimator, checked_estimator
from infex.policies.choice import Reason
from infex.policies.confidence import DEFAULT, warn_of_large
from infex.policies.traits import Policy, checked, traits_of
from infex.rounds import Exploration, Player, Taken
from infex.schedules.protocol import a_round
from infex.streams import Rounds

STREAM = "bandit"


@final
class Bandit:
    """Joins arms, a policy and all that was learnt: `ask` for a decision, `tell` its reward.

    `arms` is a (K, d) array of rows no longer than 1, with `labels` for them if you like; with
    `rescale`, a longer row is divided by its length. Where the arms change every round, say
    `dim` instead and give them to `ask`; or give `features`, a map of `infex.features` that joins
    arms with a context, and ask with the context. Rewards may come late, in any order, or never.
    `allowed` says for every arm whether exploring may try it (a policy without a schedule explores
    in every round). `penalty` is that of the ridge; `estimator` is one of `infex.estimators`, in the
    place of ridge regression. `seed` is that of all draws.

    Any number of threads may use one bandit: it does one thing at a time.

    >>> from infex import Infex, LinUCB, every
    >>> policy = Infex(LinUCB(), every(2))
    >>> bandit = Bandit([[1.0, 0.0], [0.6, 0.8]], policy, labels=["plain", "rich"])
    >>> first = bandit.ask()
    >>> first.label, first.explored
    ('plain', False)
    >>> bandit.tell(first, reward=-1.0)
    >>> second = bandit.ask(id="order-124")
    >>> second.label, second.explored
    ('rich', True)
    >>> bandit.tell("order-124", reward=1.0)
    """

    def __init__(
        self,
        arms: npt.ArrayLike | None = None,
        policy: Policy | None = None,
        *,
        dim: int | None = None,
        features: FeatureMap | None = None,
        seed: int = 0,
        penalty: float = 1.0,
        labels: Iterable[Label] | None = None,
        rescale: bool = False,
        allowed: npt.ArrayLike | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        source = _source(arms, dim, checked_map(features), labels, rescale)
        source.allow(allowed)
        traits = traits_of(checked("policy", policy))
        columns = source.columns if isinstance(source, Fixed) else np.empty((source.dim, 0))
        memory = Memory.empty(columns, penalty, traits.uses_explored, checked_estimator(estimator))
        self._begin(source, Player(policy, memory), whole("seed", seed), estimator, Lives())  # type: ignore[arg-type]

    def _begin(
        self, source: Arms, player: Player, seed: int, estimator: Estimator | None, lives: Lives
    ) -> None:
        """All that a bandit is made of."""
        self._arms = source
        self._player = player
        self._seed = seed
        self._estimator = estimator
        self._lives = lives
        self._waiting = Waiting()
        self._draws = Rounds(seed, STREAM)
        self._lock = threading.RLock()
        self._follow()

    @classmethod
    def _of(
        cls,
        source: Arms,
        player: Player,
        seed: int,
        estimator: Estimator | None,
        lives: Lives,
        waiting: Waiting,
    ) -> Self:
        """A bandit of parts that were kept."""
        bandit = cls.__new__(cls)
        bandit._begin(source, player, seed, estimator, lives)
        bandit._waiting = waiting
        return bandit

    def _follow(self) -> None:
        """What is read off the policy, once."""
        traits = self._player.traits
        self._radius = DEFAULT.radius if traits.radius is None else traits.radius
        self._greatest = LARGEST_REWARD if traits.greatest is None else min(traits.greatest, LARGEST_REWARD)

    @property
    def policy(self) -> Policy:
        """The policy; another may take over at any time, and goes on with all that was learnt.

        The clock goes on too: a schedule counts rounds from the bandit's first. What was spent stays
        spent: the cost and the number of explorations, and those that are owed, count for the new
        policy's limits.
        """
        return self._player.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        with self._lock:
            self._player.policy = policy
            self._follow()

    @property
    def seed(self) -> int:
        """The seed of all draws."""
        return self._seed

    @property
    def rescale(self) -> bool:
        """Are arms longer than 1 divided by their length?"""
        return self._arms.rescale

    @property
    def explored(self) -> int:
        """How many decisions explored."""
        return self._player.account.done

    @property
    def t(self) -> int:
        """How many decisions were taken."""
        return self._player.account.t

    @property
    def arms(self) -> Floats:
        """The fixed arms, (K, d)."""
        return shown(self._player.memory.columns.T)

    @property
    def allowed(self) -> Bools | None:
        """Which of the fixed arms, or those of the feature map, exploring may try; None if all."""
        return None if self._arms.allowed is None else shown(self._arms.allowed)

    @allowed.setter
    def allowed(self, allowed: npt.ArrayLike | None) -> None:
        with self._lock:
            self._arms.allow(allowed)

    @property
    def features(self) -> FeatureMap | None:
        """The map that joins arms with a context, if there is one."""
        return self._arms.features if isinstance(self._arms, Mapped) else None

    @property
    def estimator(self) -> Estimator | None:
        """The estimator; None is ridge regression."""
        return self._estimator

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The labels of the fixed arms, or those of the feature map, if they have any."""
        return self._arms.labels

    @property
    def penalty(self) -> float:
        """The ridge penalty."""
        return self._player.memory.all.penalty

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions that still wait for their reward, oldest first."""
        with self._lock:
            return tuple(decision for decision, _ in self._waiting)

    def ask(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
        allowed: npt.ArrayLike | None = None,
        id: str | None = None,  # noqa: A002 - what users call it
    ) -> Decision:
        """Takes the next decision; give the arms on offer, if they change every round, or the context.

        `allowed` says for every arm whether exploring may try it in this round; what the bandit
        forbids in all rounds stays forbidden. `id` is a text of your own to tell the reward by; by
        itself a decision has one that no other process, copy or loaded file gives out again.
        """
        self._lock.acquire()  # `with` takes twice the time
        try:
            asked = NOTHING_ASKED
            if arms is not None or labels is not None or context is not None or allowed is not None:
                asked = Asked(arms, labels, context, allowed)
            elif (quickly := self._ask_quickly(id)) is not None:
                return quickly
            decision, taken = self._decide(asked, id)
            self._player.enter(taken)
            self._waiting.add(decision, taken.on)
            return decision
        finally:
            self._lock.release()

    def decide(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
        allowed: npt.ArrayLike | None = None,
        id: str | None = None,  # noqa: A002 - what users call it
    ) -> Decided:
        """What `ask` would decide; nothing changes until it is entered, by `enter`."""
        with self._lock:
            return Decided(*self._decide(Asked(arms, labels, context, allowed), id))

    def enter(self, decided: Decided) -> Decision:
        """Takes a decision as it was decided, here or by a bandit in the same state."""
        with self._lock:
            if decided.taken.t != self.t + 1:
                raise InvalidRound(
                    f"after round {self.t} round {self.t + 1} is next; got one of {decided.taken.t}"
                )
            self._waiting.refuse(decided.decision.id)
            self._lives.adopt(decided.decision.id, decided.taken.t)
            self._player.enter(decided.taken)
            self._waiting.add(decided.decision, decided.taken.on)
        return decided.decision

    def _decide(self, asked: Asked, own_id: str | None) -> tuple[Decision, Taken]:
        offered = self._arms.offer(asked)
        player = self._player
        t = player.account.t + 1
        key = self._key(own_id, t)
        evidence = player.evidence(offered.columns, offered.allowed)
        taken = player.decide(t, evidence, self._draws.at(t))
        return self._explained(key, taken, evidence, offered.labels), taken

    def _explained(
        self, key: str, taken: Taken, evidence: Evidence, labels: tuple[Label, ...] | None
    ) -> Decision:
        arm, explored, _, reason, _, probability, chance, law, _ = taken.choice
        estimate, greedy = evidence.estimate(arm), evidence.greedy
        if arm != greedy and not explored and estimate >= kernels.tie_limit(np.array(evidence.estimates)):
            greedy = arm
        margin = float(self._radius(evidence) * evidence.width(arm))
        return Decision(
            key, taken.t, arm, None if labels is None else labels[arm], explored, greedy,
            estimate, estimate - margin, estimate + margin,
            probability, reason or (Reason.EXPLORED if explored else Reason.GREEDY), chance, law,
        )  # fmt: skip

    def _ask_quickly(self, own_id: str | None) -> Decision | None:
        """What `ask` does for all fixed arms, where the policy's decision can be had in one call."""
        player, arms = self._player, self._arms
        account, shortcut = player.account, player.shortcut
        t = account.t + 1
        if shortcut is None or arms.allowed is not None or (seen := player.glance(t)) is None:
            return None
        explores, (arm, greedy, estimate, best, margin) = seen
        if arm < 0:
            return None  # no score is a number: the long way says so
        key = self._key(own_id, t)
        reason, turn = shortcut.explored if explores else shortcut.greedy
        if explores:
            account.enter(t, True, turn, max(best - estimate, 0.0), arm != greedy)
        else:
            account.t = t
        labels = arms.labels
        fields = (
            key, t, arm, None if labels is None else labels[arm], explores, greedy,
            estimate, estimate - margin, estimate + margin,
            1.0, reason, 1.0 if explores else 0.0, 1.0 if explores else None,
        )  # fmt: skip
        decision = quick(Decision, fields)
        self._waiting.add(decision, arm)
        return decision

    def _key(self, own_id: str | None, t: int) -> str:
        """The id of round t: the caller's own, or one of the bandit's."""
        if own_id is None:
            return self._lives.next_id(t)
        key = self._lives.checked(own_id)
        self._waiting.refuse(key)
        return key

    def exploration(self) -> Exploration:
        """How much was planned, done and skipped, the next round due, and the estimated cost so far."""
        with self._lock:
            return self._player.exploration(self._player.evidence())

    def tell(self, decision: Decision | str | int, reward: float, *, weight: float = 1.0) -> None:
        """Reports the reward of a decision, given as it was or by its id.

        `weight` is how much it counts in the squared error, as in 1/variance; 1 for a plain reward.
        """
        if type(reward) is not float or not abs(reward) <= self._greatest:
            reward = self._checked_reward(reward)
        if type(weight) is not float or weight != 1.0:
            weight = real("weight", weight, above=0, most=HEAVIEST_WEIGHT, error=InvalidReward)
        self._lock.acquire()
        try:
            taken, on = self._found(decision)
            self._player.learn(taken.arm, on, reward, taken.explored, weight)
            self._waiting.remove(taken.id)
        finally:
            self._lock.release()

    def drop(self, decision: Decision | str | int) -> None:
        """Forgets a decision whose reward will never come."""
        with self._lock:
            self._waiting.remove(self._found(decision)[0].id)

    def draws(self, t: int) -> np.random.Generator:
        """A generator as the policy got it in round t, to replay that round's choice."""
        return Rounds(self._seed, STREAM).at(a_round(t))

    def evidence(self, arms: npt.ArrayLike | None = None, *, context: object = None) -> Evidence:
        """What the policy would read now; it stays as it is. Give the arms, if they change, or a context."""
        with self._lock:
            offered = self._read_from(arms).offer(Asked(arms, context=context))
            return self._player.evidence(offered.columns, offered.allowed)

    def estimates(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls (rewards it was told).

        Give arms to ask about others than the fixed ones; their pulls are not known, and 0.
        """
        with self._lock:
            offered = self._read_from(arms).offer(Asked(arms, labels, context))
            evidence = self._player.evidence(offered.columns)
            names = offered.labels
            margins = self._radius(evidence) * evidence.widths
            mean = evidence.estimates
            columns: dict[str, Any] = {
                "label": np.array([None] * len(evidence) if names is None else names, dtype=object),
                "estimate": mean,
                "low": mean - margins,
                "high": mean + margins,
                "pulls": evidence.pulls if evidence.lasting else np.zeros(len(evidence), dtype=np.int64),
            }
        return np.rec.fromarrays(list(columns.values()), names=list(columns))  # type: ignore[call-overload, no-any-return]

    def add_arms(self, arms: npt.ArrayLike, labels: Iterable[Label] | None = None) -> None:
        """Puts new arms behind those there are; what was learnt tells of them at once.

        Exploring may try them, also where `allowed` forbids others.
        """
        with self._lock:
            source, places = self._fixed().added(arms, labels)
            self._player.memory = self._player.memory.over(source.columns, places)
            self._arms = source

    def remove_arms(self, which: object) -> None:
        """Takes arms away, by label where arms have labels, else by index; what was learnt stays.

        Indices close up behind them. A pending decision for a removed arm can still be told.
        """
        with self._lock:
            before = self._fixed()
            if self._player.traits.learner is not None:
                raise InvalidArms(f"{self.policy!r} knows arms by their indices, which would change")
            source, places = before.removed(which)
            self._waiting.move(places, before.columns)
            self._player.memory = self._player.memory.over(source.columns, places)
            self._arms = source

    def merge(self, other: Bandit) -> None:
        """Takes in all that another bandit on the same problem has learnt; the other stays as it is.

        Dimension, penalty and estimator must agree; rewards that count by their order cannot be
        merged. Pulls add up for arms that both have, by features and
        label. The clock, the count of explorations and the pending decisions stay this bandit's
        own. Merging the same bandit a second time counts its data twice: to sync again and
        again, merge into a fresh bandit each time.
        """
        if not isinstance(other, Bandit):
            raise CannotMerge(f"a bandit merges with a bandit, got {other!r}")
        first, second = sorted((self._lock, other._lock), key=id)  # in one order, whoever merges whom
        with first, second:
            merge(self, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bandit to one file, in the place of an older one; pending decisions too."""
        with self._lock:
            saving.save(self, path)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        policy: Policy | None = None,
        *,
        estimator: Estimator | None = None,
        features: FeatureMap | None = None,
        adopt: bool = False,
    ) -> Bandit:
        """The bandit that was saved, which goes on exactly as the saved one would have.

        Give the `policy` if it is a class or function of your own, which a file cannot hold. So too
        the `estimator`, and the `features` if they are `joined` by a function, or a map of your own.
        What differs from what the file names is refused, unless you say `adopt=True`: then it takes
        over, as far as it can go on from what was learnt.
        """
        return saving.load(path, policy, estimator, features, adopt)

    def __repr__(self) -> str:
        arms = "changing arms"
        if isinstance(self._arms, Mapped):
            arms = f"{self._arms.features.count} arms in a context"
        if isinstance(self._arms, Fixed):
            arms = f"{self._arms.columns.shape[1]} arms"
        counts = f"t={self.t}, explored={self.explored}, pending={len(self._waiting)}"
        return f"Bandit({arms} of {self._arms.dim} features, {self.policy!r}, {counts})"

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock; a copy is another life, whose ids are its own."""
        with self._lock:
            kept = {name: value for name, value in vars(self).items() if name not in ("_lock", "_draws")}
            kept["_lives"] = Lives(self._lives.after(self.t))
            return copy.deepcopy(kept)

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._lives = Lives(self._lives.past)  # a pickle may be loaded twice
        self._draws, self._lock = Rounds(self._seed, STREAM), threading.RLock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Bandit:
        other = Bandit.__new__(Bandit)
        other.__setstate__(self.__getstate__())
        return other

    def __copy__(self) -> Bandit:
        """A copy shares nothing: two bandits that learn into one state would both be wrong."""
        return copy.deepcopy(self)

    def _checked_reward(self, reward: object) -> float:
        """The reward as a float; warns, once, if the settings of the policy are far too small for it."""
        value = real("reward", reward, least=-LARGEST_REWARD, most=LARGEST_REWARD, error=InvalidReward)
        if abs(value) > self._greatest:
            self._greatest = LARGEST_REWARD
            warn_of_large(self.policy, value, stacklevel=3)
        return value

    def _read_from(self, arms: npt.ArrayLike | None) -> Arms:
        """Where the arms of a read come from: one may ask about others than the fixed ones."""
        source = self._arms
        return (
            source if arms is None or not isinstance(source, Fixed) else Changing(source.dim, source.rescale)
        )

    def _fixed(self) -> Fixed:
        if not isinstance(self._arms, Fixed):
            raise InvalidArms(
                "the arms of this bandit change every round: there are none to add to or remove"
            )
        return self._arms

    def _found(self, decision: Decision | str | int) -> Pending:
        """The pending decision that is meant, and what its reward is learnt on."""
        key = decision.id if isinstance(decision, Decision) else key_of(decision)
        pending = self._waiting.find(key)
        if pending is None:
            self._lives.refuse(key, self.t)
        assert pending is not None
        mine = pending[0]
        if mine is not decision and isinstance(decision, Decision) and mine != decision:
            raise UnknownDecision(f"another bandit took {decision}; decision {key!r} here is {mine}")
        return pending


def _source(
    arms: npt.ArrayLike | None,
    dim: int | None,
    features: FeatureMap | None,
    labels: Iterable[Label] | None,
    rescale: bool,
) -> Fixed | Changing | Mapped:
    """Where the arms come from."""
    if [arms is None, dim is None, features is None].count(False) != 1:
        raise InvalidSetting(
            "give either the arms or, if they change every round, their dim, or features for contexts"
        )
    if not isinstance(rescale, bool):
        raise InvalidSetting(f"rescale must be True or False, got {rescale!r}")
    if features is not None:
        if labels is not None:
            raise InvalidArms("the labels of arms in a feature map go with it")
        return Mapped(features, rescale)
    if dim is not None:
        if labels is not None:
            raise InvalidArms("labels of arms that change every round go with them: ask(arms, labels)")
        return Changing(dim, rescale)
    assert arms is not None
    columns = columns_of(arms, rescale=rescale)
    return Fixed(columns, labels if labels is None or isinstance(labels, str) else tuple(labels), rescale)  # type: ignore[arg-type]
