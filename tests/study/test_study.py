"""A study: the same key gives the same decision, rewards count once, and the journal is the truth."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import features, models
from infex.errors import (
    AlreadyTold,
    AnotherRequest,
    InvalidContext,
    InvalidReward,
    InvalidSetting,
    NoRecord,
    OtherSettings,
    StoreFailed,
    StoreInUse,
    UnknownDecision,
    UnknownStudy,
)
from infex.policies import EXP2, EnsembleSampling, PhasedElimination, SupLinUCB
from infex.registry import label_of
from infex.study import snapshot
from infex.study.stores.base import reading
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.study.studies import ARMS, POLICY, Clock, pulls, replayed, shop, url_in
from tests.waiting import until

VISITOR = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]}, missing="flag", beyond="clip")


def test_the_same_key_gives_the_same_decision_and_takes_no_round(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        first = study.ask("order-1", unit="ann")
        assert study.ask("order-1", unit="ann") == first
        study.tell("order-1", 0.5)
        assert study.ask("order-1", unit="ann") == first
        assert study.ask("order-2").t == 2
    with shop(tmp_path) as study:
        assert study.ask("order-1", unit="ann") == first
        assert study.ask("order-3").t == 3


def test_another_request_under_a_key_is_refused(tmp_path: Path) -> None:
    with shop(tmp_path, features=features.disjoint(["tea", "juice"], context=VISITOR)) as study:
        first = study.ask("order-1", context={"age": 45, "country": "FR"})
        assert study.ask("order-1", context={"country": "FR", "age": 45}) == first
        for other in ({"context": {"age": 46, "country": "FR"}}, {"context": {"age": 45}, "unit": "ann"}):
            with pytest.raises(AnotherRequest, match="something else was asked under the key 'order-1'"):
                study.ask("order-1", **other)
        study.tell("order-1", 1.0)
        with pytest.raises(AnotherRequest) as refusal:
            study.ask("order-1", context={"age": 46, "country": "FR"})
        assert "46" not in str(refusal.value)  # contexts of customers go to no log


def test_a_reward_counts_once(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.ask("a")
        assert study.state("a") == "pending"
        assert study.tell("a", 0.5) == study.tell("a", 0.5) == study.state("a") == "rewarded"
        with pytest.raises(AlreadyTold, match=r"'a' has the reward 0.5 already, got 0.6: correct it"):
            study.tell("a", 0.6)
        with pytest.raises(UnknownDecision, match="study 'shop' never took a decision 'b'"):
            study.tell("b", 0.5)
        for wrong in (float("nan"), "1", True, 1e200):
            with pytest.raises(InvalidReward):
                study.tell("a", wrong)
        assert pulls(study) == 1
    with shop(tmp_path) as study:
        assert study.tell("a", 0.5) == "rewarded"
        with pytest.raises(AlreadyTold):
            study.tell("a", 0.6)


@pytest.mark.parametrize("key", ["", "infex:x", "x" * 201, 7, None, "a\0b", "a\ud800"])
def test_keys_are_texts(tmp_path: Path, key: Any) -> None:
    with shop(tmp_path) as study:
        with pytest.raises(InvalidSetting, match="a key must be a text"):
            study.ask(key)
        with pytest.raises((UnknownDecision, InvalidSetting)):
            study.tell(key, 1.0)
        assert study.metrics()["entries"] == 1


def test_what_is_refused_leaves_nothing_in_the_journal(tmp_path: Path) -> None:
    with shop(tmp_path, features=features.disjoint(["tea", "juice"], context_dim=2)) as study:
        for wrong in ([0.1], [3.0, 4.0], None, "tea"):
            with pytest.raises(InvalidContext):
                study.ask("a", context=wrong)
        with pytest.raises(InvalidSetting, match="context must be finite"):
            study.ask("a", context=[0.1, float("nan")])
        with pytest.raises(InvalidSetting, match="got a Clock"):
            study.ask("a", context=Clock())
        with pytest.raises(TypeError):
            study.ask("a", context=[0.1, 0.2], surprise=1)
        assert study.metrics()["entries"] == 1
        assert study.ask("a", context=np.array([0.1, 0.2], dtype=np.float32)).t == 1


def work_through(study: Study, contexts: list[Any], seed: int = 3) -> None:
    """Asks, tells some rewards late, some never, some twice."""
    rng = np.random.default_rng(seed)
    waiting: list[str] = []
    for place, context in enumerate(contexts):
        key = f"{seed}-{place}"
        study.ask(key, context=context, unit=f"u{place % 7}", durable=False)
        waiting.append(key)
        while waiting and rng.random() < 0.45:
            told = waiting.pop(int(rng.integers(len(waiting))))
            study.tell(told, float(rng.random()), durable=False)


PROBLEMS: dict[str, dict[str, Any]] = {
    "fixed arms": {"arms": ARMS, "labels": ["a", "b", 3]},
    "thompson": {"arms": ARMS, "policy": infex.Infex(infex.LinTS(), infex.jittered(4))},
    "limits": {
        "arms": ARMS,
        "policy": infex.Infex(infex.LinUCB(), infex.guarded(infex.every(3), 2.0)),
    },
    "switching": {"arms": ARMS, "policy": infex.policies.RarelySwitchingUCB()},
    "disjoint": {"features": features.disjoint(["tea", "juice"], context=VISITOR)},
    "interactions": {"features": features.interactions(np.eye(3), context_dim=2)},
    "hybrid": {"features": features.hybrid(features.interactions(np.eye(3), context_dim=2))},
    "rewards": {"arms": ARMS, "rewards": (0, 1)},
    "remembering": {"arms": ARMS, "remembers": 10},
    "windowed": {"arms": ARMS, "estimator": models.Windowed(size=20)},
    "ignoring": {"arms": ARMS, "pending": "ignore", "penalty": 0.5, "allowed": [True, False, True]},
}


def contexts_for(problem: dict[str, Any], count: int) -> list[Any]:
    rng = np.random.default_rng(5)
    if "arms" in problem:
        return [None] * count
    if isinstance(problem["features"], features.Disjoint):
        return [{"age": float(rng.integers(10, 90)), "country": "FR"} for _ in range(count)]
    return [rng.uniform(-0.5, 0.5, 2) for _ in range(count)]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_replay_gives_the_live_state_to_the_last_bit(tmp_path: Path, problem: str) -> None:
    settings = PROBLEMS[problem]
    contexts = contexts_for(settings, 120)
    bandit = infex.Bandit(**{"policy": POLICY, "seed": 7, **settings})
    study = shop(tmp_path, **settings)
    work_through(study, contexts[:60])
    assert replayed(study) == study.digest()
    study.close()
    with shop(tmp_path) as study:  # from the snapshot
        work_through(study, contexts[60:], seed=4)
        assert replayed(study) == study.digest()
        for decision in study.bandit().pending:
            assert study.explain(decision.id, prove=False).decision == decision
    assert bandit.ask(context=contexts[0], id="3-0") == decision_of(tmp_path, "3-0")


def decision_of(folder: Path, key: str) -> Any:
    with shop(folder) as study:
        return study.explain(key, prove=False).decision


def test_a_study_decides_as_a_bandit_does(tmp_path: Path) -> None:
    bandit = infex.Bandit(ARMS, POLICY, seed=7)
    with shop(tmp_path) as study:
        for n in range(40):
            assert study.ask(f"k{n}") == bandit.ask(id=f"k{n}")
            if n % 3:
                study.tell(f"k{n}", n % 2)
                bandit.tell(f"k{n}", n % 2)
        assert study.bandit().digest() == bandit.digest()


def test_arms_that_change_every_round_and_masks(tmp_path: Path) -> None:
    sets = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 3, 2))
    with shop(tmp_path, dim=2) as study:
        for n, arms in enumerate(sets):
            study.ask(f"k{n}", arms=arms, labels=["x", "y", "z"], allowed=[True, True, n % 2 == 0])
            study.tell(f"k{n}", 0.5)
        assert replayed(study) == study.digest()


def test_what_a_request_offers_and_forbids_is_in_the_journal(tmp_path: Path) -> None:
    teas = features.disjoint(["tea", "juice", "water"], context_dim=2)
    with shop(tmp_path, features=teas) as study:
        rules: dict[str, Any] = {"context": [0.6, 0.8], "offered": ["juice", "water"], "explore": False}
        first = study.ask("a", **rules)
        assert (first.label, first.explored) == ("juice", False)
        assert study.ask("a", **rules) == first
        for other in ({"offered": ["juice"]}, {"explore": True}):
            with pytest.raises(AnotherRequest):
                study.ask("a", **rules | other)
        for place in range(30):
            offered = [["tea", "juice"], ["water"], ["juice", "water"]][place % 3]
            decision = study.ask(f"{place}", context=[0.1, 0.2], offered=offered, explore=place % 4 > 0)
            assert decision.label in offered
            study.tell(f"{place}", float(place % 2))
        number = study.metrics()["entries"]
        with pytest.raises(infex.errors.UnknownArm, match="no arm is called 'beer'"):
            study.ask("b", context=[0.1, 0.2], offered=["beer"])
        assert study.metrics()["entries"] == number
        assert replayed(study) == study.digest()
        assert study.explain("a").decision == first


def test_offers_and_requests_not_to_explore(tmp_path: Path) -> None:
    with shop(tmp_path, arms=ARMS, labels=["a", "b", "c"]) as study:
        for n in range(20):
            offered = [["a", "b"], np.array([False, True, True]), None][n % 3]
            decision = study.ask(f"k{n}", offered=offered, explore=n % 2 == 0)
            assert decision.label in (["a", "b"], ["b", "c"], ["a", "b", "c"])[n % 3]
            study.tell(f"k{n}", 0.5)
            assert study.explain(f"k{n}").proven is True
        assert [offer.offered for offer in study.explain("k1").offers] == [False, True, True]
        assert replayed(study) == study.digest()
        with pytest.raises(AnotherRequest):
            study.ask("k0", offered=["a"], explore=True)


def test_a_range_of_rewards_holds_after_a_restart(tmp_path: Path) -> None:
    shop(tmp_path, rewards=(0, 1)).close()
    with shop(tmp_path) as study:
        study.ask_many(["a", "b"])
        study.tell("b", 1.0)
        for wrong in (lambda: study.tell("a", 1.5), lambda: study.correct("b", 2.0)):
            with pytest.raises(InvalidReward, match="must be from 0 to 1"):
                wrong()
        assert study.metrics()["entries"] == 4
        assert replayed(study) == study.digest()
    with pytest.raises(InvalidReward):
        shop(tmp_path, "other", rewards=(0, 1), wait=10, default=2.0)
    assert infex.studies(url_in(tmp_path)) == ["shop"]


def test_batches_are_as_many_calls(tmp_path: Path) -> None:
    keys = [f"k{n}" for n in range(30)]
    with shop(tmp_path, "one") as one, shop(tmp_path, "many") as many:
        singly = [one.ask(key, unit="u") for key in keys]
        assert many.ask_many(keys, units=["u"] * 30) == singly == many.ask_many(keys, units=["u"] * 30)
        rewards = [n / 30 for n in range(30)]
        for key, reward in zip(keys, rewards, strict=True):
            one.tell(key, reward)
        assert many.tell_many(keys, rewards) == ["rewarded"] * 30
        assert one.bandit().digest() == many.bandit().digest()
        with pytest.raises(InvalidSetting, match="units must be as many as the keys, 2, got 1"):
            many.ask_many(["x", "y"], units=["u"])


def test_settings_are_kept_and_different_ones_refused_with_the_difference(tmp_path: Path) -> None:
    with pytest.raises(UnknownStudy, match="there is no study 'shop'"):
        Study.open(url_in(tmp_path), "shop")
    with pytest.raises(InvalidSetting, match="no setting 'sed'"):
        shop(tmp_path, sed=8)
    assert infex.studies(url_in(tmp_path)) == []
    shop(tmp_path).close()
    shop(tmp_path, seed=7, policy=POLICY, arms=np.array(ARMS), penalty=1).close()
    other = infex.Infex(infex.LinUCB(), infex.every(6))
    with pytest.raises(OtherSettings, match=r"seed is 7, not 8; policy.schedule.m is 5, not 6\. Open it"):
        shop(tmp_path, seed=8, policy=other)
    assert infex.studies(url_in(tmp_path)) == ["shop"]


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_amendments_are_entries_and_lose_nothing(tmp_path: Path) -> None:
    tighter = infex.Infex(infex.LinUCB(), infex.budget(infex.every(4), 3))
    with shop(tmp_path) as study:
        study.tell_many([d.id for d in study.ask_many([f"k{n}" for n in range(20)])], [1.0] * 20)
        spent, told = study.metrics()["exploration"]["done"], pulls(study)
        study.amend(policy=tighter, reason="too dear")
        study.add_arms([[0.8, 0.6]], reason="a new product")
        study.remove_arms([0])
        study.amend(allowed=[True, False, True], pending="ignore", reason="sold out")
        study.extend(1)
        study.ask_many([f"m{n}" for n in range(20)])
        assert study.metrics()["exploration"]["done"] == spent  # of which there were more than 3
        assert pulls(study) <= told
        assert replayed(study) == study.digest()
        assert study.metrics()["amendments"] == 6
        with pytest.raises(InvalidSetting, match="nothing is to be changed"):
            study.amend(reason="why not")
    with pytest.raises(OtherSettings, match="policy"):
        shop(tmp_path, policy=POLICY)
    shop(tmp_path, policy=tighter, allowed=[True, False, True], pending="ignore").close()


@pytest.mark.parametrize("pending", ["bogus", "", 1, object()])
def test_an_amendment_to_a_way_of_pending_that_there_is_not_is_refused(tmp_path: Path, pending: Any) -> None:
    with shop(tmp_path) as study:
        study.ask("a")
        before, entries = study.digest(), study.metrics()["entries"]
        with pytest.raises(InvalidSetting, match="pending"):
            study.amend(pending=pending, reason="x")
        with pytest.raises(InvalidSetting, match="pending"):
            study.amend(policy=infex.Greedy(), pending=pending, reason="x")
        assert (study.digest(), study.metrics()["entries"]) == (before, entries)
        assert study.bandit().narrows


def test_what_was_not_acknowledged_can_be_looked_for_before_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreFailed("the disk is full")

    with shop(tmp_path, again="sum") as study:
        study.ask("a")
        with monkeypatch.context() as failing:
            failing.setattr(SQLiteStore, "append", refuse)
            with pytest.raises(StoreFailed, match="the disk is full; it may be done all the same"):
                study.add_arms([[0.5, 0.5]])
            with pytest.raises(StoreFailed, match="it may be done all the same"):
                study.tell("a", 0.5)
        assert study.metrics()["amendments"] == 1
        assert study.explain("a").reward == 0.5
    with shop(tmp_path) as study:
        assert len(study.estimates()) == 4


def own_policy() -> Any:
    """A policy whose class no module has under a name."""

    class Mine:
        """A policy of a user's own."""

        def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
            return infex.Choice(t % len(posterior), explored=False)

    return Mine()


