"""How compiled loops play a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.kernels.bases import KERNEL, PLAIN_UCB, Base
from infex.kernels.choosing import UNWRAPPED
from infex.policies.traits import Policy, hook
from infex.schedules.protocol import Schedule

NO_SETTINGS = np.zeros(0)


class Wrap(NamedTuple):
    """What stands around a base, by a kind of `kernels.choosing`, with its numbers."""

    kind: int = UNWRAPPED
    first: float = 0.0
    second: float = 0.0
    random_ties: bool = False


class ControlForm(NamedTuple):
    """A control, by a kind of `kernels.gating`: its limit, over how many rounds, its radius, its pauses."""

    kind: int
    makes_up: bool = False
    limit: float = 0.0
    over: int = 0
    noise: float = 0.0
    bound: float = 0.0
    delta: float = 1.0
    scale: float = 0.0
    pauses: Schedule | None = None


class ControlsForm(NamedTuple):
    """Controls around a schedule, how far apart missed rounds are made up for, and how far all look back."""

    rows: tuple[ControlForm, ...]
    spacing: int
    span: int


class Form(NamedTuple):
    """A policy in the terms of the compiled loop; without a schedule the base decides always.

    `settings` are those of a kernel. `is_base`: may it stand as a base of `Infex`? `apart`: does the base
    see exploring rounds alone, though it counts all? A `learner` is the address of a kernel that takes in
    rewards, and `room` says how many numbers it remembers, by dimension and arms. `reads_pulls`: does a
    kernel?
    """

    base: Base
    settings: Floats = NO_SETTINGS
    schedule: Schedule | None = None
    own: bool = False
    random_ties: bool = False
    is_base: bool = True
    wrap: Wrap = Wrap()
    controls: ControlsForm | None = None
    apart: bool = False
    learner: Any = 0
    room: Callable[[int, int], int] | None = None
    reads_pulls: bool = False

    @property
    def is_plain(self) -> bool:
        """Can a loop play it that keeps neither notes nor pulls, and looks at no control?"""
        own = self.base.kind < PLAIN_UCB and self.wrap.kind == UNWRAPPED
        return own and self.controls is None and self.room is None and not self.apart

    @property
    def is_hot(self) -> bool:
        """Can the core's loop over fixed arms play it? It calls no user's kernel."""
        return self.is_plain and self.base.kind != KERNEL


def wrapped(base: Policy, wrap: Wrap) -> Form | None:
    """The form of a policy with something around it, if the loops know both: a kernel decides alone."""
    form = form_of(base)
    if not isinstance(form, Form) or not form.is_base or form.wrap.kind != UNWRAPPED:
        return None
    return None if form.base.kind == KERNEL else form._replace(wrap=wrap, schedule=None, random_ties=False)


class ForcedForm(NamedTuple):
    """Forced sampling or a LASSO bandit, which has a loop of its own (`infex.core.forced`).

    `forces`: are there forced rounds? Their estimate, by LASSO of strength `first`, keeps arms within
    `keep`/2 of its best. That from n rewards has the strength later sqrt((of_n log n + of_d log d)/n). A
    strength of 0 is least squares.
    """

    forces: bool
    keep: float = 0.0
    first: float = 0.0
    later: float = 0.0
    of_n: float = 1.0
    of_d: float = 1.0
    random_ties: bool = False


def form_of(policy: Policy) -> Form | ForcedForm | None:
    """How compiled loops play a policy, if they can: what its `compiled` says.

    A subclass may decide otherwise than the class whose `compiled` it inherits, so it must have its own.
    """
    tells = hook(policy, "compiled")
    if tells is None or "compiled" not in vars(type(policy)):
        return None
    form: Form | ForcedForm | None = tells()
    return form
