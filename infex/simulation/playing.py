"""Playing one run: compiled for built-in policies, in Python for any other."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from infex.checks import whole
from infex.environments import LinearInstance
from infex.environments.rewards import LAWS
from infex.errors import InvalidChoice, InvalidExpression, InvalidSetting
from infex.linear import Memory, Ridge
from infex.linear.kernels import Floats
from infex.policies import Greedy, catalog
from infex.policies.protocol import checked, chosen, learns, uses_explored
from infex.simulation import loop
from infex.simulation.plan import Plan, exploring_rounds, plan
from infex.simulation.run import Run, log_spaced
from infex.streams import stream

CHUNK = 1 << 20  # rounds whose explorations are listed at a time


def play(
    instance: LinearInstance,
    policy: Any,
    horizon: int,
    seed: int = 0,
    *,
    penalty: float = 1.0,
    record: bool = False,
) -> Run:
    """One run of a policy; the same seed gives the same run, and all policies meet the same noise.

    Built-in policies, alone or as a base of `Infex`, run in one compiled loop; any other, and a
    schedule or rate that only Python can evaluate, in a plain loop with the same results.

    >>> from infex import Infex, LinUCB, environments, every
    >>> instance = environments.gaussian(dim=5, arms=50, seed=3)
    >>> run = play(instance, Infex(LinUCB(delta=1e-3), every(20)), horizon=1000)
    >>> run.explored
    50
    """
    checked("policy", policy)
    if not isinstance(instance, LinearInstance):
        raise InvalidSetting(f"instance must be one of infex.environments, got {instance!r}")
    horizon = whole("horizon", horizon, least=1)
    columns = np.ascontiguousarray(instance.arms.T)
    memory = Memory(Ridge(columns, penalty), Ridge(columns, penalty) if uses_explored(policy) else None)
    ledger = Ledger(instance, horizon, record)
    draws = instance.draws(seed), stream(seed, "policy", name(policy), instance.key)
    found = plan(policy)
    if found is not None:
        compile_loop()
    start = time.perf_counter()
    if found is None:
        _interpreted(instance, policy, memory, ledger, *draws)
    else:
        _compiled(instance, found, memory, ledger, *draws)
    seconds = time.perf_counter() - start
    return ledger.run(policy, seed, seconds, memory.ridge.volume)


class Ledger:
    """What a run leaves behind."""

    def __init__(self, instance: LinearInstance, horizon: int, record: bool) -> None:
        self.instance = instance
        self.horizon = horizon
        self.record = record
        self.checkpoints = log_spaced(horizon)
        self.curve = np.zeros(self.checkpoints.size)
        self.tally = np.zeros(loop.TALLY)
        self.counts = np.zeros(len(instance.arms), dtype=np.int64)
        self.arms = np.zeros(horizon if record else 0, dtype=np.int64)
        self.rewards = np.zeros(horizon if record else 0)

    def run(self, policy: Any, seed: int, seconds: float, volume: float) -> Run:
        """All of it."""
        return Run(
            instance=self.instance,
            policy=policy,
            horizon=self.horizon,
            seed=seed,
            regret_exploring=float(self.tally[loop.EXPLORING_REGRET]),
            regret_greedy=float(self.tally[loop.GREEDY_REGRET]),
            explored=int(self.tally[loop.EXPLORED]),
            seconds=seconds,
            volume=volume,
            counts=self.counts,
            points=(self.checkpoints, self.curve),
            arms=self.arms if self.record else None,
            rewards=self.rewards if self.record else None,
        )


@functools.cache
def compile_loop() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.ones((1, 1)), np.zeros(1))
    found = plan(Greedy())
    assert found is not None
    memory = Memory(Ridge(np.ones((1, 1))), None)
    _compiled(instance, found, memory, Ledger(instance, 2, record=False), stream(0), stream(0))


def name(policy: Any) -> str:
    """What a policy's own stream of draws is named for."""
    try:
        return catalog.expression(policy)
    except InvalidExpression:
        return f"{type(policy).__module__}.{type(policy).__qualname__}"


def _compiled(
    instance: LinearInstance,
    found: Plan,
    memory: Memory,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    state = loop.State(*memory.ridge.state)
    if found.schedule is None and found.base.kind not in loop.READ_THE_BOARD:
        state = state._replace(board=np.zeros((4, 0)))  # so nobody keeps it up
    apart = state if memory.explored is None else loop.State(*memory.explored.state)
    means, gaps = instance.means.copy(), instance.gaps.copy()
    for start in range(1, ledger.horizon + 1, CHUNK):
        end = min(start + CHUNK - 1, ledger.horizon)
        always = found.schedule is None
        exploring = exploring_rounds(found.schedule, start, end)
        try:
            loop.play_rounds(
                start, end, exploring, always, found.own, found.random_ties, found.base, state, apart,
                memory.ridge.penalty, LAWS[instance.rewards], means, instance.noise, gaps, reward_rng, rng,
                ledger.checkpoints, ledger.curve, ledger.tally, ledger.counts, ledger.arms, ledger.rewards,
            )  # fmt: skip
        except FloatingPointError as error:
            raise InvalidChoice(f"{error}: are the settings of the policy too large?") from None


def _interpreted(
    instance: LinearInstance,
    policy: Any,
    memory: Memory,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    gaps: Floats = instance.gaps.copy()
    mark = 0
    for t in range(1, ledger.horizon + 1):
        choice = policy.choose(t, memory.evidence(), rng)
        arm = chosen(choice, len(gaps))
        reward = instance.reward(arm, reward_rng)
        if learns(policy):
            policy.learn(arm, instance.arms[arm], reward, choice.explored)
        memory.learn(arm, reward, choice.explored)
        if ledger.record:
            ledger.arms[t - 1], ledger.rewards[t - 1] = arm, reward
        loop.note(ledger.tally, ledger.counts, gaps, arm, bool(choice.explored), 1.0)
        if t % CHUNK == 0 or t == ledger.checkpoints[mark]:
            loop.close_stretch(ledger.tally, ledger.counts, gaps)
        if t == ledger.checkpoints[mark]:
            ledger.curve[mark] = ledger.tally[loop.GREEDY_REGRET] + ledger.tally[loop.EXPLORING_REGRET]
            mark += 1
