"""Policies and problems that sweeps of the tests name as `package.module:object`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infex import Choice, LinUCB
from infex.environments import LinearInstance, gaussian


@dataclass(frozen=True)
class Middle:
    """Plays the middle arm."""

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        return Choice(len(evidence) // 2)


@dataclass(frozen=True)
class Failing:
    """Fails in its third round."""

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        if t == 3:
            raise ZeroDivisionError("on purpose")
        return Choice(0)


@dataclass(frozen=True)
class Deadly:
    """Ends its process, unless the file is there; makes it first."""

    path: str
    always: bool = False

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        if self.always or not Path(self.path).exists():
            Path(self.path).touch()
            os._exit(7)
        return Choice(0)


middle = Middle()
failing = Failing()
narrow = LinUCB(scale=0.1)
not_a_policy = 3
square = LinearInstance(np.eye(2), [0.5, 0.1])


def small(seed: int) -> LinearInstance:
    return gaussian(dim=2, arms=3, seed=seed)


def broken(seed: int) -> LinearInstance:
    raise ValueError(f"no problem with seed {seed}")