def test_what_holds_code_of_ones_own_is_given_again(tmp_path: Path) -> None:
    mine = own_policy()
    with shop(tmp_path, policy=mine) as study:
        assert [study.ask(f"k{n}").arm for n in range(4)] == [1, 2, 0, 1]
        assert replayed(study, policy=mine) == study.digest()
        with pytest.raises(NoRecord, match=r"Mine is in no module from which it can be imported"):
            study.amend(policy=mine, reason="no")
    with pytest.raises(infex.InfexError, match="policy=, it was"):
        shop(tmp_path)
    with shop(tmp_path, policy=mine) as study:
        assert study.ask("k4").arm == 2
        study.amend(policy=POLICY, reason="a built-in one is in force from here")
        before = study.digest()
    with shop(tmp_path, policy=mine) as study:  # which the entries before still need
        assert study.digest() == before == replayed(study, policy=mine)


def own_learner() -> Any:
    """A policy with a state of its own, by which it decides."""

    class Mine:
        """Plays the arms in turn, the next one after each reward."""

        def __init__(self) -> None:
            self.rewards: list[float] = []

        def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
            return infex.Choice(len(self.rewards) % len(posterior), explored=False)

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            self.rewards.append(reward)

    return Mine()


def learnt_by(study: Study) -> list[float]:
    """The rewards that the learner in force has taken in."""
    policy: Any = study.policy
    learner: Any = policy.base if isinstance(policy, infex.Infex) else policy
    rewards: list[float] = learner.rewards
    return rewards


