"""A policy at work: it decides, which changes nothing; what was decided is entered; rewards are learnt."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, final

import numpy as np

from infex.arrays import Bools
from infex.checks import quick, told
from infex.errors import NotKept
from infex.linear import Evidence, Memory, Offer, On
from infex.policies.choice import Choice, arm_of, checked_choice
from infex.policies.infex import loss_of
from infex.policies.masks import choose_allowed, law_allowed, refuse_offer, unexplored
from infex.policies.settling import UNSAID_DELTA, settled
from infex.policies.traits import Policy, checked, traits_of
from infex.rounds.account import Account, Exploration
from infex.rounds.shortcut import Shortcut
from infex.rounds.taken import Taken


@final
class Player:
    """A policy, what was learnt, and what rounds add up to."""

    __slots__ = ("_memory", "_policy", "account", "note", "shortcut", "traits")

    def __init__(self, policy: Policy, memory: Memory) -> None:
        self.account, self._memory = Account(), memory
        self.note: Any = None
        self.policy = policy

    @property
    def memory(self) -> Memory:
        """What was learnt."""
        return self._memory

    @memory.setter
    def memory(self, memory: Memory) -> None:
        shortcut = Shortcut.of(self._policy, memory)  # which asks a user's code: nothing has changed yet
        self._memory, self.shortcut = memory, shortcut
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
            raise NotKept(f"{told(policy)} needs exploring rounds kept apart, which was not done")
        shortcut = Shortcut.of(policy, self._memory)
        self.account.look_back(traits.span)  # the last that may raise
        self.account.scheduled |= traits.gate is not None
        self._policy, self.traits, self.shortcut, self.note = policy, traits, shortcut, None
        self.account.hear()

    def evidence(self, offer: Offer | None = None, allowed: Bools | None = None) -> Evidence:
        """What the policy reads now: of the fixed arms, or of those on offer."""
        note = self.note if self.note is None or self.traits.trusted else copy.deepcopy(self.note)
        if offer is None:
            return self._memory.evidence(note, allowed, self.account.spent)
        return self._memory.offer(offer, note, allowed, self.account.spent)

    def decide(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Taken:
        """What the policy does in round t; changes nothing. Its arm is an index among all, offered or not.

        Without a schedule it explores in every round, and pending decisions narrow what it reads.
        """
        seen = evidence if self.traits.gates else evidence.narrowed
        if not seen.shows_all:
            refuse_offer(self._policy, self.traits)
        choice = choose_allowed(self._policy, self.traits, t, seen, rng)
        if not seen.may_explore:
            choice = unexplored(choice, seen)
        if self.traits.trusted:
            arm_of(choice, len(evidence))
        else:
            choice = self._checked(choice, t, seen)
        arm = choice.arm
        on = evidence.learnt_on(arm, choice.features)
        if not evidence.shows_all:
            choice = choice._replace(arm=evidence.place(arm))
        if not choice.explored:
            return quick(Taken, (t, choice, on, 0.0, False, ()))
        return Taken(t, choice, on, loss_of(evidence, arm), arm != evidence.greedy)

    def _checked(self, choice: Choice, t: int, evidence: Evidence) -> Choice:
        """A choice of a user's policy, whole, with its probability where `probability` tells it."""
        choice = checked_choice(choice, len(evidence), evidence.dim)
        if choice.probability is None and evidence.may_explore:
            choice = choice._replace(probability=law_allowed(self.traits, t, evidence, choice.arm))
        return checked_choice(choice, len(evidence), evidence.dim)

    def enter(self, taken: Taken) -> None:
        """Changes what a decision changes: the account and the note."""
        self.book(taken)
        if self._memory.searches:
            self._memory.entered(taken.choice.explored)

    def book(self, taken: Taken) -> None:
        """The same but for the start of searches, which is the same after many decisions as after one."""
        choice = taken.choice
        self.account.enter(taken.t, choice.explored, choice.turn, taken.loss, taken.different)
        if taken.noticed:
            self.account.noticed.update(taken.noticed)
        if choice.note is not None:
            self.note = choice.note if self.traits.trusted else copy.deepcopy(choice.note)

    def learn(self, arm: int, on: On, reward: float, explored: bool, weight: float = 1.0) -> float:
        """Takes in the reward of a decision; the weight with which it was learnt."""
        memory = self._memory
        if memory.searches or weight != 1.0:
            weight = memory.counted(on, reward, weight)  # asks and refuses before anybody has learnt
        if self.traits.pupils:
            self.traits.teach(arm, memory.row(on), reward, explored)
        memory.all.learn(on, reward, weight)  # as `memory.take` does, in less time
        if explored and memory.explored is not None:
            memory.explored.learn(on, reward, weight)
        account = self.account
        account.heard = account.t  # `hear`, in less time
        return weight

    def exploration(self, evidence: Evidence) -> Exploration:
        """How much was planned, done and skipped; the evidence is of the fixed arms, if there are any."""
        gate, t = self.traits.gate, self.account.t
        states = () if gate is None else gate.begin() if self.note is None else self.note.states
        return self.account.exploration(None if gate is None else gate.next_due(t, evidence, states))


def play_round(
    player: Player,
    t: int,
    rng: np.random.Generator,
    reward: Callable[[int], float],
    offer: Offer | None = None,
) -> tuple[Choice, float]:
    """One round whose reward comes at once, among the fixed arms or those on offer: choice and reward."""
    taken = player.decide(t, player.evidence(offer), rng)
    player.enter(taken)
    choice = taken.choice
    gained = reward(choice.arm)
    player.learn(choice.arm, taken.on, gained, choice.explored)
    return choice, gained
