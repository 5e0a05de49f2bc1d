"""What the decisions and rewards of a study add up to: counts, delays, and how good estimates were by day."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Protocol, final

import msgspec

from infex.study.cases import RewardState
from infex.study.rules import MICROSECONDS

DAY = 86_400 * MICROSECONDS
DELAY_BUCKETS = (1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400)  # seconds
DELAY_EDGES = tuple(seconds * MICROSECONDS for seconds in DELAY_BUCKETS)
MEMORY = 1000.0  # rewards over which the drift of residuals is looked at
FADE = 1.0 - 1.0 / MEMORY


class DayTally(msgspec.Struct, forbid_unknown_fields=True):
    """One day: the rounds that were decided on it, and what rewards came for them, whenever they came."""

    rounds: int = 0
    explored: int = 0
    different: int = 0
    rewards: int = 0
    reward: float = 0.0
    estimate: float = 0.0
    squared_residual: float = 0.0


class Drift(msgspec.Struct, forbid_unknown_fields=True):
    """Residuals of greedy decisions (reward minus estimate): their mean lately, and over all."""

    count: int = 0
    mean: float = 0.0
    square: float = 0.0  # the summed squares around the mean
    recent: float = 0.0  # weighted by exp(-age / MEMORY)
    weight: float = 0.0
    squared_weight: float = 0.0

    def take(self, residual: float) -> None:
        """One more."""
        self.count += 1
        before = residual - self.mean
        self.mean += before / self.count
        self.square += before * (residual - self.mean)
        self.weight = self.weight * FADE + 1.0
        self.squared_weight = self.squared_weight * FADE * FADE + 1.0
        self.recent += (residual - self.recent) / self.weight

    def figures(self) -> dict[str, float | int | None]:
        """The mean lately, its distance from the mean of all in standard errors, and the spread."""
        if self.count < 2 or self.square <= 0.0:
            return {"count": self.count, "mean": self.mean, "recent": self.recent, "spread": None, "z": None}
        spread = (self.square / (self.count - 1)) ** 0.5
        share = self.squared_weight / self.weight**2 - 1.0 / self.count  # of two means that overlap
        z = (self.recent - self.mean) / (spread * share**0.5) if share > 1e-12 else None
        return {
            "count": self.count,
            "mean": self.mean,
            "recent": self.recent,
            "spread": spread,
            "z": z,
        }


class Tally(msgspec.Struct, forbid_unknown_fields=True):
    """All sums; `states` counts decisions by the state of their rewards, but for those pending.

    Decisions for those held out are counted in `states` and by `held`, and in no other sum.
    """

    states: dict[str, int] = {}
    delays: list[int] = msgspec.field(default_factory=lambda: [0] * (len(DELAY_BUCKETS) + 1))
    delay: int = 0  # microseconds, summed
    reasons: dict[str, int] = {}
    days: dict[int, DayTally] = {}
    drift: Drift = msgspec.field(default_factory=Drift)
    held: int = 0  # decisions for who is held out
    held_rewards: int = 0
    held_reward: float = 0.0


class Estimated(Protocol):
    """What sums need of a decision."""

    @property
    def arm(self) -> int:
        """What was played."""

    @property
    def greedy(self) -> int:
        """What greedy would have played."""

    @property
    def estimate(self) -> float:
        """Of the arm that was played."""

    @property
    def explored(self) -> bool:
        """Was it one of the base policy?"""


@final
class Tallies:
    """Takes decisions and rewards in, in the order of the journal."""

    __slots__ = ("tally",)

    def __init__(self, tally: Tally | None = None) -> None:
        self.tally = Tally() if tally is None else tally

    def day(self, at: int) -> DayTally:
        """That of the day of a time, UTC."""
        number = at // DAY
        found = self.tally.days.get(number)
        if found is None:
            found = self.tally.days[number] = DayTally()
        return found

    def decided(self, at: int, decision: Estimated, reason: str) -> None:
        """A decision was taken."""
        day = self.day(at)
        day.rounds += 1
        if decision.explored:
            day.explored += 1
            day.different += decision.arm != decision.greedy
        reasons = self.tally.reasons
        reasons[reason] = reasons.get(reason, 0) + 1

    def learnt(self, at: int, decision: Estimated, reward: float, told_at: int) -> None:
        """The first reward of a decision was told."""
        tally, day, residual = self.tally, self.day(at), reward - decision.estimate
        day.rewards += 1
        day.reward += reward
        day.estimate += decision.estimate
        day.squared_residual += residual * residual
        waited = max(told_at - at, 0)
        tally.delay += waited
        tally.delays[bisect_left(DELAY_EDGES, waited)] += 1
        if not decision.explored:
            tally.drift.take(residual)

    def changed(self, at: int, decision: Estimated, before: float, reward: float) -> None:
        """The reward that counts for a decision is another."""
        day, residual = self.day(at), reward - decision.estimate
        day.reward += reward - before
        day.squared_residual += residual * residual - (before - decision.estimate) ** 2

    def held(self, before: float | None, after: float | None) -> None:
        """The reward of somebody who is held out is another."""
        if after is not None:
            self.tally.held_rewards += before is None
            self.tally.held_reward += after - (before or 0.0)

    def moved(self, before: RewardState, after: RewardState, count: int = 1) -> None:
        """So many decisions came from one state to another."""
        states = self.tally.states
        if count and before is not RewardState.PENDING:
            states[before._value_] = states.get(before._value_, 0) - count
        if count:
            states[after._value_] = states.get(after._value_, 0) + count

    def plain(self) -> Any:
        """All of it as plain data."""
        return msgspec.to_builtins(self.tally, str_keys=True)

    @staticmethod
    def of(kept: Any) -> Tallies:
        """What `plain` gave."""
        return Tallies(msgspec.convert(kept, Tally, str_keys=True))
