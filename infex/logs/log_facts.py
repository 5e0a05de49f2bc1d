"""What is said once of a whole log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from infex.checks import real, whole
from infex.errors import InvalidLog


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What is known of all rows: who decided, and in which units.

    `policy` and `schedule` are texts of the catalogue. `period` is the length m of a schedule's blocks, of
    which one round explores: jittered(m), every(m). `penalty`, `noise` and `bound` are the bandit's;
    `rewards` is the least and the greatest reward there can be. `seed` is that of the bandit's draws, and
    `estimator` what stood in the place of ridge, a text of the catalogue. `encoded` says that contexts are as
    the encoder of the map made them, not as they were given. None is: not known.

    >>> LogFacts(schedule="jittered(20, seed=0)", period=20, rewards=(0, 1)).rewards
    (0.0, 1.0)
    """

    policy: str | None = None
    schedule: str | None = None
    period: int | None = None
    penalty: float | None = None
    noise: float | None = None
    bound: float | None = None
    rewards: tuple[float, float] | None = None
    seed: int | None = None
    estimator: str | None = None
    encoded: bool = False

    def __post_init__(self) -> None:
        if self.period is not None:
            object.__setattr__(self, "period", whole("period", self.period, least=1, error=InvalidLog))
        if self.seed is not None:
            object.__setattr__(self, "seed", whole("seed", self.seed, error=InvalidLog))
        for name, value in (("penalty", self.penalty), ("noise", self.noise), ("bound", self.bound)):
            if value is not None:
                object.__setattr__(self, name, real(name, value, above=0, error=InvalidLog))
        if self.rewards is not None:
            object.__setattr__(self, "rewards", range_of(self.rewards))


def range_of(rewards: object) -> tuple[float, float]:
    """The least and the greatest reward, if these are two numbers, the first one smaller.

    >>> range_of([0, 1])
    (0.0, 1.0)
    """
    if not isinstance(rewards, tuple | list) or len(rewards) != 2:
        raise InvalidLog(f"rewards must be the least and the greatest of them, as in (0, 1), got {rewards!r}")
    low, high = (real("an end of rewards", end, error=InvalidLog) for end in rewards)
    if not low < high:
        raise InvalidLog(f"rewards must go from the least to the greatest, got {low:g} to {high:g}")
    return low, high
