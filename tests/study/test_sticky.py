"""Units that keep their arms: for good or for a time, in greedy rounds and exploring ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex.errors import InvalidSetting
from infex.evaluation import evaluate, logged, read
from infex.study.study import Study
from tests.study.studies import ARMS, POLICY, Clock, replayed, shop

LABELS = ["a", "b", "c"]
DAY = 86_400.0


def ridge(rows: list[tuple[Any, float]], dim: int) -> np.ndarray[Any, Any]:
    """The ridge estimate of rows and rewards, from the normal equations."""
    gram, sums = np.eye(dim), np.zeros(dim)
    for x, reward in rows:
        gram += np.outer(x, x)
        sums += reward * np.asarray(x)
    return np.linalg.solve(gram, sums)


def test_a_unit_keeps_its_arm_and_only_first_decisions_are_rounds(tmp_path: Path) -> None:
    rng, first, rows = np.random.default_rng(1), dict[str, Any](), list[tuple[Any, float]]()
    with shop(tmp_path, arms=ARMS, labels=LABELS, sticky=True) as study:
        for n in range(300):
            unit = f"u{rng.integers(60)}"
            decision = study.ask(f"k{n}", unit=unit, durable=False)
            if unit in first:
                assert (decision.label, decision.reason) == (first[unit].label, "sticky")
                assert (decision.propensity, decision.explore_probability) == (1.0, 0.0)
                assert not decision.explored
            else:
                first[unit] = decision
                assert decision.reason != "sticky"
            reward = float(rng.normal())
            study.tell(f"k{n}", reward, durable=False)
            rows.append((ARMS[decision.arm], reward))
        assert sum(decision.explored for decision in first.values()) == len(first) // 5  # every(5)
        figures = study.metrics()
        assert (figures["decisions"], figures["rounds"]) == (300, len(first))
        assert figures["sticky"] == 300 - len(first)
        assert figures["states"]["rewarded"] == 300
        np.testing.assert_allclose(study.bandit().theta, ridge(rows, 2), rtol=1e-12)
        assert replayed(study) == study.digest()
        again = next(n for n in range(300) if study.explain(f"k{n}").decision.reason == "sticky")  # type: ignore[union-attr]
        assert study.explain(f"k{again}").proven
        assert study.verify().holds
        before = study.digest()
    with shop(tmp_path) as study:
        assert study.digest() == before
        assert study.ask("later", unit="u1").reason == "sticky"


def test_an_arm_is_kept_for_a_time_if_that_is_said(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, sticky="2 days") as study:
        first = study.ask("a", unit="u")
        clock.now += 2 * DAY - 1
        kept = study.ask("b", unit="u")
        clock.now += 1
        anew = study.ask("c", unit="u")
        assert [kept.reason == "sticky", anew.reason == "sticky"] == [True, False]
        assert (kept.arm, kept.t, anew.t) == (first.arm, 1, 2)  # kept after one round
        assert replayed(study) == study.digest()
        assert study.verify().proven == 3


@pytest.mark.parametrize("labels", [None, LABELS])
def test_an_arm_that_is_gone_or_not_on_offer_is_not_kept(tmp_path: Path, labels: list[str] | None) -> None:
    names: list[Any] = [0, 1, 2] if labels is None else labels
    with shop(tmp_path, arms=ARMS, labels=labels, sticky=True, policy=infex.Greedy()) as study:
        for n, arm in enumerate(names):  # one unit for each arm
            study.ask(f"first {arm}", unit=f"u{n}", offered=[arm])
        other = study.ask("other", unit="u2", offered=names[:2])
        assert other.arm != 2
        assert study.ask("other again", unit="u2").arm == other.arm
        study.remove_arms([names[0]])
        assert study.ask("gone", unit="u0").reason != "sticky"
        moved = study.ask("moved", unit="u1")
        assert (moved.arm, moved.label, moved.reason) == (0, None if labels is None else "b", "sticky")
        study.tell("moved", 1.0)
        assert replayed(study) == study.digest()
        assert study.verify().holds


@pytest.mark.parametrize(
    "settings", [{}, {"sticky": True}, {"holdout": 1.0}], ids=["plain", "sticky", "held out"]
)
def test_an_option_that_is_misspelt_is_refused_whoever_decides(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with shop(tmp_path, **settings) as study:
        study.ask("first", unit="u")
        with pytest.raises(TypeError, match="no option 'offerd'"):
            study.ask("second", unit="u", offerd=[0])
        assert study.metrics()["decisions"] == 1


def test_who_is_erased_has_no_arm_any_more_and_nobody_else_changes(tmp_path: Path) -> None:
    def filled(study: Study, units: list[str]) -> None:
        for n, unit in enumerate(units):
            study.ask(f"k{n}", unit=unit, durable=False)
            study.tell(f"k{n}", 0.1 * n, durable=False)

    with shop(tmp_path, sticky=True) as study:
        filled(study, ["u", "v", "u", "w", "u", "v"])
        assert study.forget("u") == 6
        assert study.ask("new", unit="u").reason != "sticky"
        assert study.ask("old", unit="v").reason == "sticky"
        assert study.bandit().pulls.sum() == 3  # type: ignore[union-attr]
        assert replayed(study) == study.digest()


def test_a_reward_of_a_kept_arm_can_be_late_corrected_or_never_come(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, sticky=True, wait="1 day", policy=infex.Greedy()) as study:
        for key in "abcd":
            study.ask(key, unit="u")
        study.tell("b", 5.0)
        study.correct("b", 1.0)
        study.extend(1)
        study.tell("c", 2.0)
        clock.now += DAY + 1
        assert str(study.tell("d", 3.0)) == "late"
        assert study.metrics()["states"]["defaulted"] == 1
        np.testing.assert_allclose(
            study.bandit().theta, ridge([([1.0, 0.0, 0.0], 1.0), ([1.0, 0.0, 0.0], 2.0)], 3), rtol=1e-12
        )
        assert replayed(study) == study.digest()
    with shop(tmp_path, clock=clock) as study:
        assert replayed(study) == study.digest()


def test_decisions_with_kept_arms_wait_for_their_rewards_across_a_restart(tmp_path: Path) -> None:
    features = infex.features.disjoint(LABELS, context_dim=2)
    with shop(tmp_path, features=features, sticky=True, policy=infex.Greedy()) as study:
        kept = [study.ask(f"k{n}", context=[0.6, 0.8], unit="u") for n in range(3)]
        before = study.digest()
    with shop(tmp_path) as study:
        assert study.digest() == before
        for n in range(3):
            study.tell(f"k{n}", 1.0 + n)
        expected = np.zeros((3, 2))
        expected[kept[0].arm] = ridge([([0.6, 0.8], 1.0 + n) for n in range(3)], 2)
        np.testing.assert_allclose(study.bandit().theta.reshape(3, 2), expected, rtol=1e-12)
        assert replayed(study) == study.digest()


def test_those_held_out_keep_the_arm_that_was_drawn_for_them(tmp_path: Path) -> None:
    with shop(tmp_path, sticky=True, holdout=1.0) as study:
        arms: dict[str, set[int]] = {}
        for n in range(200):
            decision = study.ask(f"k{n}", unit=f"u{n % 40}", durable=False)
            assert decision.propensity == 1 / 3
            arms.setdefault(f"u{n % 40}", set()).add(decision.arm)
        assert {len(each) for each in arms.values()} == {1}
        assert set.union(*arms.values()) == {0, 1, 2}


def test_evaluation_of_a_sticky_log_rests_on_the_decisions_that_gave_units_their_arms(tmp_path: Path) -> None:
    """Units that like their arm come more often: the mean over first decisions is not that over all."""
    policy = infex.Infex(infex.Softened(infex.LinUCB(), share=1.0), infex.every(1))
    rng, n = np.random.default_rng(3), 0
    with shop(tmp_path, arms=np.eye(2).tolist(), labels=["a", "b"], sticky=True, policy=policy) as study:
        for unit in range(400):
            arm = None
            while arm is None or rng.random() < 0.8 * arm:  # only "b" makes them come back
                arm = study.ask(f"k{n}", unit=f"u{unit}", durable=False).arm
                study.tell(f"k{n}", float(rng.random() < (0.2, 0.6)[arm]), durable=False)
                n += 1
        study.export(tmp_path / "log.parquet")
    log = read(tmp_path / "log.parquet")
    assert log.sticky is not None
    assert (int((~log.sticky).sum()), len(log)) == (400, n)
    targets = {"now": logged, "a": "a", "b": "b"}
    found = evaluate(log, targets, estimator="ips", rewards=(0, 1))
    alone = evaluate(log.take(~log.sticky), targets, estimator="ips", rewards=(0, 1))
    assert [each.value for each in found.values] == [each.value for each in alone.values]
    assert "unit kept its arm" in str(found)
    truth = {"now": 0.4, "a": 0.2, "b": 0.6}
    for name in targets:
        assert found[name].low <= truth[name] <= found[name].high
    assert log.reward.mean() > 0.45  # which the mean over all decisions would say of "now"


def test_a_study_without_units_or_with_strange_times_says_so(tmp_path: Path) -> None:
    for sticky in ("2 fortnights", -1.0, 0.0, "0 days", None):
        with pytest.raises(InvalidSetting, match="sticky"):
            shop(tmp_path, sticky=sticky)
    with shop(tmp_path, sticky=True) as study:
        assert [study.ask(f"k{n}").t for n in range(3)] == [1, 2, 3]  # nobody keeps an arm
    with shop(tmp_path, "changing", dim=2, sticky=True, policy=POLICY) as study:
        with pytest.raises(InvalidSetting, match="labels"):
            study.ask("a", unit="u", arms=ARMS)
        first = study.ask("a", unit="u", arms=ARMS, labels=LABELS)
        again = study.ask("b", unit="u", arms=ARMS[::-1], labels=LABELS[::-1])
        assert (again.label, again.arm) == (first.label, 2 - first.arm)
