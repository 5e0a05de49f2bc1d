"""Many runs in one compiled call, of what keeps notes or pulls, looks at controls, or is no ridge."""

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
from infex.errors import InvalidChoice, InvalidReward
from infex.kernels import bases
from infex.kernels.calling import throw
from infex.kernels.handing import handed
from infex.kernels.layout import aligned
from infex.kernels.run_arrays import GeneratorMemory
from infex.kernels.stateful_runs import play_stateful_batch
from infex.policies import UCB1
from infex.simulation import batch
from infex.simulation.batch import Task
from infex.simulation.course import Course, course_of
from infex.simulation.general import can_play, play_general
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run
from infex.simulation.setting_up import Setup, Shape, no_post, weights_of
from infex.simulation.terms import RunTerms
from infex.streams import SettableGenerator, start, stream


class ThreadGenerators(threading.local):
    """The generators of one thread, how compiled code finds them, and their memory."""

    def __init__(self) -> None:
        rewards, own = self.rewards, self.policy = SettableGenerator(), SettableGenerator()
        self.handed = handed(rewards.generator, own.generator)
        self.memory = GeneratorMemory(rewards.state, own.state, rewards.buffer, own.buffer)


THREAD_GENERATORS = ThreadGenerators()


def play_stateful(tasks: Sequence[Task], terms: RunTerms, course: Course) -> list[Run]:
    """The runs of tasks whose problems have one shape and one law, each as if it were played alone."""
    if can_play(course, tasks[0][0]):
        return [play_general(instance, seed, terms, course) for instance, seed in tasks]
    compile_stateful()
    if not THREAD_GENERATORS.policy.known and len(tasks) > 1:
        return [play_stateful([task], terms, course)[0] for task in tasks]
    ledger = Ledger(len(tasks), len(tasks[0][0].arms), terms.horizon, terms.record)
    setup = Setup(Shape(*tasks[0][0].arms.T.shape), course, terms.penalty, terms.horizon)
    begun = time.perf_counter()
    _play(tasks, terms.label, setup, ledger)
    return ledger.runs(tasks, terms.policy, time.perf_counter() - begun)


@functools.cache
def compile_stateful() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    tasks = [(LinearInstance(np.ones((1, 1)), np.zeros(1)), 0)]
    course = course_of(UCB1())
    assert course is not None
    _play(tasks, "", Setup(Shape(1, 1), course, 1.0, 2), Ledger(1, 1, 2, record=False))


def _play(tasks: Sequence[Task], label: str, setup: Setup, ledger: Ledger) -> None:
    instance = tasks[0][0]
    problems = list(dict.fromkeys(instance for instance, _ in tasks))
    which, columns, means = gathered(tasks)
    weights = np.array([weights_of(setup.course.fit, problem.arms.T) for problem in problems])
    fitting, law = setup.fitting(weights[0]), instance.law
    generators = generators_of(tasks, label, alone=ledger.horizon > batch.CHUNK)
    for t in range(1, ledger.horizon + 1, batch.CHUNK):
        end = min(t + batch.CHUNK - 1, ledger.horizon)
        try:
            fault = play_stateful_batch(
                t, end, setup.rule(t, end), setup.deciding, fitting, setup.controls(t, end),
                setup.spending, setup.learning, setup.own, law.named, law.noises, no_post(),
                setup.room, which, columns, means, weights, generators.handed, generators.memory,
                generators.starts, ledger.checkpoints, ledger.curves, ledger.tallies, ledger.counts,
                ledger.arms, ledger.rewards, ledger.losses, ledger.volumes, ledger.times,
                np.full(1, end), np.zeros((0, 0, 0)),
            )  # fmt: skip
        except bases.NoSuchArm as error:
            raise InvalidChoice(wrong(setup.course, len(instance.arms), *error.args)) from None
        except InvalidReward as error:  # where kernels are plain Python
            raise in_words(error) from None
        if fault:
            raise_fault(fault)


def raise_fault(fault: int) -> None:
    """Raises what a kernel raised."""
    try:
        throw(fault)
    except InvalidReward as error:
        raise in_words(error) from None


def in_words(error: InvalidReward) -> InvalidReward:
    """The error of a kernel, which gives its words one by one."""
    return InvalidReward(" ".join(map(str, error.args)))


def gathered(tasks: Sequence[Task]) -> tuple[Integers, Floats, Floats]:
    """The problem of each task by its place in the arrays, and the columns and means of all problems."""
    problems = list(dict.fromkeys(instance for instance, _ in tasks))
    places = {problem: place for place, problem in enumerate(problems)}
    (columns,) = aligned((len(problems), *problems[0].arms.T.shape))
    for place, problem in enumerate(problems):
        columns[place] = problem.arms.T
    which = np.array([places[instance] for instance, _ in tasks])
    return which, columns, np.array([each.means for each in problems])


class Generators(NamedTuple):
    """The generators of rewards and of the policy, as compiled code finds them, and where they start.

    They start nowhere if they stand there already; `alive` are generators made for these runs.
    """

    handed: Any
    memory: GeneratorMemory
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
