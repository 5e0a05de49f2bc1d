"""Units that are held out: a fixed policy decides for them, for good, and nothing is learnt from them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from infex.bandit import Bandit, Decision
from infex.bandit.arms import offered_mask
from infex.errors import InvalidSetting, UnknownArm
from infex.policies.choice import first_best

HELD_OUT = "held out"
HOLDOUT_POLICIES = ("uniform", "greedy")


def is_held(seed: int, name: str, share: float) -> bool:
    """Is a unit held out? The same unit always, and a `share` of them."""
    return share > 0.0 and _drawn(seed, "holdout", name) < share


def held_decision(
    bandit: Bandit, frozen: Bandit | None, way: str | dict[str, Any], key: str, request: dict[str, Any]
) -> Decision:
    """What the fixed policy does: an arm drawn by the key, the greedy one of a frozen state, or one arm.

    The decision has the bandit's own greedy arm, and its estimate of the arm that is played.
    """
    asked = {word: request.get(word) for word in ("arms", "labels", "context")}
    offers = bandit.estimates(**asked)
    labels = offers.label.tolist()
    there = [arm for arm, offered in enumerate(offered_truths(request, labels)) if offered]
    chance = 1.0
    if way == "uniform":
        arm, chance = there[int(_drawn(bandit.seed, "uniform", key) * len(there))], 1.0 / len(there)
    elif way == "greedy":
        arm = greedy_among(offers if frozen is None else frozen.estimates(**asked), there)
    else:
        arm = _one_arm(way, labels, there)
    ends = float(offers.low[arm]), float(offers.high[arm])
    model = greedy_among(offers, there), float(offers.estimate[arm]), *ends
    return held_out(key, bandit.t, arm, labels[arm], chance, *model)


def greedy_among(offers: Any, places: list[int]) -> int:
    """The arm of the largest of these estimates among some arms, the lowest index among ties."""
    return places[first_best(np.ascontiguousarray(offers.estimate[places]))]


def offered_truths(request: dict[str, Any], labels: list[Any]) -> list[bool]:
    """Which arms a request says are on offer."""
    known = None if labels[0] is None else tuple(labels)
    mask = offered_mask(request.get("offered"), known, len(labels))
    return [True] * len(labels) if mask is None else mask.tolist()


def held_out(
    key: str,
    t: int,
    arm: int,
    label: int | str | None,
    probability: float,
    greedy: int,
    estimate: float,
    low: float,
    high: float,
) -> Decision:
    """A decision that is no round of the bandit, after t of them."""
    fields = key, t, arm, label, False, greedy, estimate, low, high
    return Decision(*fields, probability, HELD_OUT, 0.0, None)


def checked_way(way: object) -> str | dict[str, Any]:
    """What the fixed policy is: "uniform", "greedy", or {"arm": a label or an index}."""
    if isinstance(way, str) and way in HOLDOUT_POLICIES:
        return way
    if isinstance(way, dict) and set(way) == {"arm"} and isinstance(way["arm"], int | str):
        return way
    raise InvalidSetting(f'holdout_policy must be "uniform", "greedy" or {{"arm": label}}, got {way!r}')


def _one_arm(way: Any, labels: list[Any], there: list[int]) -> int:
    arm = way["arm"]
    place = labels.index(arm) if arm in labels else arm if labels[0] is None else None
    if place in there:
        return int(place)
    raise UnknownArm(f"the arm of those who are held out, {arm!r}, is not on offer")


def _drawn(seed: int, use: str, name: str) -> float:
    """A number from 0 to 1 that depends on these alone."""
    found = blake2b(f"{use} {seed} {name}".encode(), digest_size=7).digest()
    return int.from_bytes(found) / 2**56