@pytest.mark.parametrize("is_base", [False, True])
def test_a_learner_learns_every_reward_once_whatever_is_read_or_erased(tmp_path: Path, is_base: bool) -> None:
    """Every replay taught the learner in force all rewards once more, and forgetting took none away."""

    def policy(learner: Any) -> Any:
        return infex.Infex(learner, infex.every(2)) if is_base else learner

    mine = own_learner()
    with shop(tmp_path, policy=policy(mine)) as study:
        for n in range(6):
            study.ask(f"k{n}", unit=f"u{n % 2}")
            study.tell(f"k{n}", n / 10)
        rewards = learnt_by(study)
        assert rewards in ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 0.3, 0.5])  # a base hears of its rounds
        assert study.explain("k3").proven
        assert study.verify().holds
        assert replayed(study, policy=policy(own_learner())) == study.digest()
        assert learnt_by(study) == rewards
        assert mine.rewards == [], "it is copied"
        mine.rewards.append(9.0)
        study.forget("u1")
        left = [reward for reward in rewards if reward in (0.0, 0.2, 0.4)]
        assert learnt_by(study) == left
        assert study.verify().holds
        assert learnt_by(study) == left
    with shop(tmp_path, policy=policy(own_learner())) as study:
        assert learnt_by(study) == left


