"""Playing many runs, on all cores."""

import itertools
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from infex.checks import whole
from infex.environments import (
    ChangingInstance,
    ContextualInstance,
    Environment,
    Instance,
    LinearInstance,
    OwnInstance,
    RewardKernel,
)
from infex.errors import InvalidSetting
from infex.linear import RidgeStatistics
from infex.linear.estimating import Estimator, checked_estimator
from infex.linear.foresight import PendingWay, narrows
from infex.linear.ridge_bank import BlockRidge
from infex.policies.settling import settled
from infex.policies.traits import Policy, checked
from infex.simulation.batch import CHUNK, Task, play_batch
from infex.simulation.begun_runs import refuse_beginning
from infex.simulation.course import course_of, exploring_rounds
from infex.simulation.playing import (
    checked_horizon,
    checked_instance,
    plain_ridge,
    play_copies,
    warn_of_means,
)
from infex.simulation.remembered import stream_name
from infex.simulation.run import Run
from infex.simulation.run_copies import own_copies
from infex.simulation.stateful import play_stateful
from infex.simulation.terms import RunTerms

# What one compiled call may hold: runs, rounds, and numbers in the arms of its problems.
RUNS_IN_A_CALL = 64
ROUNDS = CHUNK
LARGEST = 1 << 22


def play_many(
    instances: Instance | Environment | Iterable[Instance | Environment],
    policy: Policy,
    horizon: int,
    seeds: Iterable[int] = (0,),
    *,
    penalty: float = 1.0,
    record: bool = False,
    workers: int | None = None,
    estimator: Estimator | None = None,
    paired: bool = False,
    pending: PendingWay = "narrow",
    learnt: RidgeStatistics | BlockRidge | None = None,
) -> list[Run]:
    """Every instance with every seed, in that order: the very runs that `play` gives one by one.

    `horizon`, `penalty`, `record`, `estimator` and `pending` are those of `play`; `workers` are threads, as
    many as there are cores if it is not said. With `paired` there is a seed for each instance, and each is
    played with its own alone. Compiled runs go many in one call, which holds no interpreter lock, so that
    threads share the cores; a policy, an `estimator` or `contexts` that run in Python go one by one. Each run
    plays copies of what was given. `learnt` is what was seen of the same features before round 1, for
    compiled policies with ridge whose rewards come at once: all runs begin with it, but for a base that keeps
    own data. On a `ContextualInstance` it is a `BlockRidge`.

    `instances` are one problem or several.

    >>> from infex import Greedy, environments
    >>> runs = play_many(environments.gaussian(dim=3, arms=9, seed=1), Greedy(), 100, seeds=range(4))
    >>> [run.seed for run in runs]
    [0, 1, 2, 3]
    """
    given = instances if isinstance(instances, Iterable) else [instances]
    problems = [checked_instance(each) for each in given]
    if not isinstance(seeds, Iterable):
        raise InvalidSetting(
            f"seeds must be a list of whole numbers, such as range({seeds!r}); got {seeds!r}"
        )
    numbers = list(seeds)
    if paired and len(problems) != len(numbers):
        raise InvalidSetting(
            f"there must be a seed for each of {len(problems)} instances, got {len(numbers)}"
        )
    tasks = (
        list(zip(problems, numbers, strict=True))
        if paired
        else [(instance, seed) for instance in problems for seed in numbers]
    )
    if not tasks:
        raise InvalidSetting(f"nothing to play: {len(problems)} instances with {len(numbers)} seeds each")
    narrowing = narrows(pending)
    threads = whole("workers", cores() if workers is None else workers, least=1)
    horizon = checked_horizon(horizon)
    policy = settled(checked("policy", policy), 1.0 / horizon)
    penalty, estimator = plain_ridge(penalty, checked_estimator(estimator))
    course = course_of(*own_copies(policy=policy, estimator=estimator))
    if learnt is not None:
        refuse_beginning(learnt, problems, course)
    for problem in problems:
        warn_of_means(problem, policy)
    terms = RunTerms(policy, stream_name(policy), horizon, penalty, record)

    def alone(task: Task) -> Run:
        return play_copies(*task, terms, estimator, narrowing, learnt)

    if course is None:
        return [alone(task) for task in tasks]
    if horizon <= CHUNK:
        course = course._replace(listed=exploring_rounds(course.form.schedule, 1, horizon))
    calls_user = course.calls_user(horizon > CHUNK)
    sums = learnt.snapshot() if isinstance(learnt, RidgeStatistics) else None  # contexts are played alone

    def some(batch: list[Task]) -> list[Run]:
        if len(batch) == 1 or calls_user:
            return [alone(task) for task in batch]
        if course.is_hot:
            return play_batch(batch, terms, course, sums)
        return play_stateful(batch, terms, course)

    if any(has_own_code(problem) for problem in problems) or calls_user:
        threads = 1  # a user's code is not called from several threads at once
    batches = batched(tasks, horizon, threads)
    if threads == 1:
        return list(itertools.chain.from_iterable(map(some, batches)))
    with ThreadPoolExecutor(threads) as pool:
        return list(itertools.chain.from_iterable(pool.map(some, batches)))


def has_own_code(instance: Instance) -> bool:
    """Does playing it call a user's Python?"""
    if isinstance(instance, OwnInstance) or instance.mean is not None:
        return True
    drawn = isinstance(instance, ChangingInstance | ContextualInstance) and instance.contexts is not None
    return drawn or not (isinstance(instance.rewards, str | RewardKernel))


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells
        return os.cpu_count() or 1


def batched(tasks: list[Task], horizon: int, threads: int) -> list[list[Task]]:
    """The tasks in order, cut into batches of one shape and law that a compiled call plays.

    A batch is long enough to make its set-up small, and short enough that every thread has
    several and that it takes little memory.
    """
    batches = []
    for (size, *_), group in itertools.groupby(tasks, key=lambda task: _kind(task[0])):
        alike = list(group)
        share = len(alike) if threads == 1 else len(alike) // (4 * threads)
        size = max(1, min(LARGEST // size, ROUNDS // horizon, RUNS_IN_A_CALL, share))
        batches += [alike[first : first + size] for first in range(0, len(alike), size)]
    return batches


def _kind(instance: Instance) -> tuple[Any, ...]:
    """How many numbers a problem's arms are, and what else it shares with those in one batch."""
    if not (isinstance(instance, LinearInstance) and instance.is_plain):
        return LARGEST, id(instance)  # alone
    return instance.arms.size, instance.arms.shape, instance.rewards, instance.noise
