"""Schedules: the rounds in which the base policy decides."""

from infex.schedules.base import Schedule
from infex.schedules.combined import Budget as Budget
from infex.schedules.combined import Union as Union
from infex.schedules.combined import union
from infex.schedules.counted import Counted as Counted
from infex.schedules.counted import from_count, logarithmic, power, stretched
from infex.schedules.periodic import Every as Every
from infex.schedules.periodic import Jittered as Jittered
from infex.schedules.periodic import Listed as Listed
from infex.schedules.periodic import always, every, jittered, listed, never

__all__ = [
    "Schedule",
    "always",
    "every",
    "from_count",
    "jittered",
    "listed",
    "logarithmic",
    "never",
    "power",
    "stretched",
    "union",
]