def test_a_learner_that_cannot_be_copied_is_refused(tmp_path: Path) -> None:
    mine = own_learner()
    mine.lock = threading.Lock()
    with pytest.raises(InvalidSetting, match="Mine keeps a state of its own that cannot be copied"):
        shop(tmp_path, policy=mine)
    assert infex.studies(url_in(tmp_path)) == []


def test_a_snapshot_that_does_not_fit_is_not_used(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        work_through(study, [None] * 30)
        before = study.digest()
    with reading(url_in(tmp_path)) as store:
        (place,) = store.places("shop")
        kept = store.snapshot("shop", place)
    assert kept is not None
    other = place._replace(mark=place.mark._replace(link=bytes(32)))
    for where, content in (
        *((place, content) for content in (b"", b"x" * 100, bytes(32), kept[:-1])),
        (other, kept),
        (place._replace(erased=b"others"), kept),
    ):
        with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
            store.keep("shop", where, content, replaced=store.places("shop"))
        with shop(tmp_path) as again:
            assert again.digest() == before == replayed(again)


def test_snapshots_are_kept_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "ENTRIES_BETWEEN_SNAPSHOTS", 10)
    with shop(tmp_path) as study, reading(url_in(tmp_path)) as store:
        work_through(study, [None] * 30)
        study.flush()
        until(lambda: store.places("shop"), "a snapshot is kept")
        assert store.places("shop")[0].mark.number >= 10
        assert study.digest() == replayed(study)


