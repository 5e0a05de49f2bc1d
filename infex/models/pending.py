"""Pending decisions as fantasy updates: exploring reads widths as if each had been told its estimate.

Exploring that looks at rewards alone would try the same arm again and again until its first reward comes. So
it reads the posterior with V + sum x x' over all that is pending: estimates stay as they are, and widths and
samples narrow (GP-BUCB; `X_pending` of BoTorch). The radius stays that of rewards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.checks import one_of
from infex.core.pending import Pending, expect_in_bank, expect_in_hybrid
from infex.core.posterior import RidgePosterior
from infex.models.base import Model
from infex.models.layout import DesignRow, DesignRows, Layout, PerArm, fixed_arms_of

if TYPE_CHECKING:
    from infex.models.posterior import ModelPosterior

NARROW, IGNORE = "narrow", "ignore"
PendingWay = Literal["narrow", "ignore"]
MOST_CHANGES = 1024  # decisions that come or go before sums are brought up to date


def narrows(pending: object) -> bool:
    """Do pending decisions narrow what exploring reads?"""
    return one_of("pending", pending, (NARROW, IGNORE)) == NARROW


class PendingDecision(Protocol):
    """A decision that waits for its reward: its round, whether it explored, and its arm's estimate then."""

    @property
    def t(self) -> int: ...

    @property
    def explored(self) -> bool: ...

    @property
    def estimate(self) -> float: ...


class PendingBatch(NamedTuple):
    """What pending decisions will be learnt on, which of them explored, and their estimates."""

    design: DesignRows
    explored: Bools
    estimates: Floats


@final
class PendingSums:
    """Sums of w x x' over pending decisions, in whole numbers, laid out as the model that will learn them.

    They depend on what is pending alone, to the last bit, and not on the order in which it came and went. One
    regression has one sum; one for each arm has sums of x x', (K, 2, c, c) and, where arms share features z,
    of x z', (K, 2, c, s), and z z', (2, s, s).
    """

    __slots__ = ("_arrays", "_layout", "_one")

    def __init__(self, layout: Layout) -> None:
        self._layout, self._one = layout, None if isinstance(layout, PerArm) else Pending(len(layout))
        shapes: list[tuple[int, ...]] = []
        if isinstance(layout, PerArm):
            arms, dim, shared = layout
            shapes = [(arms, 2, dim, dim)]
            shapes += [(arms, 2, dim, shared), (2, shared, shared)] if shared else []
        self._arrays = tuple(np.zeros(shape, dtype=np.int64) for shape in shapes)

    def add(self, design: DesignRows, weights: Floats, times: int) -> None:
        """Adds so many decisions on each row, or takes them out (below 0), with weights up to 1."""
        if self._one is not None:
            columns = fixed_arms_of(self._layout)
            fixed = (design.place >= 0) & (weights == 1.0)
            if fixed.any():  # the same arm again and again
                arms, counts = np.unique(design.place[fixed], return_counts=True)
                self._one.add_rows(columns.T[arms], np.ones(arms.size), times * counts)
            if not fixed.all():
                rows = design.at(~fixed).features(columns)
                self._one.add_rows(rows, weights[~fixed], np.full(len(rows), times))
            return
        arms, row, rows = design.for_each_arm()
        if len(self._arrays) == 1:
            expect_in_bank(self._arrays[0], arms, row, rows, weights, times)
        else:
            own, cross, common = self._arrays
            expect_in_hybrid(own, cross, common, arms, row, rows, weights, times)

    def copy(self) -> PendingSums:
        """A copy, which stays as it is."""
        return self.rearranged(self._layout, None)

    def rearranged(self, layout: Layout, places: Integers | None) -> PendingSums:
        """A copy over other arms; `places` are their old indices, -1 for a new arm, None if none has moved.

        What is pending of arms that go stays in what arms share, until it is summed anew.
        """
        other = PendingSums(layout)
        if self._one is not None:
            fixed_arms_of(layout)
            other._one = self._one.copy()
        for new, old in zip(other._arrays, self._arrays, strict=True):
            if places is None or new.ndim == 3:
                new[:] = old
            else:
                new[places >= 0] = old[places[places >= 0]]
        return other

    def narrowed(self, known: ModelPosterior) -> ModelPosterior:
        """A posterior with these sums in V."""
        if isinstance(known, RidgePosterior):
            assert self._one is not None
            return self._one.narrowed(known)
        return known.narrowed(*self._arrays)


