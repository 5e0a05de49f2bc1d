"""What the planner tries: schedules, bases, data modes and scales of the radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.policies import Greedy, Infex, LinTS, LinUCB, catalog
from infex.schedules import Schedule, always, every, logarithmic, power, stretched

SCALES = (1.0, 0.5, 0.2, 0.1, 0.05)
PERIODS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy to try, and how many rounds of the horizon explore."""

    policy: Any
    explorations: int

    @property
    def expression(self) -> str:
        """The policy in the words of the catalogue."""
        return catalog.expression(self.policy)


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What a user allows: exploring rounds in the horizon, and their summed loss."""

    explorations: int
    cost: float = math.inf


def limits(horizon: int, share: float | None, count: int | None, cost: float | None) -> Limits:
    """Limits from what a user says."""
    most = horizon
    if share is not None:
        most = min(most, math.floor(real("max_share", share, least=0, most=1) * horizon + 1e-9))
    if count is not None:
        most = min(most, whole("max_count", count, least=0))
    return Limits(most, math.inf if cost is None else real("max_cost", cost, least=0))


def schedules() -> list[Schedule]:
    """All schedules that are tried: each explores more often than order log t, as the bound asks."""
    slower = [stretched(1), stretched(2), power(0.75), power(0.5), logarithmic(3), logarithmic(2)]
    return [always(), *map(every, PERIODS), *slower]


def candidates(horizon: int, noise: float, bound: float, allowed: Limits) -> list[Candidate]:
    """The grid, as far as the limits allow; the scales and periods that matter most come first."""
    shared: dict[str, Any] = {"noise": noise, "bound": bound, "delta": 1.0 / horizon}
    found = []
    for schedule in schedules():
        count = schedule.count(horizon)
        if not 1 <= count <= allowed.explorations:
            continue
        for scale in SCALES:
            for kind in (LinUCB, LinTS):
                base = kind(**shared, scale=scale)
                if count == horizon:
                    found.append(Candidate(base, count))
                    continue
                found += [Candidate(Infex(base, schedule, data=data), count) for data in ("shared", "own")]
    if not found:
        raise InvalidSetting(
            f"no schedule of the grid explores at least once and at most {allowed.explorations} times in "
            f"{horizon} rounds"
        )
    return found


def plain_linucb(horizon: int, noise: float, bound: float) -> Candidate:
    """What the result is compared with: LinUCB in every round with the theory's radius."""
    return Candidate(LinUCB(noise=noise, bound=bound, delta=1.0 / horizon), horizon)


def greedy() -> Candidate:
    """No exploration at all."""
    return Candidate(Greedy(), 0)
