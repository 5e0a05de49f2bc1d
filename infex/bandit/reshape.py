"""Arms and features that come and go: what was learnt, and what rewards are learnt on, afterwards."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.arms import Arms, Changing, Fixed, Mapped
from infex.checks import real, safe_repr, whole
from infex.errors import InvalidSetting
from infex.features import ClipNorm, ContextTable, Hybrid, clip_norm, hybrid
from infex.features.base import ContextMap
from infex.features.table import Categories, Numbers
from infex.models.extension import FeatureExtension, HybridExtension
from infex.models.layout import GONE, ArmRow, DesignRow
from infex.policies.ucb import SwitchingState

Wider = FeatureExtension | HybridExtension


class Reshaping(Protocol):
    """A change of arms or features: where things are that were known before."""

    def place(self, arm: int) -> int:
        """The place of an arm afterwards; GONE if it was removed."""

    def on(self, on: DesignRow) -> DesignRow:
        """What a reward is learnt on afterwards."""

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""


class ArmsRemoved(NamedTuple):
    """Arms were removed: their places, in rising order, and their features where arms are fixed."""

    gone: tuple[int, ...]
    features: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, stay: Integers, before: Fixed | Mapped) -> Self:
        """Of the arms `before`, those at the places `stay` stay."""
        count = before.features.count if isinstance(before, Mapped) else before.columns.shape[1]
        gone = np.setdiff1d(np.arange(count), stay)
        rows = before.columns[:, gone].T.tolist() if isinstance(before, Fixed) else []
        return cls(tuple(gone.tolist()), tuple(map(tuple, rows)))

    def place(self, arm: int) -> int:
        """The place of an arm afterwards; GONE if it was removed."""
        before = bisect_left(self.gone, arm)
        return GONE if arm == GONE or self.gone[before : before + 1] == (arm,) else arm - before

    def on(self, on: DesignRow) -> DesignRow:
        """A fixed arm that was removed is learnt on its features; one with its own regression not at all."""
        if isinstance(on, ArmRow):
            return ArmRow(self.place(on.arm), on.context)
        if not isinstance(on, int):
            return on
        place = self.place(on)
        return np.array(self.features[self.gone.index(on)]) if place == GONE else place

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {"gone": list(self.gone), "features": [list(row) for row in self.features]}


class FeaturesAdded(NamedTuple):
    """Contexts or arms got further features."""

    widening: Wider

    def place(self, arm: int) -> int:
        """Arms stay where they are."""
        return arm

    def on(self, on: DesignRow) -> DesignRow:
        """Features are 0 where they were added; a fixed arm stays one."""
        if isinstance(on, ArmRow):
            return on._replace(context=self.widening.rows(on.context))
        return on if isinstance(on, int) else self.widening.rows(on)

    def policy_state(self, policy_state: Any) -> Any:
        """A policy's policy state, with parameters for the wider features."""
        if isinstance(policy_state, SwitchingState):
            return policy_state._replace(
                theta=tuple(self.widening.parameter(np.array(policy_state.theta)).tolist())
            )
        if isinstance(policy_state, tuple) and type(policy_state) is not tuple:
            return type(policy_state)(*(self.policy_state(part) for part in policy_state))
        return policy_state

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        if isinstance(self.widening, FeatureExtension):
            return {"wider": _plain(self.widening)}
        own, common, shared = self.widening
        return {"own": _plain(own), "common": _plain(common), "shared": shared}


def reshaping_of(kept: dict[str, Any]) -> Reshaping:
    """What `plain` gave."""
    if "gone" in kept:
        return ArmsRemoved(tuple(kept["gone"]), tuple(map(tuple, kept["features"])))
    if "wider" in kept:
        return FeaturesAdded(_widening(kept["wider"]))
    return FeaturesAdded(HybridExtension(_widening(kept["own"]), _widening(kept["common"]), kept["shared"]))


def _plain(widening: FeatureExtension) -> list[Any]:
    return [widening.dim, widening.places.tolist(), widening.scale]


