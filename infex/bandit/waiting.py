"""Decisions that wait for their reward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.decision import Decision
from infex.errors import DuplicateId
from infex.linear import InBlock, On
from infex.linear.offers import GONE

Pending = tuple[Decision, On]
"""A decision, and what its reward is learnt on: a fixed arm by its index, features, an arm in a context."""


@final
class Waiting:
    """Decisions without a reward by their ids, oldest first."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def __iter__(self) -> Iterator[Pending]:
        return iter(self._pending.values())

    def refuse(self, key: str) -> None:
        """Refuses an id that a pending decision has."""
        if key in self._pending:
            raise DuplicateId(f"decision {key!r} waits for its reward already: ids may not come twice")

    def add(self, decision: Decision, on: On) -> None:
        """One more."""
        self._pending[decision.id] = decision, on

    def find(self, key: str) -> Pending | None:
        """The one with that id, if it waits."""
        return self._pending.get(key)

    def remove(self, key: str) -> None:
        """One less."""
        del self._pending[key]

    def move(self, places: Integers, columns: Floats) -> None:
        """Arms come to new places, `places` being their old ones; `columns` are the old fixed arms.

        A fixed arm that is gone is learnt by its features; of one with a regression of its own nothing is.
        """
        moved = {old: new for new, old in enumerate(places.tolist()) if old != GONE}
        for key, (decision, on) in self._pending.items():
            if isinstance(on, int):
                self._pending[key] = decision, moved.get(on, np.array(columns[:, on]))
            elif isinstance(on, InBlock):
                self._pending[key] = decision, InBlock(moved.get(on.arm, GONE), on.context)
