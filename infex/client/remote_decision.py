"""A decision as a client has it: the service's, or the client's own while the service does not answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from infex.arrays import Label

FALLBACK_REASON = "fallback: the service did not answer"
DEFAULT_REASON = f"{FALLBACK_REASON}, and the default was played"


class RemoteDecision(NamedTuple):
    """A `Decision`, and whether it is a `fallback`: then nobody decided it and no reward may be told of it.

    A fallback plays the last greedy arm heard of among those offered, or else the request's default; `reason`
    says which. It has round 0, no estimate and no probability. `arm` is None if a default is the label of an
    arm whose number was never heard of.
    """

    id: str
    t: int
    arm: int | None
    label: Label | None
    explored: bool
    greedy: int | None
    estimate: float | None
    low: float | None
    high: float | None
    propensity: float | None
    reason: str
    explore_probability: float | None
    base_propensity: float | None
    fallback: bool = False


def heard(answer: dict[str, Any]) -> RemoteDecision:
    """The decision in an answer."""
    known = {name: value for name, value in answer.items() if name in RemoteDecision._fields}
    return RemoteDecision(**(known | {"id": answer["key"], "t": answer["round"]}))
