"""A regression for each arm of a file, under the map that the bandit goes on with: arms go by label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infex.arrays import Floats, Integers, Label
from infex.bandit.arms import Arms, Labels
from infex.bandit.differing import Path
from infex.bandit.lineage import Lineage
from infex.bandit.remembering import ToldDecisions
from infex.bandit.waiting import Waiting
from infex.checks import whole
from infex.errors import CannotLoad, DamagedFile
from infex.linear import Layout, Separate
from infex.linear.offers import GONE
from infex.policies.rarely_switching import forgotten
from infex.rounds import Player


def layout_kept(features: Any, columns: Floats) -> Layout:
    """What the statistics of a file are of."""
    if features is not None and "blocks" in features:  # with code of a user's, so that it has no record
        count, dim = (whole("blocks", number, least=1, error=DamagedFile) for number in features["blocks"])
        if count * dim != len(columns):
            raise DamagedFile(f"its map has {count} blocks of {dim}, and what was learnt {len(columns)}")
        return Separate(count, dim)
    if features is None or features.get("kind") != "disjoint":
        return columns
    arms = features["arms"] if isinstance(features["arms"], int) else len(features["arms"])
    if arms * features["context_dim"] != len(columns):  # before it takes memory
        raise DamagedFile(f"its map has {arms} arms, and what was learnt {len(columns)} features")
    return Separate(arms, features["context_dim"])


def rearranged(
    path: Path,
    player: Player,
    waits: Sequence[Waiting | ToldDecisions],
    lineage: Lineage,
    held: Layout,
    before: Labels,
    source: Arms,
) -> None:
    """Brings what was learnt of each arm to where the map has it now, by label; a new arm starts anew."""
    now = source.layout
    if isinstance(held, Separate) and isinstance(now, Separate) and held.dim == now.dim:
        if before != source.labels and before is not None and source.labels is not None:
            places = _old_places(before, source.labels)
            old = player.memory
            player.memory = old.over(now, places)
            lineage.move(old, player.memory, places)
            for waiting in waits:
                waiting.move(places, player.memory.columns)
            player.note = forgotten(player.note)
    elif isinstance(held, Separate) or isinstance(now, Separate):
        raise CannotLoad(f"{path} holds {_told(held)}, which cannot go on as {_told(now)}")


def _old_places(before: tuple[Label, ...], labels: tuple[Label, ...]) -> Integers:
    """Where each label was before, -1 if it is new."""
    known = {label: place for place, label in enumerate(before)}
    return np.array([known.get(label, GONE) for label in labels])


def _told(layout: Layout) -> str:
    if isinstance(layout, Separate):
        return f"a regression for each arm on contexts of {layout.dim} features"
    return "one regression for all"
