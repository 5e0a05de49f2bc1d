"""Runs of every kind, and what each came to: which arms, and which numbers.

`python -m tests.lab.simulation.golden_runs` writes `tests/golden/runs.json` anew. Arms that change are
another behaviour, and numbers that change alone are another rounding: say which in the commit.
"""

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import infex
from infex import models
from infex.lab import environments as e

FILE = Path(__file__).parents[2] / "golden" / "runs.json"
HORIZON = 400
POLICIES: dict[str, Any] = {
    "greedy": infex.Greedy(),
    "greedy, random ties": infex.Greedy(ties="random"),
    "epsilon-greedy": infex.EpsilonGreedy(),
    "uniform": infex.policies.Uniform(),
    "LinUCB": infex.LinUCB(),
    "LinUCB, tuned": infex.LinUCB(scale=0.2, ties="random"),
    "LinTS": infex.LinTS(),
    "LinTS, spherical": infex.LinTS(sampling="spherical"),
    "hybrid TS": infex.policies.HybridTS(p=0.3),
    "fixed bonus": infex.policies.FixedBonusUCB(bonus=0.4),
    "every(5)": infex.Infex(infex.LinUCB(), infex.every(5)),
    "logarithmic(3), own data": infex.Infex(infex.LinTS(), infex.logarithmic(3), data="own"),
    "guarded": infex.Infex(infex.LinUCB(), infex.guarded(infex.every(2), 2.0)),
    "until certain": infex.Infex(infex.LinUCB(scale=0.1), infex.until_certain(infex.every(3))),
    "rare switches": infex.policies.RarelySwitchingUCB(),
    "greedy first": infex.policies.GreedyFirst(infex.LinUCB()),
    "softened": infex.Softened(infex.LinUCB()),
    "explore then commit": infex.policies.ExploreThenCommit(rounds=60),
}
PLAIN: dict[str, Any] = {
    "UCB1": infex.policies.UCB1(),
    "Gaussian TS": infex.policies.GaussianTS(),
    "OLS bandit": infex.policies.OLSBandit(),
    "LASSO bandit": infex.policies.LassoBandit(),
}
FORCED: dict[str, Any] = {
    "OLS bandit, blocks": infex.policies.OLSBandit(rule="blocks", scale=4, keep=0.1),
    "OLS bandit, few": infex.policies.OLSBandit(scale=2.5, keep=0.0),
    "OLS bandit, preset": infex.policies.OLSBandit(preset="paper"),
    "LASSO bandit, blocks": infex.policies.LassoBandit(q=5, keep=0.2, first=0.01, later=0.02),
    "LASSO bandit, least squares": infex.policies.LassoBandit(first=0.0, later=0.0),
    "agnostic LASSO bandit": infex.policies.AgnosticLassoBandit(),
    "agnostic LASSO bandit, random ties": infex.policies.AgnosticLassoBandit(strength=0.6, ties="random"),
}
PROBLEMS: dict[str, Any] = {
    "fixed arms": e.gaussian(dim=5, arms=20, seed=1),
    "drawn arms": e.changing(dim=4, arms=8, seed=2),
    "late rewards": e.gaussian(dim=4, arms=12, seed=3, late=e.late(mean=4, lost=0.1), rewards="gaussian"),
}
SPARSE: dict[str, Any] = {
    "sparse": e.sparse(dim=8, arms=15, seed=6),
    "sparse, noisy": e.sparse(dim=8, arms=15, seed=6, rewards="gaussian", noise=0.3),
}
ESTIMATORS: dict[str, Any] = {
    "discounted": models.Discounted(rate=0.95),
    "windowed": models.Windowed(size=30),
    "lasso": models.Lasso(strength=0.05),
    "logistic": models.Logistic(),
}
CONTEXTS = e.contextual(context_dim=4, arms=5, seed=4)
CLICKS = e.gaussian(dim=4, arms=10, seed=5, rewards="bernoulli", link="logistic")


def cases() -> dict[str, tuple[Any, Any, Any]]:
    """The problem, the policy and the estimator of each run, by its name."""
    found = {
        f"{problem}: {name}": (PROBLEMS[problem], POLICIES[name], None)
        for problem in PROBLEMS
        for name in POLICIES
    }
    found |= {f"fixed arms: {name}": (PROBLEMS["fixed arms"], policy, None) for name, policy in PLAIN.items()}
    found |= {
        f"{problem}: {name}": (SPARSE[problem], policy, None)
        for problem in SPARSE
        for name, policy in FORCED.items()
    }
    found |= {
        f"contexts: {name}": (CONTEXTS, POLICIES[name], None) for name in ("LinUCB", "LinTS", "every(5)")
    }
    found |= {f"clicks: {name}": (CLICKS, POLICIES["every(5)"], each) for name, each in ESTIMATORS.items()}
    return found


def digests(name: str) -> dict[str, str]:
    """What one of the runs came to."""
    problem, policy, estimator = cases()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", infex.errors.InfexWarning)
        run = infex.lab.play(problem, policy, HORIZON, seed=7, record=True, estimator=estimator)
    assert run.arms is not None
    assert run.rewards is not None
    numbers = np.concatenate(
        (run.rewards, run.points[1], [run.regret_greedy, run.regret_exploring, run.log_det_ratio])
    )
    return {
        "arms": hashlib.sha256(run.arms.tobytes()).hexdigest()[:16],
        "numbers": hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()[:16],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: digests(name) for name in cases()}, indent=1, sort_keys=True) + "\n")
