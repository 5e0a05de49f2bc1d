"""LinUCB that seldom changes its mind."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import real
from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice, explored
from infex.policies.confidence import Confidence
from infex.policies.form import Form
from infex.policies.ties import picked, share

ROUNDED_GROWTH = 1e-9  # an arm of length 1 makes det V grow by exactly 2 at first


class Switched(NamedTuple):
    """The log_det_ratio at the last switch, and the optimistic parameter that it found."""

    log_det_ratio: float
    theta: tuple[float, ...]


def forgotten(note: Any) -> Any:
    """A note without the parameters in it, which were of other arms: what switched does so anew."""
    if isinstance(note, Switched):
        return None
    if isinstance(note, tuple):
        parts = [forgotten(part) for part in note]
        return type(note)(*parts) if type(note) is not tuple else tuple(parts)
    return note


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RarelySwitchingUCB(Confidence):
    """LinUCB whose optimistic parameter is found anew when det V has grown by a factor 1 + growth.

    Until then it plays the best arm of the last one (Abbasi-Yadkori, Pal and Szepesvari, 2011,
    section 5.1): of order d log T switches in T rounds. Among fixed arms that is one arm between
    two switches. It is made for estimators that forget nothing: where det V stops growing, it
    stops switching.

    `ties` go to the "lowest" index, or at "random".

    `noise`, `bound`, `delta` and `scale` are those of `LinUCB`.

    >>> from infex import RarelySwitchingUCB, environments, play
    >>> play(environments.gaussian(dim=3, arms=5, seed=1), RarelySwitchingUCB(growth=0.5), horizon=50).horizon
    50
    """

    growth: float = 1.0

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        object.__setattr__(self, "growth", real("growth", self.growth, above=0))

    def compiled(self) -> Form:
        """Optimistic at every switch, and the best arm of that in between."""
        return Form(self.base_of(Kind.RARELY_SWITCHING, Reads.READS_WIDTHS)._replace(rate=self.growth))

    def accepts(self, note: object, dim: int) -> bool:
        """One of its own, with a parameter of the right length."""
        if not isinstance(note, Switched) or not isinstance(note.theta, tuple) or len(note.theta) != dim:
            return False
        return all(isinstance(number, int | float) for number in (note.log_det_ratio, *note.theta))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of the optimistic parameter; the note is its log_det_ratio and itself."""
        if not self._switches(posterior):
            return explored(*picked(self._scores(posterior), self.ties, rng))
        arm, share = picked(posterior.upper(self.choosing_radius(posterior)), self.ties, rng)
        theta = posterior.optimistic(arm, self.choosing_radius(posterior))
        return explored(arm, share, Switched(posterior.log_det_ratio, tuple(theta.tolist())))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the arm that is played; shared among ties that are broken at random."""
        if self._switches(posterior):
            return share(posterior.upper(self.choosing_radius(posterior)), self.ties, arm)
        return share(self._scores(posterior), self.ties, arm)

    def _switches(self, posterior: Posterior) -> bool:
        return (
            posterior.note is None
            or posterior.log_det_ratio
            > posterior.note.log_det_ratio + math.log1p(self.growth) + ROUNDED_GROWTH
        )

    def _scores(self, posterior: Posterior) -> Floats:
        return posterior.scores(np.array(posterior.note.theta))
