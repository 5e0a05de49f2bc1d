"""Amendments: several changes in one commit or none, once under a key, and exploring paused and resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import infex
from infex import features
from infex.errors import AnotherRequest, InfexError, InvalidSetting, StoreFailed, UnknownArm
from infex.study import executor
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.study.studies import entries_of, replayed, shop
from tests.study.test_study import own_learner, own_policy

AMENDMENTS: dict[str, tuple[Callable[[Study], None], Callable[[Study], None]]] = {
    "add arms": (
        lambda study: study.add_arms([[0.5, 0.5]], key="change", reason="new"),
        lambda study: study.add_arms([[0.5, 0.4]], key="change", reason="new"),
    ),
    "remove arms": (
        lambda study: study.remove_arms([1], key="change", reason="sold out"),
        lambda study: study.remove_arms([2], key="change", reason="sold out"),
    ),
    "extend": (
        lambda study: study.extend(2, key="change", reason="more is known"),
        lambda study: study.extend(2, key="change", reason="even more is known"),
    ),
    "freeze": (
        lambda study: study.amend(freeze=True, key="change", reason="from here"),
        lambda study: study.amend(freeze=True, pending="ignore", key="change", reason="from here"),
    ),
    "pause": (
        lambda study: study.pause("a holiday", key="change"),
        lambda study: study.resume("a holiday", key="change"),
    ),
    "many": (
        lambda study: study.amend(remove_arms=[0], add_arms={"arms": [[0.5, 0.5]]}, key="change", reason="r"),
        lambda study: study.amend(remove_arms=[0], key="change", reason="r"),
    ),
}


@pytest.mark.parametrize("snapshot", [True, False], ids=["snapshot", "journal"])
@pytest.mark.parametrize("name", AMENDMENTS)
def test_an_amendment_with_a_key_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, snapshot: bool
) -> None:
    if not snapshot:
        monkeypatch.setattr(executor.Executor, "_keep_snapshot", lambda _: None)
    make, other = AMENDMENTS[name]
    with shop(tmp_path) as study:
        study.tell(study.ask("a").id, 0.5)
        make(study)
        once, entries = study.digest(), study.metrics()["entries"]
        make(study)
        with pytest.raises(AnotherRequest, match="under the key 'change'"):
            other(study)
        assert (study.digest(), study.metrics()["entries"]) == (once, entries)
    with shop(tmp_path) as study:
        make(study)
        with pytest.raises(AnotherRequest):
            other(study)
        assert (study.digest(), study.metrics()["entries"]) == (once, entries)
        assert replayed(study) == once
        study.ask("change")  # keys of amendments are not those of decisions
        study.pause("another key", key="change-2")
        study.pause("no key")
        study.pause("no key")
        assert study.metrics()["entries"] == entries + 4


def test_what_was_not_acknowledged_is_repeated_under_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreFailed("the disk is full")

    with shop(tmp_path) as study:
        with monkeypatch.context() as failing:
            failing.setattr(SQLiteStore, "append", refuse)
            for _ in range(2):
                with pytest.raises(StoreFailed, match="it may be done all the same"):
                    study.add_arms([[0.5, 0.5]], key="new arm")
        study.add_arms([[0.5, 0.5]], key="new arm")
        assert len(study.estimates()) == 4
    with shop(tmp_path) as study:
        assert len(study.estimates()) == 4
        assert study.metrics()["amendments"] == 1


def test_several_changes_are_made_in_one_commit_in_the_order_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, append = [], SQLiteStore.append

    def counted(store: SQLiteStore, name: str, entries: Any, after: Any) -> None:
        sizes.append(len(entries))
        append(store, name, entries, after)

    visitor = features.table({"age": (20, 80)})
    with shop(tmp_path, features=features.disjoint(["tea", "juice"], context=visitor)) as study:
        study.tell(study.ask("a", context={"age": 30}).id, 1.0)
        monkeypatch.setattr(SQLiteStore, "append", counted)
        study.amend(
            policy=infex.Infex(infex.LinTS(), infex.every(2)),
            explore=False,
            allowed=[True, False],
            freeze=True,
            add_arms={"arms": ["tea"]},  # anew, once the one before is gone
            remove_arms=["tea"],
            extend={"numbers": {"visits": (0, 10)}},
            reason="all at once",
        )
        assert sizes == [7]
        shown = study.summary()
        assert (shown.labels, shown.paused) == (("juice", "tea"), True)
        study.resume("over")
        assert study.policy == infex.Infex(infex.LinTS(delta=0.01), infex.every(2))
        assert study.ask("b", context={"age": 30, "visits": 3}).t == 2
        assert replayed(study) == study.digest()


def test_if_one_change_is_refused_none_is_made_and_the_error_has_its_field(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.tell(study.ask("a").id, 0.5)
        before, entries = study.digest(), len(entries_of(study))
        for error, field, changes in (
            (UnknownArm, "remove_arms", {"remove_arms": [7], "explore": False}),
            (InfexError, "allowed", {"remove_arms": [0], "allowed": [True, True, True]}),
            (InvalidSetting, "extend", {"remove_arms": [0], "extend": {"numbers": {"age": (0, 1)}}}),
            (InfexError, "add_arms", {"extend": {"more": 1}, "add_arms": {"arms": [[0.5, 0.5]]}}),
            (InvalidSetting, "explore", {"remove_arms": [0], "policy": infex.Greedy(), "explore": False}),
        ):
            for key in (None, "key"):
                with pytest.raises(error) as refused:
                    study.amend(**changes, key=key, reason="r")
                assert refused.value.field == field
        assert (study.digest(), len(entries_of(study))) == (before, entries)
        study.amend(pending="ignore", key="key", reason="a refused request takes no key")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "nothing is to be changed"),
        ({"explore": "no"}, "explore"),
        ({"freeze": 1}, "freeze"),
        ({"extend": {"more": 1, "less": 2}}, "extend must be a mapping with some of more, numbers"),
        ({"add_arms": [[1.0, 0.0]]}, "add_arms must be a mapping with some of arms, labels"),
        ({"pending": "ignore", "key": ""}, "a key must be a text"),
        ({"pending": "ignore", "reason": None}, "reason must be a text"),
    ],
)
def test_an_amendment_that_cannot_be_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with shop(tmp_path) as study:
        with pytest.raises(InvalidSetting, match=words):
            study.amend(**{"reason": "r"} | changes)
        assert study.metrics()["amendments"] == 0


def test_what_is_due_is_skipped_while_exploring_is_paused(tmp_path: Path) -> None:
    with shop(tmp_path, policy=infex.Infex(infex.LinUCB(), infex.every(2))) as study:
        study.pause("a holiday")
        study.pause("and still")
        assert study.summary().paused
        assert [study.ask(f"p{n}").reason for n in range(2)] == ["greedy", "skipped: paused"]
    with shop(tmp_path) as study:
        study.resume("over")
        study.resume("it was")
        assert [study.ask(f"q{n}").explored for n in range(4)] == [False, True, False, True]
        assert study.policy == infex.Infex(infex.LinUCB(delta=0.01), infex.every(2))
        assert replayed(study) == study.digest()
        assert study.verify().holds
    with shop(tmp_path, "greedy", policy=infex.Greedy()) as study:
        with pytest.raises(InvalidSetting, match="only a policy with a schedule can be paused"):
            study.pause("no")
        study.resume("which changes nothing")
        assert study.policy == infex.Greedy()


@pytest.mark.parametrize("make", [own_policy, own_learner])
def test_a_policy_of_ones_own_is_paused_too(tmp_path: Path, make: Callable[[], Any]) -> None:
    def policy() -> Any:
        return infex.Infex(make(), infex.every(2))

    with shop(tmp_path, policy=policy()) as study:
        study.tell(study.ask("a").id, 0.5)
        study.pause("quiet")
        study.tell(study.ask("b").id, 0.25)
        before = study.digest()
    with shop(tmp_path, policy=policy()) as study:
        assert study.digest() == before == replayed(study, policy=policy())
        assert study.ask("b").reason == "skipped: paused"
        study.resume("again")
        assert [study.ask(key).explored for key in "cd"] == [False, True]
        assert study.verify().holds
