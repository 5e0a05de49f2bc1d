"""Policies, problems, schedules, controls and estimators that keep something in `self`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import infex
from infex.policies.controls import Control


class Sticky:
    """A policy that counts its own choices: each arm three times, then the greedy arm."""

    def __init__(self) -> None:
        self.counts: Any = None

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        if self.counts is None:
            self.counts = np.zeros(len(posterior.arms))
        arm = int(np.argmin(self.counts)) if self.counts.min() < 3 else posterior.greedy
        self.counts[arm] += 1
        return infex.Choice(arm)


sticky = Sticky()


class CountingLinUCB(infex.LinUCB):  # type: ignore[misc]  # a user may all the same
    """A built-in policy that a subclass gives a state beside its settings."""

    def __init__(self, chosen: int = 4) -> None:
        super().__init__(delta=0.1)
        vars(self)["chosen"] = [chosen]

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        vars(self)["chosen"][0] += 1
        return infex.Choice(vars(self)["chosen"][0] % len(posterior.arms))


@dataclass
class Counting:
    """A policy for a study: plays arms in turn, by the number of its own choices."""

    each: int = 1
    chosen: int = field(default=0, init=False)

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        self.chosen += 1
        return infex.Choice(self.chosen // self.each % len(posterior.arms))


class Walk:
    """A problem whose parameter goes a step whenever means are asked for."""

    rewards = "gaussian"
    noise = 0.5

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        arms = self.rng.normal(size=(8, 3))
        self.arms = arms / np.linalg.norm(arms, axis=1, keepdims=True)
        self.theta = self.rng.normal(size=3)

    def means(self, t: int, arms: Any) -> Any:
        self.theta = self.theta + 0.1 * self.rng.normal(size=3)
        self.theta /= max(1.0, float(np.linalg.norm(self.theta)))
        return arms @ self.theta


walking = Walk()


class Fading:
    """A problem whose arms become shorter whenever they are drawn, and whose rewards fade with each."""

    def __init__(self) -> None:
        self.drawn = self.rewarded = 0

    def offer(self, t: int, rng: np.random.Generator) -> Any:
        self.drawn += 1
        arms = rng.normal(size=(5, 3))
        return arms / np.linalg.norm(arms, axis=1, keepdims=True) / (1 + 0.01 * self.drawn)

    def means(self, t: int, arms: Any) -> Any:
        return arms @ np.array([0.5, 0.3, -0.2])

    def reward(self, rng: np.random.Generator, means: Any) -> Any:
        self.rewarded += 1
        return means / self.rewarded + rng.normal(size=means.shape)


class FadingLaw:
    """A law of rewards that grows noisier with each draw."""

    def __init__(self) -> None:
        self.draws = 0

    def __call__(self, rng: np.random.Generator, means: Any) -> Any:
        self.draws += 1
        return means + 0.3 * self.draws * rng.normal(size=means.shape)


class Drift:
    """How a parameter moves: faster with every run that begins."""

    def __init__(self) -> None:
        self.speed = 0.0

    def path(self, theta: Any, rng: np.random.Generator) -> Any:
        self.speed += 0.01
        return DriftPath(theta, self.speed)


class DriftPath:
    def __init__(self, theta: Any, speed: float) -> None:
        self.theta, self.speed = theta, speed

    def rows(self, first: int, last: int) -> tuple[Any, Any]:
        rounds = np.arange(first, last + 1)
        return rounds, self.theta / (1.0 + self.speed * rounds[:, None])


class DrawnArms:
    """Draws arms that become shorter."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self, rng: np.random.Generator) -> Any:
        self.drawn += 1
        arms = rng.normal(size=(5, 2))
        return arms / np.linalg.norm(arms, axis=1, keepdims=True) / (1 + 0.01 * self.drawn)


class EverySeventhQuestion(infex.Schedule):
    """A schedule that explores whenever it is asked for the seventh time."""

    def __init__(self) -> None:
        self.asked = 0

    def explores(self, t: int) -> bool:
        self.asked += 1
        return self.asked % 7 == 0

    def count(self, t: int) -> int:
        return t // 7

    def when(self, n: int) -> int:
        return 7 * n


@dataclass
class Tiring(Control):
    """A control that has had enough after ten explorations."""

    schedule: Any
    asked: list[int] = field(default_factory=list)

    def objects(self, t: int, posterior: Any, state: Any) -> str | None:
        self.asked.append(t)
        return "tired" if len(self.asked) > 10 else None


@dataclass(frozen=True)
class Stiffening:
    """Ridge regression with a larger penalty each time it is begun."""

    begun: list[int] = field(default_factory=list)

    def new_model(self, columns: Any, penalty: float) -> Any:
        self.begun.append(1)
        return infex.models.Ridge().new_model(columns, penalty * 4.0 ** len(self.begun))


class FallingWeight:
    """A weight that falls with each question."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, x: Any) -> float:
        self.asked += 1
        return 1.0 / self.asked


class Tally:
    """A number that several objects count on."""

    def __init__(self) -> None:
        self.number = 0


@dataclass(frozen=True)
class CountingBase:
    """Plays arms in turn, by a tally."""

    tally: Tally

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        self.tally.number += 1
        return infex.Choice(self.tally.number % len(posterior.arms))


@dataclass(frozen=True)
class UpToSeven(Control):
    """Lets a round explore while a tally is below seven."""

    schedule: Any
    tally: Tally

    def objects(self, t: int, posterior: Any, state: Any) -> str | None:
        return "seven are enough" if self.tally.number >= 7 else None


def sharing() -> infex.Infex:
    """A base and a control that share one tally."""
    tally = Tally()
    return infex.Infex(CountingBase(tally), UpToSeven(infex.every(2), tally))


class Holding:
    """A policy that holds what cannot be copied."""

    def __init__(self) -> None:
        self.numbers = (number for number in range(100))

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice(next(self.numbers) % len(posterior.arms))

    def __call__(self, x: Any) -> float:
        """The same as a weight."""
        return float(next(self.numbers))
