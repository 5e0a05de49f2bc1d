"""Problems whose arms are drawn anew in every round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np

from infex.arrays import Floats, columns_of, shown
from infex.checks import one_of, real, whole
from infex.environments.linear import key_of, refuse_means, vector
from infex.errors import InvalidArms, InvalidSetting
from infex.kernels.drawing import draw_arms, shift_arms
from infex.kernels.rewards import LAWS, draw_of, reward_of
from infex.streams import stream

Contexts = Callable[[np.random.Generator], Any]

SETS = 3  # of recurring arms
BLOCK = 1 << 17  # numbers in the arms that are drawn at a time


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChangingInstance:
    """In every round `arms` new arms, independent of the past, then the `fixed` ones, with means x'theta.

    New arms are N(0, I/(2d)) cut to length 1, or what `contexts(rng)` gives: an array of (arms, d),
    none longer than 1, by `rng` alone; or those of one of `sets`, (sets, arms, d), drawn uniformly.
    With a `gap`, a drawn arm that comes nearer than that to the best fixed one is shifted along theta
    until it does not. `rewards` and `noise` are those of `LinearInstance`.

    All policies that play the same instance with the same seed meet the same arms and noise.

    >>> instance = ChangingInstance(theta=[0.6, 0.0], arms=20)
    >>> [columns.shape for t, block in instance.blocks(seed=1, horizon=2) for columns in block]
    [(2, 20), (2, 20)]
    """

    theta: Floats
    arms: int
    fixed: Any = None
    contexts: Contexts | None = None
    sets: Any = None
    gap: float | None = None
    rewards: Literal["sign", "gaussian", "bernoulli"] = "sign"
    noise: float = 1.0
    key: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        theta = vector(self.theta)
        arms = whole("arms", self.arms, least=0 if self.fixed is not None else 1)
        fixed = np.zeros((len(theta), 0)) if self.fixed is None else columns_of(self.fixed, dim=len(theta))
        one_of("rewards", self.rewards, LAWS)
        refuse_means(fixed.T @ theta, self.rewards)
        if self.contexts is not None and not callable(self.contexts):
            raise InvalidSetting(f"contexts must be a function of a generator, got {self.contexts!r}")
        sets = np.zeros((0, len(theta), arms)) if self.sets is None else _sets(self.sets, len(theta), arms)
        if self.sets is not None and self.contexts is not None:
            raise InvalidSetting("give either contexts or sets, got both")
        gap = self.gap if self.gap is None else real("gap", self.gap, above=0)
        if gap is not None and not (fixed.shape[1] and np.max(fixed.T @ theta) >= gap):
            raise InvalidSetting(f"a gap of {gap:g} needs a fixed arm with a mean of at least that")
        noise = real("noise", self.noise, least=0)
        source = getattr(self.contexts, "__qualname__", type(self.contexts).__qualname__)
        content = f"{arms} {fixed.shape} {sets.shape} {gap!r} {self.rewards} {noise!r} {source}".encode()
        derived: dict[str, Any] = {
            "theta": shown(theta),
            "arms": arms,
            "fixed": shown(np.ascontiguousarray(fixed.T)),
            "sets": shown(np.ascontiguousarray(sets.transpose(0, 2, 1))),
            "gap": gap,
            "noise": noise,
            "key": key_of(theta.tobytes() + fixed.tobytes() + sets.tobytes() + content),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.theta.size)

    @property
    def count(self) -> int:
        """How many arms are on offer in a round; the fixed ones come last, as ties go to the first."""
        return len(self.fixed) + self.arms

    def draws(self, seed: int) -> np.random.Generator:
        """The draws of rewards in rounds 1, 2, ..."""
        return stream(seed, "rewards", self.key)

    def reward(self, mean: float, rng: np.random.Generator) -> float:
        """The reward of an arm of that mean, in the round whose draw `rng` gives next."""
        law = LAWS[self.rewards]
        return float(reward_of(law, mean, self.noise, draw_of(law, rng)))

    def blocks(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The arms of all rounds, some at a time: the first of them, and their columns, (rounds, d, K)."""
        rng = stream(seed, "contexts", self.key)
        size = max(1, min(horizon, BLOCK // (self.dim * self.count)))
        for t in range(1, horizon + 1, size):
            block = np.empty((min(size, horizon + 1 - t), self.dim, self.count))
            self._fill(t, block, rng)
            yield t, block

    def _fill(self, t: int, block: Floats, rng: np.random.Generator) -> None:
        block[:, :, self.arms :] = self.fixed.T
        if len(self.sets):
            which = rng.integers(len(self.sets), size=len(block))
            block[:, :, : self.arms] = self.sets.transpose(0, 2, 1)[which]
        elif self.contexts is None:
            draw_arms(block, self.arms, rng)
        else:
            for place, columns in enumerate(block):
                columns[:, : self.arms] = self._drawn(t + place, rng)
        theta = np.array(self.theta)
        if self.gap is not None:
            shift_arms(block, self.arms, theta, float(np.max(self.fixed @ theta)) - self.gap)
        if self.rewards == "bernoulli" or (self.rewards == "sign" and np.linalg.norm(theta) > 1.0):
            refuse_means(np.einsum("bdk,d->bk", block, theta), self.rewards)

    def _drawn(self, t: int, rng: np.random.Generator) -> Floats:
        assert self.contexts is not None
        try:
            columns = columns_of(self.contexts(rng), dim=self.dim)
        except InvalidArms as error:
            raise InvalidArms(f"contexts of round {t}: {error}") from None
        if columns.shape[1] != self.arms:
            raise InvalidArms(f"contexts of round {t} must be {self.arms} arms, got {columns.shape[1]}")
        return columns


def _sets(sets: object, dim: int, arms: int) -> Floats:
    """Sets of arms as columns, (sets, d, arms)."""
    if not isinstance(sets, Iterable):
        raise InvalidSetting(f"sets must be sets of arms, (sets, arms, d), got {sets!r}")
    found = [columns_of(rows, dim=dim) for rows in sets]
    for place, columns in enumerate(found):
        if columns.shape[1] != arms:
            raise InvalidArms(f"each of the sets must have {arms} arms; set {place} has {columns.shape[1]}")
    if not found:
        raise InvalidSetting("sets must be at least one set of arms, got none")
    return np.array(found)


def changing(
    dim: int,
    arms: int,
    seed: int,
    *,
    best: Literal["moving", "fixed", "recurring"] = "moving",
    gap: float = 0.1,
    rewards: Literal["sign", "gaussian"] = "sign",
) -> ChangingInstance:
    """Arms drawn anew in every round, theta uniform on the sphere.

    With `best="fixed"` the last arm is theta/2 in every round, and all others are worse by at
    least `gap`: the setting in which the theorem of the paper still holds (its appendix on
    time-varying features).

    With `best="moving"` the best arm moves with the draws, which go in all directions by
    themselves: such contexts explore for a greedy policy. With `best="recurring"` it moves too, but
    every round offers one of three fixed sets of arms, drawn as in the paper, which share no
    direction (each has its part of the features). No set teaches anything of the others, and the
    draws nothing that the arm chosen does not: a greedy policy can lock on a bad arm in each.

    >>> changing(dim=10, arms=50, seed=3).count
    50
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    direction = stream(seed, "changing", dim, arms).standard_normal(dim)
    theta = direction / np.linalg.norm(direction)
    one_of("rewards", rewards, ("sign", "gaussian"))
    real("gap", gap, above=0)
    one_of("best", best, ("moving", "fixed", "recurring"))
    if best == "recurring":
        sets = _recurring(dim, arms, stream(seed, "recurring", dim, arms))
        return ChangingInstance(theta=theta, arms=arms, sets=sets, rewards=rewards)
    if best == "moving":
        return ChangingInstance(theta=theta, arms=arms, rewards=rewards)
    return ChangingInstance(theta=theta, arms=arms - 1, fixed=theta[None] / 2, gap=gap, rewards=rewards)


def _recurring(dim: int, arms: int, rng: np.random.Generator) -> Floats:
    """Sets of arms, each in its own part of the features, (sets, arms, d)."""
    parts = np.array_split(np.arange(dim), min(SETS, dim))
    sets = np.zeros((len(parts), dim, arms))
    for columns, part in zip(sets, parts, strict=True):
        drawn = np.empty((1, part.size, arms))
        draw_arms(drawn, arms, rng)
        columns[part] = drawn[0]
    return sets.transpose(0, 2, 1)
