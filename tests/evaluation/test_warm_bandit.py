"""A bandit from a log is the bandit that wrote it, and goes on as that one does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import Bandit, Greedy, Infex, LinTS, LinUCB, Softened, evaluation, every, features, jittered
from infex.errors import InvalidLog, InvalidSetting
from infex.logs import Log, LogFacts
from infex.models import Weighted
from infex.policies import Uniform

VISITOR = features.table({"age": (20, 80)}, {"country": ["FR", "DE", "IT"]})
POLICIES = [
    Infex(Softened(LinUCB(), 0.2), jittered(5, seed=3)),
    Infex(LinTS(), every(7)),
    Infex(LinUCB(), every(4), data="own"),
    LinUCB(),
]


def fixed(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
    rows = rng.normal(size=(6, 4))
    rows /= np.linalg.norm(rows, axis=1).max()
    return {"arms": rows, "labels": list("abcdef")}, dict


def changing(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
    def ask() -> dict[str, Any]:
        rows = rng.normal(size=(rng.integers(2, 6), 4))
        return {"arms": rows / np.linalg.norm(rows, axis=1).max()}

    return {"dim": 4}, ask


def blocks(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
    rule = features.disjoint(["x", "y", "z"], 3, longest=2.5)
    return {"features": rule}, lambda: {"context": (rng.random(3) * 1.4).tolist()}


def products(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
    rule = features.interactions([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8]], 3, longest=2.5)
    return {"features": rule}, lambda: {"context": (rng.random(3) * 1.4).tolist()}


def visitors(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
    rule = features.disjoint(["x", "y"], context=VISITOR)
    words = ["FR", "DE", "IT"]
    return {"features": rule}, lambda: {
        "context": {"age": float(rng.integers(20, 80)), "country": words[rng.integers(3)]}
    }


@pytest.mark.parametrize("kind", [fixed, changing, blocks, products, visitors])
@pytest.mark.parametrize("policy", POLICIES, ids=["soft", "sampled", "own", "plain"])
def test_a_bandit_from_its_log_goes_on_as_it_would_have(kind: Any, policy: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    settings, ask = kind(rng)
    live = Bandit(policy=policy, seed=11, penalty=0.5, log=tmp_path / "log", **settings)
    for t in range(60):
        decision = live.ask(**ask())
        live.tell(decision, float(rng.normal()), weight=[1.0, 2.0][t % 2])
    warm = evaluation.bandit(evaluation.read(tmp_path / "log"), policy)
    mine, theirs = warm._agent.model, live._agent.model
    for name, array in theirs.arrays().items():
        if "truth" in name:
            assert np.allclose(mine.arrays()[name], array, rtol=1e-12, atol=1e-12), name
    assert np.allclose(warm.theta, live.theta, rtol=1e-12, atol=1e-12)
    assert warm.exploration()[:-1] == live.exploration()[:-1]
    assert warm.exploration().cost == pytest.approx(live.exploration().cost, abs=1e-12)
    live.log_to(None)
    for _ in range(100):
        asked = ask()
        ours, yours = warm.ask(**asked), live.ask(**asked)
        assert (ours.t, ours.arm, ours.label, ours.explored, ours.reason) == (
            yours.t,
            yours.arm,
            yours.label,
            yours.explored,
            yours.reason,
        )
        assert ours.estimate == pytest.approx(yours.estimate, abs=1e-12)
        reward = float(rng.normal())
        warm.tell(ours, reward)
        live.tell(yours, reward)


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    arm, reward = rng.integers(3, size=500), rng.normal(size=500)
    order = rng.permutation(500)
    looks = rng.normal(size=(3, 2)) / 4
    one = evaluation.bandit(Log(arm=arm, reward=reward, arms=looks), Greedy())
    other = evaluation.bandit(Log(arm=arm[order], reward=reward[order], arms=looks), Greedy())
    assert np.allclose(one.theta, other.theta, rtol=1e-12, atol=1e-13)


def test_rewards_that_never_came_are_left_out_and_a_schedule_may_begin_anew() -> None:
    log = Log(arm=[0, 1, 1, 0], reward=[1.0, np.nan, 0.5, np.nan], arms=np.eye(2), round=[2, 3, 5, 9])
    warm = evaluation.bandit(log, Infex(Uniform(), every(5)))
    assert warm.pulls is not None
    assert (warm.t, warm.pulls.tolist()) == (9, [1, 1])
    assert not warm.pending
    anew = evaluation.bandit(log, Infex(Uniform(), every(5)), fresh=True, penalty=2.0, seed=4)
    assert (anew.t, anew.penalty, anew.seed) == (0, 2.0, 4)
    assert np.allclose(anew.theta, [1 / 3, 0.5 / 3])


def test_what_a_log_does_not_say_has_to_be_given() -> None:
    with pytest.raises(InvalidLog, match="does not say what arms looked like"):
        evaluation.bandit(Log(arm=[0], reward=[1.0]), Greedy())
    bare = Log(arm=[0, 1], reward=[1.0, 2.0], context=np.eye(2))
    warm = evaluation.bandit(bare, Greedy(), features=features.disjoint(2, 2))
    assert np.allclose(warm.theta, [[0.5, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidSetting, match="begin its rounds anew"):
        evaluation.bandit(
            Log(arm=[0], reward=[1.0], arms=np.eye(2)),
            Infex(LinUCB(), infex.guarded(every(2), cost_limit=1.0)),
        )
    strange = Log(arm=[0], reward=[1.0], arms=np.eye(2), facts=LogFacts(estimator="Mine()"))
    with pytest.raises(InvalidLog, match="has to be given"):
        evaluation.bandit(strange, Greedy())
    weighted = Weighted(weight=lambda x: 1.0)
    log = Log(arm=[0, 1], reward=[1.0, 2.0], arms=np.eye(2))
    assert evaluation.bandit(log, Greedy(), estimator=weighted).estimator is weighted
