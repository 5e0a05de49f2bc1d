"""In how many of 300 rounds after a common log do libraries choose the arm that infex chooses?"""

import numpy as np

from benchmarks.peers.disjoint_learners import Learner, OfContextualbandits, OfInfex, OfMabwiser

ARMS, DIM, LOGGED, ROUNDS = 5, 4, 100, 300


def agreement() -> dict[str, int]:
    """Rounds in which each library and infex chose alike, both going on with their own choice."""
    others: dict[str, Learner] = {
        "mabwiser": OfMabwiser(ARMS, DIM),
        "contextualbandits": OfContextualbandits(ARMS, DIM),
    }
    return {name: alike(other) for name, other in others.items()}


def alike(other: Learner) -> int:
    """Rounds in which this one and infex chose alike."""
    rng = np.random.default_rng(1)
    contexts, truth = rng.random((LOGGED + ROUNDS, DIM)) / 2, rng.normal(size=(ARMS, DIM))
    ours, same = OfInfex(ARMS, DIM), 0
    for t, context in enumerate(contexts):
        noise = rng.normal(size=ARMS)
        arms = [t % ARMS] * 2 if t < LOGGED else [each.choose(context) for each in (ours, other)]
        for each, arm in zip((ours, other), arms, strict=True):
            each.learn(context, arm, float(truth[arm] @ context + noise[arm]))
        same += t >= LOGGED and arms[0] == arms[1]
    return same
