"""Bounds on the regret of LinUCB, LinTS and INFEX, with every constant explicit.

A number of rounds is whole, or `math.inf` if there is none up to 10^300: beyond that nothing is computed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import Bools, Floats
from infex.checks import one_of, real, safe_repr, set_fields, whole
from infex.errors import InvalidSetting
from infex.lab.theory import formulas
from infex.lab.theory.formulas import Numbers
from infex.models.posterior import SAMPLINGS
from infex.schedules import Schedule
from infex.schedules.base import BuiltinSchedule, checked

LAST_ROUND = 10**300
BASES = ("LinUCB", "LinTS")
WORSE_SHARE = 0.75  # of a base's rounds: with no more worse arms than that, a quarter play the best
TAU_1_SHARE, TAU_12_SHARE = 7 / 16, 1 / 4  # slopes of the lines that define these tau, in units of Delta

Rounds = int | float  # math.inf past 10^300


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

    def least_log_det_ratio(self, rounds: Numbers, regret: Callable[[Numbers], Numbers]) -> Any:
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

    def base_regret(self, base: str, rounds: Numbers, delta: Numbers) -> tuple[Any, Any]:
        """The bound on the regret of so many rounds of a base, and the alpha that it rests on."""
        factor: Any = None
        if one_of("base", base, BASES) == "LinTS":
            factor = formulas.sample_factor(rounds, self.dim, delta, self.arms)
            chance = formulas.exceeding_chance(self.dim, self.sampling)

        def regret(alpha: Numbers) -> Any:
            beta = self.radius(alpha, delta)
            if factor is None:
                return formulas.linucb_regret(alpha, beta, self.gap)
            return formulas.lints_regret(alpha, beta, self.gap, factor=factor, chance=chance, delta=delta)

        log_det_ratio = self.least_log_det_ratio(rounds, regret)
        return regret(log_det_ratio), log_det_ratio

    def base_failure(self, base: str, delta: float) -> float:
        """The probability that this bound fails.

        The ellipsoid fails with delta; for LinTS also the samples, with the sum of delta/(2 t^2), and the
        bound on expected widths, with delta. The proof needs delta/2 <= p/2; where that does not hold, the
        probability is taken for 1.
        """
        if base == "LinUCB":
            return delta
        covered = delta <= formulas.exceeding_chance(self.dim, self.sampling)
        return (2.0 + math.pi**2 / 12.0) * delta if covered else 1.0


def checked_horizon(horizon: int) -> int:
    """`horizon`, if bounds can be computed for so many rounds."""
    rounds = whole("horizon", horizon, least=1)
    if rounds > LAST_ROUND and float(rounds) > float(LAST_ROUND):
        raise InvalidSetting(f"horizon must be at most 10^300 for a bound, got {rounds:.3e}")
    return min(rounds, LAST_ROUND)


# A base by itself


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Bound:
    """A bound on the regret of a policy; it says nothing where it is vacuous.

    `policy` is what it is of, at the `horizon`, with the `log_det_ratio` and `radius` that it rests on;
    `trivial` is 2 S T, which no policy's regret exceeds, and `failure` the probability that it fails.
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
        """Is it above 2 S T, or certain to fail?"""
        return not self.regret <= self.trivial or self.failure >= 1.0

    def __str__(self) -> str:
        if not self.regret <= self.trivial:
            return (
                f"vacuous: the bound of {self.policy} is {self.regret:.4g} at T = {self.horizon:.4g}, above "
                f"the {self.trivial:.4g} that no policy exceeds"
            )
        if self.vacuous:
            return (
                f"vacuous: at T = {self.horizon:.4g} nothing is guaranteed for {self.policy}, because delta "
                "is too large"
            )
        return (
            f"regret of {self.policy} at T = {self.horizon:.4g} is at most {self.regret:.4g}, with "
            f"probability at least 1 - {self.failure:.3g}"
        )

    def __repr__(self) -> str:
        return f"<{self}>"


