"""Studies at a glance, and what a policy would do, as answers."""

from __future__ import annotations

import time
from datetime import date, timedelta
from typing import Any

from infex.service.alarms import alarms_of
from infex.service.answers import PreviewAnswer, StudyAnswer
from infex.service.grouped_calls import GroupedCalls
from infex.service.journal_view import JournalView
from infex.service.plain_answers import plain_figures
from infex.study.pause import planned_count, resumed_policy
from infex.study.study import Study

NO_DAY = {"mean_reward": None, "calibration": None}
ROUNDS_ASSUMED = 10_000  # of a preview, where nothing was asked lately


def glance(calls: GroupedCalls, view: JournalView) -> StudyAnswer:
    """A study as the page shows it among others."""
    shown = calls.study.summary()
    figures = plain_figures(calls.study.metrics())
    figures |= {"waiting": calls.waiting, "alarms": alarms_of(figures)}
    figures["read"] = view.entries  # the page is drawn anew when more is read
    figures["per_minute"] = view.per_minute(time.time())
    figures["today"] = figures["days"][max(figures["days"])] if figures["days"] else NO_DAY
    figures["limits"] = [limit._asdict() for limit in shown.limits]
    labels = None if shown.labels is None else [_label(label) for label in shown.labels]
    return StudyAnswer(
        name=calls.study.name, policy=shown.policy, paused=shown.paused, arms=labels, figures=figures
    )


def previewed(study: Study, policy: Any, text: object, today: date) -> PreviewAnswer:
    """How often a policy would explore in as many rounds as the busier of the last two days had, UTC."""
    first = study.summary().rounds + 1
    days = study.metrics()["days"]
    lately = {day: days[day]["rounds"] for each in (0, 1) if (day := str(today - timedelta(each))) in days}
    busier = max(lately, key=lambda day: lately[day], default=None)
    rounds = ROUNDS_ASSUMED if busier is None else lately[busier]
    basis = "assumed: nothing was decided today or yesterday (UTC)"
    if busier is not None:
        basis = f"as many as were decided on {busier} (UTC), the busier of today and yesterday"
    last = first + rounds - 1
    wanted, now = planned_count(policy, first, last), planned_count(study.policy, first, last)
    shown = text if isinstance(text, str) else ""
    return PreviewAnswer(policy=shown, rounds=rounds, basis=basis, explorations=wanted, now=now)


def planned_line(study: Study, spans: list[dict[str, Any]]) -> list[int] | None:
    """How many explorations the policy in force plans up to the end of each span; None if not known."""
    policy = resumed_policy(study.policy)
    counts = [planned_count(policy, 1, span["last"]) for span in spans]
    return None if None in counts else [count or 0 for count in counts]


def _label(label: object) -> str | int:
    return label if isinstance(label, str | int) else str(label)
