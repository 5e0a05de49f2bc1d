"""Many decisions at once, on a model that stays as it is."""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import infex
from benchmarks.peers.disjoint_learners import (
    BatchLearner,
    OfContextualbandits,
    OfInfex,
    OfMabwiser,
    OfNumPy,
)
from benchmarks.peers.timing import in_turns

DIM, ARMS, MANY = 20, 10, 10_000
ALONE = infex.policies.FixedBonusUCB(bonus=1.0)
KINDS: dict[str, Callable[[int, int], BatchLearner]] = {
    "NumPy": OfNumPy,
    "infex": OfInfex,
    "infex, Infex(..., every(20))": lambda arms, dim: OfInfex(arms, dim, infex.Infex(ALONE, infex.every(20))),
    "infex, Greedy": lambda arms, dim: OfInfex(arms, dim, infex.Greedy()),
    "contextualbandits": OfContextualbandits,
    "MABWiser": OfMabwiser,
}


def batches_table() -> dict[str, float]:
    """Microseconds for one of 10,000 decisions; those of infex are kept and wait for rewards."""
    rng = np.random.default_rng(5)
    seen = rng.random((300, DIM)) / np.sqrt(DIM)
    many = rng.random((MANY, DIM)) / np.sqrt(DIM)
    works: dict[str, Callable[[], int]] = {}
    for name, kind in KINDS.items():
        learner = kind(ARMS, DIM)
        for context, reward in zip(seen, rng.random(len(seen)).tolist(), strict=True):
            learner.learn(context, learner.choose(context), reward)
        works[name] = functools.partial(_decided, learner, many)
    return in_turns(works)


def _decided(learner: BatchLearner, many: NDArray[np.float64]) -> int:
    return len(learner.choose_many(many))
