"""OLSBandit plays the same arms in its compiled loop and in Python, also where arms differ much in length."""

from typing import Any

import numpy as np
import pytest

import infex
from infex.lab import environments
from infex.lab.environments import instances
from infex.policies import OLSBandit
from tests.lab.simulation.in_python import play_in_python


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [1, 7, 13, 21, 34, 42, 55, 63, 77, 81, 90, 99])
@pytest.mark.parametrize(("rule", "scale", "keep"), [("blocks", 3.0, 0.95), ("log", 4.0, 0.1)])
def test_both_loops_play_the_same_arms(seed: int, rule: Any, scale: float, keep: float) -> None:
    """Sums were added up pull by pull in one and by runs in the other, and products in another order."""
    rng = np.random.default_rng(seed)
    arms = rng.standard_normal((9, 9)) * 10.0 ** rng.uniform(-8, 0, size=(9, 1))
    arms /= np.linalg.norm(arms, axis=1).max() * 1.0001
    theta = rng.standard_normal(9)
    instance = environments.LinearInstance(arms, theta / np.linalg.norm(theta))
    policy = OLSBandit(rule=rule, scale=scale, keep=keep)
    compiled = infex.lab.play(instance, policy, 300, seed, record=True)
    plain = play_in_python(instance, policy, 300, seed, record=True)
    np.testing.assert_array_equal(compiled.arms, plain.arms)
    np.testing.assert_array_equal(compiled.rewards, plain.rewards)


@pytest.mark.parametrize("chunk", [1, 7, 40, 150])
@pytest.mark.parametrize("scale", [1.0, 20.0, 500.0])
def test_a_run_in_parts_is_that_of_one(chunk: int, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts may be forced all through, begin before the first round that is not forced, or after it."""
    instance = environments.gaussian(dim=4, arms=9, seed=2)
    whole = infex.lab.play(instance, OLSBandit(scale=scale), 300, record=True)
    monkeypatch.setattr(instances, "STRETCH", chunk)
    parts = infex.lab.play(instance, OLSBandit(scale=scale), 300, record=True)
    np.testing.assert_array_equal(parts.arms, whole.arms)
    assert parts.explored == whole.explored
    assert parts.log_det_ratio == whole.log_det_ratio
