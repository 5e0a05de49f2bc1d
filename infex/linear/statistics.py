"""What a way of estimating must offer, so that bandits and policies work with it as with ridge."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from infex.arrays import Floats
from infex.errors import InvalidSetting
from infex.linear.evidence import Scorer


class Statistics(Scorer, Protocol):
    """What was learnt, and what it says of the fixed arms in `columns`, (d, K)."""

    told: int
    squares: bool
    """Is it least squares, so that a reward may have a weight in the squared error?"""

    @property
    def dim(self) -> int:
        """The dimension d."""

    def learn(self, arm: int, reward: float) -> None:
        """Takes in one reward of an arm."""

    def absorb(self, x: Floats, reward: float, weight: float = 1.0) -> None:
        """Takes in one reward of any x, which counts `weight` times in the squared error."""

    def over(self, columns: Floats) -> Statistics:
        """What was learnt, over other fixed arms."""

    def add(self, other: Any) -> None:
        """Takes in all that others of the same kind have learnt."""

    def settle(self) -> None:
        """Computes all that is derived anew from what was learnt."""

    def arrays(self) -> dict[str, Any]:
        """What was learnt, as arrays to be kept."""

    def restore(self, arrays: dict[str, Any]) -> None:
        """Takes what was learnt from arrays that were kept, in the place of all that is here."""


@runtime_checkable
class Estimator(Protocol):
    """Settings that make statistics."""

    def start(self, columns: Floats, penalty: float) -> Statistics:
        """Statistics over these arms, with nothing learnt."""


def checked_estimator(estimator: Any) -> Estimator | None:
    """`estimator`, if it can start statistics; None is ridge regression."""
    if estimator is None:
        return None
    if isinstance(estimator, type) or not isinstance(estimator, Estimator):
        raise InvalidSetting(f"estimator must be one of infex.estimators, got {estimator!r}")
    return estimator
