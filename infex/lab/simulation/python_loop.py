"""Runs in Python, one round after the other: the reference for the compiled loops."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.agent import Agent
from infex.lab.environments import ContextualInstance, Instance, Stretch
from infex.lab.environments.base import NEVER, RewardSource, checked_late, gaps_below
from infex.lab.simulation.run import Run, RunSettings, finished_run, log_spaced
from infex.models.layout import ContextOffer, DesignRow, PerArm
from infex.models.state import ModelState
from infex.policies.base import policy_info
from infex.streams import stream


def play_in_python(instance: Instance, seed: int, settings: RunSettings) -> Run:
    """One run; a base that keeps own data begins without what was learnt before."""
    policy, label, horizon, penalty, record, estimator, narrows, learnt = settings
    late = checked_late(instance.late)
    delays = None if late is None else late.delays(seed, instance.key, horizon)
    apart = policy_info(policy).uses_explored
    if isinstance(instance, ContextualInstance):
        model = ModelState.empty(PerArm(instance.count, instance.context_dim), penalty, apart, estimator)
    else:
        standing = np.zeros((0, instance.dim)) if instance.fixed_arms is None else instance.fixed_arms
        model = ModelState.empty(np.ascontiguousarray(standing.T), penalty, apart, estimator)
    if learnt is not None:
        model.all.add_statistics(learnt.sufficient_statistics())
    if narrows and delays is not None:
        model.track_pending()
    rewards = RewardSource(instance.law, seed, instance.key)
    tally = Tally(instance.count, horizon, record, steady=instance.is_plain)
    rng = stream(seed, "policy", label, instance.key)
    begun = time.perf_counter()
    loop = PythonLoop(Agent(policy, model), tally, rewards, rng, delays)
    for stretch in instance.stretches(seed, horizon):
        loop.play(stretch)
    tally.flush()
    log_det_ratio = float(model.all.posterior().log_det_ratio)
    return finished_run(tally, instance, seed, settings, time.perf_counter() - begun, log_det_ratio)


class Tally:
    """Regret, explorations and counts of a run, added up as `infex.core.runs.Outcome` does."""

    def __init__(self, arms: int, horizon: int, record: bool, steady: bool) -> None:
        rounds = horizon if record else 0
        self.checkpoints, self._next_checkpoint = log_spaced(horizon), 0
        self.curve: Floats = np.zeros(self.checkpoints.size)
        self.counts: Integers = np.zeros(arms, dtype=np.int64)
        self.arms: Integers = np.zeros(rounds, dtype=np.int64)
        self.rewards: Floats = np.zeros(rounds)
        self.losses: Floats = np.zeros(rounds)
        self.regret_exploring = self.regret_greedy = 0.0
        self.explored = self.optimal = 0
        self._steady, self._record = steady, record
        self._arm, self._explores, self._gap, self._rounds = -1, False, 0.0, 0  # equal rounds in a row

    def count(self, t: int, arm: int, explores: bool, gap: float, reward: float) -> None:
        """One round."""
        if self._record:
            self.arms[t - 1], self.rewards[t - 1], self.losses[t - 1] = arm, reward, gap
        if arm != self._arm or explores != self._explores or not self._steady:
            self.flush()
        self._arm, self._explores, self._gap = arm, explores, gap
        self._rounds += 1
        if t == self.checkpoints[self._next_checkpoint]:
            self.flush()
            self.curve[self._next_checkpoint] = self.regret_greedy + self.regret_exploring
            self._next_checkpoint += 1

    def flush(self) -> None:
        """Adds the equal rounds under way."""
        rounds, self._rounds = self._rounds, 0
        if not rounds:
            return
        self.counts[self._arm] += rounds
        if self._explores:
            self.regret_exploring += rounds * self._gap
            self.explored += rounds
        else:
            self.regret_greedy += rounds * self._gap
        if self._gap == 0.0:
            self.optimal += rounds


class Played(NamedTuple):
    """A round whose reward is on its way: its arm, what the reward is learnt on, and the arm's estimate."""

    t: int
    arm: int
    on: DesignRow
    reward: float
    explored: bool
    estimate: float


class PythonLoop:
    """A run in Python: a round after the other, rewards told when they are due."""

    def __init__(
        self,
        agent: Agent,
        tally: Tally,
        rewards: RewardSource,
        rng: np.random.Generator,
        delays: Integers | None,
    ) -> None:
        self._agent, self._tally, self._rewards, self._rng = agent, tally, rewards, rng
        self._delays = None if delays is None else delays.tolist()
        self._due: defaultdict[int, list[Played]] = defaultdict(list)

    def play(self, stretch: Stretch) -> None:
        """Plays all rounds of a stretch."""
        agent, table, row = self._agent, self._rewards.table(stretch), -1
        means, gaps = stretch.means[0].tolist(), [0.0]
        for t in range(stretch.first, stretch.last + 1):
            place = t - stretch.first
            if row < 0 or t > stretch.ends[row]:
                row += 1
                means, gaps = stretch.means[row].tolist(), gaps_below(stretch.means[row]).tolist()
            posterior = agent.posterior(self._offer(stretch.columns, place))
            step = agent.decide(t, posterior, self._rng)
            arm, explored = step.choice.arm, step.choice.explored
            estimate = 0.0 if agent.model.pending_design is None else posterior.estimate(arm)
            agent.apply(*step.effects)
            reward = self._rewards.reward(arm, means[arm]) if table is None else float(table[place, arm])
            self._tally.count(t, arm, explored, gaps[arm], reward)
            self._learn(Played(t, arm, step.on, reward, explored, estimate))

    @staticmethod
    def _offer(columns: Floats | None, place: int) -> Floats | ContextOffer | None:
        """What a round offers: arms, (d, K), or a context, (c,); None where arms stay."""
        if columns is None:
            return None
        return ContextOffer(columns[place]) if columns.ndim == 2 else columns[place]

    def _learn(self, played: Played) -> None:
        """The reward of a round goes on its way, and those that are due are learnt."""
        agent, pending = self._agent, self._agent.model.pending_design
        if self._delays is None:
            agent.learn(played.arm, played.on, played.reward, played.explored)
            return
        if pending is not None:
            pending.add(played, played.on)
        if self._delays[played.t - 1] != NEVER:
            self._due[played.t + self._delays[played.t - 1]].append(played)
        for past in self._due.pop(played.t, ()):
            agent.learn(past.arm, past.on, past.reward, past.explored)
            if pending is not None:
                pending.remove(past, past.on)
