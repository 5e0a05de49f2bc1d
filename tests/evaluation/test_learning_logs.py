"""Logs of a bandit that learns: every number of golden/evaluation.json that no other library computes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import evaluation
from infex.errors import NoSupport
from infex.evaluation import Evaluation
from infex.evaluation.design import design_of
from infex.evaluation.estimators import WEIGHTED
from infex.logs import Log
from tests.evaluation.synthetic_logs import PERIOD, as_log, logs

NEAR = 1e-10
GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent.parent / "golden" / "evaluation.json").read_text())
JITTERED, FIXED = GOLDEN["infex"]["jittered log"], GOLDEN["infex"]["deterministic log"]


def found_of(kind: str, estimator: str = "auto", **other: Any) -> Evaluation:
    greedy = logs()[f"{kind}_greedy"]
    targets = {"mine": logs()[f"{kind}_target"], "greedy": greedy, "now": evaluation.logged}
    return evaluation.evaluate(as_log(kind), targets, estimator=estimator, **other)


@pytest.mark.parametrize(("kind", "told"), [("jit", JITTERED), ("det", FIXED)])
def test_the_model_and_its_ellipsoid(kind: str, told: dict[str, Any]) -> None:
    found = found_of(kind, "dm")
    mine, expected = found["mine"], told["linear model, target"]
    assert mine.value == pytest.approx(expected["value"], abs=NEAR)
    assert mine.bounds.half == pytest.approx(expected["half"], abs=NEAR)
    assert (mine.ground, mine.method) == ("guaranteed", "ellipsoid")
    both, paired = told["linear model, target less greedy"], found.compare("mine", "greedy")
    assert paired.difference == pytest.approx(both["value"], abs=NEAR)
    assert 0.5 * (paired.high - paired.low) == pytest.approx(both["half"], abs=NEAR)
    assert paired.verdict == "worse"


def test_exploring_rounds_alone() -> None:
    told = JITTERED["exploring rounds alone, ips"]
    plain = found_of("jit", "ips")["mine"]
    assert (plain.value, plain.error) == pytest.approx((told["value"], told["standard error"]), abs=NEAR)
    told = JITTERED["exploring rounds alone, snips"]
    ratio = found_of("jit", "snips")["mine"]
    assert (ratio.value, ratio.error) == pytest.approx((told["value"], told["standard error"]), abs=NEAR)
    effective = JITTERED["exploring rounds alone, effective sample size"]
    assert plain.effective == pytest.approx(effective, abs=1e-9)
    assert plain.explorations == 60


def test_the_frozen_model_corrected_in_exploring_rounds() -> None:
    told = JITTERED["dr: model of all rounds, corrected in exploring rounds"]
    mine = found_of("jit", "dr")["mine"]
    assert mine.value == pytest.approx(told["value"], abs=NEAR)
    assert mine.model == pytest.approx(told["model"], abs=NEAR)
    assert mine.correction == pytest.approx(told["correction"], abs=NEAR)
    assert mine.correction_error == pytest.approx(told["standard error of it"], abs=NEAR)


def test_blocks_up_to_their_exploration() -> None:
    told, mine = JITTERED["blocks, dr"], found_of("jit", "blocks")["mine"]
    assert (mine.value, mine.error) == pytest.approx((told["value"], told["standard error"]), abs=NEAR)


@pytest.mark.parametrize("estimator", WEIGHTED)
def test_a_deterministic_log_has_no_support_for_weights(estimator: str) -> None:
    words = "in 1,200 of 1,200 rounds the log could play one arm only; weights cannot evaluate 'mine', which"
    with pytest.raises(NoSupport, match=re.escape(words)):
        found_of("det", estimator)


def test_the_best_way_of_a_deterministic_log_is_the_model_and_says_why() -> None:
    mine = found_of("det")["mine"]
    assert mine.estimator == "dm"
    assert "could not play" in mine.why


def test_the_best_way_with_few_explorations_is_the_model() -> None:
    mine = found_of("jit")["mine"]
    assert (mine.estimator, mine.why) == ("dm", "only 17 effective explorations")
    assert mine.support == 1.0


def test_probabilities_alone_are_refused_where_blocks_have_explored() -> None:
    """What every other library does with such a log: off by 0.28, and its interval holds in 20 % of cases."""
    log = as_log("jit")
    bare = Log(arm=log.arm, reward=log.reward, propensity=log.propensity, offers=log.offers)
    with pytest.raises(NoSupport, match="could not play"):
        evaluation.evaluate(bare, {"mine": logs()["jit_target"]}, estimator="ips")
    assert evaluation.evaluate(bare, {"mine": logs()["jit_target"]})["mine"].estimator == "dm"


def test_blocks_are_found_without_the_schedule_being_said() -> None:
    log = as_log("jit")
    bare = Log(
        arm=log.arm,
        reward=log.reward,
        explored=log.explored,
        explore_probability=log.explore_probability,
        base_propensity=log.base_propensity,
        offers=log.offers,
    )
    said, found = design_of(log), design_of(bare)
    assert found.kind == "jittered"
    assert found.starts.tolist() == said.starts.tolist()
    assert found.rows.tolist() == said.rows.tolist()
    assert found.period == PERIOD


def test_an_unfinished_block_is_left_out() -> None:
    log = as_log("jit").take(slice(7, 1195))
    design = design_of(log)
    assert design.rows.size == 58
    assert int((~design.covered).sum()) == 13 + 15
    found = evaluation.evaluate(log, {"mine": logs()["jit_target"][7:1195]}, estimator="dr")
    assert "rounds left out" in [each.kind for each in found.findings]


def test_a_block_whose_chances_are_not_those_of_a_drawn_round_is_left_out() -> None:
    log = as_log("jit")
    assert log.explore_probability is not None
    chance, explored = np.array(log.explore_probability), np.array(log.explored)
    chance[40:60], explored[40:60] = 0.0, False  # a pause
    paused = Log(
        arm=log.arm,
        reward=log.reward,
        explored=explored,
        explore_probability=chance,
        base_propensity=log.base_propensity,
        facts=log.facts,
    )
    assert design_of(paused).of_round[40:60].tolist() == [-1] * 20
    assert design_of(paused).rows.size == 59


def test_late_rewards_that_never_came_drop_their_draw() -> None:
    log = as_log("jit")
    reward = np.array(log.reward)
    lost = design_of(log).rows[:3]
    reward[lost] = np.nan
    columns = {
        name: getattr(log, name)
        for name in (
            "explored",
            "explore_probability",
            "base_propensity",
            "base_propensities",
            "offers",
            "facts",
        )
    }
    found = evaluation.evaluate(
        Log(arm=log.arm, reward=reward, **columns), {"mine": logs()["jit_target"]}, estimator="ips"
    )
    assert found["mine"].explorations == 57
    assert "3 of 1,200 rewards never came" in str(found)


def test_a_log_without_a_whole_block_says_so() -> None:
    log = as_log("jit").take(slice(5, 30))
    with pytest.raises(NoSupport, match="no block of its schedule is complete"):
        evaluation.evaluate(log, {"x": 0}, estimator="dr")
