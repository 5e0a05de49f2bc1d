"""The interval of a decision is that of its moment: `bandit.intervals` then, never that of another one."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Infex, LinTS, LinUCB, every, features, from_record, models, to_record
from infex.bandit import Changes
from infex.errors import AlreadyTold, InvalidSetting, NotKept, UnknownDecision
from tests.bandit.test_hybrid import LABELS, MAP, contexts

ARMS = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -0.5]])
POLICY = Infex(LinUCB(), every(3))
VISITORS = contexts(1, 40)
SHOP = features.disjoint(LABELS, context_dim=3, longest=2.0)
KINDS: dict[str, Callable[[], Bandit]] = {
    "fixed": lambda: Bandit(ARMS, POLICY, remembers=50),
    "labelled clicks": lambda: Bandit(ARMS, POLICY, labels=["a", "b", "c"], rewards=(0, 1)),
    "given": lambda: Bandit(dim=2, policy=POLICY),
    "disjoint": lambda: Bandit(features=SHOP, policy=POLICY),
    "disjoint, sampled": lambda: Bandit(features=SHOP, policy=LinTS()),
    "hybrid": lambda: Bandit(features=MAP, policy=POLICY),
    "mapped": lambda: Bandit(features=features.interactions(ARMS, 3, longest=2.0), policy=POLICY),
    "logistic": lambda: Bandit(ARMS, POLICY, estimator=models.Logistic()),
    "disjoint logistic": lambda: Bandit(features=SHOP, policy=POLICY, estimator=models.Logistic()),
    "windowed": lambda: Bandit(ARMS, POLICY, estimator=models.Windowed(size=9)),
    "disjoint discounted": lambda: Bandit(features=SHOP, policy=POLICY, estimator=models.Discounted()),
}


def asked(kind: str, t: int) -> Any:
    if kind == "given":
        return {"arms": np.roll(ARMS, t, axis=0)}
    plain = kind in ("fixed", "labelled clicks", "logistic", "windowed")
    return {} if plain else {"context": VISITORS[t % len(VISITORS)]}


def warmed(kind: str, rounds: int = 30) -> Bandit:
    bandit = KINDS[kind]()
    for t in range(rounds):
        bandit.tell(bandit.ask(**asked(kind, t)), float(t * t % 7 < 3))
    return bandit


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_the_bandit_says_at_that_moment(kind: str) -> None:
    bandit = warmed(kind)
    for t in range(30, 40):
        expected = {level: bandit.intervals(level, **asked(kind, t)) for level in (0.5, 0.95)}
        decision = bandit.ask(**asked(kind, t))
        for level, table in expected.items():
            ends = table.low[decision.arm], table.high[decision.arm]
            assert bandit.interval(decision, level) == pytest.approx(ends, rel=1e-9)
            assert bandit.interval(decision.id, level) == bandit.interval(decision, level)
        assert decision.low <= bandit.interval(decision)[1]
        bandit.tell(decision, 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_of_a_batch_have_those_of_single_ones(kind: str) -> None:
    bandit, single = warmed(kind), warmed(kind)
    given: Any = 9
    if kind == "given":
        given = [asked(kind, t)["arms"] for t in range(9)]
    elif asked(kind, 0):
        given = [asked(kind, t)["context"] for t in range(9)]
    decisions = bandit.ask_many(given)
    others = [single.ask(**asked(kind, t)) for t in range(9)]
    for one, other in zip(decisions, others, strict=True):
        assert bandit.interval(one, 0.9) == single.interval(other, 0.9)


def learn_row(bandit: Bandit) -> None:
    bandit.learn(arms=[0], rewards=[1.0])


def take_changes(bandit: Bandit) -> None:
    other = Bandit(ARMS, POLICY)
    learn_row(other)
    bandit.apply(Changes.from_bytes(other.changes().to_bytes()))


def tell_another(bandit: Bandit) -> None:
    bandit.tell(bandit.ask(), 0.0)


def tell_others(bandit: Bandit) -> None:
    bandit.tell_many(bandit.ask_many(2), [0.0, 1.0])


def put_right(bandit: Bandit) -> None:
    bandit.tell("first", 0.25, on_duplicate="replace")


def change_policy(bandit: Bandit) -> None:
    bandit.policy = Infex(LinUCB(bound=7.0), every(3))


@pytest.mark.parametrize(
    "change",
    [
        *(learn_row, take_changes, tell_another, tell_others, put_right, change_policy),
        lambda bandit: bandit.add_arms([[0.1, 0.1]]),
        lambda bandit: bandit.remove_arms([2]),
        lambda bandit: bandit.extend(1),
    ],
)
def test_it_is_not_kept_once_something_is_learnt_or_changed(change: Callable[[Bandit], None]) -> None:
    bandit = warmed("fixed", 0)
    bandit.tell(bandit.ask(id="first"), 0.5)
    for t in range(20):
        bandit.tell(bandit.ask(), float(t * t % 7 < 3))
    decision = bandit.ask()
    assert bandit.interval(decision)[0] < bandit.interval(decision)[1]
    change(bandit)
    with pytest.raises(NotKept, match=f"{decision.id}.*before the next reward is told"):
        bandit.interval(decision)
    later = bandit.ask()
    table = bandit.intervals()
    assert bandit.interval(later) == pytest.approx((table.low[later.arm], table.high[later.arm]), rel=1e-9)


def test_what_changes_no_number_leaves_it(tmp_path: Path) -> None:
    bandit = warmed("fixed")
    first, decision = bandit.ask(), bandit.ask()
    before = bandit.interval(decision)
    bandit.drop(first)
    bandit.ask()
    bandit.save(tmp_path / "x.infex")
    bandit.changes()
    assert bandit.interval(decision) == before


def test_a_decision_that_is_entered_late_has_none() -> None:
    """Rewards may have been told since it was decided."""
    bandit = warmed("fixed")
    other = bandit.ask()
    decided = bandit.decide()
    bandit.tell(other, 0.5)
    decision = bandit.enter(decided)
    with pytest.raises(NotKept):
        bandit.interval(decision)


def test_a_copy_tells_of_the_same_moment_and_a_file_of_none(tmp_path: Path) -> None:
    bandit = warmed("disjoint")
    decision = bandit.ask(context=VISITORS[0])
    expected = bandit.interval(decision)
    assert bandit.interval(from_record(to_record(decision))) == expected
    for copied in (copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        assert copied.interval(copied.pending[0]) == expected
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex")
    with pytest.raises(NotKept):
        loaded.interval(loaded.pending[0])


def test_it_is_that_of_a_pending_decision_of_this_bandit() -> None:
    one, other = warmed("fixed"), warmed("fixed", 9)
    first, second = one.ask(id="visit"), other.ask(id="visit")
    assert first != second
    assert one.interval(first) != other.interval(second)
    with pytest.raises(UnknownDecision, match="of another bandit"):
        one.interval(second)
    with pytest.raises(UnknownDecision, match="'nobody'"):
        one.interval("nobody")
    own = other.ask()
    other.tell(own, 1.0)
    with pytest.raises(AlreadyTold, match="an interval is that of a pending decision"):
        other.interval(own)


def test_a_level_that_is_none_is_refused() -> None:
    bandit = warmed("fixed")
    decision = bandit.ask()
    for level in (0.0, 1.0, 95, "0.9"):
        with pytest.raises(InvalidSetting, match="level"):
            bandit.interval(decision, level)
