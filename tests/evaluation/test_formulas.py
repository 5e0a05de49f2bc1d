"""Every formula against what other people's libraries say of the same logs (golden/evaluation.json)."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex.arrays import Floats
from infex.errors import InvalidSetting, NoSupport
from infex.evaluation import estimators, intervals, sequences
from tests.evaluation.synthetic_logs import logs, weighted_rounds, without_model

GOLDEN = Path(__file__).parent.parent / "golden" / "evaluation.json"
NEAR, ROOT = 1e-10, 1e-8
CASES = ("soft log, soft target", "soft log, best target", "heavy log")


@functools.cache
def said() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text())
    return found


def case(name: str) -> tuple[np.ndarray, ...]:
    found, kind = logs(), name.split()[0]
    target = "heavy_target" if kind == "heavy" else f"soft_target_{name.split()[2]}"
    return tuple(
        found[key] for key in (f"{kind}_action", f"{kind}_reward", f"{kind}_pscore", target, f"{kind}_fitted")
    )


def estimator_of(name: str) -> tuple[estimators.WeightedEstimator, bool]:
    """The estimator that another library's name stands for, and whether it asks a model."""
    kind, *rest = name.split()
    setting = float(rest[-1]) if rest else math.inf
    made = {
        "ips": estimators.clipped(setting) if rest else estimators.IPS,
        "snips": estimators.SNIPS,
        "dr": estimators.clipped(setting) if rest else estimators.IPS,
        "sndr": estimators.SNIPS,
        "switch-dr": estimators.switch(setting),
        "dr-os": estimators.shrinkage(setting),
        "dm": estimators.shrinkage(0.0),
        "replay": estimators.SNIPS,
    }
    if kind.startswith("sg-"):
        return estimators.subgaussian(setting), kind == "sg-dr"
    return made[kind], kind not in ("ips", "snips", "replay")


def rounds_of(name: str, estimator: str) -> estimators.WeightedRounds:
    action, reward, pscore, target, fitted = case(name)
    rounds = weighted_rounds(action, reward, pscore, target, fitted)
    if estimator == "replay":
        same = (target[np.arange(len(action)), action] == 1.0).astype(float)
        rounds = rounds._replace(weight=same)
    return rounds if estimator_of(estimator)[1] else without_model(rounds)


ESTIMATES = [(name, each) for name in CASES for each in said()["obp 0.5.7"][name] if "tuned" not in each]


@pytest.mark.parametrize(("name", "estimator"), ESTIMATES)
def test_an_estimate_is_what_obp_says(name: str, estimator: str) -> None:
    told = said()["obp 0.5.7"][name][estimator]
    rounds, (chosen, _) = rounds_of(name, estimator), estimator_of(estimator)
    if not rounds.weight.any():  # obp says 0.0 where no round matches
        with pytest.raises(NoSupport, match="never played"):
            chosen.estimate(rounds)
        return
    found, terms = chosen.estimate(rounds), chosen.terms(rounds)
    if told["value"] is not None:  # obp has 0/0 at a setting of 0
        assert found.value == pytest.approx(told["value"], abs=NEAR)
        assert terms.mean() == pytest.approx(told["value"], abs=NEAR)
        rng = np.random.RandomState(7)
        draws = (rng.randint(0, terms.size, terms.size) for _ in range(200))
        boot = np.percentile([terms[places].mean() for places in draws], [2.5, 97.5])
        assert tuple(boot) == pytest.approx(told["bootstrap of 200, RandomState(7)"][1:], abs=NEAR)
    if not chosen.ratio:
        assert found.error == pytest.approx(terms.std() / math.sqrt(terms.size), abs=NEAR)


def test_both_versions_of_obp_agree_with_us() -> None:
    older = said()["obp 0.4.1"]
    for name in CASES:
        for estimator, told in older[name].items():
            rounds = rounds_of(name, estimator)
            if told["value"] is not None and rounds.weight.any():
                found = estimator_of(estimator)[0].estimate(rounds)
                assert found.value == pytest.approx(told["value"], abs=NEAR)


@pytest.mark.parametrize("name", CASES)
def test_the_tuned_setting_is_obps(name: str) -> None:
    action, reward, pscore, target, fitted = case(name)
    rounds = weighted_rounds(action, reward, pscore, target, fitted)
    grid = [estimators.shrinkage(setting) for setting in estimators.SLOPE_SETTINGS]
    told = said()["obp 0.5.7"][name]["dr-os tuned by slope"]
    place = estimators.slope_choice(grid, rounds)
    assert estimators.SLOPE_SETTINGS[place] == told["chosen"]
    assert grid[place].estimate(rounds).value == pytest.approx(told["value"], abs=NEAR)


