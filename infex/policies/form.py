"""How compiled loops play a policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.kernels.bases import Base
from infex.policies.traits import Policy, hook
from infex.schedules.protocol import Schedule

NO_SETTINGS = np.zeros(0)


class Form(NamedTuple):
    """A policy in the terms of the compiled loop; without a schedule the base decides always.

    `settings` are those of a kernel. `is_base`: may it stand as a base of `Infex`?
    """

    base: Base
    settings: Floats = NO_SETTINGS
    schedule: Schedule | None = None
    own: bool = False
    random_ties: bool = False
    is_base: bool = True


class ForcedForm(NamedTuple):
    """Forced sampling by least squares, which has a loop of its own: the rule, its scale, what is kept."""

    rule: str
    scale: float | None
    keep: float


def form_of(policy: Policy) -> Form | ForcedForm | None:
    """How compiled loops play a policy, if they can: what its `compiled` says.

    A subclass may decide otherwise than the class whose `compiled` it inherits, so it must have its own.
    """
    tells = hook(policy, "compiled")
    if tells is None or "compiled" not in vars(type(policy)):
        return None
    form: Form | ForcedForm | None = tells()
    return form
