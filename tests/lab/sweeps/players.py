"""Policies and problems that sweeps of the tests name as `package.module:object`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infex import Choice, LinUCB, best
from infex.lab.environments import LinearInstance, gaussian
from infex.models import Discounted
from tests.waiting import until


@dataclass(frozen=True)
class Middle:
    """Plays the middle arm."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(len(posterior) // 2)


@dataclass(frozen=True)
class Failing:
    """Fails in its third round."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        if t == 3:
            raise ZeroDivisionError("on purpose")
        return Choice(0)


@dataclass(frozen=True)
class Deadly:
    """Ends its process, unless the file is there; makes it first."""

    path: str
    always: bool = False

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
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

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(self.learnt // 7 % len(posterior))

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        self.learnt += 1


@dataclass(frozen=True)
class Leaving:
    """Wants to end the program."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
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

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
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

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        if t == 1 and len(posterior) == self.arms:
            folder = Path(self.folder)
            (folder / f"held-{os.getpid()}").touch()
            until((folder / "go").exists, "the test lets it go")
        return Choice(0)


@dataclass(frozen=True)
class Choosy:
    """Fails with every other instance of `small` problems, told by its first arm."""

    remainder: int

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        first = posterior.arms[0] if hasattr(posterior, "arms") else None
        seeds = [seed for seed in range(2) if np.allclose(gaussian(2, 3, seed).arms[0], first)]
        if seeds != [self.remainder]:
            raise LookupError("another seed")
        return Choice(0)


odd, even = Choosy(1), Choosy(0)


class Styled(Middle):
    """Has a name of its own."""


@dataclass(frozen=True)
class Level:
    """Plays one arm, the same each time."""

    arm: int = 0
    size: float = 1.0

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(self.arm % len(posterior))


@dataclass(frozen=True)
class Optimist:
    """LinUCB written by a user, who says no delta."""

    delta: float | None = None

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        assert self.delta is not None
        radius = np.sqrt(posterior.log_det_ratio + 2 * np.log(1 / self.delta)) + 1
        return Choice(best(posterior.upper(radius)))


@dataclass(frozen=True)
class Doubling:
    """A schedule of a user's: rounds c, 2c, 4c, ..."""

    c: int = 1

    def explores(self, t: int) -> bool:
        return t % self.c == 0 and (t // self.c).bit_count() == 1

    def count(self, t: int) -> int:
        return (t // self.c).bit_length()


def gapped(seed: int, gap: float = 0.1, dim: int = 2) -> LinearInstance:
    """A problem of a user's with settings."""
    theta = np.zeros(dim)
    theta[seed % dim] = gap
    return LinearInstance(np.eye(dim), theta)


def constant(gap: float) -> LinearInstance:
    """A problem that is the same for all seeds."""
    return LinearInstance(np.eye(2), [gap, 0.0])


def forgetting(rate: float = 0.9) -> Discounted:
    """An estimator of a user's."""
    return Discounted(rate=rate)


class Silent:
    """A policy whose repr raises, as river's empty models do."""

    def __init__(self, arm: int = 0) -> None:
        self.arm = arm
        self.model = Broken()

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(self.arm)

    def __repr__(self) -> str:
        raise ValueError("max() arg is an empty sequence")


class Broken:
    def __repr__(self) -> str:
        raise ValueError("max() arg is an empty sequence")


def marked(seed: int) -> LinearInstance:
    """A problem whose first arm begins with -1 with seed 1 alone."""
    return LinearInstance(np.array([[-1.0 if seed == 1 else 1.0, 0.0], [0.0, 1.0]]), [0.1 * seed, 0.2])


class Picky:
    """Plays the first arm, or one that is not there where that begins with a negative number."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(0 if posterior.arms[0, 0] > 0 else 9)


class Seesaw:
    """An environment of a user's: one arm is good in odd rounds, the other in even ones."""

    def __init__(self, seed: int) -> None:
        self.arms = np.eye(2)
        self.lead = 0.1 * (seed + 1)

    def means(self, t: int, arms: Any) -> Any:
        return self.lead * np.array([t % 2, 1 - t % 2])
