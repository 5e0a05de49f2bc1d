"""Intervals hold as often as they say, on logs of bandits that learn; seeds are fixed."""

from __future__ import annotations

import numpy as np
import pytest

from infex import evaluation
from infex.evaluation import TargetValue, sequences
from infex.logs import Log
from tests.evaluation.played_logs import Played, Problem, play, problem


def judged(asked: Problem, played: Played, estimator: str, runs: int) -> list[TargetValue]:
    return [
        evaluation.evaluate(played.log(run), {"mine": asked.target}, estimator=estimator)["mine"]
        for run in range(runs)
    ]


def in_errors(values: list[TargetValue], truth: float) -> float:
    """By how many Monte-Carlo errors the mean is off."""
    numbers = np.array([each.value for each in values])
    return float((numbers.mean() - truth) / (numbers.std() / np.sqrt(numbers.size)))


def held(values: list[TargetValue], truth: float) -> float:
    return float(np.mean([each.low <= truth <= each.high for each in values]))


@pytest.mark.parametrize("bend", [0.0, 0.8])
def test_the_corrected_model_is_right_whether_rewards_are_linear_or_not(bend: float) -> None:
    asked = problem(seed=1, rounds=1000, period=10, bend=bend)
    played = play(asked, runs=200, seed=22)
    found = judged(asked, played, "dr", 200)
    assert abs(in_errors(found, asked.truth)) <= 3.0
    assert 0.90 <= held(found, asked.truth) <= 0.99
    model = judged(asked, played, "dm", 40)
    assert held(model, asked.truth) >= 0.95 if bend == 0.0 else abs(in_errors(model, asked.truth)) > 5.0


def test_the_ellipsoid_holds_for_fifty_policies_at_once_and_for_the_best_of_them() -> None:
    asked = problem(seed=31, rounds=400, period=20)
    played = play(asked, runs=60, seed=32, jittered=False)
    policies = np.random.default_rng(33).integers(asked.means.shape[1], size=(50, 400))
    truths = asked.means[np.arange(400), policies].mean(axis=1)
    wrong = 0
    for run in range(60):
        targets = {str(place): arms for place, arms in enumerate(policies)}
        found = evaluation.evaluate(played.log(run), targets, estimator="dm")
        inside = [
            found[str(place)].low <= truth <= found[str(place)].high for place, truth in enumerate(truths)
        ]
        wrong += not all(inside)
    assert wrong <= 3


def crossings(seed: int, logs: int, rounds: int) -> float:
    """In which share of logs a 95 % sequence ever leaves the truth: its wealth against it exceeds 1/0.025."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.1, 0.9, size=(logs, rounds))  # of the target's arm
    played = rng.random((logs, rounds)) < chance
    reward = rng.random((logs, rounds)) < 0.3
    failed = np.zeros(logs, dtype=bool)
    t = np.arange(1, rounds + 1)
    for run in range(logs):
        weight = played[run] / chance[run]
        for terms, mean in ((weight * reward[run], 0.3), (weight * ~reward[run], 0.7)):
            excess = np.cumsum(terms) - t * mean
            up = excess > 0
            wealth = sequences.log_wealth(excess[up], sequences.squared_deviations(terms)[up])
            failed[run] |= bool((wealth >= np.log(1 / 0.025)).any())
    return float(failed.mean())


def test_the_sequence_holds_in_all_rounds_at_once() -> None:
    assert crossings(seed=41, logs=200, rounds=500) <= 0.05


def null_verdicts(runs: int, seed: int) -> tuple[float, float]:
    """Two targets of the same value: how often they are told apart, and how wide pairs are."""
    asked = problem(seed=51, rounds=1000, period=10, bend=0.5)
    means = np.tile(asked.means.mean(), asked.means.shape)
    played = play(Problem(asked.offers, means, asked.target, asked.period, asked.noise), runs, seed)
    other = asked.target.copy()
    some = np.random.default_rng(seed).random(1000) < 0.1
    other[some] = (other[some] + 1) % 4
    wrong, widths = 0, []
    for run in range(runs):
        found = evaluation.evaluate(played.log(run), {"a": asked.target, "b": other}, estimator="dr")
        pair = found.compare("a", "b")
        wrong += pair.verdict != "cannot tell"
        widths.append((pair.high - pair.low) / (2 * (found["a"].bounds.half + found["b"].bounds.half)))
    return wrong / runs, float(np.mean(widths))


def test_equal_targets_are_seldom_told_apart_and_pairs_are_narrow() -> None:
    wrong, width = null_verdicts(runs=100, seed=52)
    assert wrong <= 0.1
    assert width <= 0.5


def test_what_is_needed_is_what_a_longer_log_shows() -> None:
    asked = problem(seed=61, rounds=4000, period=10)
    log = play(asked, runs=1, seed=62).log(0)
    other = (asked.target + 1) % 4
    short = log.take(slice(0, 2000))
    first = evaluation.evaluate(short, {"a": asked.target[:2000], "b": other[:2000]}, estimator="dr")
    pair = first.compare("a", "b")
    goal = 0.5 * (pair.high - pair.low) / np.sqrt(2)
    more = first.needed("a", "b", half=goal)
    assert more.rounds == pytest.approx(2000, rel=0.02)
    later = evaluation.evaluate(log, {"a": asked.target, "b": other}, estimator="dr").compare("a", "b")
    assert 0.5 * (later.high - later.low) == pytest.approx(goal, rel=0.2)


def against_what_was_drawn(runs: int, seed: int) -> float:
    """How often the interval of a target less the log's own law holds, where the model knows arms alone."""
    rng, held = np.random.default_rng(seed), 0
    for _ in range(runs):
        context = rng.normal(size=600)
        means = np.stack([context, -context, np.full(600, 0.2)], axis=1)
        law = np.tile([0.5, 0.3, 0.2], (600, 1))
        arm = (law.cumsum(axis=1) > rng.random(600)[:, None]).argmax(axis=1)
        reward = means[np.arange(600), arm] + 0.1 * rng.normal(size=600)
        log = Log(arm=arm, reward=reward, propensity=law[np.arange(600), arm], base_propensities=law)
        target = np.where(context > 0, 0, 2)
        found = evaluation.evaluate(log, {"x": target, "now": evaluation.logged}, estimator="dr")
        pair = found.compare("x", "now")
        truth = float(means[np.arange(600), target].mean() - (law * means).sum(axis=1).mean())
        held += pair.low <= truth <= pair.high
    return held / runs


def test_the_difference_to_what_was_drawn_holds_where_the_model_is_poor() -> None:
    assert against_what_was_drawn(runs=150, seed=55) >= 0.92


@pytest.mark.slow
@pytest.mark.parametrize("bend", [0.0, 0.8])
@pytest.mark.parametrize("seed", [71, 72])
def test_a_thousand_logs_of_two_thousand_rounds(bend: float, seed: int) -> None:
    asked = problem(seed=seed, rounds=2000, period=20, bend=bend)
    played = play(asked, runs=1000, seed=seed + 100)
    for estimator in ("ips", "blocks", "dr"):
        found = judged(asked, played, estimator, 1000)
        assert abs(in_errors(found, asked.truth)) <= 3.0, estimator
        if estimator == "dr":
            assert 0.92 <= held(found, asked.truth) <= 0.98


@pytest.mark.slow
def test_a_thousand_sequences_of_two_thousand_rounds() -> None:
    assert crossings(seed=81, logs=1000, rounds=2000) <= 0.05


@pytest.mark.slow
def test_a_thousand_null_verdicts() -> None:
    wrong, _ = null_verdicts(runs=1000, seed=91)
    assert wrong <= 0.07
