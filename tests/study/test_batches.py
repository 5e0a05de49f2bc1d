"""Batches are all or nothing: if one row is refused, nothing of the batch was decided or told."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

import infex
from infex.errors import (
    AlreadyTold,
    AnotherRequest,
    InfexError,
    InvalidContext,
    InvalidReward,
    InvalidSetting,
    StoreFailed,
    UnknownDecision,
)
from infex.study.commands import AskRow, TellRow
from infex.study.metrics import count_by_age
from infex.study.stores.sqlite import SQLiteStore
from tests.study.studies import Clock, entries_of, replayed, shop
from tests.waiting import PATIENCE

SHOP = infex.features.disjoint(["tea", "juice"], context_dim=2)
MIXED = infex.features.interactions([[1.0, 0.0], [0.0, 1.0]], context_dim=2, labels=["tea", "juice"])


@final
class Moody:
    """Plays the first arm, and raises in the round that it is told to."""

    def __init__(self) -> None:
        self.fails_at = 0

    def choose(self, t: int, posterior: infex.models.Posterior, rng: Any) -> infex.Choice:
        if t == self.fails_at:
            raise RuntimeError("a bad mood")
        return infex.Choice(0, False)


@pytest.mark.parametrize("features", [SHOP, MIXED], ids=["disjoint", "interactions"])
def test_a_context_that_is_refused_leaves_nothing_of_its_batch(tmp_path: Path, features: Any) -> None:
    with shop(tmp_path, features=features) as study:
        study.ask("before", context=[0.6, 0.8])
        before = study.digest()
        contexts = [[0.6, 0.8], [0.0, 1.0], [0.1, 0.2, 0.3]]
        with pytest.raises(InvalidContext, match=r"row 2, 'c'.*Nothing of this batch"):
            study.ask_many(["a", "b", "c"], contexts=contexts)
        assert study.digest() == before == replayed(study)
        with pytest.raises(UnknownDecision):
            study.state("a")
        assert [each.t for each in study.ask_many(["a", "b"], contexts=contexts[:2])] == [2, 3]


def test_one_key_with_two_requests_leaves_nothing_of_its_batch(tmp_path: Path) -> None:
    with shop(tmp_path, features=SHOP) as study:
        contexts = [[0.6, 0.8], [0.6, 0.8], [0.0, 1.0]]
        with pytest.raises(AnotherRequest, match="row 2, 'a'"):
            study.ask_many(["a", "b", "a"], contexts=contexts)
        assert study.metrics()["decisions"] == 0
        first, _, again = study.ask_many(["a", "b", "a"], contexts=[contexts[0]] * 3)
        assert first == again


def test_a_reward_that_is_refused_leaves_nothing_of_its_batch(tmp_path: Path) -> None:
    with shop(tmp_path, rewards=(0.0, 1.0)) as study:
        study.ask_many(["a", "b", "c", "d"])
        study.tell("d", 1.0)
        before = study.digest()
        for keys, rewards, error in [
            (["a", "b"], [1.0, 2.0], InvalidReward),
            (["a", "x"], [1.0, 1.0], UnknownDecision),
            (["a", "d"], [1.0, 0.0], AlreadyTold),
            (["a", "b", "a"], [1.0, 1.0, 0.0], AlreadyTold),  # which only the batch itself contradicts
        ]:
            with pytest.raises(error, match=f"row {len(keys) - 1}, '{keys[-1]}'"):
                study.tell_many(keys, rewards)
            assert study.state("a") == "pending"
            assert study.digest() == before == replayed(study)
        assert study.tell_many(["a", "b", "a"], [1.0, 0.5, 1.0]) == ["rewarded"] * 3


def test_a_row_that_is_no_request_at_all_is_named_too(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        with pytest.raises(InfexError, match=r"row 1, ''.*Nothing of this batch"):
            study.ask_many(["a", ""])
        with pytest.raises(InfexError, match=r"row 0, 'a'.*Nothing of this batch"):
            study.ask_many(["a", "b"], units=[17, None])
        study.ask_many(["a", "b"])
        with pytest.raises(InvalidReward, match=r"row 1, 'b'.*Nothing of this batch"):
            study.tell_many(["a", "b"], [0.5, float("nan")])
        assert [study.state(key).value for key in "ab"] == ["pending", "pending"]


def test_a_policy_that_raises_in_the_middle_leaves_nothing_of_the_batch(tmp_path: Path) -> None:
    moody = Moody()
    with shop(tmp_path, policy=moody) as study:
        study.ask("before")
        before = study.digest()
        moody.fails_at = 4
        with pytest.raises(RuntimeError, match="a bad mood"):
            study.ask_many(["a", "b", "c", "d"])
        moody.fails_at = 0
        assert study.metrics()["decisions"] == 1
        assert study.digest() == before == replayed(study, policy=moody)
        assert study.ask("c").t == 2
    with shop(tmp_path, policy=moody) as again:
        assert again.ask("c").t == 2


def ask_batches_at_once(study: infex.Study, moody: Moody) -> list[bool]:
    """Asks for batches in several threads, of which one fails in the middle; which were decided."""
    moody.fails_at = 40

    def ask(n: int) -> bool:
        try:
            study.ask_many([f"{n}-{row}" for row in range(3)])
        except RuntimeError:
            moody.fails_at = 0
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(ask, range(60)))
    assert done.count(False) >= 1
    return done


def test_what_others_asked_meanwhile_stays_when_a_batch_is_refused(tmp_path: Path) -> None:
    moody = Moody()
    with shop(tmp_path, policy=moody) as study:
        done = ask_batches_at_once(study, moody)
        for n, was_done in enumerate(done):
            if was_done:
                assert study.state(f"{n}-0") == study.state(f"{n}-2") == "pending"
            else:
                with pytest.raises(UnknownDecision):
                    study.state(f"{n}-0")
        assert study.metrics()["decisions"] == 3 * done.count(True)
        assert study.digest() == replayed(study, policy=moody)


def test_a_default_that_is_due_stays_when_the_batch_behind_it_is_refused(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 hour", default=0.0) as study:
        study.ask("a")
        clock.now += 3601
        with pytest.raises(UnknownDecision):
            study.tell_many(["x"], [1.0])
        assert study.state("a") == "defaulted"
        assert study.digest() == replayed(study)


def test_nobody_waits_while_the_ages_of_pending_decisions_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting, go_on = threading.Event(), threading.Event()
    count = count_by_age

    def slowly(*waiting: Any) -> dict[str, int]:
        counting.set()
        assert go_on.wait(PATIENCE)
        return count(*waiting)

    monkeypatch.setattr("infex.study.study.count_by_age", slowly)
    clock = Clock()
    with shop(tmp_path, clock=clock) as study, ThreadPoolExecutor(2) as pool:
        for n, seconds in enumerate((0, 1, 5, 100_000)):
            clock.now += seconds
            study.ask(f"k{n}")
        clock.now += 0.5
        found = pool.submit(study.metrics)
        assert counting.wait(PATIENCE)
        assert pool.submit(study.ask, "meanwhile").result(PATIENCE).t == 5
        go_on.set()
        ages = found.result(PATIENCE)["pending_by_age"]
    by_hand = dict.fromkeys(ages, 0) | {"1": 1, str(7 * 86_400): 3}
    assert ages == by_hand


def test_rewards_that_contradict_each_other_in_a_batch_leave_nothing_of_it(tmp_path: Path) -> None:
    with shop(tmp_path, again="sum") as study:
        study.ask_many(["a", "b"])
        for second in (TellRow("a", 1.0, 1.0, "milk"), TellRow("a", 0.5, 2.0, "milk")):
            with pytest.raises(AlreadyTold, match="row 2, 'a'") as refused:
                study.tell_rows([TellRow("a", 0.5, 1.0, "milk"), TellRow("b", 1.0), second])
            assert refused.value.row == 2
        assert [study.state(key).value for key in "ab"] == ["pending", "pending"]
        study.tell_rows([TellRow("a", 0.5, 1.0, "milk"), TellRow("a", 1.0), TellRow("a", 1.0)])
        assert study.explain("a", prove=False).reward == 2.5


def test_a_sum_that_is_refused_in_the_middle_leaves_nothing_of_its_batch(tmp_path: Path) -> None:
    with shop(tmp_path, again="sum", rewards=(0, 1)) as study:
        for key in ("a", "b"):
            study.ask(key)
            study.tell(key, 0.5)
        before = study.digest()
        with pytest.raises(InvalidReward, match="row 1, 'b'"):  # the sum is beyond 1
            study.tell_many(["a", "b"], [0.25, 0.75])
        study.tell("a", 0.125)
        assert study.explain("a", prove=False).reward == 0.625
        assert study.digest() == replayed(study) != before


def test_amendments_are_all_made_or_none(tmp_path: Path) -> None:
    """The policy was changed, though `allowed` was refused."""
    with shop(tmp_path) as study:
        before, policy = study.digest(), study.policy
        with pytest.raises(InfexError):
            study.amend(policy=infex.Greedy(), allowed=[True], reason="too few")
        assert study.policy == policy
        assert study.digest() == before == replayed(study)


def test_rows_that_differ_in_more_than_contexts_are_as_if_asked_one_by_one(tmp_path: Path) -> None:
    rows = [
        AskRow("a", None, {"context": [0.6, 0.8]}),
        AskRow("b", "anna", {"context": [0.0, 1.0], "offered": ["juice"]}),
        AskRow("c", None, {"context": [1.0, 0.0], "explore": False}),
    ]
    with shop(tmp_path, features=SHOP) as study, shop(tmp_path, "other", features=SHOP) as other:
        decided = [other.ask(key, unit=unit, **options) for key, unit, options in rows]
        assert study.ask_rows(rows) == decided
        assert study.bandit().digest() == other.bandit().digest()
        with pytest.raises(InvalidContext) as refused:
            study.ask_rows([AskRow("d", None, {"context": [0.6, 0.8]}), AskRow("e", None, {"context": [1]})])
        assert refused.value.row == 1
        assert study.metrics()["decisions"] == 3


def test_a_call_is_made_when_all_is_on_disk_or_told_why_not(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.ask("a", durable=False)
        outcomes: list[StoreFailed | None] = []
        called = threading.Event()

        def call(failed: StoreFailed | None) -> None:
            outcomes.append(failed)
            called.set()

        study.when_flushed(call)
        assert called.wait(PATIENCE)
        assert outcomes == [None]
        assert [entry.key for entry in entries_of(study)] == ["", "a"]


FIXED: dict[str, Any] = {"arms": [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], "features": None}
PLANS = {
    "plain": infex.Infex(infex.LinUCB(), infex.every(3)),
    "greedy": infex.Greedy(),
    "optimistic": infex.LinUCB(),
    "guarded": infex.Infex(infex.LinUCB(), infex.guarded(infex.every(2), 0.05)),
    "budget": infex.Infex(infex.LinUCB(), infex.budget(infex.every(2), 3, window=20)),
    "jittered": infex.Infex(infex.LinUCB(), infex.jittered(3)),
}


@pytest.mark.parametrize(
    "settings", [{"features": SHOP}, {"features": MIXED}, FIXED], ids=["own", "mixed", "fixed"]
)
@pytest.mark.parametrize("plan", PLANS)
def test_a_batch_writes_what_asking_one_by_one_writes(tmp_path: Path, settings: Any, plan: str) -> None:
    def journal(study: infex.Study) -> list[tuple[str, str | None, bytes | None]]:
        return [(entry.key, entry.unit, entry.content) for entry in entries_of(study)]

    rng = np.random.default_rng(5)
    contexts = None if "arms" in settings else (rng.normal(size=(40, 2)) * 0.3).tolist()
    keys, rewards = [f"k{n}" for n in range(40)], rng.normal(size=40).tolist()
    journals = []
    for one_by_one in (True, False):
        folder = tmp_path / str(one_by_one)
        folder.mkdir()
        with shop(folder, policy=PLANS[plan], **settings) as study:
            for first in range(0, 40, 10):
                part = slice(first, first + 10)
                given = {} if contexts is None else {"contexts": contexts[part]}
                if one_by_one:
                    for n in range(first, first + 10):
                        study.ask(keys[n], **({} if contexts is None else {"context": contexts[n]}))
                else:
                    study.ask_many(keys[part], **given)
                study.tell_many(keys[part][::2], rewards[part][::2])
                if first == 10:  # decisions say how often the policy has changed
                    study.amend(policy=PLANS[plan], reason="the same again")
            journals.append(journal(study))
            assert study.digest() == replayed(study)
    assert journals[0] == journals[1]


def test_truths_in_a_context_are_refused_in_a_batch_as_alone(tmp_path: Path) -> None:
    with shop(tmp_path, features=SHOP) as study:
        with pytest.raises(InvalidContext, match="row 1, 'b'"):
            study.ask_many(["a", "b"], contexts=[[0.5, 0.5], [True, False]])
        assert study.metrics()["decisions"] == 0


def test_rewards_of_a_table_are_told_by_their_places(tmp_path: Path) -> None:
    """A Series that was sorted is read by its index: every key got the reward of another one."""
    table = pd.DataFrame({"key": ["a", "b", "c"], "reward": [3.0, 1.0, 2.0]}).sort_values("reward")
    with shop(tmp_path) as study:
        study.ask_many(["a", "b", "c"])
        study.tell_many(table["key"], table["reward"])
        assert [study.explain(key, prove=False).reward for key in "abc"] == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("as_given", [lambda t: t["context"], lambda t: np.array(t["context"].tolist())])
def test_contexts_of_a_table_belong_to_keys_by_their_places(
    tmp_path: Path, as_given: Callable[[pd.DataFrame], Any]
) -> None:
    """A Series that was sorted was read by its index: every key was decided in the context of another."""
    contexts = [[0.3, 0.1], [0.1, 0.2], [0.2, 0.3]]
    table = pd.DataFrame({"key": ["a", "b", "c"], "context": contexts}).sort_values("context")
    features = infex.features.disjoint(3, context_dim=2)
    with shop(tmp_path, features=features) as study:
        study.ask_many(table["key"], contexts=as_given(table))
        asked = [study.explain(key, prove=False, contents=True).request for key in "abc"]
    assert asked == [{"context": context} for context in contexts]


TABLE_OF_CONTEXTS = {"age": [20, 50, 80], "country": ["FR", "DE", "FR"]}


@pytest.mark.parametrize("as_given", [pd.DataFrame, dict])
def test_contexts_may_be_a_table_or_columns(
    tmp_path: Path, as_given: Callable[[dict[str, list[Any]]], Any]
) -> None:
    """Both were refused by a bare KeyError."""
    table = infex.features.table(numbers={"age": (0, 100)}, categories={"country": ["FR", "DE"]})
    features = infex.features.disjoint(3, context=table)
    with shop(tmp_path, features=features) as study:
        study.ask_many(["a", "b", "c"], contexts=as_given(TABLE_OF_CONTEXTS))
        asked = [study.explain(key, prove=False, contents=True).request for key in "abc"]
        assert asked == [
            {"context": {"age": a, "country": c}} for a, c in zip(*TABLE_OF_CONTEXTS.values(), strict=True)
        ]
        with pytest.raises(InvalidSetting, match="age must be as many as the keys, 3, got 2"):
            study.ask_many(["d", "e", "f"], contexts=TABLE_OF_CONTEXTS | {"age": [1, 2]})


@pytest.mark.parametrize(
    ("contexts", "words"),
    [
        ({"age": 30}, "'age' has one value"),
        ({"age": "30"}, "'age' has one value"),
        (pd.DataFrame([[20, 30]], columns=["age", "age"]), "a name more than once"),
        (30, "one for each key, got a int"),
    ],
    ids=["a number", "a text", "a name twice", "no list"],
)
def test_contexts_that_are_no_table_are_refused_by_name(tmp_path: Path, contexts: Any, words: str) -> None:
    """Of a name that came twice the last column counted; others were a bare TypeError."""
    features = infex.features.disjoint(3, context=infex.features.table({"age": (0, 100)}))
    with shop(tmp_path, features=features) as study, pytest.raises(infex.errors.InfexError, match=words):
        study.ask_many(["a"], contexts=contexts)


@dataclass(frozen=True)
class Noting:
    """Says a note that JSON does not know."""

    said: float

    def choose(self, t: int, posterior: infex.models.Posterior, rng: np.random.Generator) -> infex.Choice:
        return infex.Choice(0, policy_state=np.float64(self.said))


def test_a_decision_that_cannot_be_written_is_not_taken(tmp_path: Path) -> None:
    policy = infex.Infex(Noting(0.3), infex.every(2))
    with shop(tmp_path, policy=policy) as study:
        study.ask("a")
        with contextlib.suppress(TypeError, ValueError):
            study.ask("b")
        study.amend(policy=infex.Greedy(), reason="notes are no numbers of NumPy")
        decision = study.ask("c")
        assert decision.t == study.metrics()["rounds"]
        assert study.digest() == replayed(study)


def test_a_call_that_fails_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with shop(tmp_path) as study:
        held, going_on = threading.Event(), threading.Event()
        append = SQLiteStore.append

        def wait_and_append(*words: Any) -> None:
            held.set()
            assert going_on.wait(PATIENCE)
            append(*words)

        monkeypatch.setattr(SQLiteStore, "append", wait_and_append)
        study.ask("a", durable=False)
        assert held.wait(PATIENCE)
        study.when_flushed(_fails)
        told = threading.Event()
        study.when_flushed(lambda failed: told.set())
        going_on.set()
        assert told.wait(PATIENCE)
        study.ask("b")
    assert "whose call was it?" in caplog.text


def _fails(_: object) -> None:
    raise RuntimeError("whose call was it?")
