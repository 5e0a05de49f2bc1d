"""What a bandit is made of, and what can be read of it without asking."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools, Floats, Integers, Label, shown
from infex.bandit.arms import Mapped
from infex.bandit.copying import ALIVE, state_of
from infex.bandit.decision import Decision
from infex.bandit.foreseeing import foresee
from infex.bandit.lineage import Lineage
from infex.bandit.lives import Lives
from infex.bandit.parts import Parts
from infex.bandit.pulls import pulls_of
from infex.bandit.remembering import ToldDecisions
from infex.bandit.reward_rule import RewardRule, limits
from infex.checks import LARGEST_REWARD
from infex.errors import InvalidSetting
from infex.features import FeatureMap
from infex.features.feature_map import ScaledMap, encoder_of
from infex.linear.estimating import Estimator
from infex.logs.log_marks import Taught
from infex.policies.confidence import DEFAULT
from infex.policies.traits import Policy
from infex.rounds.open_shortcut import OpenShortcut
from infex.schedules.protocol import a_round
from infex.streams import Rounds

if TYPE_CHECKING:
    from infex.bandit.recording import Notebook

STREAM = "bandit"


class Readable:
    """The parts of a bandit: its settings, its counts, and copies that share nothing with it."""

    def _begin(self, parts: Parts) -> None:
        self._arms, self._player, self._seed, self._estimator, self._lives, self._waiting, self._prior = parts
        self._draws = Rounds(parts.seed, STREAM)
        self._lock = threading.RLock()
        self._lineage = Lineage()
        self._taught = Taught()
        self._notebook: Notebook | None = None
        self._rule = RewardRule.of(None, parts.estimator)
        self._remembered: ToldDecisions | None = None
        ALIVE.add(self)
        self._follow()

    def _follow(self) -> None:
        """What is read off the policy, once."""
        traits = self._player.traits
        self._radius = DEFAULT.radius if traits.radius is None else traits.radius
        self._open_shortcut = OpenShortcut.of(self._player.policy, self._player.memory)
        self._fitting = LARGEST_REWARD if traits.greatest is None else min(traits.greatest, LARGEST_REWARD)
        self._least, self._greatest = limits(self._rule, self._fitting)

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
            self._player.account.changes += 1
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
            self._player.account.changes += 1

    @property
    def narrows(self) -> bool:
        """Do pending decisions narrow what exploring reads? It can be switched at any time."""
        return self._player.memory.foresight is not None

    @narrows.setter
    def narrows(self, narrows: bool) -> None:
        if not isinstance(narrows, bool):
            raise InvalidSetting(f"narrows must be True or False, got {narrows!r}")
        with self._lock:
            foresee(self._player.memory, self._waiting, narrows)
            self._player.account.changes += 1

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
        """The ridge penalty, on theta for features as they are given, before a map divides them."""
        return self._prior.penalty

    @property
    def rewards(self) -> tuple[float, float] | None:
        """The least and the greatest reward that can be told, if they were said."""
        return self._rule.range

    @property
    def remembers(self) -> int:
        """For how many decisions what was told is remembered, so that a second reward can be told."""
        return 0 if self._remembered is None else self._remembered.most

    def _take_rewards(self, rule: RewardRule, remembered: ToldDecisions | None) -> None:
        self._rule, self._remembered = rule, remembered
        self._follow()

    @property
    def theta(self) -> Floats:
        """The estimated parameter: (d,), or with a map that has blocks a row for each, (K, c) if disjoint.

        It is for contexts as they are given, before they are divided by `longest`; with `features.table`
        for its features, numbers from -1 to 1, as `names` names them. With `Logistic` it tells log-odds.
        """
        with self._lock:
            theta, features = self._player.memory.all.known().theta, self.features
        return shown(features.in_units(theta) if isinstance(features, ScaledMap) else theta)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features of contexts, if they have any: those of the columns of `theta`."""
        encoder = encoder_of(self.features)
        return None if encoder is None else encoder.names

    @property
    def pulls(self) -> Integers | None:
        """How many rewards every arm was told, (K,); None if arms change every round."""
        with self._lock:
            return pulls_of(self._arms, self._player.memory)

    @property
    def noticed(self) -> dict[str, int]:
        """How many decisions had a context that a rule of its table was needed for: {"age clipped": 3}."""
        with self._lock:
            return dict(sorted(self._player.account.noticed.items()))

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions that still wait for their reward, oldest first."""
        with self._lock:
            return tuple(decision for decision, _ in self._waiting)

    def draws(self, t: int) -> np.random.Generator:
        """A generator as the policy got it in round t, to replay that round's choice."""
        return Rounds(self._seed, STREAM).at(a_round(t))

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock; a copy is another life, whose ids are its own."""
        return state_of(self)

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._lives = Lives(self._lives.past)  # a pickle may be loaded twice
        self._draws, self._lock = Rounds(self._seed, STREAM), threading.RLock()
        self._notebook = None  # a log is that of one bandit
        ALIVE.add(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = type(self).__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other

    def __copy__(self) -> Self:
        """A copy shares nothing: two bandits that learn into one state would both be wrong."""
        return copy.deepcopy(self)
