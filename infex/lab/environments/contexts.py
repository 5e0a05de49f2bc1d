"""Problems whose arms or contexts are drawn anew in every round."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from infex.arrays import ROUNDING, Floats, columns_of, products, shown
from infex.checks import one_of, qualified_name, real, set_fields, whole
from infex.core.drawing import draw_arms, shift_arms
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
    linked,
    reward_law,
)
from infex.lab.environments.fixed import BLOCK, key_of, vector
from infex.streams import stream


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


Contexts = Callable[[np.random.Generator], Any]


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
            last = first + len(block) - 1
            ends, thetas = path.rows(first, last)
            rows = thetas[np.searchsorted(ends, np.arange(first, last + 1))]
            means = self.truth.means_of(block, rows)
            self.law.refuse(means)
            yield Stretch(first, last, np.arange(first, last + 1), means, block)

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
            shift_arms(block, self.arms, theta, float(np.max(products(self.fixed, theta))) - self.gap)

    def _drawn(self, t: int, rng: np.random.Generator) -> Floats:
        assert self.contexts is not None
        try:
            columns = columns_of(self.contexts(rng), dim=self.dim)
        except InvalidArms as error:
            raise InvalidArms(f"contexts of round {t}: {error}") from None
        if columns.shape[1] != self.arms:
            raise InvalidArms(f"contexts of round {t} must be {self.arms} arms, got {columns.shape[1]}")
        return columns


def _refuse_contexts(contexts: object) -> None:
    if contexts is not None and not callable(contexts):
        raise InvalidSetting(f"contexts must be a function of a generator, got {contexts!r}")


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
        if self.sets is not None:
            if self.contexts is not None or not isinstance(self.sets, OfferSets):
                raise InvalidSetting("give either contexts, or sets as OfferSets")
            if self.sets.rows.shape[1:] != (1, thetas.shape[1]):
                raise InvalidSetting(
                    f"sets must be contexts of {thetas.shape[1]} features, (sets, 1, {thetas.shape[1]}), got "
                    f"{self.sets.rows.shape}"
                )
        source = qualified_name(self.contexts)
        content = f"contextual {thetas.shape} {law.name} {law.shown} {self.link} {source}".encode()
        content += law.content + (b"" if self.sets is None else self.sets.content)
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
        size = max(1, min(horizon, BLOCK // (self.context_dim + self.count)))
        for t in range(1, horizon + 1, size):
            drawn = np.empty((min(size, horizon + 1 - t), self.context_dim, 1))
            if self.sets is not None:
                drawn[:, :, 0] = self.sets.rows[rng.integers(len(self.sets), size=len(drawn)), 0]
            elif self.contexts is None:
                draw_arms(drawn, 1, rng)
            else:
                for place, one in enumerate(drawn):
                    one[:] = self._drawn(t + place, rng)
            yield t, drawn.reshape(len(drawn), self.context_dim)

    def stretches(self, seed: int, horizon: int) -> Iterator[Stretch]:
        """All rounds, some at a time, with their contexts and means."""
        for first, contexts in self.rounds(seed, horizon):
            means = np.zeros((len(contexts), self.count))
            for feature, shares in zip(contexts.T, self.thetas.T, strict=True):
                means += feature[:, None] * shares  # in this order on every machine
            means = linked(means, self.link)
            self.law.refuse(means)
            last = first + len(contexts) - 1
            yield Stretch(first, last, np.arange(first, last + 1), means, contexts)

    def _drawn(self, t: int, rng: np.random.Generator) -> Floats:
        assert self.contexts is not None
        try:
            return columns_of(np.reshape(self.contexts(rng), (1, -1)), dim=self.context_dim)
        except (InvalidArms, TypeError, ValueError) as error:
            raise InvalidArms(f"the context of round {t}: {error}") from None
