"""Many runs in one compiled call."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from infex.arrays import Floats, Integers, Words
from infex.environments import LinearInstance
from infex.errors import InvalidChoice
from infex.kernels import bases, fixed_runs
from infex.kernels.calling import throw
from infex.kernels.handing import handed
from infex.kernels.layout import aligned, blank
from infex.linear.regression import checked_penalty
from infex.policies import Greedy
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run
from infex.simulation.terms import RunTerms
from infex.streams import SettableGenerator, start, stream

Task = tuple[Any, int]  # an instance and a seed
Stacked = tuple[Floats, Floats, Floats]  # columns, means and gaps of some problems

CHUNK = 1 << 20  # rounds whose explorations are listed at a time
MOST_RIDGES = 8
LARGEST_KEPT = 1 << 17  # numbers in the arms of a problem whose room and arrays are kept for the next run
NOTHING_LEARNT = np.zeros((0, 0, 0))
FIRST_PROBLEM = np.zeros(1, dtype=np.int64)


class ThreadGenerators(threading.local):
    """The generators of one thread, how compiled code finds them, and their memory."""

    def __init__(self) -> None:
        rewards, own = self.rewards, self.policy = SettableGenerator(), SettableGenerator()
        self.handed = handed(rewards.generator, own.generator)
        self.memory = fixed_runs.GeneratorMemory(rewards.state, own.state, rewards.buffer, own.buffer)


THREAD_GENERATORS = ThreadGenerators()


def play_batch(
    tasks: Sequence[Task], terms: RunTerms, course: Course, learnt: Floats | None = None
) -> list[Run]:
    """The runs of tasks whose problems have one shape and one law.

    `learnt` are the sums of rewards that were seen before round 1, as `RidgeStatistics.snapshot` has them.
    """
    compile_loop()
    if not THREAD_GENERATORS.policy.known and len(tasks) > 1:
        return [play_batch([task], terms, course, learnt)[0] for task in tasks]
    ledger = Ledger(len(tasks), len(tasks[0][0].arms), terms.horizon, terms.record)
    begun = time.perf_counter()
    _play(tasks, terms, course, ledger, NOTHING_LEARNT if learnt is None else learnt)
    return ledger.runs(tasks, terms.policy, time.perf_counter() - begun)


@functools.cache
def compile_loop() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.ones((1, 1)), np.zeros(1))
    course = course_of(Greedy())
    assert course is not None
    _play([(instance, 0)], RunTerms(Greedy(), "", 2), course, Ledger(1, 1, 2, record=False))


def _play(
    tasks: Sequence[Task],
    terms: RunTerms,
    course: Course,
    ledger: Ledger,
    learnt: Floats = NOTHING_LEARNT,
) -> None:
    instance = tasks[0][0]
    form, once = course.form, ledger.horizon <= CHUNK
    state = scratch(instance, terms.penalty, 0, once)
    apart = scratch(instance, terms.penalty, 1, once) if form.own else state
    if form.schedule is None and form.base.reads == bases.READS_NOTHING:
        state = state._replace(board=np.zeros((4, 0)))  # so nobody keeps it up
    which, arrays = gathered(tasks)
    law, noise = instance.law.kind, instance.noise
    generators = generators_of(tasks, terms.label, alone=not once)
    for t in range(1, ledger.horizon + 1, CHUNK):
        end = min(t + CHUNK - 1, ledger.horizon)
        exploring = course.exploring(t, end)
        rule = fixed_runs.Rule(exploring, form.schedule is None, form.own, form.random_ties)
        try:
            fault = fixed_runs.play_batch(
                t, end, rule, form.base, form.settings, state, apart, law, noise, which, *arrays,
                generators.handed, generators.memory, generators.starts, ledger.checkpoints, ledger.curves,
                ledger.tallies, ledger.counts, ledger.arms, ledger.rewards, ledger.losses, ledger.volumes,
                ledger.times, learnt,
            )  # fmt: skip
        except bases.NoSuchArm as error:
            raise InvalidChoice(wrong(course, len(instance.arms), *error.args)) from None
        if fault:
            throw(fault)


class ThreadRoom(threading.local):
    """What one thread uses again and again: room for ridges, by shape and number, and the last problem."""

    def __init__(self) -> None:
        self.ridges: dict[tuple[int, int, int], list[Floats]] = {}
        self.problem: LinearInstance | None = None
        self.arrays: Stacked | None = None

    def ridge(self, dim: int, arms: int, number: int) -> list[Floats]:
        """Room for a ridge beside its columns, in which anything may stand."""
        found = self.ridges.get((dim, arms, number))
        if found is None:
            if len(self.ridges) >= MOST_RIDGES:
                self.ridges.clear()
            found = self.ridges[dim, arms, number] = blank(dim, arms)
        return found

    def stacked(self, problem: LinearInstance) -> Stacked:
        """The arrays of one problem."""
        if problem is not self.problem or self.arrays is None:
            arrays = stacked([problem])
            if problem.arms.size > LARGEST_KEPT:
                return arrays
            self.problem, self.arrays = problem, arrays
        return self.arrays


THREAD_ROOM = ThreadRoom()


def scratch(
    instance: LinearInstance, penalty: float, number: int = 0, once: bool = False
) -> fixed_runs.State:
    """Room for the ridge of one run after the other; that of the thread if it is for `once`, for one call.

    Between two calls a user's schedule may play runs of its own, in the same thread.
    """
    arms, dim = instance.arms.shape
    kept = once and dim * arms <= LARGEST_KEPT
    truth, solved, board, vectors, run = THREAD_ROOM.ridge(dim, arms, number) if kept else blank(dim, arms)
    return fixed_runs.State(truth, solved, np.zeros((dim, 0)), board, vectors, run, checked_penalty(penalty))


def gathered(tasks: Sequence[Task]) -> tuple[Integers, Stacked]:
    """The problem of each task, by its place in the arrays, and these."""
    if len(tasks) == 1:
        return FIRST_PROBLEM, THREAD_ROOM.stacked(tasks[0][0])
    problems = list(dict.fromkeys(instance for instance, _ in tasks))
    places = {problem: place for place, problem in enumerate(problems)}
    return np.array([places[instance] for instance, _ in tasks]), stacked(problems)


def stacked(problems: list[LinearInstance]) -> Stacked:
    """Columns, means and gaps of all problems."""
    (columns,) = aligned((len(problems), *problems[0].arms.T.shape))
    for place, problem in enumerate(problems):
        columns[place] = problem.arms.T
    return columns, np.array([each.means for each in problems]), np.array([each.gaps for each in problems])


class Generators(NamedTuple):
    """The generators of rewards and of the policy, as compiled code finds them, and where they start.

    They start nowhere if they stand there already; `alive` are generators made for these runs.
    """

    handed: Any
    memory: fixed_runs.GeneratorMemory
    starts: Words
    alive: tuple[Generator, ...] = ()


def generators_of(tasks: Sequence[Task], label: str, alone: bool) -> Generators:
    """The generators of some runs: those of the thread, or, for a run that is `alone`, its own."""
    thread = THREAD_GENERATORS
    if thread.policy.known and not alone:  # between chunks a user's schedule may play runs of its own
        starts = [
            [start(*problem.stream_name(seed)), start(seed, "policy", label, problem.key)]
            for problem, seed in tasks
        ]
        return Generators(thread.handed, thread.memory, np.array(starts))
    ((problem, seed),) = tasks
    draws = problem.draws(seed), stream(seed, "policy", label, problem.key)
    return Generators(handed(*draws), thread.memory, np.zeros((0, 2, 4), dtype=np.uint64), draws)


def wrong(course: Course, arms: int, arm: int, t: int) -> str:
    """What is wrong with an arm that a compiled loop refused."""
    if course.form.base.kind != bases.KERNEL:
        return (
            f"no arm has a finite score in round {t}: are the settings of the policy too large, or is the "
            "penalty too small?"
        )
    hint = "; is a score NaN?" if arm == -1 else ""
    return f"the kernel chose arm {arm} in round {t}; there are arms 0 to {arms - 1}{hint}"
