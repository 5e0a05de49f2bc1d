"""Two bandits on the same problem become one: V and b are sums, and so are counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from infex.arrays import Integers
from infex.bandit.lineage import brought, sums_of
from infex.checks import told
from infex.errors import CannotMerge
from infex.linear import RidgeStatistics, Separate
from infex.linear.estimating import Estimator
from infex.linear.hybrid import HybridRidge
from infex.linear.memory import Growths
from infex.linear.ridge_bank import BlockRidge

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def merge(bandit: Bandit, other: Bandit) -> None:
    """`bandit` takes in what `other` has learnt."""
    first, second = sorted((bandit._lock, other._lock), key=id)  # in one order, whoever merges whom
    with first, second:
        _refuse_strangers(bandit, other)
        places = {key: place for place, key in enumerate(_keys(bandit))}
        there = np.array([places.get(key, -1) for key in _keys(other)], dtype=int)
        theirs = _sums(bandit, other, there)
        bandit._player.memory.merge(other._player.memory, there)
        bandit._player.account.hear()
        heritage = other._lineage.heritage(other._lives.name, other._player.memory)
        bandit._lineage.merged(heritage, theirs, bandit._lives.name, bandit._player.memory)
        bandit._taught = bandit._taught + other._taught


def _sums(bandit: Bandit, other: Bandit, there: Integers) -> Growths | None:
    """What the other has learnt, over the arms that are here; None where an estimator keeps no sums."""
    mine, theirs = sums_of(bandit._player.memory), sums_of(other._player.memory)
    if mine is None or theirs is None:
        return None
    count = mine[0].counts.shape[1]
    return brought(theirs, there if bandit.features is None else np.arange(count), count)


def _keys(bandit: Bandit) -> list[tuple[object, ...]]:
    """What tells each arm from others: its label, its features, and how many like it stand before.

    Arms with a regression each have their places: their maps are the same.
    """
    if isinstance(layout := bandit._arms.layout, Separate):
        return [(place,) for place in range(layout.arms)]
    labels = bandit.labels if bandit.labels and len(bandit.arms) else [None] * len(bandit.arms)
    before: Counter[object] = Counter()
    keys: list[tuple[object, ...]] = []
    for label, arm in zip(labels, bandit.arms, strict=True):
        key = (label, arm.tobytes())
        keys.append((*key, before[key]))
        before[key] += 1
    return keys


def refuse_beyond(mine: Sequence[float] | None, theirs: Sequence[float] | None) -> None:
    """Refuses sums of rewards that may lie outside the range of those that can be told here."""
    if mine is not None and (theirs is None or not mine[0] <= theirs[0] <= theirs[1] <= mine[1]):
        got = "any at all" if theirs is None else f"{theirs[0]:g} to {theirs[1]:g}"
        raise CannotMerge(
            f"rewards here are from {mine[0]:g} to {mine[1]:g}, those of the other bandit {got}: "
            "say the same range to both"
        )


def _refuse_strangers(bandit: Bandit, other: Bandit) -> None:
    if other is bandit:
        raise CannotMerge("a bandit cannot be merged with itself: its data would count twice")
    mine, theirs = bandit._player.memory, other._player.memory
    if len(mine.columns) != len(theirs.columns):
        raise CannotMerge(f"dim must agree, got {len(mine.columns)} and {len(theirs.columns)}")
    if bandit.penalty != other.penalty:
        raise CannotMerge(f"penalty must agree, got {bandit.penalty} and {other.penalty}")
    if way(bandit) != way(other):
        raise CannotMerge(f"estimators must agree, got {way(bandit)!r} and {way(other)!r}")
    if bandit.features != other.features:
        raise CannotMerge(f"feature maps must agree, got {bandit.features!r} and {other.features!r}")
    if bandit._prior != other._prior:
        raise CannotMerge(
            f"penalties must be of the same unit, "
            f"got {bandit._prior.unit:g} and {other._prior.unit:g}: one is "
            "of a file from before they were in the units of contexts"
        )
    refuse_beyond(bandit.rewards, other.rewards)
    if mine.explored is not None and theirs.explored is None:
        raise CannotMerge(f"{told(bandit.policy)} keeps exploring rounds apart, the other bandit does not")
    if bandit._player.traits.pupils:
        raise CannotMerge(f"{told(bandit.policy)} keeps a state of its own, which cannot be merged")


def way(bandit: Bandit) -> Estimator | None:
    """How a bandit estimates; None is ridge regression, whether it was asked for or not."""
    is_ridge = isinstance(bandit._player.memory.all, RidgeStatistics | BlockRidge | HybridRidge)
    return None if is_ridge else bandit.estimator