def _widening(kept: list[Any]) -> FeatureExtension:
    dim, places, scale = kept
    return FeatureExtension(dim, np.array(places, dtype=np.int64), scale)


def extended(
    arms: Arms, more: int | None, numbers: Numbers, categories: Categories, longest: float | None
) -> tuple[Arms, Wider]:
    """The arms with further features, and how those they had get to their places."""
    named = bool(numbers) or bool(categories)
    features = arms.features if isinstance(arms, Mapped) else None
    if isinstance(features, Hybrid):
        inner = extended(Mapped(features.shared, arms.rescale), more, numbers, categories, longest)
        return _extended_hybrid(arms, features, *inner)
    if isinstance(features, ContextMap) and isinstance(features.context, ContextTable):
        if more is not None or longest is not None or not named:
            raise InvalidSetting("contexts have names: give further `numbers` or `categories`")
        return _extended_table(arms, features, features.context.extended(numbers, categories))
    if named:
        raise InvalidSetting("contexts have no names: say how many `more` features there are")
    if more is None and longest is None:
        raise InvalidSetting("more must be said: how many features are added")
    count = whole("more", 0 if more is None else more, least=0 if longest is not None else 1)
    if isinstance(arms, Fixed | Changing):
        return _extended_rows(arms, count, longest)
    if not isinstance(features, ContextMap) or not isinstance(features.context, ClipNorm | None):
        raise InvalidSetting(
            f"{safe_repr(features)} makes its features with code of yours, and cannot be extended"
        )
    return _extended_vectors(arms, features, count, longest)


def _extended_rows(arms: Fixed | Changing, more: int, longest: float | None) -> tuple[Arms, FeatureExtension]:
    if longest is not None:
        raise InvalidSetting("longest goes with contexts of a feature map")
    widening = FeatureExtension(arms.dim + more, np.arange(arms.dim))
    if isinstance(arms, Changing):
        return Changing(arms.dim + more, arms.rescale), widening
    columns: Floats = np.vstack([arms.columns, np.zeros((more, arms.columns.shape[1]))])
    fixed = Fixed(columns, arms.labels, arms.rescale)
    fixed.allow(arms.allowed)
    return fixed, widening


def _extended_vectors(
    arms: Arms, features: ContextMap, more: int, longest: float | None
) -> tuple[Arms, FeatureExtension]:
    length = real("longest", features.longest if longest is None else longest, least=features.longest)
    dim = features.context_dim + more
    widening = FeatureExtension(dim, np.arange(features.context_dim), features.longest / length)
    reader = None if features.context is None else clip_norm(dim, length)
    return _over(arms, features.over(dim, length, reader)), widening


def _extended_table(arms: Arms, features: ContextMap, wider: ContextTable) -> tuple[Arms, FeatureExtension]:
    assert features.context is not None
    place = {name: at for at, name in enumerate(wider.names)}
    places: Integers = np.array([place[name] for name in features.context.names], dtype=np.int64)
    widening = FeatureExtension(wider.size, places, features.longest / wider.longest)
    return _over(arms, features.over(wider.size, wider.longest, wider)), widening


def _extended_hybrid(arms: Arms, features: Hybrid, shared: Arms, common: Wider) -> tuple[Arms, Wider]:
    """Each arm has a parameter for all features again, or for those that it had."""
    assert isinstance(shared, Mapped)
    assert isinstance(common, FeatureExtension)
    places = common.places[list(features.own)]
    every = len(places) == features.context_dim
    wider = hybrid(shared.features, own=None if every else places.tolist())
    spots = places if every else np.arange(len(places))
    own = FeatureExtension(len(wider.own), spots, common.scale)
    return _over(arms, wider), HybridExtension(own, common, features.shared.dim)


def _over(arms: Arms, features: Any) -> Mapped:
    """The same arms in wider contexts."""
    assert isinstance(arms, Mapped)
    found = Mapped(features, arms.rescale)
    found.allow(arms.allowed)
    found.removals = arms.removals
    return found
