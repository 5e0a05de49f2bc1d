"""Rules for each of many requests: which arms it offers, and whether it may explore."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools
from infex.bandit.arms import Labels
from infex.bandit.offering import named, offered_mask, permission
from infex.errors import InfexError, InvalidArms, InvalidSetting

ALL_OFFERED: Bools = np.ones((0, 0), dtype=bool)

Rule = tuple[npt.ArrayLike | None, object, bool]


class RowRules(NamedTuple):
    """What may be tried in all of n requests, what each of them offers, and which of them may explore.

    `offered` has a mask for each, (n, K), or where arms change every round what was said of each; None, and
    None for `explore`, are all.
    """

    allowed: npt.ArrayLike | None
    offered: Bools | list[object] | None
    explore: Bools | None

    def at(self, place: int) -> Rule:
        """Those of one request, as `Asked` takes them."""
        offered = None if self.offered is None else self.offered[place]
        return self.allowed, offered, True if self.explore is None else bool(self.explore[place])

    @property
    def masks(self) -> Bools:
        """Which arms are on offer in each request, (n, K), where arms stay; no rows if all are."""
        return self.offered if isinstance(self.offered, np.ndarray) else ALL_OFFERED

    @property
    def differ(self) -> bool:
        """Is anything but `allowed` said of requests?"""
        return self.offered is not None or self.explore is not None


def row_rules(
    allowed: npt.ArrayLike | None,
    offered: object,
    explore: object,
    count: int,
    arms: int | None = None,
    labels: Labels = None,
) -> RowRules:
    """The rules of so many requests about so many arms; None where arms change every round."""
    if _is_table(offered, count, arms):
        return RowRules(
            allowed, None if offered.all() else np.array(offered, order="C"), _permissions(explore, count)
        )
    given = None if offered is None else _each(offered, count)
    masks = given if given is None or arms is None else _masks(given, labels, arms)
    return RowRules(allowed, masks, _permissions(explore, count))


def _is_table(offered: object, count: int, arms: int | None) -> TypeGuard[Bools]:
    """Is it a truth for each arm in each request, with one that is True?"""
    if type(offered) is not np.ndarray or offered.dtype != np.bool_:
        return False
    return offered.shape == (count, arms) and bool(offered.any(axis=1).all())


def _each(offered: object, count: int) -> list[object]:
    """What each request offers: a list of lists, or of masks; or one list, or mask, for all of them."""
    rows = named(offered)
    if not rows:
        if count:
            raise InvalidArms("at least one arm must be on offer in each request, got none")
        return []
    if not all(row is None or (isinstance(row, Iterable) and not isinstance(row, str)) for row in rows):
        return [rows] * count
    if len(rows) != count:
        raise InvalidArms(f"offered must have as many lists as there are requests, {count}, got {len(rows)}")
    return rows


def _masks(given: list[object], labels: Labels, arms: int) -> Bools | None:
    """A mask for each request, (n, K); None if all offer all."""
    masks: Bools = np.ones((len(given), arms), dtype=bool)
    for place, row in enumerate(given):
        if place and row is given[place - 1]:
            masks[place] = masks[place - 1]
        elif (mask := _mask(place, row, labels, arms)) is not None:
            masks[place] = mask
    return None if masks.all() else masks


def _mask(place: int, offered: object, labels: Labels, arms: int) -> Bools | None:
    try:
        return offered_mask(offered, labels, arms)
    except InfexError as error:
        raise type(error)(f"request {place}: {error}") from None


def _permissions(explore: object, count: int) -> Bools | None:
    """Whether each request may explore, (n,); None if all may."""
    if isinstance(explore, bool | np.bool_):
        return None if explore else np.zeros(count, dtype=bool)
    if isinstance(explore, str) or not isinstance(explore, Iterable):
        raise InvalidSetting(f"explore must be True or False, or a list of them, got {explore!r}")
    truths = [permission(f"explore[{place}]", each) for place, each in enumerate(explore)]
    if len(truths) != count:
        raise InvalidSetting(f"explore must have a truth for each of {count} requests, got {len(truths)}")
    return None if all(truths) else np.array(truths, dtype=bool)
