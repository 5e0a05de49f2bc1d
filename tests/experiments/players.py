"""Policies and problems that sweeps of the tests name as `package.module:object`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infex import Choice, LinUCB
from infex.environments import LinearInstance, gaussian
from tests.waiting import until


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


def growing(seed: int) -> LinearInstance:
    return gaussian(dim=2 + seed % 2, arms=4, seed=seed)


far = LinearInstance(np.eye(2) / 2, [60.0, 50.0], rewards="gaussian")


class Counting:
    """A learner: plays the arm after as many as it has learnt of."""

    def __init__(self) -> None:
        self.learnt = 0

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        return Choice(self.learnt // 7 % len(evidence))

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        self.learnt += 1


@dataclass(frozen=True)
class Leaving:
    """Wants to end the program."""

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        raise SystemExit(0)


class Sized:
    """A policy that cannot be made without arguments."""

    def __init__(self, size: int) -> None:
        self.size = size


@dataclass(frozen=True)
class DyingOften:
    """Ends its process as often as it is told to, a byte of the file for each time."""

    path: str
    times: int

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        died = Path(self.path).stat().st_size if Path(self.path).exists() else 0
        if died < self.times:
            with open(self.path, "ab") as file:
                file.write(b"x")
            os._exit(7)
        return Choice(0)


@dataclass(frozen=True)
class Held:
    """On problems of so many arms, waits in its first round for the file "go" in a folder.

    That it is there it says by a file of its process, "held-1234".
    """

    folder: str
    arms: int

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        if t == 1 and len(evidence) == self.arms:
            folder = Path(self.folder)
            (folder / f"held-{os.getpid()}").touch()
            until((folder / "go").exists, "the test lets it go")
        return Choice(0)


@dataclass(frozen=True)
class Choosy:
    """Fails with every other instance of `small` problems, told by its first arm."""

    remainder: int

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        first = evidence.arms[0] if hasattr(evidence, "arms") else None
        seeds = [seed for seed in range(2) if np.allclose(gaussian(2, 3, seed).arms[0], first)]
        if seeds != [self.remainder]:
            raise LookupError("another seed")
        return Choice(0)


odd, even = Choosy(1), Choosy(0)


class Styled(Middle):
    """Has a name of its own."""
