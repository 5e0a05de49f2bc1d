"""The ellipsoid that holds the parameter in all rounds at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import Bools, Floats
from infex.checks import real
from infex.errors import InvalidSetting
from infex.theory.formulas import radius


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """All theta with |theta - centre| in V <= radius.

    `gram` is V.
    """

    centre: Floats
    gram: Floats
    radius: float

    def distance(self, theta: ArrayLike) -> np.float64 | Floats:
        """|theta - centre| in V, of one parameter (d,) or of many (n, d)."""
        apart = self._points(theta) - self.centre
        lengths: np.float64 | Floats = np.sqrt(np.einsum("...i,ij,...j->...", apart, self.gram, apart))[()]
        return lengths

    def _points(self, theta: ArrayLike) -> Floats:
        points = _numbers("theta", theta)
        if points.ndim == 0 or points.shape[-1] != self.centre.size:
            raise InvalidSetting(f"theta must have {self.centre.size} numbers, got shape {points.shape}")
        return points

    def contains(self, theta: ArrayLike) -> np.bool_ | Bools:
        """Is the parameter within? For many of them an array of answers."""
        return self.distance(theta) <= self.radius


def _numbers(name: str, given: ArrayLike) -> Floats:
    """What was given, as an array of numbers; text is refused, also if it reads like numbers."""
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(f"{name} must be numbers, got {str(given)[:80]!r}") from None


def _refuse_rows(rows: Floats) -> None:
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidSetting(f"features must be rows of finite numbers, got shape {rows.shape}")


def _refuse_values(values: Floats, given: ArrayLike) -> None:
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InvalidSetting(f"rewards must be finite numbers, got {str(given)[:80]!r}")


def ellipsoid(
    features: ArrayLike,
    rewards: ArrayLike,
    *,
    delta: float,
    noise: float = 1.0,
    bound: float = 1.0,
    penalty: float = 1.0,
) -> Ellipsoid:
    """The self-normalised ellipsoid about the ridge estimate of n rewards and the arms played, (n, d).

    |theta* - theta_t| in V_t <= beta_t(delta) holds for all t at once with probability 1 - delta
    (Abbasi-Yadkori et al., 2011, Theorem 2).

    `features` are the arms played; `noise`, `bound` and `penalty` are sigma, S and lambda.

    >>> holding = ellipsoid([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], delta=0.1)
    >>> bool(holding.contains([0.5, -0.5])), bool(holding.contains([9.0, 0.0]))
    (True, False)
    """
    rows, values = _numbers("features", features), _numbers("rewards", rewards)
    _refuse_rows(rows)
    _refuse_values(values, rewards)
    if len(values) != len(rows):
        raise InvalidSetting(f"there must be one reward for each of {len(rows)} rows, got {len(values)}")
    gram, moment = rows.T @ rows, rows.T @ values
    return ellipsoid_of_sums(gram, moment, delta=delta, noise=noise, bound=bound, penalty=penalty)


def ellipsoid_of_sums(
    gram: Floats, moment: Floats, *, delta: float, noise: float, bound: float, penalty: float
) -> Ellipsoid:
    """The same from the sums of x x' and of reward x, which add up over parts of a log.

    >>> ellipsoid_of_sums(np.eye(1), np.ones(1), delta=0.1, noise=1, bound=1, penalty=1).centre.tolist()
    [0.5]
    """
    whole = real("penalty", penalty, above=0) * np.eye(len(gram)) + gram
    log_det_ratio = float(np.linalg.slogdet(whole / penalty)[1])
    reach = radius(
        log_det_ratio,
        delta=real("delta", delta, above=0, most=1),
        noise=real("noise", noise, least=0),
        bound=real("bound", bound, least=0),
        penalty=penalty,
    )
    centre: Floats = np.asarray(np.linalg.solve(whole, moment), float)
    return Ellipsoid(centre, whole, float(reach))
