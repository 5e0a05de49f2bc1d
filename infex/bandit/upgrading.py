"""Files of earlier formats, brought to the present one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from infex.arrays import fitting
from infex.bandit.packing import rows_array
from infex.errors import InvalidExpression, SparseExploration
from infex.linear.estimating import Arrays
from infex.policies import GreedyFirst, Infex, Policy, RarelySwitchingUCB
from infex.policies.gate import Limit
from infex.policies.greedy_first import FirstNote
from infex.policies.likelihood import InfexNote
from infex.policies.paused import Paused
from infex.policies.rarely_switching import Switched
from infex.policies.settling import UNSAID_DELTA, settled
from infex.records import catalog, record
from infex.records.notes import note_record

Note = Sequence[Any]  # a bare tuple, or the list that JSON makes of it


def from_format_1(
    settings: dict[str, Any], arrays: Arrays, policy: Policy | None
) -> tuple[dict[str, Any], Arrays]:
    """The settings and arrays of format 2; `policy` is what the caller gave, if anything.

    Format 1 kept policies and estimators as text, notes as bare tuples, pulls apart from the rest,
    ids as numbers, and the truth of a ridge alone.
    """
    own = policy if settings["policy"] is None else parsed(settings["policy"])
    t, note = settings["t"], settings["note"]
    owed = _owed(own, note)
    features = settings["features"]
    if features is not None and "shown" not in features:
        features = _map(features, arrays["arms of the feature map"])
    upgraded = {
        "written_by": "infex 0.1.0",
        "policy": None if settings["policy"] is None else record(parsed(settings["policy"])),
        "policy_shown": settings["shown"],
        "shape": None,
        "estimator": None if settings["estimator"] is None else record(catalog.parse(settings["estimator"])),
        "estimator_shown": settings["estimator shown"],
        "features": features,
        "seed": settings["seed"],
        "rescale": settings["rescale"],
        "source": "fixed" if settings["fixed"] else "changing" if features is None else "mapped",
        "labels": settings["labels"],
        "allowed": settings["allowed"],
        "penalty": settings["penalty"],
        "note": note_record(_note(own, _tuples(note))),
        "lives": {"": t},
        "account": {
            "t": t,
            "planned": settings["explored"] - settings["made_up"] + settings["skipped"],
            "scheduled": isinstance(own, Infex),
            "done": settings["explored"],
            "made_up": settings["made_up"],
            "owed": owed,
            "dropped": settings["skipped"] - settings["made_up"] - owed,
            "different": None if settings["explored"] else 0,
            "cost": settings["cost"],
            "forgotten": t,
            "recent": [],
        },
        "pending": [],
    }
    rows: list[Any] = []
    for packed in settings["pending"]:
        on = packed.pop("where")
        row = isinstance(on, list)
        places = {"row": len(rows) if row else None, "place": None if row else on}
        upgraded["pending"].append(packed | {"id": str(packed["id"]), "chance": None, "law": None} | places)
        rows += [on] if row else []
    return upgraded, _arrays(arrays) | {"pending rows": rows_array(rows)}


def _map(features: dict[str, Any], arms: Any) -> dict[str, Any]:
    """The record of a map, which is disjoint if each arm has a block of its own."""
    if not np.array_equal(arms, np.eye(len(arms))):
        return {"kind": "interactions", "version": 1} | features | {"arms": arms.tolist()}
    labels = features["labels"]
    own = {"arms": len(arms) if labels is None else labels, "context_dim": features["context_dim"]}
    return {"kind": "disjoint", "version": 1, "longest": features["longest"]} | own


def parsed(text: object) -> Any:
    """The policy of a text, None without one."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidExpression(f"a policy must be a text, got {text!r}")
    with warnings.catch_warnings():  # whoever made the policy has been warned
        warnings.simplefilter("ignore", SparseExploration)
        policy = catalog.parse(text)
    return settled(policy, UNSAID_DELTA)  # a text of format 1 leaves out what was the default then


def _arrays(arrays: Arrays) -> Arrays:
    kept = {name: array for name, array in arrays.items() if name != "arms of the feature map"}
    for part in ("all", "explored"):
        if f"{part} pulls" in kept:
            if f"{part} counts" in kept:
                kept[f"{part} plays"] = kept.pop(f"{part} counts")
            pulls, sums = (fitting(name, kept.pop(f"{part} {name}"), (-1,)) for name in ("pulls", "sums"))
            kept[f"{part} counts"] = np.array([pulls, sums])
    return kept


def _owed(policy: object, note: Note | None) -> int:
    if not isinstance(policy, Infex) or note is None:
        return 0
    controls = [layer for layer in policy.gate.layers if not isinstance(layer, Limit)]
    if not controls:
        return 0
    pairs = zip(controls, note[0], strict=True)
    return sum(int(state[0]) for layer, state in pairs if isinstance(layer, Paused))


def _note(policy: object, note: Note | None) -> object:
    """A note of format 1 as the policy writes it now."""
    if note is None:
        return None
    match policy:
        case Infex():
            return _infex_note(policy, note)
        case GreedyFirst():
            switched, level, inner = note
            return FirstNote(bool(switched), level, _note(policy.base, inner))
        case RarelySwitchingUCB():
            return Switched(note[0], tuple(note[1:]))
    return note


def _infex_note(policy: Infex, note: Note) -> InfexNote:
    layers = policy.gate.layers
    if all(isinstance(layer, Limit) for layer in layers):
        return InfexNote(policy.gate.begin(), _note(policy.base, note))
    states, inner, _ = note
    kept = iter(states)
    renewed = []
    for layer in layers:
        fresh = layer.begin()
        old = () if isinstance(layer, Limit) else next(kept)
        renewed.append(fresh if not fresh else type(fresh)(_last(fresh, old)))
    return InfexNote(tuple(renewed), _note(policy.base, inner))


def _last(fresh: Note, old: Note) -> Any:
    """`guarded` kept (spent, stopped), `until_certain` (checksum,): the last is what it still keeps."""
    return bool(old[-1]) if isinstance(fresh[0], bool) else int(old[-1])


def _tuples(note: object) -> Any:
    """A note as it was: JSON knows lists alone."""
    return tuple(map(_tuples, note)) if isinstance(note, list) else note
