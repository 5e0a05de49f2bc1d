"""Bounds on the regret of LinUCB and LinTS, with explicit constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import Bools, Floats
from infex.checks import one_of, real, set_fields, whole
from infex.errors import InvalidSetting
from infex.lab.theory import formulas
from infex.lab.theory.formulas import Numbers, radius
from infex.models.posterior import SAMPLINGS

LAST_ROUND = 10**300  # of later rounds only the logarithm is known
DOUBLING_ROUNDS = (*(2**k for k in range(997)), LAST_ROUND)


class Span(NamedTuple):
    """A number of rounds, infinite past 10^300, and its logarithm to base 10.

    The logarithm is infinite if there is no such number, and NaN where it is not known.

    `log10` is that logarithm.
    """

    rounds: int | float
    log10: float

    def __str__(self) -> str:
        if self.log10 == math.inf:
            return "never"
        if math.isnan(self.log10):
            return "past 1e300"
        if self.rounds == math.inf:
            return f"10^{self.log10:.4g}" if self.log10 >= 1e6 else f"1e{self.log10:.0f}"
        return f"{self.rounds:,}" if self.rounds < 10**9 else f"{self.rounds:.3e}"


def span(rounds: int | float, log: float | None = None) -> Span:
    """A span of so many rounds; past 10^300, by their natural logarithm."""
    if rounds < math.inf:
        return Span(rounds, math.log10(rounds) if rounds else -math.inf)
    return Span(math.inf, math.inf if log is None else log / math.log(10.0))


def settles(
    points: tuple[int, ...] | list[int],
    costs: Floats,
    lines: Floats,
    cost: Callable[[int], float],
    line: Callable[[int], float],
) -> int | float:
    """The least round from the first point on after which `cost` is never above `line`; inf if none is.

    `points` rise; `costs` and `lines` are the values of `cost` and `line` at them.
    """
    if not costs[-1] <= lines[-1]:
        return math.inf
    for j in np.flatnonzero(~(costs[1:] <= lines[:-1]))[::-1]:
        last = _last_above(points[j], points[j + 1], cost, line)
        if last is not None:
            return last + 1
    return points[0] + (1 if not costs[0] <= lines[0] else 0)


def _last_above(
    low: int, high: int, cost: Callable[[int], float], line: Callable[[int], float]
) -> int | None:
    """The last round after `low`, up to `high`, at which the cost is above the line."""
    stretches = [(low, high)]
    while stretches:
        low, high = stretches.pop()
        top = cost(high)
        if not top <= line(high):
            return high
        if high - low > 1 + (high >> 50) and not top <= line(low + 1):
            middle = (low + high) // 2
            stretches += [(low, middle), (middle, high)]
    return None


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


class Bound(NamedTuple):
    """A bound on the regret of a base: it says nothing where it is vacuous.

    `failure` is the chance that it fails.

    `policy` is what it is of, at the `horizon`, with the `log_det_ratio` and `radius` that it rests on;
    `trivial` is 2 S T.
    """

    policy: str
    regret: float
    log_det_ratio: float
    radius: float
    horizon: int
    trivial: float
    failure: float

    @property
    def vacuous(self) -> bool:
        """Is it above 2 S T, which no policy's regret exceeds, or is the chance that it fails 1?"""
        return is_vacuous(self.regret, self.trivial, self.failure)

    def __str__(self) -> str:
        return in_words(self.policy, self.regret, self.trivial, self.horizon, self.failure)

    def __repr__(self) -> str:
        return f"<{self}>"


def is_vacuous(regret: float, trivial: float, failure: float) -> bool:
    """Does a bound promise nothing?"""
    return not regret <= trivial or failure >= 1.0


def in_words(policy: str, regret: float, trivial: float, horizon: int, failure: float) -> str:
    """A bound in words; a vacuous one is never called a guarantee."""
    if not regret <= trivial:
        return (
            f"vacuous: the bound of {policy} is {regret:.4g} at T = {horizon:.4g}, above the {trivial:.4g} "
            "that no policy exceeds"
        )
    if failure >= 1.0:
        return f"vacuous: at T = {horizon:.4g} nothing is guaranteed for {policy}, because delta is too large"
    return (
        f"regret of {policy} at T = {horizon:.4g} is at most {regret:.4g}, with probability at least "
        f"1 - {failure:.3g}"
    )


def linucb(setting: Setting, horizon: int) -> Bound:
    """The bound of LinUCB: 8 alpha beta^2/Delta, with alpha bounded by this very regret too.

    `setting` is the problem, and `horizon` is T.

    >>> linucb(Setting(dim=10, gap=0.1), 10_000).vacuous
    True
    >>> linucb(Setting(dim=2, gap=1.0, noise=0.1), 10_000)
    <regret of LinUCB at T = 1e+04 is at most 296.7, with probability at least 1 - 0.0001>
    """
    return alone(setting, "LinUCB", horizon)


def lints(setting: Setting, horizon: int) -> Bound:
    """The bound of LinTS: Theorem 2 of the paper with its constants written out, see `lints_regret`.

    `setting` is the problem, and `horizon` is T.
    """
    return alone(setting, "LinTS", horizon)


def alone(setting: Setting, base: str, horizon: int) -> Bound:
    """The bound of a base that plays by itself."""
    horizon = a_horizon(horizon)
    delta = setting.delta_at(horizon)
    regret, log_det_ratio = base_regret(setting, base, horizon, delta)
    radius = float(setting.radius(log_det_ratio, delta))
    trivial = 2.0 * setting.bound * horizon
    return Bound(base, regret, log_det_ratio, radius, horizon, trivial, setting.base_failure(base, delta))


def a_horizon(horizon: int) -> int:
    """`horizon`, if bounds can be computed for so many rounds."""
    rounds = whole("horizon", horizon, least=1)
    if rounds > LAST_ROUND and float(rounds) > float(LAST_ROUND):
        raise InvalidSetting(f"horizon must be at most 10^300 for a bound, got {rounds:.3e}")
    return min(rounds, LAST_ROUND)


def base_regret(setting: Setting, base: str, rounds: int, delta: float) -> tuple[float, float]:
    """What so many rounds of a base may cost, and their alpha."""
    if rounds == 0:
        return 0.0, 0.0
    log_det_ratio = setting.settled_volume(
        rounds, lambda alpha: setting.base_regret(base, rounds, alpha, delta)
    )
    return float(setting.base_regret(base, rounds, log_det_ratio, delta)), float(log_det_ratio)


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
