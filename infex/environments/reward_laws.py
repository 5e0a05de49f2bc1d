"""Laws of rewards: what is drawn of an arm's mean."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, shown
from infex.checks import one_of, real
from infex.core.runs import Law
from infex.environments.truths import Stretch
from infex.errors import InvalidReward, InvalidSetting
from infex.streams import stream

NamedLaw = Literal["sign", "bernoulli", "gaussian", "student"]
OwnLaw = Callable[[np.random.Generator, Floats], Floats]
Rewards = NamedLaw | OwnLaw
LAWS = {"sign": Law.SIGN, "bernoulli": Law.BERNOULLI, "gaussian": Law.GAUSSIAN, "student": Law.STUDENT}
NOISY = ("gaussian", "student")  # the named laws that read a noise
RANGES = {"sign": (-1.0, 1.0), "bernoulli": (0.0, 1.0)}
ENDLESS_RANGE = (-math.inf, math.inf)
ROUNDS_OF_A_BLOCK = 64  # that a law of a user's draws in one call


@final
@dataclass(frozen=True, slots=True, eq=False)
class RewardLaw:
    """The law of rewards of a problem: its name or function, each arm's noise, degrees of freedom.

    A function `law(rng, means)` gives a reward for each number in an array of means, (rounds, K), drawn from
    `rng`: an array of the same shape.
    """

    rewards: Any
    noise: float | Floats
    degrees: float
    count: int
    kind: Law  # TABLE for a function

    @property
    def is_plain(self) -> bool:
        """Is it a law that the quickest loops know: sign, Bernoulli or Gaussian, with one noise?"""
        return self.kind < Law.STUDENT and isinstance(self.noise, float)

    @property
    def noises(self) -> Floats:
        """Every arm's noise, (K,)."""
        return np.full(self.count, self.noise) if isinstance(self.noise, float) else np.array(self.noise)

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
        if self.kind == Law.TABLE:
            return float(self.table(rng, np.array([[mean]]), 0)[0, 0])
        if self.kind == Law.SIGN:
            return 1.0 if rng.random() < (1.0 + mean) / 2.0 else -1.0
        if self.kind == Law.BERNOULLI:
            return 1.0 if rng.random() < mean else 0.0
        noise = self.noise if isinstance(self.noise, float) else self.noise.item(arm)
        gaussian = self.kind == Law.GAUSSIAN
        return mean + noise * (rng.standard_normal() if gaussian else rng.standard_t(self.degrees))

    def table(self, rng: np.random.Generator, means: Floats, first: int) -> Floats:
        """The rewards that a function gives for the means of rounds from `first` on, (rounds, K)."""
        given = self.rewards(rng, means)
        try:
            found = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.shape != means.shape:
            raise InvalidReward(
                f"a law of rewards must give an array like the means, {means.shape}; {self.name} gave "
                f"{type(given).__name__}, {found.shape}"
            )
        if not np.isfinite(found).all():
            bad = int(np.argmin(np.isfinite(found).all(axis=1)))
            raise InvalidReward(
                f"the law of rewards must give finite numbers; in round {first + bad} it gave "
                f"{found[bad][~np.isfinite(found[bad])][0]}"
            )
        return found

    @property
    def range(self) -> tuple[float, float]:
        """Between which numbers means must lie."""
        return ENDLESS_RANGE if self.kind == Law.TABLE else RANGES.get(self.rewards, ENDLESS_RANGE)

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
    known: Any = thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)
    return f"{known.__module__}:{known.__qualname__}"


def reward_law(rewards: object, noise: object, degrees: float, count: int) -> RewardLaw:
    """The law that settings name, for so many arms."""
    if callable(rewards):
        _refuse_function(rewards)
    else:
        one_of("rewards", rewards, LAWS)
    spread: float | Floats = real("noise", noise, least=0) if _is_number(noise) else _noises(noise, count)
    if (callable(rewards) or rewards not in NOISY) and not (isinstance(spread, float) and spread == 1.0):
        law = "a law of your own has" if callable(rewards) else f"{rewards} rewards have"
        raise InvalidSetting(f"{law} no noise to be set, got noise={noise!r}")
    kind = LAWS[rewards] if isinstance(rewards, str) else Law.TABLE
    return RewardLaw(rewards, spread, real("degrees", degrees, above=0), count, kind)


def _refuse_function(law: Callable[..., object]) -> None:
    """Refuses what is no function of a generator and means, in this order."""
    try:
        names = list(inspect.signature(law).parameters)
        inspect.signature(law).bind(None, None)
    except (TypeError, ValueError):
        names = ["", "rng"]
    if names[1:2] == ["rng"]:
        raise InvalidSetting(
            f"a law of rewards must be a function of rng and means, in this order; got {name_of(law)}"
        )


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
        self._name: tuple[int, str, int] = (seed, "rewards", key)
        self.generator = stream(*self._name)  # of a named law, whose rounds go one after the other

    def table(self, stretch: Stretch) -> Floats | None:
        """The rewards of all arms in the rounds of a stretch, (rounds, K), by a user's law, else None.

        Blocks of rounds are drawn whole, whatever part of one is asked for, so that rewards do not depend on
        where stretches end; rounds beyond the stretch then have the means of its nearest round.
        """
        if self._law.kind != Law.TABLE:
            return None
        rounds = np.arange(stretch.first, stretch.last + 1)
        means = stretch.means[np.searchsorted(stretch.ends, rounds)]
        found = np.empty_like(means)
        for block in range(
            (stretch.first - 1) // ROUNDS_OF_A_BLOCK, (stretch.last - 1) // ROUNDS_OF_A_BLOCK + 1
        ):
            whole = np.arange(ROUNDS_OF_A_BLOCK) + block * ROUNDS_OF_A_BLOCK + 1
            rows = means[np.clip(whole, stretch.first, stretch.last) - stretch.first]
            drawn = self._law.table(stream(*self._name, block), shown(rows), int(whole[0]))
            there = (whole >= stretch.first) & (whole <= stretch.last)
            found[whole[there] - stretch.first] = drawn[there]
        return found

    def reward(self, arm: int, mean: float) -> float:
        """The reward of an arm in the next round, by a named law."""
        return self._law.draw(arm, mean, self.generator)
