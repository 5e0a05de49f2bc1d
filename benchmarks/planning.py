"""One plan at d = 10, K = 100 and 10,000 rounds, on this machine's clock, and whether it keeps its word.

`python -m benchmarks.planning 103` takes about a minute on two quiet cores: 30 s for the plan, the rest for
400 further problems. Only fixed schedules are tried, as one that looks at the data may be just as good as was
asked for, which takes far longer to settle. It ends with code 1 if the plan is not settled, explores more
than 1,000 times, or its regret on these problems is more than 1.3 times that of the best of its rivals.
"""

import json
import sys
import time
from typing import Any

import numpy as np

import infex
from infex import registry
from infex.lab.planner import Plan, plan
from infex.lab.planner.beliefs import belief
from infex.lab.planner.race import Pool

HORIZON = 10_000
FURTHER = 400  # problems that no plan has met
OTHER_SEED, PLACE = 9_000, 1_000  # of theirs
SEEDS = range(100, 110)  # on none of which a rule of the planner was chosen
FIXED = (  # infex's own schedules that do not look at the data
    "always()", "every([2, 5, 10, 20, 50, 100, 200, 500, 1000])", "stretched([1, 2])", "power([0.75, 0.5])",
    "logarithmic([3, 2])",
)  # fmt: skip
MOST_EXPLORATIONS, MOST_RATIO = 1_000, 1.3


def further(expression: str) -> float:
    """The mean regret on problems that no plan has met."""
    pool = Pool(belief(None, None, 10, 100, 1.0, 1.0, None), seed=OTHER_SEED, place=PLACE)
    policy: Any = registry.parse(expression)
    seeds = range(pool.first, pool.first + FURTHER)
    runs = infex.lab.play_many(pool.upto(FURTHER), policy, HORIZON, seeds, paired=True)
    return float(np.mean([run.regret for run in runs]))


def rivals_of(found: Plan) -> list[str]:
    """All of the menu, and the first candidates that were never dropped."""
    listed = [entry.figures.expression for entry in found.menu]
    return listed + [each.expression for each in found.candidates if each.alive][:8]


def verdict(seed: int) -> dict[str, Any]:
    """What a plan of 30 seconds came to."""
    begun = time.perf_counter()
    found = plan(
        dim=10,
        arms_count=100,
        horizon=HORIZON,
        keep_within=1.25,
        seconds=30.0,
        workers=2,
        seed=seed,
        schedules=FIXED,
    )
    seconds = time.perf_counter() - begun
    regrets = {name: further(name) for name in {found.recommended, *rivals_of(found)}}
    ratio = regrets[found.recommended] / min(regrets.values())
    good = found.settled and found.explorations <= MOST_EXPLORATIONS and ratio <= MOST_RATIO
    return {
        "seed": seed, "good": good, "recommended": found.recommended, "settled": found.settled,
        "explorations": found.explorations, "ratio": round(ratio, 3), "seconds": round(seconds, 1),
    }  # fmt: skip


if __name__ == "__main__":
    shown = verdict(int(sys.argv[1]))
    print(json.dumps(shown))
    sys.exit(0 if shown["good"] else 1)
