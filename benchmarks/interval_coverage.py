"""How often honest intervals hold, on fixed and on adaptively gathered data: the table of docs/intervals.md.

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


def main(problems: int) -> None:
    """Prints the table."""
    print("| data | noise | rewards | greedy arm | random arm | least played | half lengths |")
    print("|---|---|---|---|---|---|---|")
    for name, policy in POLICIES.items():
        for noise in (0.1, 1.0, None):
            for rounds in (20, 100, 1000):
                found = np.array([covered(seed, policy, rounds, noise) for seed in range(problems)])
                share, half = found[:, :3].mean(axis=0), np.median(found[:, 3:], axis=0)
                shown = " | ".join(f"{each:.3f}" for each in share)
                lengths = ", ".join(f"{each:.2g}" for each in half)
                print(f"| {name} | {noise or 'clicks'} | {rounds} | {shown} | {lengths} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
