"""Fixed arms that come and go while a bandit is in use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy.typing as npt

from infex.arrays import Integers, Label
from infex.bandit.arms import Fixed
from infex.checks import told
from infex.errors import InvalidArms

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def add_arms(bandit: Bandit, arms: npt.ArrayLike, labels: Iterable[Label] | None) -> None:
    """Puts new arms behind those there are."""
    _replace(bandit, *_fixed(bandit).added(arms, labels))


def remove_arms(bandit: Bandit, which: object) -> None:
    """Takes arms away; pending decisions for them can still be told."""
    before = _fixed(bandit)
    if bandit._player.traits.pupils:
        raise InvalidArms(f"{told(bandit.policy)} knows arms by their indices, which would change")
    source, places = before.removed(which)
    _replace(bandit, source, places)
    bandit._waiting.move(places, before.columns)


def _replace(bandit: Bandit, source: Fixed, places: Integers) -> None:
    bandit._player.memory = bandit._player.memory.over(source.columns, places)
    bandit._arms = source
    bandit._player.account.changes += 1


def _fixed(bandit: Bandit) -> Fixed:
    if not isinstance(bandit._arms, Fixed):
        raise InvalidArms("the arms of this bandit change every round: there are none to add to or remove")
    return bandit._arms
