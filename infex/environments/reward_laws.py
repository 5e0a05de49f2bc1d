"""Laws of rewards: what is drawn of an arm's mean."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
from numba.core import types

from infex.arrays import Floats, shown
from infex.checks import importable, one_of, real
from infex.errors import InvalidReward, InvalidSetting
from infex.kernels.calling import Rewarder, law_arguments, users_address
from infex.kernels.compiling import compiled_for_user
from infex.kernels.rewards import LAWS, OWN, STUDENT, Law, draw_of, reward_of, rewarded
from infex.streams import Rounds, stream

NamedLaw = Literal["sign", "bernoulli", "gaussian", "student"]
Rewards = NamedLaw | Callable[[float, np.random.Generator], float]
NOISY = ("gaussian", "student")  # the named laws that read a noise
RANGES = {"sign": (-1.0, 1.0), "bernoulli": (0.0, 1.0)}
ENDLESS_RANGE = (-math.inf, math.inf)
NO_MEMORY = np.zeros(8, dtype=np.uint64)


@final
class RewardKernel:
    """A law of rewards that Numba compiles: see `reward_kernel`.

    `function` takes a mean and a generator, and returns a reward.
    """

    def __init__(self, function: Rewarder) -> None:
        if not inspect.isfunction(function) or len(inspect.signature(function).parameters) != 2:
            raise InvalidSetting(f"a law of rewards must be a function of mean and rng; got {function!r}")
        self._take_the_place_of(function)
        self.code: Rewarder = compiled_for_user(function)

    def _take_the_place_of(self, function: Any) -> None:
        """Has its name; the function is called `name.function` from now on, where pickle finds it."""
        functools.update_wrapper(self, function)
        self.function = function
        self.__qualname__ = function.__qualname__.removesuffix(".function")
        function.__qualname__ = f"{self.__qualname__}.function"

    def __call__(self, mean: float, rng: np.random.Generator) -> float:
        """A reward with that mean."""
        _ = self.address  # which refuses what cannot be compiled
        return self.code(mean, rng)

    def __repr__(self) -> str:
        return f"<reward kernel {self.__module__}.{self.__qualname__}>"

    def __deepcopy__(self, memo: object) -> RewardKernel:
        """Itself, as of a function: it keeps nothing, and compiling takes long."""
        return self

    def __reduce__(self) -> Any:
        """By name where another process can import it, else with its code."""
        if importable(self, self.__module__, self.__qualname__):
            return self.__qualname__
        return RewardKernel, (self.function,)

    @functools.cached_property
    def address(self) -> Any:
        """Where the compiled law stands in memory; good as long as this object lives."""
        return users_address(repr(self), self.code, law_arguments(), types.float64, "a reward, a float")


def reward_kernel(function: Rewarder) -> RewardKernel:
    """Makes a law of rewards of a function `(mean, rng) -> float` that Numba can compile.

    >>> import infex
    >>> @reward_kernel
    ... def skewed(mean, rng):
    ...     return mean + rng.standard_exponential() - 1.0
    >>> instance = infex.environments.gaussian(dim=5, arms=20, seed=3, rewards=skewed)
    >>> infex.play(instance, infex.LinUCB(), horizon=100).horizon
    100

    Such a problem is played in a compiled loop, at some tens of nanoseconds a reward; with the plain
    function it is played in Python, with the same rewards. The draws of a round depend on the seed and the
    round alone, so that all policies meet the same noise.
    """
    return RewardKernel(function)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RewardLaw:
    """The law of rewards of a problem: its name or function, each arm's noise, degrees of freedom."""

    rewards: Any
    noise: float | Floats
    degrees: float
    count: int
    kind: int  # as kernels know it

    @property
    def is_plain(self) -> bool:
        """Is it a law that the quickest loops know: sign, Bernoulli or Gaussian, with one noise?"""
        return self.kind not in (OWN, STUDENT) and isinstance(self.noise, float)

    @property
    def noises(self) -> Floats:
        """Every arm's noise, (K,)."""
        return np.full(self.count, self.noise) if isinstance(self.noise, float) else np.array(self.noise)

    @property
    def named(self) -> Law:
        """A law that is none of a user's, as compiled loops take it."""
        return Law(self.kind, self.degrees, 0, NO_MEMORY[:4], NO_MEMORY)

    @property
    def name(self) -> str:
        """The name of the law, or where a user's was defined."""
        return self.rewards if isinstance(self.rewards, str) else name_of(self.rewards)

    @property
    def shown(self) -> str:
        """The noise, in a word."""
        return repr(self.noise) if isinstance(self.noise, float) else "one for each arm"

    @property
    def content(self) -> bytes:
        """What tells this law from others, for the names of streams."""
        return self.name.encode() + np.array([self.degrees, *self.noises]).tobytes()

    def draw(self, arm: int, mean: float, rng: np.random.Generator) -> float:
        """The reward of an arm of that mean, from the next draws of `rng`."""
        if self.kind == OWN:
            return refuse_reward(self.rewards(mean, rng), 0)
        if self.kind != STUDENT and isinstance(self.noise, float):
            return float(reward_of(self.kind, mean, self.noise, draw_of(self.kind, rng)))
        return float(rewarded(self.named, mean, float(self.noises[arm]), 0, rng)[0])

    @property
    def range(self) -> tuple[float, float]:
        """Between which numbers means must lie."""
        return RANGES.get(self.rewards, ENDLESS_RANGE) if self.kind != OWN else ENDLESS_RANGE

    def refuse(self, means: Floats) -> None:
        """Refuses means, (K,) or (rounds, K), that no reward of this law can have."""
        low, high = self.range
        slack = 1e-9
        bad = ~((means >= low - slack) & (means <= high + slack) & np.isfinite(means))
        if bad.any():
            place = int(np.argmax(bad))
            raise InvalidSetting(
                f"means must be from {low:g} to {high:g} for {self.rewards} rewards; "
                f"arm {place % means.shape[-1]} has {means.flat[place]:.6g}"
            )


