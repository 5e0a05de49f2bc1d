"""A decision as a client has it, from the service or, when that is silent, from what was heard last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, NamedTuple, final

from infex.arrays import Label

FALLBACK_REASON = "fallback: the service did not answer"
MOST_FALLBACKS = 100_000  # keys that are remembered


class RemoteDecision(NamedTuple):
    """A `Decision`, and whether it is a `fallback`: then nobody decided it and no reward may be told of it.

    A fallback plays the last greedy arm that was heard of: it has round 0, no estimate and no probability.
    """

    id: str
    t: int
    arm: int
    label: Label | None
    explored: bool
    greedy: int
    estimate: float | None
    low: float | None
    high: float | None
    probability: float | None
    reason: str
    chance: float | None
    law: float | None
    fallback: bool = False


def heard(answer: dict[str, Any]) -> RemoteDecision:
    """The decision in an answer."""
    words = {name: value for name, value in answer.items() if name not in ("key", "round")}
    return RemoteDecision(id=answer["key"], t=answer["round"], **words)


@final
class Fallbacks:
    """The last greedy arm, and what was decided by it: a key gives the same decision again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arm: tuple[int, Label | None] | None = None
        self._kept: OrderedDict[str, RemoteDecision] = OrderedDict()

    def hear(self, decision: RemoteDecision) -> None:
        """Takes note of a decision of the service."""
        if not decision.explored:
            with self._lock:
                self._arm = decision.arm, decision.label

    def decide(self, key: str) -> RemoteDecision | None:
        """The decision in place of the service's; None before anything was heard."""
        with self._lock:
            if self._arm is None:
                return None
            decision = _instead(key, *self._arm)
            self._kept[key] = decision
            if len(self._kept) > MOST_FALLBACKS:
                self._kept.popitem(last=False)
            return decision

    def known(self, key: str) -> RemoteDecision | None:
        """The decision that was taken here for this key, if one was."""
        with self._lock:
            return self._kept.get(key)


def _instead(key: str, arm: int, label: Label | None) -> RemoteDecision:
    unknown = (None, None, None, None)
    return RemoteDecision(key, 0, arm, label, False, arm, *unknown, FALLBACK_REASON, None, None, True)
