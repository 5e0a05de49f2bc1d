"""Arms that are assigned, and not chosen by the policy: such decisions are none of its rounds.

A fixed policy decides for units that are held out, for good, and nothing is learnt from them. A unit keeps
the arm that it has in a study that is sticky. A study that is an apprentice learns from arms that the caller
played.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Label
from infex.bandit import Bandit, Decision
from infex.bandit.arms import offered_mask
from infex.errors import InvalidSetting, UnknownArm
from infex.models.layout import DesignRow
from infex.policies.choice import first_best

HOLDOUT_POLICIES = ("uniform", "greedy")


class Offer(NamedTuple):
    """The arms of a request: what `Bandit.estimates` says of each, and the places of those on offer."""

    asked: dict[str, Any]
    table: Any
    places: list[int]

    @staticmethod
    def of(bandit: Bandit, request: Mapping[str, Any]) -> Offer:
        """What a request offers."""
        asked = {word: request.get(word) for word in ("arms", "labels", "context")}
        table = bandit.estimates(**asked)
        is_offered = offered_arms(request, table.label.tolist())
        return Offer(asked, table, [place for place, shown in enumerate(is_offered) if shown])

    @property
    def greedy(self) -> int:
        """The arm of the largest estimate among those on offer, the lowest index among ties."""
        return self.places[first_best(np.ascontiguousarray(self.table.estimate[self.places]))]

    def place(self, name: Label) -> int | None:
        """The place of an arm, by its label or, where arms have none, by its index; None if not on offer."""
        labels = self.table.label.tolist()
        place = labels.index(name) if name in labels else name if labels[0] is None else None
        return int(place) if place in self.places else None

    def decision(
        self, bandit: Bandit, key: str, arm: int, propensity: float | None, reason: str
    ) -> tuple[Decision, DesignRow, float]:
        """A decision for an arm, after t rounds; what its reward is learnt on; and its loss by the model.

        It has the bandit's own greedy arm, and its estimate of the arm that is played.
        """
        label, estimate, low, high, _ = self.table[arm].tolist()
        fields = key, bandit.t, arm, label, False, self.greedy, estimate, low, high
        asked = {word: self.asked[word] for word in ("arms", "context")}
        loss = float(self.table.estimate[self.greedy]) - estimate
        return Decision(*fields, propensity, reason, 0.0, None), bandit.design_row(arm, **asked), loss


def is_held_out(seed: int, name: str, share: float) -> bool:
    """Is a unit held out? The same unit always, and a `share` of them."""
    return share > 0.0 and _uniform_number(seed, "holdout", name) < share


def held_out_arm(
    policy: str | dict[str, Any], offer: Offer, frozen: Bandit | None, seed: int, name: str
) -> tuple[int, float]:
    """The arm of the fixed policy, and its probability.

    It is an arm drawn by the `name` of a key or a unit, the greedy one of a frozen state, or one arm.
    """
    if policy == "uniform":
        count = len(offer.places)
        return offer.places[int(_uniform_number(seed, "uniform", name) * count)], 1.0 / count
    if policy == "greedy":
        shown = offer if frozen is None else offer._replace(table=frozen.estimates(**offer.asked))
        return shown.greedy, 1.0
    assert isinstance(policy, dict)
    place = offer.place(policy["arm"])
    if place is None:
        raise UnknownArm(f"the arm of those who are held out, {policy['arm']!r}, is not on offer")
    return place, 1.0


def offered_arms(request: Mapping[str, Any], labels: list[Any]) -> list[bool]:
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


def _uniform_number(seed: int, use: str, name: str) -> float:
    """A number from 0 to 1 that depends on these alone."""
    found = blake2b(f"{use} {seed} {name}".encode(), digest_size=7).digest()
    return int.from_bytes(found) / 2**56
