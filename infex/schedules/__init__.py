"""Schedules: the rounds in which the base policy decides."""

from infex.schedules.budget import Budget, budget
from infex.schedules.counted import Counted, from_count, logarithmic, power, stretched
from infex.schedules.every import Every, always, every, never
from infex.schedules.jittered import Jittered, jittered
from infex.schedules.listed import Listed, listed
from infex.schedules.protocol import Schedule
from infex.schedules.union import Union, union

__all__ = [
    "Budget",
    "Counted",
    "Every",
    "Jittered",
    "Listed",
    "Schedule",
    "Union",
    "always",
    "budget",
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
