"""Problems drawn one after the other, and candidates' runs on them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import final

import numpy as np

from infex.planning.beliefs import Belief, PlannedProblem
from infex.planning.lanes import Lane
from infex.simulation import play_many

NUMBERS_OF_A_POOL = 1 << 20  # pools share no problem as long as each has at most so many


@final
@dataclass(slots=True, eq=False)
class Pool:
    """Problems of one belief and seed; those of another `place` are others, with other noise."""

    belief: Belief
    seed: int
    place: int = 0
    drawn: list[PlannedProblem] = field(default_factory=list, repr=False)

    @property
    def first(self) -> int:
        """The number of the first problem."""
        return self.place * NUMBERS_OF_A_POOL

    def upto(self, problems: int) -> list[PlannedProblem]:
        """The first problems."""
        while len(self.drawn) < problems:
            self.drawn.append(self.belief.instance(self.first + len(self.drawn), self.seed))
        return self.drawn[:problems]

    def run(self, lane: Lane, problems: int, rounds: int, workers: int = 1) -> None:
        """Brings a lane to so many problems and rounds."""
        kept = lane.regret.size if lane.rounds == rounds else 0
        missing = self.upto(problems)[kept:]
        if not missing:
            return
        begun = time.thread_time(), time.monotonic()
        seeds = range(self.first + kept, self.first + problems)  # two problems may be alike, not their noise
        runs = play_many(
            missing, lane.candidate.policy, rounds, seeds,
            penalty=self.belief.penalty, workers=workers, paired=True, learnt=self.belief.learnt,
        )  # fmt: skip
        spent = time.thread_time() - begun[0] if workers == 1 else workers * (time.monotonic() - begun[1])
        lane.seconds = spent / len(missing)
        lane.take(
            np.concatenate([lane.regret[:kept], [run.regret for run in runs]]),
            np.concatenate([lane.cost[:kept], [run.regret_exploring for run in runs]]),
        )
        lane.rounds = rounds
