"""Arms that come and go while a bandit is in use: fixed ones, and those of a feature map."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from infex.arrays import Integers, Label
from infex.bandit.arms import Fixed, Mapped
from infex.bandit.foreseeing import foresee
from infex.bandit.pulls import note_removal, pulls_over
from infex.bandit.relocation import ArmsRemoved
from infex.checks import told
from infex.errors import InvalidArms, StoreFailed
from infex.linear import Separate
from infex.policies.rarely_switching import forgotten

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def add_arms(bandit: Bandit, arms: Any, labels: Iterable[Label] | None) -> None:
    """Puts new arms behind those there are."""
    _replace(bandit, *_lasting(bandit).added(arms, labels))


def remove_arms(bandit: Bandit, which: object) -> ArmsRemoved:
    """Takes arms away, and returns which; pending decisions for them can still be told."""
    before = _lasting(bandit)
    if bandit._player.traits.pupils:
        raise InvalidArms(f"{told(bandit.policy)} knows arms by their indices, which would change")
    source, places = before.removed(which)
    columns = bandit._player.memory.columns
    note_removal(bandit, source, places)
    _replace(bandit, source, places)
    bandit._waiting.move(places, columns)
    layout = source.layout
    if isinstance(layout, Separate) and layout.shared:  # what is pending of them stays no longer in the sums
        foresee(bandit._player.memory, bandit._waiting, bandit.narrows)
    if bandit._remembered is not None:
        bandit._remembered.move(places, columns)
    if bandit._notebook is not None:
        with contextlib.suppress(StoreFailed):  # the next row says it again
            bandit._notebook.write(
                ()
            )  # its log shows that arms went, also if others come before the next row
    return ArmsRemoved.of(places, before, columns)


def _replace(bandit: Bandit, source: Fixed | Mapped, places: Integers) -> None:
    player, layout, before = bandit._player, source.layout, bandit._player.memory
    if isinstance(source, Fixed) or isinstance(layout, Separate):  # one regression for a map knows no arms
        player.memory = before.over(layout, places)
    else:
        player.memory = before.with_pulls(pulls_over(before, places))
    bandit._lineage = bandit._lineage.after_turnover(before, player.memory, places)
    if isinstance(layout, Separate):
        player.note = forgotten(player.note)
    bandit._arms = source
    player.account.changes += 1


def _lasting(bandit: Bandit) -> Fixed | Mapped:
    if not isinstance(bandit._arms, Fixed | Mapped):
        raise InvalidArms("the arms of this bandit change every round: there are none to add to or remove")
    return bandit._arms