def test_weights_by_what_arms_have_in_common_are_obps() -> None:
    told = said()["obp 0.5.7"]["mips, soft log, soft target"]
    laws = np.array(told["laws"])
    embed = np.array([[int(c) for c in column] for column in told["embed"]]).T
    seen = (laws[:, embed[:, 0], 0] * laws[:, embed[:, 1], 1]).T
    found, behaviour = logs(), logs()["soft_behaviour"]
    weight = estimators.marginal_weights(found["soft_target_soft"], behaviour, seen)
    assert float((weight * found["soft_reward"]).mean()) == pytest.approx(told["value"], abs=NEAR)
    with pytest.raises(NoSupport, match="1 rounds saw"):
        estimators.marginal_weights(np.eye(2), np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]]))


@pytest.mark.parametrize("name", ["soft", "best"])
def test_points_and_intervals_are_those_of_vowpal_wabbit(name: str) -> None:
    action, reward, pscore, target, _ = case(f"soft log, {name} target")
    rounds = weighted_rounds(action, reward, pscore, target)
    told = said()["vw"][f"soft log, {name} target"]
    assert estimators.IPS.estimate(rounds).value == pytest.approx(told["value"]["ips"], abs=NEAR)
    assert estimators.SNIPS.estimate(rounds).value == pytest.approx(told["value"]["snips"], abs=NEAR)
    keys = [key for key in told["95 % interval"] if key.startswith("cressie-read")]
    for key in keys:
        most = float(key.split()[-1]) if "wmax" in key else math.inf
        found = intervals.cressie_read(intervals.power_sums(rounds.weight, reward, most), 0.95)
        assert found[:2] == pytest.approx(told["95 % interval"][key], abs=NEAR), key
    sequence = sequences.confidence_sequence(rounds.weight, reward, 0.95)
    assert sequence[:2] == pytest.approx(told["95 % interval"]["confidence sequence"], abs=ROOT)
    assert len(keys) == 2


def arm_scores() -> tuple[Floats, Floats]:
    """Scores of every arm in every round of the plain bandit, and the probabilities."""
    probs, action, reward = (logs()[f"mab_{each}"] for each in ("probs", "action", "reward"))
    hit = np.eye(probs.shape[1])[action]
    means = np.cumsum(hit * reward[:, None], axis=0) / np.maximum(np.cumsum(hit, axis=0), 1)
    lagged = np.vstack([np.zeros(probs.shape[1]), means[:-1]])
    return lagged + hit / probs * (reward[:, None] - lagged), probs


def test_adaptive_weights_are_those_of_their_authors() -> None:
    scores, probs = arm_scores()
    told = said()["adaptive"]["Hadad et al. 2021, mab log"]
    plans = {
        "uniform": np.ones_like,
        "stable variance, h = sqrt(e)": np.sqrt,
    }
    for name, plan in plans.items():
        for k in range(probs.shape[1]):
            h = plan(probs[:, k])
            terms = intervals.reweighted(scores[:, k], h / h.mean())
            value, (error, _) = float(terms.mean()), intervals.standard_error(terms)
            assert value == pytest.approx(told[name]["value"][k], abs=NEAR)
            assert error == pytest.approx(told[name]["standard error"][k], abs=NEAR)


def test_a_ratio_has_the_error_of_the_delta_method() -> None:
    action, reward, pscore, target, fitted = case(CASES[0])
    rounds = weighted_rounds(action, reward, pscore, target)
    found = estimators.SNIPS.estimate(rounds)
    half = 1.959963984540054 * found.error
    told = said()["infex"]["soft log, soft target"]
    assert (found.value - half, found.value + half) == pytest.approx(told["snips, delta method"], abs=NEAR)
    assert intervals.effective_size(rounds.weight) == pytest.approx(told["effective sample size"], abs=1e-9)
    both = weighted_rounds(action, reward, pscore, target, fitted)
    w, e = both.weight / both.weight.mean(), both.reward - both.at
    ratio = float((w * e).mean())
    linear = both.direct - both.direct.mean() + w * (e - ratio)
    assert estimators.SNIPS.estimate(both).error == pytest.approx(
        math.sqrt((linear**2).sum()) / len(w), abs=NEAR
    )


