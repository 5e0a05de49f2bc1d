"""The runs of a sweep: each named by its content, and what it gave."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.environments import Instance
from infex.experiments.entrants import LabelledPolicy
from infex.experiments.recipes import ProblemContent, Recipe
from infex.simulation import Run

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