def test_a_file_is_for_one_process_and_a_study_for_one_object(tmp_path: Path) -> None:
    with shop(tmp_path, "a"), shop(tmp_path, "b"):
        with pytest.raises(StoreInUse, match=r"'a' .* is open already in this process"):
            shop(tmp_path, "a")
        assert infex.studies(url_in(tmp_path)) == ["a", "b"]
    shop(tmp_path, "a").close()


def test_a_closed_study_says_so(tmp_path: Path) -> None:
    study = shop(tmp_path)
    study.close()
    study.close()
    with pytest.raises(StoreFailed, match="'shop' was closed"):
        study.ask("a")
    for wrong in ("shop.db", "sqlite:///", "mysql://x", 7):
        with pytest.raises(InvalidSetting, match="a study is kept at"):
            infex.studies(wrong)


def test_many_threads_send_every_key_several_times(tmp_path: Path) -> None:
    keys = [f"k{n}" for n in range(300)]
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(300), 5))
    with shop(tmp_path) as study:

        def serve(place: int) -> tuple[str, Any]:
            key = keys[place]
            decision = study.ask(key, unit=f"u{place}")
            study.tell(key, place / 300)
            return key, decision

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(serve, order.tolist()))
        assert len(set(answers)) == 300
        assert sorted(decision.t for _, decision in set(answers)) == list(range(1, 301))
        assert study.metrics()["exploration"]["done"] == 300 // 5
        assert replayed(study) == study.digest()


