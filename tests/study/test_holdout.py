"""Units that are held out: for good, by a fixed policy, and what the study gains over them."""

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import features
from infex.errors import InvalidSetting, RewardOutOfRange
from infex.study.study import Study
from tests.study.studies import ARMS, POLICY, Clock, replayed, shop

BETTER = {"arms": ARMS, "labels": ["a", "b", "c"]}


def fill(study: Study, count: int, start: int = 0) -> dict[str, Any]:
    """So many decisions for 60 units, told all but every seventh."""
    found = {}
    for n in range(start, start + count):
        found[f"k{n}"] = decision = study.ask(f"k{n}", unit=f"u{n % 60}", durable=False)
        if n % 7:
            study.tell(f"k{n}", 0.1 * decision.arm + 0.01 * (n % 5), durable=False)
    return found


def test_a_share_of_units_is_held_out_for_good(tmp_path: Path) -> None:
    with shop(tmp_path, holdout=0.3, **BETTER) as study:
        decisions = fill(study, 600)
        held = {n for n in range(600) if decisions[f"k{n}"].reason == "held out"}
        units = {n % 60 for n in held}
        assert held == {n for n in range(600) if n % 60 in units}
        assert 8 <= len(units) <= 30
        assert study.metrics()["held_out"]["decisions"] == len(held)
        assert study.metrics()["decisions"] == sum(study.metrics()["states"].values()) == 600
        assert study.metrics()["rounds"] == 600 - len(held)  # they are no rounds
        assert study.metrics()["exploration"]["done"] == (600 - len(held)) // 5
        arms = [decisions[f"k{n}"].arm for n in held]
        assert {decisions[f"k{n}"].propensity for n in held} == {1 / 3}
        assert min(arms.count(arm) for arm in range(3)) > len(arms) / 5
        assert replayed(study) == study.digest()
        assert study.ask("k3", unit="u3") == decisions["k3"]
        before = study.digest()
    with shop(tmp_path) as study:
        assert study.digest() == before
        more = fill(study, 60, 600)
        assert {n % 60 for n in range(600, 660) if more[f"k{n}"].reason == "held out"} == units
        explained = study.explain(f"k{min(held)}")
        assert explained.decision is not None
        assert explained.decision.reason == "held out"


def test_nothing_is_learnt_from_them(tmp_path: Path) -> None:
    with shop(tmp_path, holdout=1.0, **BETTER) as study:
        fill(study, 50)
        assert study.bandit().t == 0
        assert study.bandit().digest() == infex.Bandit(policy=POLICY, seed=7, **BETTER).digest()
        assert study.correct("k1", 0.5) == "corrected"
        assert replayed(study) == study.digest()


@pytest.mark.parametrize("way", ["b", "greedy"])
def test_the_fixed_policy_may_be_one_arm_or_that_of_a_frozen_state(tmp_path: Path, way: str) -> None:
    policy: Any = {"arm": "b"} if way == "b" else "greedy"
    clock = Clock()
    with shop(tmp_path, clock=clock, holdout=0.4, holdout_policy=policy, **BETTER) as study:
        first = [d for d in fill(study, 100).values() if d.reason == "held out"]
        assert {d.label for d in first} == {"b" if way == "b" else "a"}
        study.amend(freeze=True, reason="from today")
        best = study.bandit().estimates().estimate.argmax()
        then = [d for d in fill(study, 100, 100).values() if d.reason == "held out"]
        assert {d.arm for d in then} == {1 if way == "b" else int(best)}
        study.remove_arms(["c"])
        assert replayed(study) == study.digest()
        fill(study, 20, 200)
    with shop(tmp_path, clock=clock) as study:
        after = [d for d in fill(study, 60, 300).values() if d.reason == "held out"]
        assert len({d.label for d in after}) == 1
        assert replayed(study) == study.digest()


def test_lift_is_the_difference_of_means_with_units_as_draws(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 day", holdout=0.3, **BETTER) as study:
        decisions = fill(study, 400)
        study.correct("k1", 0.9)
        clock.now += 86_401
        found = study.lift()
        sides: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
        for n in range(400):
            if n % 7:
                reward = 0.9 if n == 1 else 0.1 * decisions[f"k{n}"].arm + 0.01 * (n % 5)
                held = decisions[f"k{n}"].reason == "held out"
                sides[held].setdefault(f"u{n % 60}", []).append(reward)
    means, variances = {}, {}
    for held, units in sides.items():
        rewards = [each for unit in units.values() for each in unit]
        means[held] = statistics.fmean(rewards)
        residuals = np.array([sum(unit) - len(unit) * means[held] for unit in units.values()])
        variances[held] = (residuals**2).sum() / len(rewards) ** 2 * len(units) / (len(units) - 1)
    assert found.difference == pytest.approx(means[False] - means[True], abs=1e-12)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.959963984540054 * np.sqrt(sum(variances.values())))
    assert (found.units, found.held_units) == (len(sides[False]), len(sides[True]))


