"""Draws docs/regret.svg: mean regret over rounds on twenty problems of the paper's kind."""

from pathlib import Path

import matplotlib
import numpy as np

import infex
from infex.testing import problem

matplotlib.use("svg")
from matplotlib import pyplot as plt

HORIZON, INSTANCES = 10_000, 20
BASE = infex.LinUCB(delta=1 / HORIZON)
# name: policy, colour, and by how many points the name is lifted off its line
POLICIES: dict[str, tuple[infex.Policy, str, int]] = {
    "greedy": (infex.Greedy(), "#777777", 0),
    "LinUCB, which always explores": (BASE, "#D55E00", 0),
    "Infex(LinUCB, every(5))": (infex.Infex(BASE, infex.every(5)), "#B07800", 5),
    "Infex(LinUCB, every(20))": (infex.Infex(BASE, infex.every(20)), "#0072B2", -4),
}


def regret(policy: infex.Policy, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Cumulative regret by round."""
    given = problem(seed, arms=100, dim=10, horizon=HORIZON)
    means = given.arms @ given.theta
    bandit = infex.Bandit(given.arms, policy, seed=seed)
    arms = []
    for t in range(1, HORIZON + 1):
        decision = bandit.ask()
        bandit.tell(decision, given.reward(t, decision.arm))
        arms.append(decision.arm)
    return np.cumsum(means.max() - means[arms])


def main() -> None:
    plt.rcParams.update({"font.size": 11, "svg.hashsalt": "infex", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
    rounds = np.arange(1, HORIZON + 1)
    for name, (policy, colour, lift) in POLICIES.items():
        mean = np.mean([regret(policy, seed) for seed in range(INSTANCES)], axis=0)
        axes.plot(rounds[::50], mean[::50], color=colour, linewidth=2)
        axes.annotate(
            name, (HORIZON, mean[-1]), (6, lift), textcoords="offset points", color=colour, va="center"
        )
    axes.set(xlabel="round", ylabel="mean regret", xlim=(0, HORIZON), ylim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("regret.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
