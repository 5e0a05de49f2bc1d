"""How often honest intervals hold, on fixed and on adaptively gathered data: the tables of docs/intervals.md.

`python -m benchmarks.interval_coverage 300` prints the first, with `others` behind it the second.

Each row is many problems, each with arms and theta of its own; an interval is looked at for the greedy arm,
for a random one, and for the arm that was played least.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import infex

LEVEL = 0.95
POLICIES: dict[str, Any] = {
    "fixed design (arms in turn)": None,
    "Infex(LinUCB, every(20))": infex.Infex(infex.LinUCB(), infex.every(20)),
    "Greedy": infex.Greedy(),
}


def covered(seed: int, policy: Any, rounds: int, noise: float | None, dim: int = 5, arms: int = 10) -> Any:
    """For the greedy arm, a random arm and the least played: does the interval hold? And its half length."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((arms, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    theta = rng.standard_normal(dim)
    theta *= rng.random() / np.linalg.norm(theta)
    means = rows @ theta if noise is not None else 0.5 + 0.5 * rows @ theta
    if noise is None:
        rows, means = _clicks(rng, arms)
    bandit = infex.Bandit(
        rows, policy or infex.Greedy(), rewards=(0, 1) if noise is None else None, seed=seed
    )
    for t in range(rounds):
        arm = t % len(rows) if policy is None else bandit.ask().arm
        reward = (
            float(rng.random() < means[arm]) if noise is None else means[arm] + noise * rng.standard_normal()
        )
        if policy is None:
            bandit.learn(arms=[arm], rewards=[reward])
        else:
            bandit.tell(bandit.pending[0], reward)
    table = bandit.intervals(LEVEL)
    picked = [int(np.argmax(table.estimate)), int(rng.integers(len(rows))), int(np.argmin(table.pulls))]
    holds = [bool(table.low[arm] <= means[arm] <= table.high[arm]) for arm in picked]
    return [*holds, *[(table.high[arm] - table.low[arm]) / 2 for arm in picked]]


def _clicks(rng: np.random.Generator, arms: int) -> Any:
    """Arms that share nothing, each with a chance of its own."""
    return np.eye(arms), rng.random(arms) * 0.5


def spread_of(x: Any) -> float:
    """How far rewards of x scatter where that differs by arm."""
    return 0.3 + 0.7 * abs(float(x[0]))


ESTIMATORS: dict[str, Any] = {
    "Weighted": infex.models.Weighted(weight=lambda x: spread_of(x) ** -2),
    "Windowed(200)": infex.models.Windowed(size=200),
    "Discounted(0.99)": infex.models.Discounted(rate=0.99),
    "Lasso(0.02)": infex.models.Lasso(strength=0.02),
}


def covered_by(seed: int, policy: Any, rounds: int, name: str, dim: int = 5, arms: int = 10) -> Any:
    """The same for an estimator in the place of ridge regression, or for a hybrid map."""
    rng = np.random.default_rng(seed)
    asked, means, bandit = _hybrid(rng, policy) if name == "hybrid" else _fixed(rng, policy, name, dim, arms)
    for t in range(rounds):
        at = t % 50
        arm = int(t % len(means[at])) if policy is None else bandit.ask(**asked(at)).arm
        noise = spread_of(bandit.arms[arm]) if name == "Weighted" else 0.5
        reward = means[at][arm] + noise * rng.standard_normal()
        if policy is None:
            context = asked(at).get("context")
            bandit.learn(None if context is None else [context], [arm], [reward])
        else:
            bandit.tell(bandit.pending[0], reward)
    table = bandit.intervals(LEVEL, **asked(0))
    picked = [int(np.argmax(table.estimate)), int(rng.integers(len(table))), int(np.argmin(table.pulls))]
    holds = [bool(table.low[arm] <= means[0][arm] <= table.high[arm]) for arm in picked]
    return [*holds, *[(table.high[arm] - table.low[arm]) / 2 for arm in picked]]


def _fixed(rng: np.random.Generator, policy: Any, name: str, dim: int, arms: int) -> Any:
    rows = rng.standard_normal((arms, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    theta = rng.standard_normal(dim) * (np.arange(dim) < 2 if name.startswith("Lasso") else 1.0)
    theta *= rng.random() / np.linalg.norm(theta)
    bandit = infex.Bandit(rows, policy or infex.Greedy(), estimator=ESTIMATORS[name])
    return (lambda at: {}), [rows @ theta] * 50, bandit


def _hybrid(rng: np.random.Generator, policy: Any, arms: int = 8) -> Any:
    """Eight arms with three features of their own and four that they share; 50 contexts."""
    shared = infex.features.interactions(rng.uniform(-0.7, 0.7, (arms, 2)), 2)
    rule = infex.features.hybrid(shared, own=[0, 1])
    contexts = rng.uniform(-0.7, 0.7, (50, 2))
    rows = [rule(x) for x in contexts]
    theta: Any = rng.standard_normal(rows[0].shape[1])
    theta *= rng.random() / np.linalg.norm(theta)
    bandit = infex.Bandit(features=rule, policy=policy or infex.Greedy())
    return (lambda at: {"context": contexts[at]}), [each @ theta for each in rows], bandit


def others(problems: int) -> None:
    """Prints the second table: hybrid maps, and estimators in the place of ridge regression."""
    print("| way | data | rewards | greedy arm | random arm | least played | half lengths |")
    print("|---|---|---|---|---|---|---|")
    for way in ("hybrid", *ESTIMATORS):
        for name, policy in POLICIES.items():
            for rounds in (30, 100, 500):
                found = np.array([covered_by(seed, policy, rounds, way) for seed in range(problems)])
                print(f"| {way} | {name} | {rounds} | {_shown(found)} |", flush=True)


def _shown(found: Any) -> str:
    share, half = found[:, :3].mean(axis=0), np.median(found[:, 3:], axis=0)
    lengths = ", ".join(f"{each:.2g}" for each in half)
    return " | ".join(f"{each:.3f}" for each in share) + f" | {lengths}"


def main(problems: int) -> None:
    """Prints the table."""
    print("| data | noise | rewards | greedy arm | random arm | least played | half lengths |")
    print("|---|---|---|---|---|---|---|")
    for name, policy in POLICIES.items():
        for noise in (0.1, 1.0, None):
            for rounds in (20, 100, 1000):
                found = np.array([covered(seed, policy, rounds, noise) for seed in range(problems)])
                print(f"| {name} | {noise or 'clicks'} | {rounds} | {_shown(found)} |", flush=True)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    if "others" in sys.argv:
        others(count)
    else:
        main(count)
