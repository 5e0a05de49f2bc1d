"""Rewards that are put right, add up, or are erased: the state is as if they had come so, or never."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import features, models
from infex.errors import AlreadyTold, DamagedFile, InvalidSetting, NotKept, StoreFailed, UnknownDecision
from infex.models.noise import SquaredRewards
from infex.study import executor
from infex.study.events import Decided, event_of
from infex.study.inspection import log_rows
from infex.study.snapshot import load_state
from infex.study.state import tracked_decisions
from infex.study.stores.base import reading
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.study.studies import ARMS, POLICY, Clock, entries_of, replayed, shop, url_in

SHOP = features.disjoint(["tea", "juice"], context_dim=3)
MAPS: dict[str, dict[str, Any]] = {
    "fixed arms": {"arms": ARMS},
    "disjoint": {"features": SHOP},
    "interactions": {"features": features.interactions(np.eye(2), context_dim=3)},
    "own data": {"arms": ARMS, "policy": infex.Infex(infex.LinUCB(), infex.every(3), data="own")},
    "logistic": {"arms": ARMS, "estimator": models.Logistic()},
}


def contexts_of(settings: dict[str, Any], count: int) -> list[Any]:
    rng = np.random.default_rng(2)
    return [None if "arms" in settings else rng.uniform(-0.5, 0.5, 3).tolist() for _ in range(count)]


def sums(study: Study) -> list[np.ndarray[Any, Any]]:
    """V and b, of all rewards and of exploring rounds."""
    return sums_of(study.bandit())


def sums_of(bandit: infex.Bandit) -> list[np.ndarray[Any, Any]]:
    memory = bandit._agent.model
    kept = [memory.all] if memory.explored is None else [memory.all, memory.explored]
    return [np.asarray(array) for each in kept for array in (each.posterior().theta, each.posterior().factor)]


@pytest.mark.parametrize("name", MAPS)
def test_a_correction_is_as_if_the_reward_had_come_so(tmp_path: Path, name: str) -> None:
    settings = MAPS[name]
    contexts = contexts_of(settings, 40)
    right = infex.Bandit(**{"policy": POLICY, "seed": 7, **settings})
    with shop(tmp_path, "wrong", **settings) as wrong:
        for n, context in enumerate(contexts):
            wrong.ask(f"k{n}", context=context, durable=False)
            wrong.tell(f"k{n}", n % 2, durable=False)
        for n in (3, 17, 31):
            assert wrong.correct(f"k{n}", 0.0, reason="cents") == wrong.correct(f"k{n}", 0.0) == "corrected"
        for entry in entries_of(wrong):  # what was decided stays: the same decisions are entered there
            content = event_of(entry).content
            if isinstance(content, Decided):
                right.enter(content.record(entry.key))
                n = int(entry.key[1:])
                right.tell(entry.key, 0 if n in (3, 17, 31) else n % 2)
        for found, expected in zip(sums(wrong), sums_of(right), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert replayed(wrong) == wrong.digest()
        assert wrong.metrics()["states"]["corrected"] == 3
    with shop(tmp_path, "wrong") as wrong:
        assert (wrong.state("k3"), wrong.explain("k3", prove=False).reward) == ("corrected", 0.0)
        with pytest.raises(AlreadyTold):
            wrong.tell("k3", 1.0)


def test_rewards_add_up_and_each_part_counts_once(tmp_path: Path) -> None:
    with shop(tmp_path, again="sum") as study, shop(tmp_path, "once") as once:
        for each in (study, once):
            each.ask("a")
        study.tell("a", 1.0, part="click")
        assert study.tell("a", 1.0, part="click") == "rewarded"
        study.tell("a", 2.0, part="euros")
        study.tell("a", -0.25)
        with pytest.raises(AlreadyTold, match=r"'euros' of decision 'a' was 2.0 already, got 2.1"):
            study.tell("a", 2.1, part="euros")
        assert study.explain("a", prove=False).reward == 2.75
        once.tell("a", 2.75)
        for found, expected in zip(sums(study), sums(once), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert replayed(study) == study.digest()
    with shop(tmp_path) as study:
        study.tell("a", 2.0, part="euros")
        assert study.explain("a", prove=False).reward == 2.75
        study.tell("a", 0.25, part="tip")
        assert study.explain("a", prove=False).reward == 3.0
        assert replayed(study) == study.digest()


def test_what_passed_unlearnt_can_be_put_right(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait=10) as study, shop(tmp_path, "plain") as plain:
        study.ask("a")
        with pytest.raises(UnknownDecision, match="'a' waits for its first reward: tell it"):
            study.correct("a", 1.0)
        clock.now += 20
        study.tell("a", 0.5)
        assert study.correct("a", 0.5) == "corrected"
        assert study.correct("a", 0.75) == "corrected"
        plain.ask("a")
        plain.tell("a", 0.75)
        for found, expected in zip(sums(study), sums(plain), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert replayed(study) == study.digest()


def test_a_late_reward_of_some_weight_is_told_once(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 day", default=0.0) as study:
        study.ask("order")
        clock.now += 2 * 86_400.0
        assert study.tell("order", 5.0, weight=2.0) == "late"
        entries = study.metrics()["entries"]
        assert study.tell("order", 5.0, weight=2.0) == "late"
        assert study.metrics()["entries"] == entries
        with pytest.raises(AlreadyTold):
            study.tell("order", 5.0)


def test_what_cannot_be_put_right_exactly_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    joint = features.hybrid(features.interactions(np.eye(2), context_dim=3))
    with shop(tmp_path, features=joint) as study:
        for n in range(10):
            study.ask(f"k{n}", context=[0.1 * n, 0.2, 0.1], offered=[n % 2])
            study.tell(f"k{n}", 1.0)
        study.remove_arms([0])
        before = study.digest()
        with pytest.raises(NotKept, match="the arm of this decision was removed"):
            study.correct("k2", 0.0)
        assert study.digest() == before
        assert study.correct("k3", 0.0) == "corrected"
        assert replayed(study) == study.digest()


@pytest.mark.parametrize("name", MAPS)
def test_what_is_forgotten_was_never_learnt(tmp_path: Path, name: str) -> None:
    settings = MAPS[name]
    contexts = contexts_of(settings, 40)
    with shop(tmp_path, **settings) as study:
        for n, context in enumerate(contexts):
            study.ask(f"k{n}", context=context, unit=f"customer-{n % 4}", durable=False)
            if n % 3:
                study.tell(f"k{n}", n % 2, durable=False)
        study.correct("k1", 0.0)
        study.flush()
        spent = study.metrics()["exploration"]
        others = [entry for entry in entries_of(study) if entry.unit != "customer-1"]
        assert study.forget("customer-1", reason="asked for it") == 18
        assert study.forget("customer-1") == 0
        assert study.metrics()["exploration"] == spent
        assert study.metrics()["states"]["erased"] == 10
        fresh = learnt_alone(settings, others)
        for found, expected in zip(sums(study), sums_of(fresh), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert replayed(study) == study.digest()
        assert study.state("k1") == "erased"
        for refused in (lambda: study.tell("k1", 1.0), lambda: study.ask("k1", context=contexts[1])):
            with pytest.raises(UnknownDecision, match="'k1' was erased"):
                refused()
        study.ask("more", context=contexts[0])
        assert sum(entry.is_erased for entry in entries_of(study)) == 18  # the chain holds
        after = study.digest()
    with shop(tmp_path) as study:
        assert study.digest() == after
    assert b"customer-1" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def learnt_alone(settings: dict[str, Any], entries: list[Any]) -> infex.Bandit:
    """A bandit that learnt the rewards of these entries, in their order, and no others."""
    bandit = infex.Bandit(**{"policy": POLICY, **settings})
    decisions = tracked_decisions(entry for entry in entries if entry.key)
    for entry in entries:
        if entry.kind == "reward":
            tracked = decisions[entry.key]
            assert tracked.decision is not None
            assert tracked.on is not None
            assert tracked.reward is not None
            bandit._agent.learn(tracked.decision.arm, tracked.on, tracked.reward, tracked.decision.explored)
    return bandit


ORDERED = {"discounted": models.Discounted(rate=0.5), "windowed": models.Windowed(size=3)}


@pytest.mark.parametrize("estimator", ORDERED)
@pytest.mark.parametrize("name", ["fixed arms", "disjoint", "own data"])
@pytest.mark.parametrize("first", ["correct", "forget", "open"])
def test_corrections_hit_their_rewards_where_others_before_are_forgotten(
    tmp_path: Path, estimator: str, name: str, first: str
) -> None:
    """The number of a reward was that of the journal, in which those that were erased count."""
    settings = {"policy": infex.Greedy(), **MAPS[name], "estimator": ORDERED[estimator]}
    contexts = contexts_of(settings, 7)
    with shop(tmp_path, **settings) as study:
        for n, context in enumerate(contexts):
            study.ask(f"k{n}", context=context, unit=f"u{n}")
            study.tell(f"k{n}", [0.9, 0.2, 0.3, 0.4, 0.7, 0.6, 0.1][n])
        if first == "correct":
            correct_last(study)
        for unit in ("u0", "u3"):
            study.forget(unit)
        if first == "forget":
            correct_last(study)
    with shop(tmp_path) as study:
        if first == "open":
            correct_last(study)
        assert replayed(study) == study.digest()
        fresh = learnt_alone(settings, [entry for entry in entries_of(study) if not entry.is_erased])
        for context in contexts:
            found = study.estimates(context=context).estimate
            np.testing.assert_allclose(found, fresh.estimates(context=context).estimate, rtol=1e-9, atol=1e-9)


def correct_last(study: Study) -> None:
    """Puts the last two rewards right, one of them twice."""
    for key, reward in (("k5", 0.8), ("k6", 0.4), ("k5", 0.5)):
        study.correct(key, reward)


def test_a_correction_outlives_all_rewards_before_it(tmp_path: Path) -> None:
    """It raised an IndexError: the window of the replay was shorter than that of the journal."""
    settings = {"arms": [[0.5]], "policy": infex.Greedy(), "estimator": models.Windowed(size=2)}
    with shop(tmp_path, **settings) as study:
        for key in ("a", "b"):
            study.ask(key, unit=key)
            study.tell(key, 0.9)
        study.correct("b", 0.5)
        assert study.forget("a") == 2
        assert study.estimates().estimate.tolist() == pytest.approx([0.5 * 0.25 / 1.25])


def test_forgetting_goes_on_where_a_process_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop(tmp_path) as study:
        study.ask_many([f"k{n}" for n in range(10)], units=[f"u{n % 2}" for n in range(10)])
        study.tell_many([f"k{n}" for n in range(10)], [1.0] * 10)
    study = shop(tmp_path)
    with monkeypatch.context() as stopped:
        errors = iter([KeyboardInterrupt(), StoreFailed("the disk is full")])
        stopped.setattr(SQLiteStore, "erase", lambda *_: (_ for _ in ()).throw(next(errors)))
        with pytest.raises(KeyboardInterrupt):
            study.forget("u1")
        study.close()
    with shop(tmp_path) as study:
        assert study.state("k1") == "erased"
        with reading(url_in(tmp_path)) as store:
            assert store.of_unit("shop", "u1") == []
        assert replayed(study) == study.digest()
        assert study.metrics()["states"]["rewarded"] == 5


@pytest.mark.parametrize("finished_by", ["close", "open", "forget"])
def test_a_unit_is_gone_although_erasing_it_failed_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished_by: str
) -> None:
    """The contents stayed for good: a snapshot was kept, as if they had been erased."""

    def refuse(*_: object) -> None:
        raise StoreFailed("the disk is full")

    def look(study: Study) -> None:
        for refused in (lambda: study.ask("k1", unit="ann@shop"), lambda: study.tell("k1", 1.0)):
            with pytest.raises(UnknownDecision, match="'k1' was erased"):
                refused()
        explained = study.explain("k1", contents=True)
        assert (explained.state, explained.unit, explained.reward) == ("erased", None, None)
        assert [row["unit"] for row in log_rows(study.url, "shop", "k1", contents=True)] == [None, None]
        assert study.export(tmp_path / "log.parquet").rows == 1
        assert study.lift().mean == 0.5
        assert replayed(study) == study.digest()

    study = shop(tmp_path)
    study.ask_many(["k1", "k2"], units=["ann@shop", "bob"])
    study.tell_many(["k1", "k2"], [1.0, 0.5])
    with monkeypatch.context() as failing:
        failing.setattr(SQLiteStore, "erase", refuse)
        with pytest.raises(StoreFailed, match="the disk is full"):
            study.forget("ann@shop")
        look(study)
        if finished_by == "open":
            study.close()
    if finished_by == "open":
        study = shop(tmp_path)
    elif finished_by == "forget":
        assert study.forget("bob") == 2
        study.ask("k3", unit="bob")
        study.tell("k3", 0.5)
    else:
        study.close()
        study = shop(tmp_path)
    with study, reading(study.url) as store:
        assert store.of_unit("shop", "ann@shop") == []
        look(study)
    assert b"ann@shop" not in b"".join(path.read_bytes() for path in tmp_path.glob("shop.db*"))


def test_what_comes_while_it_is_forgotten_is_forgotten_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(tmp_path) as study:
        study.ask("a", unit="u")
        study.ask("b", unit="v")
        calls: list[int] = []

        def meanwhile(*given: Any, **more: Any) -> Any:
            found = load_state(*given, **more)
            if not calls:
                study.tell("a", 1.0)
                study.tell("b", 0.5)
            calls.append(1)
            return found

        monkeypatch.setattr(executor, "load_state", meanwhile)
        assert study.forget("u") == 2
        assert len(calls) == 2
        assert replayed(study) == study.digest()
        assert study.metrics()["states"]["rewarded"] == 1
        with pytest.raises(InvalidSetting):
            study.forget("")


def test_nothing_is_left_of_a_pending_context_in_any_file_while_the_study_is_open(tmp_path: Path) -> None:
    """The snapshot from before, in which the decision waits, stayed in the file until it was closed."""
    context = [0.6180339887, 0.7861513777, 0.0]
    with shop(tmp_path, features=SHOP) as study:
        study.ask("a", context=context, unit="ann")
    with shop(tmp_path) as study:
        assert study.forget("ann") == 1
        files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert struct.pack("<d", context[0]) not in files
        assert repr(context[0]).encode() not in files


def test_a_reason_or_a_part_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """It was written, and the journal could not be replayed any more."""
    wrong: Any = 7
    with shop(tmp_path) as study:
        study.ask("a", unit="ann")
        for refused in (
            lambda: study.tell("a", 1.0, part=wrong),
            lambda: study.correct("a", 1.0, reason=wrong),
            lambda: study.forget("ann", reason=wrong),
            lambda: study.add_arms([[0.8, 0.6]], reason=wrong),
        ):
            with pytest.raises(InvalidSetting, match="must be a text, got 7"):
                refused()
        assert study.state("a") == "pending"
        assert replayed(study) == study.digest()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_of_rewards_that_were_nothing_can_be_saved(
    tmp_path: Path, shared: bool, seed: int
) -> None:
    joint = features.hybrid(features.interactions(np.eye(2), context_dim=3))
    rewards = np.random.default_rng(seed).uniform(0.0, 1.0, 6).tolist()
    with shop(tmp_path, features=joint if shared else SHOP) as study:
        for n, reward in enumerate(rewards):
            study.ask(f"k{n}", context=[0.3, 0.2, 0.1])
            study.tell(f"k{n}", reward)
        for n in range(6):
            study.correct(f"k{n}", 0.0)
        bandit = study.bandit()
        bandit.save(tmp_path / "bandit.npz")
        assert infex.Bandit.load(tmp_path / "bandit.npz").digest() == bandit.digest()
        study.extend(1)
        assert replayed(study) == study.digest()


def test_a_file_with_less_than_nothing_left_by_rounding_loads() -> None:
    found = SquaredRewards.restored([-1e-16, 0.0, 0.0], 2.0)
    assert found.figures == (0.0, 0.0, 0.0)
    with pytest.raises(DamagedFile, match="squares of rewards cannot be below 0"):
        SquaredRewards.restored([-0.1, 0.0, 0.0], 2.0)


SETTINGS_OF_SHARED = {
    "fixed arms": {"arms": ARMS},
    "interactions": {"features": features.interactions(ARMS, context_dim=3)},
}


def rows_of(settings: dict[str, Any], arms: list[int], contexts: list[Any]) -> np.ndarray[Any, Any]:
    """What each reward was learnt on, one regression for all arms: with the two features added later as 0."""
    if "arms" in settings:
        return np.array([[*ARMS[arm], 0.0, 0.0] for arm in arms])
    rows = [
        np.outer(ARMS[arm], [*context, 0.0, 0.0]).ravel() for arm, context in zip(arms, contexts, strict=True)
    ]
    return np.array(rows)


def ridge(rows: np.ndarray[Any, Any], rewards: list[float]) -> np.ndarray[Any, Any]:
    """Theta of a ridge regression with the penalty 1."""
    theta: np.ndarray[Any, Any] = np.linalg.solve(np.eye(rows.shape[1]) + rows.T @ rows, rows.T @ rewards)
    return theta


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SETTINGS_OF_SHARED)
@pytest.mark.parametrize("reopened", [False, True], ids=["live", "reopened"])
def test_a_correction_after_arms_went_and_features_came_is_that_of_a_ridge_on_corrected_data(
    tmp_path: Path, name: str, seed: int, reopened: bool
) -> None:
    settings, rng = SETTINGS_OF_SHARED[name], np.random.default_rng(seed)
    contexts = [None if "arms" in settings else rng.uniform(-0.5, 0.5, 3).tolist() for _ in range(60)]
    rewards = rng.uniform(-1.0, 1.0, 60).tolist()
    study = shop(tmp_path, **settings)
    arms = [study.ask(f"k{n}", context=each).arm for n, each in enumerate(contexts)]
    study.tell_many([f"k{n}" for n in range(30)], rewards[:30])
    study.remove_arms([0])
    study.extend(2)
    if reopened:  # from a snapshot, in which half of the decisions wait
        study.close()
        study = shop(tmp_path)
    with study:
        study.tell_many([f"k{n}" for n in range(30, 60)], rewards[30:])
        for n in rng.choice(60, 12, replace=False).tolist():
            rewards[n] = float(rng.uniform(-1.0, 1.0))
            assert study.correct(f"k{n}", rewards[n]) == "corrected"
        theta = ridge(rows_of(settings, arms, contexts), rewards)
        if "arms" in settings:
            asked, left = {}, np.array([[*row, 0.0, 0.0] for row in ARMS[1:]])
        else:
            context = rng.uniform(-0.4, 0.4, 5)
            asked = {"context": context.tolist()}
            left = np.array([np.outer(row, context).ravel() for row in ARMS[1:]])
        found = study.estimates(**asked).estimate
        np.testing.assert_allclose(found, left @ theta, rtol=1e-9, atol=1e-9)
        assert replayed(study) == study.digest()


@pytest.mark.parametrize("seed", range(3))
def test_a_correction_where_each_arm_has_a_regression_changes_that_of_its_arm_alone(
    tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    contexts = rng.uniform(-0.4, 0.4, (60, 3))
    rewards = rng.uniform(-1.0, 1.0, 60).tolist()
    with shop(tmp_path, features=features.disjoint(["tea", "juice", "wine"], context_dim=3)) as study:
        labels = [
            study.ask(f"k{n}", context=each, offered=[["tea", "juice", "wine"][n % 3]]).label
            for n, each in enumerate(contexts.tolist())
        ]
        study.tell_many([f"k{n}" for n in range(60)], rewards)
        study.remove_arms("juice")
        study.add_arms("juice")  # another arm of the same name, of which nothing is known
        study.extend(1)
        for n in range(0, 60, 4):
            rewards[n] = float(rng.uniform(-1.0, 1.0))
            assert study.correct(f"k{n}", rewards[n]) == "corrected"
        asked = rng.uniform(-0.4, 0.4, 4)
        estimates = study.estimates(context=asked.tolist())
        found = dict(zip(estimates.label.tolist(), estimates.estimate.tolist(), strict=True))
        for label in ("tea", "wine"):
            mine = [n for n in range(60) if labels[n] == label]
            theta = ridge(np.c_[contexts[mine], np.zeros(len(mine))], [rewards[n] for n in mine])
            assert found[label] == pytest.approx(asked @ theta, abs=1e-9)
        assert found["juice"] == 0.0
        assert replayed(study) == study.digest()


def test_a_reward_that_never_came_can_be_put_right_after_arms_went(tmp_path: Path) -> None:
    clock = Clock()
    maps = features.interactions(ARMS, context_dim=2)
    with shop(tmp_path, clock=clock, features=maps, wait=10) as study:
        decisions = [study.ask(f"k{n}", context=[0.5, 0.1 * n], offered=[n % 3]) for n in range(6)]
        clock.now += 20
        study.remove_arms([0])
        for n in range(6):
            study.correct(f"k{n}", 0.5)
        rows = np.array([np.outer(ARMS[d.arm], [0.5, 0.1 * n]).ravel() for n, d in enumerate(decisions)])
        theta = ridge(rows, [0.5] * 6)
        found = study.estimates(context=[0.3, 0.4])
        expected = [np.outer(row, [0.3, 0.4]).ravel() @ theta for row in ARMS[1:]]
        np.testing.assert_allclose(found.estimate, expected, atol=1e-9)
        assert found.pulls.tolist() == [2, 2]  # of the arms that are left
        assert replayed(study) == study.digest()


@pytest.mark.parametrize("seed", range(3))
def test_a_bandit_takes_a_second_reward_after_arms_went_and_features_came(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bandit = infex.Bandit(ARMS, POLICY, remembers=100)
    decisions = [bandit.ask() for _ in range(50)]
    rewards = rng.uniform(-1.0, 1.0, 50)
    for decision, reward in zip(decisions, rewards, strict=True):
        bandit.tell(decision, reward)
    bandit.remove_arms([0])
    bandit.extend(1)
    for n in range(0, 50, 3):
        rewards[n] = rng.uniform(-1.0, 1.0)
        bandit.tell(decisions[n], rewards[n], on_duplicate="replace")
    rows = np.array([[*ARMS[decision.arm], 0.0] for decision in decisions])
    theta = ridge(rows, rewards.tolist())
    left = np.array([[*row, 0.0] for row in ARMS[1:]])
    np.testing.assert_allclose(bandit.estimates().estimate, left @ theta, rtol=1e-9, atol=1e-9)
