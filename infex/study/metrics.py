"""Figures for operations: what the decisions and rewards of a study add up to, as plain numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from infex.bandit import Bandit, Decision
from infex.study.events import MICROSECONDS, Assigned, Event, EventKind, time_of

DAY = 86_400 * MICROSECONDS
DELAY_BUCKETS = (1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400)  # seconds
DELAY_EDGES = tuple(seconds * MICROSECONDS for seconds in DELAY_BUCKETS)
BUCKET_NAMES = (*map(str, DELAY_BUCKETS), "more")
MEMORY = 1000.0  # rewards over which the drift of residuals is looked at
FADE = 1.0 - 1.0 / MEMORY


class DaySums(msgspec.Struct, forbid_unknown_fields=True):
    """One day: the rounds that were decided on it, and what rewards came for them, whenever they came."""

    rounds: int = 0
    explored: int = 0
    different: int = 0
    rewards: int = 0
    reward: float = 0.0
    estimate: float = 0.0
    squared_residual: float = 0.0
    sticky: int = 0
    apprentice: int = 0
    agreed: int = 0
    gain: float = 0.0

    def figures(self) -> dict[str, float | int | None]:
        """`calibration` is the mean reward minus the mean estimate, `residual` the root mean square.

        Of decisions as an apprentice, `agreement` is the share that the greedy arm would have been, and
        `estimated_gain` how much more the model expected of the greedy arms, a decision.
        """
        count = self.rewards
        return {
            "rounds": self.rounds,
            "explored": self.explored,
            "different": self.different,
            "rewards": count,
            "mean_reward": self.reward / count if count else None,
            "calibration": (self.reward - self.estimate) / count if count else None,
            "residual": (max(self.squared_residual, 0.0) / count) ** 0.5 if count else None,
            "sticky": self.sticky,
            "apprentice": self.apprentice,
            "agreement": self.agreed / self.apprentice if self.apprentice else None,
            "estimated_gain": self.gain / self.apprentice if self.apprentice else None,
        }


class Drift(msgspec.Struct, forbid_unknown_fields=True):
    """Residuals of greedy decisions (reward minus estimate): their mean lately, and over all."""

    count: int = 0
    mean: float = 0.0
    square: float = 0.0  # the summed squares around the mean
    recent: float = 0.0  # weighted by exp(-age / MEMORY)
    weight: float = 0.0
    squared_weight: float = 0.0

    def add(self, residual: float) -> None:
        """Takes one more residual into account."""
        self.count += 1
        before = residual - self.mean
        self.mean += before / self.count
        self.square += before * (residual - self.mean)
        self.weight = self.weight * FADE + 1.0
        self.squared_weight = self.squared_weight * FADE * FADE + 1.0
        self.recent += (residual - self.recent) / self.weight

    def figures(self) -> dict[str, float | int | None]:
        """The mean lately, its distance from the mean of all in standard errors, and the spread."""
        spread = z = None
        if self.count > 1 and self.square > 0.0:
            spread = (self.square / (self.count - 1)) ** 0.5
            share = self.squared_weight / self.weight**2 - 1.0 / self.count  # of two means that overlap
            z = (self.recent - self.mean) / (spread * share**0.5) if share > 1e-12 else None
        return {"count": self.count, "mean": self.mean, "recent": self.recent, "spread": spread, "z": z}


class Sums(msgspec.Struct, forbid_unknown_fields=True):
    """What decisions and rewards add up to, in the order of the journal.

    `states` counts decisions by the state of their rewards, but for those pending. Decisions for those held
    out are counted in `states` and by `held`, and in no other sum; decisions that are no rounds, and are
    learnt from, by days.
    """

    states: dict[str, int] = {}
    delays: list[int] = msgspec.field(default_factory=lambda: [0] * len(BUCKET_NAMES))
    delay: int = 0  # microseconds, summed
    reasons: dict[str, int] = {}
    days: dict[int, DaySums] = {}
    drift: Drift = msgspec.field(default_factory=Drift)
    held: int = 0  # decisions for units that are held out
    held_rewards: int = 0
    held_reward: float = 0.0
    erased_assigned: int = 0  # decisions that were none of the policy, of which nothing else is left

    def _day(self, at: int) -> DaySums:
        """The sums of the day of a time, UTC."""
        return self.days.setdefault(at // DAY, DaySums())

    def add_decision(self, at: int, decision: Decision) -> None:
        """Counts a round."""
        day, reason = self._day(at), str(decision.reason)
        day.rounds += 1
        if decision.explored:
            day.explored += 1
            day.different += decision.arm != decision.greedy
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def add_assigned(self, event: Event, content: Assigned) -> None:
        """Counts a decision that is no round."""
        if event.kind is EventKind.HELD:
            self.held += 1
            return
        day = self._day(event.at)
        if event.kind is EventKind.STICKY:
            day.sticky += 1
        else:
            day.apprentice += 1
            day.agreed += content.arm == content.greedy
            day.gain += content.gain

    def erase(self, kind: EventKind) -> None:
        """Counts a decision of which nothing but that is left."""
        self.move("pending", "erased")
        self.erased_assigned += kind is not EventKind.DECISION

    def add_reward(self, at: int, decision: Decision, reward: float, rewarded_at: int) -> None:
        """Adds the first reward of a decision, which was taken `at` a time."""
        day, residual = self._day(at), reward - decision.estimate
        day.rewards += 1
        day.reward += reward
        day.estimate += decision.estimate
        day.squared_residual += residual * residual
        waited = max(rewarded_at - at, 0)
        self.delay += waited
        self.delays[bisect_left(DELAY_EDGES, waited)] += 1
        if not decision.explored:
            self.drift.add(residual)

    def change_reward(self, at: int, decision: Decision, before: float, reward: float) -> None:
        """The reward that counts for a decision is another."""
        day, residual = self._day(at), reward - decision.estimate
        day.reward += reward - before
        day.squared_residual += residual * residual - (before - decision.estimate) ** 2

    def change_held_reward(self, before: float | None, reward: float | None) -> None:
        """The reward of somebody who is held out is another."""
        if reward is not None:
            self.held_rewards += before is None
            self.held_reward += reward - (before or 0.0)

    def move(self, before: str, after: str) -> None:
        """A decision came from one state to another."""
        if before != "pending":
            self.states[before] = self.states.get(before, 0) - 1
        self.states[after] = self.states.get(after, 0) + 1


def figures_of(bandit: Bandit, sums: Sums, states: Sequence[str], pending: int) -> dict[str, Any]:
    """The figures of `Study.metrics`, but for those of entries, amendments and ages."""
    count, days = sum(sums.delays), sums.days.values()
    sticky, played = sum(day.sticky for day in days), sum(day.apprentice for day in days)
    return {
        "decisions": bandit.t + sums.held + sticky + played + sums.erased_assigned,
        "rounds": bandit.t,
        "states": {state: sums.states.get(state, 0) for state in states} | {"pending": pending},
        "delay": {
            "mean": sums.delay / count / MICROSECONDS if count else None,
            "up_to": dict(zip(BUCKET_NAMES, sums.delays, strict=True)),
        },
        "exploration": bandit.exploration()._asdict(),
        "reasons": dict(sorted(sums.reasons.items())),
        "noticed": bandit.noticed,
        "days": {_date(day): each.figures() for day, each in sorted(sums.days.items())},
        "residuals": sums.drift.figures(),
        "held_out": {
            "decisions": sums.held,
            "rewards": sums.held_rewards,
            "mean_reward": sums.held_reward / sums.held_rewards if sums.held_rewards else None,
        },
        "sticky": sticky,
        "apprentice": {
            "decisions": played,
            "agreement": sum(day.agreed for day in days) / played if played else None,
            "estimated_gain": sum(day.gain for day in days) / played if played else None,
        },
    }


def count_by_age(times: Sequence[int], now: int) -> dict[str, int]:
    """How many decisions are no older than so many seconds, and older than the number before."""
    ages = now - np.asarray(times, dtype=np.int64)
    counts = np.bincount(np.searchsorted(DELAY_EDGES, ages), minlength=len(BUCKET_NAMES))
    return dict(zip(BUCKET_NAMES, counts.tolist(), strict=True))


def _date(day: int) -> str:
    return time_of(day * DAY).date().isoformat()
