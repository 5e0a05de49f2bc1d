"""What the decisions and rewards of a study add up to: counts, delays, and how good estimates were by day."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
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

    def take(self, residuals: Iterable[float]) -> None:
        """So many more."""
        count, mean, square, recent, weight, squared_weight = msgspec.structs.astuple(self)
        for residual in residuals:
            count += 1
            before = residual - mean
            mean += before / count
            square += before * (residual - mean)
            weight = weight * FADE + 1.0
            squared_weight = squared_weight * FADE * FADE + 1.0
            recent += (residual - recent) / weight
        self.count, self.mean, self.square = count, mean, square
        self.recent, self.weight, self.squared_weight = recent, weight, squared_weight

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


Learnt = tuple[int, Estimated, float, int]
"""When a decision was taken, the decision, its reward, and when that was told."""


@final
class Tallies:
    """Takes decisions and rewards in, in the order of the journal."""

    __slots__ = ("tally",)

    def __init__(self, tally: Tally | None = None) -> None:
        self.tally = Tally() if tally is None else tally

    def day(self, at: int) -> DayTally:
        """That of the day of a time, UTC."""
        return self._numbered(at // DAY)

    def _numbered(self, number: int) -> DayTally:
        found = self.tally.days.get(number)
        if found is None:
            found = self.tally.days[number] = DayTally()
        return found

    def decided(self, at: int, decision: Estimated, reason: str, count: int = 1) -> None:
        """A decision was taken, and so many in all that are counted like it."""
        self.decided_on(at // DAY, reason, decision.explored, decision.arm != decision.greedy, count)

    def decided_on(self, number: int, reason: str, explored: bool, different: bool, count: int) -> None:
        """So many decisions were taken on the day with that number."""
        day = self._numbered(number)
        day.rounds += count
        if explored:
            day.explored += count
            day.different += count * different
        reasons = self.tally.reasons
        reasons[reason] = reasons.get(reason, 0) + count

    def learnt(self, at: int, decision: Estimated, reward: float, told_at: int) -> None:
        """The first reward of a decision was told."""
        self.learnt_all(((at, decision, reward, told_at),))

    def learnt_all(self, every: Sequence[Learnt]) -> None:
        """The first rewards of decisions were told, in this order."""
        tally, delays = self.tally, self.tally.delays
        last: int | None = None
        for at, decision, reward, told_at in every:
            if at // DAY != last:
                last, day = at // DAY, self.day(at)
            estimate = decision.estimate
            residual = reward - estimate
            day.rewards += 1
            day.reward += reward
            day.estimate += estimate
            day.squared_residual += residual * residual
            waited = told_at - at if told_at > at else 0
            tally.delay += waited
            delays[bisect_left(DELAY_EDGES, waited)] += 1
        tally.drift.take([reward - one.estimate for _, one, reward, _ in every if not one.explored])

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
