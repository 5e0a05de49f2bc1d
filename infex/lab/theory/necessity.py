"""How rarely one may explore: the lower bound of Theorem 3, and whether a schedule is above it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Literal, NamedTuple, Protocol, cast, runtime_checkable

from infex.checks import real, safe_repr, whole
from infex.errors import InvalidSetting, SparseExploration
from infex.schedules.base import Schedule, first_round_with, has

GrowthVerdict = Literal["consistent", "inconsistent", "inconclusive"]

EXPLORATIONS_PER_LOG_T = 5.0  # with fewer, one is warned
EXPLORATIONS_EXAMINED = 2**16
ROUNDS_EXAMINED = 2**17  # one by one, of a schedule that has neither `count` nor `when`
LOG_OF_LAST_ROUND = math.log(10.0) * 300  # schedules name no round past 10^300

When = Callable[[int], int | float | None]


@runtime_checkable
class Controlled(Protocol):
    """A schedule under control (`guarded`, `until_certain`, `paused`), which may stop for good."""

    @property
    def planned(self) -> Schedule:
        """The schedule that is under control."""


class LowerBound(NamedTuple):
    """What regret Theorem 3 forces on the two arms e_1 and 0, in one instance or the other.

    `together` bounds E_1[R] + E_2[R] from below; so one of them is at least half of it. `pulls` is the
    most that E_1[N_1] can be, and `divergence` the most that KL can be. `printed` is the paper's own
    figure: it has 4 Delta^2 where the divergence of a pull is 2 Delta^2, and forgets the first pull, which is
    made without data.
    """

    together: float
    pulls: float
    divergence: float
    printed: float


def lower_bound(gap: float, horizon: int, explorations: float) -> LowerBound:
    """E_1[R] + E_2[R] >= (Delta T/4) exp(-KL), KL = 2 Delta^2 E_1[N_1], E_1[N_1] <= 1 + 1/(2 Delta^2) + f(T).

    Instance 1 has theta = -Delta, where the arm 0 is best, and instance 2 has theta = Delta
    (`environments.lower_bound`), with noise N(0, 1). It holds for any base and any schedule with f(T)
    `explorations`. With f(T) <= C log T the regret is of order T^(1 - 2 Delta^2 C) or more.

    `gap` is Delta.

    >>> bound = lower_bound(0.25, horizon=10**6, explorations=13)
    >>> round(bound.together), round(bound.pulls), round(bound.printed)
    (3995, 22, 328)
    """
    gap, horizon = real("gap", gap, above=0), whole("horizon", horizon, least=1)
    explorations = real("explorations", explorations, least=0)
    pulls = 1.0 + 1.0 / (2.0 * gap**2) + explorations
    most = gap * horizon / 4.0
    printed = most * math.exp(-4.0 * gap**2 * (pulls - 1.0))
    return LowerBound(most * math.exp(-divergence(gap, pulls)), pulls, divergence(gap, pulls), printed)


def worst_case_bound(horizon: int, explorations: float) -> float:
    """The regret that some gap forces on any base: e^(-3/2) T/(16 sqrt(1 + f(T))), half of `lower_bound`.

    The gap is chosen for the `horizon`: Delta = 1/(2 sqrt(1 + f(T))) makes (Delta T/4) exp(-KL) greatest,
    where KL = 1 + 2 Delta^2 (1 + f(T)) = 3/2. So a regret of order sqrt(T) over all instances needs f(T) of
    order T: with f(T) = T^r it is of order T^(1 - r/2) or more. `explorations` is f(T), or more.

    >>> round(worst_case_bound(10**6, explorations=10**3)), round(worst_case_bound(10**6, 10**6), 1)
    (441, 13.9)
    """
    explorations = real("explorations", explorations, least=0)
    return lower_bound(0.5 / math.sqrt(1.0 + explorations), horizon, explorations).together / 2.0


def divergence(gap: float, pulls: float) -> float:
    """KL(P_1, P_2) = 2 Delta^2 E_1[N_1]: of N(-Delta, 1) and N(Delta, 1), once for each pull of e_1.

    `gap` is Delta, and `pulls` is E_1[N_1].
    """
    return 2.0 * gap**2 * pulls


class Growth(NamedTuple):
    """Whether f(t) = omega(log t), that is log(f^-1(n))/n -> 0, as the schedule says or as rounds suggest.

    `known` says that the schedule itself knew. `ratios` are pairs of n and log(f^-1(n))/n. No finite
    number of rounds proves it: the lower bound speaks of infinitely many T.

    `verdict` is "consistent", "inconsistent" or "inconclusive".
    """

    verdict: GrowthVerdict
    known: bool
    ratios: tuple[tuple[int, float], ...]


def grows(schedule: object, horizon: int | None = None) -> Growth:
    """Whether a schedule explores often enough for the regret bound, as far as can be known.

    Built-in families know; others are judged by log(f^-1(n))/n at n = 2^k, up to 2^16. With a
    horizon it warns (`SparseExploration`) if f(T) < 5 log T; it never refuses. A schedule under
    control may stop for good, and is inconclusive.

    >>> from infex import every, logarithmic
    >>> from infex.schedules import from_count
    >>> grows(every(20)).verdict, grows(logarithmic(1)).verdict
    ('consistent', 'inconsistent')
    >>> grows(from_count(lambda t: t ** 0.5)).verdict
    'consistent'
    """
    if isinstance(schedule, Controlled):
        return Growth("inconclusive", False, tuple(_ratios(schedule.planned)))
    if not has(schedule, "explores"):
        raise InvalidSetting(f"a schedule has a method explores, got {safe_repr(schedule)}")
    asked = cast(Schedule, schedule)  # it may lack the other verbs; `has` tells
    ratios = tuple(_ratios(asked))
    if horizon is not None:
        _warn(asked, whole("horizon", horizon, least=1))
    known: object = asked.grows if has(asked, "grows") else None
    known = known() if callable(known) else known  # a user may have written a method in place of a property
    if known is None:
        return Growth(_seen(ratios), False, ratios)
    return Growth("consistent" if known else "inconsistent", True, ratios)


def _seen(ratios: tuple[tuple[int, float], ...]) -> GrowthVerdict:
    """A verdict by the slope of log ratio against log n, over the last stretch of at least a factor of 8."""
    if len(ratios) < 5:
        return "inconclusive"
    (last, end), (first, start) = ratios[-1], max(pair for pair in ratios if pair[0] <= ratios[-1][0] / 8)
    slope = math.log(end / start) / math.log(last / first)
    if slope > -0.01:
        return "inconsistent"
    near, late = ratios[-2]
    end_slope = math.log(end / late) / math.log(last / near)  # the slope of late rounds alone
    settled = [ratio for n, ratio in ratios if n >= 8]
    falls = all(later <= 1.02 * sooner for sooner, later in pairwise(settled))
    return "consistent" if max(slope, end_slope) < -0.05 and falls else "inconclusive"


def _ratios(schedule: Schedule) -> list[tuple[int, float]]:
    """n = 2^k and log(f^-1(n))/n, as far as the schedule names rounds; at its end, a lower bound."""
    when = _when(schedule)
    ratios: list[tuple[int, float]] = []
    n = 1
    while n <= EXPLORATIONS_EXAMINED:
        t = when(n)
        if t is None:
            return ratios
        if t == math.inf:
            return [*ratios, _end(when, n)]
        ratios.append((n, math.log(t) / n if t > 1 else 1e-9))
        n *= 2
    return ratios


def _end(when: When, n: int) -> tuple[int, float]:
    """The first n whose round is past 10^300, or never comes."""
    low = n // 2
    while n - low > 1:
        middle = (low + n) // 2
        low, n = (low, middle) if when(middle) == math.inf else (middle, n)
    return n, LOG_OF_LAST_ROUND / n


def _when(schedule: Schedule) -> When:
    """f^-1, by the verbs that the schedule has; None past the rounds that were examined."""
    if has(schedule, "when"):
        return schedule.when
    if has(schedule, "count"):
        return lambda n: first_round_with(schedule, n)
    rounds = [t for t in range(1, ROUNDS_EXAMINED + 1) if schedule.explores(t)]
    return lambda n: rounds[n - 1] if n <= len(rounds) else None


def _warn(schedule: Schedule, horizon: int) -> None:
    if has(schedule, "count"):
        count = schedule.count(horizon)
    else:
        horizon = min(horizon, ROUNDS_EXAMINED)
        count = sum(schedule.explores(t) for t in range(1, horizon + 1))
    enough = EXPLORATIONS_PER_LOG_T * math.log(horizon)
    if count < enough:
        warnings.warn(
            f"{safe_repr(schedule)} explores {count} times in {horizon:,} rounds, which is less than "
            f"5 log T = {enough:.0f}: on some problems the regret may grow with the horizon",
            SparseExploration,
            stacklevel=3,
        )
