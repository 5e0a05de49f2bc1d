"""The common decision in one compiled call: ridge regression, a plain schedule, no draws.

Arms are fixed, or have a regression each and are asked about in a context.

It is what `Player.decide` gives, to the last bit, in a third of the time; a test compares the two.
"""

from __future__ import annotations

from typing import TypeGuard, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.core.choosing import Kind, Reads
from infex.kernels.offered_arms import glance_among
from infex.linear import Evidence, InContext, Memory, Radius, RidgeStatistics
from infex.linear.awaited_sums import BlockSums, DenseSums
from infex.linear.block_ridge import BlockRidge
from infex.linear.foresight import Foresight
from infex.linear.hybrid_ridge import HybridRidge
from infex.policies import Infex, Policy
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
        self.optimistic = form.base.kind == Kind.LINUCB
        self._numbers = radius_numbers(form, penalty)
        self._schedule: Schedule | None = form.schedule
        self._ahead: Floats = np.empty((4, arms))
        self._places: Integers = np.empty(arms, dtype=np.int64)
        self.greedy, self.explored = said_of_rounds(scheduled)

    @staticmethod
    def of(policy: Policy, memory: Memory) -> Shortcut | None:
        """That of a policy; None without arms that stay, or if it draws, has limits, or keeps data apart."""
        form, arms = plain_form(policy), _standing(memory)
        if form is None or arms == 0:
            return None
        return Shortcut(form, isinstance(policy, Infex), arms, memory.all.penalty)

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

    def take_in(
        self,
        t: int,
        ridge: BlockRidge | HybridRidge,
        context: Floats | InContext,
        foresight: Foresight | None = None,
    ) -> Glance | None:
        """What the policy does in round t, in a context; None where it needs the long way."""
        schedule = self._schedule
        explores = schedule is None or schedule.explores(t)
        optimistic = explores and self.optimistic
        if optimistic and looks_ahead(foresight):
            return self._take_ahead(ridge, context, foresight)
        if isinstance(context, InContext):
            assert isinstance(ridge, HybridRidge)
            return explores, ridge.glance(context, self._numbers, optimistic)
        assert isinstance(ridge, BlockRidge)
        return explores, ridge.glance(context, self._numbers, optimistic)

    def _take_ahead(
        self, ridge: BlockRidge | HybridRidge, context: Floats | InContext, foresight: Foresight
    ) -> Glance | None:
        """An optimistic decision whose widths pending ones narrow; None where arms share features."""
        awaiting = foresight.sums()
        if not isinstance(ridge, BlockRidge) or isinstance(context, InContext):
            return None
        assert isinstance(awaiting, BlockSums)
        return True, ridge.glance_ahead(awaiting.awaited, context, self._numbers)

    def take_among(
        self,
        t: int,
        ridge: RidgeStatistics | BlockRidge,
        context: Floats | None,
        places: Integers,
        may_explore: bool,
        foresight: Foresight | None,
    ) -> Glance | None:
        """What it does among the arms at some places; None also where it may not explore though it would."""
        explores = self._schedule is None or self._schedule.explores(t)
        optimistic = explores and self.optimistic
        if (explores and not may_explore) or (optimistic and looks_ahead(foresight)):
            return None
        if isinstance(ridge, RidgeStatistics):
            return explores, glance_among(*ridge.kept_up, self._numbers, places, optimistic)
        assert context is not None
        return explores, ridge.glance_among(context, self._numbers, places, optimistic)

    def take(self, t: int, ridge: RidgeStatistics, foresight: Foresight | None = None) -> Glance:
        """What the policy does in round t; where it explores, pending decisions narrow what it reads."""
        schedule = self._schedule
        explores = schedule is None or schedule.explores(t)
        if not explores or not self.optimistic:
            return explores, ridge.greedy_glance(self._numbers)
        if foresight is None or len(foresight) == 0:
            return True, ridge.glance(self._numbers, self._ahead[3], self._places)
        awaiting = foresight.sums()
        assert isinstance(awaiting, DenseSums)
        return True, ridge.glance_ahead(awaiting.awaited, self._numbers, self._ahead, self._places)


def _standing(memory: Memory) -> int:
    """How many arms there are in every round, of which one compiled call can tell."""
    known = memory.all
    return known.layout.arms if isinstance(known, BlockRidge | HybridRidge) else memory.columns.shape[1]


def looks_ahead(foresight: Foresight | None) -> TypeGuard[Foresight]:
    """Is anything pending that exploring is to look at?"""
    return foresight is not None and len(foresight) > 0


def plain_form(policy: Policy) -> Form | None:
    """The compiled form of a policy whose rounds are greedy or optimistic, and known without any draw."""
    form, gate = form_of(policy), traits_of(policy).gate
    if not traits_of(policy).trusted:  # a user's schedule may ask or change its own bandit
        return None
    if (
        not isinstance(form, Form)
        or not form.is_plain
        or form.own
        or form.random_ties
        or form.base.random_ties
    ):
        return None
    plain = gate is None or (isinstance(gate.plan, Family) and not (gate.layers or gate.drawn))
    return form if plain and form.base.kind in (Kind.LINUCB, Kind.GREEDY) else None


def said_of_rounds(scheduled: bool) -> tuple[Said, Said]:
    """What greedy and exploring rounds say of themselves, with a schedule or without."""
    explored = (Reason.SCHEDULED, Turn.DUE) if scheduled else (Reason.EXPLORED, None)
    return (Reason.GREEDY, Turn.REST if scheduled else None), explored


def radius_numbers(form: Form, penalty: float) -> Floats:
    """What `interval_radius` reads: the settings of an optimistic base, else the default ones."""
    optimistic = form.base.kind == Kind.LINUCB
    base = form.base if optimistic else DEFAULT.base_of(Kind.LINUCB, Reads.READS_WIDTHS)
    return np.array([base.noise, base.bound, base.delta, base.scale, base.bonus, penalty])
