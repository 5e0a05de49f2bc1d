"""Runs over fixed arms by the core: the same bits as in Python, and no memory that was not given."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex.core.choosing import Base, Kind, Wrap
from infex.core.fixed_arms import FixedArmsRun
from infex.core.ridge import Ridge
from infex.core.runs import Law
from infex.lab import environments
from infex.lab.simulation.compiled import plan_of
from infex.policies.base import resolve_defaults
from tests.lab.simulation.in_python import assert_same, play_in_python

POLICIES: list[Any] = [
    infex.Greedy(),
    infex.Greedy(ties="random"),
    infex.LinUCB(),
    infex.LinUCB(scale=0.3, ties="random"),
    infex.LinTS(),
    infex.LinTS(sampling="spherical", ties="random"),
    infex.policies.FixedBonusUCB(bonus=0.5),
    infex.EpsilonGreedy(),
    infex.EpsilonGreedy(rate=0.1, ties="random"),
    infex.policies.HybridTS(p=0.3),
    infex.policies.Uniform(),
    infex.Infex(infex.LinUCB(), infex.every(7)),
    infex.Infex(infex.LinUCB(), infex.every(5), data="own"),
    infex.Infex(infex.LinTS(), infex.logarithmic(3)),
    infex.Infex(infex.LinTS(), infex.every(3), data="own"),
    infex.Infex(infex.EpsilonGreedy(rate=0.5), infex.every(4)),
]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(POLICIES),
    st.integers(1, 12),
    st.integers(1, 40),
    st.sampled_from(["sign", "gaussian", "bernoulli"]),
    st.sampled_from([1.0, 30.0, 1e-3, 1e-9]),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_runs_are_those_of_the_python_loop_to_the_last_bit(
    policy: Any, dim: int, count: int, law: Any, penalty: float, seed: int, ties: bool
) -> None:
    rng = np.random.default_rng(seed)
    arms, theta = rng.normal(size=(count, dim)), rng.normal(size=dim)
    arms /= np.maximum(1.0, np.linalg.norm(arms, axis=1, keepdims=True))
    theta /= np.linalg.norm(theta)
    if ties:
        arms[count // 2 :] = arms[: count - count // 2]
    if law == "bernoulli":
        arms, theta = np.abs(arms), np.abs(theta)
    instance = environments.LinearInstance(arms, theta, rewards=law)
    policy = resolve_defaults(policy, 1e-3)
    plan = plan_of(policy)
    assert plan is not None
    assert plan.is_plain
    given: Any = {"horizon": 300, "seed": seed, "penalty": penalty, "record": True}
    assert_same(infex.lab.play(instance, policy, **given), play_in_python(instance, policy, **given))


def run(**changed: Any) -> FixedArmsRun:
    arms = np.random.default_rng(1).normal(size=(4, 2))
    settings: dict[str, Any] = {
        "ridge": Ridge(arms.T),
        "base": Base(Kind.LINUCB, delta=0.01),
        "means": np.zeros(4),
        "gaps": np.arange(4.0),
        "law": Law.GAUSSIAN,
        "noise": 1.0,
        "reward_rng": np.random.default_rng(2),
        "rng": np.random.default_rng(3),
        "horizon": 50,
        "checkpoints": np.array([10, 50]),
    }
    return FixedArmsRun(**(settings | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"means": np.zeros(3)},
        {"gaps": np.zeros(5)},
        {"means": np.zeros((4, 1))},
        {"horizon": 0},
        {"horizon": -5},
        {"ridge": None},
        {"base": None},
        {"own": Ridge(np.ones((2, 3)))},
        {"rng": None},
        {"reward_rng": object()},
        {"checkpoints": np.zeros((2, 2))},
        {"law": "gaussian"},
        {"law": Law.STUDENT},
        {"law": Law.TABLE},
        {"checkpoints": [7, 3]},
        {"checkpoints": [0]},
        {"checkpoints": [60]},
        {"law": 99},
        {"means": np.array([0.0, np.inf, 0.0, 0.0])},
        {"noise": np.nan},
        *({"base": Base(kind)} for kind in list(Kind)[Kind.HYBRID_TS + 1 :]),
        {"base": Base(Kind.LINUCB, wrap=Wrap.GREEDY_FIRST)},
    ],
    ids=repr,
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        run(**changed).play(50, np.array([5]))


@pytest.mark.parametrize("exploring", [[0], [-7, 3], [3, 3, 3], [9, 2], [10**12], [51]], ids=repr)
def test_exploring_rounds_out_of_order_or_range_are_refused(exploring: list[int]) -> None:
    found = run()
    with pytest.raises(ValueError, match="exploring must be rounds that rise, from 1 to 50; got"):
        found.play(50, np.array(exploring))
    assert found.counts.sum() == 0


@pytest.mark.parametrize("exploring", [[], [1], [50]], ids=repr)
@pytest.mark.parametrize("checkpoints", [[], [50], [1]], ids=repr)
def test_any_rounds_may_explore_and_be_marked(exploring: list[int], checkpoints: list[int]) -> None:
    found = run(checkpoints=np.array(checkpoints, dtype=np.int64), record=True)
    found.play(10**9, np.array(exploring, dtype=np.int64))
    assert found.counts.sum() == 50
    np.testing.assert_array_equal(np.bincount(found.arms, minlength=4), found.counts)


def test_a_run_in_parts_is_the_same_run() -> None:
    whole, parts = run(record=True), run(record=True)
    exploring = np.arange(5, 51, 5)
    whole.play(50, exploring)
    for first, last in ((1, 13), (14, 14), (15, 50)):
        parts.play(last, exploring[(exploring >= first) & (exploring <= last)])
    parts.play(50, exploring[:0])  # nothing is left to play
    np.testing.assert_array_equal(whole.arms, parts.arms)
    np.testing.assert_array_equal(whole.rewards, parts.rewards)
    assert whole.explored == parts.explored == 10


def test_scores_that_are_no_numbers_are_an_error_with_the_round() -> None:
    with pytest.raises(infex.errors.InvalidChoice, match="round 1: are the settings"):
        run(base=Base(Kind.LINUCB, noise=np.nan), always=True).play(50, np.zeros(0, dtype=np.int64))
