"""Findings fire where something is wrong, and stay silent where nothing is."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

from infex import Greedy, evaluation
from infex.errors import InvalidLog, InvalidSetting, NoSupport, OutOfReach
from infex.evaluation import Evaluation, intervals
from infex.logs import Log
from tests.evaluation.played_logs import play, problem
from tests.evaluation.synthetic_logs import as_log, logs, softmax


def kinds(found: Evaluation, name: str | None = None, *, warning: bool = True) -> set[str]:
    some = found.findings if name is None else found[name].findings
    return {each.kind for each in some if each.warns or not warning}


def soft_log(seed: int, n: int = 5000, arms: int = 6, factor: float = 1.0) -> tuple[Log, np.ndarray]:
    """A fixed softmax policy and another one; its logged probabilities are multiplied by `factor`."""
    rng = np.random.default_rng(seed)
    law = softmax(0.6 * rng.normal(size=(n, arms)))
    arm = (law.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    propensity = np.minimum(law[np.arange(n), arm] * factor, 1.0)
    reward = (rng.random(n) < 0.3).astype(float)
    return Log(arm=arm, reward=reward, propensity=propensity, count=arms), softmax(rng.normal(size=(n, arms)))


def test_wrong_probabilities_are_flagged_and_right_ones_are_not() -> None:
    flagged = [0, 0]
    for seed in range(40):
        for place, factor in enumerate((1.0, 1.3)):
            log, target = soft_log(seed, factor=factor)
            found = evaluation.evaluate(log, {"x": target}, estimator="ips")
            flagged[place] += "mean weight" in kinds(found, "x")
    assert flagged[0] == 0
    assert flagged[1] >= 38


def test_support_that_is_not_stored_is_assumed_and_said() -> None:
    log, target = soft_log(1)
    found = evaluation.evaluate(log, {"x": target}, estimator="ips")
    assert "support" in kinds(found, "x", warning=False)
    assert found["x"].support is None


def test_a_season_in_step_with_a_fixed_schedule_is_flagged() -> None:
    asked = problem(seed=2, rounds=600, period=20)
    fixed = play(asked, runs=1, seed=3, jittered=False).log(0)
    found = evaluation.evaluate(fixed, {"x": asked.target}, estimator="dr")
    assert "season" in kinds(found, "x")
    assert found["x"].ground == "assumed"
    still = problem(seed=2, rounds=600, period=20)
    alike = dataclasses.replace(still, offers=np.tile(still.offers[:1], (600, 1, 1)))
    log = play(alike, runs=1, seed=4, jittered=False).log(0)
    assert "season" not in kinds(
        evaluation.evaluate(log, {"x": np.zeros(600, dtype=int)}, estimator="dr"), "x"
    )


def test_missing_rewards_are_counted_and_their_arms_compared() -> None:
    log, target = soft_log(3)
    reward = np.array(log.reward)
    reward[::50] = np.nan
    even = evaluation.evaluate(dataclasses.replace(log, reward=reward), {"x": target}, estimator="ips")
    assert kinds(even) == set()
    assert "100 of 5,000 rewards never came (2.0%)" in str(even)
    reward[(log.arm == 2) & (np.arange(5000) % 3 == 0)] = np.nan
    lean = evaluation.evaluate(dataclasses.replace(log, reward=reward), {"x": target}, estimator="ips")
    assert "missing rewards" in kinds(lean)
    assert "% of 2" in str(lean)


def test_rewards_that_drift_are_flagged() -> None:
    log, target = soft_log(4)
    assert "drift" not in kinds(evaluation.evaluate(log, {"x": target}, estimator="ips"))
    later = dataclasses.replace(log, reward=log.reward + (np.arange(5000) > 2500) * 0.3)
    assert "drift" in kinds(evaluation.evaluate(later, {"x": target}, estimator="ips"))
    days = np.datetime64("2026-01-01") + np.arange(5000) // 25
    monthly = evaluation.evaluate(dataclasses.replace(later, time=days), {"x": target}, estimator="ips")
    assert "months" in str(monthly)


def test_explorations_against_their_law_are_flagged() -> None:
    asked = problem(seed=5, rounds=2000, period=10)
    log = play(asked, runs=1, seed=6).log(0)
    assert kinds(evaluation.evaluate(log, {"x": asked.target}, estimator="dr")) == set()
    assert log.base_propensities is not None
    wrong = np.roll(log.base_propensities, 1, axis=1)
    law = wrong[np.arange(2000), log.arm]
    found = evaluation.evaluate(
        dataclasses.replace(log, base_propensities=wrong, base_propensity=law),
        {"x": asked.target},
        estimator="dr",
    )
    assert "shares" in kinds(found)


def test_a_model_that_does_not_fit_is_flagged_by_its_correction() -> None:
    flagged = []
    for bend in (0.0, 1.5):
        asked = problem(seed=5, rounds=8000, period=20, bend=bend)
        log = play(asked, runs=1, seed=6).log(0)
        found = evaluation.evaluate(log, {"x": asked.target}, estimator="dr")
        flagged.append("correction" in kinds(found, "x"))
    assert flagged == [False, True]


def test_a_long_log_of_a_right_model_is_not_flagged() -> None:
    """Its first rounds are judged by a model of nothing: that is no fault of the model."""
    rng = np.random.default_rng(14)
    arm, reward = rng.integers(10, size=200_000), (rng.random(200_000) < 0.3).astype(float)
    log = Log(arm=arm, reward=reward, propensity=np.full(200_000, 0.1))
    found = evaluation.evaluate(log, {"x": np.full(10, 0.1)}, estimator="dr")
    assert kinds(found, "x") == set()


def test_the_rounds_that_carry_an_estimate_are_named() -> None:
    found = evaluation.evaluate(as_log("jit"), {"mine": logs()["jit_target"]}, estimator="ips")
    carriers = found["mine"].carriers
    assert len(carriers) == 5
    assert carriers[0].weight == max(each.weight for each in carriers)
    row = int(np.flatnonzero(as_log("jit").round == carriers[0].round)[0])
    law = as_log("jit").base_propensity
    assert law is not None
    assert carriers[0].weight == pytest.approx(1.0 / law[row])


def test_one_round_that_carries_it_all_is_flagged_by_the_effective_size() -> None:
    rng = np.random.default_rng(7)
    arm, propensity = np.zeros(1000, dtype=int), np.full(1000, 0.999)
    arm[500], propensity[500] = 1, 0.001
    log = Log(arm=arm, reward=rng.random(1000), propensity=propensity)
    found = evaluation.evaluate(log, {"x": [0.5, 0.5]}, estimator="dr")["x"]
    assert found.effective < 5.0
    assert "few" in {each.kind for each in found.findings}


def test_the_reason_for_no_support_names_rounds_and_arms() -> None:
    log = as_log("jit")
    assert log.base_propensities is not None
    laws = np.array(log.base_propensities)
    target = logs()["jit_target"].argmax(axis=1)
    gone = np.flatnonzero((target == 3) & (log.arm != 3))[:200]
    laws[gone, 3] = 0.0
    laws /= laws.sum(axis=1, keepdims=True)
    lacking = dataclasses.replace(log, base_propensities=laws, base_propensity=laws[np.arange(1200), log.arm])
    share = f"could not play {gone.size / 1200:.1%} of its choices"
    first = ", ".join(str(t) for t in log.round[gone[:3]])
    words = f"{share}; it plays arms with propensity 0 in {gone.size} rounds ({first}, ...), most of all 3."
    with pytest.raises(NoSupport, match=re.escape(words)):
        evaluation.evaluate(lacking, {"mine": target}, estimator="dr")


def test_unknown_laws_are_no_support() -> None:
    log = dataclasses.replace(as_log("jit"), base_propensity=np.full(1200, np.nan), base_propensities=None)
    with pytest.raises(NoSupport, match="in 60 drawn rounds the propensity of the arm is not known"):
        evaluation.evaluate(log, {"mine": logs()["jit_target"]}, estimator="dr")
    found = evaluation.evaluate(log, {"mine": logs()["jit_target"], "now": evaluation.logged})
    assert found["mine"].estimator == "dm"
    assert found["now"].value == pytest.approx(float(log.reward.mean()), abs=1e-12)
    assert "unknown propensities" in kinds(found)


def test_rounds_without_a_chance_are_said_to_be_left_out() -> None:
    chances = np.full(200, 0.5)
    chances[3] = np.nan
    log = Log(arm=np.arange(200) % 2, reward=np.arange(200) % 3, propensity=chances)
    found = evaluation.evaluate(log, {"now": evaluation.logged})
    assert (
        "1 exploring rounds the propensity of the arm is not known: weighted estimators leave them out"
        in str(found)
    )


def test_a_log_without_chances_is_judged_by_the_model() -> None:
    log = as_log("det")
    bare = Log(arm=log.arm, reward=log.reward, offers=log.offers)
    found = evaluation.evaluate(bare, {"mine": logs()["det_target"], "now": evaluation.logged}, against="now")
    assert found["mine"].ground == "assumed"  # its noise is estimated, and its bound not said
    assert found["now"].value == pytest.approx(float(log.reward.mean()), abs=1e-12)
    assert found.compare("mine", "now").estimator == "dm"
    with pytest.raises(NoSupport, match="does not say the propensities of its arms"):
        evaluation.evaluate(bare, {"mine": logs()["det_target"]}, estimator="ips")


def test_rewards_out_of_their_range_are_refused() -> None:
    log, target = soft_log(8)
    with pytest.raises(InvalidLog, match=r"reward must lie from 0 to 0.5; [\d,]+ rows are not"):
        evaluation.evaluate(log, {"x": target}, rewards=(0, 0.5))
    with pytest.raises(InvalidLog, match="rewards must go from"):
        evaluation.evaluate(log, {"x": target}, rewards=(1, 0))
    with pytest.raises(InvalidLog, match="no round of this log has a reward"):
        evaluation.evaluate(dataclasses.replace(log, reward=np.full(5000, np.nan)), {"x": target})


def test_an_interval_never_has_a_width_of_zero() -> None:
    log = Log(arm=[0, 1] * 50, reward=[0.0] * 100, propensity=[0.5] * 100)
    none = evaluation.evaluate(log, {"x": 0}, estimator="ips")["x"]
    assert math.isnan(none.low)
    assert "no interval" in {each.kind for each in none.findings}
    known = evaluation.evaluate(log, {"x": 0}, estimator="ips", rewards=(0, 1))["x"]
    assert known.method == "Cressie-Read"
    assert known.low == 0.0 < known.high
    one = Log(arm=[0], reward=[1.0], propensity=[0.5], count=2)
    assert math.isnan(evaluation.evaluate(one, {"x": 0}, estimator="ips")["x"].low)


def test_few_explorations_get_the_interval_of_cressie_and_read() -> None:
    log, target = soft_log(9, n=60)
    found = evaluation.evaluate(log, {"x": target}, estimator="ips", rewards=(0, 1))["x"]
    assert found.effective < 50
    assert (found.method, found.ground) == ("Cressie-Read", "asymptotic")
    limited = evaluation.evaluate(log, {"x": target}, estimator="ips", rewards=(0, 1), limit=20.0)["x"]
    weight = target[np.arange(60), log.arm] / np.asarray(log.propensity)
    expected = intervals.cressie_read(intervals.power_sums(weight, log.reward, 20.0), 0.95)
    assert (limited.low, limited.high) == (expected.low, expected.high)
    shifted = dataclasses.replace(log, reward=10 * log.reward - 5)
    wide = evaluation.evaluate(shifted, {"x": target}, estimator="ips", rewards=(-5, 5), limit=20.0)["x"]
    assert (wide.low, wide.high) == pytest.approx((10 * expected.low - 5, 10 * expected.high - 5), abs=1e-12)


def test_intervals_at_any_time_are_wider_and_need_the_range() -> None:
    log, target = soft_log(10)
    plain = evaluation.evaluate(log, {"x": target, "now": evaluation.logged}, rewards=(0, 1))
    any_time = evaluation.evaluate(log, {"x": target, "now": evaluation.logged}, rewards=(0, 1), anytime=True)
    for name in ("x", "now"):
        assert any_time[name].ground == "guaranteed"
        assert any_time[name].bounds.half > plain[name].bounds.half
    pair = any_time.compare("x", "now")
    assert pair.ground == "guaranteed"
    assert pair.high - pair.low > plain.compare("x", "now").high - plain.compare("x", "now").low
    with pytest.raises(InvalidSetting, match="need rewards"):
        evaluation.evaluate(log, {"x": target}, anytime=True)


def test_units_that_come_again_are_clusters() -> None:
    log, target = soft_log(11, n=1000)
    twice = dataclasses.replace(log, unit=np.arange(1000) // 2)
    alone = evaluation.evaluate(log, {"x": target}, estimator="ips")["x"]
    pairs = evaluation.evaluate(twice, {"x": target}, estimator="ips")["x"]
    terms = alone.terms - alone.terms.mean()
    expected = math.sqrt(float(((terms[::2] + terms[1::2]) ** 2).sum())) / 1000
    assert pairs.value == alone.value
    assert pairs.error == pytest.approx(expected, abs=1e-12)


def test_rows_that_were_kept_with_a_chance_count_for_those_that_were_not() -> None:
    log, target = soft_log(12, n=1000)
    kept = np.where(np.arange(1000) % 2, 0.25, 1.0)
    found = evaluation.evaluate(dataclasses.replace(log, kept=kept), {"x": target}, estimator="ips")["x"]
    plain = evaluation.evaluate(log, {"x": target}, estimator="ips")["x"]
    expected = (plain.terms / kept).sum() / (1 / kept).sum()
    assert found.value == pytest.approx(float(expected), abs=1e-12)


def test_streams_one_after_the_other_are_the_same_as_mixed() -> None:
    log = as_log("jit")
    order = np.argsort(np.tile(np.arange(600), 2), kind="stable")
    columns = {"stream": np.repeat(["a", "b"], 600), "round": np.tile(np.arange(1, 601), 2)}
    both = dataclasses.replace(log, **columns)
    mixed = both.take(order)
    values = [
        evaluation.evaluate(each, {"mine": target}, estimator="dr")["mine"].value
        for each, target in ((both, logs()["jit_target"]), (mixed, logs()["jit_target"][order]))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


@pytest.mark.parametrize("given", ["arms", "probabilities"])
def test_rows_of_a_target_belong_to_the_rows_of_a_log_of_mixed_streams(given: str) -> None:
    rng = np.random.default_rng(14)
    best, arm, stream = rng.integers(2, size=(3, 300))
    log = Log(
        arm=arm, reward=(arm == best) * 1.0, propensity=np.full(300, 0.5), stream=stream,
        base_propensities=np.full((300, 2), 0.5),
    )  # fmt: skip
    target = best if given == "arms" else np.eye(2)[best]
    assert evaluation.evaluate(log, {"best": target}, estimator="snips")["best"].value == 1.0
    same = np.where(np.arange(2) == arm[:, None], 1.0, 0.0)  # what was seen tells the arm
    found = evaluation.evaluate(log, {"x": target}, estimator="mips", embedding_probabilities=same)["x"]
    assert found.value == pytest.approx(2.0 * float((arm == best).mean()), abs=1e-12)


def test_what_would_settle_it_needs_an_interval_and_a_goal() -> None:
    log, target = soft_log(13)
    found = evaluation.evaluate(log, {"x": target, "y": target, "z": [1 / 6] * 6}, estimator="dr")
    with pytest.raises(OutOfReach, match="no interval"):
        found.needed("x", "y")
    more = found.needed("x", "z", half=1e-3)
    assert more.explorations == more.rounds > 0
    assert found.needed("x", "z", half=1.0).explorations == 0


def test_the_words_tell_the_verdict() -> None:
    log = as_log("jit")
    found = evaluation.evaluate(log, {"mine": logs()["jit_target"], "now": evaluation.logged}, against="now")
    words = str(found)
    assert "1,200 rounds, 5 arms, one drawn round of each block explores, 60 explorations" in words
    assert "mine is worse than now: -0.1334 [-0.1991, -0.06767], dm, guaranteed" in words
    assert [row["target"] for row in found.table()] == ["mine", "now"]
    assert len(found) == 2
    assert '"verdict": "worse"' in found.to_json()


def test_what_the_log_could_not_play_may_count_as_anything() -> None:
    """Arm 2 has no chance in a fifth of rounds: the interval reaches over all it might have earned."""
    rng = np.random.default_rng(15)
    laws = np.full((4000, 3), 1 / 3)
    laws[::5] = [0.5, 0.5, 0.0]
    arm = (laws.cumsum(axis=1) > rng.random(4000)[:, None]).argmax(axis=1)
    reward = (rng.random(4000) < np.array([0.2, 0.5, 0.8])[arm]).astype(float)
    log = Log(arm=arm, reward=reward, propensity=laws[np.arange(4000), arm], base_propensities=laws)
    with pytest.raises(NoSupport, match=r"20\.0% of its choices"):
        evaluation.evaluate(log, {"x": 2}, estimator="ips", rewards=(0, 1))
    found = evaluation.evaluate(log, {"x": 2, "now": evaluation.logged}, rewards=(0, 1), bound_missing=True)
    part = float((reward * (arm == 2) * 3).mean())
    assert found["x"].value == pytest.approx(part + 0.1)
    error = (reward * (arm == 2) * 3).std() / math.sqrt(4000)
    assert found["x"].low == pytest.approx(part - 1.96 * error, abs=1e-3)
    assert found["x"].high == pytest.approx(part + 0.2 + 1.96 * error, abs=1e-3)
    assert found["x"].low <= 0.8 <= found["x"].high
    assert found.compare("x", "now").estimator == "manski"
    for wrong in ({"rewards": None}, {"estimator": "dr"}, {"anytime": True}):
        with pytest.raises(InvalidSetting, match="bound_missing"):
            evaluation.evaluate(log, {"x": 2}, **{"rewards": (0, 1), "bound_missing": True, **wrong})


def intercept_log(rounds: int, constant: bool) -> Log:
    """Rewards of 0 or 1 around a half: linear in the features only if one of these is always 1."""
    rng = np.random.default_rng(3)
    arms = np.array([[0.5, 0.0], [0.0, 0.5], [-0.5, 0.2]])
    means = 0.5 + arms @ [0.5, -0.3]
    arm = rng.integers(3, size=rounds)
    reward = (rng.random(rounds) < means[arm]).astype(float)
    rows = np.column_stack([arms, np.full(3, 0.5)]) if constant else arms
    return Log(arm=arm, reward=reward, propensity=np.full(rounds, 1 / 3), arms=rows)


@pytest.mark.filterwarnings("ignore::infex.errors.LargeReward")
def test_a_model_that_explorations_speak_against_is_said_to_be_off() -> None:
    found = evaluation.evaluate(intercept_log(4000, False), {"greedy": Greedy(), "x": 2}, estimator="dm")
    assert any(each.kind == "correction" and each.warns for each in found["x"].findings)
    right = evaluation.evaluate(intercept_log(4000, True), {"greedy": Greedy(), "x": 2}, estimator="dm")
    assert not any(each.warns for name in right for each in right[name].findings)


@pytest.mark.filterwarnings("ignore::infex.errors.LargeReward")
def test_a_value_that_no_reward_can_be_is_not_cut_to_look_sure() -> None:
    """The third arm is far from the others: without a constant feature the model says less than 0 of it."""
    log = intercept_log(4000, False)
    found = evaluation.evaluate(log, {"x": 2}, estimator="dm", rewards=(0, 1))["x"]
    assert found.value < 0.0
    assert found.low < found.value < found.high
    assert "rewards are from 0 to 1: it is off" in found.findings[1].words


@pytest.mark.filterwarnings("ignore::infex.errors.LargeReward")
def test_there_is_no_verdict_by_a_model_that_is_off() -> None:
    targets = {"x": 2, "now": evaluation.logged}
    found = evaluation.evaluate(intercept_log(4000, False), targets, estimator="dm", rewards=(0, 1))
    pair = found.compare("x", "now")
    assert (pair.verdict, pair.estimator) == ("cannot tell", "dm, refuted")
    assert "explorations contradict the linear model" in str(pair)
    assert pair.high < 0.0
    with pytest.raises(OutOfReach, match="contradict the model"):
        found.needed("x", "now")
    right = evaluation.evaluate(intercept_log(4000, True), targets, estimator="dm", rewards=(0, 1))
    assert right.compare("x", "now").verdict == "worse"
