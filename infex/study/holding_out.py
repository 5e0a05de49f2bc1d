"""Units that are held out: a fixed policy decides for them, for good, and nothing is learnt from them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from infex.bandit import Bandit, Decision
from infex.errors import InvalidSetting, UnknownArm

HELD_OUT = "held out"
HOLDOUT_POLICIES = ("uniform", "greedy")


def is_held(seed: int, name: str, share: float) -> bool:
    """Is a unit held out? The same unit always, and a `share` of them."""
    return share > 0.0 and _drawn(seed, "holdout", name) < share


def held_decision(
    bandit: Bandit, frozen: Bandit | None, way: str | dict[str, Any], key: str, request: dict[str, Any]
) -> Decision:
    """What the fixed policy does: an arm drawn by the key, the greedy one of a frozen state, or one arm."""
    asked = {word: request.get(word) for word in ("arms", "labels", "context")}
    offers = (bandit if frozen is None else frozen).estimates(**asked)
    count = len(offers)
    if way == "uniform":
        arm, chance = int(_drawn(bandit.seed, "uniform", key) * count), 1.0 / count
    elif way == "greedy":
        arm, chance = int(np.argmax(offers.estimate)), 1.0
    else:
        arm, chance = _one_arm(way, offers.label.tolist()), 1.0
    label = offers.label[arm]
    return held_out(key, bandit.t, arm, label, chance)


def held_out(key: str, t: int, arm: int, label: int | str | None, probability: float) -> Decision:
    """A decision that is no round of the bandit, after t of them: nothing is known of its arm."""
    ends = float("-inf"), float("inf")
    return Decision(key, t, arm, label, False, arm, 0.0, *ends, probability, HELD_OUT, 0.0, None)


def checked_way(way: object) -> str | dict[str, Any]:
    """What the fixed policy is: "uniform", "greedy", or {"arm": a label or an index}."""
    if isinstance(way, str) and way in HOLDOUT_POLICIES:
        return way
    if isinstance(way, dict) and set(way) == {"arm"} and isinstance(way["arm"], int | str):
        return way
    raise InvalidSetting(f'holdout_policy must be "uniform", "greedy" or {{"arm": label}}, got {way!r}')


def _one_arm(way: Any, labels: list[Any]) -> int:
    arm = way["arm"]
    if arm in labels:
        return labels.index(arm)
    if labels[0] is None and isinstance(arm, int) and 0 <= arm < len(labels):
        return arm
    raise UnknownArm(f"the arm of those who are held out, {arm!r}, is not on offer")


def _drawn(seed: int, use: str, name: str) -> float:
    """A number from 0 to 1 that depends on these alone."""
    found = blake2b(f"{use} {seed} {name}".encode(), digest_size=7).digest()
    return int.from_bytes(found) / 2**56
