"""A sweep of some of its policies and problems alone, as they are named in tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from infex.errors import InvalidSetting
from infex.experiments.naming import hint

if TYPE_CHECKING:
    from infex.experiments.sweep import Sweep


def narrow(sweep: Sweep) -> None:
    """Leaves a sweep the policies and environments that `only` names; all, where it names none of them."""
    if isinstance(sweep.only, str) or not isinstance(sweep.only, Iterable):
        raise InvalidSetting(f"only must be a list of names, got {sweep.only!r}")
    names = tuple(sweep.only)
    object.__setattr__(sweep, "only", names)
    players = tuple(each for each in sweep.players if each.label in names)
    problems = tuple(each for each in sweep.problems if each.label in names)
    known = [*(each.label for each in sweep.players), *(each.label for each in sweep.problems)]
    for name in names:
        if name not in known:
            raise InvalidSetting(f"only names {name!r}{hint(str(name), known)}, which is not in the sweep")
    object.__setattr__(sweep, "players", players or sweep.players)
    object.__setattr__(sweep, "problems", problems or sweep.problems)
