"""LinUCB, INFEX and greedy on one problem of the paper's kind: who loses how much, at what cost?"""

import sys

import infex
from infex import lab

HORIZON = 10_000


def main(seed: int = 1) -> None:
    instance = lab.environments.gaussian(dim=10, arms=100, seed=seed)
    base = infex.LinUCB()  # its delta is 1/T here, as in the paper
    policies: dict[str, infex.Policy] = {
        "LinUCB": base,
        "Infex(LinUCB, every(5))": infex.Infex(base, infex.every(5)),
        "Infex(LinUCB, every(20))": infex.Infex(base, infex.every(20)),
        "Infex(LinUCB, every(100))": infex.Infex(base, infex.every(100)),
        "Greedy": infex.Greedy(),
    }
    print(f"100 arms, 10 features, {HORIZON:,} rounds, rewards of +1 or -1, seed {seed}\n")
    print(f"{'policy':27}{'regret':>9}{'explored':>10}{'ms':>7}")
    for name, policy in policies.items():
        run = lab.play(instance, policy, HORIZON, seed)  # all meet the same noise
        print(f"{name:27}{run.regret:9.0f}{run.explored:10,}{1e3 * run.seconds:7.1f}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
