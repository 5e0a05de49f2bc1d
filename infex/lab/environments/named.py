"""Problems by name: each is a function of its settings and a seed.

All take the settings of `Nature` too: the law of `rewards` with its `noise` and `degrees`, the `link` from
x'theta to means, how theta `moves`, and how `late` rewards are; each as in `LinearInstance`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack, final

import numpy as np

from infex.arrays import Floats, length_of, products
from infex.checks import one_of, real, whole
from infex.core.drawing import draw_arms
from infex.errors import InvalidSetting
from infex.lab.environments.base import Late, Link, Moves, Rewards, directed
from infex.lab.environments.instances import ChangingInstance, ContextualInstance, LinearInstance
from infex.streams import stream

SETS = 3  # of recurring arms
SMALLEST_PIVOT = 1e-12  # of a kernel: less is rounding


class Nature(TypedDict, total=False):
    """The settings that every problem takes."""

    rewards: Rewards
    noise: float | Floats
    degrees: float
    link: Link
    moves: Moves
    late: Late | int


def settings_of(named: Callable[..., Any]) -> dict[str, Any]:
    """The settings of a problem by name, with their defaults: `inspect.Parameter.empty` where it has none.

    `named` is the function that makes it, such as `gaussian`.
    """
    own = {
        name: each.default
        for name, each in inspect.signature(named).parameters.items()
        if name != "seed" and each.kind is not each.VAR_KEYWORD
    }
    return own | {name: None for name in Nature.__annotations__ if name not in own}


def gaussian(
    dim: int, arms: int, seed: int | np.random.Generator, **nature: Unpack[Nature]
) -> LinearInstance:
    """An instance as in the paper: arms N(0, I/(2d)) cut to length 1, theta uniform on the sphere.

    `nature` are the settings that all problems share (see `LinearInstance`).

    >>> gaussian(dim=10, arms=1000, seed=3).arms.shape
    (1000, 10)
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    rng = seed if isinstance(seed, np.random.Generator) else stream(seed, "gaussian", dim, arms)
    rows = _cut(rng, arms, dim)
    theta = rng.standard_normal((dim,))
    return LinearInstance(rows, theta / length_of(theta), **nature)


def _cut(rng: np.random.Generator, arms: int, dim: int) -> Floats:
    """Arms N(0, I/(2d)) cut to length 1."""
    rows = rng.standard_normal((arms, dim)) * np.sqrt(1 / (2 * dim))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1.0))


def _on_sphere(rng: np.random.Generator, arms: int, dim: int) -> Floats:
    rows = rng.standard_normal((arms, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])


def _within_ball(rows: Floats) -> Floats:
    """Rows no longer than 1, by rounding at most."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1).clip(1.0)[:, None])


def _refuse_more(name: str, number: int, other: str, most: int) -> None:
    if whole(name, number, least=1) > most:
        raise InvalidSetting(f"{name} must be at most {other} ({most}), got {number}")


def lower_bound(
    gap: float, which: Literal[1, 2] = 2, seed: int = 0, **nature: Unpack[Nature]
) -> LinearInstance:
    """The two arms 1 and 0 (d = 1) of the paper's lower bound: theta is -gap in instance 1, gap in 2.

    Rewards have noise N(0, 1) unless `nature` says otherwise. A policy that explores too rarely has a
    regret of nearly order T in instance 2, where it may drop the better arm for good. It is the same for
    every `seed`.

    >>> lower_bound(0.25, which=1).best, lower_bound(0.25, which=2).best
    (1, 0)
    """
    gap = real("gap", gap, above=0)
    if which not in (1, 2):
        raise InvalidSetting(f"which must be 1 or 2, got {which!r}")
    theta = np.array([-gap if which == 1 else gap])
    more: Nature = {"rewards": "gaussian", **nature}
    return LinearInstance(np.array([[1.0], [0.0]]), theta, **more)


def sparse(dim: int, arms: int, seed: int, *, nonzero: int = 2, **nature: Unpack[Nature]) -> LinearInstance:
    """Arms as in the paper, and a theta with `nonzero` numbers other than 0, uniform in direction.

    `nature` are the settings that all problems share (see `LinearInstance`).

    >>> int(np.count_nonzero(sparse(dim=20, arms=50, seed=1, nonzero=3).theta))
    3
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    _refuse_more("nonzero", nonzero, "dim", dim)
    rng = stream(seed, "sparse", dim, arms, nonzero)
    theta = np.zeros(dim)
    theta[rng.choice(dim, nonzero, replace=False)] = directed(rng, nonzero)
    return LinearInstance(_cut(rng, arms, dim), theta, **nature)


