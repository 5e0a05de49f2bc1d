"""Why a decision was taken, from its entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import final

from infex.bandit import Decision
from infex.study.cases import Case, RewardState
from infex.study.rules import MICROSECONDS


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A decision with all that is known of it.

    `entry` is that of the decision in the journal, `at` its time, `reward` what counts for it now, `late` a
    reward that came too late.
    """

    key: str
    decision: Decision | None
    entry: int
    at: datetime
    state: RewardState
    reward: float | None
    told_at: datetime | None
    late: float | None


def explanation_of(key: str, case: Case) -> Explanation:
    """That of a case."""
    return Explanation(
        key=key,
        decision=case.decision,
        entry=case.decided,
        at=time_of(case.at),
        state=case.state,
        reward=case.reward,
        told_at=None if case.told_at is None else time_of(case.told_at),
        late=case.late,
    )


def time_of(at: int) -> datetime:
    """A time of the journal."""
    return datetime.fromtimestamp(at / MICROSECONDS, UTC)