@final
class PendingDesign:
    """All pending decisions of a bandit or a run: added when they are taken, removed when told or dropped.

    Both cost next to nothing: sums over all decisions, and over those that explored where a model learns from
    these alone, are brought up to date when somebody explores and reads them. A decision that is told before
    that is in none. `count` is how many are pending, and `version` is raised by every change.
    """

    __slots__ = ("_added", "_all", "_explored", "_explored_count", "_removed", "_weighs", "count", "version")

    def __init__(self, everything: PendingSums, explored: PendingSums | None, weighs: bool) -> None:
        self._all, self._explored, self._weighs = everything, explored, weighs
        self.count = self._explored_count = self.version = 0
        self._added: dict[int, tuple[PendingDecision, DesignRow]] = {}  # by round; not in the sums yet
        self._removed: list[tuple[PendingDecision, DesignRow]] = []  # still in the sums

    @staticmethod
    def of(everything: Model, explored: Model | None, pending: PendingBatch | None = None) -> PendingDesign:
        """Pending decisions of a model of all rounds and, if there is one, of exploring rounds."""
        apart = None if explored is None else PendingSums(explored.layout)
        design = PendingDesign(PendingSums(everything.layout), apart, not everything.is_least_squares)
        if pending is not None:
            design.count, design._explored_count = pending.design.size, int(pending.explored.sum())
            design._sum(pending, 1)
        return design

    def add(self, decision: PendingDecision, on: DesignRow) -> None:
        """Adds a decision, whose reward will be learnt on this row."""
        self.version += 1
        self.count += 1
        self._explored_count += decision.explored
        self._added[decision.t] = decision, on
        if len(self._added) >= MOST_CHANGES:
            self._bring_up_to_date()

    def remove(self, decision: PendingDecision, on: DesignRow) -> None:
        """Removes a decision."""
        self.version += 1
        self.count -= 1
        self._explored_count -= decision.explored
        if self._added.pop(decision.t, None) is None:
            self._removed.append((decision, on))
            if len(self._removed) >= MOST_CHANGES:
                self._bring_up_to_date()

    def narrowed(self, known: ModelPosterior, explored: bool) -> ModelPosterior:
        """A posterior of all rounds, or of exploring rounds alone (`explored`), with what is pending in V."""
        self._bring_up_to_date()
        if explored:
            return self._explored.narrowed(known) if self._explored and self._explored_count else known
        return self._all.narrowed(known) if self.count else known

    def copy(self) -> PendingDesign:
        """A copy, which stays as it is."""
        self._bring_up_to_date()
        return self._with(self._all.copy(), None if self._explored is None else self._explored.copy())

    def rearranged(self, layout: Layout, places: Integers) -> PendingDesign:
        """A copy over other arms; `places` are their old indices, -1 for a new arm."""
        self._bring_up_to_date()
        explored = None if self._explored is None else self._explored.rearranged(layout, places)
        return self._with(self._all.rearranged(layout, places), explored)

    def _with(self, everything: PendingSums, explored: PendingSums | None) -> PendingDesign:
        other = PendingDesign(everything, explored, self._weighs)
        other.count, other._explored_count, other.version = self.count, self._explored_count, self.version
        return other

    def _bring_up_to_date(self) -> None:
        changes = (list(self._added.values()), 1), (self._removed, -1)
        self._added, self._removed = {}, []
        for decisions, times in changes:
            if decisions:
                explored = np.array([decision.explored for decision, _ in decisions], dtype=np.bool_)
                estimates = np.array([decision.estimate for decision, _ in decisions], dtype=np.float64)
                self._sum(PendingBatch(DesignRows.of(on for _, on in decisions), explored, estimates), times)

    def _sum(self, pending: PendingBatch, times: int) -> None:
        design, explored, estimates = pending
        weights = np.ones(estimates.size)
        if self._weighs:  # a reward of 0 or 1 tells p(1 - p) of theta along x; a file may say any p
            chances = np.clip(estimates, 0.0, 1.0)
            weights = chances * (1.0 - chances)
            tells = weights > 0.0
            design, explored, weights = design.at(tells), explored[tells], weights[tells]
        self._all.add(design, weights, times)
        if self._explored is not None and explored.any():
            self._explored.add(design.at(explored), weights[explored], times)
