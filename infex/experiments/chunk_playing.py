"""A chunk, played: in one compiled call where that can be, else run by run; failures are outcomes."""

from __future__ import annotations

import itertools
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

from infex.environments import Instance, LinearInstance
from infex.errors import InfexWarning
from infex.experiments.chunks import Chunk
from infex.experiments.tasks import Task, TaskOutcome, failed, outcome_of
from infex.models.base import Estimator
from infex.policies.base import asks_for_problem
from infex.simulation.run import Run
from infex.simulation.simulator import play, play_many

MOST_NUMBERS_REMEMBERED = 3 << 19  # in problems: 12 MB, more than a chunk has in its arms
NUMBERS_BESIDE = 640  # that the objects of a problem take beside its arms, in bytes 5 kB


@final
class RememberedProblems:
    """The last plain problems that were made in this process; other policies play the same ones.

    A plain problem is data alone: whoever plays it leaves it as it is.
    """

    def __init__(self, most: int = MOST_NUMBERS_REMEMBERED) -> None:
        self.most, self.held = most, 0
        self._made: dict[tuple[str, int], LinearInstance] = {}
        self._lock = threading.Lock()  # a worker of a cluster may play in several threads

    def __len__(self) -> int:
        return len(self._made)

    def of(self, task: Task) -> Instance:
        """The problem of a task."""
        name = task.content.digest, task.seed
        found = self._made.get(name) if task.content.is_plain else None
        if found is not None:
            return found
        made = task.recipe.make(task.seed)
        if task.content.is_plain and isinstance(made, LinearInstance) and made.is_plain:
            with self._lock:
                self._keep(name, made)
        return made

    def _keep(self, name: tuple[str, int], made: LinearInstance) -> None:
        if name not in self._made:
            self.held += _numbers(made)
            self._made[name] = made
        while self.held > self.most and len(self._made) > 1:
            self.held -= _numbers(self._made.pop(next(iter(self._made))))


def _numbers(instance: LinearInstance) -> int:
    return NUMBERS_BESIDE + instance.arms.size + 2 * len(instance.arms)


REMEMBERED_PROBLEMS = RememberedProblems()


def play_chunk(chunk: Chunk) -> list[TaskOutcome]:
    """Plays the tasks of a chunk, in their order; an error in one stops none of the others."""
    outcomes: list[TaskOutcome] = []
    made: dict[tuple[str, int], Instance | str] = {}
    for _, group in itertools.groupby(chunk.tasks, key=lambda task: (id(task.player), task.recipe.label)):
        tasks = list(group)
        for task in tasks:
            name = task.recipe.label, task.seed
            made[name] = made[name] if name in made else _made(task)
        outcomes += _outcomes(tasks, [made[task.recipe.label, task.seed] for task in tasks])
    return outcomes


def _made(task: Task) -> Instance | str:
    """The problem of a task, or the traceback of what went wrong."""
    try:
        return REMEMBERED_PROBLEMS.of(task)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return traceback.format_exc()


def _outcomes(tasks: Sequence[Task], made: Sequence[Instance | str]) -> list[TaskOutcome]:
    """The outcomes of one policy on one problem with many seeds."""
    plain = [each for each in made if isinstance(each, LinearInstance) and each.is_plain]
    if 1 < len(plain) == len(tasks) and not _asks_for_more(tasks[0]):
        try:
            return _batch(tasks, plain)
        except KeyboardInterrupt:
            raise
        except BaseException:  # which run it was, and why, is told by playing them one by one
            pass
    return [_alone(task, instance) for task, instance in zip(tasks, made, strict=True)]


def _asks_for_more(task: Task) -> bool:
    """Is the policy another one for each problem, because it asks what theory takes for known?"""
    return asks_for_problem(task.player.policy)


def _batch(tasks: Sequence[Task], instances: list[LinearInstance]) -> list[TaskOutcome]:
    """All in one call; warnings stand with the last, since they are told once for a policy and problem."""
    player = tasks[0].player
    seeds = [task.seed for task in tasks]
    with _noted() as warned:
        runs = play_many(
            instances, player.policy, player.horizon, seeds,
            penalty=player.penalty, workers=1, estimator=_estimator(tasks[0]), paired=True,
        )  # fmt: skip
    outcomes = [_outcome(task, run) for task, run in zip(tasks, runs, strict=True)]
    return [*outcomes[:-1], outcomes[-1]._replace(warned=tuple(warned))]


def _alone(task: Task, instance: Instance | str) -> TaskOutcome:
    if isinstance(instance, str):
        return failed(task.key, instance)
    player = task.player
    try:
        with _noted() as warned:
            run = play(
                instance, player.policy, player.horizon, task.seed,
                penalty=player.penalty, estimator=_estimator(task),
            )  # fmt: skip
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return failed(task.key, traceback.format_exc(), tuple(warned))
    return _outcome(task, run)._replace(warned=tuple(warned))


def _estimator(task: Task) -> Estimator | None:
    return None if task.player.estimator is None else task.player.estimator.thing


def _outcome(task: Task, run: Run) -> TaskOutcome:
    return outcome_of(run, task.key, task.recipe.label, task.player.label)


@contextmanager
def _noted() -> Iterator[list[Warning]]:
    """Keeps the warnings of infex that are given inside; all others are shown.

    Filters of warnings belong to the process: where a cluster's worker plays in several threads, a warning
    may be missed or be kept with another run.
    """
    noted: list[Warning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=InfexWarning)
        try:
            yield noted
        finally:
            noted += [each.message for each in caught if isinstance(each.message, InfexWarning)]
    for each in caught:
        if not isinstance(each.message, InfexWarning):
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
