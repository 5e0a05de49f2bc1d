"""The common decision among arms that are given with the question, in one compiled call.

It is what `Player.decide` gives, to the last bit; a test compares the two.
"""

from __future__ import annotations

from typing import final

from infex.kernels import bases
from infex.linear import Memory
from infex.policies import Policy
from infex.policies.form import Form
from infex.rounds.shortcut import radius_numbers, said_of_rounds


@final
class OpenShortcut:
    """How a policy decides by itself among any arms; its schedule, if it has one, says when the base does.

    `greedy` and `explored` are what rounds of the two kinds say of themselves: a reason and a turn.
    """

    __slots__ = ("_numbers", "_optimistic", "_schedule", "explored", "greedy")

    def __init__(self, form: Form, scheduled: bool, penalty: float) -> None:
        self._optimistic = form.base.kind == bases.LINUCB
        self._numbers = radius_numbers(form, penalty)
        self._schedule = form.schedule
        self.greedy, self.explored = said_of_rounds(scheduled)

    @staticmethod
    def of(policy: Policy, memory: Memory) -> OpenShortcut | None:
        """That of a policy; None if it draws, looks at limits, keeps data apart, or estimates otherwise."""
        return None