def test_a_decision_whose_time_has_passed_takes_the_default(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="3 days", default=0.25) as study:
        study.ask("a")
        clock.now += 3 * 86_400 - 1
        study.ask("b")
        assert study.state("a") == "pending"
        clock.now += 1
        study.ask("c")
        assert study.state("a") == "defaulted"
        assert study.explain("a", prove=False).reward == 0.25
        assert study.tell("a", 0.9) == study.tell("a", 0.9) == "late"
        with pytest.raises(AlreadyTold):
            study.tell("a", 0.8)
        assert (study.explain("a", prove=False).reward, study.explain("a", prove=False).late) == (0.25, 0.9)
        assert pulls(study) == 1
        assert replayed(study) == study.digest()
        assert study.metrics()["states"] == {
            "pending": 2, "rewarded": 0, "defaulted": 0, "late": 1, "corrected": 0, "erased": 0,
        }  # fmt: skip
    with shop(tmp_path, clock=clock) as study:
        assert study.state("a") == "late"
        clock.now += 10 * 86_400
        assert study.tell("c", 1.0) == "late"  # it has passed since


def test_without_a_default_nothing_is_learnt(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait=60) as study:
        study.ask("a")
        clock.now += 61
        assert study.tell("a", 1.0) == "late"
        assert pulls(study) == 0
        assert study.pending_count == len(study.bandit().pending) == 0
        assert replayed(study) == study.digest()


def test_clocks_that_jump_change_no_state_twice(tmp_path: Path) -> None:
    clock, start = Clock(), Clock().now
    rng = np.random.default_rng(4)
    with shop(tmp_path, clock=clock, wait="30 minutes", default=0.0) as study:
        for n in range(60):
            clock.now = start + 60 * n + float(rng.choice([0, 3600, -3600]))
            study.ask(f"k{n}", durable=False)
            if n % 3 == 0:
                study.tell(f"k{max(n - 2, 0)}", 1.0, durable=False)
        states = study.metrics()["states"]
        assert sum(states.values()) == 60
        assert states["defaulted"] > 0
        assert states["rewarded"] > 0
        assert replayed(study) == study.digest()


