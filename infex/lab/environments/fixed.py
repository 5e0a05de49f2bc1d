"""Problems with a fixed arm set."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, columns_of, shown
from infex.checks import set_fields
from infex.core.runs import Law
from infex.errors import InvalidSetting
from infex.lab.environments.base import (
    BuiltInProblem,
    Late,
    Link,
    MeanFunction,
    Moves,
    RewardLaw,
    Rewards,
    Stretch,
    Truth,
    checked_late,
    gaps_below,
    linked,
    reward_law,
)

BLOCK = 1 << 17  # numbers in the means, or the arms, that are drawn at a time
STRETCH = 1 << 16  # rounds of a stretch, after which Ctrl-C is heard: some hundredths of a second


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearInstance(BuiltInProblem):
    """Fixed arms with mean rewards x'theta; it owns the means, the gaps and the regret.

    `rewards` is the law of a reward with mean m: "sign" is +1 with probability (1 + m)/2, else
    -1; "bernoulli" is 1 with probability m, else 0; "gaussian" is m + `noise` N(0, 1); "student" is
    m + `noise` times a draw of Student's t with so many `degrees` of freedom; a function of `(rng, means)`
    that gives an array of rewards like that of the means, (rounds, K), is a law of your own. `noise` is a
    number, or one for each arm. Each round has its draws, common to all policies that play the same instance
    with the same seed.

    With `link="logistic"` means are 1/(1 + exp(-x'theta)); with `mean`, a function of the arms, (K, d) to
    (K,), they are what it gives: theta is then what a linear model is told. `moves` (`steps`, `turning`,
    `walk`) says how theta moves; `means`, `gaps`, `best` and the `largest` size of a mean
    are those of round 1. `late` says when rewards
    come. Regret is against the best arm of each round.

    >>> instance = LinearInstance([[1.0, 0.0], [0.0, 1.0]], theta=[0.5, 0.2])
    >>> instance.best, instance.gaps.tolist()
    (0, [0.0, 0.3])
    """

    arms: Floats
    theta: Floats
    rewards: Rewards = "sign"
    noise: float | Floats = 1.0
    degrees: float = field(default=3.0, kw_only=True)
    link: Link = field(default="linear", kw_only=True)
    mean: MeanFunction | None = field(default=None, kw_only=True)
    moves: Moves | None = field(default=None, kw_only=True)
    late: Late | int | None = field(default=None, kw_only=True)
    means: Floats = field(init=False, repr=False)
    gaps: Floats = field(init=False, repr=False)
    best: int = field(init=False)
    largest: float = field(init=False, repr=False)
    key: int = field(init=False, repr=False)
    law: RewardLaw = field(init=False, repr=False)
    truth: Truth = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arms = np.ascontiguousarray(columns_of(self.arms).T)
        theta = vector(self.theta, arms.shape[1])
        law = reward_law(self.rewards, self.noise, self.degrees, len(arms))
        truth = Truth(theta, self.link, self.mean, self.moves)
        means = truth.means(shown(arms), theta)
        gaps = gaps_below(means)
        law.refuse(means)
        plain = f"{arms.shape} {law.name} {law.noise!r}".encode()
        content = (plain if law.is_plain else law.content) + truth.content
        content += b"" if self.mean is None else means.tobytes()
        set_fields(
            self,
            arms=shown(arms),
            theta=shown(theta),
            noise=law.noise,
            means=shown(means),
            gaps=shown(gaps),
            best=int(np.argmin(gaps)),
            largest=float(np.abs(means).max()),
            law=law,
            truth=truth,
            late=checked_late(self.late),
            key=key_of(arms.tobytes() + theta.tobytes() + content),
        )

    def __repr__(self) -> str:
        count, dim = self.arms.shape
        law = f"rewards={self.law.name}, noise={self.law.shown}"
        return f"LinearInstance({count} arms of {dim} features, {law})"

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.arms.shape[1])

    @property
    def count(self) -> int:
        """How many arms there are."""
        return len(self.arms)

    @property
    def fixed_arms(self) -> Floats:
        """The arms of every round, (K, d)."""
        return self.arms

    @property
    def is_plain(self) -> bool:
        """Are means fixed, rewards of one of the plain laws, and told at once? Such runs are the quickest."""
        return self.law.is_plain and self.late is None and self.moves is None

    @property
    def gap(self) -> float:
        """The smallest gap that is not nil: the paper's Delta; 0 if all arms are equally good."""
        positive = self.gaps[self.gaps > 0]
        return float(positive.min()) if positive.size else 0.0

    def reward(self, arm: int, rng: np.random.Generator) -> float:
        """The reward of an arm, with its mean of round 1, in the round whose draw `rng` gives next."""
        return self.law.draw(arm, float(self.means[arm]), rng)

    def stretches(self, seed: int, horizon: int) -> Iterator[Stretch]:
        """All rounds, some at a time, with the means that hold in them."""
        path = self.truth.path(seed, self.key)
        steady = self.moves is None and self.law.kind != Law.TABLE
        size = min(horizon, STRETCH if steady else max(1, BLOCK // self.count))
        for first in range(1, horizon + 1, size):
            last = min(first + size - 1, horizon)
            if self.moves is None:
                yield Stretch(first, last, np.array([last]), self.means[None].copy())
                continue
            ends, thetas = path.rows(first, last)
            means = linked(np.einsum("rd,kd->rk", thetas, self.arms), self.link)
            self.law.refuse(means)
            yield Stretch(first, last, ends, np.ascontiguousarray(means))


def key_of(content: bytes) -> int:
    """What a problem's streams are named for."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def vector(theta: npt.ArrayLike, dim: int | None = None) -> Floats:
    """theta as an array of so many finite numbers."""
    with contextlib.suppress(TypeError, ValueError):
        given = np.asarray(theta)
        found = given.astype(np.float64) if given.dtype.kind in "iufO" else np.zeros(0)
        if found.ndim == 1 and found.size == (dim or max(found.size, 1)) and np.all(np.isfinite(found)):
            return found
    words = " ".join(repr(theta).split())
    short = words if len(words) <= 80 else f"{words[:77]}..."
    raise InvalidSetting(f"theta must be {'' if dim is None else f'{dim} '}finite numbers, got {short}")
