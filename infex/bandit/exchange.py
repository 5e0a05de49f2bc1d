"""Bandits that pass on what they have learnt, as sums, and take in what others have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.arrays import Integers
from infex.bandit.changes import Changes, Portion
from infex.bandit.differing import map_record, told_of
from infex.bandit.merging import refuse_beyond, way
from infex.bandit.pulls import arms_counted
from infex.checks import told
from infex.errors import CannotMerge
from infex.linear import Separate
from infex.linear.memory import Growths

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

AGREEING = ("dim", "blocks", "shared", "penalty", "estimator", "features")


def problem_of(bandit: Bandit) -> dict[str, Any]:
    """What sums are of, as plain data: another bandit takes them in if it is of the same."""
    layout, memory = bandit._arms.layout, bandit._player.memory
    apart = isinstance(layout, Separate)
    return {
        "dim": layout.dim if isinstance(layout, Separate) else len(layout),
        "blocks": layout.arms if isinstance(layout, Separate) else None,
        "shared": layout.shared if isinstance(layout, Separate) else 0,
        "arms": arms_counted(layout, memory),
        "penalty": memory.all.penalty,
        "estimator": told_of(way(bandit)),
        "features": None if bandit.features is None else map_record(bandit.features),
        "labels": None if bandit.labels is None else list(bandit.labels),
        "rows": [] if apart else bandit.arms.tolist(),
        "apart": memory.explored is not None,
        "rewards": None if bandit.rewards is None else list(bandit.rewards),
    }


def changes_of(bandit: Bandit) -> Changes:
    """What was learnt since the last call."""
    _refuse_learners(bandit)
    portions = bandit._lineage.take(bandit._lives.name, bandit._player.memory)
    return Changes(problem_of(bandit), portions)


def apply(bandit: Bandit, changes: Changes) -> int:
    """Takes in what another has learnt, as far as it is not known; all that cannot be is refused first."""
    if not isinstance(changes, Changes):
        raise CannotMerge(f"a bandit applies what `changes` gave, got {told(changes)}")
    _refuse_learners(bandit)
    mine, theirs = problem_of(bandit), changes.problem
    for name in AGREEING:
        if mine[name] != theirs[name]:
            raise CannotMerge(f"{name} must agree, got {mine[name]!r} and {theirs[name]!r}")
    refuse_beyond(mine["rewards"], theirs.get("rewards"))
    if mine["apart"] and not theirs["apart"]:
        raise CannotMerge(f"{told(bandit.policy)} keeps exploring rounds apart, the other bandit does not")
    memory, lineage, life = bandit._player.memory, bandit._lineage, bandit._lives.name
    new = [each for each in changes.portions if not lineage.knows(each.spans, life, memory)]
    memory.growths()  # which says so where rewards are not kept as sums
    places = _places(theirs, mine)
    for portion in new:
        brought = Portion(portion.spans, _brought(portion.growths, places, mine))
        lineage.add(brought, memory)
        memory.grow(brought.growths)
        bandit._player.account.hear()
    return sum(last - first for portion in new for first, last in portion.spans.values())


def _refuse_learners(bandit: Bandit) -> None:
    if bandit._player.traits.pupils:
        raise CannotMerge(f"{told(bandit.policy)} keeps a state of its own, which does not add up")


def _brought(growths: Growths, places: Integers, mine: dict[str, Any]) -> Growths:
    """Sums over the arms that are here; those of exploring rounds, if they are kept apart here."""
    everything, apart = growths
    kept = apart.brought(places, mine["arms"]) if mine["apart"] and apart is not None else None
    return everything.brought(places, mine["arms"]), kept


def _places(theirs: dict[str, Any], mine: dict[str, Any]) -> Integers:
    """Where each of their arms is here, -1 being nowhere."""
    if mine["features"] is not None:  # the same map, with the same arms
        return np.arange(theirs["arms"])
    here = {key: place for place, key in enumerate(_keys(mine["rows"], mine["labels"]))}
    return np.array([here.get(key, -1) for key in _keys(theirs["rows"], theirs["labels"])], dtype=np.int64)


def _keys(rows: list[list[float]], labels: Iterable[Any] | None) -> list[tuple[object, ...]]:
    """What tells each fixed arm from others: its label, its features, and how many like it stand before."""
    before: Counter[object] = Counter()
    keys: list[tuple[object, ...]] = []
    names = [None] * len(rows) if labels is None or not rows else labels
    for label, row in zip(names, rows, strict=True):
        key = (label, *row)
        keys.append((*key, before[key]))
        before[key] += 1
    return keys