@pytest.mark.parametrize(
    "wrong",
    [{"wait": "soon"}, {"wait": -1}, {"wait": "0 days"}, {"default": 1.0}, {"again": "add"},
     {"wait": 1, "default": float("inf")}],
)  # fmt: skip
def test_rules_are_checked_at_once(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        shop(tmp_path, **wrong)
    assert infex.studies(url_in(tmp_path)) == []


def test_metrics_are_plain_numbers(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock) as study:
        for n in range(10):
            study.ask(f"k{n}")
        clock.now += 30
        study.tell_many([f"k{n}" for n in range(4)], [0.0, 1.0, 1.0, 1.0])
        found = study.metrics()
    assert (found["decisions"], found["states"]["pending"], found["states"]["rewarded"]) == (10, 6, 4)
    assert found["delay"]["mean"] == 30.0
    assert found["delay"]["up_to"]["60"] == 4
    assert found["pending_by_age"]["60"] == 6
    assert found["exploration"]["done"] == 2
    assert found["reasons"] == {"greedy": 8, "scheduled": 2}
    day = found["days"]["2023-11-14"]
    assert (day["rounds"], day["explored"], day["rewards"], day["mean_reward"]) == (10, 2, 4, 0.75)
    assert day["calibration"] == 0.75  # nothing was known when they were decided


def test_the_last_day_before_1970_is_a_day_like_others(tmp_path: Path) -> None:
    with shop(tmp_path, clock=Clock(-100.0)) as study:
        study.ask("a")
        study.tell("a", 0.5)
        assert study.metrics()["days"]["1969-12-31"]["rewards"] == 1
        assert replayed(study) == study.digest()


def test_a_snapshot_waits_until_most_entries_are_of_decisions_that_wait_no_more() -> None:
    enough = snapshot.ENTRIES_BETWEEN_SNAPSHOTS
    assert snapshot.is_snapshot_due(enough, 0, enough // 2, 0)
    assert not snapshot.is_snapshot_due(enough, 0, enough // 2 + 1, 0)
    assert not snapshot.is_snapshot_due(enough - 1, 0, 0, 0)
    assert snapshot.is_snapshot_due(21 * enough, 20 * enough, 0, 0)  # however long the journal is
    assert not snapshot.is_snapshot_due(21 * enough, 20 * enough, 0, 10**9)  # and what is written is large
    assert snapshot.is_snapshot_due(20 * enough + 2 * 10**6, 20 * enough, 0, 10**9)


def test_a_study_says_of_its_arms_and_explorations_what_a_bandit_says(tmp_path: Path) -> None:
    table = features.table({"age": (20, 80)})
    settings = {"features": features.disjoint(["tea", "juice"], context=table), "policy": POLICY, "seed": 7}
    bandit = infex.Bandit(**settings)
    with shop(tmp_path, **settings) as study:
        for n in range(40):
            context = {"age": 20 + n}
            played = bandit.ask(context=context)
            assert study.ask(f"k{n}", context=context).arm == played.arm
            bandit.tell(played, 0.1 * (n % 7))
            study.tell(f"k{n}", 0.1 * (n % 7))
        asked = {"context": {"age": 33}}
        assert study.estimates(**asked).tolist() == bandit.estimates(**asked).tolist()
        assert study.intervals(0.9, **asked).tolist() == bandit.intervals(0.9, **asked).tolist()
        assert study.exploration() == bandit.exploration()
        assert study.exploration().done == 8


def test_a_pause_lasts_until_exploring_is_resumed_whatever_policy_comes(tmp_path: Path) -> None:
    with shop(tmp_path, policy=infex.Infex(infex.LinUCB(), infex.every(1))) as study:
        study.pause("a holiday")
        study.amend(policy=infex.Infex(infex.LinUCB(), infex.every(2)), reason="explore less")
        assert study.summary().paused
        assert not any(study.ask(f"k{n}").explored for n in range(4))
        with pytest.raises(InvalidSetting, match="schedule"):
            study.amend(policy=infex.LinUCB(), reason="which cannot be paused")
        study.resume("back")
        assert study.policy == infex.Infex(infex.LinUCB(delta=0.01), infex.every(2))
        assert [study.ask(f"j{n}").explored for n in range(4)] == [False, True, False, True]
        study.pause("another")
        study.amend(policy=infex.Infex(infex.LinUCB(), infex.every(1)), explore=True, reason="at once")
        assert study.ask("now").explored
        assert replayed(study) == study.digest()


@pytest.mark.parametrize(
    "policy",
    [
        SupLinUCB(horizon=100),
        EXP2(rate=0.1),
        PhasedElimination(),
        EnsembleSampling(members=3),
        infex.Infex(infex.LinUCB(), infex.policies.conservative(infex.every(3), baseline=0.5)),
    ],
    ids=label_of,
)
def test_a_policy_that_keeps_what_is_to_be_erased_is_refused(tmp_path: Path, policy: infex.Policy) -> None:
    wrapped = policy if isinstance(policy, infex.Infex) else infex.Infex(policy, infex.every(3), data="own")
    for given in (policy, wrapped):
        with pytest.raises(InvalidSetting, match="units are erased"):
            shop(tmp_path, policy=given)
    assert infex.studies(url_in(tmp_path)) == []
    with shop(tmp_path) as study:
        with pytest.raises(InvalidSetting, match="units are erased"):
            study.amend(policy=policy, reason="to try it")
        assert study.metrics()["amendments"] == 0