def test_lift_without_anybody_held_out_says_so(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        assert study.lift().difference is None
        fill(study, 20)
        assert study.lift().held_decisions == 0
        with pytest.raises(InvalidSetting):
            study.lift(2.0)


@pytest.mark.parametrize("way", ["uniform", "greedy", {"arm": "b"}])
def test_what_is_not_on_offer_is_not_given_to_those_held_out(tmp_path: Path, way: Any) -> None:
    with shop(tmp_path, holdout=1.0, holdout_policy=way, **BETTER) as study:
        found = {study.ask(f"k{n}", offered=["b", "c"]).label for n in range(30)}
        assert found == ({"b", "c"} if way == "uniform" else {"b"})


def test_contexts_of_those_held_out(tmp_path: Path) -> None:
    shops = features.disjoint(["tea", "juice"], context_dim=2)
    with shop(tmp_path, features=shops, holdout=0.5, holdout_policy="greedy") as study:
        for n in range(20):
            study.ask(f"k{n}", context=[0.1 * (n % 5), 0.2])
        study.forget("nobody")
        assert replayed(study) == study.digest()


@pytest.mark.parametrize(
    "wrong",
    [{"holdout": 1.5}, {"holdout": -0.1}, {"holdout_policy": "best"}, {"holdout_policy": {"arm": 0.5}}],
)
def test_settings_of_a_holdout_are_checked(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        shop(tmp_path, **wrong)


@pytest.mark.parametrize("way", ["uniform", "greedy", {"arm": "c"}], ids=["uniform", "greedy", "arm"])
def test_the_decision_of_somebody_held_out_has_the_greedy_arm_and_the_estimate_of_the_model(
    tmp_path: Path, way: Any
) -> None:
    with shop(tmp_path, holdout=0.5, holdout_policy=way, **BETTER) as study:
        fill(study, 200)
        for n in range(200, 240):
            offers = study.estimates()
            offered = ["b", "c"] if n % 2 else ["a", "b", "c"]
            decision = study.ask(f"k{n}", unit=f"u{n}", offered=offered)
            played = offers[decision.arm]
            best = max(("abc".index(label) for label in offered), key=lambda arm: offers.estimate[arm])
            assert decision.greedy == best
            assert decision.estimate == pytest.approx(played.estimate, rel=1e-12)
            assert (decision.low, decision.high) == pytest.approx((played.low, played.high), rel=1e-12)
        held = {f"k{n}" for n in range(240) if study.ask(f"k{n}", **asked(n)).reason == "held out"}
        decisions = {key: study.explain(key, prove=False).decision for key in held}
        why = study.explain(max(held))
        assert why.proven is True
        assert [offer.label for offer in why.offers] == ["a", "b", "c"]
        study.flush()
        assert study.verify().proven == 240
    with shop(tmp_path) as study:  # from a snapshot
        assert {key: study.ask(key, **asked(int(key[1:]))) for key in held} == decisions
        assert replayed(study) == study.digest()


def test_those_held_out_keep_their_arm_where_arms_before_it_go(tmp_path: Path) -> None:
    with shop(tmp_path, holdout=1.0, holdout_policy={"arm": 1}) as study:
        before = ARMS[study.ask("before").arm]
        study.remove_arms([0])
        assert ARMS[1 + study.ask("after").arm] == before
        assert study.ask("after").arm == 0
        assert study.verify().holds
        assert replayed(study) == study.digest()
    with shop(tmp_path) as study:
        assert study.ask("later").arm == 0
        with pytest.raises(InvalidSetting, match="must leave the arm 0"):
            study.remove_arms([0])
        assert replayed(study) == study.digest()


def test_the_arm_of_those_held_out_is_one_of_the_study_and_stays(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="holdout_policy must be an arm of the study, got 'beer'"):
        shop(tmp_path, holdout=0.5, holdout_policy={"arm": "beer"}, **BETTER)
    assert infex.studies(f"sqlite:///{tmp_path}/shop.db") == []
    with shop(tmp_path, holdout=0.5, holdout_policy={"arm": "b"}, **BETTER) as study:
        before = study.digest()
        with pytest.raises(InvalidSetting, match="must leave the arm 'b'"):
            study.remove_arms(["a", "b"])
        assert study.digest() == before
        study.remove_arms(["a"])


def test_rewards_of_those_held_out_have_the_range_of_all_rewards(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, holdout=1.0, rewards=(0, 1), wait="1 day", again="sum") as study:
        for key in "abc":
            study.ask(key)
        with pytest.raises(RewardOutOfRange):
            study.tell("a", 1e6)
        study.tell("a", 0.6)
        with pytest.raises(RewardOutOfRange):
            study.tell("a", 0.6, part="more")  # 1.2 in all
        with pytest.raises(RewardOutOfRange):
            study.correct("a", -3.0)
        clock.now += 86_401
        study.ask("d")
        with pytest.raises(RewardOutOfRange):
            study.tell("b", 7.0)  # too late as well
        assert study.metrics()["held_out"]["mean_reward"] == 0.6


def test_who_is_held_out_and_erased_is_still_counted(tmp_path: Path) -> None:
    with shop(tmp_path, holdout=0.3, sticky=True, **BETTER) as study:
        fill(study, 200)
        for unit in range(20):
            study.forget(f"u{unit}")
        figures = study.metrics()
        assert figures["decisions"] == sum(figures["states"].values()) == 200
        assert figures["states"]["erased"] == sum(n % 60 < 20 for n in range(200))
        assert replayed(study) == study.digest()


def asked(n: int) -> dict[str, Any]:
    """What was asked under a key in the test above."""
    if n < 200:
        return {"unit": f"u{n % 60}"}
    return {"unit": f"u{n}", "offered": ["b", "c"] if n % 2 else ["a", "b", "c"]}
