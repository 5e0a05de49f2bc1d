"""What SLOPE chooses may be biased: its interval is that of the doubly robust estimate, and holds."""

from pathlib import Path

import numpy as np
import pytest

import infex
from infex import evaluation
from infex.logs import Log

ROUNDS = 400


def played(seed: int, path: Path) -> tuple[Log, float]:
    """A log whose linear model is wrong, and what always playing the first arm is worth on its contexts."""
    rng, worth = np.random.default_rng(seed), 0.0
    policy = infex.Infex(infex.Softened(infex.LinUCB(scale=0.2), share=0.6), infex.jittered(4, seed=seed))
    shop = infex.features.disjoint(["a", "b"], context_dim=1)
    bandit = infex.Bandit(features=shop, policy=policy, seed=seed, log=path)
    for _ in range(ROUNDS):
        x = float(rng.uniform(-1.0, 1.0))
        means = {"a": 0.4 + 0.4 * (abs(x) > 0.5), "b": 0.6}
        worth += means["a"] / ROUNDS
        decision = bandit.ask(context=[x])
        bandit.tell(decision, float(rng.random() < means[str(decision.label)]))
    bandit.log_to(None)
    return evaluation.read(path), worth


def test_the_interval_of_slope_is_at_least_that_of_dr_and_covers(tmp_path: Path) -> None:
    covered = 0
    for seed in range(20):
        log, worth = played(seed, tmp_path / f"{seed}.log")
        slope, robust = (
            evaluation.evaluate(log, {"first": "a"}, rewards=(0, 1), estimator=name)["first"]
            for name in ("slope", "dr")
        )
        assert slope.low <= min(robust.low, slope.value)
        assert slope.high >= max(robust.high, slope.value)
        covered += slope.low <= worth <= slope.high
    assert covered >= 15  # of 20 at 95 %: fewer have a chance of 0.0003


def test_comparisons_by_slope_lie_between_both_intervals(tmp_path: Path) -> None:
    log, _ = played(1, tmp_path / "x.log")
    found = evaluation.evaluate(log, {"first": "a", "second": "b"}, rewards=(0, 1), estimator="slope")
    one, other, apart = found["first"], found["second"], found.compare("first", "second")
    assert apart.difference == pytest.approx(one.value - other.value)
    assert apart.low == pytest.approx(max(one.low - other.high, -1.0))
    assert apart.high == pytest.approx(min(one.high - other.low, 1.0))
