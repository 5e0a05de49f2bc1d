"""Statements about which rounds explore, and what is played in them: C14, C15, C16 and C19."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from infex.arrays import Floats
from infex.bandit.agent import Agent, play_round
from infex.errors import SparseExploration
from infex.lab import environments
from infex.lab.simulation import play_many
from infex.lab.verification.statement import Effort, Measured, Statement
from infex.models.state import ModelState
from infex.policies import Choice, Greedy, Infex, LinTS, LinUCB, Policy, budget
from infex.policies.base import policy_info
from infex.schedules import (
    Schedule,
    always,
    every,
    jittered,
    listed,
    logarithmic,
    never,
    power,
    stretched,
)
from infex.streams import stream

SCHEDULE_FAMILIES: tuple[Schedule, ...] = (
    every(1),
    every(20),
    every(7, offset=3),
    stretched(1),
    stretched(2.5),
    power(0.3),
    power(0.5),
    logarithmic(1),
    logarithmic(3),
    jittered(20, seed=5),
    listed([1, 2, 30, 31, 10**9]),
    budget(every(3), 50),
    every(6) | every(10),
)

EXPLORING_ALWAYS_AND_NEVER = always(), never()


def inversions(schedule: Schedule, rng: np.random.Generator) -> int:
    """In how many of 60 draws f, f^-1 and membership do not fit together.

    f(f^-1(n)) = n, f^-1(n) explores, f^-1(f(t)) <= t < f^-1(f(t) + 1), and t explores iff f rises there.
    """
    wrong = 0
    for _ in range(30):
        n, t = (int(10.0 ** rng.uniform(0, top)) for top in (5, 10))
        when, count = schedule.when(n), schedule.count(t)
        if when < math.inf:
            wrong += not (schedule.count(int(when)) == n and schedule.explores(int(when)))
        wrong += not (
            (count == 0 or schedule.when(count) <= t)
            and t < schedule.when(count + 1)
            and schedule.explores(t) == (count > schedule.count(t - 1))
        )
    return wrong


def check_inversions(effort: Effort) -> Measured:
    """Draws that do not fit together, over all families."""
    rng = effort.rng("inversions")
    drawn = (inversions(schedule, rng) for schedule in SCHEDULE_FAMILIES for _ in range(effort.scale))
    return Measured(sum(drawn), limit=0)


def played(policy: Policy, arms: Floats, rewards: Floats, directions: int) -> list[int]:
    """The arms that a policy plays where arm k has the reward `rewards[t, k]` in round t.

    Its draws in round t come from a stream of (directions, t) alone.
    """
    return [choice.arm for choice in choices(policy, arms, rewards, directions, lambda t: t)]


def choices(
    policy: Policy, arms: Floats, rewards: Floats, directions: int, named: Callable[[int], int]
) -> list[Choice]:
    """The choices of a policy where arm k has the reward `rewards[t, k]` in round t.

    Its draws in round t come from a stream of (directions, named(t)) alone.
    """
    apart = policy_info(policy).uses_explored
    agent = Agent(policy, ModelState.empty(np.ascontiguousarray(arms.T), 1.0, apart))
    taken = []
    for t, row in enumerate(rewards, 1):
        rng = stream(directions, "round", named(t))
        choice, _ = play_round(agent, t, rng, lambda arm, row=row: float(row[arm]))  # type: ignore[misc]
        taken.append(choice)
    return taken


def table(seed: int, horizon: int) -> tuple[Floats, Floats]:
    """Arms of a random problem, and the rewards of all arms in all rounds."""
    instance = environments.gaussian(5, 20, seed)
    draws = stream(seed, "rewards of all arms", horizon).random((horizon, 1))
    return np.array(instance.arms), np.where(draws < (1.0 + instance.means) / 2.0, 1.0, -1.0)


def ends(
    base: Policy,
    arms: Floats,
    rewards: Floats,
    schedules: tuple[Schedule, Schedule] = EXPLORING_ALWAYS_AND_NEVER,
) -> int:
    """Rounds in which INFEX differs from its base, exploring always, or from greedy, exploring never."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)
        mixed = [Infex(base, schedule) for schedule in schedules]
    return sum(
        one != other
        for pair in zip(mixed, (base, Greedy()), strict=True)
        for one, other in zip(*(played(policy, arms, rewards, 1) for policy in pair), strict=True)
    )


def own_rounds(
    base: Policy,
    schedule: Schedule,
    arms: Floats,
    rewards: Floats,
    data: Literal["shared", "own"] = "own",
) -> int:
    """Exploring rounds that differ from a run of the base by itself on the noise of those rounds.

    The base's draws are those of its own round number in both.
    """
    exploring = [t for t in range(1, len(rewards) + 1) if schedule.explores(t)]
    turns = {t: turn for turn, t in enumerate(exploring, 1)}
    mixed = Infex(base, schedule, data=data)
    rounds = choices(mixed, arms, rewards, 1, lambda t: turns.get(t, 0))
    arms_played = [choice.arm for t, choice in enumerate(rounds, 1) if t in turns]
    alone = played(base, arms, rewards[[t - 1 for t in exploring]], 1)
    return sum(one != other for one, other in zip(arms_played, alone, strict=True))


def check_ends(effort: Effort) -> Measured:
    """Rounds that differ, with both bases."""
    bases = (LinUCB(delta=0.01), LinTS(delta=0.01), LinTS(delta=0.01, sampling="spherical"))
    tables = [table(seed, 150) for seed in effort.seeds("ends", 3)]
    return Measured(sum(ends(base, *each) for base in bases for each in tables), limit=0)


def check_own(effort: Effort) -> Measured:
    """Rounds that differ, with both bases and three schedules."""
    tables = [table(seed, 300) for seed in effort.seeds("own", 3)]
    schedules = (every(5), power(0.7), jittered(4, seed=2))
    return Measured(
        sum(
            own_rounds(base, schedule, *each)
            for base in (LinUCB(delta=0.01), LinTS(delta=0.01))
            for schedule in schedules
            for each in tables
        ),
        limit=0,
    )


def mean_regret(problems: Sequence[environments.Instance], policy: Policy) -> float:
    """The mean regret of a policy over problems, of 10,000 rounds each."""
    return float(np.mean([run.regret for run in play_many(problems, policy, 10_000)]))


def check_experiments(effort: Effort) -> Measured:
    """The greatest ratio of mean regrets on the paper's instances at d = 10, K = 10 and 100, T = 10,000."""
    shares = []
    for arms in (10, 100):
        problems = [environments.gaussian(10, arms, seed) for seed in effort.seeds(f"paper {arms}", 20)]

        for base, periods in ((LinUCB(delta=1e-4), (5,)), (LinTS(delta=1e-4), (5, 20, 100))):
            alone = mean_regret(problems, base)
            shares += [mean_regret(problems, Infex(base, every(period))) / alone for period in periods]
    return Measured(float(np.max(shares)))


ROUND_STATEMENTS = (
    Statement("C14", "f and f^-1 of every schedule fit together: how often not", check_inversions),
    Statement(
        "C15",
        "INFEX that explores always is its base, and never, greedy: rounds that differ",
        check_ends,
    ),
    Statement(
        "C16",
        "with own data the exploring rounds are a run of the base by itself: rounds that differ",
        check_own,
    ),
    Statement(
        "C19",
        "INFEX has less mean regret than its base: LinTS for m = 5, 20, 100, LinUCB for 5: greatest ratio",
        check_experiments,
    ),
)
