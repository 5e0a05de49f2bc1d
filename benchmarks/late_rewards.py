"""What looking at pending decisions does to regret where rewards come late.

`python -m benchmarks.late_rewards` prints a table. With and without it, each policy meets the same problems,
noise and delays; the difference is a mean over seeds, with an interval of 95 % by resampling.
"""

from typing import Any, NamedTuple

import numpy as np

from infex import Infex, LinTS, LinUCB, every
from infex._stats import Difference, paired
from infex.lab import play_many
from infex.lab.environments import gaussian, late

DIM, ARMS, HORIZON, SEEDS = 10, 100, 10_000, 50
LATENESS: dict[str, Any] = {
    "10": late(10),
    "100": late(100),
    "1,000": late(1000),
    "geometric, mean 100": late(mean=100),
    "geometric, mean 1,000": late(mean=1000),
    "all at the end of 1,000": late(range(999, -1, -1)),
    "100; 1 in 10 never": late(100, lost=0.1),
    "100; half never": late(100, lost=0.5),
}
POLICIES: dict[str, Any] = {
    "LinUCB": LinUCB(),
    "LinTS": LinTS(),
    "Infex(LinUCB, every(20))": Infex(LinUCB(), every(20)),
    "Infex(LinTS, every(20))": Infex(LinTS(), every(20)),
}


class Row(NamedTuple):
    """Mean regret without looking at what is pending and with it, and the second less the first."""

    late: str
    policy: str
    ignore: float
    narrow: float
    difference: Difference


def measure(name: str, policy: str) -> Row:
    """Both ways on the same problems."""
    problems = [gaussian(dim=DIM, arms=ARMS, seed=seed, late=LATENESS[name]) for seed in range(SEEDS)]
    ignore, narrow = (
        np.array(
            [
                run.regret
                for run in play_many(
                    problems, POLICIES[policy], HORIZON, range(SEEDS), paired=True, pending=way
                )
            ]
        )
        for way in ("ignore", "narrow")
    )
    return Row(name, policy, float(ignore.mean()), float(narrow.mean()), paired(narrow, ignore))


def main() -> None:
    """Prints the table as Markdown."""
    print(f"d = {DIM}, K = {ARMS}, T = {HORIZON:,}, {SEEDS} seeds\n")
    print("| late by | policy | ignore | narrow | narrow - ignore |\n|---|---|---|---|---|")
    for name in LATENESS:
        for policy in POLICIES:
            row = measure(name, policy)
            low, high = row.difference.low, row.difference.high
            gain = f"{row.difference.mean:+.0f} [{low:+.0f}, {high:+.0f}]"
            bold = f"**{gain}**" if row.difference.settled else gain
            print(f"| {name} | {policy} | {row.ignore:.0f} | {row.narrow:.0f} | {bold} |", flush=True)


if __name__ == "__main__":
    main()
