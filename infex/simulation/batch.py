"""Many runs in one compiled call."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from infex.arrays import Floats, Words
from infex.environments import LinearInstance
from infex.errors import InvalidChoice
from infex.kernels import bases, fixed_runs
from infex.kernels.calling import throw
from infex.kernels.layout import aligned, blank
from infex.linear.regression import checked_penalty
from infex.policies import Greedy, Policy
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run
from infex.streams import SettableGenerator, start, stream

Task = tuple[Any, int]  # an instance and a seed

CHUNK = 1 << 20  # rounds whose explorations are listed at a time


class ThreadGenerators(threading.local):
    """The generators of one thread."""

    def __init__(self) -> None:
        self.rewards, self.policy = SettableGenerator(), SettableGenerator()


THREAD_GENERATORS = ThreadGenerators()


def play_batch(
    tasks: Sequence[Task],
    policy: Policy,
    label: str,
    course: Course,
    horizon: int,
    penalty: float,
    record: bool,
) -> list[Run]:
    """The runs of tasks whose problems have one shape and one law; `label` names the policy's draws."""
    compile_loop()
    if not THREAD_GENERATORS.policy.known and len(tasks) > 1:
        return [play_batch([task], policy, label, course, horizon, penalty, record)[0] for task in tasks]
    ledger = Ledger(len(tasks), len(tasks[0][0].arms), horizon, record)
    begun = time.perf_counter()
    _play(tasks, label, course, penalty, ledger)
    times = ledger.seconds(time.perf_counter() - begun)
    return [ledger.run(row, instance, policy, seed, times[row]) for row, (instance, seed) in enumerate(tasks)]


@functools.cache
def compile_loop() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.ones((1, 1)), np.zeros(1))
    course = course_of(Greedy())
    assert course is not None
    _play([(instance, 0)], "", course, 1.0, Ledger(1, 1, 2, record=False))


def _play(tasks: Sequence[Task], label: str, course: Course, penalty: float, ledger: Ledger) -> None:
    instance = tasks[0][0]
    state = scratch(instance, penalty)
    form = course.form
    apart = scratch(instance, penalty) if form.own else state
    if form.schedule is None and form.base.reads == bases.READS_NOTHING:
        state = state._replace(board=np.zeros((4, 0)))  # so nobody keeps it up
    problems = list(dict.fromkeys(instance for instance, _ in tasks))
    places = {problem: place for place, problem in enumerate(problems)}
    which = np.array([places[instance] for instance, _ in tasks])
    arrays = stacked(problems)
    law, noise = instance.law.kind, instance.noise
    reward_rng, rng, memory, starts = generators_of(tasks, label, alone=ledger.horizon > CHUNK)
    for t in range(1, ledger.horizon + 1, CHUNK):
        end = min(t + CHUNK - 1, ledger.horizon)
        exploring = course.exploring(t, end)
        rule = fixed_runs.Rule(exploring, form.schedule is None, form.own, form.random_ties)
        try:
            fault = fixed_runs.play_batch(
                t, end, rule, form.base, form.settings, state, apart, law, noise, which, *arrays,
                reward_rng, rng, memory, starts, ledger.checkpoints, ledger.curves, ledger.tallies,
                ledger.counts, ledger.arms, ledger.rewards, ledger.losses, ledger.volumes, ledger.times,
            )  # fmt: skip
        except bases.NoSuchArm as error:
            raise InvalidChoice(wrong(course, len(instance.arms), *error.args)) from None
        if fault:
            throw(fault)


def scratch(instance: LinearInstance, penalty: float) -> fixed_runs.State:
    """Room for the ridge of one run after the other."""
    arms, dim = instance.arms.shape
    truth, solved, board, vectors, run = blank(dim, arms)
    return fixed_runs.State(truth, solved, np.zeros((dim, 0)), board, vectors, run, checked_penalty(penalty))


def stacked(problems: list[LinearInstance]) -> tuple[Floats, Floats, Floats]:
    """Columns, means and gaps of all problems."""
    (columns,) = aligned((len(problems), *problems[0].arms.T.shape))
    for place, problem in enumerate(problems):
        columns[place] = problem.arms.T
    return columns, np.array([each.means for each in problems]), np.array([each.gaps for each in problems])


def generators_of(
    tasks: Sequence[Task], label: str, alone: bool
) -> tuple[Generator, Generator, fixed_runs.GeneratorMemory, Words]:
    """The generators, their memory, and where they start in each run; nowhere if they stand there already."""
    rewards, own = THREAD_GENERATORS.rewards, THREAD_GENERATORS.policy
    memory = fixed_runs.GeneratorMemory(rewards.state, own.state, rewards.buffer, own.buffer)
    if own.known and not alone:  # between chunks a user's schedule may play runs of its own
        starts = [
            [start(*problem.stream_name(seed)), start(seed, "policy", label, problem.key)]
            for problem, seed in tasks
        ]
        return rewards.generator, own.generator, memory, np.array(starts)
    ((problem, seed),) = tasks
    draws = problem.draws(seed), stream(seed, "policy", label, problem.key)
    return *draws, memory, np.zeros((0, 2, 4), dtype=np.uint64)


def wrong(course: Course, arms: int, arm: int, t: int) -> str:
    """What is wrong with an arm that a compiled loop refused."""
    if course.form.base.kind != bases.KERNEL:
        return (
            f"no arm has a finite score in round {t}: are the settings of the policy too large, or is the "
            "penalty too small?"
        )
    hint = "; is a score NaN?" if arm == -1 else ""
    return f"the kernel chose arm {arm} in round {t}; there are arms 0 to {arms - 1}{hint}"
