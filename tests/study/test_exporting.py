"""A log that a study exports is one that infex reads."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex.errors import NoSupport
from infex.evaluation import Log, evaluate, evaluate_parts, logged, read, write
from tests.study.studies import ARMS, POLICY, shop


@pytest.mark.parametrize("chooses", [False, True], ids=["all on offer", "some on offer"])
def test_an_export_is_read_as_a_log(tmp_path: Path, chooses: bool) -> None:
    with shop(tmp_path, policy=infex.Infex(infex.LinTS(), infex.every(3)), rewards=(0.0, 1.0)) as study:
        words = [{"offered": [0, 2]} if chooses and n % 4 == 0 else {} for n in range(40)]
        decisions = [study.ask(f"k{n}", unit=f"u{n % 5}", **each) for n, each in enumerate(words)]
        study.tell_many([f"k{n}" for n in range(30)], [n % 2 for n in range(30)])
        study.flush()
        assert study.export(tmp_path / "log.parquet").rows == 40
    log = read(tmp_path / "log.parquet")
    assert log.arm.tolist() == [each.arm for each in decisions]
    assert log.explored is not None
    assert log.explored.tolist() == [each.explored for each in decisions]
    if chooses:
        assert log.offered is not None
        assert log.offered.tolist() == [[True, not each, True] for each in words]
    else:
        assert log.offered is None
    assert len(ARMS) == log.count


def test_a_study_that_learns_from_an_export_knows_what_the_first_one_did(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    with shop(tmp_path) as study:
        for n in range(40):
            study.ask(f"k{n}", durable=False)
            study.tell(f"k{n}", float(rng.normal()), weight=float(rng.uniform(0.5, 3.0)), durable=False)
        study.ask("pending")
        study.export(tmp_path / "log.parquet")
        theta = study.bandit().theta
    with shop(tmp_path, "next", learn_from=tmp_path / "log.parquet") as study:
        np.testing.assert_allclose(study.bandit().theta, theta, rtol=1e-12)


def exported(folder: Path, **settings: Any) -> tuple[Log, dict[str, Any], dict[str, float]]:
    """What a study with half of its units held out exports, its decisions and rewards by key."""
    settings = {"policy": infex.Infex(infex.LinUCB(), infex.jittered(5, seed=1)), **settings}
    decisions, rewards = {}, {}
    rng = np.random.default_rng(3)
    with shop(folder, holdout=0.5, rewards=(0.0, 1.0), **settings) as study:
        for n in range(600):
            key = f"k{n}"
            decisions[key] = decision = study.ask(key, unit=f"u{n}", durable=False)
            if n % 10:
                rewards[key] = float(rng.random() < (0.2, 0.5, 0.8)[decision.arm])
                study.tell(key, rewards[key], durable=False)
        if "holdout_policy" not in settings:
            study.forget("u7")
            decisions.pop("k7"), rewards.pop("k7")
        count = study.metrics()
        study.flush()
        written = study.export(folder / "log.parquet")
        assert written.rows == count["decisions"] - count["states"]["erased"]
        assert written.held_out == count["held_out"]["decisions"]
    return read(folder / "log.parquet"), decisions, rewards


@pytest.mark.parametrize("way", ["uniform", {"arm": 1}], ids=["uniform", "arm"])
def test_an_export_has_the_decisions_of_those_held_out_and_says_so(tmp_path: Path, way: Any) -> None:
    given = {} if way == "uniform" else {"holdout_policy": way}
    log, decisions, rewards = exported(tmp_path, **given)
    assert sorted(log.others["id"]) == sorted(decisions)
    assert log.held_out is not None
    assert log.propensity is not None
    assert log.greedy is not None
    rows = zip(
        log.others["id"].tolist(), log.held_out, log.arm, log.greedy, log.propensity, log.reward, strict=True
    )
    for key, held, arm, greedy, propensity, reward in rows:
        decision = decisions[key]
        assert held == (decision.reason == "held out")
        assert (arm, greedy, propensity) == (decision.arm, decision.greedy, decision.propensity)
        assert np.array_equal(reward, rewards.get(key, np.nan), equal_nan=True)
    assert "held out" in str(log)
    write(log, tmp_path / "again.parquet")
    assert read(tmp_path / "again.parquet").held_out.tolist() == log.held_out.tolist()  # type: ignore[union-attr]


def test_evaluation_judges_the_policy_by_its_own_rounds_and_others_by_those_held_out(tmp_path: Path) -> None:
    log, decisions, rewards = exported(tmp_path)
    own = [key for key in rewards if decisions[key].reason != "held out"]
    held = [key for key in rewards if decisions[key].reason == "held out"]
    assert log.held_out is not None
    found = evaluate(log, {"now": logged, "b": 1}, estimator="dm")
    same = evaluate(log.take(~log.held_out), {"now": logged, "b": 1}, estimator="dm")
    assert (found["now"].value, found["b"].value) == (same["now"].value, same["b"].value)
    assert f"{log.held_out.sum()} decisions for those held out are left out" in str(found)
    alone = evaluate(log.take(log.held_out), {"now": logged, "b": 1}, estimator="ips")
    assert alone["now"].value == pytest.approx(np.mean([rewards[key] for key in held]))
    weighted = [3.0 * rewards[key] * (decisions[key].arm == 1) for key in held]  # each arm had 1 in 3
    assert alone["b"].value == pytest.approx(np.mean(weighted))
    begins = [row for row in range(len(log)) if not log.held_out[row] and log.round[row] % 5 == 1]  # a block
    middle = begins[len(begins) // 2]
    parts = evaluate_parts([log.take(slice(0, middle)), log.take(slice(middle, None))], {"b": 1})
    assert parts["b"].dm == pytest.approx(same["b"].value)
    warm = infex.evaluation.bandit(log, POLICY)
    assert (warm.t, int(warm.pulls.sum())) == (log.round[~log.held_out].max(), len(own))  # type: ignore[union-attr]


def test_one_arm_that_those_held_out_got_for_sure_says_nothing_of_others(tmp_path: Path) -> None:
    log, decisions, rewards = exported(tmp_path, holdout_policy={"arm": 1})
    alone = log.take(log.held_out)
    assert set(alone.propensity.tolist()) == {1.0}  # type: ignore[union-attr]
    held = [reward for key, reward in rewards.items() if decisions[key].reason == "held out"]
    assert evaluate(alone, {"b": 1}, estimator="ips")["b"].value == pytest.approx(np.mean(held))
    with pytest.raises(NoSupport):
        evaluate(alone, {"c": 2}, estimator="ips")


def test_arms_that_come_and_go_have_one_place_for_all_also_for_those_held_out(tmp_path: Path) -> None:
    with shop(tmp_path, labels=["a", "b", "c"], holdout=0.5) as study:
        decisions = {f"k{n}": study.ask(f"k{n}") for n in range(20)}
        study.remove_arms("a")
        study.add_arms([[0.8, 0.6]], ["d"])
        decisions |= {f"m{n}": study.ask(f"m{n}") for n in range(20)}
        study.flush()
        assert study.export(tmp_path / "log.parquet").rows == 40
    log = read(tmp_path / "log.parquet")
    assert log.held_out is not None
    assert 0 < log.held_out.sum() < 40
    for key, arm in zip(log.others["id"].tolist(), log.arm.tolist(), strict=True):
        assert log.label(arm) == decisions[key].label


@pytest.mark.parametrize("later", [infex.jittered(8), infex.every(20)], ids=repr)
def test_an_export_after_the_schedule_changed_tells_which_one_was_in_force(
    tmp_path: Path, later: infex.Schedule
) -> None:
    base = infex.policies.Softened(infex.LinUCB(scale=0.2), share=0.6)
    rng = np.random.default_rng(7)
    with shop(tmp_path, policy=infex.Infex(base, infex.jittered(10)), rewards=(0.0, 1.0)) as study:
        for n in range(600):
            if n == 120:
                study.amend(policy=infex.Infex(base, later), reason="it explores too little")
            decision = study.ask(f"k{n}", durable=False)
            study.tell(f"k{n}", float(rng.random() < (0.2, 0.5, 0.4)[decision.arm]), durable=False)
        study.export(tmp_path / "log.parquet")
    log = read(tmp_path / "log.parquet")
    assert log.facts.schedule is None
    assert log.facts.period is None
    assert log.explored is not None
    found = evaluate(log, {"now": logged})["now"]
    assert found.value == pytest.approx(log.reward.mean(), abs=1e-12)
    assert found.explorations == log.explored.sum()


def test_decisions_without_a_unit_are_evaluated_as_units_of_their_own(tmp_path: Path) -> None:
    with shop(
        tmp_path, policy=infex.Infex(infex.policies.Uniform(), infex.jittered(2)), rewards=(0.0, 1.0)
    ) as study:
        for n in range(60):
            study.ask(f"k{n}", unit=f"u{n % 4}" if n >= 30 else None, durable=False)
            study.tell(f"k{n}", n % 3 / 2, durable=False)
        study.export(tmp_path / "log.parquet")
    log = read(tmp_path / "log.parquet")
    named = np.array([f"u{n % 4}" if n >= 30 else f"alone {n}" for n in range(60)])
    for rows in (slice(0, 30), slice(0, 60)):
        some = log.take(rows)
        found, expected = (evaluate(each, {"now": logged, "first": 0}, estimator="ips") for each in (
            some, dataclasses.replace(some, unit=named[rows])
        ))  # fmt: skip
        in_parts, whole = (
            evaluate_parts([each.take(slice(0, 20)), each.take(slice(20, None))], {"now": logged})
            for each in (some, dataclasses.replace(some, unit=named[rows]))
        )
        assert in_parts["now"] == whole["now"]
        for name in found:
            assert found[name].bounds == expected[name].bounds


@pytest.mark.parametrize(
    "features", [None, infex.features.disjoint(["a", "b", "c"], 2)], ids=["fixed", "map"]
)
def test_a_label_means_the_arm_that_had_it_in_each_round(tmp_path: Path, features: Any) -> None:
    """An arm that was removed and added again under its label is evaluated by this label."""
    policy = infex.Infex(infex.policies.Uniform(), infex.jittered(3))
    settings = {"features": features} if features else {"arms": np.eye(3), "labels": ["a", "b", "c"]}
    more: dict[str, Any] = {"context": [0.5, 0.5]} if features else {}
    rng = np.random.default_rng(3)
    with shop(tmp_path, policy=policy, holdout=0.5, holdout_policy="uniform", **settings) as study:
        for n in range(300):
            if n == 150:
                study.remove_arms(["b"], reason="its price changes")
                again = ["b"] if features else [[0.0, 0.5, 0.0]]
                study.add_arms(again, **({} if features else {"labels": ["b"]}), reason="it has")
            study.ask(f"k{n}", unit=f"u{n}", durable=False, **more)
            study.tell(f"k{n}", float(rng.random()), durable=False)
        study.export(tmp_path / "log.parquet")
    log = read(tmp_path / "log.parquet")
    assert log.held_out is not None
    held = log.take(log.held_out)
    called = held.others["label"] == "b"
    found = evaluate(held, {"b": "b"}, estimator="snips")["b"]
    assert held.count == 4
    assert found.value == pytest.approx(held.reward[called].mean(), rel=1e-12)