def sphere(dim: int, arms: int, seed: int, *, gap: float = 0.1, **nature: Unpack[Nature]) -> LinearInstance:
    """Arms on the unit sphere: theta is the best one, and every other is worse by at least `gap`.

    Arms are drawn uniformly until they are; some lie at exactly the gap only by chance.

    `nature` are the settings that all problems share (see `LinearInstance`).

    >>> float(sphere(dim=5, arms=50, seed=1, gap=0.3).gap) >= 0.3
    True
    """
    dim, arms = whole("dim", dim, least=2), whole("arms", arms, least=1)
    gap = real("gap", gap, above=0, most=1)
    rng = stream(seed, "sphere", dim, arms)
    theta = directed(rng, dim)
    rows = _on_sphere(rng, arms, dim)
    while (near := products(rows, theta) > 1.0 - gap).any():
        rows[near] = _on_sphere(rng, int(near.sum()), dim)
    rows[rng.integers(arms)] = theta
    return LinearInstance(_within_ball(rows), theta, **nature)


def near_ties(
    dim: int, arms: int, seed: int, *, ties: int = 5, gap: float = 0.01, **nature: Unpack[Nature]
) -> LinearInstance:
    """Arms as in the paper, of which `ties` are nearly the best: worse by `gap`, 2 `gap` and so on.

    The arms stand in random order, so that a policy that begins with the first is no better off. `nature` are
    the settings that all problems share (see `LinearInstance`).

    >>> sorted(near_ties(dim=5, arms=50, seed=1, ties=3, gap=0.02).gaps.round(12).tolist())[:3]
    [0.0, 0.02, 0.04]
    """
    dim, arms = whole("dim", dim, least=2), whole("arms", arms, least=1)
    ties, gap = whole("ties", ties, least=1), real("gap", gap, above=0)
    _refuse_more("ties", ties, "arms", arms)
    rng = stream(seed, "near_ties", dim, arms)
    theta = directed(rng, dim)
    rows = _cut(rng, arms, dim)
    top = max(float(products(rows, theta).max()), ties * gap)
    if top > 0.9:
        top = 0.9
        _lower(rows, theta, top)
    if top - ties * gap < -0.9:
        raise InvalidSetting(f"{ties} arms that are {gap:g} apart do not fit into the unit ball")
    rows[:ties] = _moved_to(top - gap * np.arange(ties, dtype=np.float64), rows[:ties], theta)
    _lower(rows[ties:], theta, top - gap * ties)
    return LinearInstance(rng.permutation(_within_ball(rows)), theta, **nature)


def _lower(rows: Floats, theta: Floats, top: float) -> None:
    """Moves arms along theta, so that no mean is above `top`."""
    rows -= np.maximum(products(rows, theta) - top, 0.0)[:, None] * theta


def _moved_to(means: Floats, rows: Floats, theta: Floats) -> Floats:
    """Arms of these means, within the unit ball, each in the direction of its row across theta."""
    across = rows - products(rows, theta)[:, None] * theta
    room = np.sqrt(1.0 - means**2) / np.linalg.norm(across, axis=1)
    return np.asarray(means[:, None] * theta + across * np.minimum(room, 1.0)[:, None])


def collinear(
    dim: int, arms: int, seed: int, *, spread: float = 0.05, **nature: Unpack[Nature]
) -> LinearInstance:
    """Arms close to one line: lengths along it from -0.9 to 0.9, and N(0, `spread`^2/d) in every direction.

    What is learnt of one arm tells nearly all of the others, but for what decides among the best.

    `nature` are the settings that all problems share (see `LinearInstance`).

    >>> collinear(dim=5, arms=20, seed=1).arms.shape
    (20, 5)
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    spread = real("spread", spread, least=0)
    rng = stream(seed, "collinear", dim, arms)
    line = directed(rng, dim)
    rows = rng.uniform(-0.9, 0.9, arms)[:, None] * line
    rows = rows + spread * rng.standard_normal((arms, dim)) / np.sqrt(dim)
    return LinearInstance(_within_ball(rows), directed(rng, dim), **nature)


def many_arms(dim: int = 20, arms: int = 10_000, seed: int = 0, **nature: Unpack[Nature]) -> LinearInstance:
    """Very many arms, uniform on the sphere, so that many are nearly the best.

    `nature` are the settings that all problems share (see `LinearInstance`).

    >>> many_arms(dim=5, seed=1).count
    10000
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    rng = stream(seed, "many_arms", dim, arms)
    return LinearInstance(_within_ball(_on_sphere(rng, arms, dim)), directed(rng, dim), **nature)


def kernel(
    arms: int,
    seed: int,
    *,
    rank: int = 20,
    scale: float = 0.2,
    point_dim: int = 2,
    **nature: Unpack[Nature],
) -> LinearInstance:
    """A kernel bandit: arms are points, and their means vary smoothly from point to point.

    Points are uniform in the unit cube of `point_dim` dimensions. Products of features are the kernel
    `features.rbf(scale)` of two points, as far as `rank` features can say it, and theta is uniform on the
    sphere. Features come by Cholesky steps, each from the point that those before say least of.

    `nature` are the settings that all problems share (see `LinearInstance`).

    >>> kernel(arms=50, seed=1, rank=8).arms.shape
    (50, 8)
    """
    arms, rank = whole("arms", arms, least=1), whole("rank", rank, least=1)
    point_dim = whole("point_dim", point_dim, least=1)
    rng = stream(seed, "kernel", point_dim, arms)
    rows = _kernel_rows(rng.random((arms, point_dim)), real("scale", scale, above=0), min(rank, arms))
    return LinearInstance(_within_ball(rows), directed(rng, rows.shape[1]), **nature)


