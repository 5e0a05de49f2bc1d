"""Where the arms of a round come from: they are fixed, or change every round, or join a context."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools, Floats, Integers, Label, columns_of, labels_of, shown
from infex.bandit.given_columns import given_columns
from infex.bandit.labels import mask_of, places_of
from infex.checks import whole
from infex.errors import InvalidArms, InvalidContext, InvalidSetting
from infex.features import Disjoint, FeatureMap, Hybrid, Interactions, Joined
from infex.features.feature_map import encoder_of, refuse_all_but_context, unit_of
from infex.features.turnable import TurningMap, staying
from infex.linear import InContext, Layout, Offer, Separate
from infex.linear.offers import GONE

Labels = tuple[Label, ...] | None
Removal = tuple[int, tuple[int, ...]]


class Asked(NamedTuple):
    """What a user gave to `ask`."""

    arms: npt.ArrayLike | None = None
    labels: Iterable[Label] | None = None
    context: object = None
    allowed: npt.ArrayLike | None = None
    offered: object = None
    explore: bool = True


NOTHING_ASKED = Asked()


class Offered(NamedTuple):
    """The arms of one round, None if they are the fixed ones; labels; who may be tried."""

    columns: Offer | None
    labels: Labels
    allowed: Bools | None


class Arms(Protocol):
    """Where arms come from."""

    labels: Labels
    allowed: Bools | None
    rescale: bool

    @property
    def dim(self) -> int:
        """How many features an arm has."""

    @property
    def layout(self) -> Layout:
        """What statistics are kept of: fixed arms, of which there may be none, or a regression for each."""

    @property
    def unit(self) -> float:
        """By what features are divided, as a map does; 1 for arms that are given as they are."""

    def offer(self, asked: Asked) -> Offered:
        """The arms of a round; refuses what does not fit."""

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        """Says for every arm whether exploring may try it; None is all of them."""


@final
class Fixed:
    """The same arms in every round."""

    __slots__ = ("_plain", "allowed", "columns", "labels", "rescale")

    unit = 1.0

    def __init__(self, columns: Floats, labels: Labels, rescale: bool) -> None:
        self.columns, self.labels, self.rescale = columns, labels_of(labels, columns.shape[1]), rescale
        self.allow(None)

    def __str__(self) -> str:
        return f"{self.columns.shape[1]} arms"

    @property
    def dim(self) -> int:
        return int(self.columns.shape[0])

    @property
    def layout(self) -> Layout:
        return self.columns

    def offer(self, asked: Asked) -> Offered:
        if asked is NOTHING_ASKED:
            return self._plain
        if asked.arms is not None or asked.labels is not None:
            raise InvalidArms("the arms of this bandit are fixed; for arms in ask, make a Bandit(dim=...)")
        if asked.context is not None:
            raise InvalidContext("this bandit has no feature map for a context: make a Bandit(features=...)")
        return Offered(None, self.labels, both(self.allowed, asked.allowed, self.columns.shape[1]))

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        self.allowed = None if allowed is None else mask_of(allowed, self.columns.shape[1])
        self._plain = Offered(None, self.labels, self.allowed)

    def added(self, arms: npt.ArrayLike, labels: Iterable[Label] | None) -> tuple[Fixed, Integers]:
        """With new arms behind the others; and the old place of each, -1 for a new one."""
        columns = columns_of(arms, dim=self.dim, rescale=self.rescale)
        names = labels_of(labels, columns.shape[1])
        if (names is None) != (self.labels is None):
            shown = "have none" if self.labels is None else f"are {self.labels[:5]}..."
            raise InvalidArms(f"either all arms have labels or none; this bandit's {shown}")
        before, new = self.columns.shape[1], columns.shape[1]
        both_names = None if names is None else (*(self.labels or ()), *names)
        found = Fixed(np.hstack([self.columns, columns]), both_names, self.rescale)
        if self.allowed is not None:
            found.allow(np.concatenate([self.allowed, np.ones(new, dtype=bool)]))
        return found, np.concatenate([np.arange(before), np.full(new, -1)])

    def removed(self, which: object) -> tuple[Fixed, Integers]:
        """Without some arms, named by label where arms have labels; and the old places of the rest."""
        _, kept = parted(which, self.labels, self.columns.shape[1])
        names = None if self.labels is None else tuple(self.labels[place] for place in kept)
        found = Fixed(np.ascontiguousarray(self.columns[:, kept]), names, self.rescale)
        found.allow(None if self.allowed is None else self.allowed[kept])
        return found, kept


@final
class Changing:
    """Arms that are given with every question."""

    __slots__ = ("_dim", "rescale")

    labels: Labels = None
    allowed: Bools | None = None
    unit = 1.0

    def __init__(self, dim: int, rescale: bool) -> None:
        self._dim, self.rescale = whole("dim", dim, least=1), rescale

    def __str__(self) -> str:
        return "changing arms"

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def layout(self) -> Layout:
        return np.empty((self.dim, 0))

    def offer(self, asked: Asked) -> Offered:
        if asked.context is not None:
            raise InvalidContext("this bandit has no feature map for a context: make a Bandit(features=...)")
        if asked.arms is None:
            raise InvalidArms("the arms of this bandit change every round; give them, as in ask(arms)")
        columns = given_columns(asked.arms, self.dim, self.rescale)
        labels = labels_of(asked.labels, columns.shape[1])
        return Offered(columns, labels, both(None, asked.allowed, columns.shape[1]))

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        if allowed is not None:
            raise InvalidArms("what is allowed of arms that change goes with them: ask(arms, allowed=...)")


@final
class Mapped:
    """Arms that a feature map joins with a context.

    Maps of infex's own give rows that need no second look. `removals` are those that a pending decision is
    older than: the round after which arms went, and the places they had, in their order.
    """

    __slots__ = ("allowed", "encoder", "features", "labels", "removals", "rescale")

    def __init__(self, features: FeatureMap, rescale: bool) -> None:
        self.features, self.rescale = features, rescale
        self.encoder = encoder_of(features)
        self.labels: Labels = labels_of(features.labels, features.count)
        self.allowed: Bools | None = None
        self.removals: tuple[Removal, ...] = ()

    def __str__(self) -> str:
        return f"{self.features.count} arms in a context"

    @property
    def dim(self) -> int:
        return self.features.dim

    @property
    def layout(self) -> Layout:
        return layout_of(self.features)

    @property
    def unit(self) -> float:
        return unit_of(self.features)

    def offer(self, asked: Asked) -> Offered:
        refuse_all_but_context(asked.context, asked.arms, asked.labels)
        offer = offer_of(self.features, asked.context)
        return Offered(offer, self.labels, both(self.allowed, asked.allowed, self.features.count))

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        self.allowed = None if allowed is None else mask_of(allowed, self.features.count)

    def added(self, arms: object, labels: Iterable[Label] | None) -> tuple[Mapped, Integers]:
        """With new arms behind the others; and the old place of each, -1 for a new one."""
        before = self.features.count
        found = Mapped(turning(self.features).with_arms(arms, labels), self.rescale)
        new = found.features.count - before
        if new == 0:
            raise InvalidArms("there must be at least one arm to add, got none")
        found.removals = self.removals
        if self.allowed is not None:
            found.allow(np.concatenate([self.allowed, np.ones(new, dtype=bool)]))
        return found, np.concatenate([np.arange(before), np.full(new, GONE)])

    def removed(self, which: object) -> tuple[Mapped, Integers]:
        """Without some arms, named by label where arms have labels; and the old places of the rest."""
        gone, kept = parted(which, self.labels, self.features.count)
        found = Mapped(turning(self.features).without(gone), self.rescale)
        found.allow(None if self.allowed is None else self.allowed[kept])
        found.removals = self.removals
        return found, kept


def layout_of(features: FeatureMap) -> Layout:
    """What statistics are kept of, with a map."""
    if isinstance(features, Disjoint):
        return Separate(features.count, features.context_dim)
    if isinstance(features, Hybrid):
        return Separate(features.count, len(features.own), features.shared.dim)
    return np.empty((features.dim, 0))


def context_within(arms: Arms, context: object) -> Floats | InContext | None:
    """A context, checked, where arms have a regression each; None where they have not, or without one.

    With features that arms share, if there are any.
    """
    if context is None or not isinstance(arms, Mapped):
        return None
    if isinstance(arms.features, Disjoint):
        return arms.features.within(context)
    return InContext(*arms.features.within(context)) if isinstance(arms.features, Hybrid) else None


def offer_of(features: FeatureMap, context: object) -> Offer:
    """What a map offers in a context."""
    if isinstance(features, Disjoint):
        return InContext(features.within(context))
    if isinstance(features, Hybrid):
        return InContext(*features.within(context))
    if isinstance(features, Interactions | Joined):
        return np.ascontiguousarray(features(context).T)
    columns = given_columns(features(context), features.dim, None)
    if columns.shape[1] != features.count:
        raise InvalidContext(f"the feature map has {features.count} arms, and gave {columns.shape[1]} rows")
    return columns


def turning(features: FeatureMap) -> TurningMap:
    """A map, if its arms can come and go."""
    if not isinstance(features, TurningMap):
        raise InvalidArms("arms of a map of your own come and go only if it has with_arms and without")
    return features


def parted(which: object, labels: Labels, count: int) -> tuple[set[int], Integers]:
    """The places of the arms that are named, and of those that stay, at least one."""
    gone = places_of(which, labels, count)
    if len(gone) == count:
        raise InvalidArms(f"at least one arm must stay; asked to remove all {len(gone)}")
    return gone, np.array(staying(count, gone))


def both(always: Bools | None, now: npt.ArrayLike | None, count: int) -> Bools | None:
    """The arms that a bandit allows always and that are allowed in this round."""
    if now is None:
        return always
    mask = mask_of(now, count)
    return mask if always is None else shown(mask & always)


def source_of(
    arms: npt.ArrayLike | None,
    dim: int | None,
    features: FeatureMap | None,
    labels: Iterable[Label] | None,
    rescale: bool,
) -> Fixed | Changing | Mapped:
    """Where the arms come from."""
    if [arms is None, dim is None, features is None].count(False) != 1:
        raise InvalidSetting(
            "give either the arms or, if they change every round, their dim, or features for contexts"
        )
    if not isinstance(rescale, bool):
        raise InvalidSetting(f"rescale must be True or False, got {rescale!r}")
    if features is not None:
        if labels is not None:
            raise InvalidArms("the labels of arms in a feature map go with it")
        return Mapped(features, rescale)
    if dim is not None:
        if labels is not None:
            raise InvalidArms("labels of arms that change every round go with them: ask(arms, labels)")
        return Changing(dim, rescale)
    assert arms is not None
    columns = columns_of(arms, rescale=rescale)
    return Fixed(columns, labels if labels is None or isinstance(labels, str) else tuple(labels), rescale)  # type: ignore[arg-type]


def question(
    source: Arms, arms: npt.ArrayLike | None, context: object
) -> tuple[npt.ArrayLike | None, object]:
    """The arms and the context of a question: all that is given to a bandit with a map is its context."""
    alone = arms is not None and context is None and type(source) is Mapped
    return (None, arms) if alone else (arms, context)


def read_from(source: Arms, arms: npt.ArrayLike | None) -> Arms:
    """Where the arms of a read come from: one may ask about others than the fixed ones."""
    return source if arms is None or not isinstance(source, Fixed) else Changing(source.dim, source.rescale)