def test_the_interval_of_a_ratio_is_as_wide_as_its_spread() -> None:
    """Two arms, rewards 5 +- 0.1: a bootstrap over a fixed mean weight is 34 times too wide."""
    rng, found, halves = np.random.default_rng(5), [], []
    for _ in range(400):
        arm, reward = rng.integers(2, size=500), 5 + 0.1 * rng.normal(size=500)
        rounds = weighted_rounds(arm, reward, np.full(500, 0.5), np.tile([1.0, 0.0], (500, 1)))
        estimate = estimators.SNIPS.estimate(rounds)
        found.append(estimate.value)
        halves.append(estimate.error)
    assert np.mean(halves) == pytest.approx(np.std(found), rel=0.1)


def test_wrong_propensities_give_no_empty_interval() -> None:
    """Vowpal Wabbit's library answers [1, 0] here."""
    reward = np.tile([0.0, 1.0], 50)
    sums = intervals.power_sums(np.full(100, 9.0), reward)
    found = intervals.cressie_read(sums, 0.95)
    assert 0.0 <= found.low <= found.high <= 1.0


def test_a_known_limit_of_weights_narrows_the_interval() -> None:
    rng = np.random.default_rng(1)
    weight = np.where(rng.random(10_000) < 0.1, 8.0, 0.22)
    reward = (rng.random(10_000) < 0.004).astype(float)
    wide, narrow = (
        intervals.cressie_read(intervals.power_sums(weight, reward, most), 0.95).half
        for most in (math.inf, 10.0)
    )
    assert narrow < 0.5 * wide


def test_settings_out_of_range_are_refused() -> None:
    for bad in (
        lambda: estimators.subgaussian(1.5),
        lambda: estimators.clipped(-1.0),
        lambda: estimators.shrinkage(float("nan")),
    ):
        with pytest.raises(InvalidSetting):
            bad()


def test_no_rounds_are_no_support() -> None:
    empty = np.zeros(0)
    with pytest.raises(NoSupport):
        estimators.IPS.estimate(estimators.WeightedRounds(empty, empty, empty, empty))
    assert sequences.lower_bound(empty, 0.05) == 0.0
    assert intervals.effective_size(empty) == 0.0


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize("groups", [None, np.array([0, 1, 1])])
def test_values_that_are_no_numbers_have_no_error(odd: float, groups: Any) -> None:
    """It was 0, which says that all draws agree."""
    with np.errstate(invalid="ignore", over="ignore"):
        error, _ = intervals.standard_error(np.array([odd, 1.0, 2.0]), groups)
    assert not math.isfinite(error)


CHANGES = {
    estimators.IPS: lambda w: w,
    estimators.clipped(1.2): lambda w: min(w, 1.2),
    estimators.switch(1.2): lambda w: w if w <= 1.2 else 0.0,
    estimators.shrinkage(2.0): lambda w: 2.0 * w / (w**2 + 2.0),
    estimators.shrinkage(0.0): lambda w: 0.0,
    estimators.subgaussian(0.3): lambda w: w / (0.7 + 0.3 * w),
    estimators.subgaussian(1.0): lambda w: float(w > 0.0),
    estimators.subgaussian(0.0): lambda w: w,
}


@pytest.mark.parametrize("estimator", CHANGES)
def test_terms_of_each_estimator_and_their_spread(estimator: estimators.WeightedEstimator) -> None:
    rng = np.random.default_rng(7)
    weight = rng.exponential(size=90) * (rng.random(90) < 0.8)
    rounds = estimators.WeightedRounds(weight, *rng.normal(size=(3, 90)))
    terms = [
        d + CHANGES[estimator](w) * (r - q)
        for w, r, d, q in zip(*map(np.ndarray.tolist, rounds[:4]), strict=True)
    ]
    assert estimator.terms(rounds) == pytest.approx(terms, abs=1e-13)
    assert estimator.estimate(rounds) == pytest.approx(
        (np.mean(terms), np.std(terms) / math.sqrt(90)), abs=1e-12
    )


def test_the_spread_of_large_terms_loses_no_digits() -> None:
    rng = np.random.default_rng(8)
    near = estimators.WeightedRounds(rng.exponential(size=300), *rng.normal(size=(3, 300)))
    far = near._replace(direct=near.direct + 1e6)
    for estimator in (estimators.IPS, estimators.SNIPS):
        assert estimator.estimate(far).error == pytest.approx(estimator.estimate(near).error, rel=1e-7)
