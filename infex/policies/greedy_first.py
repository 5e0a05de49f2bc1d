"""Greedy-First."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from infex.checks import real, whole
from infex.linear import Evidence
from infex.policies.greedy import GREEDY
from infex.policies.linucb import LinUCB
from infex.policies.protocol import Choice, Policy, checked, choose_allowed, noted, probability, uses_explored

BASE = LinUCB()
NO_LEVEL = -1.0
SINGULAR = 1e-12  # of the trace, below which rounding would decide


@final
@dataclass(frozen=True, slots=True)
class GreedyFirst:
    """Greedy until contexts prove too alike, then `base` for good (Bastani, Bayati and Khosravi, 2021).

    After n rewards, more than `wait`, the smallest eigenvalue of sum x x' is compared with `level`
    n/4; once it is below, the base decides in every round. Without a `level` it is half of the
    smallest eigenvalue over n after the first `wait` rewards (8 d if not named). It is made for
    estimators that forget nothing.
    """

    base: Policy = BASE
    level: float | None = None
    wait: int | None = None

    def __post_init__(self) -> None:
        checked("base", self.base)
        if self.level is not None:
            object.__setattr__(self, "level", real("level", self.level, least=0))
        if self.wait is not None:
            object.__setattr__(self, "wait", whole("wait", self.wait, least=0))

    @property
    def uses_explored(self) -> bool:
        """Does the base keep exploring rounds apart?"""
        return uses_explored(self.base)

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The greedy arm, or the base's; the note is (1 if it switched, the level, the base's note)."""
        switched, level, inner = self._state(evidence)
        if switched:
            choice = choose_allowed(self.base, t, evidence.noted(inner), rng)
            return choice._replace(note=(1.0, level, noted(choice, inner)))
        note = None if level == NO_LEVEL else (0.0, level, inner)
        return GREEDY["lowest"].choose(t, evidence, rng)._replace(note=note)

    def probability(self, t: int, evidence: Evidence, arm: int) -> float | None:
        """That of the greedy arm, or the base's."""
        switched, _, inner = self._state(evidence)
        if switched:
            return probability(self.base, t, evidence.noted(inner), arm)
        return GREEDY["lowest"].probability(t, evidence, arm)

    def _state(self, evidence: Evidence) -> tuple[bool, float, Any]:
        """Has it switched, the level if it is known, and the base's note."""
        switched, level, inner = evidence.note or (0.0, NO_LEVEL if self.level is None else self.level, None)
        if switched:
            return True, level, inner
        moments = evidence.moments
        wait = 8 * moments.moment.size if self.wait is None else self.wait
        if moments.told <= wait:
            return False, level, inner
        least = moments.least_eigenvalue()
        if level == NO_LEVEL:
            level = least / moments.told / 2.0
        singular = least <= SINGULAR * float(np.trace(moments.gram))
        return least < level * moments.told / 4.0 or singular, level, inner
