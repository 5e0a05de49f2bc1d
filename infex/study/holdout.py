"""Units that are held out: a fixed policy decides for them, for good, and nothing is learnt from them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from infex.bandit import Bandit, Decision
from infex.bandit.arms import offered_mask
from infex.errors import InvalidSetting, UnknownArm
from infex.policies.choice import first_best
from infex.study.events import HELD_OUT

HOLDOUT_POLICIES = ("uniform", "greedy")


def is_held_out(seed: int, name: str, share: float) -> bool:
    """Is a unit held out? The same unit always, and a `share` of them."""
    return share > 0.0 and _uniform_number(seed, "holdout", name) < share


def held_out_decision(
    bandit: Bandit, frozen: Bandit | None, policy: str | dict[str, Any], key: str, request: dict[str, Any]
) -> Decision:
    """What the fixed policy does: an arm drawn by the key, the greedy one of a frozen state, or one arm.

    The decision is not a round of the bandit, but comes after t of them. It has the bandit's own greedy arm,
    and its estimate of the arm that is played.
    """
    asked = {word: request.get(word) for word in ("arms", "labels", "context")}
    table = bandit.estimates(**asked)
    labels = table.label.tolist()
    offered = [arm for arm, is_offered in enumerate(offered_arms(request, labels)) if is_offered]
    propensity = 1.0
    if policy == "uniform":
        arm = offered[int(_uniform_number(bandit.seed, "uniform", key) * len(offered))]
        propensity = 1.0 / len(offered)
    elif policy == "greedy":
        arm = _greedy_arm(table if frozen is None else frozen.estimates(**asked), offered)
    else:
        arm = _one_arm(policy, labels, offered)
    estimate, low, high = float(table.estimate[arm]), float(table.low[arm]), float(table.high[arm])
    greedy = _greedy_arm(table, offered)
    fields = key, bandit.t, arm, labels[arm], False, greedy, estimate, low, high
    return Decision(*fields, propensity, HELD_OUT, 0.0, None)


def offered_arms(request: dict[str, Any], labels: list[Any]) -> list[bool]:
    """Which arms a request says are on offer."""
    known = None if labels[0] is None else tuple(labels)
    mask = offered_mask(request.get("offered"), known, len(labels))
    return [True] * len(labels) if mask is None else mask.tolist()


def check_holdout_policy(policy: object) -> None:
    """Refuses what is not "uniform", "greedy", or {"arm": a label or an index}."""
    if isinstance(policy, str) and policy in HOLDOUT_POLICIES:
        return
    if isinstance(policy, dict) and set(policy) == {"arm"} and isinstance(policy["arm"], int | str):
        return
    raise InvalidSetting(f'holdout_policy must be "uniform", "greedy" or {{"arm": label}}, got {policy!r}')


def _greedy_arm(table: Any, offered: list[int]) -> int:
    """The arm of the largest estimate among those on offer, the lowest index among ties."""
    return offered[first_best(np.ascontiguousarray(table.estimate[offered]))]


def _one_arm(policy: Any, labels: list[Any], offered: list[int]) -> int:
    arm = policy["arm"]
    place = labels.index(arm) if arm in labels else arm if labels[0] is None else None
    if place in offered:
        return int(place)
    raise UnknownArm(f"the arm of those who are held out, {arm!r}, is not on offer")


def _uniform_number(seed: int, use: str, name: str) -> float:
    """A number from 0 to 1 that depends on these alone."""
    found = blake2b(f"{use} {seed} {name}".encode(), digest_size=7).digest()
    return int.from_bytes(found) / 2**56