def _kernel_rows(points: Floats, scale: float, rank: int) -> Floats:
    """Features whose products are exp(-|p - q|^2/(2 scale^2)), but for what so many cannot say, (K, rank).

    They are fewer where they say all.
    """
    rows, left_over = np.zeros((len(points), rank)), np.ones(len(points))
    for place in range(rank):
        pivot = int(np.argmax(left_over))
        if left_over[pivot] < SMALLEST_PIVOT:
            return rows[:, :place]
        squares = np.square(points - points[pivot]).sum(axis=1) / (2.0 * scale * scale)
        column = np.array([math.exp(-each) for each in squares])  # as on every machine
        column -= products(rows[:, :place], rows[pivot, :place])
        rows[:, place] = column / math.sqrt(left_over[pivot])
        left_over = np.maximum(left_over - np.square(rows[:, place]), 0.0)
    return rows


@final
@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """Means x'theta plus a wave along a direction: what no linear model can say."""

    theta: Floats
    direction: Floats
    error: float

    def __call__(self, arms: Floats) -> Floats:
        """The means of arms, (K, d)."""
        waves = np.array([math.cos(each) for each in products(arms, self.direction)])  # as on every machine
        return products(arms, self.theta) + self.error * waves


def misspecified(
    dim: int, arms: int, seed: int, *, error: float = 0.1, **nature: Unpack[Nature]
) -> LinearInstance:
    """Arms as in the paper, with means (1 - error) x'theta + error cos(w'x), w of length 6 pi.

    No linear model has all its means: some are off by nearly `error`.

    `nature` are the settings that all problems share (see `LinearInstance`).

    >>> instance = misspecified(dim=5, arms=50, seed=1, error=0.2)
    >>> bool(np.abs(instance.means - instance.arms @ instance.theta).max() <= 0.2 + 1e-12)
    True
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    error = real("error", error, least=0, most=1)
    rng = stream(seed, "misspecified", dim, arms)
    rows = _cut(rng, arms, dim)
    theta = (1.0 - error) * directed(rng, dim)
    wave = Wave(theta, 6.0 * np.pi * directed(rng, dim), error)
    return LinearInstance(rows, theta, mean=wave, **nature)


def changing(
    dim: int,
    arms: int,
    seed: int,
    *,
    best: Literal["moving", "fixed", "recurring"] = "moving",
    gap: float = 0.1,
    **nature: Unpack[Nature],
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
    `nature` are the settings that all problems share.

    >>> changing(dim=10, arms=50, seed=3).count
    50
    """
    dim, arms = whole("dim", dim, least=1), whole("arms", arms, least=1)
    direction = stream(seed, "changing", dim, arms).standard_normal(dim)
    theta = direction / length_of(direction)
    real("gap", gap, above=0)
    one_of("best", best, ("moving", "fixed", "recurring"))
    if best == "recurring":
        sets = _recurring(dim, arms, stream(seed, "recurring", dim, arms))
        return ChangingInstance(theta=theta, arms=arms, sets=sets, **nature)
    if best == "moving":
        return ChangingInstance(theta=theta, arms=arms, **nature)
    return ChangingInstance(theta=theta, arms=arms - 1, fixed=theta[None] / 2, gap=gap, **nature)


def contextual(
    context_dim: int, arms: int, seed: int, *, bound: float = 1.0, **nature: Unpack[Nature]
) -> ContextualInstance:
    """A context drawn in every round, and a parameter for each arm, uniform on the sphere of length `bound`.

    Contexts of `context_dim` features are drawn as arms are in the paper: N(0, I/(2c)) cut to length 1. Each
    of the `arms` has a regression of its own, as in a `Bandit` with `features.disjoint`; the best arm is
    that of the round. `nature` are the settings that all problems share, but for `moves`.

    >>> contextual(context_dim=5, arms=10, seed=3).thetas.shape
    (10, 5)
    """
    dim, count = whole("context_dim", context_dim, least=1), whole("arms", arms, least=1)
    if nature.get("moves") is not None:
        raise InvalidSetting("moves are for problems with one theta, and contextual has one for each arm")
    known: Any = {name: value for name, value in nature.items() if name != "moves"}
    length = real("bound", bound, least=0)
    return ContextualInstance(
        thetas=length * _on_sphere(stream(seed, "contextual", dim, count), count, dim), **known
    )


def _recurring(dim: int, arms: int, rng: np.random.Generator) -> Floats:
    """Sets of arms, each in its own part of the features, (sets, arms, d)."""
    parts = np.array_split(np.arange(dim), min(SETS, dim))
    sets = np.zeros((len(parts), dim, arms))
    for columns, part in zip(sets, parts, strict=True):
        drawn = np.empty((1, part.size, arms))
        draw_arms(drawn, arms, rng)
        columns[part] = drawn[0]
    return sets.transpose(0, 2, 1)
