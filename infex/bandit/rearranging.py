"""A regression for each arm of a file, under the map that the bandit goes on with: arms go by label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infex.arrays import Floats, Integers
from infex.bandit.arms import Arms, Labels, Mapped, layout_of
from infex.bandit.differing import Path
from infex.bandit.lineage import Lineage
from infex.bandit.pulls import old_places, pulls_over, pulls_places
from infex.bandit.remembering import ToldDecisions
from infex.bandit.waiting import Waiting
from infex.checks import whole
from infex.errors import CannotLoad, DamagedFile
from infex.linear import Layout, Separate
from infex.policies.rarely_switching import forgotten
from infex.records import made
from infex.rounds import Player


def layout_kept(features: Any, columns: Floats) -> Layout:
    """What the statistics of a file are of."""
    if features is not None and "blocks" in features:  # with code of a user's, so that it has no record
        sizes = [whole("blocks", number, least=1, error=DamagedFile) for number in features["blocks"]]
        return _fitting_layout(Separate(*sizes), columns)
    if features is not None and features.get("kind") == "hybrid":
        layout = layout_of(made(features))
        assert isinstance(layout, Separate)
        return _fitting_layout(layout, columns)
    if features is None or features.get("kind") != "disjoint":
        return columns
    arms = features["arms"] if isinstance(features["arms"], int) else len(features["arms"])
    return _fitting_layout(Separate(arms, features["context_dim"]), columns)


def _fitting_layout(layout: Separate, columns: Floats) -> Separate:
    """A layout, if it has as many parameters as what was learnt: before it takes memory."""
    if layout.parameters != len(columns):
        raise DamagedFile(
            f"its map has {layout.arms} arms with blocks of {layout.dim} and {layout.shared} shared "
            f"features, and what was learnt {len(columns)}"
        )
    return layout


def rearranged(
    path: Path,
    player: Player,
    waits: Sequence[Waiting | ToldDecisions],
    lineage: Lineage,
    held: Layout,
    before: Labels,
    source: Arms,
) -> Lineage:
    """Brings what was learnt of each arm to where the map has it now, by label; a new arm starts anew."""
    now, pulls = source.layout, player.memory.pulls
    if isinstance(source, Mapped) and pulls is not None and not isinstance(held, Separate):
        moved = pulls_places(pulls, before, source.labels, source.features.count)
        return lineage if moved is None else _recounted(player, lineage, moved)
    if isinstance(held, Separate) and isinstance(now, Separate) and held[1:] == now[1:]:
        if before != source.labels and before is not None and source.labels is not None:
            places = old_places(before, source.labels)
            old = player.memory
            player.memory = old.over(now, places)
            lineage = lineage.after_turnover(old, player.memory, places)
            for waiting in waits:
                waiting.move(places, player.memory.columns)
            player.note = forgotten(player.note)
            return lineage
    elif isinstance(held, Separate) or isinstance(now, Separate):
        raise CannotLoad(f"{path} holds {_told(held)}, which cannot go on as {_told(now)}")
    return lineage


def _recounted(player: Player, lineage: Lineage, places: Integers) -> Lineage:
    """Pulls of the arms of a map that the bandit goes on with."""
    old = player.memory
    player.memory = old.with_pulls(pulls_over(old, places))
    return lineage.after_turnover(old, player.memory, places)


def _told(layout: Layout) -> str:
    if isinstance(layout, Separate):
        shared = f", and {layout.shared} shared features" if layout.shared else ""
        return f"a regression for each arm on contexts of {layout.dim} features{shared}"
    return "one regression for all"
