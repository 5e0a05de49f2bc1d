"""How a study treats rewards that come late, twice or never."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, final

from infex.checks import LARGEST_REWARD, one_of, real
from infex.errors import InvalidSetting
from infex.study.holding_out import checked_way

REWARD_RULES: dict[str, Any] = {
    "wait": None,
    "default": None,
    "again": "refuse",
    "holdout": 0.0,
    "holdout_policy": "uniform",
}
"""The settings of a study that a bandit does not have, with their defaults."""
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
LONGEST_WAIT = 100 * 366 * 86_400  # seconds
MICROSECONDS = 1_000_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RewardRules:
    """`wait` is how long a reward may take: seconds, or "3 days". None: for ever.

    A decision whose time has passed takes the reward `default`; without one nothing is learnt from it. A
    reward that comes later is kept and marked late. `again` says what a second reward is: "refuse" refuses
    one that differs from the first; "sum" adds it up.

    `holdout` is the share of units (of keys, where no unit is said) that are held out: for them a fixed
    `holdout_policy` decides: "uniform", {"arm": label}, or "greedy" of a state that stays as it is: that at
    the beginning, or at the last `amend(freeze=True)`.
    """

    wait: float | str | None = None
    default: float | None = None
    again: str = "refuse"
    holdout: float = 0.0
    holdout_policy: str | dict[str, Any] = "uniform"

    def __post_init__(self) -> None:
        real("holdout", self.holdout, least=0, most=1)
        checked_way(self.holdout_policy)
        one_of("again", self.again, ("refuse", "sum"))
        microseconds_of(self.wait)
        if self.default is not None:
            real("default", self.default, least=-LARGEST_REWARD, most=LARGEST_REWARD)
            if self.wait is None:
                raise InvalidSetting(
                    f"default={self.default!r} is for decisions whose `wait` has passed: say wait="
                )

    @property
    def sums(self) -> bool:
        """Do several rewards make one?"""
        return self.again == "sum"

    @property
    def patience(self) -> int | None:
        """How many microseconds a reward may take."""
        return microseconds_of(self.wait)


def microseconds_of(wait: object) -> int | None:
    """A time as seconds or words, in microseconds."""
    if wait is None:
        return None
    if not isinstance(wait, str):
        return int(real("wait", wait, above=0, most=LONGEST_WAIT) * MICROSECONDS)
    found = re.fullmatch(r"(\d+(?:\.\d+)?) (second|minute|hour|day|week)s?", wait)
    seconds = float(found[1]) * SECONDS[found[2]] if found else 0.0
    if not 0 < seconds <= LONGEST_WAIT:
        raise InvalidSetting(
            f'wait must be seconds, or a text such as "3 days" or "90 minutes", got {wait!r}'
        )
    return int(seconds * MICROSECONDS)
