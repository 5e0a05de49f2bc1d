"""Estimates are right on average over all that a learning log could have drawn: all of it, path by path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from infex import evaluation
from infex.arrays import Floats
from infex.logs import Log, LogFacts

BLOCKS, PERIOD, ARMS = 2, 3, 2
ROUNDS = BLOCKS * PERIOD
OFFERS = np.random.default_rng(8).normal(size=(ROUNDS, ARMS, 2)) / 2
REWARDS = np.random.default_rng(9).normal(size=(ROUNDS, ARMS))  # of any kind: not linear, without noise
TARGET = np.array([0, 1, 1, 0, 1, 0])
TRUTH = float(REWARDS[np.arange(ROUNDS), TARGET].mean())


def law_of(theta: Floats, rows: Floats) -> Floats:
    """A law that depends on all that was learnt."""
    z = np.exp(2.0 * (rows @ theta))
    law: Floats = 0.2 / ARMS + 0.8 * z / z.sum()
    return law


class Path:
    """A run in which the exploring places and arms are given."""

    def __init__(self, lots: tuple[int, ...], arms: tuple[int, ...]) -> None:
        self.chance_of_it = float(PERIOD) ** -BLOCKS
        self.columns: dict[str, list[object]] = {
            name: []
            for name in (
                "arm",
                "reward",
                "explored",
                "greedy",
                "explore_probability",
                "base_propensity",
                "base_propensities",
            )
        }
        gram, moment = np.eye(2), np.zeros(2)
        for t in range(ROUNDS):
            block, place = divmod(t, PERIOD)
            theta, rows = np.linalg.solve(gram, moment), OFFERS[t]
            law, greedy, explores = law_of(theta, rows), int((rows @ theta).argmax()), place == lots[block]
            arm = arms[block] if explores else greedy
            self.chance_of_it *= law[arm] if explores else 1.0
            chance = 1.0 / (PERIOD - place) if place <= lots[block] else 0.0
            values = (arm, REWARDS[t, arm], explores, greedy, chance, law[arm], law)
            for column, value in zip(self.columns.values(), values, strict=True):
                column.append(value)
            gram, moment = gram + np.outer(rows[arm], rows[arm]), moment + REWARDS[t, arm] * rows[arm]

    @property
    def log(self) -> Log:
        columns = {name: np.array(values) for name, values in self.columns.items()}
        same = columns["arm"] == columns["greedy"]
        propensity = (
            columns["explore_probability"] * columns["base_propensity"]
            + (1 - columns["explore_probability"]) * same
        )
        return Log(**columns, propensity=propensity, offers=OFFERS, facts=LogFacts(period=PERIOD))


def paths() -> Iterator[Path]:
    for lots in itertools.product(range(PERIOD), repeat=BLOCKS):
        for arms in itertools.product(range(ARMS), repeat=BLOCKS):
            yield Path(lots, arms)


def on_average(value: object, estimator: str) -> float:
    return sum(
        path.chance_of_it * evaluation.evaluate(path.log, {"mine": value}, estimator=estimator)["mine"].value
        for path in paths()
    )


def test_all_paths_are_there() -> None:
    assert sum(path.chance_of_it for path in paths()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("estimator", ["ips", "dr", "blocks"])
def test_a_jittered_log_is_judged_without_bias(estimator: str) -> None:
    assert on_average(TARGET, estimator) == pytest.approx(TRUTH, abs=1e-12)


def test_chances_of_a_target_are_judged_without_bias_too() -> None:
    chances = np.tile([0.3, 0.7], (ROUNDS, 1))
    truth = float((REWARDS * chances).sum(axis=1).mean())
    assert on_average(chances, "dr") == pytest.approx(truth, abs=1e-12)


def test_a_model_that_knows_the_block_would_be_told_apart() -> None:
    """Fitted up to the round before, it knows whether the block has explored."""
    value = 0.0
    for path in paths():
        log = path.log
        gram, moment, fitted = np.eye(2), np.zeros(2), np.zeros((ROUNDS, ARMS))
        for t in range(ROUNDS):
            fitted[t] = OFFERS[t] @ np.linalg.solve(gram, moment)
            row = OFFERS[t, log.arm[t]]
            gram, moment = gram + np.outer(row, row), moment + log.reward[t] * row
        assert log.base_propensity is not None
        rows = np.flatnonzero(log.explored)
        weight = (log.arm == TARGET)[rows] / log.base_propensity[rows]
        left = log.reward[rows] - fitted[rows, log.arm[rows]]
        value += path.chance_of_it * (fitted[np.arange(ROUNDS), TARGET].mean() + (weight * left).mean())
    assert abs(value - TRUTH) > 1e-3


def test_what_other_libraries_do_would_be_told_apart() -> None:
    """Every round by its chance given the past."""
    value = 0.0
    for path in paths():
        log = path.log
        assert log.propensity is not None
        value += path.chance_of_it * float(((log.arm == TARGET) / log.propensity * log.reward).mean())
    assert abs(value - TRUTH) > 1e-2


def drawn_every_round() -> Iterator[tuple[float, Log]]:
    """A learner that draws in every round, by a law of all it has learnt: all its logs of six rounds."""
    for arms in itertools.product(range(ARMS), repeat=ROUNDS):
        gram, moment, laws = np.eye(2), np.zeros(2), []
        for t, arm in enumerate(arms):
            laws.append(law_of(np.linalg.solve(gram, moment), OFFERS[t]))
            row = OFFERS[t, arm]
            gram, moment = gram + np.outer(row, row), moment + REWARDS[t, arm] * row
        propensity = np.array(laws)[np.arange(ROUNDS), arms]
        reward = REWARDS[np.arange(ROUNDS), arms]
        log = Log(
            arm=np.array(arms), reward=reward, propensity=propensity, base_propensities=laws, offers=OFFERS
        )
        yield float(propensity.prod()), log


@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_a_log_that_draws_in_every_round_is_judged_without_bias(estimator: str) -> None:
    value = sum(
        chance * evaluation.evaluate(log, {"mine": TARGET}, estimator=estimator)["mine"].value
        for chance, log in drawn_every_round()
    )
    assert value == pytest.approx(TRUTH, abs=1e-12)


def test_differences_of_targets_are_without_bias() -> None:
    other = 1 - TARGET
    apart = TRUTH - float(REWARDS[np.arange(ROUNDS), other].mean())
    value = 0.0
    for path in paths():
        found = evaluation.evaluate(path.log, {"mine": TARGET, "other": other}, estimator="dr")
        value += path.chance_of_it * found.compare("mine", "other").difference
    assert value == pytest.approx(apart, abs=1e-12)
