"""Whoever has learnt from a log is not weighed by the same log: it is recognised, saved or not."""

from pathlib import Path

import numpy as np
import pytest

from infex import Bandit, Greedy, Infex, LinUCB, Softened, evaluation, jittered
from infex.bandit import archive
from infex.errors import DamagedFile, InvalidTarget
from infex.evaluation import Log
from infex.logs.log import Fingerprint, window_hashes
from infex.policies import Uniform

ARMS = np.array([[0.6, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.8], [0.4, 0.4, 0.4]])


def drawn(rounds: int, seed: int, *, clicks: float | None = None) -> Log:
    """A log of arms drawn uniformly."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(4, size=rounds)
    reward = ARMS[arm] @ [0.5, 0.2, 0.1] + 0.3 * rng.normal(size=rounds)
    if clicks is not None:
        reward = (rng.random(rounds) < clicks).astype(float)
    return Log(arm=arm, reward=reward, propensity=np.full(rounds, 0.25), arms=ARMS)


def refused(log: Log, target: object) -> bool:
    """Is it judged by the model alone?"""
    found = evaluation.evaluate(log, {"it": target})["it"]
    if "learnt from this very log" not in found.why:
        return False
    with pytest.raises(InvalidTarget, match="learnt from this very log"):
        evaluation.evaluate(log, {"it": target}, estimator="ips")
    return found.estimator == "dm"


def test_a_bandit_taught_by_a_log_is_recognised_after_saving_copying_and_merging(tmp_path: Path) -> None:
    log, other = drawn(1000, 0), drawn(1000, 1)
    warm = evaluation.bandit(log, Greedy(), penalty=2.0)
    assert refused(log, warm)
    assert not refused(other, warm)
    warm.tell(warm.ask(), 0.5)
    warm.save(tmp_path / "warm.infex")
    assert refused(log, Bandit.load(tmp_path / "warm.infex"))
    merged = evaluation.bandit(other, Greedy(), penalty=2.0)
    merged.apply(warm.changes())
    assert refused(log, merged)
    assert refused(other, merged)


def test_parts_of_what_was_learnt_are_recognised_in_any_order() -> None:
    log = drawn(3000, 2)
    warm = evaluation.bandit(log, Greedy(), penalty=2.0)
    assert refused(log.take(slice(640, 1280)), warm)
    half = evaluation.bandit(log.take(slice(0, 1500)), Greedy())
    assert refused(log, half)
    assert not refused(log.take(slice(1536, 3000)), half)


def test_a_bandit_of_parts_is_recognised_by_the_whole_and_by_parts() -> None:
    log = drawn(4000, 3)
    parts = [log.take(slice(first, first + 1000)) for first in range(0, 4000, 1000)]
    warm = evaluation.bandit_of_parts(parts, Greedy(), penalty=2.0)
    assert refused(log, warm)
    found = evaluation.evaluate_parts(parts, {"warm": warm, "flat": Uniform()}, rewards=(-3, 3))
    assert found["warm"].ips is None
    assert found["flat"].ips is not None
    others = [drawn(1000, 100 + number) for number in range(4)]
    assert evaluation.evaluate_parts(others, {"warm": warm})["warm"].ips is not None


def test_marks_of_few_rounds_each_add_up_over_many_parts() -> None:
    """No part by itself shares more marks than chance would."""
    log = drawn(64 * 400, 4)
    warm = evaluation.bandit(log, Greedy(), penalty=2.0)
    parts = [log.take(slice(64 * n, 64 * n + 64)) for n in range(0, 400)]
    assert evaluation.evaluate_parts(parts, {"warm": warm})["warm"].ips is None


def test_a_live_bandit_is_recognised_by_the_log_it_wrote(tmp_path: Path) -> None:
    policy = Infex(Softened(LinUCB(), 0.5), jittered(4))
    bandit = Bandit(ARMS, policy, log=tmp_path / "log", seed=1)
    rng = np.random.default_rng(5)
    for _ in range(400):
        decision = bandit.ask()
        bandit.tell(decision, float(ARMS[decision.arm, 0] + 0.1 * rng.normal()))
    bandit.save(tmp_path / "bandit.infex")
    log = evaluation.read(tmp_path / "log")
    assert refused(log, bandit)
    later = Bandit.load(tmp_path / "bandit.infex")
    later.tell(later.ask(), 0.1)
    assert refused(log, later)
    evaluation.write(log, tmp_path / "log.parquet")
    assert refused(evaluation.read(tmp_path / "log.parquet"), later)
    stranger = Bandit(ARMS, policy, seed=2)
    stranger.tell(stranger.ask(), 0.3)
    assert not refused(log, stranger)


def test_a_bandit_that_was_told_the_log_by_hand_is_recognised_by_its_estimate() -> None:
    log = drawn(500, 6)
    bandit = Bandit(ARMS, Greedy())
    bandit.learn(arms=log.arm, rewards=log.reward)
    assert refused(log, bandit)


def test_a_learnt_policy_is_weighed_by_other_logs_alone() -> None:
    log, other = drawn(1000, 7), drawn(1000, 8)
    learnt = evaluation.learn(log, noise=0.3, bound=1.0)
    assert refused(log, learnt.policy)
    assert not refused(other, learnt.policy)


@pytest.mark.parametrize("clicks", [0.01, 0.3])
def test_logs_of_clicks_that_have_nothing_in_common_are_not_taken_for_each_other(clicks: float) -> None:
    taught = [Fingerprint.of(drawn(20_000, seed, clicks=clicks)) for seed in range(10)]
    strangers = [drawn(20_000, seed, clicks=clicks) for seed in range(20, 25)]
    assert not any(each.matches(log) for each in taught for log in strangers)


def test_a_log_whose_rewards_never_vary_has_no_marks() -> None:
    log = Log(arm=[0] * 300, reward=[0.0] * 300)
    assert window_hashes(log).size == 0
    assert not Fingerprint.of(log).matches(log)
    assert window_hashes(Log(arm=[0], reward=[float("nan")])).size == 0


def test_marks_in_a_file_are_looked_at(tmp_path: Path) -> None:
    bandit = Bandit([[1.0]], Greedy())
    kept: list[object] = [{}, [1.5], [-1], [2**64], [True], list(range(257))]
    for bad in kept:
        bandit.save(tmp_path / "a.infex")
        header, arrays = archive.read(tmp_path / "a.infex")
        archive.write(tmp_path / "a.infex", header | {"taught": bad}, arrays)
        with pytest.raises(DamagedFile, match="log"):
            Bandit.load(tmp_path / "a.infex")
