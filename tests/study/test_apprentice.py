"""A study as an apprentice: somebody else plays, it learns, and says what it would have done."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex.errors import AnotherRequest, InvalidSetting, UnknownArm
from infex.evaluation import evaluate, logged, read
from infex.study.study import Study
from tests.study.studies import POLICY, Clock, replayed, shop

SHOP: dict[str, Any] = {
    "features": infex.features.disjoint(["low", "middle", "high"], context_dim=2),
    "policy": POLICY,
}
DAY = 86_400.0


def visit(study: Study, rng: np.random.Generator, n: int) -> tuple[infex.Decision, Any, float]:
    """One visitor, to whom the old rule shows a price by chance; the decision, context and reward."""
    context, played = rng.random(2) / 1.5, ["low", "middle", "high"][rng.integers(3)]
    decision = study.ask(f"k{n}", context=context, unit=f"u{n % 50}", played=played, durable=False)
    assert decision.label == played
    reward = float(context @ ([0.1, 0.2], [0.7, 0.1], [0.2, 0.9])[decision.arm] + 0.1 * rng.normal())
    study.tell(f"k{n}", reward, durable=False)
    return decision, context, reward


def test_it_learns_from_what_was_played_and_tells_agreement_and_gain_by_day(tmp_path: Path) -> None:
    clock, rng = Clock(), np.random.default_rng(5)
    gram, sums = np.stack([np.eye(2)] * 3), np.zeros((3, 2))  # an independent ridge for each arm
    days: dict[str, list[tuple[bool, float]]] = {}
    with shop(tmp_path, clock=clock, apprentice=True, **SHOP) as study:
        for n in range(240):
            theta = np.linalg.solve(gram, sums[:, :, None])[:, :, 0]
            decision, context, reward = visit(study, rng, n)
            expected = theta @ context
            if n > 5:
                assert decision.greedy == int(expected.argmax())
            assert (decision.reason, decision.t, decision.explored) == ("apprentice", 0, False)
            assert decision.propensity is None
            day = "2023-11-14" if n < 120 else "2023-11-15"
            gain = float(expected.max() - expected[decision.arm])
            days.setdefault(day, []).append((decision.arm == decision.greedy, gain))
            gram[decision.arm] += np.outer(context, context)
            sums[decision.arm] += reward * context
            clock.now += DAY if n == 119 else 0.0
        found = study.metrics()
        assert (found["decisions"], found["rounds"], found["apprentice"]["decisions"]) == (240, 0, 240)
        assert found["exploration"]["done"] == 0
        for day, rows in days.items():
            assert found["days"][day]["agreement"] == np.mean([agreed for agreed, _ in rows])
            assert found["days"][day]["estimated_gain"] == pytest.approx(np.mean([gain for _, gain in rows]))
        theta = np.linalg.solve(gram, sums[:, :, None])[:, :, 0]
        np.testing.assert_allclose(study.bandit().theta.reshape(3, 2), theta, rtol=1e-11)
        assert replayed(study) == study.digest()
        assert study.verify().proven == 240


def test_going_live_is_an_amendment_and_rounds_begin_then(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    with shop(tmp_path, apprentice=True, holdout=0.2, sticky=True, **SHOP) as study:
        before = visit(study, rng, 0)[0]
        for n in range(1, 60):
            visit(study, rng, n)
        with pytest.raises(InvalidSetting, match="played must say"):
            study.ask("live", context=[0.5, 0.5])
        with pytest.raises(InvalidSetting, match="apprentice must be True or False"):
            study.amend(apprentice="no", reason="a slip")
        study.amend(apprentice=False, reason="it agrees often enough")
        with pytest.raises(InvalidSetting, match="decides by itself"):
            study.ask("live", context=[0.5, 0.5], played="low")
        live = [study.ask(f"live {n}", context=[0.5, 0.5], unit=f"v{n}") for n in range(40)]
        policy = [decision for decision in live if decision.reason != "held out"]
        assert [decision.t for decision in policy] == list(range(1, len(policy) + 1))
        assert sum(decision.explored for decision in policy) == len(policy) // 5
        assert len(policy) < 40  # the hold-out begins with the study's own decisions, and so do kept arms
        assert study.lift().decisions + study.lift().held_decisions == 0  # none of them has a reward yet
        assert replayed(study) == study.digest()
    with shop(tmp_path) as study:
        assert study.ask(
            "live again", context=[0.5, 0.5], unit=policy[0].id.replace("live ", "v")
        ).reason == ("sticky")
        assert study.verify().holds
        assert study.explain("k0").decision == before


def test_the_arm_that_was_played_belongs_to_the_request(tmp_path: Path) -> None:
    with shop(tmp_path, apprentice=True, **SHOP) as study:
        first = study.ask("k", context=[1.0, 0.0], played="low")
        assert study.ask("k", context=[1.0, 0.0], played="low") == first
        with pytest.raises(AnotherRequest):
            study.ask("k", context=[1.0, 0.0], played="high")
        with pytest.raises(UnknownArm, match="'free'"):
            study.ask("other", context=[1.0, 0.0], played="free")
        with pytest.raises(UnknownArm, match="'low'"):
            study.ask("other", context=[1.0, 0.0], played="low", offered=["middle", "high"])
        many = study.ask_many(["m", "n"], contexts=[[1.0, 0.0], [0.0, 1.0]], played=["high", "low"])
        assert [decision.label for decision in many] == ["high", "low"]
        assert study.metrics()["decisions"] == 3
    with shop(tmp_path, "live", **SHOP) as study, pytest.raises(InvalidSetting, match="apprentice"):
        study.ask("k", context=[1.0, 0.0], played="low")


def test_who_is_erased_was_never_learnt_from(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    with shop(tmp_path, apprentice=True, **SHOP) as study:
        rows = [visit(study, rng, n) for n in range(120)]
        study.forget("u7")
        rest = infex.Bandit(**SHOP)
        for n, (decision, context, reward) in enumerate(rows):
            if n % 50 != 7:
                rest.learn([context], [decision.label], [reward])
        np.testing.assert_allclose(study.bandit().theta, rest.theta, rtol=1e-12)
        assert replayed(study) == study.digest()


def test_its_log_says_who_played_and_evaluation_leaves_that_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    with shop(tmp_path, apprentice=True, **SHOP) as study:
        rows = [visit(study, rng, n) for n in range(60)]
        study.export(tmp_path / "before.parquet")
        study.amend(apprentice=False, reason="live")
        for n in range(60, 100):
            study.ask(f"k{n}", context=rng.random(2) / 1.5, durable=False)
            study.tell(f"k{n}", 0.5, durable=False)
        study.export(tmp_path / "all.parquet")
    alone, every = read(tmp_path / "before.parquet"), read(tmp_path / "all.parquet")
    assert alone.apprentice is not None
    assert alone.apprentice.all()
    assert alone.reward.tolist() == [reward for _, _, reward in rows]
    assert evaluate(alone, {"now": logged}, estimator="dm")["now"].value is not None
    found = evaluate(every, {"now": logged}, estimator="dm")
    assert "60 decisions as an apprentice are left out" in str(found)
    assert len(found.analysis.log) == 40
