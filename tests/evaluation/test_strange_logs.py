"""Logs at the edge: a number that is right, or a refusal that says why; never a width of 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from infex import evaluation
from infex.errors import InvalidLog, InvalidSetting, NoSupport
from infex.logs import Log
from infex.policies import Uniform


def uneven_log(seed: int) -> Log:
    """Six blocks of 5 rounds, in which arm 0 earns 1, then three of 10, in which it earns nothing."""
    rng = np.random.default_rng(seed)
    chance, explored = np.zeros(60), np.zeros(60, dtype=bool)
    for first, size in [(5 * n, 5) for n in range(6)] + [(30 + 10 * n, 10) for n in range(3)]:
        drawn = int(rng.integers(size))
        chance[first : first + drawn + 1] = 1.0 / (size - np.arange(drawn + 1))
        explored[first + drawn] = True
    arm = np.where(explored, rng.integers(2, size=60), 1)
    reward = np.where((arm == 0) & (np.arange(60) < 30), 1.0, 0.0)
    propensity = np.where(arm == 1, 1.0 - chance / 2, chance / 2)
    return Log(
        arm=arm, reward=reward, explore_probability=chance, explored=explored, greedy=np.ones(60, dtype=int),
        base_propensity=np.full(60, 0.5), base_propensities=np.full((60, 2), 0.5), propensity=propensity,
        arms=np.eye(2),
    )  # fmt: skip


@pytest.mark.parametrize("estimator", ["ips", "dr", "blocks"])
def test_a_schedule_that_changes_is_right_as_each_draw_counts_for_its_block(estimator: str) -> None:
    """Half of the rounds earn 1; half of the blocks' number would say 2/3."""
    values = np.array(
        [
            evaluation.evaluate(uneven_log(seed), {"x": 0}, estimator=estimator)["x"].value
            for seed in range(400)
        ]
    )
    assert abs(values.mean() - 0.5) <= 3.0 * values.std() / math.sqrt(400)


def test_anytime_intervals_are_refused_where_blocks_differ() -> None:
    with pytest.raises(NoSupport, match="blocks of one length"):
        evaluation.evaluate(uneven_log(0), {"x": 0}, rewards=(0, 1), anytime=True, estimator="ips")


def drawn(rounds: int, **more: Any) -> Log:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {"arm": rng.integers(3, size=rounds), "propensity": np.full(rounds, 1 / 3)}
    columns |= {"reward": rng.normal(size=rounds), "arms": np.eye(3) / 2}
    return Log(**(columns | more))


@pytest.mark.parametrize("target", [evaluation.logged, Uniform()], ids=["now", "flat"])
@pytest.mark.parametrize("estimator", ["ips", "snips"])
def test_rewards_that_are_all_the_same_have_no_interval(estimator: str, target: object) -> None:
    """0.3 is no float: a mean of many differs from it in the last place."""
    log = drawn(200, reward=np.full(200, 0.3), arms=None)
    found = evaluation.evaluate(log, {"x": target}, estimator=estimator)["x"]
    assert found.value == pytest.approx(0.3)
    assert math.isnan(found.low)


def test_one_round_has_a_value_without_an_interval() -> None:
    found = evaluation.evaluate(drawn(1), {"flat": Uniform()}, estimator="ips", rewards=(-5, 5))["flat"]
    assert math.isnan(found.low)
    assert any(each.kind == "no interval" for each in found.findings)
    with pytest.raises(NoSupport, match="two draws or more"):
        evaluation.evaluate(drawn(1), {"flat": Uniform()}, estimator="slope")


def test_bounds_that_cross_are_no_interval_of_no_width() -> None:
    """Arm 0 was drawn three times as often as its probability says."""
    log = Log(arm=[0] * 300, reward=[0.5] * 300, propensity=[1 / 3] * 300, count=3)
    found = evaluation.evaluate(log, {"x": 0}, rewards=(0, 1), anytime=True, estimator="ips")["x"]
    assert math.isnan(found.low)
    assert any("cross" in each.words for each in found.findings)


def test_features_that_are_all_0_give_no_interval_of_no_width() -> None:
    found = evaluation.evaluate(drawn(100, arms=np.zeros((3, 2))), {"x": 0}, estimator="dm")["x"]
    assert math.isnan(found.low)
    assert any("no features but 0" in each.words for each in found.findings)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("reward", np.full(9, 1e200), "reward must be finite, at most 1e100"),
        ("propensity", np.full(9, 1e-300), "propensity must lie above 0"),
        ("arms", np.full((3, 2), 1e200), "arms must be finite, at most 1e[+]100"),
        (
            "base_propensities",
            np.full((9, 3), [0.2, 0.3, 0.5]),
            "propensity must agree with base_propensities for the arm",
        ),
    ],
)
def test_numbers_without_a_square_and_chances_that_contradict_each_other_are_refused(
    column: str, values: np.ndarray, words: str
) -> None:
    with pytest.raises(InvalidLog, match=words):
        drawn(9, **{column: values})


def test_what_a_way_does_not_read_is_refused() -> None:
    log = Log(arm=np.tile([0, 1], 50), reward=np.tile([1.0, 0.0], 50), propensity=np.full(100, 0.5))
    for estimator in ("auto", "ips", "dm"):
        with pytest.raises(InvalidSetting, match="setting is for estimator='clipped' or"):
            evaluation.evaluate(log, {"first": 0}, estimator=estimator, setting=3.0)
        with pytest.raises(InvalidSetting, match="embedding_probabilities are for estimator='mips'"):
            evaluation.evaluate(
                log, {"first": 0}, estimator=estimator, embedding_probabilities=np.ones((100, 2))
            )
    found = evaluation.evaluate(log, {"first": 0}, estimator="clipped", setting=1.0)["first"]
    assert found.estimator == "clipped"
