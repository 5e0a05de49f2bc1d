"""Parameters that move: in steps, turning, or as a random walk; always of the same length."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import numpy as np

from infex.arrays import Floats, Integers, length_of
from infex.checks import real, whole
from infex.core.drawing import random_walk
from infex.errors import InvalidSetting


class Path(Protocol):
    """Where a parameter is, asked for in the order of rounds."""

    def rows(self, first: int, last: int) -> tuple[Integers, Floats]:
        """The parameters of rounds first to last: the last round of each, and they themselves, (rows, d)."""


@runtime_checkable
class Moves(Protocol):
    """How a parameter moves."""

    def path(self, theta: Floats, rng: np.random.Generator) -> Path:
        """From theta in round 1 on, by these draws."""


@final
class Resting:
    """A parameter that does not move."""

    def __init__(self, theta: Floats) -> None:
        self._theta = theta

    def rows(self, first: int, last: int) -> tuple[Integers, Floats]:
        """One row."""
        return np.array([last]), self._theta[None]


@final
@dataclass(frozen=True, slots=True)
class Steps:
    """A new parameter, uniform in direction, after every so many rounds, or from rounds `at` on."""

    every: int | None = None
    at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if (self.every is None) == (not self.at):
            raise InvalidSetting(f"steps are either every so many rounds or at given ones, got {self!r}")
        if self.every is not None:
            whole("every", self.every, least=1)
        at = tuple(whole("a round of at", t, least=2) for t in self.at)
        if any(later <= earlier for earlier, later in itertools.pairwise(at)):
            raise InvalidSetting(f"the rounds of steps must rise, got {list(self.at)}")
        object.__setattr__(self, "at", at)

    def path(self, theta: Floats, rng: np.random.Generator) -> Path:
        """The path of one run."""
        return _Stepping(self, theta, rng)

    def changes(self, first: int, last: int) -> list[int]:
        """The rounds from first to last that have a new parameter."""
        if self.every is None:
            return [t for t in self.at if first <= t <= last]
        return list(range(max(first, 2) + -(max(first, 2) - 1) % self.every, last + 1, self.every))


class _Stepping:
    def __init__(self, steps: Steps, theta: Floats, rng: np.random.Generator) -> None:
        self._steps, self._theta, self._rng = steps, theta, rng

    def rows(self, first: int, last: int) -> tuple[Integers, Floats]:
        ends, thetas = [], []
        for t in self._steps.changes(first, last):
            if t > first:
                ends.append(t - 1)
                thetas.append(self._theta)
            self._theta = directed(self._rng, self._theta.size) * length_of(self._theta)
        return np.array([*ends, last]), np.array([*thetas, self._theta])


@final
@dataclass(frozen=True, slots=True)
class Turning:
    """A parameter that turns in a plane, once round in `period` rounds."""

    period: float

    def __post_init__(self) -> None:
        real("period", self.period, above=0)

    def path(self, theta: Floats, rng: np.random.Generator) -> Path:
        """The path of one run, in a plane drawn anew."""
        if theta.size < 2:
            raise InvalidSetting("a parameter of one number cannot turn")
        return _Circle(self.period, theta, rng)


class _Circle:
    def __init__(self, period: float, theta: Floats, rng: np.random.Generator) -> None:
        length = length_of(theta)
        along = theta / length if length > 0 else np.zeros(theta.size)
        self._period, self._theta, self._across = period, theta, _across(along, length, rng)

    def rows(self, first: int, last: int) -> tuple[Integers, Floats]:
        rounds = np.arange(first, last + 1)
        angles = 2.0 * math.pi * (((rounds - 1) / self._period) % 1.0)
        return rounds, np.cos(angles)[:, None] * self._theta + np.sin(angles)[:, None] * self._across


@final
@dataclass(frozen=True, slots=True)
class RandomWalk:
    """A parameter that goes a step of `size` times its length in a random direction before every round."""

    size: float

    def __post_init__(self) -> None:
        real("size", self.size, above=0)

    def path(self, theta: Floats, rng: np.random.Generator) -> Path:
        """The path of one run; after each step the parameter is brought back to its length."""
        return _Walking(self.size, theta, rng)


class _Walking:
    def __init__(self, size: float, theta: Floats, rng: np.random.Generator) -> None:
        self._size, self._theta, self._rng, self._begun = size, np.array(theta), rng, False
        self._length = length_of(theta)

    def rows(self, first: int, last: int) -> tuple[Integers, Floats]:
        thetas = random_walk(self._theta, self._length, self._size, last - first + 1, self._begun, self._rng)
        self._theta, self._begun = np.array(thetas[-1]), True
        return np.arange(first, last + 1), thetas


def _across(along: Floats, length: float, rng: np.random.Generator) -> Floats:
    """A vector of that length, drawn at a right angle to `along`."""
    across = directed(rng, along.size)
    across -= math.fsum(across * along) * along
    return np.asarray(length * across / length_of(across))


def directed(rng: np.random.Generator, dim: int) -> Floats:
    """A direction, uniform on the sphere."""
    drawn = rng.standard_normal(dim)
    return np.asarray(drawn / length_of(drawn))


def steps(every: int | None = None, at: Sequence[int] = ()) -> Steps:
    """A parameter that jumps to one uniform in direction, after `every` so many rounds, or `at` given ones.

    >>> steps(every=1000).changes(1, 3000)
    [1001, 2001]
    """
    return Steps(every, tuple(at))


def turning(period: float) -> Turning:
    """A parameter that turns in a plane, once round in `period` rounds.

    >>> turning(period=5000)
    Turning(period=5000)
    """
    return Turning(period)


def walk(size: float) -> RandomWalk:
    """A parameter that walks: before every round a step of `size` times its length in a random direction.

    >>> walk(size=0.01)
    RandomWalk(size=0.01)
    """
    return RandomWalk(size)
