"""The common decision in one compiled call: ridge regression, a plain schedule, no draws.

Arms are fixed, or have a regression each and are asked about in a context.

It is what `Player.decide` gives, to the last bit, in a third of the time; a test compares the two.
"""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels import bases
from infex.linear import Evidence, Memory, Radius
from infex.policies import Policy
from infex.policies.choice import Reason, Turn
from infex.policies.confidence import DEFAULT
from infex.policies.form import Form, form_of
from infex.policies.traits import traits_of
from infex.schedules.named_rounds import named_rounds
from infex.schedules.protocol import Family, Schedule

Glance = tuple[bool, tuple[int, int, float, float, float]]
"""Does the round explore; its arm, the greedy one, their estimates, the half-width of the arm's interval."""
Said = tuple[Reason, Turn | None]


@final
class Shortcut:
    """How a policy decides by itself; its schedule, if it has one, says when the base does.

    `greedy` and `explored` are what rounds of the two kinds say of themselves: a reason and a turn.
    """

    __slots__ = (
        "_ahead", "_numbers", "_places", "_schedule", "explored", "greedy", "optimistic",
    )  # fmt: skip

    def __init__(self, form: Form, scheduled: bool, arms: int, penalty: float) -> None:
        self.optimistic = form.base.kind == bases.LINUCB
        self._numbers = radius_numbers(form, penalty)
        self._schedule: Schedule | None = form.schedule
        self._ahead: Floats = np.empty((4, arms))
        self._places: Integers = np.empty(arms, dtype=np.int64)
        self.greedy, self.explored = said_of_rounds(scheduled)

    @staticmethod
    def of(policy: Policy, memory: Memory) -> Shortcut | None:
        """That of a policy; None without arms that stay, or if it draws, has limits, or keeps data apart."""
        return None

    def choosing_radius(self, evidence: Evidence) -> Radius:
        """The radius by which an optimistic base chooses, as `kernels.reading.choosing_radius` has it."""
        noise, bound, delta, scale, bonus, _ = self._numbers.tolist()
        found: Radius = scale * evidence.radii(noise, bound, delta) + bonus
        return found

    def due(self, first: int, last: int) -> Integers:
        """The rounds from one to another in which the base decides."""
        if self._schedule is None:
            return np.arange(first, last + 1)
        return named_rounds(self._schedule, first, last)


def plain_form(policy: Policy) -> Form | None:
    """The compiled form of a policy whose rounds are greedy or optimistic, and known without any draw."""
    form, gate = form_of(policy), traits_of(policy).gate
    if not traits_of(policy).trusted:  # a user's schedule may ask or change its own bandit
        return None
    if not isinstance(form, Form) or not form.is_hot or form.own or form.random_ties or form.base.random_ties:
        return None
    plain = gate is None or (isinstance(gate.plan, Family) and not (gate.layers or gate.drawn))
    return form if plain and form.base.kind in (bases.LINUCB, bases.GREEDY) else None


def said_of_rounds(scheduled: bool) -> tuple[Said, Said]:
    """What greedy and exploring rounds say of themselves, with a schedule or without."""
    explored = (Reason.SCHEDULED, Turn.DUE) if scheduled else (Reason.EXPLORED, None)
    return (Reason.GREEDY, Turn.REST if scheduled else None), explored


def radius_numbers(form: Form, penalty: float) -> Floats:
    """What `interval_radius` reads: the settings of an optimistic base, else the default ones."""
    optimistic = form.base.kind == bases.LINUCB
    base = form.base if optimistic else DEFAULT.base_of(bases.LINUCB, bases.READS_WIDTHS)
    return np.array([base.noise, base.bound, base.delta, base.scale, base.bonus, penalty])
