"""Pending decisions as exploring sees them: each change of what waits for a reward goes through here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infex.bandit.decision import Decision
from infex.bandit.waiting import Waiting
from infex.linear import Memory, On

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def await_reward(bandit: Bandit, decision: Decision, on: On) -> None:
    """A decision begins to wait for its reward, which will be learnt on `on`."""
    pending = decision, on
    bandit._waiting.put(pending)
    foresight = bandit._player._memory.foresight
    if foresight is not None:
        foresight.add(pending)


def wait_no_more(bandit: Bandit, decision: Decision, on: On) -> None:
    """A decision was told, or dropped."""
    waiting, foresight = bandit._waiting, bandit._player._memory.foresight
    if waiting.singles.pop(decision[0], None) is None:  # by its id
        waiting.remove(decision.id)
    if foresight is not None:
        foresight.remove(decision, on)


def foresee(memory: Memory, waiting: Waiting, narrowing: bool) -> None:
    """Lets exploring look at all that waits, or at none of it."""
    memory.foresight = None
    if narrowing:
        memory.foresee((grounds, taken.explored, taken.estimate) for taken, grounds in waiting.parts())
