"""What every problem is made of: means of arms that may move, laws of rewards, and delays."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, final, runtime_checkable

import numpy as np

from infex.arrays import Floats, Integers, length_of, products, shown
from infex.checks import one_of, real, safe_repr, whole
from infex.core.drawing import random_walk
from infex.core.runs import Law
from infex.errors import InvalidReward, InvalidSetting
from infex.streams import stream

NEVER = -1
MOST_LATE = 10**7  # rounds whose rewards can be on their way


@final
@dataclass(frozen=True, slots=True)
class Late:
    """When rewards come: see `late`.

    `rounds` is how late every reward is, or else `mean` the mean of a geometric law; `lost` is the share
    that never comes.
    """

    rounds: int | tuple[int, ...] | None = None
    mean: float | None = None
    lost: float = 0.0

    def __post_init__(self) -> None:
        if self.rounds is not None and self.mean is not None:
            raise InvalidSetting(f"rewards are late by given rounds or by a mean, got both: {self!r}")
        if isinstance(self.rounds, tuple):
            if not self.rounds:
                raise InvalidSetting("a list of delays must have at least one, got none")
            [whole("a delay", delay, least=0) for delay in self.rounds]
        elif self.rounds is not None:
            whole("rounds", self.rounds, least=0)
        if self.mean is not None:
            real("mean", self.mean, least=0)
        real("lost", self.lost, least=0, most=1)

    def delays(self, seed: int, key: int, horizon: int) -> Integers:
        """After how many further decisions each round's reward is told; -1 is never."""
        if horizon > MOST_LATE:
            raise InvalidSetting(f"late rewards are kept for at most {MOST_LATE} rounds, got {horizon}")
        rng = stream(seed, "late", key)
        if self.mean is not None:
            found = rng.geometric(1.0 / (1.0 + self.mean), horizon) - 1
        else:
            found = np.resize(np.array(0 if self.rounds is None else self.rounds), horizon)
        found = found.astype(np.int64)
        found[rng.random(horizon) < self.lost] = NEVER
        return found


def checked_late(given: object) -> Late | None:
    """`late`, if it says when rewards come; a whole number is so many rounds."""
    if given is None or isinstance(given, Late):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return Late(given)
    raise InvalidSetting(
        f"late must be a number of rounds, or late(...) of infex.lab.environments, got {given!r}"
    )


def late(rounds: int | Sequence[int] | None = None, mean: float | None = None, lost: float = 0.0) -> Late:
    """Rewards that come after further decisions: so many `rounds`, or a geometric number with that `mean`.

    A list of rounds is gone through again and again. Each reward is `lost`, and never told, with that
    probability. Rewards that are due after the same decision are told in the order of their rounds.

    >>> late(rounds=20, lost=0.1)
    Late(rounds=20, mean=None, lost=0.1)
    """
    given = rounds if rounds is None or isinstance(rounds, int) else tuple(rounds)
    return Late(given, mean, lost)


Rows = tuple[Integers, Floats]


class Path(NamedTuple):
    """Where a parameter is, asked for in the order of rounds.

    `rows(first, last)` are the parameters of these rounds: the last round of each, and they themselves,
    (rows, d).
    """

    rows: Callable[[int, int], Rows]


@runtime_checkable
class Moves(Protocol):
    """How a parameter moves."""

    def path(self, theta: Floats, rng: np.random.Generator) -> Path:
        """From theta in round 1 on, by these draws."""


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

        def rows(first: int, last: int) -> Rows:
            nonlocal theta
            ends, thetas = [], []
            for t in self.changes(first, last):
                if t > first:
                    ends.append(t - 1)
                    thetas.append(theta)
                theta = directed(rng, theta.size) * length_of(theta)
            return np.array([*ends, last]), np.array([*thetas, theta])

        return Path(rows)

    def changes(self, first: int, last: int) -> list[int]:
        """The rounds from first to last that have a new parameter."""
        if self.every is None:
            return [t for t in self.at if first <= t <= last]
        return list(range(max(first, 2) + -(max(first, 2) - 1) % self.every, last + 1, self.every))


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
        length = length_of(theta)
        along = theta / length if length > 0 else np.zeros(theta.size)
        across = directed(rng, theta.size)
        across -= math.fsum(across * along) * along  # at a right angle to theta
        across = np.asarray(length * across / length_of(across))

        def rows(first: int, last: int) -> Rows:
            rounds = np.arange(first, last + 1)
            angles = 2.0 * math.pi * (((rounds - 1) / self.period) % 1.0)
            return rounds, np.cos(angles)[:, None] * theta + np.sin(angles)[:, None] * across

        return Path(rows)


