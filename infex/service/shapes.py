"""What requests say: each body as a type, from which it is checked and documented."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Key = Annotated[
    str, Meta(min_length=1, max_length=200, description="Your own name for a decision, such as an order's.")
]
StudyName = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Unit = Annotated[str, Meta(min_length=1, max_length=200, description="Whom it is about, such as a customer.")]
Why = Annotated[str, Meta(min_length=1, max_length=500, description="Why, for the journal.")]
Expression = Annotated[
    str, Meta(min_length=1, max_length=2000, description="As in Python: Infex(LinUCB, every(50)).")
]
Kept = Annotated[dict[str, Any], Meta(description="What infex.to_record(...) gives.")]
ArmLabel = str | int
Context = Annotated[
    dict[str, float | str | None] | list[float],
    Meta(description="By the names of the study's features, or as numbers in their order."),
]


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What bodies have in common: fields by name, and none that is unknown."""


class DecisionRequest(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks for a decision. The same key again gives the same decision; another request with it is refused.

    Without a key the header Idempotency-Key is taken for it.
    """

    key: Key | None = None
    context: Context | None = None
    arms: list[list[float]] | None = None
    labels: list[ArmLabel] | None = None
    allowed: list[bool] | None = None
    offered: (
        Annotated[list[ArmLabel], Meta(description="What can be had now, by label or number.")] | None
    ) = None
    explore: Annotated[bool, Meta(description="May this one be explored on?")] = True
    unit: Unit | None = None


class RewardRequest(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tells the reward of a decision, exactly once: the same again changes nothing, another is refused."""

    key: Key
    reward: float
    weight: float = 1.0
    part: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class HoldoutArm(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The arm that all units get who are held out, by label or number."""

    arm: ArmLabel


class StudyRequest(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Begins a study, with the settings of `infex.Study.open`."""

    name: StudyName
    policy: Expression | Kept
    features: Kept | None = None
    arms: list[list[float]] | None = None
    labels: list[ArmLabel] | None = None
    dim: Annotated[int, Meta(ge=1)] | None = None
    estimator: Expression | Kept | None = None
    allowed: list[bool] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    penalty: float = 1.0
    rewards: (
        Annotated[tuple[float, float], Meta(description="Rewards beyond this range are refused.")] | None
    ) = None
    rescale: bool = False
    wait: Annotated[str, Meta(max_length=40)] | float | None = None
    default: float | None = None
    again: Literal["refuse", "sum"] = "refuse"
    holdout: Annotated[float, Meta(ge=0, le=1)] = 0.0
    holdout_policy: (
        Annotated[str, Meta(max_length=200, description='"uniform" or "greedy".')] | HoldoutArm
    ) = "uniform"


class AmendmentRequest(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changes a study, as an entry of its journal.

    `policy` is the new policy with its schedule and limits; `allowed` says for every arm whether exploring
    may try it; `explore` pauses exploring (false) or goes on with it (true).
    """

    reason: Why
    policy: Expression | Kept | None = None
    allowed: list[bool] | None = None
    explore: bool | None = None


class PreviewRequest(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks how often a policy would explore, without changing anything."""

    policy: Expression | Kept