def linucb(setting: Setting, horizon: int) -> Bound:
    """The bound of LinUCB: 8 alpha beta^2/Delta, with alpha bounded by this very regret too.

    `setting` is the problem, and `horizon` is T.

    >>> linucb(Setting(dim=10, gap=0.1), 10_000).vacuous
    True
    >>> linucb(Setting(dim=2, gap=1.0, noise=0.1), 10_000)
    <regret of LinUCB at T = 1e+04 is at most 296.7, with probability at least 1 - 0.0001>
    """
    return _base_bound(setting, "LinUCB", horizon)


def lints(setting: Setting, horizon: int) -> Bound:
    """The bound of LinTS: Theorem 2 of the paper with its constants written out, see `lints_regret`.

    `setting` is the problem, and `horizon` is T.
    """
    return _base_bound(setting, "LinTS", horizon)


def _base_bound(setting: Setting, base: str, horizon: int) -> Bound:
    horizon = checked_horizon(horizon)
    delta = setting.delta_at(horizon)
    regret, log_det_ratio = map(float, setting.base_regret(base, horizon, delta))
    return Bound(
        policy=base,
        regret=regret,
        log_det_ratio=log_det_ratio,
        radius=float(setting.radius(log_det_ratio, delta)),
        horizon=horizon,
        trivial=2.0 * setting.bound * horizon,
        failure=setting.base_failure(base, delta),
    )


# INFEX: Theorem 1


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InfexBound(Bound):
    """The bound of Theorem 1, whose `regret` is the sum of three terms.

    `base` is R_Alg(f(T)), what the base may cost; `constant` is 2 S tau_0 + (7/16) Delta tau_1, what greedy
    rounds may cost before they are any good; `growing` is G(T), what they may cost after that. There are so
    many `explorations` up to the `horizon`; `tau_base`, `tau_0`, `tau_1` and `tau_12` are the paper's
    (infinite past 10^300). `policy`, `log_det_ratio`, `radius`, `trivial` and `failure` are those of a
    `Bound`.
    """

    base: float
    constant: float
    growing: float
    explorations: int
    tau_base: Rounds
    tau_0: Rounds
    tau_1: Rounds
    tau_12: Rounds


def infex(setting: Setting, schedule: Schedule, horizon: int, base: str = "LinUCB") -> InfexBound:
    """R(T) <= R_Alg(f(T)) + 2 S tau_0 + (7/16) Delta tau_1 + G(T), with probability 1 - `failure`.

    This is proved where the base keeps its own data (`data="own"`). alpha_T, in G(T), is bounded both
    by d log(1 + T/(d lambda)) and by this very regret; the smaller bound counts.

    `setting` is the problem, `schedule` says f, and `horizon` is T.

    >>> from infex import every
    >>> bound = infex(Setting(dim=10, gap=0.1), every(20), 10**6)
    >>> bound.vacuous, bound.tau_0
    (True, 657339200)
    """
    horizon = checked_horizon(horizon)
    delta = setting.delta_at(horizon)
    taus = constants(setting, checked(schedule), one_of("base", base, BASES), delta)
    explorations = schedule.count(horizon)
    first = float(setting.base_regret(base, explorations, delta)[0]) if explorations else 0.0
    fixed = taus.cost(setting)

    def growing(alpha: Numbers) -> Any:
        return formulas.greedy_regret(alpha, setting.radius(alpha, delta), horizon, setting.gap)

    log_det_ratio = setting.least_log_det_ratio(horizon, lambda alpha: first + fixed + growing(alpha))
    late = float(growing(log_det_ratio))
    return InfexBound(
        policy=f"Infex({base}, {safe_repr(schedule)}, data=own)",
        regret=first + fixed + late,
        base=first,
        constant=fixed,
        growing=late,
        explorations=explorations,
        **taus._asdict(),
        log_det_ratio=float(log_det_ratio),
        radius=float(setting.radius(log_det_ratio, delta)),
        horizon=horizon,
        trivial=2.0 * setting.bound * horizon,
        failure=setting.base_failure(base, delta) + delta,
    )