@final
@dataclass(frozen=True, slots=True)
class RandomWalk:
    """A parameter that goes a step of `size` times its length in a random direction before every round."""

    size: float

    def __post_init__(self) -> None:
        real("size", self.size, above=0)

    def path(self, theta: Floats, rng: np.random.Generator) -> Path:
        """The path of one run; after each step the parameter is brought back to its length."""
        theta, length, begun = np.array(theta), length_of(theta), False

        def rows(first: int, last: int) -> Rows:
            nonlocal theta, begun
            thetas = random_walk(theta, length, self.size, last - first + 1, begun, rng)
            theta, begun = np.array(thetas[-1]), True
            return np.arange(first, last + 1), thetas

        return Path(rows)


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


Link = Literal["linear", "logistic"]
MeanFunction = Callable[[Floats], Any]

LINKS = ("linear", "logistic")
TIE = 1e-12  # of 1 + the best mean: what is nearer is as good


class Stretch(NamedTuple):
    """Rounds `first` to `last`: each row of `means` holds until the round of `ends`, (rows, K).

    `columns` are the arms where they are drawn anew, (rounds, d, K), or contexts, (rounds, c), where each arm
    has a parameter of its own; there is then a row for each round.
    """

    first: int
    last: int
    ends: Integers
    means: Floats
    columns: Floats | None = None


class BuiltInProblem:
    """What all problems share as loops play them. None of them can be refined by a subclass."""

    __slots__ = ()

    key: int  # names the streams of its draws, beside the seed
    law: RewardLaw
    late: Any

    def __init_subclass__(cls) -> None:
        if BuiltInProblem not in cls.__bases__:
            raise TypeError(
                f"{cls.__name__} cannot refine {cls.__bases__[0].__name__}: loops would not call what it "
                "overrides; give rewards=, mean=, moves= or late=, or write an environment of your own "
                "(infex.lab.environments)"
            )

    @property
    def fixed_arms(self) -> Floats | None:
        """The arms of every round, (K, d); None if they are drawn anew."""
        return None

    @property
    def is_plain(self) -> bool:
        """Can the quickest loop play it: fixed arms and means, a plain law of rewards, told at once?"""
        return False

    def draws(self, seed: int) -> np.random.Generator:
        """The draws of rewards in rounds 1, 2, ..."""
        return stream(seed, "rewards", self.key)

    def delays(self, seed: int, horizon: int) -> Integers | None:
        """After how many further decisions each reward is told, -1 for never; None if all come at once."""
        late = checked_late(self.late)
        return None if late is None else late.delays(seed, self.key, horizon)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Means x'theta through a link, with a theta that may move; or a function of the arms, (K, d) to (K,)."""

    theta: Floats
    link: Link = "linear"
    mean: MeanFunction | None = None
    moves: Moves | None = None

    def __post_init__(self) -> None:
        one_of("link", self.link, LINKS)
        if self.mean is not None and not callable(self.mean):
            raise InvalidSetting(f"mean must be a function of the arms, got {safe_repr(self.mean)}")
        if self.moves is not None and (isinstance(self.moves, type) or not isinstance(self.moves, Moves)):
            raise InvalidSetting(f"moves must be steps, turning or walk, got {safe_repr(self.moves)}")
        if self.mean is not None and (self.moves is not None or self.link != "linear"):
            raise InvalidSetting("a mean of your own has no link and does not move; write an environment")

    @property
    def is_plain(self) -> bool:
        """Are the means x'theta in every round?"""
        return self.link == "linear" and self.mean is None and self.moves is None

    @property
    def content(self) -> bytes:
        """What tells this truth from others, for the names of streams; none for a plain one."""
        if self.is_plain:
            return b""
        built_in = isinstance(self.moves, Steps | Turning | RandomWalk | None)
        moves = repr(self.moves) if built_in else type(self.moves).__qualname__  # no `repr` of a user's
        return f"{self.link} {moves}".encode()

    def path(self, seed: int, key: int) -> Path:
        """Where the parameter goes in a run."""
        theta = np.array(self.theta)
        if self.moves is None:
            return Path(lambda first, last: (np.array([last]), theta[None]))
        return self.moves.path(theta, stream(seed, "moves", key))

    def means(self, arms: Floats, theta: Floats) -> Floats:
        """The means of arms, (K, d), by a theta."""
        if self.mean is None:
            return linked(products(arms, theta), self.link)
        return means_from(self.mean(arms), len(arms))

    def means_of(self, block: Floats, thetas: Floats) -> Floats:
        """The means of the arms of some rounds, (rounds, d, K), by a theta for each, (rounds, d)."""
        if self.mean is None:
            return linked(np.einsum("bd,bdk->bk", thetas, block), self.link)
        return np.array([means_from(self.mean(shown(columns.T)), columns.shape[1]) for columns in block])


