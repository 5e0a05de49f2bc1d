"""A bandit whose contexts or arms get further features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infex.arrays import Integers
from infex.bandit.arms import Arms, Changing, Fixed, Mapped
from infex.bandit.foreseeing import foresee
from infex.bandit.noting import fits
from infex.bandit.prior import Prior
from infex.bandit.relocation import FeaturesAdded, Wider
from infex.checks import real, told, whole
from infex.errors import InvalidSetting, NotKept
from infex.features import ContextTable, Hybrid, Shortened, hybrid, shortened
from infex.features.feature_map import ContextMap
from infex.features.table_encoding import Categories, Numbers
from infex.linear import Memory
from infex.linear.estimating import in_unit
from infex.linear.hybrid import HybridWidening
from infex.linear.widening import Widening
from infex.policies.rarely_switching import Switched

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def extend(
    bandit: Bandit, more: int | None, numbers: Numbers, categories: Categories, longest: float | None
) -> FeaturesAdded:
    """Adds features, and returns how; either all of it happens, or nothing."""
    if bandit._player.traits.pupils:
        raise InvalidSetting(f"{told(bandit.policy)} keeps a state of its own, of the features there are")
    source, widening = _wider(bandit._arms, more, numbers, categories, longest)
    prior = bandit._prior.over(widening.scale)
    memory = _memory(bandit, source, prior, widening)
    note = _note(bandit, widening, source.dim)
    player, narrowing = bandit._player, bandit.narrows
    bandit._lineage = bandit._lineage.extended(player.memory, memory)
    player.memory = memory
    player.note, bandit._arms, bandit._prior = note, source, prior
    player.account.changes += 1
    added = FeaturesAdded(widening)
    bandit._waiting.widen(added.on, widening.rows)
    if (remembered := bandit._remembered) is not None:
        for key, (decision, on) in remembered.decisions.items():
            remembered.decisions[key] = decision, added.on(on)
    foresee(memory, bandit._waiting, narrowing)
    return added


def _wider(
    arms: Arms, more: int | None, numbers: Numbers, categories: Categories, longest: float | None
) -> tuple[Arms, Wider]:
    """Where arms come from afterwards, and how features get there."""
    named = bool(numbers) or bool(categories)
    features = arms.features if isinstance(arms, Mapped) else None
    if isinstance(features, Hybrid):
        shared = _wider(Mapped(features.shared, arms.rescale), more, numbers, categories, longest)
        return _hybrid(arms, features, *shared)
    if isinstance(features, ContextMap) and isinstance(features.context, ContextTable):
        if more is not None or longest is not None or not named:
            raise InvalidSetting("the contexts of this bandit have names: give further numbers or categories")
        return _mapped(arms, features, features.context.extended(numbers, categories))
    if named:
        raise InvalidSetting("contexts of this bandit have no names: say how many `more` features there are")
    count = whole("more", more, least=0 if longest is not None else 1)
    if isinstance(arms, Fixed | Changing):
        return _plain(arms, count, longest)
    if not isinstance(features, ContextMap) or not isinstance(features.context, Shortened | None):
        raise InvalidSetting(
            f"{told(features)} makes its features with code of yours, and cannot be extended"
        )
    return _vectors(arms, features, count, longest)


def _plain(arms: Fixed | Changing, more: int, longest: float | None) -> tuple[Arms, Widening]:
    if longest is not None:
        raise InvalidSetting("longest goes with contexts of a feature map")
    widening = Widening(arms.dim + more, np.arange(arms.dim))
    if isinstance(arms, Changing):
        return Changing(arms.dim + more, arms.rescale), widening
    columns = np.vstack([arms.columns, np.zeros((more, arms.columns.shape[1]))])
    fixed = Fixed(columns, arms.labels, arms.rescale)
    fixed.allow(arms.allowed)
    return fixed, widening


def _vectors(arms: Arms, features: ContextMap, more: int, longest: float | None) -> tuple[Arms, Widening]:
    length = real("longest", features.longest if longest is None else longest, least=features.longest)
    dim = features.context_dim + more
    scale = features.longest / length
    widening = Widening(dim, np.arange(features.context_dim), scale)
    reader = None if features.context is None else shortened(dim, length)
    return _over(arms, features.over(dim, length, reader)), widening


def _mapped(arms: Arms, features: ContextMap, wider: ContextTable) -> tuple[Arms, Widening]:
    assert features.context is not None
    place = {name: at for at, name in enumerate(wider.names)}
    places: Integers = np.array([place[name] for name in features.context.names], dtype=np.int64)
    widening = Widening(wider.size, places, features.longest / wider.longest)
    return _over(arms, features.over(wider.size, wider.longest, wider)), widening


def _hybrid(arms: Arms, features: Hybrid, shared: Arms, common: Wider) -> tuple[Arms, Wider]:
    """Each arm has a parameter for all features again, or for those that it had."""
    assert isinstance(shared, Mapped)
    assert isinstance(common, Widening)
    places = common.places[list(features.own)]
    every = len(places) == features.context_dim
    wider = hybrid(shared.features, own=None if every else places.tolist())
    spots = places if every else np.arange(len(places))
    own = Widening(len(wider.own), spots, common.scale)
    return _over(arms, wider), HybridWidening(own, common, features.shared.dim)


def _over(arms: Arms, features: Any) -> Mapped:
    """The same arms in wider contexts."""
    assert isinstance(arms, Mapped)
    source = Mapped(features, arms.rescale)
    source.allow(arms.allowed)
    source.removals = arms.removals
    return source


def _memory(bandit: Bandit, source: Arms, prior: Prior, widening: Wider) -> Memory:
    """All that was learnt, in wider statistics."""
    before = bandit._player.memory
    kept = {name: array for name, array in before.arrays().items() if name != "columns"}
    wider = widening.arrays(kept)
    apart = before.explored is not None
    memory = Memory.empty(source.layout, prior.inside, apart, in_unit(bandit.estimator, prior.unit))
    memory.restore(wider)
    memory.pulls = before.pulls
    return memory


def _note(bandit: Bandit, widening: Wider, dim: int) -> Any:
    """What the policy noted, with parameters for the wider features."""
    note = _widened(bandit._player.note, widening)
    if not fits(bandit.policy, note, dim):
        raise NotKept(f"{told(bandit.policy)} has noted what cannot be brought to more features")
    return note


def _widened(note: Any, widening: Wider) -> Any:
    if isinstance(note, Switched):
        return note._replace(theta=tuple(widening.parameter(np.array(note.theta)).tolist()))
    if isinstance(note, tuple) and type(note) is not tuple:
        return type(note)(*(_widened(part, widening) for part in note))
    return note
