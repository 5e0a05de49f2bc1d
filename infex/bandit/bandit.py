"""Ask and tell: a bandit for use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, final

import numpy as np

from infex import kernels
from infex.arrays import Bools, Floats, Label, columns_of, labels_of, shown
from infex.bandit import saving
from infex.bandit.decision import Decision, Exploration
from infex.bandit.labels import mask_of, places_of
from infex.bandit.merging import merge
from infex.checks import real, whole
from infex.errors import (
    AlreadyTold,
    InvalidArms,
    InvalidReward,
    InvalidSetting,
    NotKept,
    UnknownDecision,
)
from infex.features import FeatureMap, checked_map, rows_in
from infex.linear import Evidence, Memory
from infex.linear.statistics import Estimator, checked_estimator
from infex.policies.confidence import greatest_reward, radius_of, warn_of_large
from infex.policies.control import MADE_UP, loss_of, outlook
from infex.policies.protocol import (
    SKIPPED,
    Policy,
    checked,
    choose_allowed,
    chosen,
    learns,
    probability,
    teach,
    uses_explored,
)
from infex.schedules.protocol import a_round
from infex.streams import Rounds

STREAM = "bandit"
HEAVIEST = 1e12
MOST = 1e100  # sums of larger rewards might overflow


@final
class Bandit:
    """Joins arms, a policy and all that was learnt: `ask` for a decision, `tell` its reward.

    `arms` is a (K, d) array of rows no longer than 1, with `labels` for them if you like; with
    `rescale`, a longer row is divided by its length. Where the arms change every round, say
    `dim` instead and give them to `ask`; or give `features`, a map of `infex.features` that joins
    arms with a context, and ask with the context. Rewards may come late, in any order, or never.
    `allowed` says for every arm whether exploring may try it (a policy without a schedule explores
    in every round). `estimator` is one of `infex.estimators`, in the place of ridge regression.

    >>> from infex import Infex, LinUCB, every
    >>> policy = Infex(LinUCB(), every(2))
    >>> bandit = Bandit([[1.0, 0.0], [0.6, 0.8]], policy, labels=["plain", "rich"])
    >>> first = bandit.ask()
    >>> first.label, first.explored
    ('plain', False)
    >>> bandit.tell(first, reward=-1.0)
    >>> second = bandit.ask()
    >>> second.label, second.explored
    ('rich', True)
    """

    def __init__(
        self,
        arms: Any = None,
        policy: Policy | None = None,
        *,
        dim: int | None = None,
        features: FeatureMap | None = None,
        seed: int = 0,
        penalty: float = 1.0,
        labels: Iterable[Label] | None = None,
        rescale: bool = False,
        allowed: Any = None,
        estimator: Estimator | None = None,
    ) -> None:
        if [arms is None, dim is None, features is None].count(False) != 1:
            raise InvalidSetting(
                "give either the arms or, if they change every round, their dim, or features for contexts"
            )
        if features is not None and labels is not None:
            raise InvalidArms("the labels of arms in a feature map go with it")
        if dim is not None and labels is not None:
            raise InvalidArms("labels of arms that change every round go with them: ask(arms, labels)")
        self._features = checked_map(features)
        if self._features is not None:
            dim = self._features.dim
        self._seed = whole("seed", seed)
        if not isinstance(rescale, bool):
            raise InvalidSetting(f"rescale must be True or False, got {rescale!r}")
        self._rescale = rescale
        self._fixed = dim is None
        columns = columns_of(arms, rescale=self._rescale) if dim is None else _no_columns(dim)
        self._labels = labels_of(labels, columns.shape[1])
        self._estimator = checked_estimator(estimator)
        apart = uses_explored(checked("policy", policy))
        self._memory = Memory.empty(columns, penalty, apart, self._estimator)
        if dim is not None and self._features is None and allowed is not None:
            raise InvalidArms("what is allowed of arms that change goes with them: ask(arms, allowed=...)")
        self._allowed = None if allowed is None else mask_of(allowed, self._count())
        self._t = 0
        self._explored = 0
        self._skipped = 0
        self._made_up = 0
        self._cost = 0.0
        self._pending: dict[int, tuple[Decision, int | Floats]] = {}
        self._draws = Rounds(self._seed, STREAM)
        self._take(policy)

    @property
    def policy(self) -> Policy:
        """The policy; another may take over at any time, and goes on with all that was learnt.

        The clock goes on too: a schedule counts rounds from the bandit's first. What a policy has
        noted of its own choices, such as the cost that `guarded` has spent, is the old one's.
        """
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        if uses_explored(checked("policy", policy)) and self._memory.explored is None:
            raise NotKept(f"{policy!r} needs exploring rounds kept apart, which this bandit did not do")
        self._memory.note = None
        self._take(policy)

    @property
    def seed(self) -> int:
        """The seed of all draws."""
        return self._seed

    @property
    def rescale(self) -> bool:
        """Are arms longer than 1 divided by their length?"""
        return self._rescale

    @property
    def explored(self) -> int:
        """How many decisions explored."""
        return self._explored

    @property
    def t(self) -> int:
        """How many decisions were taken."""
        return self._t

    @property
    def arms(self) -> Floats:
        """The fixed arms, (K, d)."""
        return shown(self._memory.columns.T)

    @property
    def allowed(self) -> Bools | None:
        """Which of the fixed arms, or those of the feature map, exploring may try; None if all."""
        return None if self._allowed is None else shown(self._allowed)

    @allowed.setter
    def allowed(self, allowed: Any) -> None:
        self._allowed = None if allowed is None else mask_of(allowed, self._count())

    @property
    def features(self) -> FeatureMap | None:
        """The map that joins arms with a context, if there is one."""
        return self._features

    @property
    def estimator(self) -> Estimator | None:
        """The estimator; None is ridge regression."""
        return self._estimator

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The labels of the fixed arms, if they have any."""
        return self._labels

    @property
    def penalty(self) -> float:
        """The ridge penalty."""
        return self._memory.ridge.penalty

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions that still wait for their reward, oldest first."""
        return tuple(decision for decision, _ in self._pending.values())

    def ask(
        self,
        arms: Any = None,
        labels: Iterable[Label] | None = None,
        *,
        context: Any = None,
        allowed: Any = None,
    ) -> Decision:
        """Takes the next decision; give the arms on offer, if they change every round, or the context.

        `allowed` says for every arm whether exploring may try it in this round; what the bandit
        forbids in all rounds stays forbidden.
        """
        if arms is None and labels is None and context is None and self._fixed:
            evidence, names, columns = self._memory.evidence(), self._labels, None
        elif self._fixed and context is None:
            raise InvalidArms("the arms of this bandit are fixed; for arms in ask, make a Bandit(dim=...)")
        else:
            evidence, names, columns = self._offered(arms, labels, context)
        if allowed is not None or self._allowed is not None:
            evidence.allowed = self._mask(allowed, len(evidence))
        t = self._t + 1
        free = evidence.allowed is None  # the way of most rounds, which may not cost
        draws = self._draws.at(t)
        choice = (
            self._policy.choose(t, evidence, draws)
            if free
            else choose_allowed(self._policy, t, evidence, draws)
        )
        arm = chosen(choice, len(evidence))
        estimate, greedy = evidence.estimate(arm), evidence.greedy
        if arm != greedy and not choice.explored and estimate >= _tie_limit(evidence):
            greedy = arm
        margin = float(self._radius(evidence) * evidence.width(arm))
        if free:
            told = None if self._tells is None else self._tells(t, evidence, arm)
        else:
            told = probability(self._policy, t, evidence, arm)
        decision = Decision(
            t,
            t,
            arm,
            None if names is None else names[arm],
            bool(choice.explored),
            greedy,
            estimate,
            estimate - margin,
            estimate + margin,
            None if told is None else float(told),
            choice.reason or ("explored" if choice.explored else "greedy"),
        )
        if choice.features is not None:
            self._pending[t] = decision, np.array(choice.features, dtype=np.float64)
        else:
            self._pending[t] = decision, arm if columns is None else columns[:, arm].copy()
        self._t = t
        if choice.note is not None:
            self._memory.note = choice.note
        if choice.explored:
            self._explored += 1
            self._cost += loss_of(evidence, arm)
            self._made_up += choice.reason == MADE_UP
        elif choice.reason and choice.reason.startswith(SKIPPED):
            self._skipped += 1
        return decision

    def exploration(self) -> Exploration:
        """How much was planned, done and skipped, the next round due, and the estimated cost so far."""
        arms = self.arms if self._fixed else None
        planned, due = outlook(self._policy, self._t, self._memory.note, arms)
        return Exploration(planned, self._explored, self._skipped, self._made_up, due, self._cost)

    def tell(self, decision: Decision | int, reward: float, *, weight: float = 1.0) -> None:
        """Reports the reward of a decision, given as it was or by its id.

        `weight` is how much it counts in the squared error, as in 1/variance; 1 for a plain reward.
        """
        if type(reward) is not float or not abs(reward) <= self._greatest:
            reward = self._checked_reward(reward)
        taken, where = self._waiting(decision)
        if type(weight) is not float or weight != 1.0:
            weight = real("weight", weight, above=0, most=HEAVIEST, error=InvalidReward)
        if self._learns:
            self._memory.refuse(reward)  # before a learner has taken it in
            features = self._memory.columns[:, where] if isinstance(where, int) else where
            teach(self._policy, taken.arm, features.copy(), reward, taken.explored)
        if weight != 1.0:
            self._learn_weighted(where, reward, taken.explored, weight)
        elif isinstance(where, int):
            self._memory.learn(where, reward, taken.explored)
        else:
            self._memory.absorb(where, reward, taken.explored)
        del self._pending[taken.id]

    def drop(self, decision: Decision | int) -> None:
        """Forgets a decision whose reward will never come."""
        del self._pending[self._waiting(decision)[0].id]

    def draws(self, t: int) -> np.random.Generator:
        """A generator as the policy got it in round t, to replay that round's choice."""
        return Rounds(self._seed, STREAM).at(a_round(t))

    def evidence(self, arms: Any = None, *, context: Any = None) -> Evidence:
        """What the policy would read now; give the arms on offer, if they change, or the context."""
        evidence, _, _ = self._offered(arms, None, context)
        evidence.allowed = self._allowed if arms is None else None
        return evidence

    def estimates(
        self, arms: Any = None, labels: Iterable[Label] | None = None, *, context: Any = None
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls (rewards it was told).

        Give arms to ask about others than the fixed ones; their pulls are not known, and 0.
        """
        evidence, names, columns = self._offered(arms, labels, context)
        margins = self._radius(evidence) * evidence.widths
        mean = evidence.estimates
        found: dict[str, Any] = {
            "label": np.array([None] * len(evidence) if names is None else names, dtype=object),
            "estimate": mean,
            "low": mean - margins,
            "high": mean + margins,
            "pulls": evidence.pulls if columns is None else np.zeros(len(evidence), dtype=np.int64),
        }
        return np.rec.fromarrays(list(found.values()), names=list(found))  # type: ignore[call-overload, no-any-return]

    def add_arms(self, arms: Any, labels: Iterable[Label] | None = None) -> None:
        """Puts new arms behind those there are; what was learnt tells of them at once.

        Exploring may try them, also where `allowed` forbids others.
        """
        columns = columns_of(arms, dim=self._fixed_columns().shape[0], rescale=self._rescale)
        added = labels_of(labels, columns.shape[1])
        if (added is None) != (self._labels is None):
            raise InvalidArms("either all arms have labels or none; " + _say_labels(self._labels))
        before, new = self._fixed_columns().shape[1], columns.shape[1]
        names = None if added is None else labels_of((*(self._labels or ()), *added), before + new)
        places = np.concatenate([np.arange(before), np.full(new, -1)])
        self._memory = self._memory.over(np.hstack([self._fixed_columns(), columns]), places)
        if self._allowed is not None:
            self._allowed = np.concatenate([self._allowed, np.ones(new, dtype=bool)])
        self._labels = names

    def remove_arms(self, which: Any) -> None:
        """Takes arms away, by label where arms have labels, else by index; what was learnt stays.

        Indices close up behind them. A pending decision for a removed arm can still be told.
        """
        columns = self._fixed_columns()
        if self._learns:
            raise InvalidArms(f"{self._policy!r} knows arms by their indices, which would change")
        gone = places_of(which, self._labels, columns.shape[1])
        if len(gone) == columns.shape[1]:
            raise InvalidArms(f"at least one arm must stay; asked to remove all {len(gone)}")
        kept = [place for place in range(columns.shape[1]) if place not in gone]
        moved = {old: new for new, old in enumerate(kept)}
        for key, (decision, where) in self._pending.items():
            if isinstance(where, int):
                self._pending[key] = (decision, moved.get(where, columns[:, where].copy()))
        self._memory = self._memory.over(columns[:, kept], np.array(kept))
        self._allowed = None if self._allowed is None else self._allowed[kept]
        self._labels = None if self._labels is None else tuple(self._labels[place] for place in kept)

    def merge(self, other: Bandit) -> None:
        """Takes in all that another bandit on the same problem has learnt; the other stays as it is.

        Dimension, penalty and estimator must agree; rewards that count by their order cannot be
        merged. Pulls add up for arms that both have, by features and
        label. The clock, the count of explorations and the pending decisions stay this bandit's
        own. Merging the same bandit a second time counts its data twice: to sync again and
        again, merge into a fresh bandit each time.
        """
        merge(self, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bandit to one file, in the place of an older one; pending decisions too."""
        saving.save(self, path)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        policy: Policy | None = None,
        *,
        estimator: Estimator | None = None,
        features: FeatureMap | None = None,
    ) -> Bandit:
        """The bandit that was saved, which goes on exactly as the saved one would have.

        Give the `policy` if it is not in the catalogue: a class or function of your own. So too the
        `estimator`, which may also be another than before, if it can go on from what was kept; and
        the `features`, if they are `joined` by a function, or a map of your own.
        """
        return saving.load(path, policy, estimator, features)

    def __repr__(self) -> str:
        arms = "changing arms" if self._features is None else f"{self._features.count} arms in a context"
        if self._fixed:
            arms = f"{self._memory.columns.shape[1]} arms"
        told = f"t={self._t}, explored={self._explored}, pending={len(self._pending)}"
        return f"Bandit({arms} of {self._memory.ridge.dim} features, {self._policy!r}, {told})"

    def _take(self, policy: Any) -> None:
        """All that is read off a policy, once."""
        self._policy: Policy = policy
        self._learns = learns(policy)
        tells = getattr(policy, "probability", None)
        self._tells = tells if callable(tells) else None
        self._radius = radius_of(policy)
        self._greatest = min(greatest_reward(policy), MOST)

    def _checked_reward(self, reward: Any) -> float:
        """The reward as a float; warns, once, if the settings of the policy are far too small for it."""
        value = real("reward", reward, least=-MOST, most=MOST, error=InvalidReward)
        if abs(value) > self._greatest:
            warn_of_large(self._policy, value, stacklevel=3)
            self._greatest = MOST
        return value

    def _learn_weighted(self, where: int | Floats, reward: float, explored: bool, weight: float) -> None:
        if isinstance(where, int):
            self._memory.learn_weighted(where, reward, explored, weight)
        else:
            self._memory.absorb_weighted(where, reward, explored, weight)

    def _offered(
        self, arms: Any, labels: Iterable[Label] | None, context: Any
    ) -> tuple[Evidence, tuple[Label, ...] | None, Floats | None]:
        """The evidence, the labels and, if they are not the fixed ones, the arms that are meant."""
        if self._features is not None or context is not None:
            arms = rows_in(self._features, context, arms, labels)
            labels = None if self._features is None else self._features.labels
        if arms is None and self._fixed:
            return self._memory.evidence(), self._labels, None
        if arms is None:
            raise InvalidArms("the arms of this bandit change every round; give them, as in ask(arms)")
        columns = columns_of(arms, dim=self._memory.ridge.dim, rescale=self._rescale)
        return self._memory.offer(columns), labels_of(labels, columns.shape[1]), columns

    def _mask(self, allowed: Any, count: int) -> Bools | None:
        """What exploring may try in one round."""
        if allowed is None:
            return self._allowed
        given = mask_of(allowed, count)
        return given if self._allowed is None else given & self._allowed

    def _count(self) -> int:
        """How many arms there are, fixed or in a feature map."""
        return self._fixed_columns().shape[1] if self._features is None else self._features.count

    def _fixed_columns(self) -> Floats:
        if not self._fixed:
            raise InvalidArms(
                "the arms of this bandit change every round: there are none to add to or remove"
            )
        return self._memory.columns

    def _waiting(self, decision: Decision | int) -> tuple[Decision, int | Floats]:
        """The pending decision that is meant, and what its reward is learnt on."""
        if isinstance(decision, Decision):
            key = decision.id
        else:
            key = whole("the id of a decision", decision, error=UnknownDecision)
        found = self._pending.get(key)
        if found is None:
            if 1 <= key <= self._t:
                raise AlreadyTold(f"decision {key} has its reward already, or was dropped")
            raise UnknownDecision(f"decision {key} was never taken here; the last one is {self._t}")
        if found[0] is not decision and isinstance(decision, Decision) and found[0] != decision:
            raise UnknownDecision(f"another bandit took {decision}; decision {key} here is {found[0]}")
        return found


def _tie_limit(evidence: Evidence) -> float:
    """The estimate from which on an arm ties with the greedy one."""
    return float(kernels.tie_limit(evidence.estimates.copy()))


def _no_columns(dim: int) -> Floats:
    return np.empty((whole("dim", dim, least=1), 0))


def _say_labels(labels: tuple[Label, ...] | None) -> str:
    return "this bandit's have none" if labels is None else f"this bandit's are {labels[:5]}..."
