"""Many runs in one compiled call, of what keeps notes or pulls, looks at controls, or is no ridge."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence

import numpy as np

from infex.environments import LinearInstance
from infex.errors import InvalidChoice, InvalidReward
from infex.kernels import bases
from infex.kernels.calling import throw
from infex.kernels.stateful_runs import play_stateful_batch
from infex.policies import UCB1
from infex.simulation import batch
from infex.simulation.batch import Task, gathered, generators_of, wrong
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run
from infex.simulation.setting_up import Setup, Shape, no_post, weights_of
from infex.simulation.terms import RunTerms


def play_stateful(tasks: Sequence[Task], terms: RunTerms, course: Course) -> list[Run]:
    """The runs of tasks whose problems have one shape and one law, as `batch.play_batch` gives them."""
    compile_stateful()
    if not batch.THREAD_GENERATORS.policy.known and len(tasks) > 1:
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
    which, (columns, means, _) = gathered(tasks)
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
