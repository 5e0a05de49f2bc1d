"""A study that learnt from a log before its first decision: replayed, continued and erased like the rest."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex.errors import InvalidLog, InvalidSetting, NotReady, OtherSettings, RewardOutOfRange
from infex.logs import Log, write
from infex.study.study import Study
from infex.study.warm_start import warm_start_of
from tests.study.studies import ARMS, POLICY, entries_of, replayed, shop, url_in

LABELS = ["a", "b", "c"]
FIXED: dict[str, Any] = {"arms": ARMS, "labels": LABELS}
VISITOR = infex.features.table(numbers={"age": (18, 90)}, categories={"country": ["FR", "DE"]})


def last_month(seed: int, rows: int = 50, **more: Any) -> Log:
    """A log of rows, some without a reward, whose arms have other places than in the study."""
    rng = np.random.default_rng(seed)
    reward = np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows))
    units = np.array([f"u{n}" for n in rng.integers(9, size=rows)])
    return Log(arm=rng.integers(3, size=rows), reward=reward, labels=("c", "a", "b"), unit=units, **more)


def ridge(log: Log, without: str = "") -> Any:
    gram, sums = np.eye(2), np.zeros(2)
    assert log.unit is not None
    for n in np.flatnonzero(log.rewarded):
        if log.unit[n] != without:
            x = np.array(ARMS[LABELS.index(str(log.label(int(log.arm[n]))))])
            gram += np.outer(x, x)
            sums += log.reward[n] * x
    return np.linalg.solve(gram, sums)


@pytest.mark.parametrize("seed", range(5))
def test_it_knows_what_the_log_tells_and_its_rounds_begin_at_one(tmp_path: Path, seed: int) -> None:
    log = last_month(seed, rows=200)
    with shop(tmp_path, learn_from=log, **FIXED) as study:
        np.testing.assert_allclose(study.bandit().theta, ridge(log), rtol=1e-12)
        assert study.bandit().t == 0
        assert study.ask("first").t == 1
        assert replayed(study) == study.digest()
        assert study.verify().holds
        np.testing.assert_allclose(study.bandit().theta, ridge(log), rtol=1e-12)
        assert study.bandit().taught.matches(log)  # evaluation refuses to weight it by that log
        kinds = [entry.kind for entry in entries_of(study)]
        assert kinds.count("log") == 1
        assert kinds.count("observation") == int(log.rewarded.sum())
        before = study.digest()
    with shop(tmp_path, learn_from=log) as study:  # the same again changes nothing
        assert study.digest() == before
        study.forget("u3")
        np.testing.assert_allclose(study.bandit().theta, ridge(log, without="u3"), rtol=1e-12)
        assert replayed(study) == study.digest()
    with shop(tmp_path, learn_from=log) as study:
        assert study.ask("second").t == 2
    with pytest.raises(OtherSettings, match="learns from the log"):
        shop(tmp_path, learn_from=last_month(seed + 100))


@pytest.mark.parametrize("log", [{"labels": LABELS}, {"arms": ARMS}], ids=["labels", "features"])
def test_the_same_log_changes_nothing_after_arms_went_and_features_came(
    tmp_path: Path, log: dict[str, Any]
) -> None:
    learnt = Log(arm=[0, 1, 2, 0], reward=[1.0, 0.0, 0.5, 1.0], **log)
    with shop(tmp_path, arms=ARMS, labels=log.get("labels"), learn_from=learnt) as study:
        study.remove_arms([1 if "arms" in log else "b"])
        study.extend(1)
        before = study.digest()
    for _ in range(2):
        with shop(tmp_path, learn_from=learnt) as study:
            assert study.digest() == before
            study.ask("order")
            before = study.digest()
    with pytest.raises(OtherSettings, match="learns from the log"):
        shop(tmp_path, learn_from=Log(arm=[0, 1, 2, 0], reward=[1.0, 0.0, 0.5, 0.0], **log))


def test_a_log_that_is_learnt_in_part_is_finished_before_anything_is_decided(tmp_path: Path) -> None:
    log = last_month(1, rows=40)
    with shop(tmp_path, "whole", learn_from=log, **FIXED) as study:
        theta = study.bandit().theta
    with shop(tmp_path, **FIXED) as study:
        named, rows = warm_start_of(log, study.bandit())
        assert study.learn_rows(named, 0, rows[:10]) == 10
    with shop(tmp_path) as study:
        with pytest.raises(NotReady, match="10 of"):
            study.ask("early")
        with pytest.raises(InvalidSetting, match="row 10 of"):
            study.learn_rows(named, 12, rows[12:14])
        assert study.learn_rows(named, 5, rows[5:20]) == 20  # those that were learnt count once
    with shop(tmp_path, learn_from=log) as study:
        assert study.bandit().theta.tolist() == theta.tolist()
        assert study.ask("now").t == 1
        assert replayed(study) == study.digest()


def test_those_held_out_get_the_greedy_arm_of_what_the_log_tells(tmp_path: Path) -> None:
    log = Log(arm=[2, 1, 2, 0], reward=[1.0, 0.0, 1.0, 0.0], labels=("a", "b", "c"))
    with shop(tmp_path, holdout=1.0, holdout_policy="greedy", learn_from=log, **FIXED) as study:
        assert study.ask("first").label == "c"
        assert replayed(study) == study.digest()


def test_a_log_is_learnt_from_before_the_first_decision_alone(tmp_path: Path) -> None:
    with shop(tmp_path, **FIXED) as study:
        study.ask("first")
        before = study.digest()
    with pytest.raises(InvalidSetting, match="before its first decision"):
        shop(tmp_path, learn_from=last_month(1))
    with shop(tmp_path) as study:
        assert study.digest() == before


def test_contexts_are_those_of_the_encoder_in_a_file_or_a_log(tmp_path: Path) -> None:
    features = infex.features.disjoint(["low", "high"], context=VISITOR)
    rng = np.random.default_rng(2)
    rows = [{"age": int(rng.integers(18, 90)), "country": ["FR", "DE"][rng.integers(2)]} for _ in range(30)]
    arms, rewards = [["low", "high"][n] for n in rng.integers(2, size=30)], rng.normal(size=30)
    lines = ["age,country,arm,reward"]
    lines += [
        f"{r['age']},{r['country']},{a},{x!r}" for r, a, x in zip(rows, arms, rewards.tolist(), strict=True)
    ]
    (tmp_path / "month.csv").write_text("\n".join(lines) + "\n")
    told = infex.Bandit(features=features, policy=POLICY)
    told.learn(rows, arms, rewards)
    with shop(tmp_path, "csv", features=features, learn_from=tmp_path / "month.csv") as study:
        np.testing.assert_allclose(study.bandit().theta, told.theta, rtol=1e-12)
        assert replayed(study) == study.digest()
    with shop(tmp_path, "first", features=features, policy=POLICY) as study:
        for n, (row, reward) in enumerate(zip(rows, rewards.tolist(), strict=True)):
            study.ask(f"k{n}", context=row, unit=f"u{n % 4}")
            study.tell(f"k{n}", reward)
        theta = study.bandit().theta
        study.export(tmp_path / "month.parquet")
    with shop(tmp_path, "parquet", features=features, learn_from=tmp_path / "month.parquet") as study:
        np.testing.assert_allclose(study.bandit().theta, theta, rtol=1e-12)
        assert study.forget("u1") > 0
    wider = infex.features.table(numbers={"age": (0, 90)}, categories={"country": ["FR", "DE"]})
    other = infex.features.disjoint(["low", "high"], context=wider)
    with pytest.raises(InvalidLog, match="another encoder"):
        shop(tmp_path, "wider", features=other, learn_from=tmp_path / "month.parquet")


@pytest.mark.parametrize(
    ("settings", "log", "words"),
    [
        (FIXED, {"labels": None}, "have labels, and those of the log have none"),
        (FIXED, {"labels": ("a", "b", "z")}, "'z', which the study has not"),
        ({"arms": ARMS}, {"labels": None, "count": 5}, "5 arms, and the study 3"),
        ({"arms": ARMS}, {"labels": None, "arms": np.eye(3)[:, :2]}, "other features"),
        ({"dim": 2}, {}, "must tell their features"),
        ({"features": infex.features.disjoint(LABELS, context_dim=2)}, {}, "must have them"),
    ],
)
def test_a_log_that_does_not_fit_the_study_is_refused(
    tmp_path: Path, settings: dict[str, Any], log: dict[str, Any], words: str
) -> None:
    words_of_log: dict[str, Any] = {
        "arm": [0, 1, 2],
        "reward": [1.0, 0.0, 0.5],
        "labels": ("a", "b", "c"),
        **log,
    }
    with pytest.raises(InvalidLog, match=words):
        shop(tmp_path, learn_from=Log(**words_of_log), **settings)
    with pytest.raises(InvalidLog, match="a log or the file of one"):
        shop(tmp_path, "number", learn_from=7, **FIXED)


def test_a_log_that_fails_leaves_a_study_that_decides_nothing_until_one_is_learnt(tmp_path: Path) -> None:
    wrong = Log(arm=[0, 1, 2, 0], reward=[0.0, 1.0, 0.5, 5.0], labels=("a", "b", "c"))
    with pytest.raises(RewardOutOfRange, match="row 3"):
        shop(tmp_path, learn_from=wrong, rewards=(0, 1), **FIXED)
    with shop(tmp_path) as study:
        with pytest.raises(NotReady, match="is to learn from a log"):
            study.ask("early")
        assert not [entry for entry in entries_of(study) if entry.kind in ("log", "observation")]
    right = Log(arm=[0, 1, 2, 0], reward=[0.0, 1.0, 0.5, 1.0], labels=("a", "b", "c"))
    with shop(tmp_path, learn_from=right) as study:
        assert study.ask("early").t == 1


def test_arms_that_come_with_each_request_are_learnt_by_their_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    offers = rng.normal(size=(20, 3, 2)) / 3
    log = Log(arm=rng.integers(3, size=20), reward=rng.normal(size=20), offers=offers, explored=[True] * 20)
    told = infex.Bandit(dim=2, policy=POLICY)
    told.learn(arms=offers[np.arange(20), log.arm], rewards=log.reward)
    write(log, tmp_path / "log.parquet")
    with shop(tmp_path, dim=2, policy=POLICY, learn_from=tmp_path / "log.parquet") as study:
        np.testing.assert_allclose(study.bandit().theta, told.theta, rtol=1e-12)
    assert infex.studies(url_in(tmp_path)) == ["shop"]
    with Study.open(url_in(tmp_path), "shop") as study:
        assert replayed(study) == study.digest()