def useful_from(setting: Setting, schedule: Schedule, base: str = "LinUCB") -> Rounds:
    """The horizon from which on the bound is not vacuous, to 1 %; infinite past 10^299."""

    def vacuous(log10: float) -> bool:
        return infex(setting, schedule, int(10.0**log10), base).vacuous

    if vacuous(299.0):
        return math.inf
    low, high = 0.0, 1.0
    while vacuous(high):
        low, high = high, min(2.0 * high, 299.0)
    while high - low > 0.004:
        middle = (low + high) / 2.0
        low, high = (middle, high) if vacuous(middle) else (low, middle)
    return int(10.0**high)


class Constants(NamedTuple):
    """The tau of Theorem 1; they depend on the horizon only if delta does."""

    tau_base: Rounds
    tau_0: Rounds
    tau_1: Rounds
    tau_12: Rounds

    def cost(self, setting: Setting) -> float:
        """2 S tau_0 + (7/16) Delta tau_1: the constant term of the bound."""
        return float(2.0 * setting.bound * self.tau_0 + TAU_1_SHARE * setting.gap * self.tau_1)


def constants(setting: Setting, schedule: Schedule, base: str, delta: float) -> Constants:
    """tau_Alg, tau_0 = f^-1(tau_Alg), tau_1 and tau_12, by their definitions.

    tau_1 and tau_12 are the least such that, for all T >= tau_0 + tau and G the greedy rounds after tau_0,

        tau_1:   4 alpha_T beta_T^2/Delta + (8/Delta) sum_{t in G, t <= T} beta_t^2/f(t)
                 <= (7/16) Delta (T - tau_0)
        tau_12:  (8/Delta) sum_{t in G, t <= T} beta_t^2/f(t) <= (1/4) Delta (T - tau_0)

    (the paper has "for all T >= tau_1"), with alpha_t <= d log(1 + t/(d lambda)). The sum is exact up
    to round 4096; beyond, it is bounded from above to 0.4 % (1.6 % past 10^18).
    """
    first = base_tau(setting, base, delta)
    start = schedule.when(int(first)) if first < math.inf else math.inf
    if start == math.inf:
        return Constants(first, start, math.inf, math.inf)
    if abs(schedule.count(int(start)) - first) > 1e-9 * first:
        raise InvalidSetting(
            f"count and when of {safe_repr(schedule)} disagree: when({first}) is {start}, where count "
            f"is {schedule.count(int(start))}"
        )
    return Constants(first, int(start), *_greedy_taus(setting, schedule, delta, int(start)))


@lru_cache(maxsize=256)
def base_tau(setting: Setting, base: str = "LinUCB", delta: float | None = None) -> Rounds:
    """tau_Alg: the least n such that R_Alg(n') <= (3/4) Delta n' for all n' >= n.

    From there on at least a quarter of the base's rounds play the best arm. Where neither the
    call nor the setting names a delta, it is 1/n'.

    >>> base_tau(Setting(dim=10, gap=0.075))
    66059041
    """
    fixed_delta = setting.delta if delta is None else real("delta", delta, above=0, most=1)

    def cost(rounds: Numbers) -> Any:
        return setting.base_regret(base, rounds, 1.0 / rounds if fixed_delta is None else fixed_delta)[0]

    def line(rounds: Numbers) -> Any:
        return WORSE_SHARE * setting.gap * rounds

    doubling = (*(2**k for k in range(997)), LAST_ROUND)
    points = np.array(doubling, float)
    return first_below(doubling, cost(points), line(points), lambda n: float(cost(float(n))), line)


@lru_cache(maxsize=1)
def _grid() -> tuple[list[int], Floats]:
    """Every round up to 4096, then points 1/256 apart, and 1/64 past 10^18; the same as floats."""
    points, t = list(range(1, 4097)), 4096.0
    while t < 1e300:
        t *= 1.0 + (1.0 / 256.0 if t < 1e18 else 1.0 / 64.0)
        points.append(min(int(t), LAST_ROUND))
    return points, np.array(points, float)


def _counts_on_grid(schedule: Schedule) -> Floats:
    return np.array([schedule.count(t) for t in _grid()[0]], float)