def name_of(thing: object) -> str:
    """Where a function, or the class of an object, was defined."""
    known: Any = thing if inspect.isroutine(thing) or isinstance(thing, type | RewardKernel) else type(thing)
    return f"{known.__module__}:{known.__qualname__}".removesuffix(".function")


def reward_law(rewards: object, noise: object, degrees: float, count: int) -> RewardLaw:
    """The law that settings name, for so many arms."""
    if not callable(rewards):
        one_of("rewards", rewards, LAWS)
    spread: float | Floats = real("noise", noise, least=0) if _is_number(noise) else _noises(noise, count)
    if (callable(rewards) or rewards not in NOISY) and not (isinstance(spread, float) and spread == 1.0):
        law = "a law of your own has" if callable(rewards) else f"{rewards} rewards have"
        raise InvalidSetting(f"{law} no noise to be set, got noise={noise!r}")
    kind = LAWS[rewards] if isinstance(rewards, str) else OWN
    return RewardLaw(rewards, spread, real("degrees", degrees, above=0), count, kind)


def _is_number(value: object) -> bool:
    return np.ndim(value) == 0 if isinstance(value, float | int | np.generic | np.ndarray) else False


def _noises(noise: Any, count: int) -> Floats:
    try:
        found: npt.NDArray[np.float64] = np.array(noise, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(f"noise must be a number, or one for each arm, got {noise!r}") from None
    if found.shape != (count,) or not np.all((found >= 0) & np.isfinite(found)):
        raise InvalidSetting(
            f"noise must be a number from 0 on, or {count} of them, one for each arm, got {noise!r}"
        )
    return shown(found)


@final
class RewardSource:
    """The rewards of one run: each depends on the seed, the round and the arm's mean alone."""

    def __init__(self, law: RewardLaw, seed: int, key: int) -> None:
        self._law = law
        self._noises = law.noises
        self._rounds = Rounds(seed, "rewards", key) if law.kind == OWN else None
        self.generator = stream(seed, "rewards", key) if self._rounds is None else self._rounds.at(1)
        memory = None if self._rounds is None else self._rounds.memory
        self.compiled: Law | None = None
        if self._rounds is None:
            self.compiled = law.named
        elif isinstance(law.rewards, RewardKernel) and memory is not None:
            self.compiled = Law(law.kind, law.degrees, law.rewards.address, *memory)

    def reward(self, t: int, arm: int, mean: float) -> float:
        """The reward of an arm in round t; rounds go one after the other."""
        if self._rounds is None:
            assert self.compiled is not None
            return float(rewarded(self.compiled, mean, self._noises[arm], t, self.generator)[0])
        given = self._law.rewards(mean, self._rounds.at(t))
        return refuse_reward(given, t)


def refuse_reward(given: Any, t: int) -> float:
    """A reward that a law gave, if it is a finite number."""
    reward = _number(given)
    if not math.isfinite(reward):
        raise InvalidReward(f"the law of rewards must give a finite number; in round {t} it gave {given!r}")
    return reward


def _number(given: Any) -> float:
    """What was given, or NaN where it is no number."""
    try:
        return float(given)
    except (TypeError, ValueError):
        return math.nan
