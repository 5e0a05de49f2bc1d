"""The penalty that a user asked for, and that of the statistics, whose rows are divided."""

from __future__ import annotations

from typing import NamedTuple

from infex.checks import real
from infex.errors import DamagedFile, InvalidSetting
from infex.linear.estimating import Estimator, OwnPenalty
from infex.linear.regression import LEAST_PENALTY, checked_penalty

NEAR_ENOUGH = 1e-12  # of itself, how far rounding may bring a penalty


class Prior(NamedTuple):
    """A ridge penalty on theta for features as they are given, which a map divides by `unit`.

    With z = x/unit and phi = unit theta, z'phi = x'theta and penalty |theta|^2 = inside |phi|^2. Estimates,
    widths and the volume are then those of x with the penalty. The bound on the length of a parameter, which
    the radius reads, is that of phi: the greatest mean reward of a context of length `unit`. Files from
    before penalties were in units have a unit of 1, whatever their map divides by.
    """

    penalty: float
    unit: float = 1.0

    @property
    def inside(self) -> float:
        """The penalty of the statistics."""
        return self.penalty / self.unit**2

    def over(self, scale: float) -> Prior:
        """The same where rows become `scale` times what they were."""
        return refuse_small(self._replace(unit=self.unit / scale))


def prior_of(penalty: float, estimator: Estimator | None, unit: float) -> Prior:
    """The estimator's own penalty, or else the bandit's; refuses one that is too small inside."""
    own = estimator.penalty if isinstance(estimator, OwnPenalty) else None
    return refuse_small(Prior(checked_penalty(penalty) if own is None else own, unit))


def refuse_small(prior: Prior) -> Prior:
    """The prior, unless V could not be factored with what its penalty is inside."""
    if not prior.inside >= LEAST_PENALTY:
        raise InvalidSetting(
            f"a penalty of {prior.penalty:g} is {prior.inside:g} for features that are divided by "
            f"longest={prior.unit:g}, and must be at least {LEAST_PENALTY:g} there: bring contexts to a "
            "smaller length, as features.table does, or say a larger penalty"
        )
    return prior


def prior_kept(kept: object, inside: float, estimator: Estimator | None) -> Prior:
    """The prior of a file, which must fit the penalty of what was learnt."""
    if kept is None:
        return Prior(inside)
    if not isinstance(kept, list) or len(kept) != 2:
        raise DamagedFile("its prior must be a penalty and a unit")
    penalty, unit = (real(name, part, above=0) for name, part in zip(("penalty", "unit"), kept, strict=True))
    prior = Prior(penalty, unit)
    if not abs(prior.inside - inside) <= NEAR_ENOUGH * inside:
        raise DamagedFile(f"its penalty is {inside:g} inside, and should be {prior.inside:g}")
    return prior_of(penalty, estimator, unit)
