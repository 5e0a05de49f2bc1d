"""The twelve checks by which evaluation is accepted, each under its number, on logs of its own.

Each has a part that is played in every run of the tests; what takes long by nature is marked slow. `FURTHER`
names the tests elsewhere that look closer at the same check, and that the long part of some checks is.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import io
import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.open_bandit import FOLDER, log_of, shares_of
from infex import Bandit, Infex, LinUCB, Softened, evaluation, every, jittered
from infex.arrays import Floats
from infex.errors import NoSupport
from infex.evaluation.estimators import WEIGHTED
from infex.logs import Log
from infex.policies import Uniform
from tests.evaluation import test_coverage as coverage
from tests.evaluation import test_learning as learning
from tests.evaluation import test_learning_logs as learning_logs
from tests.evaluation import test_replay as replaying
from tests.evaluation.played_logs import play, problem
from tests.evaluation.synthetic_logs import logs, weighted_rounds, without_model
from tests.evaluation.test_findings import kinds, soft_log
from tests.evaluation.test_formulas import CASES, estimator_of, rounds_of, said
from tests.logs import test_fuzzed, test_long_files

NEAR = 1e-10
SAMPLE: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden" / "open_bandit.json").read_text()
)
FURTHER = {
    1: "evaluation.test_formulas: test_an_estimate_is_what_obp_says test_the_tuned_setting_is_obps "
    "test_points_and_intervals_are_those_of_vowpal_wabbit test_adaptive_weights_are_those_of_their_authors",
    3: "evaluation.test_unbiased: test_a_jittered_log_is_judged_without_bias "
    "test_a_model_that_knows_the_block_would_be_told_apart",
    4: "evaluation.test_coverage: test_a_thousand_logs_of_two_thousand_rounds "
    "test_a_thousand_sequences_of_two_thousand_rounds",
    5: "evaluation.test_learning_logs: test_the_model_and_its_ellipsoid",
    6: "evaluation.test_formulas: test_the_interval_of_a_ratio_is_as_wide_as_its_spread",
    7: "evaluation.test_findings: test_wrong_probabilities_are_flagged_and_right_ones_are_not "
    "test_a_season_in_step_with_a_fixed_schedule_is_flagged",
    8: "evaluation.test_coverage: test_a_thousand_null_verdicts",
    9: "evaluation.test_replay: test_a_replay_is_the_loop_to_the_last_bit "
    "test_the_mean_is_what_playing_gives test_what_was_not_drawn_cannot_be_replayed",
    10: "evaluation.test_warm_bandit: test_a_bandit_from_its_log_goes_on_as_it_would_have",
    11: "logs.test_formats: test_the_same_rows_have_the_value_that_vowpal_wabbit_tells "
    "test_rows_that_were_dropped_or_not_to_be_learnt_from",
    12: "logs.test_long_files: test_a_hundred_million_rows_take_less_than_half_a_gigabyte",
}


@pytest.mark.parametrize("check", FURTHER)
def test_what_is_named_here_is_there(check: int) -> None:
    module, _, names = FURTHER[check].partition(": ")
    there = vars(importlib.import_module(f"tests.{module}"))
    assert [name for name in names.split() if name not in there] == []


@pytest.mark.parametrize(("rounds", "arms"), [(300, 2), (200, 500), (7, 3)])
def test_check_1_estimates_are_those_of_others_on_logs_of_any_shape(rounds: int, arms: int) -> None:
    rng = np.random.default_rng(rounds)
    law, target = rng.dirichlet(np.ones(arms), size=(2, rounds))
    arm = (law.cumsum(axis=1) > rng.random(rounds)[:, None]).argmax(axis=1)
    reward, fitted, every_round = rng.normal(size=rounds), rng.normal(size=(rounds, arms)), np.arange(rounds)
    found = weighted_rounds(arm, reward, law[every_round, arm], target, fitted)
    w = target[every_round, arm] / law[every_round, arm]
    d, e = (target * fitted).sum(axis=1), reward - fitted[every_round, arm]
    told: dict[str, Floats] = {
        "ips": w * reward,
        "ips clip 2": np.minimum(w, 2.0) * reward,
        "snips": w * reward / w.mean(),
        "dm": d,
        "dr": d + w * e,
        "dr clip 2": d + np.minimum(w, 2.0) * e,
        "sndr": d + w * e / w.mean(),
        "switch-dr 2": d + np.where(w <= 2.0, w, 0.0) * e,
        "dr-os 10": d + 10.0 * w / (w * w + 10.0) * e,
        "sg-ips 0.1": w / (0.9 + 0.1 * w) * reward,
        "sg-dr 0.5": d + w / (0.5 + 0.5 * w) * e,
    }
    for name, terms in told.items():
        estimator, modelled = estimator_of(name)
        value = estimator.estimate(found if modelled else without_model(found)).value
        assert value == pytest.approx(terms.mean(), abs=NEAR), name


def test_check_1_estimates_are_those_that_obp_has_said() -> None:
    seen = 0
    for name in CASES:
        for estimator, told in said()["obp 0.5.7"][name].items():
            rounds = None if "tuned" in estimator else rounds_of(name, estimator)
            if rounds is not None and told["value"] is not None and rounds.weight.any():
                value = estimator_of(estimator)[0].estimate(rounds).value
                assert value == pytest.approx(told["value"], abs=NEAR), estimator
                seen += 1
    assert seen > 50


def sample_like_obps(path: Path) -> zipfile.ZipFile:
    """An archive in the form of obp's wheel: 200 rows of two policies of five items."""
    rng = np.random.default_rng(3)
    with zipfile.ZipFile(path, "w") as archive:
        for policy, law in (("random", np.full(5, 0.2)), ("bts", np.array([0.6, 0.1, 0.1, 0.1, 0.1]))):
            text = io.StringIO()
            rows = csv.writer(text)
            rows.writerow(["", "timestamp", "item_id", "position", "click", "propensity_score"])
            for row in range(200):
                item = int(rng.choice(5, p=law)) if row else 4
                rows.writerow([row, "2019-11-24", item, row % 3 + 1, int(rng.random() < 0.3), law[item]])
            archive.writestr(f"{FOLDER}/{policy}/all/all.csv", text.getvalue())
    return zipfile.ZipFile(path)


