"""Features with one parameter for all arms, and features with one for each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Label, brief
from infex.checks import whole
from infex.errors import InvalidArms, InvalidContext, InvalidSetting
from infex.features.base import (
    ContextMap,
    Encoder,
    FeatureMap,
    MutableArms,
    ScaledMap,
    checked_context,
    checked_map,
    unit_of,
)
from infex.features.disjoint import Disjoint
from infex.features.vectors import encoded_context


class HybridTheta(NamedTuple):
    """Parameters by part: of shared features as their map tells them, and of each arm's own, (K, c)."""

    shared: Floats
    own: Floats


@final
@dataclass(frozen=True, slots=True, repr=False)
class Hybrid:
    """The arms of a map, whose rows have one parameter for all, and contexts with one for each arm.

    `own` are the places of the features of a context, of `context_dim`, that have a parameter for each arm;
    contexts are at most `context_longest` long. See `hybrid`.

    `shared` is the map, and `reader` the encoder of contexts, if they have names.
    """

    shared: FeatureMap
    own: tuple[int, ...]
    context_dim: int
    context_longest: float
    reader: Encoder | None
    longest: float = field(init=False, compare=False)
    scales: tuple[float, float] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """`longest` is the greatest length of a row with both parts, by which both are divided."""
        unit = unit_of(self.shared)
        longest = math.hypot(unit, self.context_longest)
        object.__setattr__(self, "longest", longest)
        object.__setattr__(self, "scales", (self.context_longest / longest, unit / longest))

    @property
    def dim(self) -> int:
        return self.count * len(self.own) + self.shared.dim

    @property
    def count(self) -> int:
        return self.shared.count

    @property
    def labels(self) -> tuple[Label, ...] | None:
        return self.shared.labels

    @property
    def context(self) -> Encoder | None:
        """What reads contexts for both parts; None where a function of the user's reads them too."""
        return self.shared.context if isinstance(self.shared, ContextMap) else None

    def within(self, context: object) -> tuple[Floats, Floats]:
        """The features of each arm's own, (c,), and the shared ones of all arms, (K, s), both divided."""
        inside = encoded_context(context, self.context_dim, self.context_longest, self.reader)
        own = inside[list(self.own)] * self.scales[0]
        rows = np.asarray(self.shared(context), dtype=np.float64)
        if rows.shape != (self.count, self.shared.dim):
            raise InvalidContext(
                f"the map of shared features must give {(self.count, self.shared.dim)} numbers, "
                f"and gave {rows.shape}"
            )
        return own, np.ascontiguousarray(rows * self.scales[1])

    def __call__(self, context: object) -> Floats:
        own, shared = self.within(context)
        rows = np.zeros((self.count, self.count, own.size))
        rows[np.arange(self.count), np.arange(self.count)] = own
        return np.hstack([rows.reshape(self.count, -1), shared])

    def in_units(self, theta: Floats) -> Floats:
        """theta for what was given, not divided: those of each arm, and behind them the shared ones."""
        return theta / self.longest

    def parts(self, theta: Floats) -> HybridTheta:
        """`bandit.theta` by part: shared ones as their own map tells them, and a row for each arm, (K, c)."""
        shared = theta[self.count * len(self.own) :]
        if isinstance(self.shared, ScaledMap):
            shared = self.shared.in_units(shared * self.shared.longest)
        return HybridTheta(shared, theta[: self.count * len(self.own)].reshape(self.count, -1))

    def over(self, context_dim: int, longest: float, context: Encoder | None) -> Hybrid:
        """The same arms in other contexts, all features of which have a parameter for each arm."""
        if not isinstance(self.shared, ContextMap):
            raise InvalidSetting("shared features are made by code of yours, of contexts as they are")
        return hybrid(self.shared.over(context_dim, longest, context))

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Hybrid:
        """The same with more arms behind the others, as the shared map takes them."""
        return replace(self, shared=_mutable(self.shared).with_arms(arms, labels))

    def without(self, gone: set[int]) -> Hybrid:
        """The same without the arms at these places."""
        return replace(self, shared=_mutable(self.shared).without(gone))

    def __repr__(self) -> str:
        return f"Hybrid({self.count} arms, {self.shared.dim} shared features, {len(self.own)} of each arm)"


