"""Whose rewards a bandit has learnt, to a file and back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.bandit.changes import Portion, portions_arrays, portions_kept, spans_kept
from infex.bandit.lineage import Heritage, Lineage, sums_of
from infex.bandit.packing import lives_kept
from infex.bandit.pulls import arms_counted
from infex.errors import DamagedFile
from infex.linear import Layout, Memory, Separate
from infex.linear.estimating import Arrays

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def lineage_record(bandit: Bandit) -> tuple[dict[str, Any], Arrays]:
    """What the life of a loaded bandit begins with; sums only where they are not all that was learnt."""
    known, portions, exchanged = bandit._lineage.heritage(bandit._lives.name, bandit._player.memory)
    spans = [portion.spans for portion in portions]
    record = {"known": known, "spans": spans, "exchanged": exchanged}
    return record, portions_arrays(portions) if exchanged else {}


def lineage_kept(settings: dict[str, Any], arrays: Arrays, memory: Memory, layout: Layout) -> Lineage:
    """That of a file, whose rewards are in memory; older files tell of no lives apart."""
    now = sums_of(memory)
    if now is None:
        return Lineage()
    kept = settings.get("lineage") or _of_one(settings, arrays, memory)
    known, exchanged = lives_kept(kept["known"]), kept["exchanged"]
    if not isinstance(exchanged, bool) or not isinstance(kept["spans"], list):
        raise DamagedFile(f"whether it has passed on what it learnt is {exchanged!r}")
    if exchanged:
        portions = portions_kept(kept["spans"], arrays, _shape(layout, memory))
    else:
        portions = tuple(Portion(spans_kept(spans), now) for spans in kept["spans"])
    if any(last > known.get(life, 0) for each in portions for life, (_, last) in each.spans.items()):
        raise DamagedFile("it has not learnt what it is to pass on")
    if not exchanged and len(portions) > 1:
        raise DamagedFile("all that it has learnt is to be passed on more than once")
    return Lineage(Heritage(known, portions, exchanged), now)


def _of_one(settings: dict[str, Any], arrays: Arrays, memory: Memory) -> dict[str, Any]:
    """All as one life's: the last that the file names or, in format 1, one named by what was learnt."""
    told = memory.all.told
    life = list(settings["lives"])[-1] or _named_by(arrays)
    return {"known": {life: told}, "spans": [{life: [0, told]}] if told else [], "exchanged": False}


def _named_by(arrays: Arrays) -> str:
    """A name that what was learnt has by itself."""
    found = hashlib.blake2b(digest_size=5)
    for name in sorted(arrays):
        if name.startswith("all "):
            found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def _shape(layout: Layout, memory: Memory) -> dict[str, Any]:
    """What sums in a file must be like."""
    apart, penalty = memory.explored is not None, memory.all.penalty
    if isinstance(layout, Separate):
        return {
            "dim": layout.dim,
            "blocks": layout.arms,
            "shared": layout.shared,
            "arms": layout.arms,
            "penalty": penalty,
            "apart": apart,
        }
    dim, arms = len(layout), arms_counted(layout, memory)
    return {"dim": dim, "blocks": None, "shared": 0, "arms": arms, "penalty": penalty, "apart": apart}
