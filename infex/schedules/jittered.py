"""Exploration at unforeseen rounds, with a known probability."""

from dataclasses import dataclass
from typing import final

from infex.checks import whole
from infex.schedules.protocol import Family, a_horizon, a_round, an_order
from infex.streams import place


@final
@dataclass(frozen=True, slots=True, repr=False)
class Jittered(Family):
    """Explores in one round of each block of `period`, drawn uniformly."""

    period: int
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", whole("period", self.period, least=1))
        object.__setattr__(self, "seed", whole("seed", self.seed))

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
        block, place = divmod(a_round(t) - 1, self.period)
        return 1.0 / (self.period - place) if self.when(block + 1) >= t else 0.0

    def __repr__(self) -> str:
        return f"jittered({self.period}, seed={self.seed})"


def jittered(m: int, seed: int = 0) -> Jittered:
    """Explores in one round of every m, drawn uniformly from each block of m.

    As many explorations as `every(m)`, but not in step with any season, and with known
    probabilities, for off-policy evaluation: each round explores with probability 1/m seen by
    itself; given the rounds before it, with 1/(rounds left in its block), and 0 once the block
    has explored. `Decision.probability` is told given the rounds before.

    >>> schedule = jittered(5, seed=1)
    >>> [sum(schedule.explores(t) for t in range(b, b + 5)) for b in (1, 6, 11)]
    [1, 1, 1]
    """
    return Jittered(m, seed)
