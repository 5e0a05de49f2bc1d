"""Environments that a user writes: an object with arms and their means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, columns_of, shown
from infex.checks import copied, misspelt, set_fields, whole
from infex.errors import InvalidArms, InvalidSetting
from infex.lab.environments.base import (
    BuiltInProblem,
    Late,
    RewardLaw,
    Stretch,
    checked_late,
    means_from,
    name_of,
    reward_law,
)
from infex.lab.environments.fixed import BLOCK, key_of
from infex.streams import stream

OPTIONAL = ("arms", "offer", "reward", "rewards", "noise", "degrees", "late", "key", "theta")
LAW_NAMES = ("reward", "rewards")


@runtime_checkable
class Environment(Protocol):
    """A problem of one's own: `means(t, arms)`, and fixed `arms`, (K, d), or `offer(t, rng)` that draws them.

    `means` gives the mean reward of each arm in round t, (K,). `offer` gives the arms of round t, as many
    in every round. It may also have `reward(rng, means)`, its own law of rewards, or `rewards`, `noise` and
    `degrees` as those of `LinearInstance`; `late`, how late rewards are; and `key`, a whole number that
    names its draws beside the seed. Arms and means must follow from t and `rng` alone, so that they are the
    same for every policy that plays. Each run asks a copy of the object as it was given.

    Other attributes are the environment's own affair. One that is nearly called as a setting of rewards that
    it lacks, such as `nois` or `rewrads`, is refused: rewards would be drawn without it.

    >>> import infex
    >>> class Peak:
    ...     arms = np.linspace(0.1, 1.0, 10)[:, None]
    ...     def means(self, t, arms):
    ...         return 1.0 - np.abs(arms[:, 0] - 0.6)
    ...     def reward(self, rng, means):
    ...         return means + rng.uniform(-0.5, 0.5, means.shape)
    >>> peak: Environment = Peak()
    >>> infex.lab.play(peak, infex.Greedy(), horizon=100).horizon
    100
    """

    def means(self, t: int, arms: Floats) -> npt.ArrayLike:
        """The mean rewards of these arms in round t, (K,)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class OwnInstance(BuiltInProblem):
    """A user's environment, as loops play it."""

    environment: Any
    fixed_arms: Floats | None = field(init=False, repr=False)
    dim: int = field(init=False, repr=False)
    count: int = field(init=False, repr=False)
    key: int = field(init=False, repr=False)
    law: RewardLaw = field(init=False, repr=False)
    late: Late | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found = _found(copied("problem", self.environment))  # so that looking at it changes nothing
        if ("arms" in found) == ("offer" in found):
            raise InvalidSetting(f"{self!r} must have either arms, (K, d), or offer(t, rng) that draws them")
        if "reward" in found and "rewards" in found:
            raise InvalidSetting(f"{self!r} must have either reward or rewards, it has both")
        _refuse_misspelt(self.environment, found)
        key = whole("the key of an environment", found.get("key", key_of(repr(self).encode())))
        first = columns_of(  # of round 1, (d, K)
            found["arms"] if "arms" in found else found["offer"](1, stream(0, "contexts", key))
        )
        law = found | _found(self.environment, LAW_NAMES)
        rewards = law.get("reward", law.get("rewards", "sign"))
        set_fields(
            self,
            fixed_arms=shown(np.ascontiguousarray(first.T)) if "arms" in found else None,
            dim=first.shape[0],
            count=first.shape[1],
            key=key,
            law=reward_law(rewards, law.get("noise", 1.0), law.get("degrees", 3.0), first.shape[1]),
            late=checked_late(found.get("late")),
        )

    def __repr__(self) -> str:
        return name_of(self.environment)

    @property
    def theta(self) -> Floats:
        """The parameter, for a policy that is told of it."""
        found = _found(self.environment)
        if "theta" not in found:
            raise InvalidSetting(
                f"a policy asks for the true parameter, which {self!r} does not tell; it has no theta"
            )
        return np.array(found["theta"], dtype=np.float64)

    @property
    def arms(self) -> Floats | int:
        """The fixed arms, or how many are drawn anew."""
        return self.count if self.fixed_arms is None else self.fixed_arms

    def blocks(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The arms of all rounds, some at a time."""
        rng = stream(seed, "contexts", self.key)
        size = max(1, min(horizon, BLOCK // (self.dim * self.count)))
        for first in range(1, horizon + 1, size):
            last = min(first + size - 1, horizon)
            yield first, np.array([self._offered(t, rng) for t in range(first, last + 1)])

    def stretches(self, seed: int, horizon: int) -> Iterator[Stretch]:
        """All rounds, some at a time, with their means, and their arms if those are drawn anew."""
        if self.fixed_arms is not None:
            size = max(1, min(horizon, BLOCK // self.count))
            for first in range(1, horizon + 1, size):
                rounds = np.arange(first, min(first + size, horizon + 1))
                means = np.array([self._means(t, self.fixed_arms) for t in rounds.tolist()])
                yield Stretch(first, int(rounds[-1]), rounds, means)
            return
        for first, block in self.blocks(seed, horizon):
            rounds = np.arange(first, first + len(block))
            means = np.array([self._means(t, shown(block[t - first].T)) for t in rounds.tolist()])
            yield Stretch(first, int(rounds[-1]), rounds, means, block)

    def _offered(self, t: int, rng: np.random.Generator) -> Floats:
        try:
            columns = columns_of(self.environment.offer(t, rng), dim=self.dim)
        except InvalidArms as error:
            raise InvalidArms(f"the arms of round {t}: {error}") from None
        if columns.shape[1] != self.count:
            raise InvalidArms(
                f"there must be {self.count} arms in every round; round {t} has {columns.shape[1]}"
            )
        return columns

    def _means(self, t: int, arms: Floats) -> Floats:
        try:
            means = means_from(self.environment.means(t, arms), self.count)
            self.law.refuse(means)
        except InvalidSetting as error:
            raise InvalidSetting(f"the means of round {t}: {error}") from None
        return means


def _refuse_misspelt(environment: object, found: dict[str, Any]) -> None:
    """Refuses an attribute that is nearly called as a setting that the environment lacks, and could have."""
    law = found.get("reward", found.get("rewards"))
    settings = [*([] if law else LAW_NAMES), *([] if callable(law) else ["noise"]), "late"]
    settings += ["degrees"] if law == "student" else []  # a polynomial has a degree too
    names = [name for name in dir(environment) if name not in OPTIONAL]
    near = misspelt(names, [name for name in settings if name not in found])
    if near is not None:
        raise InvalidSetting(
            f"{name_of(environment)} has {near[0]}, which infex does not read: call it {near[1]}, or begin "
            "its name with an underscore if it is something else"
        )


def _found(environment: object, names: Sequence[str] = OPTIONAL) -> dict[str, Any]:
    """What an environment has beside its means."""
    missing = object()
    given = {name: getattr(environment, name, missing) for name in names}
    return {name: value for name, value in given.items() if value is not missing and value is not None}
