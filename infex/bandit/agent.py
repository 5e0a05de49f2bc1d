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
    DEFAULT_DELTA,
    Policy,
    checked,
    choose_allowed,
    policy_info,
    propensity_allowed,
    refuse_offer,
    resolve_defaults,
    without_exploring,
)
from infex.policies.choice import Choice, ScheduleStatus, checked_arm, checked_choice
from infex.policies.infex import loss_of

Effects = tuple[int, bool, ScheduleStatus | None, float, bool, Any]
"""What applying a decision changes: its round; did it explore, what became of the exploration, what it is
estimated to cost, was it another arm than the greedy one; and the policy's policy state."""


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
        return self.t, choice.explored, choice.schedule_status, self.loss, self.different, choice.policy_state


@final
class Agent:
    """A policy, what was learnt (`memory`), what rounds add up to (`account`), and the `policy_state`."""

    __slots__ = ("_memory", "_policy", "account", "info", "policy_state")

    def __init__(self, policy: Policy, memory: ModelState) -> None:
        self.account, self._memory = Account(), memory
        self.policy_state: Any = None
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
        """The policy, with 0.01 for a delta that was not said; what another remembers is not for this one."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        policy = resolve_defaults(checked("policy", policy), DEFAULT_DELTA)
        info = policy_info(policy)
        if info.uses_explored and self._memory.explored is None:
            raise NotKept(f"{safe_repr(policy)} needs exploring rounds kept apart, which was not done")
        self.account.look_back(info.lookback)  # the last that may raise
        self.account.scheduled |= info.controlled_schedule is not None
        self._policy, self.info, self.policy_state = policy, info, None
        self.account.hear()

    def posterior(self, offer: Offer | None = None, allowed: Bools | None = None) -> Posterior:
        """What the policy reads now: of the fixed arms, or of those on offer."""
        policy_state = (
            self.policy_state
            if self.policy_state is None or self.info.built_in
            else copy.deepcopy(self.policy_state)
        )
        if offer is None:
            return self._memory.posterior(policy_state, allowed, self.account.spent)
        return self._memory.offer(offer, policy_state, allowed, self.account.spent)

    def decide(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Step:
        """What the policy does in round t; changes nothing.

        Without a schedule it explores in every round, and pending decisions narrow what it reads.
        """
        info = self.info
        seen = posterior if info.controlled_schedules else posterior.narrowed
        if not seen.shows_all:
            refuse_offer(info)
        choice = choose_allowed(info, t, seen, rng)
        if not seen.may_explore:
            choice = without_exploring(choice, seen)
        if info.built_in:
            checked_arm(choice, len(posterior))
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
            choice = choice._replace(propensity=propensity_allowed(self.info, t, posterior, choice.arm))
        return checked_choice(choice, len(posterior), posterior.dim)

    def apply(
        self,
        t: int,
        explored: bool,
        schedule_status: ScheduleStatus | None,
        loss: float,
        different: bool,
        policy_state: object,
    ) -> None:
        """Changes what a decision changes: the account, the policy's policy state, where searches start."""
        self.account.apply(t, explored, schedule_status, loss, different)
        if policy_state is not None:
            self.policy_state = policy_state if self.info.built_in else copy.deepcopy(policy_state)
        if self._memory.searches:
            self._memory.entered(explored)

    def learn(self, arm: int, on: DesignRow, reward: float, explored: bool, weight: float = 1.0) -> float:
        """Takes in the reward of a decision, or refuses it and changes nothing; the weight that it has."""
        memory = self._memory
        if memory.searches or weight != 1.0:
            weight = memory.counted(on, reward, weight)
        if self.info.learners:
            self.info.update(arm, memory.row(on), reward, explored)
        memory.take(on, reward, explored, weight)
        self.account.hear()
        return weight

    def exploration(self, posterior: Posterior) -> Exploration:
        """How much was planned, done and skipped; the posterior is of the fixed arms, if there are any."""
        controlled_schedule, t = self.info.controlled_schedule, self.account.t
        states = (
            ()
            if controlled_schedule is None
            else controlled_schedule.initial_states()
            if self.policy_state is None
            else self.policy_state.states
        )
        return self.account.exploration(
            None if controlled_schedule is None else controlled_schedule.next_due(t, posterior, states)
        )


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
