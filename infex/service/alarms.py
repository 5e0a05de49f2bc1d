"""What somebody should look at, from the figures of a study; the rules for Prometheus say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DRIFT_Z = 4.0  # standard errors between recent residuals and all
OLD_SHARE, OLD_AGES, FEWEST_OLD = 0.5, ("604800", "2592000", "more"), 100  # pending for more than a day
LEAST_DONE, FEWEST_PLANNED = 0.5, 20


def alarms_of(figures: Mapping[str, Any]) -> list[str]:
    """Sentences, one for each alarm.

    >>> quiet = {"residuals": {"z": -5.0}, "pending_by_age": {}, "states": {"pending": 0}}
    >>> alarms_of(quiet | {"exploration": {"planned": 0, "done": 0}})
    ['estimates drift: recent residuals are 5.0 standard errors from all']
    """
    found = []
    z = figures["residuals"]["z"]
    if z is not None and abs(z) > DRIFT_Z:
        found.append(f"estimates drift: recent residuals are {abs(z):.1f} standard errors from all")
    old = sum(figures["pending_by_age"].get(age, 0) for age in OLD_AGES)
    if old >= FEWEST_OLD and old > OLD_SHARE * figures["states"]["pending"]:
        found.append(f"rewards are late: {old} decisions have waited for more than a day")
    planned, done = figures["exploration"]["planned"] or 0, figures["exploration"]["done"]
    if planned >= FEWEST_PLANNED and done < LEAST_DONE * planned:
        found.append(f"exploration falls behind: {done} done of {planned} planned")
    return found
