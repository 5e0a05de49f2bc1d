"""Plans on a clock of their own, and candidates with runs made by hand."""

from typing import Any

import numpy as np

import infex
from infex.lab.planner.race import Candidate
from infex.policies import Greedy
from tests.clock import Clock

SPEED = 2e6  # rounds in a second


class Pace:
    """Plays runs on a clock of its own, on which time passes as rounds are played and not otherwise.

    So no plan depends on the machine. In one thread, that is: where there are two, the limit must be
    too long to matter. `linucb` are seconds that a run of LinUCB takes beyond those of its rounds.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.linucb = 0.0

    def play_many(self, problems: Any, policy: Any, rounds: int, *given: Any, **more: Any) -> Any:
        extra = self.linucb if isinstance(policy, infex.LinUCB) else 0.0
        self.clock.now += len(problems) * (rounds / SPEED + extra)
        return infex.lab.play_many(problems, policy, rounds, *given, **more)


def played(regret: Any, rounds: int = 100, explorations: int = 10, cost: float = 0.0) -> Candidate:
    """A candidate with these figures."""
    found = Candidate(Greedy(), explorations, rounds=rounds)
    values = np.array(regret, dtype=float)
    found.record(values, np.full(values.size, cost))
    return found
