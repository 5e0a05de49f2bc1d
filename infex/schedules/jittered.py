"""Exploration at unforeseen rounds, with a known probability."""

from dataclasses import dataclass
from typing import final

from infex.checks import whole
from infex.schedules.protocol import Schedule, a_horizon, a_round, an_order
from infex.streams import place


@final
@dataclass(frozen=True, slots=True, repr=False)
class Jittered(Schedule):
    """Explores in one round of each block of `period`, drawn uniformly."""

    period: int
    seed: int

    def __post_init__(self) -> None:
        whole("period", self.period, least=1)
        whole("seed", self.seed)

    @property
    def grows(self) -> bool:
        return True

    def explores(self, t: int) -> bool:
        return a_round(t) == self.when((t - 1) // self.period + 1)

    def count(self, t: int) -> int:
        blocks, rest = divmod(a_horizon(t), self.period)
        return blocks + (rest > 0 and self.when(blocks + 1) <= t)

    def when(self, n: int) -> int:
        block = an_order(n) - 1
        return block * self.period + 1 + place(self.seed, "jittered", self.period, block, size=self.period)

    @property
    def drawn(self) -> bool:
        return True

    def chance(self, t: int) -> float:
        return 1.0 / self.period

    def __repr__(self) -> str:
        return f"jittered({self.period}, seed={self.seed})"


def jittered(m: int, seed: int = 0) -> Jittered:
    """Explores in one round of every m, drawn uniformly from each block of m.

    As many explorations as `every(m)`, but not in step with any season, and each round explores
    with the known probability 1/m, so that logged decisions support off-policy evaluation.

    >>> schedule = jittered(5, seed=1)
    >>> [sum(schedule.explores(t) for t in range(b, b + 5)) for b in (1, 6, 11)]
    [1, 1, 1]
    """
    return Jittered(whole("period", m, least=1), whole("seed", seed))
