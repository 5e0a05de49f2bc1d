"""A policy at work on what was learnt: it decides, which changes nothing; it applies that; it learns."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools
from infex.bandit.exploration import Account, Exploration
from infex.checks import safe_repr
from infex.errors import NotKept
from infex.models.layout import DesignRow, Offer
from infex.models.model import ModelState
from infex.models.posterior import Posterior
from infex.policies.base import (
    UNSAID_DELTA,
    Policy,
    checked,
    choose_allowed,
    law_allowed,
    refuse_offer,
    settled,
    traits_of,
    unexplored,
)
from infex.policies.choice import Choice, Turn, arm_of, checked_choice
from infex.policies.infex import loss_of

Effects = tuple[int, bool, Turn | None, float, bool, Any]
"""What applying a decision changes: its round; did it explore, what became of the exploration, what it is
estimated to cost, was it another arm than the greedy one; and the policy's note."""


class Step(NamedTuple):
    """What a policy does in round t: its choice, with the arm's index among all.

    `on` is what the reward is learnt on; `loss` the estimated loss of exploring, and `different` whether it
    plays another arm than the greedy one.
    """

    t: int
    choice: Choice
    on: DesignRow
    loss: float
    different: bool

    @property
    def effects(self) -> Effects:
        """What applying it changes."""
        choice = self.choice
        return self.t, choice.explored, choice.turn, self.loss, self.different, choice.note


@final
class Agent:
    """A policy, what was learnt (`memory`), what rounds add up to (`account`), and the policy's `note`."""

    __slots__ = ("_memory", "_policy", "account", "note", "traits")

    def __init__(self, policy: Policy, memory: ModelState) -> None:
        self.account, self._memory = Account(), memory
        self.note: Any = None
        self.policy = policy

    @property
    def memory(self) -> ModelState:
        """What was learnt."""
        return self._memory

    @memory.setter
    def memory(self, memory: ModelState) -> None:
        self._memory = memory
        self.account.hear()

    @property
    def policy(self) -> Policy:
        """The policy, with 0.01 for a delta that was not said; what another has noted is not for this one."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        policy = settled(checked("policy", policy), UNSAID_DELTA)
        traits = traits_of(policy)
        if traits.uses_explored and self._memory.explored is None:
            raise NotKept(f"{safe_repr(policy)} needs exploring rounds kept apart, which was not done")
        self.account.look_back(traits.span)  # the last that may raise
        self.account.scheduled |= traits.gate is not None
        self._policy, self.traits, self.note = policy, traits, None
        self.account.hear()

    def posterior(self, offer: Offer | None = None, allowed: Bools | None = None) -> Posterior:
        """What the policy reads now: of the fixed arms, or of those on offer."""
        note = self.note if self.note is None or self.traits.trusted else copy.deepcopy(self.note)
        if offer is None:
            return self._memory.posterior(note, allowed, self.account.spent)
        return self._memory.offer(offer, note, allowed, self.account.spent)

    def decide(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Step:
        """What the policy does in round t; changes nothing.

        Without a schedule it explores in every round, and pending decisions narrow what it reads.
        """
        traits = self.traits
        seen = posterior if traits.gates else posterior.narrowed
        if not seen.shows_all:
            refuse_offer(self._policy, traits)
        choice = choose_allowed(self._policy, traits, t, seen, rng)
        if not seen.may_explore:
            choice = unexplored(choice, seen)
        if traits.trusted:
            arm_of(choice, len(posterior))
        else:
            choice = self._checked(choice, t, seen)
        arm = choice.arm
        on = posterior.design_row(arm, choice.features)
        loss = loss_of(posterior, arm) if choice.explored else 0.0
        different = choice.explored and arm != posterior.greedy
        if not posterior.shows_all:
            choice = choice._replace(arm=posterior.place(arm))
        return Step(t, choice, on, loss, different)

    def _checked(self, choice: Choice, t: int, posterior: Posterior) -> Choice:
        """A choice of a user's policy, whole, with its propensity where the hook `propensity` tells it."""
        choice = checked_choice(choice, len(posterior), posterior.dim)
        if choice.propensity is None and posterior.may_explore:
            choice = choice._replace(propensity=law_allowed(self.traits, t, posterior, choice.arm))
        return checked_choice(choice, len(posterior), posterior.dim)

    def apply(
        self, t: int, explored: bool, turn: Turn | None, loss: float, different: bool, note: object
    ) -> None:
        """Changes what a decision changes: the account, the policy's note, where searches start."""
        self.account.apply(t, explored, turn, loss, different)
        if note is not None:
            self.note = note if self.traits.trusted else copy.deepcopy(note)
        if self._memory.searches:
            self._memory.set_warm_start(explored)

    def learn(self, arm: int, on: DesignRow, reward: float, explored: bool, weight: float = 1.0) -> float:
        """Takes in the reward of a decision, or refuses it and changes nothing; the weight that it has."""
        memory = self._memory
        if memory.searches or weight != 1.0:
            weight = memory.effective_weight(on, reward, weight)
        if self.traits.pupils:
            self.traits.teach(arm, memory.row(on), reward, explored)
        memory.update(on, reward, explored, weight)
        self.account.hear()
        return weight

    def exploration(self, posterior: Posterior) -> Exploration:
        """How much was planned, done and skipped; the posterior is of the fixed arms, if there are any."""
        gate, t = self.traits.gate, self.account.t
        states = () if gate is None else gate.begin() if self.note is None else self.note.states
        return self.account.exploration(None if gate is None else gate.next_due(t, posterior, states))


def play_round(
    agent: Agent,
    t: int,
    rng: np.random.Generator,
    reward: Callable[[int], float],
    offer: Offer | None = None,
) -> tuple[Choice, float]:
    """One round whose reward comes at once, among the fixed arms or those on offer: choice and reward."""
    step = agent.decide(t, agent.posterior(offer), rng)
    agent.apply(*step.effects)
    choice = step.choice
    gained = reward(choice.arm)
    agent.learn(choice.arm, step.on, gained, choice.explored)
    return choice, gained
