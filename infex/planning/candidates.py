"""What the planner tries: schedules, bases, data modes and scales of the radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

from infex import registry
from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.schedules import Schedule, always, every, logarithmic, power, stretched

TRIED_SCALES = (1.0, 0.5, 0.25, 0.12, 0.06)  # about halved each time
TRIED_DATA: tuple[Literal["shared", "own"], ...] = ("shared", "own")
TRIED_PERIODS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


class GridPlace(NamedTuple):
    """Where a candidate stands in the grid: its base, its data, the rank of its schedule, its scale."""

    base: str
    data: str
    rank: int
    scale: int

    def steps(self) -> list[GridPlace]:
        """The places one step away."""
        other = "shared" if self.data == "own" else "own"
        ranks = [self._replace(rank=self.rank + step) for step in (-1, 1)]
        scales = [self._replace(scale=self.scale + step) for step in (-1, 1)]
        return [*ranks, *scales, self._replace(data=other)]


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy to try, how many rounds of the horizon explore, and its places in the grid.

    A candidate that explores in every round is the same for both data modes, so it stands in two places.
    """

    policy: Policy
    explorations: int
    places: tuple[GridPlace, ...] = ()

    @property
    def expression(self) -> str:
        """The policy in the words of the catalogue."""
        return registry.expression(self.policy)


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What a user allows: exploring rounds in the horizon, and their summed loss."""

    explorations: int
    cost: float = math.inf


def limits(horizon: int, share: float | None, count: int | None, cost: float | None) -> Limits:
    """Limits from a user's settings."""
    most = horizon
    if share is not None:
        most = min(most, math.floor(real("max_share", share, least=0, most=1) * horizon + 1e-9))
    if count is not None:
        most = min(most, whole("max_count", count, least=0))
    return Limits(most, math.inf if cost is None else real("max_cost", cost, least=0))


def schedules(horizon: int, most: int) -> list[tuple[int, Schedule]]:
    """The schedules to try and how often they explore, from once to `most` times, rarest first.

    Each grows faster than log t, as the regret bound needs. Where the limit cuts off short periods, the
    shortest that it allows is tried too.
    """
    shortest = -(-horizon // max(most, 1))
    periods = sorted({*TRIED_PERIODS, *(shortest * factor for factor in (1, 2, 5))} - {1})
    slower = [stretched(1), stretched(2), power(0.75), power(0.5), logarithmic(3), logarithmic(2)]
    tried: list[Schedule] = [always(), *map(every, periods), *slower]
    counted = [(schedule.count(horizon), schedule) for schedule in tried]
    return sorted((pair for pair in counted if 1 <= pair[0] <= most), key=lambda pair: pair[0])


def candidates(
    horizon: int, noise: float, bound: float, allowed: Limits, warm: bool = False
) -> list[Candidate]:
    """The grid as far as the limits allow, those that explore least first.

    Where runs begin with what a log has taught (`warm`), no exploration at all is a candidate too.
    """
    fitting = schedules(horizon, allowed.explorations)
    if not fitting and not warm:
        raise InvalidSetting(
            f"max_share or max_count allows {allowed.explorations} exploring rounds in {horizon} rounds: "
            "without any, there is nothing to plan but infex.Greedy()"
        )
    settings: dict[str, Any] = {"noise": noise, "bound": bound, "delta": delta_at(horizon)}
    grid = [greedy()] if warm else []
    for rank, (count, schedule) in enumerate(fitting):
        for place, scale in enumerate(TRIED_SCALES):
            for kind in (LinUCB, LinTS):
                base = kind(**settings, scale=scale)
                places = [GridPlace(kind.__name__, data, rank, place) for data in TRIED_DATA]
                if count == horizon:
                    grid.append(Candidate(base, count, tuple(places)))
                    continue
                grid += [
                    Candidate(Infex(base, schedule, data=data), count, (where,))
                    for data, where in zip(TRIED_DATA, places, strict=True)
                ]
    return grid


def plain_linucb(horizon: int, noise: float, bound: float) -> Candidate:
    """What the result is compared with: LinUCB in every round with the theory's radius."""
    return Candidate(LinUCB(noise=noise, bound=bound, delta=delta_at(horizon)), horizon)


def delta_at(horizon: int) -> float:
    """1/T, to two digits.

    >>> delta_at(300)
    0.0033
    """
    return float(f"{1.0 / horizon:.2g}")


def greedy() -> Candidate:
    """No exploration at all."""
    return Candidate(Greedy(), 0)
