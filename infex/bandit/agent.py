"""A policy with its model and exploration account: decide (pure), apply, learn.

Bandits and simulated runs both go through it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools
from infex.bandit.exploration import Exploration, ExplorationAccount
from infex.checks import safe_repr
from infex.errors import InvalidSetting, NotKept
from infex.models.layout import DesignRow, Offer
from infex.models.posterior import Posterior
from infex.models.state import ModelState
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
from infex.policies.infex import Infex


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
    def effects(self) -> tuple[int, bool, ScheduleStatus | None, float, bool, Any]:
        """What applying it changes, as `Agent.apply` takes it."""
        choice = self.choice
        return self.t, choice.explored, choice.schedule_status, self.loss, self.different, choice.policy_state


@final
class Agent:
    """A policy, what was learnt (`model`), what rounds add up to (`account`), and the `policy_state`."""

    __slots__ = ("_policy", "account", "info", "model", "policy_state")

    def __init__(self, policy: Policy, model: ModelState) -> None:
        self.account, self.model = ExplorationAccount(), model
        self.policy_state: Any = None
        self.policy = policy

    def replace_model(self, model: ModelState) -> None:
        """Goes on with another model: what is known now is not what earlier decisions rested on."""
        self.model = model
        self.account.mark_stale()

    @property
    def policy(self) -> Policy:
        """The policy, with 0.01 for a delta that was not said. Setting another forgets the policy state."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        policy = resolve_defaults(checked("policy", policy), DEFAULT_DELTA)
        info = policy_info(policy)
        if info.missing_setting is not None:
            raise InvalidSetting(info.missing_setting)
        if info.uses_explored and self.model.explored is None:
            raise NotKept(f"{safe_repr(policy)} needs exploring rounds kept apart, which was not done")
        self.account.look_back(info.lookback)  # the last that may raise
        self.account.scheduled |= info.controlled_schedule is not None
        self._policy, self.info, self.policy_state = policy, info, None
        self.account.mark_stale()

    def posterior(self, offer: Offer | None = None, allowed: Bools | None = None) -> Posterior:
        """What the policy reads now: of the fixed arms, or of those on offer."""
        policy_state = (
            self.policy_state
            if self.policy_state is None or self.info.built_in
            else copy.deepcopy(self.policy_state)
        )
        if offer is None:
            return self.model.posterior(policy_state, allowed, self.account.spent)
        return self.model.offer(offer, policy_state, allowed, self.account.spent)

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
        loss, different = 0.0, False
        if choice.explored:
            loss, different = posterior.loss(arm), arm != posterior.greedy
        if not posterior.shows_all:
            choice = choice._replace(arm=posterior.place(arm))
        return Step(t, choice, arm, on, loss, different)

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
        *,
        warm_start: bool = True,
    ) -> None:
        """Changes what a decision changes: the account, the policy's state, where searches start.

        Without `warm_start` searches start where they did: of a batch, which may yet be refused.
        """
        self.account.apply(t, explored, schedule_status, loss, different)
        if policy_state is not None:
            self.policy_state = policy_state if self.info.built_in else copy.deepcopy(policy_state)
        if warm_start:
            self.set_warm_start(explored)

    def set_warm_start(self, explored: bool) -> None:
        """Lets later searches start from the present estimate, on which a decision was taken."""
        if self.model.searches:
            self.model.set_warm_start(explored)

    def learn(self, arm: int, on: DesignRow, reward: float, explored: bool, weight: float = 1.0) -> float:
        """Takes in the reward of a decision, or refuses it and changes nothing; the weight that it has."""
        model = self.model
        if model.searches or weight != 1.0:
            weight = model.effective_weight(on, reward, weight)
        if self.info.learners:
            self.info.update(arm, model.row(on), reward, explored)
        model.update(on, reward, explored, weight)
        self.account.mark_stale()
        return weight

    def greedy_rounds_after(self, t: int) -> float:
        """How many rounds after t surely play the greedy arm; 0 where that cannot be told."""
        policy = self._policy
        if not isinstance(policy, Infex) or not self.info.built_in or self.account.owed:
            return 0
        return policy.greedy_rounds_after(t)

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
    """One round whose reward comes at once, among the fixed arms or those on offer: choice and reward.

    `infex.testing` and `infex.lab.verification` play their rounds by it.
    """
    step = agent.decide(t, agent.posterior(offer), rng)
    agent.apply(*step.effects)
    choice = step.choice
    gained = reward(choice.arm)
    agent.learn(choice.arm, step.on, gained, choice.explored)
    return choice, gained
