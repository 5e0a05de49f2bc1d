"""Problems as loops play them: fixed arms, arms or contexts drawn anew, and a user's own environments."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from infex.arrays import ROUNDING, Floats, columns_of, products, shown
from infex.checks import copied, misspelt, one_of, qualified_name, real, set_fields, whole
from infex.core.drawing import draw_arms, shift_arms
from infex.core.runs import Law
from infex.errors import InvalidArms, InvalidSetting
from infex.lab.environments.base import (
    LINKS,
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
    means_from,
    name_of,
    reward_law,
)
from infex.streams import stream

BLOCK = 1 << 17  # numbers in the means, or the arms, that are drawn at a time
STRETCH = 1 << 16  # rounds of a stretch, after which Ctrl-C is heard: some hundredths of a second
OPTIONAL = ("arms", "offer", "reward", "rewards", "noise", "degrees", "late", "key", "theta")
LAW_NAMES = ("reward", "rewards")

Contexts = Callable[[np.random.Generator], Any]


def key_of(content: bytes) -> int:
    """What a problem's streams are named for."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def parts(horizon: int, size: int) -> Iterator[tuple[int, int]]:
    """The first and the last round of parts of `size` rounds, or of 1 at least."""
    size = max(1, min(horizon, size))
    for first in range(1, horizon + 1, size):
        yield first, min(first + size - 1, horizon)


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


