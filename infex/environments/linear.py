"""Problems with a fixed arm set and rewards linear in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, columns_of, shown
from infex.checks import one_of, real, whole
from infex.errors import InvalidSetting
from infex.kernels import TIE
from infex.kernels.rewards import LAWS, draw_of, reward_of
from infex.streams import stream


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearInstance:
    """Arms with mean rewards x'theta; it owns the means, the gaps and the regret.

    `rewards` is the law of a reward with mean m: "sign" is +1 with probability (1 + m)/2, else
    -1; "bernoulli" is 1 with probability m, else 0; "gaussian" is m + `noise` N(0, 1), the only law
    that reads `noise`. Each round has one draw, common to all policies that play the same instance
    with the same seed.

    >>> instance = LinearInstance([[1.0, 0.0], [0.0, 1.0]], theta=[0.5, 0.2])
    >>> instance.best, instance.gaps.tolist()
    (0, [0.0, 0.3])
    """

    arms: Floats
    theta: Floats
    rewards: Literal["sign", "gaussian", "bernoulli"] = "sign"
    noise: float = 1.0
    means: Floats = field(init=False, repr=False)
    gaps: Floats = field(init=False, repr=False)
    best: int = field(init=False)
    key: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arms = np.ascontiguousarray(columns_of(self.arms).T)
        theta = vector(self.theta, arms.shape[1])
        means = arms @ theta
        gaps = means.max() - means
        gaps[gaps <= TIE * (1.0 + abs(means.max()))] = 0.0  # rounding makes no arm worse
        one_of("rewards", self.rewards, LAWS)
        refuse_means(means, self.rewards)
        noise = real("noise", self.noise, least=0)
        content = arms.tobytes() + theta.tobytes() + f"{arms.shape} {self.rewards} {noise!r}".encode()
        derived: dict[str, Any] = {
            "arms": shown(arms),
            "theta": shown(theta),
            "noise": noise,
            "means": shown(means),
            "gaps": shown(gaps),
            "best": int(np.argmin(gaps)),
            "key": key_of(content),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        count, dim = self.arms.shape
        return (
            f"LinearInstance({count} arms of {dim} features, rewards={self.rewards!r}, noise={self.noise!r})"
        )

    @property
    def gap(self) -> float:
        """The smallest gap that is not nil: the paper's Delta; 0 if all arms are equally good."""
        positive = self.gaps[self.gaps > 0]
        return float(positive.min()) if positive.size else 0.0

    def draws(self, seed: int) -> np.random.Generator:
        """The draws of rounds 1, 2, ...: one uniform each, or one normal for Gaussian rewards."""
        return stream(*self.stream_name(seed))

    def stream_name(self, seed: int) -> tuple[int, str, int]:
        """The seed and the name of these draws."""
        return seed, "rewards", self.key

    def reward(self, arm: int, rng: np.random.Generator) -> float:
        """The reward of an arm in the round whose draw `rng` gives next."""
        law = LAWS[self.rewards]
        return float(reward_of(law, self.means[arm], self.noise, draw_of(law, rng)))


def gaussian(
    dim: int, arms: int, seed: int | np.random.Generator, rewards: Literal["sign", "gaussian"] = "sign"
) -> LinearInstance:
    """An instance as in the paper: arms N(0, I/(2d)) cut to length 1, theta uniform on the sphere.

    >>> gaussian(dim=10, arms=1000, seed=3).arms.shape
    (1000, 10)
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    one_of("rewards", rewards, ("sign", "gaussian"))
    rng = seed if isinstance(seed, np.random.Generator) else stream(seed, "gaussian", dim, arms)
    rows = rng.standard_normal((arms, dim)) * np.sqrt(1 / (2 * dim))
    lengths = np.linalg.norm(rows, axis=1)
    rows[lengths > 1] /= lengths[lengths > 1, None]
    theta = rng.standard_normal((dim,))
    return LinearInstance(rows, theta / np.linalg.norm(theta), rewards)


def lower_bound(gap: float, which: Literal[1, 2] = 2) -> LinearInstance:
    """The two arms 1 and 0 (d = 1) of the paper's lower bound: theta is -gap in instance 1, gap in 2.

    Rewards have noise N(0, 1). A policy that explores too rarely has a regret of nearly order T in
    instance 2, where it may drop the better arm for good.

    >>> lower_bound(0.25, which=1).best, lower_bound(0.25, which=2).best
    (1, 0)
    """
    gap = real("gap", gap, above=0)
    if which not in (1, 2):
        raise InvalidSetting(f"which must be 1 or 2, got {which!r}")
    return LinearInstance(np.array([[1.0], [0.0]]), np.array([-gap if which == 1 else gap]), "gaussian")


def key_of(content: bytes) -> int:
    """What a problem's streams are named for."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _short(given: object) -> str:
    """What was given, in one line."""
    words = " ".join(repr(given).split())
    return words if len(words) <= 80 else f"{words[:77]}..."


def vector(theta: npt.ArrayLike, dim: int | None = None, name: str = "theta") -> Floats:
    """theta as an array of so many finite numbers."""
    asked = "numbers" if dim is None else f"{dim} numbers"
    try:
        given = np.asarray(theta)
        if given.dtype.kind not in "iufO":
            raise TypeError
        found = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(f"{name} must be {asked}, got {_short(theta)}") from None
    if found.ndim != 1 or found.size != (dim or max(found.size, 1)) or not np.all(np.isfinite(found)):
        raise InvalidSetting(
            f"{name} must be {asked.replace('numbers', 'finite numbers')}, got {_short(theta)}"
        )
    return found


def refuse_means(means: Floats, rewards: str) -> None:
    """Refuses means, (K,) or (rounds, K), that no reward of that law can have."""
    low, high = {"sign": (-1.0, 1.0), "bernoulli": (0.0, 1.0), "gaussian": (-np.inf, np.inf)}[rewards]
    slack = 1e-9
    bad = (means < low - slack) | (means > high + slack)
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidSetting(
            f"means must be from {low:g} to {high:g} for {rewards} rewards; "
            f"arm {place % means.shape[-1]} has {means.flat[place]:.6g}"
        )