_cached_counts = lru_cache(maxsize=16)(_counts_on_grid)  # of built-in schedules, which never change


def _greedy_taus(setting: Setting, schedule: Schedule, delta: float, start: int) -> tuple[Rounds, Rounds]:
    """tau_1 and tau_12: what the greedy rounds after tau_0, `start`, may cost, compared with a line."""
    grid, grid_times = _grid()
    on_grid = _cached_counts(schedule) if isinstance(schedule, BuiltinSchedule) else _counts_on_grid(schedule)
    later = bisect_right(grid, start)
    points = [start, *grid[later:]]
    times = np.concatenate([[float(start)], grid_times[later:]])
    counts = np.concatenate([[float(schedule.count(start))], on_grid[later:]])
    passed = [t - start for t in points]
    since = np.array(passed, float)

    def squares(times: Numbers) -> Any:  # beta_t^2
        return setting.radius(setting.log_det_ratio(times), delta) ** 2

    greedy = np.diff(since) - np.diff(counts)
    sums = np.concatenate([[0.0], np.cumsum(squares(times)[1:] * greedy / counts[:-1])])

    def sum_to(
        t: int,
    ) -> float:  # of beta_s^2/f(s) over greedy rounds s from tau_0 + 1 to t, or a little more
        j = bisect_right(points, t) - 1
        rounds = (t - points[j]) - (schedule.count(t) - counts[j])
        return float(sums[j] + max(rounds, 0.0) * squares(float(t)) / counts[j])

    def tau(cost: Callable[[Numbers, Numbers], Any], slope: float) -> Rounds:
        def cost_after(n: int) -> float:
            return float(cost(float(start + n), sum_to(start + n)))

        found = first_below(passed, cost(times, sums), slope * since, cost_after, lambda n: slope * float(n))
        return max(found, 1)

    def all_costs(times: Numbers, sums: Numbers) -> Any:
        return (4.0 * setting.log_det_ratio(times) * squares(times) + 8.0 * sums) / setting.gap

    return (
        tau(all_costs, TAU_1_SHARE * setting.gap),
        tau(lambda times, sums: 8.0 * sums / setting.gap, TAU_12_SHARE * setting.gap),
    )


def first_below(
    points: Sequence[int],
    costs: Floats,
    lines: Floats,
    cost: Callable[[int], float],
    line: Callable[[int], float],
) -> Rounds:
    """The least round from the first point on after which `cost` is never above `line`; inf if none is.

    `points` rise; `costs` and `lines` are the values of `cost` and `line` at them, and both never fall.
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


# The confidence ellipsoid


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
        points = _numbers("theta", theta)
        if points.ndim == 0 or points.shape[-1] != self.centre.size:
            raise InvalidSetting(f"theta must have {self.centre.size} numbers, got shape {points.shape}")
        apart = points - self.centre
        lengths: np.float64 | Floats = np.sqrt(np.einsum("...i,ij,...j->...", apart, self.gram, apart))[()]
        return lengths

    def contains(self, theta: ArrayLike) -> np.bool_ | Bools:
        """Is the parameter within? For many of them an array of answers."""
        return self.distance(theta) <= self.radius


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
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidSetting(f"features must be rows of finite numbers, got shape {rows.shape}")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InvalidSetting(f"rewards must be finite numbers, got {str(rewards)[:80]!r}")
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
    whole_gram = real("penalty", penalty, above=0) * np.eye(len(gram)) + gram
    log_det_ratio = float(np.linalg.slogdet(whole_gram / penalty)[1])
    reach = formulas.radius(
        log_det_ratio,
        delta=real("delta", delta, above=0, most=1),
        noise=real("noise", noise, least=0),
        bound=real("bound", bound, least=0),
        penalty=penalty,
    )
    centre: Floats = np.asarray(np.linalg.solve(whole_gram, moment), float)
    return Ellipsoid(centre, whole_gram, float(reach))


def _numbers(name: str, given: ArrayLike) -> Floats:
    """What was given, as an array of numbers; text is refused, also if it reads like numbers."""
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(f"{name} must be numbers, got {str(given)[:80]!r}") from None
