"""Runs in Python, one round after the other: the reference for the compiled loops."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.agent import Agent, Step
from infex.environments import ContextualInstance, Instance, Stretch
from infex.environments.lateness import NEVER, checked_late
from infex.environments.reward_laws import RewardSource
from infex.environments.truths import gaps_below
from infex.models.base import Estimator
from infex.models.layout import ContextOffer, DesignRow, PerArm
from infex.models.model import ModelState
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.policies.base import policy_info
from infex.simulation.compiled import is_steady, stretches
from infex.simulation.run import Run, RunTerms, log_spaced
from infex.streams import stream


def play_in_python(
    instance: Instance,
    seed: int,
    terms: RunTerms,
    estimator: Estimator | None = None,
    narrows: bool = True,
    learnt: RidgeModel | RidgeBankModel | None = None,
) -> Run:
    """One run; it begins with what was `learnt` by ridge before, but for a base that keeps own data."""
    policy, label, horizon, penalty, record = terms
    late = checked_late(instance.late)
    delays = None if late is None else late.delays(seed, instance.key, horizon)
    apart = policy_info(policy).uses_explored
    if isinstance(instance, ContextualInstance):
        memory = ModelState.empty(PerArm(instance.count, instance.context_dim), penalty, apart, estimator)
    else:
        standing = np.zeros((0, instance.dim)) if instance.standing is None else instance.standing
        memory = ModelState.empty(np.ascontiguousarray(standing.T), penalty, apart, estimator)
    if learnt is not None:
        memory.all.add_statistics(learnt.sufficient_statistics())
    if narrows and delays is not None:
        memory.track_pending()
    source = RewardSource(instance.law, seed, instance.key)
    tally = Tally(instance.count, horizon, record, steady=is_steady(instance))
    rng = stream(seed, "policy", label, instance.key)
    begun = time.perf_counter()
    loop = PythonLoop(Agent(policy, memory), tally, source, rng, delays)
    for stretch in stretches(instance, seed, horizon):
        loop.play(stretch)
    tally.close()
    return Run(
        instance=instance,
        policy=policy,
        horizon=horizon,
        seed=seed,
        regret_exploring=tally.regret_exploring,
        regret_greedy=tally.regret_greedy,
        explored=tally.explored,
        optimal=tally.optimal,
        seconds=time.perf_counter() - begun,
        log_det_ratio=float(memory.all.posterior().log_det_ratio),
        counts=tally.counts,
        points=(tally.checkpoints, tally.curve),
        arms=tally.arms if record else None,
        rewards=tally.rewards if record else None,
        losses=tally.losses if record else None,
    )


class Tally:
    """Regret, explorations and counts of a run, added up as `infex.core.runs.Outcome` does."""

    def __init__(self, arms: int, horizon: int, record: bool, steady: bool) -> None:
        rounds = horizon if record else 0
        self.checkpoints, self._mark = log_spaced(horizon), 0
        self.curve: Floats = np.zeros(self.checkpoints.size)
        self.counts: Integers = np.zeros(arms, dtype=np.int64)
        self.arms: Integers = np.zeros(rounds, dtype=np.int64)
        self.rewards: Floats = np.zeros(rounds)
        self.losses: Floats = np.zeros(rounds)
        self.regret_exploring = self.regret_greedy = 0.0
        self.explored = self.optimal = 0
        self._steady, self._record = steady, record
        self._arm, self._explores, self._gap, self._rounds = -1, False, 0.0, 0  # equal rounds in a row

    def enter(self, t: int, arm: int, explores: bool, gap: float, reward: float) -> None:
        """One round."""
        if self._record:
            self.arms[t - 1], self.rewards[t - 1], self.losses[t - 1] = arm, reward, gap
        if arm != self._arm or explores != self._explores or not self._steady:
            self.close()
        self._arm, self._explores, self._gap = arm, explores, gap
        self._rounds += 1
        if t == self.checkpoints[self._mark]:
            self.close()
            self.curve[self._mark] = self.regret_greedy + self.regret_exploring
            self._mark += 1

    def close(self) -> None:
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


class Arrival(NamedTuple):
    """A reward on its way, as a agent learns it."""

    arm: int
    on: DesignRow
    reward: float
    explored: bool


class Unrewarded(NamedTuple):
    """A decision whose reward is on its way."""

    t: int
    explored: bool
    estimate: float


class PythonLoop:
    """A run in Python: a round after the other, rewards told when they are due."""

    def __init__(
        self,
        agent: Agent,
        tally: Tally,
        source: RewardSource,
        rng: np.random.Generator,
        delays: Integers | None,
    ) -> None:
        self._agent, self._tally, self._source, self._rng = agent, tally, source, rng
        self._delays = None if delays is None else delays.tolist()
        self._due: defaultdict[int, list[tuple[Arrival, Unrewarded]]] = defaultdict(list)

    def play(self, stretch: Stretch) -> None:
        """Plays all rounds of a stretch."""
        table, row = self._source.table(stretch), -1
        means, gaps = stretch.means[0].tolist(), [0.0]
        for t in range(stretch.first, stretch.last + 1):
            if row < 0 or t > stretch.ends[row]:
                row += 1
                means, gaps = stretch.means[row].tolist(), gaps_below(stretch.means[row]).tolist()
            columns = None if stretch.columns is None else stretch.columns[t - stretch.first]
            step, estimate = self._decide(t, columns)
            self._agent.apply(*step.effects)
            arm, explored = step.choice.arm, step.choice.explored
            reward = (
                self._source.reward(arm, means[arm])
                if table is None
                else float(table[t - stretch.first, arm])
            )
            self._tally.enter(t, arm, explored, gaps[arm], reward)
            self._learn(t, Arrival(arm, step.on, reward, explored), Unrewarded(t, explored, estimate))

    def _decide(self, t: int, columns: Floats | None) -> tuple[Step, float]:
        """What the policy does, and the estimate of its arm; posterior that is held costs copies."""
        offer = ContextOffer(columns) if columns is not None and columns.ndim == 1 else columns
        posterior = self._agent.posterior(offer)
        step = self._agent.decide(t, posterior, self._rng)
        return step, 0.0 if self._agent.model.pending_design is None else posterior.estimate(step.choice.arm)

    def _learn(self, t: int, gained: Arrival, decision: Unrewarded) -> None:
        """The reward of round t goes on its way, and those that are due arrive."""
        agent, pending_design = self._agent, self._agent.model.pending_design
        if self._delays is None:
            agent.learn(*gained)
            return
        if pending_design is not None:
            pending_design.add((decision, gained.on))
        if self._delays[t - 1] != NEVER:
            self._due[t + self._delays[t - 1]].append((gained, decision))
        for arrival, decided in self._due.pop(t, ()):
            agent.learn(*arrival)
            if pending_design is not None:
                pending_design.remove(decided, arrival.on)