def linked(scores: Floats, link: Link) -> Floats:
    """Means from x'theta."""
    if link == "linear":
        return scores
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def means_from(given: Any, count: int) -> Floats:
    """The means that a user's function gave for so many arms."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(f"means must be {count} numbers, got {type(given).__name__}") from None
    if found.shape != (count,) or not np.all(np.isfinite(found)):
        raise InvalidSetting(
            f"means must be {count} finite numbers, one for each arm, got an array of shape {found.shape}"
            + ("" if np.all(np.isfinite(found)) else " with some that are not finite")
        )
    return found


def gaps_below(means: Floats) -> Floats:
    """By how much each mean falls short of the best; nothing within rounding."""
    gaps = means.max() - means
    gaps[gaps <= TIE * (1.0 + abs(means.max()))] = 0.0
    return np.asarray(gaps)


NamedLaw = Literal["sign", "bernoulli", "gaussian", "student"]
OwnLaw = Callable[[np.random.Generator, Floats], Floats]
Rewards = NamedLaw | OwnLaw
LAWS = {"sign": Law.SIGN, "bernoulli": Law.BERNOULLI, "gaussian": Law.GAUSSIAN, "student": Law.STUDENT}
NOISY = ("gaussian", "student")  # the named laws that read a noise
RANGES = {Law.SIGN: (-1.0, 1.0), Law.BERNOULLI: (0.0, 1.0)}  # of means, where a law has any
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
            return float(self._drawn(rng, np.array([[mean]]), 0)[0, 0])
        if self.kind == Law.SIGN:
            return 1.0 if rng.random() < (1.0 + mean) / 2.0 else -1.0
        if self.kind == Law.BERNOULLI:
            return 1.0 if rng.random() < mean else 0.0
        noise = self.noise if isinstance(self.noise, float) else self.noise.item(arm)
        gaussian = self.kind == Law.GAUSSIAN
        return mean + noise * (rng.standard_normal() if gaussian else rng.standard_t(self.degrees))

    def table(self, stretch: Stretch, seed: int, key: int) -> Floats | None:
        """The rewards of all arms in the rounds of a stretch, (rounds, K), by a user's law, else None.

        Blocks of rounds are drawn whole, whatever part of one is asked for, so that rewards do not depend on
        where stretches end; rounds beyond the stretch then have the means of its nearest round.
        """
        if self.kind != Law.TABLE:
            return None
        first, last = stretch.first, stretch.last
        means = stretch.means[np.searchsorted(stretch.ends, np.arange(first, last + 1))]
        found = np.empty_like(means)
        for block in range((first - 1) // ROUNDS_OF_A_BLOCK, (last - 1) // ROUNDS_OF_A_BLOCK + 1):
            rounds = np.arange(ROUNDS_OF_A_BLOCK) + block * ROUNDS_OF_A_BLOCK + 1
            rows = shown(means[np.clip(rounds, first, last) - first])
            drawn = self._drawn(stream(seed, "rewards", key, block), rows, int(rounds[0]))
            asked = (rounds >= first) & (rounds <= last)
            found[rounds[asked] - first] = drawn[asked]
        return found

    def _drawn(self, rng: np.random.Generator, means: Floats, first: int) -> Floats:
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

    def refuse(self, means: Floats) -> None:
        """Refuses means, (K,) or (rounds, K), that no reward of this law can have."""
        low, high = RANGES.get(self.kind, (-math.inf, math.inf))
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


def reward_law(rewards: object, noise: Any, degrees: float, count: int) -> RewardLaw:
    """The law that settings name, for so many arms."""
    is_own = callable(rewards)
    if is_own:
        _refuse_other_arguments(rewards)
    else:
        one_of("rewards", rewards, LAWS)
    spread: float | Floats
    if isinstance(noise, float | int | np.generic | np.ndarray) and np.ndim(noise) == 0:
        spread = real("noise", noise, least=0)
    else:
        try:
            spread = shown(np.array(noise, dtype=np.float64))
        except (TypeError, ValueError):
            raise InvalidSetting(f"noise must be a number, or one for each arm, got {noise!r}") from None
        if spread.shape != (count,) or not np.all((spread >= 0) & np.isfinite(spread)):
            raise InvalidSetting(
                f"noise must be a number from 0 on, or {count} of them, one for each arm, got {noise!r}"
            )
    if (is_own or rewards not in NOISY) and not (isinstance(spread, float) and spread == 1.0):
        law = "a law of your own has" if is_own else f"{rewards} rewards have"
        raise InvalidSetting(f"{law} no noise to be set, got noise={noise!r}")
    kind = LAWS[rewards] if isinstance(rewards, str) else Law.TABLE
    return RewardLaw(rewards, spread, real("degrees", degrees, above=0), count, kind)


def _refuse_other_arguments(law: Any) -> None:
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
