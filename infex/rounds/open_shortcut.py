"""The common decision among arms that are given with the question, in one compiled call.

It is what `Player.decide` gives, to the last bit; a test compares the two.
"""

from __future__ import annotations

from typing import final

from infex.arrays import MOST_SQUARED, Floats
from infex.core.choosing import Kind
from infex.kernels.given_arms import open_glance
from infex.linear import Memory, RidgeStatistics
from infex.linear.foresight import Foresight
from infex.policies import Infex, Policy
from infex.policies.form import Form
from infex.rounds.shortcut import Glance, looks_ahead, plain_form, radius_numbers, said_of_rounds


@final
class OpenShortcut:
    """How a policy decides by itself among any arms; its schedule, if it has one, says when the base does.

    `greedy` and `explored` are what rounds of the two kinds say of themselves: a reason and a turn.
    """

    __slots__ = ("_numbers", "_optimistic", "_schedule", "explored", "greedy")

    def __init__(self, form: Form, scheduled: bool, penalty: float) -> None:
        self._optimistic = form.base.kind == Kind.LINUCB
        self._numbers = radius_numbers(form, penalty)
        self._schedule = form.schedule
        self.greedy, self.explored = said_of_rounds(scheduled)

    @staticmethod
    def of(policy: Policy, memory: Memory) -> OpenShortcut | None:
        """That of a policy; None if it draws, looks at limits, keeps data apart, or estimates otherwise."""
        form = plain_form(policy)
        if form is None or type(memory.all) is not RidgeStatistics:
            return None
        return OpenShortcut(form, isinstance(policy, Infex), memory.all.penalty)

    def take(
        self, t: int, ridge: RidgeStatistics, rows: Floats, foresight: Foresight | None
    ) -> Glance | None:
        """What the policy does in round t among arms given as rows, (K, d); an arm below 0 is none.

        None where pending decisions narrow the widths it reads.
        """
        explores = self._schedule is None or self._schedule.explores(t)
        if explores and self._optimistic and looks_ahead(foresight):
            return None
        return explores, open_glance(
            rows, MOST_SQUARED, *ridge.solved_sums, self._numbers, explores and self._optimistic
        )