def test_check_2_a_sample_in_obps_form_is_read_and_weighed(tmp_path: Path) -> None:
    with sample_like_obps(tmp_path / "obp.whl") as archive:
        logs = {policy: log_of(archive, policy, "all") for policy in ("random", "bts")}
        text = archive.read(f"{FOLDER}/random/all/all.csv").decode()
    shares = shares_of(logs["bts"], 5)
    found = evaluation.evaluate(
        logs["random"], {"bts": shares[logs["random"].others["position"]]}, estimator="ips"
    )["bts"]
    rows = list(csv.DictReader(io.StringIO(text)))
    terms = [
        shares[int(row["position"]) - 1, int(row["item_id"])] / 0.2 * float(row["click"]) for row in rows
    ]
    assert found.value == pytest.approx(np.mean(terms), abs=NEAR)


@pytest.fixture(scope="module")
def obps_wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel of obp 0.4.1, from the package index; nothing of it is stored."""
    folder = tmp_path_factory.mktemp("obp")
    words = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "obp==0.4.1"]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        yield wheel


@pytest.mark.slow
@pytest.mark.parametrize("campaign", ["all", "men", "women"])
def test_check_2_the_open_bandit_sample_has_the_values_that_obp_has_said(
    campaign: str, obps_wheel: zipfile.ZipFile
) -> None:
    told = SAMPLE[campaign]
    for name, digest in told["sha256"].items():
        assert hashlib.sha256(obps_wheel.read(f"{FOLDER}/{name}")).hexdigest() == digest
    log, other = (log_of(obps_wheel, policy, campaign) for policy in ("random", "bts"))
    assert log.propensity is not None
    targets = {
        "bts shares": shares_of(other, log.count)[log.others["position"]],
        "uniform": np.full((len(log), log.count), 1.0 / log.count),
    }
    for target, chances in targets.items():
        rounds = weighted_rounds(log.arm, log.reward, log.propensity, chances)
        for estimator, value in told[target].items():
            found = estimator_of(estimator)[0].estimate(rounds).value
            assert found == pytest.approx(value, abs=NEAR), (target, estimator)


@pytest.mark.parametrize("bend", [0.0, 0.8])
def test_check_3_jittered_logs_are_judged_without_bias(bend: float) -> None:
    asked = problem(seed=301, rounds=600, period=10, bend=bend)
    played = play(asked, runs=100, seed=302)
    for estimator in ("ips", "blocks", "dr"):
        assert abs(coverage.in_errors(coverage.judged(asked, played, estimator, 100), asked.truth)) <= 3.0, (
            estimator
        )
    plain = [_as_others_do(played.log(run), asked.target) for run in range(100)]
    assert abs(np.mean(plain) - asked.truth) > 5.0 * np.std(plain) / math.sqrt(100)


def _as_others_do(log: Log, target: np.ndarray) -> float:
    """Plain weights by the probability of each decision, without a look at support."""
    assert log.propensity is not None
    return float(((log.arm == target) / log.propensity * log.reward).mean())


def test_check_4_intervals_hold_as_often_as_they_say() -> None:
    asked = problem(seed=401, rounds=1000, period=10)
    robust = coverage.judged(asked, play(asked, runs=100, seed=402), "dr", 100)
    assert 0.88 <= coverage.held(robust, asked.truth) <= 0.99
    assert coverage.crossings(seed=403, logs=100, rounds=400) <= 0.05
    coverage.test_the_ellipsoid_holds_for_fifty_policies_at_once_and_for_the_best_of_them()


def test_check_5_a_deterministic_log_is_judged_by_the_model_alone() -> None:
    for estimator in WEIGHTED:
        with pytest.raises(NoSupport, match="could play one arm only"):
            learning_logs.found_of("det", estimator)
    mine, told = learning_logs.found_of("det")["mine"], learning_logs.FIXED["linear model, target"]
    assert (mine.estimator, mine.ground) == ("dm", "guaranteed")
    assert (mine.value, mine.bounds.half) == pytest.approx((told["value"], told["half"]), abs=NEAR)
    weights = logs()["det_target"][np.arange(1200), logs()["det_action"]]
    weighted = float((weights * logs()["det_reward"]).mean())  # as obp and pymab say, with pscore 1
    page = " ".join((Path(__file__).parents[2] / "docs" / "logs.md").read_text().split())
    assert f"say {weighted:.3f} by IPS and {weighted / weights.mean():.3f} by SNIPS" in page
    truth = learning_logs.FIXED["truth on the logged offers"]
    assert f"worth {truth:.3f}," in page
    assert f"infex says {mine.value:.3f} ± {mine.bounds.half:.3f}." in page


def test_check_6_a_ratio_is_as_uncertain_as_it_spreads_and_no_model_is_certain() -> None:
    rng, values, errors = np.random.default_rng(601), [], []
    for _ in range(300):
        arm, reward = rng.integers(2, size=300), 5 + 0.1 * rng.normal(size=300)
        log = Log(arm=arm, reward=reward, propensity=np.full(300, 0.5))
        found = evaluation.evaluate(log, {"x": 0}, estimator="snips")["x"]
        values.append(found.value)
        errors.append(0.5 * (found.high - found.low) / 1.968)  # Student's quantile of 300 draws
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.1)
    still = evaluation.evaluate(log, {"x": 0}, estimator="dm", bound=8)["x"]
    assert still.high - still.low > 0.0


def test_check_7_findings_fire_and_stay_silent() -> None:
    for seed in range(700, 710):
        for factor in (1.0, 1.3):
            log, target = soft_log(seed, factor=factor)
            found = evaluation.evaluate(log, {"x": target}, estimator="ips")
            assert ("mean weight" in kinds(found, "x")) == (factor == 1.3)
    asked = problem(seed=711, rounds=600, period=20)
    fixed = play(asked, runs=1, seed=712, jittered=False).log(0)
    assert "season" in kinds(evaluation.evaluate(fixed, {"x": asked.target}, estimator="dr"), "x")


@pytest.mark.slow
def test_check_7_one_of_six_cases_of_the_open_bandit_sample_is_flagged(obps_wheel: zipfile.ZipFile) -> None:
    flagged = []
    for campaign in ("all", "men", "women"):
        logs = {policy: log_of(obps_wheel, policy, campaign) for policy in ("random", "bts")}
        for one, other in (("random", "bts"), ("bts", "random")):
            log = logs[one]
            target = Uniform() if other == "random" else shares_of(logs[other], log.count)
            chances = target if other == "random" else target[log.others["position"]]  # type: ignore[index]
            found = evaluation.evaluate(log, {"x": chances}, estimator="ips", rewards=(0, 1))
            if kinds(found, "x"):
                flagged.append((campaign, one))
    assert flagged == [("women", "bts")]


def test_check_8_verdicts_are_paired() -> None:
    wrong, width = coverage.null_verdicts(runs=60, seed=801)
    assert wrong <= 0.1
    assert width <= 0.5
    coverage.test_what_is_needed_is_what_a_longer_log_shows()


def test_check_9_a_replay_is_the_loop_over_ask_and_tell() -> None:
    log, policy = replaying.uniform_log(901, n=500), Infex(Softened(LinUCB(), 0.3), every(7))
    found = evaluation.replay(log, policy, rounds=90, seed=9)
    bandit, rows = replaying.by_hand(log, policy, 90, dim=3, seed=9)
    assert (found.rows.tolist(), found.bandit.digest()) == (rows, bandit.digest())
    assert np.flatnonzero(found.explored).tolist() == list(range(6, 90, 7))  # of accepted rounds
    with pytest.raises(NoSupport):
        evaluation.replay(Log(arm=log.arm, reward=log.reward, offers=log.offers), policy)


def test_check_10_what_is_learnt_from_a_log_is_what_the_live_bandit_knows(tmp_path: Path) -> None:
    rng, policy = np.random.default_rng(1001), Infex(Softened(LinUCB()), jittered(5))
    live = Bandit(rng.normal(size=(4, 3)) / 3, policy, seed=4, log=tmp_path / "log")
    for _ in range(80):
        live.tell(live.ask(), float(rng.normal()))
    warm = evaluation.bandit(evaluation.read(tmp_path / "log"), policy)
    live.log_to(None)
    assert np.allclose(warm.theta, live.theta, rtol=1e-12, atol=1e-12)
    for _ in range(100):
        ours, yours = warm.ask(), live.ask()
        assert (ours.arm, ours.explored) == (yours.arm, yours.explored)
        for bandit, decision in ((warm, ours), (live, yours)):
            bandit.tell(decision, float(ours.arm))
    assert learning.floors_held(runs=40, seed=1002) >= 0.95
    learning.test_without_pessimism_the_learnt_policy_is_greedy()


def test_check_11_a_log_keeps_every_bit_and_spoilt_files_are_refused(tmp_path: Path) -> None:
    log, target = soft_log(1101, n=400)
    evaluation.write(log, tmp_path / "log.parquet")
    again = evaluation.read(tmp_path / "log.parquet")
    assert again.propensity is not None
    assert (again.arm.tolist(), again.reward.tolist()) == (log.arm.tolist(), log.reward.tolist())
    assert again.propensity.tobytes() == np.asarray(log.propensity).tobytes()
    one, other = (evaluation.evaluate(each, {"x": target}, estimator="ips")["x"] for each in (log, again))
    assert one.value == other.value
    test_fuzzed.check(tmp_path, 100, 1102)


def test_check_12_a_longer_log_takes_no_more_memory(tmp_path: Path) -> None:
    """Seconds are measured by `benchmarks/evaluation.py` and `logs.py`; no test depends on speed."""
    short, long = (test_long_files.assert_small(tmp_path, millions) for millions in (2, 6))
    assert long - short < 100  # four million rows more, as a whole, take 190
