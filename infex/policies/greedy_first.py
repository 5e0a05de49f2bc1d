"""Greedy-First."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from infex.checks import real, told_settings, whole
from infex.core.choosing import Wrap
from infex.linear import Posterior
from infex.policies.choice import Choice
from infex.policies.form import Form, WrapForm, wrapped
from infex.policies.greedy import GREEDIES
from infex.policies.linucb import LinUCB
from infex.policies.masks import choose_allowed, law_allowed
from infex.policies.reviving import revived
from infex.policies.traits import Policy, Traits, checked, traits_of

SECOND_BASE = LinUCB()
NO_LEVEL = -1.0


class FirstNote(NamedTuple):
    """Has it switched, the level if it is known, and the base's note."""

    switched: bool
    level: float
    base: Any = None


SINGULAR = 1e-12  # of the trace: an eigenvalue below it is rounding


@final
@dataclass(frozen=True, slots=True)
class GreedyFirst:
    """Greedy until contexts prove too alike, then `base` for good (Bastani, Bayati and Khosravi, 2021).

    After n rewards, more than `wait`, the smallest eigenvalue of sum x x' is compared with `level`
    n/4; once it is below, the base decides in every round. Without a `level` it is half of the
    smallest eigenvalue over n after the first `wait` rewards (8 d if not named). It is made for
    estimators that forget nothing.

    >>> from infex import GreedyFirst, LinUCB, environments, play
    >>> instance = environments.changing(dim=3, arms=5, seed=1)
    >>> play(instance, GreedyFirst(LinUCB()), horizon=50).horizon
    50
    """

    base: Policy = SECOND_BASE
    level: float | None = None
    wait: int | None = None
    _traits: Traits = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_traits", traits_of(checked("base", self.base)))
        if self.level is not None:
            object.__setattr__(self, "level", real("level", self.level, least=0))
        if self.wait is not None:
            object.__setattr__(self, "wait", whole("wait", self.wait, least=0))

    def compiled(self) -> Form | None:
        """Greedy until it switches, if compiled loops can play the base."""
        level = -1.0 if self.level is None else self.level
        return wrapped(
            self.base, WrapForm(Wrap.GREEDY_FIRST, level, -1.0 if self.wait is None else self.wait)
        )

    def accepts(self, note: object, dim: int) -> bool:
        """One of its own."""
        inner = self._traits.accepts
        return isinstance(note, FirstNote) and (note.base is None or inner is None or inner(note.base, dim))

    def revived(self, note: Any) -> Any:
        """A note of its own, with the base's."""
        return note._replace(base=revived(self.base, note.base)) if isinstance(note, FirstNote) else note

    def __repr__(self) -> str:
        return told_settings(self)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The greedy arm, or the base's."""
        switched, level, inner = self._state(posterior)
        if switched:
            choice = choose_allowed(self.base, self._traits, t, posterior.noted(inner), rng)
            return choice._replace(note=FirstNote(True, level, inner if choice.note is None else choice.note))
        note = None if level == NO_LEVEL else FirstNote(False, level, inner)
        return GREEDIES["lowest"].choose(t, posterior, rng)._replace(note=note)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """That of the greedy arm, or the base's."""
        switched, _, inner = self._state(posterior)
        if switched:
            return law_allowed(self._traits, t, posterior.noted(inner), arm)
        return GREEDIES["lowest"].propensity(t, posterior, arm)

    def _state(self, posterior: Posterior) -> tuple[bool, float, Any]:
        """Has it switched, the level if it is known, and the base's note."""
        begun = FirstNote(False, NO_LEVEL if self.level is None else self.level)
        switched, level, inner = posterior.note or begun
        if switched:
            return True, level, inner
        moments = posterior.moments
        wait = 8 * moments.moment.size if self.wait is None else self.wait
        if moments.told <= wait:
            return False, level, inner
        least, trace = moments.least_eigenvalue()
        if level == NO_LEVEL:
            level = least / moments.told / 2.0
        return least < level * moments.told / 4.0 or least <= SINGULAR * trace, level, inner
