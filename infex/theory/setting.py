"""What a regret bound needs to know."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from infex.checks import one_of, real, set_fields, whole
from infex.errors import InvalidSetting
from infex.models.posterior import SAMPLINGS
from infex.theory import formulas
from infex.theory.formulas import Numbers

BASES = ("LinUCB", "LinTS")
Base = Literal["LinUCB", "LinTS"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A problem and a base as the bounds see them.

    `gap` is Delta, what the second best arm falls short of the best. `noise`, `bound`, `penalty`
    and `delta` are those of the policies; without `delta` it is 1/T. LinTS also has `sampling`, and
    a smaller bound if the number of `arms` is given. The bounds are proved for a penalty of at
    least 1 and arms no longer than 1, so that no gap exceeds 2 `bound`.

    `dim` is d.
    """

    dim: int
    gap: float
    noise: float = 1.0
    bound: float = 1.0
    penalty: float = 1.0
    delta: float | None = None
    arms: int | None = None
    sampling: Literal["gaussian", "spherical"] = "gaussian"

    def __post_init__(self) -> None:
        set_fields(
            self,
            dim=whole("dim", self.dim, least=1),
            gap=real("gap", self.gap, above=0),
            noise=real("noise", self.noise, least=0),
            bound=real("bound", self.bound, above=0),
            penalty=real("penalty", self.penalty, least=1),
            delta=self.delta if self.delta is None else real("delta", self.delta, above=0, most=1),
            arms=self.arms if self.arms is None else whole("arms", self.arms, least=1),
            sampling=one_of("sampling", self.sampling, SAMPLINGS),
        )
        if self.gap > 2 * self.bound:
            raise InvalidSetting(f"gap must be at most 2 bound = {2 * self.bound:g}, got {self.gap:g}")

    def delta_at(self, horizon: int) -> float:
        """delta, or 1/T where none was given."""
        return 1.0 / horizon if self.delta is None else self.delta

    def log_det_ratio(self, rounds: Numbers) -> Any:
        """The simple bound on alpha."""
        return formulas.volume_bound(rounds, self.dim, self.penalty)

    def radius(self, log_det_ratio: Numbers, delta: Numbers) -> Any:
        """beta."""
        return formulas.radius(
            log_det_ratio, delta=delta, noise=self.noise, bound=self.bound, penalty=self.penalty
        )

    def settled_volume(self, rounds: Numbers, regret: Callable[[Numbers], Numbers]) -> Any:
        """The least alpha that both bounds allow, where `regret(alpha)` bounds the regret in turn.

        alpha <= A = d log(1 + T/(d lambda)) and alpha <= B(regret(alpha)), with B the bound by regret.
        Iterated from A, alpha falls to the greatest solution, and every step of the way is a bound.
        """
        log_det_ratio = self.log_det_ratio(rounds)
        for _ in range(200):
            better = formulas.volume_bound_by_regret(
                rounds, regret(log_det_ratio), self.gap, self.dim, penalty=self.penalty
            )
            closer = np.minimum(log_det_ratio, better)
            if np.all(log_det_ratio - closer <= 1e-13 * log_det_ratio):
                return closer
            log_det_ratio = closer
        return log_det_ratio

    def base_regret(self, base: str, rounds: Numbers, log_det_ratio: Numbers, delta: Numbers) -> Any:
        """The bound on the base's regret, by its alpha."""
        beta = self.radius(log_det_ratio, delta)
        if one_of("base", base, BASES) == "LinUCB":
            return formulas.linucb_regret(log_det_ratio, beta, self.gap)
        factor = formulas.sample_factor(rounds, self.dim, delta, self.arms)
        chance = formulas.exceeding_chance(self.dim, self.sampling)
        return formulas.lints_regret(log_det_ratio, beta, self.gap, factor=factor, chance=chance, delta=delta)

    def base_failure(self, base: str, delta: float) -> float:
        """The chance that this bound fails.

        The ellipsoid fails with delta; for LinTS also the samples, with the sum of delta/(2 t^2), and the
        bound on expected widths, with delta. The proof needs delta/2 <= p/2; where that does not hold, the
        chance is taken for 1.
        """
        if base == "LinUCB":
            return delta
        covered = delta <= formulas.exceeding_chance(self.dim, self.sampling)
        return (2.0 + math.pi**2 / 12.0) * delta if covered else 1.0
