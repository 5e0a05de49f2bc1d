"""LinUCB, INFEX and greedy on one problem of the paper's kind: who loses how much, at what cost?"""

import sys
import time

import infex
from infex.testing import problem

HORIZON = 10_000


def run(policy: infex.Policy, seed: int) -> tuple[float, int, float]:
    """Regret, exploring rounds and seconds of one run of ask and tell."""
    given = problem(seed, arms=100, dim=10, horizon=HORIZON)
    means = (given.arms @ given.theta).tolist()
    bandit = infex.Bandit(given.arms, policy, seed=seed)
    regret, explored = 0.0, 0
    start = time.perf_counter()
    for t in range(1, HORIZON + 1):
        decision = bandit.ask()
        bandit.tell(decision, given.reward(t, decision.arm))
        regret += max(means) - means[decision.arm]
        explored += decision.explored
    return regret, explored, time.perf_counter() - start


def main(seed: int = 1) -> None:
    base = infex.LinUCB(delta=1 / HORIZON)
    policies: dict[str, infex.Policy] = {
        "LinUCB": base,
        "Infex(LinUCB, every(5))": infex.Infex(base, infex.every(5)),
        "Infex(LinUCB, every(20))": infex.Infex(base, infex.every(20)),
        "Infex(LinUCB, every(100))": infex.Infex(base, infex.every(100)),
        "Greedy": infex.Greedy(),
    }
    run(base, seed)  # compiles
    print(f"100 arms, 10 features, {HORIZON:,} rounds, rewards of +1 or -1, seed {seed}\n")
    print(f"{'policy':27}{'regret':>9}{'explored':>10}{'seconds':>9}")
    for name, policy in policies.items():
        regret, explored, seconds = run(policy, seed)
        print(f"{name:27}{regret:9.0f}{explored:10,}{seconds:9.2f}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
