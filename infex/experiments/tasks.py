"""The runs of a sweep: named by their content, played in any process, failures recorded."""

from __future__ import annotations

import hashlib
import json
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from infex.environments import Instance
from infex.errors import InfexWarning
from infex.experiments.entrants import LabelledPolicy
from infex.experiments.recipes import Recipe
from infex.experiments.warming import warm
from infex.records.stream_names import stream_name
from infex.simulation.playing import fresh, play

TASK_FORMAT = 3  # raised when the same task comes to play another run


@final
@dataclass(frozen=True, slots=True)
class Task:
    """One run: a problem, a policy and a seed; `content` is the problem's for that seed."""

    recipe: Recipe
    player: LabelledPolicy
    seed: int
    content: str

    @property
    def horizon(self) -> int:
        """The rounds of the run."""
        return self.player.horizon

    @property
    def key(self) -> str:
        """A name that depends only on what is played."""
        content: dict[str, Any] = {
            "format": TASK_FORMAT,
            "environment": [self.recipe.label, self.content],
            "policy": [self.player.label, stream_name(self.player.policy), self.player.content],
            "seed": self.seed,
            "horizon": self.horizon,
            "penalty": self.player.penalty,
        }
        if self.player.estimator is not None:
            content["estimator"] = [self.player.estimator.label, self.player.estimator_content]
        return hashlib.blake2b(json.dumps(content).encode(), digest_size=12).hexdigest()

    def __str__(self) -> str:
        return f"{self.player.label} on {self.recipe.label} with seed {self.seed}"


class TaskOutcome(NamedTuple):
    """What one task gave: columns of one run and its curve, or the traceback of what went wrong.

    `warned` holds the warnings of infex that it gave; a worker has no one to show them to, so the sweep
    repeats them.
    """

    key: str
    facts: dict[str, Any]
    rounds: list[int]
    regret: list[float]
    error: str | None = None
    warned: tuple[Warning, ...] = ()


class Chunk(NamedTuple):
    """Tasks of one problem and seed, which one worker plays one after the other."""

    recipe: Recipe
    seed: int
    tasks: tuple[Task, ...]
    keys: tuple[str, ...]


def play_chunk(chunk: Chunk) -> list[TaskOutcome]:
    """Plays the tasks of a chunk; an error in one stops none of the others."""
    try:
        instance = chunk.recipe.make(chunk.seed)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return [TaskOutcome(key, {}, [], [], traceback.format_exc()) for key in chunk.keys]
    return [_outcome(task, key, instance) for task, key in zip(chunk.tasks, chunk.keys, strict=True)]


def _outcome(task: Task, key: str, instance: Instance) -> TaskOutcome:
    warm(instance, task.player.policy, task.player.content)
    try:
        with _noted() as warned:
            policy = fresh(task.player.policy)
            estimator = None if task.player.estimator is None else task.player.estimator.thing
            run = play(
                instance, policy, task.horizon, task.seed, penalty=task.player.penalty, estimator=estimator
            )
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return TaskOutcome(key, {}, [], [], traceback.format_exc(), tuple(warned))
    rounds, regret = run.curve()
    dim, arms = shape_of(instance)
    facts = {
        "environment": task.recipe.label,
        "dim": dim,
        "arms": arms,
        "policy": task.player.label,
        "seed": task.seed,
        "horizon": task.horizon,
        "seconds": run.seconds,
        "explored": run.explored,
        "optimal": run.optimal,
        "regret_exploring": run.regret_exploring,
        "regret_greedy": run.regret_greedy,
        "volume": run.volume,
    }
    return TaskOutcome(key, facts, rounds.tolist(), regret.tolist(), warned=tuple(warned))


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


def shape_of(instance: Instance) -> tuple[int, int]:
    """Dimension and number of arms."""
    return instance.dim, instance.count


def chunked(tasks: list[Task], rounds: int = 200_000) -> list[Chunk]:
    """Tasks in chunks of one problem and seed, of at most `rounds` rounds each where a run is no longer."""
    groups: dict[tuple[str, int, int], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.recipe.label, task.seed, task.horizon), []).append(task)
    chunks = []
    for alike in groups.values():
        size = max(1, rounds // alike[0].horizon)
        for first in range(0, len(alike), size):
            some = tuple(alike[first : first + size])
            chunks.append(Chunk(some[0].recipe, some[0].seed, some, tuple(task.key for task in some)))
    return chunks