def hybrid(
    shared: FeatureMap,
    own: int | Encoder | Iterable[str | int] | None = None,
    *,
    longest: float = 1.0,
) -> Hybrid:
    """Features with one parameter for all arms, and features with a parameter for each (Li et al. 2010).

    A mean reward is z'beta + x'theta_k: z are the rows of `shared`, a map such as `features.interactions`
    or `features.joined`, which also says what arms there are; x are features of the context. New arms are
    known at once by what all have in common, and each is corrected by its own rewards. `own` says which
    features of the context have a parameter for each arm: all of them if nothing is said, or some, by name
    where contexts have names (`["intercept"]`), else by place. With `features.joined`, or a map of your own,
    it is how many numbers a context has, no longer than `longest`, or an encoder, which is given the
    context that your function is given; what it notices is not counted then.

    The bandit's penalty is for all parameters, on features before any are divided. There is one radius for
    all arms, as they share a parameter. A bandit takes O(s^2 + K (c^2 + c s)) numbers for s shared features
    and c of each arm, and a reward costs O(c^2 + c s + s^2). `bandit.theta` has the parameters of all arms,
    one behind the other, and then the shared ones: `parts` gives them by name. When an arm is removed, what
    its rewards have told of the shared features stays; a reward that is told later for it is not learnt.
    Only ridge regression can be the estimator.

    >>> from infex import Bandit, LinUCB, features
    >>> visitor = features.table({"age": (20, 80)})
    >>> teas = features.interactions([[0.2], [0.9]], context=visitor, labels=["green", "black"])
    >>> bandit = Bandit(features=hybrid(shared=teas, own=["intercept"]), policy=LinUCB())
    >>> bandit.tell(bandit.ask(context={"age": 65}), reward=1.0)
    >>> [part.round(3).tolist() for part in bandit.features.parts(bandit.theta)]
    [[[0.299, 0.149]], [[0.0], [0.332]]]
    """
    if checked_map(shared) is None or isinstance(shared, Disjoint | Hybrid):
        raise InvalidSetting(
            f"shared must be a map whose rows have one parameter for all arms, such as "
            f"features.interactions, got {shared!r}"
        )
    if not isinstance(shared, ContextMap):
        return _joined(shared, own, longest)
    if longest != 1.0:
        raise InvalidSetting(f"longest is that of the shared map, {shared.longest:g}: leave it out")
    return Hybrid(shared, _places(shared, own), shared.context_dim, shared.longest, shared.context)


def _joined(shared: FeatureMap, own: Any, longest: float) -> Hybrid:
    """With a map of which nothing is known but its rows."""
    encoder = own if isinstance(own, Encoder) and not isinstance(own, type) else None
    if encoder is None and (isinstance(own, str | Iterable) or own is None):
        raise InvalidSetting(
            f"own must say how many numbers a context has, or be an encoder such as features.table, where "
            f"shared features are made by a function; got {brief(own)}"
        )
    size, length, _ = checked_context(None if encoder is not None else own, longest, encoder)
    return Hybrid(shared, tuple(range(size)), size, length, encoder)


def _places(shared: ContextMap, own: Any) -> tuple[int, ...]:
    """Which features of a context each arm has a parameter for: at these places."""
    size, names = shared.context_dim, None if shared.context is None else shared.context.names
    if own is None or (own == size and isinstance(own, int)) or (names and own == shared.context):
        return tuple(range(size))
    if isinstance(own, str) or not isinstance(own, Iterable):
        raise InvalidSetting(
            f"own must be left out for all features of the context of the shared map, or name some of them; "
            f"got {brief(own)}"
        )
    found = tuple(_place(each, size, names) for each in own)
    if not found or len(set(found)) < len(found):
        raise InvalidSetting(f"own must be different features, and at least one, got {brief(own)}")
    return found


def _place(each: object, size: int, names: tuple[str, ...] | None) -> int:
    if isinstance(each, str):
        if names is None or each not in names:
            known = "have no names" if names is None else f"are {brief(names)}"
            raise InvalidSetting(f"own names {each!r}, and the features of contexts {known}")
        return names.index(each)
    place = whole("a place in own", each, least=0)
    if place >= size:
        raise InvalidSetting(f"own has the place {place}, and contexts have {size} features")
    return place


def _mutable(shared: FeatureMap) -> MutableArms:
    if not isinstance(shared, MutableArms):
        raise InvalidArms("arms of a map of your own come and go only if it has with_arms and without")
    return shared
