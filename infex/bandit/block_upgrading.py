"""Files of formats 1 and 2, where a disjoint map was one regression of all blocks, as a regression for each.

Where that cannot be done without loss, such a bandit goes on as it was: with products of np.eye(K).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from infex.arrays import Floats, fitting
from infex.linear.estimating import Arrays

DERIVED = ("closed", "solved", "vectors", "run", "board")


def from_format_2(settings: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """The settings and arrays of format 3.

    Format 2 kept one regression of K c features for a disjoint map, and did not count rewards by its arms:
    their pulls count from here on.
    """
    rule = settings["features"]
    if rule is None or rule.get("kind") != "disjoint":
        return settings, arrays
    count = rule["arms"] if isinstance(rule["arms"], int) else len(rule["arms"])
    if _is_ridge(settings) and _is_of_blocks(arrays, settings["pending"], count, rule["context_dim"]):
        return _upgraded(settings, arrays, count, rule["context_dim"])
    dense = {
        "arms": np.eye(count).tolist(),
        "labels": None if isinstance(rule["arms"], int) else rule["arms"],
    }
    return settings | {"features": rule | {"kind": "interactions"} | dense}, arrays


def _is_ridge(settings: dict[str, Any]) -> bool:
    """Was it ridge regression? Other estimators count rewards in ways that do not fall into blocks."""
    estimator = settings["estimator"]
    return settings["estimator_shown"] is None if estimator is None else estimator["kind"] == "Ridge"


def _parts(arrays: Arrays) -> list[str]:
    return [part for part in ("all", "explored") if f"{part} truth" in arrays]


def _is_of_blocks(arrays: Arrays, pending: list[dict[str, Any]], count: int, size: int) -> bool:
    """Is nothing learnt, nor to be learnt, on features of two arms?"""
    dim = count * size
    outside = np.kron(np.eye(count), np.ones((size, size))) == 0.0
    truths = [fitting("truth", arrays[f"{part} truth"], (2, dim + 1, dim)) for part in _parts(arrays)]
    rows = arrays["pending rows"]
    others = [np.delete(rows[each["row"]].reshape(count, size), each["arm"], axis=0) for each in pending]
    return not any(truth[:, :-1][:, outside].any() for truth in truths) and not any(
        other.any() for other in others
    )


def _upgraded(
    settings: dict[str, Any], arrays: Arrays, count: int, size: int
) -> tuple[dict[str, Any], Arrays]:
    derived = {f"{part} {name}" for part in _parts(arrays) for name in DERIVED}
    kept = {name: array for name, array in arrays.items() if name not in derived}
    for part in _parts(arrays):
        kept[f"{part} truth"] = _blocks(arrays[f"{part} truth"], count, size)
        kept[f"{part} counts"] = np.zeros((2, count))
    rows, waiting = [], []
    for place, each in enumerate(settings["pending"]):
        rows.append(arrays["pending rows"][each["row"]].reshape(count, size)[each["arm"]])
        waiting.append(each | {"row": place, "place": each["arm"]})
    kept["pending rows"] = np.array(rows, dtype=np.float64) if rows else np.zeros((0, 0))
    return settings | {"pending": waiting}, kept


def _blocks(truth: Floats, count: int, size: int) -> Floats:
    """The sums of each block, (K, 2, c + 1, c)."""
    found = np.zeros((count, 2, size + 1, size))
    for arm in range(count):
        own = slice(arm * size, (arm + 1) * size)
        found[arm, :, :-1], found[arm, :, -1] = truth[:, own, own], truth[:, -1, own]
    return found
