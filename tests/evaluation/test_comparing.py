"""Paired differences: intervals that hold with few draws, and never leave what rewards allow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from infex import evaluation
from infex.arrays import Floats, Integers
from infex.evaluation import Comparison
from infex.logs import Log
from tests.evaluation.played_logs import play, problem

RARE, CLICKS, SHARES, NOISY = "rare clicks", "clicks", "shares", "noisy"


def small_log(
    rng: np.random.Generator, draws: int, arms: int, agree: float, kind: str
) -> tuple[Log, Integers, Integers, float]:
    """A log that draws in every round; a good and a bad target that agree now and then; their difference."""
    means = rng.random((draws, arms)) * (0.1 if kind == RARE else 1.0)
    law = rng.dirichlet(np.ones(arms), size=draws) * 0.7 + 0.3 / arms
    arm = (law.cumsum(axis=1) > rng.random(draws)[:, None]).argmax(axis=1)
    rows = np.arange(draws)
    mean = means[rows, arm]
    made = {RARE: rng.random(draws) < mean, CLICKS: rng.random(draws) < mean}
    made |= {SHARES: rng.beta(2 * mean + 1e-3, 2 * (1 - mean) + 1e-3)}
    made |= {NOISY: mean + 0.5 * rng.normal(size=draws)}
    good = means.argmax(axis=1)
    bad = np.where(rng.random(draws) < agree, good, means.argmin(axis=1))
    log = Log(arm=arm, reward=made[kind].astype(float), propensity=law[rows, arm], base_propensities=law)
    return log, good, bad, float((means[rows, good] - means[rows, bad]).mean())


def held(estimator: str, draws: int, kind: str, agree: float, logs: int, seed: int) -> float:
    """How often the interval of a difference holds; one that says nothing counts as holding."""
    rng, inside = np.random.default_rng(seed), 0
    rewards = None if kind == NOISY else (0.0, 1.0)
    for _ in range(logs):
        log, good, bad, truth = small_log(rng, draws, 5, agree, kind)
        pair = evaluation.evaluate(log, {"good": good, "bad": bad}, estimator=estimator, rewards=rewards)
        found = pair.compare("good", "bad")
        inside += math.isnan(found.low) or found.low <= truth <= found.high
        assert rewards is None or math.isnan(found.low) or -1.0 <= found.low < found.high <= 1.0
    return inside / logs


@pytest.mark.parametrize(("draws", "kind"), [(20, SHARES), (50, SHARES), (50, NOISY), (50, RARE)])
@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_differences_hold_with_few_draws(estimator: str, draws: int, kind: str) -> None:
    assert held(estimator, draws, kind, agree=0.9, logs=100, seed=draws) >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("draws", [10, 20, 50, 200])
@pytest.mark.parametrize("kind", [RARE, CLICKS, SHARES, NOISY])
@pytest.mark.parametrize("agree", [0.0, 0.5, 0.9])
def test_differences_hold_on_four_hundred_small_logs(draws: int, kind: str, agree: float) -> None:
    for estimator in ("ips", "dr"):
        assert held(estimator, draws, kind, agree, logs=400, seed=1000 + draws) >= 0.93, estimator


def pairs_of_played(runs: int, seed: int, *, against_logged: bool) -> float:
    """How often pairs hold on logs of a bandit that learns, with twenty explorations."""
    asked = problem(seed=seed, rounds=200, period=10, bend=0.5)
    played = play(asked, runs=runs, seed=seed + 1)
    other, rows, inside = (asked.target + 1) % 4, np.arange(200), 0
    targets = {"mine": asked.target, "other": evaluation.logged if against_logged else other}
    for run in range(runs):
        log = played.log(run)
        found = evaluation.evaluate(log, targets, estimator="dr").compare("mine", "other")
        second = log.arm if against_logged else other
        truth = asked.truth - float(asked.means[rows, second].mean())
        inside += found.low <= truth <= found.high
    return inside / runs


@pytest.mark.parametrize("against_logged", [False, True])
def test_differences_hold_with_twenty_explorations_of_a_bandit_that_learns(against_logged: bool) -> None:
    assert pairs_of_played(120, seed=303, against_logged=against_logged) >= 0.92


def by_hand(gains: Floats, unseen: float, confidence: float) -> tuple[float, float]:
    """Mean -+ t s/sqrt(n) with one more value, the least or the greatest."""
    ends = []
    for sign in (-1.0, 1.0):
        values = np.append(gains, sign * unseen)
        half = student.ppf(0.5 + 0.5 * confidence, gains.size) * values.std(ddof=1) / math.sqrt(values.size)
        ends.append(float(values.mean() + sign * half))
    return ends[0], ends[1]


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_is_that_of_draws_and_one_unseen(seed: int) -> None:
    log, good, bad, _ = small_log(np.random.default_rng(seed), 400, 3, 0.5, SHARES)
    found = evaluation.evaluate(log, {"a": good, "b": bad}, estimator="ips", rewards=(-1, 2)).compare(
        "a", "b"
    )
    assert log.propensity is not None
    one, other = ((log.arm == arms) / log.propensity for arms in (good, bad))
    weight = (one @ one + other @ other) / (one.sum() + other.sum())
    expected = by_hand((one - other) * log.reward, weight * 2.0, 0.95)
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-12)
    assert found.difference == pytest.approx(float(((one - other) * log.reward).mean()), abs=1e-12)


def test_rows_that_were_kept_seldom_count_more_in_a_difference() -> None:
    log, good, bad, _ = small_log(np.random.default_rng(6), 300, 3, 0.3, NOISY)
    kept = np.random.default_rng(7).uniform(0.2, 1.0, size=300)
    assert log.propensity is not None
    thinned = Log(
        arm=log.arm,
        reward=log.reward,
        propensity=log.propensity,
        base_propensities=log.base_propensities,
        kept=kept,
    )
    found = evaluation.evaluate(thinned, {"a": good, "b": bad}, estimator="ips").compare("a", "b")
    one, other = ((log.arm == arms) / log.propensity for arms in (good, bad))
    gains, share = (one - other) * log.reward, 1 / kept
    mean = float(share @ gains / share.sum())
    whole = np.r_[one * share, other * share] / share.mean()
    unseen = float(whole @ whole / whole.sum()) * math.sqrt(float(share @ log.reward**2 / share.sum()))
    expected = by_hand(mean + (gains - mean) * share / share.mean(), unseen, 0.95)
    assert found.difference == pytest.approx(mean, abs=1e-12)
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-10)


def seldom_apart(draws: int) -> Comparison:
    """Targets that differ in one round alone, whose draw speaks for neither."""
    good = np.zeros(draws, dtype=np.int64)
    bad = good.copy()
    bad[0] = 1
    arm = np.tile([0, 1, 2], draws // 3)
    arm[0] = 2
    law = np.full((draws, 3), 1 / 3)
    log = Log(arm=arm, reward=(arm == 0) * 1.0, propensity=np.full(draws, 1 / 3), base_propensities=law)
    return evaluation.evaluate(log, {"a": good, "b": bad}, estimator="ips", rewards=(0, 1)).compare("a", "b")


def test_draws_that_say_nothing_leave_room_for_what_was_not_seen() -> None:
    found = seldom_apart(90)
    assert found.verdict == "cannot tell"
    assert found.difference == 0.0
    assert found.high == -found.low == pytest.approx(3 * 3 / 91, rel=0.02)  # three in n, of weight 3 each


def test_targets_that_play_the_same_have_no_interval() -> None:
    log, good, _, _ = small_log(np.random.default_rng(8), 60, 3, 0.0, CLICKS)
    found = evaluation.evaluate(log, {"a": good, "b": good.copy()}, estimator="ips", rewards=(0, 1))
    assert math.isnan(found.compare("a", "b").low)


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize("estimator", ["ips", "dm"])
def test_a_difference_never_leaves_what_rewards_allow(estimator: str, anytime: bool) -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        log, good, bad, _ = small_log(rng, 12, 4, 0.0, CLICKS)
        if not log.reward.any():
            continue
        found = evaluation.evaluate(
            log,
            {"a": good, "b": bad},
            estimator=estimator,
            rewards=(0, 1),
            noise=5.0,
            bound=9.0,
            anytime=anytime,
        )
        pair = found.compare("a", "b")
        assert math.isnan(pair.low) or -1.0 <= pair.low < pair.high <= 1.0


def test_what_is_needed_is_reckoned_from_the_interval_before_it_is_cut() -> None:
    log, good, bad, _ = small_log(np.random.default_rng(10), 12, 4, 0.0, CLICKS)
    found = evaluation.evaluate(log, {"a": good, "b": bad}, estimator="ips", rewards=(0, 1))
    pair, more = found.compare("a", "b"), found.needed("a", "b", half=0.1)
    assert more.now > 0.5 * (pair.high - pair.low)
    assert more.explorations == math.ceil(12 * ((more.now / 0.1) ** 2 - 1))


def test_the_functions_of_the_room_say_what_the_methods_say() -> None:
    log, good, bad, _ = small_log(np.random.default_rng(11), 300, 4, 0.5, CLICKS)
    found = evaluation.evaluate(log, {"a": good, "b": bad}, estimator="snips", rewards=(0, 1))
    assert evaluation.compare(found, "a", "b") == found.compare("a", "b")
    assert evaluation.needed(found, "a", "b", half=0.01) == found.needed("a", "b", half=0.01)
    assert evaluation.needed(found, "a", "b") == found.needed("a", "b")
