"""Bounds that hold in all rounds at once, with the frozen model: right on logs that learn, and narrower."""

from __future__ import annotations

import numpy as np
import pytest

from infex import evaluation
from infex.evaluation import sequences
from infex.evaluation.model import LogAnalysis, analyse
from infex.evaluation.overlap import Overlap, overlap_of
from infex.evaluation.sequences import capped_draws
from infex.evaluation.targets import targets_of
from infex.logs import Log
from tests.evaluation.played_logs import Problem, play, problem

RANGE = (-4.0, 4.0)


def ground(log: Log, target: np.ndarray) -> tuple[LogAnalysis, Overlap]:
    work = analyse(log, rewards=RANGE, anytime=True)
    (wanted,) = targets_of({"mine": target}, work)
    return work, overlap_of(wanted, work)


def slow_draws(work: LogAnalysis, target: np.ndarray, most: float, *, flipped: bool) -> np.ndarray:
    """Each draw by itself, as the formula is written."""
    log, design, found = work.log, work.design, []
    assert log.offers is not None
    assert log.base_propensities is not None
    for row, block in zip(design.rows, design.block, strict=True):
        inside = np.flatnonzero(design.of_round == block)

        def value(t: int, arm: int, block: int = int(block)) -> float:
            q = float(np.clip((log.offers[t, arm] @ work.thetas[block] - RANGE[0]) / 8.0, 0.0, 1.0))  # type: ignore[index]
            return 1.0 - q if flipped else q

        reward = (log.reward[row] - RANGE[0]) / 8.0
        reward = 1.0 - reward if flipped else reward
        mine = target[row]
        cap = most * log.base_propensities[row, mine]  # k/w of the one arm that the target plays
        direct = min(value(row, mine), cap)
        played = log.arm[row] == mine
        term = direct + (reward - direct) / log.base_propensities[row, mine] * played
        found.append(term + np.mean([value(t, target[t]) for t in inside]) - value(row, mine))
    return np.array(found)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("most", [1.5, 4.0])
def test_draws_are_those_of_the_formula_and_never_below_their_limit(most: float, flipped: bool) -> None:
    asked = problem(seed=3, rounds=200, period=10, bend=0.5)
    work, rounds = ground(play(asked, runs=1, seed=4).log(0), asked.target)
    found = capped_draws(work, rounds, most, flipped=flipped)
    np.testing.assert_allclose(found, slow_draws(work, asked.target, most, flipped=flipped), atol=1e-12)
    assert found.min() >= -(most + 1.0)


def crossings(asked: Problem, runs: int, seed: int) -> float:
    """In which share of logs a 95 % sequence ever leaves the running mean of the target's values."""
    played, failed = play(asked, runs=runs, seed=seed), 0
    means = asked.means[np.arange(len(asked.means)), asked.target].reshape(-1, asked.period).mean(axis=1)
    far = asked.means.shape[1] + 1.0
    for run in range(runs):
        work, rounds = ground(played.log(run), asked.target)
        wrong = False
        for flipped in (False, True):
            truth = (means - RANGE[0]) / 8.0
            truth = (1.0 - truth if flipped else truth) + far
            terms = (capped_draws(work, rounds, far - 1.0, flipped=flipped) + far) / (1.0 + far)
            excess = np.cumsum(terms - truth / (1.0 + far))
            up = excess > 0
            wealth = sequences.log_wealth(excess[up], sequences.squared_deviations(terms)[up])
            wrong |= bool((wealth >= np.log(1 / 0.025)).any())
        failed += wrong
    return failed / runs


@pytest.mark.parametrize("bend", [0.0, 0.8])
def test_it_holds_in_all_rounds_at_once_whether_rewards_are_linear_or_not(bend: float) -> None:
    assert crossings(problem(seed=5, rounds=1000, period=10, bend=bend), runs=60, seed=6) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("bend", [0.0, 0.8])
def test_it_holds_in_a_thousand_logs(bend: float) -> None:
    assert crossings(problem(seed=7, rounds=2000, period=10, bend=bend), runs=1000, seed=8) <= 0.05


def test_the_draws_of_all_logs_average_to_the_truth() -> None:
    asked = problem(seed=9, rounds=200, period=10, bend=0.8)
    played = play(asked, runs=300, seed=10)
    values = np.array(
        [
            capped_draws(*ground(played.log(run), asked.target), 2.0, flipped=False).mean()
            for run in range(300)
        ]
    )
    truth = (asked.truth - RANGE[0]) / 8.0
    assert abs(values.mean() - truth) <= 3.0 * values.std() / np.sqrt(300)


def test_it_is_narrower_than_plain_weights_where_the_model_helps() -> None:
    asked = problem(seed=11, rounds=2000, period=5)
    log = play(asked, runs=1, seed=12).log(0)
    found, plain = (
        evaluation.evaluate(
            log,
            {"mine": asked.target, "now": evaluation.logged},
            rewards=RANGE,
            anytime=True,
            estimator=estimator,
        )
        for estimator in ("auto", "ips")
    )
    assert (found["mine"].estimator, found["mine"].method) == ("dr", "robust confidence sequence")
    assert found["mine"].ground == "guaranteed"
    assert found["mine"].low <= asked.truth <= found["mine"].high
    assert found["mine"].high - found["mine"].low < 0.8 * (plain["mine"].high - plain["mine"].low)
    both = found.compare("mine", "now")
    assert both.low <= both.difference <= both.high


def test_without_laws_of_all_arms_plain_weights_are_said_and_used() -> None:
    asked = problem(seed=13, rounds=500, period=5)
    log = play(asked, runs=1, seed=14).log(0)
    bare = Log(
        arm=log.arm, reward=log.reward, propensity=log.propensity,
        explore_probability=log.explore_probability, base_propensity=log.base_propensity,
        explored=log.explored, greedy=log.greedy, offers=log.offers, facts=log.facts,
    )  # fmt: skip
    found = evaluation.evaluate(bare, {"mine": asked.target}, rewards=RANGE, anytime=True)["mine"]
    assert found.method == "confidence sequence"
    assert "those of ips" in found.why