def columns_in_round(t: int, given: Any, count: int, dim: int, *, context: bool = False) -> Floats:
    """What a user's function drew for round t, as columns, (d, K): so many arms, or a context."""
    try:
        columns = columns_of(np.reshape(given, (1, -1)) if context else given, dim=dim)
    except (InvalidArms, TypeError, ValueError) as error:
        raise InvalidArms(f"the {'context' if context else 'arms'} of round {t}: {error}") from None
    if columns.shape[1] != count:
        raise InvalidArms(f"there must be {count} arms in every round; round {t} has {columns.shape[1]}")
    return columns


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
    `walk`) says how theta moves; `means`, `gaps`, `best` and the `largest` size of a mean are those of
    round 1. `late` says when rewards come. Regret is against the best arm of each round.

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
        for first, last in parts(horizon, STRETCH if steady else BLOCK // self.count):
            if self.moves is None:
                yield Stretch(first, last, np.array([last]), self.means[None].copy())
                continue
            ends, thetas = path.rows(first, last)
            means = linked(np.einsum("rd,kd->rk", thetas, self.arms), self.link)
            self.law.refuse(means)
            yield Stretch(first, last, ends, np.ascontiguousarray(means))


@final
class OfferSets:
    """Sets of as many arms each, (sets, K, d), none longer than 1; a round draws one of them uniformly.

    A context by itself is a set of one row. Problems that share it hold no copies.

    >>> OfferSets([[[1.0, 0.0], [0.0, 1.0]]]).rows.shape
    (1, 2, 2)
    """

    __slots__ = ("content", "rows")

    def __init__(self, sets: npt.ArrayLike) -> None:
        rows: Floats = np.array(sets, dtype=np.float64, order="C")
        if rows.ndim != 3 or 0 in rows.shape:
            raise InvalidArms(f"sets must be sets of arms, (sets, arms, d), got the shape {rows.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            fits = np.einsum("skd,skd->sk", rows, rows).max() <= (1.0 + ROUNDING) ** 2  # NaN does not
        if not fits:
            raise InvalidArms("arms of sets must be finite and no longer than 1")
        self.rows = shown(rows)
        self.content = hashlib.blake2b(rows.tobytes(), digest_size=16).digest()

    def __deepcopy__(self, memo: object) -> OfferSets:
        """Itself: nothing changes it."""
        return self

    def __len__(self) -> int:
        return len(self.rows)


def draw_block(
    rng: np.random.Generator,
    block: Floats,
    t: int,
    count: int,
    contexts: Contexts | None,
    sets: Floats | None,
    *,
    context: bool = False,
) -> None:
    """Draws `count` arms for each round from t on, or a `context`, into the first columns of (rounds, d, K).

    They are one of `sets`, (sets, K, d), or what `contexts` gives, or N(0, I/(2d)) cut to length 1.
    """
    if sets is not None:
        block[:, :, :count] = sets.transpose(0, 2, 1)[rng.integers(len(sets), size=len(block))]
    elif contexts is None:
        draw_arms(block, count, rng)
    else:
        for place, columns in enumerate(block):
            columns[:, :count] = columns_in_round(
                t + place, contexts(rng), count, len(columns), context=context
            )


def _refuse_contexts(contexts: object) -> None:
    if contexts is not None and not callable(contexts):
        raise InvalidSetting(f"contexts must be a function of a generator, got {contexts!r}")


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChangingInstance(BuiltInProblem):
    """In every round `arms` new arms, independent of the past, then the `fixed` ones, with means x'theta.

    New arms are N(0, I/(2d)) cut to length 1, or what `contexts(rng)` gives: an array of (arms, d),
    none longer than 1, by `rng` alone; or those of one of `sets`, (sets, arms, d), drawn uniformly, which
    many problems share if they are `OfferSets`.
    With a `gap`, a drawn arm that comes nearer than that to the best fixed one is shifted along theta
    until it does not. `rewards`, `noise` (a number, or one for each place), `degrees`, `link`, `mean`,
    `moves` and `late` are those of `LinearInstance`.

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
    rewards: Rewards = "sign"
    noise: float | Floats = 1.0
    degrees: float = 3.0
    link: Link = "linear"
    mean: MeanFunction | None = None
    moves: Moves | None = None
    late: Late | int | None = None
    key: int = field(init=False, repr=False)
    law: RewardLaw = field(init=False, repr=False)
    truth: Truth = field(init=False, repr=False)

    def __post_init__(self) -> None:
        theta = vector(self.theta)
        arms = whole("arms", self.arms, least=0 if self.fixed is not None else 1)
        fixed = np.zeros((len(theta), 0)) if self.fixed is None else columns_of(self.fixed, dim=len(theta))
        law = reward_law(self.rewards, self.noise, self.degrees, fixed.shape[1] + arms)
        truth = Truth(theta, self.link, self.mean, self.moves)
        if fixed.shape[1]:
            law.refuse(truth.means(fixed.T, theta))
        _refuse_contexts(self.contexts)
        sets, sets_content = _rows_of_sets(self.sets, len(theta), arms)
        if self.sets is not None and self.contexts is not None:
            raise InvalidSetting("give either contexts or sets, got both")
        gap = None if self.gap is None else _possible_gap(real("gap", self.gap, above=0), truth, fixed)
        noise = repr(law.noise) if law.is_plain else law.shown
        content = f"{arms} {fixed.shape} {(len(sets), len(theta), arms)} {gap!r} {law.name} {noise} "
        content += qualified_name(self.contexts)
        key = key_of(
            theta.tobytes() + fixed.tobytes() + sets_content + content.encode() + truth.content
            + (b"" if law.is_plain else law.content)
        )  # fmt: skip
        set_fields(
            self,
            theta=shown(theta),
            arms=arms,
            fixed=shown(np.ascontiguousarray(fixed.T)),
            sets=sets,
            gap=gap,
            noise=law.noise,
            law=law,
            truth=truth,
            late=checked_late(self.late),
            key=key,
        )

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.theta.size)

    @property
    def count(self) -> int:
        """How many arms are on offer in a round; the fixed ones come last, as ties go to the first."""
        return len(self.fixed) + self.arms

    def reward(self, mean: float, rng: np.random.Generator) -> float:
        """The reward of an arm of that mean, in the round whose draw `rng` gives next."""
        return self.law.draw(0, mean, rng)

    def stretches(self, seed: int, horizon: int) -> Iterator[Stretch]:
        """All rounds, some at a time, with their arms and means."""
        path = self.truth.path(seed, self.key)
        for first, block in self.blocks(seed, horizon):
            rounds = np.arange(first, first + len(block))
            ends, thetas = path.rows(first, int(rounds[-1]))
            means = self.truth.means_of(block, thetas[np.searchsorted(ends, rounds)])
            self.law.refuse(means)
            yield Stretch(first, int(rounds[-1]), rounds, means, block)

    def blocks(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The arms of all rounds, some at a time: the first of them, and their columns, (rounds, d, K)."""
        rng, theta = stream(seed, "contexts", self.key), np.array(self.theta)
        sets = self.sets if len(self.sets) else None
        for first, last in parts(horizon, BLOCK // (self.dim * self.count)):
            block = np.empty((last - first + 1, self.dim, self.count))
            block[:, :, self.arms :] = self.fixed.T
            draw_block(rng, block, first, self.arms, self.contexts, sets)
            if self.gap is not None:
                shift_arms(block, self.arms, theta, float(np.max(products(self.fixed, theta))) - self.gap)
            yield first, block


def _possible_gap(gap: float, truth: Truth, fixed: Floats) -> float:
    """The gap, if means stay as they are and one of the columns `fixed` leaves room for it."""
    if not truth.is_plain:
        raise InvalidSetting("a gap needs means x'theta that stay as they are")
    means = products(fixed.T, truth.theta)
    if not (means.size and np.max(means) >= gap):
        raise InvalidSetting(f"a gap of {gap:g} needs a fixed arm with a mean of at least that")
    return gap


def _rows_of_sets(sets: object, dim: int, arms: int) -> tuple[Floats, bytes]:
    """Sets of arms, (sets, arms, d), which may be none; and the bytes that tell them from others."""
    if isinstance(sets, OfferSets):
        if sets.rows.shape[1:] != (arms, dim):
            raise InvalidArms(f"sets must be of {arms} arms of {dim} features, got {sets.rows.shape[1:]}")
        return sets.rows, sets.content
    if sets is not None and not isinstance(sets, Iterable):
        raise InvalidSetting(f"sets must be sets of arms, (sets, arms, d), got {sets!r}")
    found = [] if sets is None else [columns_of(rows, dim=dim) for rows in sets]
    for place, columns in enumerate(found):
        if columns.shape[1] != arms:
            raise InvalidArms(f"each of the sets must have {arms} arms; set {place} has {columns.shape[1]}")
    if sets is not None and not found:
        raise InvalidSetting("sets must be at least one set of arms, got none")
    columns = np.array(found) if found else np.zeros((0, dim, arms))
    return shown(np.ascontiguousarray(columns.transpose(0, 2, 1))), columns.tobytes()


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ContextualInstance(BuiltInProblem):
    """A context in every round, independent of the past; arm k has the mean x'theta_k in it.

    `thetas` are the parameters, (K, c), a row for each arm. Contexts are N(0, I/(2c)) cut to length 1, or
    what `contexts(rng)` gives: c numbers, no longer than 1, by `rng` alone; or those of `sets`, drawn
    uniformly: `OfferSets` of one row each, which many problems share. `rewards`, `noise`, `degrees`, `link`
    and `late` are those of `LinearInstance`. Policies learn a regression for each arm, as in a
    `Bandit` with `features.disjoint`; regret counts from the best arm of each round.

    All policies that play the same instance with the same seed meet the same contexts and noise.

    >>> instance = ContextualInstance(thetas=[[0.6, 0.0], [0.0, 0.6], [0.3, 0.3]])
    >>> [contexts.shape for t, contexts in instance.rounds(seed=1, horizon=4)]
    [(4, 2)]
    """

    thetas: Any
    contexts: Contexts | None = None
    sets: OfferSets | None = None
    rewards: Rewards = "sign"
    noise: float | Floats = 1.0
    degrees: float = 3.0
    link: Link = "linear"
    late: Late | int | None = None
    key: int = field(init=False, repr=False)
    law: RewardLaw = field(init=False, repr=False)

    def __post_init__(self) -> None:
        thetas: Floats = np.zeros(0)
        with contextlib.suppress(TypeError, ValueError):  # what holds no numbers
            thetas = np.array(self.thetas, dtype=np.float64)
        if thetas.ndim != 2 or 0 in thetas.shape or not np.isfinite(thetas).all():
            raise InvalidSetting(
                f"thetas must be finite numbers (K, c), a row for each arm, got {thetas.shape}"
            )
        law = reward_law(self.rewards, self.noise, self.degrees, len(thetas))
        one_of("link", self.link, LINKS)
        _refuse_contexts(self.contexts)
        content = f"contextual {thetas.shape} {law.name} {law.shown} {self.link} ".encode()
        content += qualified_name(self.contexts).encode() + law.content
        if self.sets is not None:
            if self.contexts is not None or not isinstance(self.sets, OfferSets):
                raise InvalidSetting("give either contexts, or sets as OfferSets")
            if self.sets.rows.shape[1:] != (1, thetas.shape[1]):
                raise InvalidSetting(
                    f"sets must be contexts of {thetas.shape[1]} features, (sets, 1, {thetas.shape[1]}), got "
                    f"{self.sets.rows.shape}"
                )
            content += self.sets.content
        set_fields(
            self,
            thetas=shown(thetas),
            noise=law.noise,
            law=law,
            late=checked_late(self.late),
            key=key_of(thetas.tobytes() + content),
        )

    mean = None  # no function of a user's says what means are

    @property
    def count(self) -> int:
        """How many arms there are."""
        return len(self.thetas)

    @property
    def context_dim(self) -> int:
        """How many features a context has."""
        return int(self.thetas.shape[1])

    @property
    def dim(self) -> int:
        """How many parameters all arms have together."""
        return int(self.thetas.size)

    @property
    def theta(self) -> Floats:
        """All parameters, one behind the other."""
        return shown(self.thetas.reshape(-1))

    @property
    def arms(self) -> int:
        """How many arms are known in every context."""
        return self.count

    def rounds(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The contexts of all rounds, some at a time: the first of them, and its contexts, (rounds, c)."""
        rng = stream(seed, "contexts", self.key)
        sets = None if self.sets is None else self.sets.rows
        for first, last in parts(horizon, BLOCK // (self.context_dim + self.count)):
            drawn = np.empty((last - first + 1, self.context_dim, 1))
            draw_block(rng, drawn, first, 1, self.contexts, sets, context=True)
            yield first, drawn[:, :, 0]

    def stretches(self, seed: int, horizon: int) -> Iterator[Stretch]:
        """All rounds, some at a time, with their contexts and means."""
        for first, contexts in self.rounds(seed, horizon):
            means = np.zeros((len(contexts), self.count))
            for feature, shares in zip(contexts.T, self.thetas.T, strict=True):
                means += feature[:, None] * shares  # in this order on every machine
            means = linked(means, self.link)
            self.law.refuse(means)
            rounds = np.arange(first, first + len(contexts))
            yield Stretch(first, int(rounds[-1]), rounds, means, contexts)


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
        for first, last in parts(horizon, BLOCK // (self.dim * self.count)):
            offers = ((t, self.environment.offer(t, rng)) for t in range(first, last + 1))
            yield first, np.array([columns_in_round(*each, self.count, self.dim) for each in offers])

    def stretches(self, seed: int, horizon: int) -> Iterator[Stretch]:
        """All rounds, some at a time, with their means, and their arms if those are drawn anew."""
        if self.fixed_arms is not None:
            for first, last in parts(horizon, BLOCK // self.count):
                means = [self._means(t, self.fixed_arms) for t in range(first, last + 1)]
                yield Stretch(first, last, np.arange(first, last + 1), np.array(means))
            return
        for first, block in self.blocks(seed, horizon):
            means = [self._means(t, shown(columns.T)) for t, columns in enumerate(block, first)]
            rounds = np.arange(first, first + len(block))
            yield Stretch(first, int(rounds[-1]), rounds, np.array(means), block)

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
