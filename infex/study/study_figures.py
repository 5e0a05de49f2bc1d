"""Figures for operations, as plain numbers that a service can publish."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from infex.study.cases import Case, RewardState
from infex.study.rules import MICROSECONDS
from infex.study.standing import Standing
from infex.study.tallies import DAY, DELAY_BUCKETS, DELAY_EDGES, DayTally


class Figures(NamedTuple):
    """Figures of a state, but for the ages of the decisions that `wait`: these take time, and no lock."""

    plain: dict[str, Any]
    waiting: list[Case]
    now: int

    def whole(self) -> dict[str, Any]:
        """All figures."""
        return self.plain | {"pending_by_age": _by_age(self.waiting, self.now)}


def figures_of(standing: Standing, now: int) -> Figures:
    """Those of a state; ages are those at a time `now`."""
    return Figures(_plain(standing), list(standing.cases.values()), now)


def _plain(standing: Standing) -> dict[str, Any]:
    bandit, tally = standing.bandit, standing.tallies.tally
    states = {state.value: tally.states.get(state.value, 0) for state in RewardState}
    states[RewardState.PENDING.value] = len(standing.cases)
    told = sum(tally.delays)
    return {
        "entries": standing.number,
        "decisions": bandit.t + tally.held,
        "rounds": bandit.t,
        "states": states,
        "pending_by_age": {},
        "delay": {
            "mean": tally.delay / told / MICROSECONDS if told else None,
            "up_to": dict(zip(map(str, (*DELAY_BUCKETS, "more")), tally.delays, strict=True)),
        },
        "exploration": bandit.exploration()._asdict(),
        "reasons": dict(sorted(tally.reasons.items())),
        "noticed": bandit.noticed,
        "days": {_date(day): _day(sums) for day, sums in sorted(tally.days.items())},
        "residuals": tally.drift.figures(),
        "held_out": {
            "decisions": tally.held,
            "rewards": tally.held_rewards,
            "mean_reward": tally.held_reward / tally.held_rewards if tally.held_rewards else None,
        },
        "amendments": len(standing.amendments),
    }


def _by_age(waiting: list[Case], now: int) -> dict[str, int]:
    """How many are no older than so many seconds, and older than the number before."""
    ages = now - np.fromiter((case.at for case in waiting), dtype=np.int64, count=len(waiting))
    counts = np.bincount(np.searchsorted(DELAY_EDGES, ages), minlength=len(DELAY_BUCKETS) + 1)
    return dict(zip(map(str, (*DELAY_BUCKETS, "more")), counts.tolist(), strict=True))


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY / MICROSECONDS, UTC).date().isoformat()


def _day(sums: DayTally) -> dict[str, float | int | None]:
    """One day: `calibration` is the mean reward minus the mean estimate, `residual` the root mean square."""
    told = sums.rewards
    return {
        "rounds": sums.rounds,
        "explored": sums.explored,
        "different": sums.different,
        "rewards": told,
        "mean_reward": sums.reward / told if told else None,
        "calibration": (sums.reward - sums.estimate) / told if told else None,
        "residual": (max(sums.squared_residual, 0.0) / told) ** 0.5 if told else None,
    }
