"""Exploration with pauses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from infex.checks import one_of, real, told
from infex.core.general import ControlKind
from infex.errors import InvalidSetting
from infex.linear import Posterior
from infex.policies.choice import Reason
from infex.policies.form import ControlForm
from infex.policies.gate import Control, Missed, State
from infex.schedules.every import never
from infex.schedules.listed import Listed
from infex.schedules.protocol import Schedule, is_drawn

LEAST_SHARE = 1e-12  # of rounds that make up: more rounds between them than anybody plays


@final
@dataclass(frozen=True, slots=True, repr=False)
class Paused(Control):
    """`schedule`, but not in rounds that `when` forbids."""

    schedule: Schedule | Control
    when: Callable[[int], bool] | Schedule
    missed: Missed = "drop"
    at_most: float = 1.0

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        if not self.by_rounds and not callable(self.when):
            raise InvalidSetting(
                f"when must be a function of the round, or a schedule, got {told(self.when)}"
            )
        one_of("missed", self.missed, ("drop", "make up"))
        object.__setattr__(self, "at_most", _share(self.at_most))

    @property
    def by_rounds(self) -> bool:
        """Are the pauses the rounds of a schedule, which a file can hold?"""
        return isinstance(self.when, Schedule)

    @property
    def catches_up(self) -> bool:
        """Does it never pause, and make up for what requests forbid?"""
        return isinstance(self.when, Listed) and not self.when.rounds and self.missed == "make up"

    @property
    def drawn(self) -> bool:
        return isinstance(self.when, Schedule) and is_drawn(self.when)

    @property
    def spacing(self) -> int:
        return math.ceil(1.0 / self.at_most) if self.missed == "make up" else 1

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        pauses = self.when.explores(t) if isinstance(self.when, Schedule) else self.when(t)
        return Reason.PAUSED if pauses else None

    def compiled(self) -> ControlForm | None:
        if not isinstance(self.when, Schedule):
            return None
        return ControlForm(ControlKind.PAUSES, makes_up=self.missed == "make up", pauses=self.when)

    def __repr__(self) -> str:
        spread = "" if self.at_most == 1.0 else f", at_most={self.at_most!r}"
        if self.catches_up:
            return f"catching_up({told(self.schedule)}{spread})"
        return f"paused({told(self.schedule)}, {told(self.when)}, missed={self.missed!r}{spread})"


def _share(at_most: object) -> float:
    return real("at_most", real("at_most", at_most, above=0, most=1), least=LEAST_SHARE)


def paused(
    schedule: Schedule | Control,
    when: Callable[[int], bool] | Schedule,
    missed: Missed = "drop",
    at_most: float = 1.0,
) -> Paused:
    """`schedule`, but no exploring in rounds for which `when(t)` is true.

    Explorations that fall into a pause are dropped, or with `missed="make up"` made up for in the
    first rounds after it that are not due themselves; so are those for which no arm is allowed, and those
    that a request forbids (`ask(explore=False)`).
    `at_most` is the share of rounds that may make up: with 0.1, one is made up for ten rounds after
    the exploration before it, at the earliest. All are counted (`bandit.exploration()`). `when` may
    be asked more than once in a round: it must say the same. It may also be a schedule, whose rounds
    are the pauses: `paused(every(20), when=listed(range(100, 200)))`, which a file can hold.

    >>> from infex import every
    >>> schedule = paused(every(2), when=lambda t: t <= 10, missed="make up")
    >>> schedule.explores(4)
    True
    """
    return Paused(schedule, when, missed, at_most)


def catching_up(schedule: Schedule | Control, at_most: float = 1.0) -> Paused:
    """`schedule`, whose explorations are made up for where a request forbids them: 2 % stays 2 %.

    An exploration that is due in a round with `ask(explore=False)`, or in which no arm is allowed, takes
    place in the first round after it that is not due itself and may explore. What a limit or a pause keeps
    from happening is not made up for. `at_most` is the share of rounds that may make up, as in `paused`. It
    is `paused(schedule, when=never(), missed="make up")` by a short name.

    >>> from infex import Bandit, Infex, LinUCB, every
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Infex(LinUCB(), catching_up(every(2))))
    >>> [bandit.ask(explore=t != 2).explored for t in range(1, 5)]
    [False, False, True, True]
    """
    return Paused(schedule, never(), "make up", at_most)
