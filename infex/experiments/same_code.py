"""Chunks that a worker plays with the code by which their runs are named.

Workers live on from one sweep to the next, and keep the modules that they have read. Where one of a user's
was edited or loaded anew since, they would play other code than the process that named the runs.
"""

from __future__ import annotations

from typing import NamedTuple

from infex.experiments.chunk_playing import play_chunk
from infex.experiments.chunks import Chunk
from infex.experiments.content import digest
from infex.experiments.entrants import LabelledPolicy
from infex.experiments.tasks import Task, TaskOutcome


class OtherCode(NamedTuple):
    """The names of runs that a worker did not play, since its code is another."""

    keys: tuple[str, ...]


def play_if_same(chunk: Chunk) -> list[TaskOutcome] | OtherCode:
    """What the tasks of a chunk gave, if this process has the code that they are named by."""
    return play_chunk(chunk) if has_code_of(chunk) else OtherCode(chunk.keys)


def has_code_of(chunk: Chunk) -> bool:
    """Are policies, estimators and problems of a chunk here what they were where it was made?"""
    players = {id(task.player): task.player for task in chunk.tasks}
    problems = {task.recipe.label: task for task in chunk.tasks}
    return all(map(_is_player, players.values())) and all(map(_is_problem, problems.values()))


def _is_player(player: LabelledPolicy) -> bool:
    estimator = None if player.estimator is None else digest(player.estimator.thing)
    return digest(player.policy) == player.content and estimator == player.estimator_content


def _is_problem(task: Task) -> bool:
    return task.recipe.code() == task.content.code
