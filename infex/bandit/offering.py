"""Which arms a request offers, and whether it may explore: rules for one request, not for a round."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TypeGuard

import numpy as np

from infex.arrays import Bools, shown
from infex.bandit.arms import Asked, Labels
from infex.bandit.labels import place_of, places_by_name
from infex.errors import InvalidArms, InvalidSetting
from infex.linear import Evidence
from infex.linear.offers import GONE

remembered_places = functools.lru_cache(maxsize=4)(
    places_by_name
)  # requests name the same arms again and again


def requested(evidence: Evidence, asked: Asked, labels: Labels) -> Evidence:
    """What is known, as the request has it: of the arms that it offers alone."""
    may_explore = permission("explore", asked.explore)
    if asked.offered is None and may_explore:
        return evidence
    return evidence.requested(offered_mask(asked.offered, labels, len(evidence)), may_explore)


def permission(name: str, explore: object) -> bool:
    """True or False, as Python or NumPy has it."""
    if not isinstance(explore, bool | np.bool_):
        raise InvalidSetting(f"{name} must be True or False, got {explore!r}")
    return bool(explore)


def offered_mask(offered: object, labels: Labels, count: int) -> Bools | None:
    """Which of so many arms are on offer, (K,); None if all are.

    They are named by label where arms have labels, else by index, each once; or there is a truth for each.
    """
    if offered is None:
        return None
    mask = _truths(offered, count) if _is_mask(offered) else _mask_of(named(offered), labels, count)
    return None if mask.all() else shown(mask)


def _is_mask(offered: object) -> TypeGuard[Bools]:
    return type(offered) is np.ndarray and offered.dtype == np.bool_ and offered.ndim == 1


def _mask_of(names: list[object], labels: Labels, count: int) -> Bools:
    """A mask of the arms that are named, each once; or the truths that are given."""
    kinds = set(map(type, names))
    if not kinds:
        raise InvalidArms("at least one arm must be on offer, got none")
    if kinds <= {bool, np.bool_}:
        return _truths(names, count)
    known, mask = remembered_places(labels, count), np.zeros(count, dtype=bool)
    if kinds <= {str, int}:
        places = [known.get(name, GONE) for name in names]  # type: ignore[call-overload]
        mask[places] = True
        if GONE not in places and np.count_nonzero(mask) == len(places):
            return mask
        mask[:] = False
    for name in names:  # which says what is wrong, if anything is
        place = place_of(name, known, labels is not None)
        if mask[place]:
            raise InvalidArms(f"an arm may be offered once, got {name!r} twice")
        mask[place] = True
    return mask


def named(offered: object) -> list[object]:
    """What was given as a list; a text is one label, and no list of letters."""
    if isinstance(offered, str) or not isinstance(offered, Iterable):
        return [offered]
    return offered.tolist() if isinstance(offered, np.ndarray) else list(offered)


def _truths(names: Sequence[object] | Bools, count: int) -> Bools:
    """A mask, if it has a truth for each arm, and one is True."""
    if len(names) != count:
        raise InvalidArms(f"offered must be True or False for each of {count} arms, got {len(names)}")
    mask = np.array(names, dtype=bool)
    if not mask.any():
        raise InvalidArms("at least one arm must be on offer, got none")
    return mask
