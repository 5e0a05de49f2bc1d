"""The penalty that a user asked for, and that of the statistics, whose rows are divided."""

from __future__ import annotations

from typing import Any, NamedTuple

from infex.checks import real
from infex.errors import DamagedFile, InvalidSetting
from infex.models.base import Estimator, EstimatorWithPenalty
from infex.models.ridge import LEAST_PENALTY, checked_penalty


class Prior(NamedTuple):
    """A ridge penalty on theta for features as they are given, which a map divides by `unit`.

    With z = x/unit and phi = unit theta, z'phi = x'theta and penalty |theta|^2 = inside |phi|^2. Estimates,
    widths and log det V are then those of x with the penalty. The bound on the length of a parameter, which
    the radius reads, is that of phi: the greatest mean reward of a context of length `unit`.
    """

    penalty: float
    unit: float = 1.0

    @staticmethod
    def of(penalty: float, estimator: Estimator | None, unit: float) -> Prior:
        """The estimator's own penalty, or else the bandit's; refuses one that is too small inside."""
        own = estimator.penalty if isinstance(estimator, EstimatorWithPenalty) else None
        return Prior(checked_penalty(penalty) if own is None else own, unit)._checked()

    @staticmethod
    def restored(kept: Any, estimator: Estimator | None) -> Prior:
        """That of a file."""
        if not isinstance(kept, list) or len(kept) != 2:
            raise DamagedFile("its prior must be a penalty and a unit")
        penalty, unit = (
            real(name, part, above=0) for name, part in zip(("penalty", "unit"), kept, strict=True)
        )
        return Prior.of(penalty, estimator, unit)

    @property
    def inside(self) -> float:
        """The penalty of the statistics."""
        return self.penalty / self.unit**2

    def over(self, scale: float) -> Prior:
        """The same where rows become `scale` times what they were."""
        return self._replace(unit=self.unit / scale)._checked()

    def _checked(self) -> Prior:
        """The prior, unless V could not be factored with what its penalty is inside."""
        if not self.inside >= LEAST_PENALTY:
            raise InvalidSetting(
                f"a penalty of {self.penalty:g} is {self.inside:g} for features that are divided by "
                f"longest={self.unit:g}, and must be at least {LEAST_PENALTY:g} there: bring contexts to a "
                "smaller length, as features.table does, or say a larger penalty"
            )
        return self
