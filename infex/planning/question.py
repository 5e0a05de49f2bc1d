"""What a plan is asked for, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from infex.checks import real, set_fields, whole
from infex.errors import InvalidSetting
from infex.planning.candidates import Limits, limits

LONGEST_HORIZON = 10**9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The problem, what is allowed, and the time that may be spent.

    `bound` is as the user gave it, `logged` the number of logged rewards, `offers` how many rounds of a log
    have offers that are drawn from (0: arms stay), `noise_by` where the noise is from. Limits are None
    where there are none.
    """

    dim: int
    arms_count: int
    horizon: int
    noise: float
    bound: float
    logged: int
    max_share: float | None
    max_count: int | None
    max_cost: float | None
    keep_within: float
    seconds: float
    seed: int
    offers: int = 0
    noise_by: str = ""

    def __post_init__(self) -> None:
        real("keep_within", self.keep_within, least=1)
        set_fields(
            self,
            horizon=planned_horizon(self.horizon),
            seconds=real("seconds", self.seconds, above=0),
            seed=whole("seed", self.seed),
        )
        self.limits()

    @property
    def slack(self) -> float:
        """The part by which the regret may exceed that of the best."""
        return self.keep_within - 1.0

    def limits(self) -> Limits:
        """Exploring rounds, and their summed loss, that are allowed."""
        return limits(self.horizon, self.max_share, self.max_count, self.max_cost)


def planned_horizon(horizon: float) -> int:
    """`horizon`, if so many rounds can be simulated; also as 1e4."""
    given = int(horizon) if isinstance(horizon, float) and horizon.is_integer() else horizon
    rounds = whole("horizon", given, least=2)
    if rounds > LONGEST_HORIZON:
        raise InvalidSetting(f"horizon must be at most {LONGEST_HORIZON} to be simulated, got {rounds}")
    return rounds
