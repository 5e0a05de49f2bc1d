"""The runs of a sweep, each named by its content, and the chunks in which workers play them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.lab.environments import Instance
from infex.lab.simulation import Run
from infex.lab.simulation.compiled import plan_of
from infex.lab.simulation.simulator import plain_ridge
from infex.lab.specs import LabelledPolicy, ProblemContent, Recipe

Thing = TypeVar("Thing")
Key = TypeVar("Key", bound=Hashable)


def grouped(things: Iterable[Thing], key: Callable[[Thing], Key]) -> dict[Key, list[Thing]]:
    """The things of each key, in their order; keys in the order in which they come first."""
    groups: dict[Key, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


TASK_FORMAT = 3  # raised when the same task comes to play another run


@final
@dataclass(frozen=True, slots=True)
class Task:
    """One run: a problem, a policy and a seed; `content` is the problem's for that seed.

    `key` is a name that depends only on what is played.
    """

    recipe: Recipe
    player: LabelledPolicy
    seed: int
    content: ProblemContent
    key: str = field(init=False)

    def __post_init__(self) -> None:
        player = self.player
        content: dict[str, Any] = {
            "format": TASK_FORMAT,
            "environment": [self.recipe.label, self.content.digest],
            "policy": [player.label, player.stream, player.content],
            "seed": self.seed,
            "horizon": player.horizon,
            "penalty": player.penalty,
        }
        if player.estimator is not None:
            content["estimator"] = [player.estimator.label, player.estimator_content]
        key = hashlib.blake2b(json.dumps(content).encode(), digest_size=12).hexdigest()
        object.__setattr__(self, "key", key)

    @property
    def horizon(self) -> int:
        """The rounds of the run."""
        return self.player.horizon

    def __str__(self) -> str:
        return f"{self.player.label} on {self.recipe.label} with seed {self.seed}"


class TaskOutcome(NamedTuple):
    """What one task gave: columns of one run and its curve, or the traceback of what went wrong.

    `warned` holds the warnings of infex that it gave; a worker has no one to show them to, so the sweep
    repeats them.
    """

    key: str
    facts: dict[str, Any]
    rounds: Integers
    regret: Floats
    error: str | None = None
    warned: tuple[Warning, ...] = ()


def outcome_of(run: Run, key: str, environment: str, policy: str) -> TaskOutcome:
    """What a run gave, under the names that its problem and its policy have in tables."""
    rounds, regret = run.curve()
    dim, arms = shape_of(run.instance)
    facts = {
        "environment": environment,
        "dim": dim,
        "arms": arms,
        "policy": policy,
        "seed": run.seed,
        "horizon": run.horizon,
        "seconds": run.seconds,
        "explored": run.explored,
        "optimal": run.optimal,
        "regret_exploring": run.regret_exploring,
        "regret_greedy": run.regret_greedy,
        "log_det_ratio": run.log_det_ratio,
    }
    return TaskOutcome(key, facts, rounds, regret)


def failed(key: str, error: str, warned: tuple[Warning, ...] = ()) -> TaskOutcome:
    """The outcome of a task that went wrong."""
    return TaskOutcome(key, {}, np.zeros(0, np.int64), np.zeros(0), error, warned)


def shape_of(instance: Instance) -> tuple[int, int]:
    """Dimension and number of arms."""
    return instance.dim, instance.count


ROUNDS_OF_A_CHUNK = 100_000  # a tenth of a second, or a second where arms are many
RUNS_OF_A_CHUNK = 500
NUMBERS_OF_A_CHUNK = 1 << 20  # in the arms of its problems
SHARE_ROUNDING = 1e-9


class Chunk(NamedTuple):
    """Tasks that one worker plays: of one policy on many problems, or of many policies on one."""

    tasks: tuple[Task, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its tasks."""
        return tuple(task.key for task in self.tasks)


def chunked(tasks: Iterable[Task], rounds: int = ROUNDS_OF_A_CHUNK) -> list[Chunk]:
    """Tasks in chunks of at most `rounds` rounds each, where a run is no longer.

    Compiled runs on plain problems go by policy: one compiled call plays many of them. Others, some of
    which are slow, come first, and go by problem and seed: their problem is made once for all policies.
    """
    compiled: dict[int, bool] = {}  # by the id of a player
    apart: list[Task] = []
    together: list[Task] = []
    for task in tasks:
        if id(task.player) not in compiled:
            compiled[id(task.player)] = is_compiled(task.player)
        batched = task.content.is_plain and compiled[id(task.player)]
        (together if batched else apart).append(task)
    return [*_of_one_problem(apart, rounds), *_of_one_policy(together, rounds)]


def is_compiled(player: LabelledPolicy) -> bool:
    """Do compiled loops play all of it over fixed arms?"""
    given = None if player.estimator is None else player.estimator.thing
    _, estimator = plain_ridge(player.penalty, given)
    try:
        plan = plan_of(player.policy, estimator)
        return plan is not None and not plan.in_python
    except Exception:  # a user's code may raise anything; playing it will record what
        return False


def _of_one_problem(tasks: list[Task], rounds: int) -> Iterator[Chunk]:
    for alike in grouped(tasks, lambda task: (task.recipe.label, task.seed, task.horizon)).values():
        yield from _in_pieces(alike, max(1, rounds // alike[0].horizon))


def _in_pieces(tasks: list[Task], size: int) -> Iterator[Chunk]:
    """Chunks of that many tasks; the last one may be shorter."""
    for first in range(0, len(tasks), size):
        yield Chunk(tuple(tasks[first : first + size]))


def _of_one_policy(tasks: list[Task], rounds: int) -> Iterator[Chunk]:
    """The longest first, so that no worker ends long after the others.

    All policies play a block of problems before the next one has its turn: a worker has made them then.
    """
    longest_first = sorted(tasks, key=lambda task: -task.horizon * task.content.numbers)
    blocks = _blocks(longest_first, rounds)
    groups = grouped(longest_first, lambda task: (blocks[_problem(task)], task.player.label))
    for block, label in sorted(groups, key=lambda place: place[0]):
        yield Chunk(tuple(groups[block, label]))


def _problem(task: Task) -> tuple[int, str, int]:
    return task.horizon, task.recipe.label, task.seed


def _blocks(tasks: list[Task], rounds: int) -> dict[tuple[int, str, int], int]:
    """The number of the block that each problem is in; a block has one horizon, and is as long as a chunk."""
    blocks: dict[tuple[int, str, int], int] = {}
    block, filled, horizon = 0, 0.0, 0
    for task in tasks:
        if _problem(task) in blocks:
            continue
        share = max(task.horizon / rounds, 1 / RUNS_OF_A_CHUNK, task.content.numbers / NUMBERS_OF_A_CHUNK)
        if task.horizon != horizon or filled + share > 1 + SHARE_ROUNDING:
            block, filled, horizon = block + 1, 0.0, task.horizon
        blocks[_problem(task)] = block
        filled += share
    return blocks
