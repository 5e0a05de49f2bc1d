"""Schedules: the rounds in which the base policy decides."""

from infex.schedules.budgeting import Budget as Budget
from infex.schedules.counted import Counted as Counted
from infex.schedules.counted import from_count, logarithmic, power, stretched
from infex.schedules.every import Every as Every
from infex.schedules.every import always, every, never
from infex.schedules.jittered import Jittered as Jittered
from infex.schedules.jittered import jittered
from infex.schedules.listed import Listed as Listed
from infex.schedules.listed import listed
from infex.schedules.protocol import Schedule
from infex.schedules.union import Union as Union
from infex.schedules.union import union

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
