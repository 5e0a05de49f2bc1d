"""A policy at work on what was learnt: it decides, which changes nothing; it applies that; it learns."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools
from infex.bandit.exploration import Account, Exploration
from infex.checks import safe_repr
from infex.errors import NotKept, OutOfReach
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
from infex.policies.infex import Infex, loss_of
from infex.schedules.base import Family


class Step(NamedTuple):
    """What a policy does in round t: its `choice`, in which the arm's index is among all arms of the round.

    `arm` is its index among the arms that the policy was shown, `on` what the reward is learnt on, `loss` the
    estimated loss of exploring, and `different` whether it plays another arm than the greedy one.
    """

    t: int
    choice: Choice
    arm: int
    on: DesignRow
    loss: float
    different: bool

    @property
    def effects(self) -> tuple[int, bool, Turn | None, float, bool, Any]:
        """What applying it changes, as `Agent.apply` takes it."""
        choice = self.choice
        return self.t, choice.explored, choice.turn, self.loss, self.different, choice.note


@final
class Agent:
    """A policy, what was learnt (`model`), what rounds add up to (`account`), and the policy's `note`."""

    __slots__ = ("_policy", "account", "model", "note", "traits")

    def __init__(self, policy: Policy, model: ModelState) -> None:
        self.account, self.model = Account(), model
        self.note: Any = None
        self.policy = policy

    def replace_model(self, model: ModelState) -> None:
        """Goes on with another model: what is known now is not what earlier decisions rested on."""
        self.model = model
        self.account.hear()

    @property
    def policy(self) -> Policy:
        """The policy, with 0.01 for a delta that was not said; what another has noted is not for this one."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        policy = settled(checked("policy", policy), UNSAID_DELTA)
        traits = traits_of(policy)
        if traits.uses_explored and self.model.explored is None:
            raise NotKept(f"{safe_repr(policy)} needs exploring rounds kept apart, which was not done")
        self.account.look_back(traits.span)  # the last that may raise
        self.account.scheduled |= traits.gate is not None
        self._policy, self.traits, self.note = policy, traits, None
        self.account.hear()

    def posterior(self, offer: Offer | None = None, allowed: Bools | None = None) -> Posterior:
        """What the policy reads now: of the fixed arms, or of those on offer."""
        note = self.note if self.note is None or self.traits.trusted else copy.deepcopy(self.note)
        if offer is None:
            return self.model.posterior(note, allowed, self.account.spent)
        return self.model.offer(offer, note, allowed, self.account.spent)

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
        loss, different = 0.0, False
        if choice.explored:
            loss, different = loss_of(posterior, arm), arm != posterior.greedy
        if not posterior.shows_all:
            choice = choice._replace(arm=posterior.place(arm))
        return Step(t, choice, arm, on, loss, different)

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
        if self.model.searches:
            self.model.entered(explored)

    def learn(self, arm: int, on: DesignRow, reward: float, explored: bool, weight: float = 1.0) -> float:
        """Takes in the reward of a decision, or refuses it and changes nothing; the weight that it has."""
        model = self.model
        if model.searches or weight != 1.0:
            weight = model.counted(on, reward, weight)
        if self.traits.pupils:
            self.traits.teach(arm, model.row(on), reward, explored)
        model.take(on, reward, explored, weight)
        self.account.hear()
        return weight

    def greedy_rounds_after(self, t: int) -> float:
        """How many rounds after t play the greedy arm whatever they draw, as far as the schedule tells."""
        policy, gate = self._policy, self.traits.gate
        if not (isinstance(policy, Infex) and gate is not None and self.traits.trusted):
            return 0
        if policy.greedy is not None or policy.ties != "lowest" or gate.layers or gate.drawn:
            return 0
        if self.account.owed or not isinstance(gate.plan, Family):
            return 0
        try:
            return gate.plan.when(gate.plan.count(t) + 1) - t - 1
        except OutOfReach:  # a union that is too dense to be counted
            return 0

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


def accepts(policy: Policy, note: Any, dim: int) -> bool:
    """Can the policy read a note? One that says nothing of its notes reads any."""
    fits = traits_of(policy).accepts
    return note is None or fits is None or fits(note, dim)
