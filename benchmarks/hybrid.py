"""Features that arms share beside their own, and runs in contexts: against NumPy and one regression."""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import infex

Floats = NDArray[np.float64]

SIZES = ((5, 2, 10), (5, 2, 50), (20, 2, 50), (10, 4, 200))  # features of contexts and of arms, arms
DENSE = 300  # parameters up to which one regression of joined rows is tried too
ROUNDS, REPEATS = 400, 5
PLAYED = 100_000
A_ROUND = 1.0  # microseconds that a round in contexts of 5 features with 10 arms may take


class HybridRow(NamedTuple):
    """Microseconds of processor time for one choice and one update, the least over repeats."""

    context: int
    features: int
    arms: int
    infex: float
    numpy: float
    dense: float | None

    @property
    def ratio(self) -> float:
        """How many times as long as the NumPy loop."""
        return self.infex / self.numpy


class Eliminated:
    """Li et al. 2010, Algorithm 2, as a careful NumPy loop: all arms in a few products."""

    def __init__(self, own: int, shared: int, arms: int) -> None:
        self.inverses, self.cross = np.array([np.eye(own)] * arms), np.zeros((arms, own, shared))
        self.moments, self.gram, self.moment = np.zeros((arms, own)), np.eye(shared), np.zeros(shared)

    def choose(self, x: Floats, rows: Floats) -> int:
        """The arm of the largest upper bound."""
        inverse = np.linalg.inv(self.gram)
        beta = inverse @ self.moment
        along = self.inverses @ x
        untold = rows - np.einsum("kcs,kc->ks", self.cross, along)
        means = along[:, None, :] @ self.moments[:, :, None]
        squares = along @ x + np.einsum("ks,ks->k", untold @ inverse, untold)
        return int(np.argmax(means[:, 0, 0] + untold @ beta + np.sqrt(squares)))

    def update(self, arm: int, x: Floats, z: Floats, reward: float) -> None:
        """Takes the arm's part out of the shared sums, and puts it back with the reward in it."""
        inverse, cross, moment = self.inverses[arm], self.cross[arm], self.moments[arm]
        self.gram += cross.T @ inverse @ cross + np.outer(z, z)
        self.moment += cross.T @ inverse @ moment + reward * z
        u = inverse @ x
        inverse -= np.outer(u, u / (1.0 + x @ u))
        cross += np.outer(x, z)
        moment += reward * x
        self.gram -= cross.T @ inverse @ cross
        self.moment -= cross.T @ inverse @ moment


class Rows:
    """The same features as rows of one regression."""

    def __init__(self, hybrid: infex.features.Hybrid) -> None:
        self.hybrid, self.dim, self.count, self.labels = hybrid, hybrid.dim, hybrid.count, None

    def __call__(self, context: object) -> Floats:
        return self.hybrid(context)


def measure(context: int, features: int, arms: int) -> HybridRow:
    """A bandit and the loops, in turn; shared are all products of features."""
    rng = np.random.default_rng(context + arms)
    contexts, fixed = rng.standard_normal((ROUNDS, context)), rng.standard_normal((arms, features))
    contexts /= 1.001 * np.linalg.norm(contexts, axis=1, keepdims=True)
    fixed /= 1.001 * np.linalg.norm(fixed, axis=1, keepdims=True)
    hybrid = infex.features.hybrid(infex.features.interactions(fixed, context))
    size = context, features * context, arms
    rewards = rng.standard_normal(ROUNDS).tolist()
    mine, loops, rows = [], [], []
    for _ in range(REPEATS):
        mine.append(asked(hybrid, contexts, rewards))
        loops.append(looped(Eliminated(*size), contexts, fixed, rewards))
        if hybrid.dim <= DENSE:
            rows.append(asked(Rows(hybrid), contexts, rewards))
    return HybridRow(context, features, arms, min(mine), min(loops), min(rows, default=None))


def asked(rule: infex.features.FeatureMap, contexts: Floats, rewards: list[float]) -> float:
    """Microseconds of `ask` and `tell`."""
    bandit = infex.Bandit(features=rule, policy=infex.policies.FixedBonusUCB())
    begun = time.process_time()
    for context, reward in zip(contexts, rewards, strict=True):
        bandit.tell(bandit.ask(context=context), reward)
    return (time.process_time() - begun) / ROUNDS * 1e6


def looped(loop: Eliminated, contexts: Floats, fixed: Floats, rewards: list[float]) -> float:
    """Microseconds of the loop."""
    begun = time.process_time()
    for context, reward in zip(contexts, rewards, strict=True):
        products = (fixed[:, :, None] * context).reshape(len(fixed), -1)
        arm = loop.choose(context, products)
        loop.update(arm, context, products[arm], reward)
    return (time.process_time() - begun) / ROUNDS * 1e6


def table() -> list[HybridRow]:
    """All rows."""
    return [measure(*size) for size in SIZES]


def runs(repeats: int = REPEATS) -> list[tuple[str, float]]:
    """Microseconds of processor time for a simulated round, 5 features and 10 arms."""
    instance = infex.lab.environments.contextual(context_dim=5, arms=10, seed=1)
    found = []
    for policy in (
        infex.Greedy(),
        infex.LinUCB(),
        infex.Infex(infex.LinUCB(), infex.every(20)),
        infex.LinTS(),
    ):
        infex.lab.play(instance, policy, 10)
        times = []
        for seed in range(repeats):
            begun = time.process_time()
            infex.lab.play(instance, policy, PLAYED, seed)
            times.append((time.process_time() - begun) / PLAYED * 1e6)
        found.append((infex.registry.label_of(policy), min(times)))
    return found


if __name__ == "__main__":
    for row in table():
        print(*row, round(row.ratio, 2))
    for name, microseconds in runs():
        print(name, round(microseconds, 3))
