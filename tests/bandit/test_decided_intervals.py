"""The interval of a decision is that of its moment: `bandit.intervals` then, never that of another one."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import (
    Bandit,
    Changes,
    Infex,
    LinTS,
    LinUCB,
    Study,
    estimators,
    every,
    features,
    made,
    record,
)
from infex.errors import InvalidSetting, NotKept
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
    "logistic": lambda: Bandit(ARMS, POLICY, estimator=estimators.Logistic()),
    "disjoint logistic": lambda: Bandit(features=SHOP, policy=POLICY, estimator=estimators.Logistic()),
    "windowed": lambda: Bandit(ARMS, POLICY, estimator=estimators.Windowed(size=9)),
    "disjoint discounted": lambda: Bandit(features=SHOP, policy=POLICY, estimator=estimators.Discounted()),
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
def test_it_is_what_the_bandit_says_at_that_moment_and_stays(kind: str) -> None:
    bandit = warmed(kind)
    for t in range(30, 40):
        expected = {level: bandit.intervals(level, **asked(kind, t)) for level in (0.5, 0.95)}
        decision = bandit.ask(**asked(kind, t))
        before = decision.interval(0.95)
        bandit.tell(decision, 1.0)
        for level, table in expected.items():
            low, high = decision.interval(level)
            assert (low, high) == pytest.approx((table.low[decision.arm], table.high[decision.arm]), rel=1e-9)
        assert decision.interval() == before
        assert decision.low <= before[1]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_have_those_of_single_decisions(kind: str) -> None:
    bandit = warmed(kind)
    given: Any = 9
    if kind == "given":
        given = [asked(kind, t)["arms"] for t in range(9)]
    elif asked(kind, 0):
        given = [asked(kind, t)["context"] for t in range(9)]
    decisions = bandit.ask_many(given)
    low, high = decisions.interval(0.9)
    singles = [decision.interval(0.9) for decision in decisions]
    np.testing.assert_allclose(np.array(singles).T, [low, high], rtol=1e-9)
    some = decisions[2:5].interval(0.9)
    np.testing.assert_allclose(some, [low[2:5], high[2:5]], rtol=1e-9)
    bandit.tell_many(decisions, [1.0] * 9)
    np.testing.assert_allclose(decisions.interval(0.9), [low, high], rtol=1e-9)
    assert decisions[:0].interval()[0].size == 0


def learn_row(bandit: Bandit) -> None:
    bandit.learn(arms=[0], rewards=[1.0])


def take_changes(bandit: Bandit) -> None:
    other = Bandit(ARMS, POLICY)
    learn_row(other)
    bandit.apply(Changes.from_bytes(other.changes().to_bytes()))


def take_merged(bandit: Bandit) -> None:
    other = Bandit(ARMS, POLICY)
    learn_row(other)
    bandit.merge(other)


def tell_another(bandit: Bandit) -> None:
    bandit.tell(bandit.ask(), 0.0)


def tell_others(bandit: Bandit) -> None:
    bandit.tell_many(bandit.ask_many(2), [0.0, 1.0])


def put_right(bandit: Bandit) -> None:
    assert bandit._remembered is not None
    bandit.tell(next(iter(bandit._remembered.decisions)), 0.25, again="replace")


def change_policy(bandit: Bandit) -> None:
    bandit.policy = Infex(LinUCB(bound=7.0), every(3))


@pytest.mark.parametrize(
    "change",
    [
        *(learn_row, take_changes, take_merged, tell_another, tell_others, put_right, change_policy),
        lambda bandit: bandit.add_arms([[0.1, 0.1]]),
        lambda bandit: bandit.remove_arms([2]),
        lambda bandit: bandit.extend(1),
    ],
)
def test_what_was_not_asked_for_before_the_bandit_learnt_is_not_known(
    change: Callable[[Bandit], None],
) -> None:
    bandit = warmed("fixed")
    early, late = bandit.ask(), bandit.ask()
    kept = early.interval()
    change(bandit)
    assert early.interval() == kept
    with pytest.raises(NotKept, match="before the next reward is told"):
        late.interval()
    with pytest.raises(NotKept, match=late.id):
        late.interval()


def test_a_decision_that_is_entered_late_has_none() -> None:
    """Rewards may have been told since it was decided."""
    bandit = warmed("fixed")
    waiting, decided = bandit.ask(), None
    bandit.tell(waiting, 0.5)
    other = bandit.ask()
    decided = bandit.decide()
    bandit.tell(other, 0.5)
    decision = bandit.enter(decided)
    with pytest.raises(NotKept):
        decision.interval()


def test_records_files_and_copies_have_none_of_what_is_not_asked_for(tmp_path: Path) -> None:
    bandit = warmed("fixed")
    decision = bandit.ask()
    assert made(record(decision)).interval() == decision.interval()  # the same decision: it waits here
    bandit.save(tmp_path / "x.infex")
    late = bandit.ask()
    del bandit
    loaded = Bandit.load(tmp_path / "x.infex")
    assert loaded.pending == (decision,)
    with pytest.raises(NotKept):
        loaded.pending[0].interval()
    with pytest.raises(NotKept):
        late.interval()


def test_a_copy_tells_of_the_same_moment() -> None:
    bandit = warmed("disjoint")
    decision = bandit.ask(context=VISITORS[0])
    expected = decision.interval()
    for copied in (copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        assert copied.pending[0].interval() == expected
    del bandit
    assert pickle.loads(pickle.dumps(decision)) == decision


def test_a_decision_of_ones_own_id_is_told_from_that_of_another_bandit() -> None:
    one, other = warmed("fixed"), warmed("fixed", 9)
    first, second = one.ask(id="visit"), other.ask(id="visit")
    assert first != second
    assert first.interval() == pytest.approx(
        [one.intervals().low[first.arm], one.intervals().high[first.arm]], rel=1e-9
    )
    assert second.interval() == pytest.approx(
        [other.intervals().low[second.arm], other.intervals().high[second.arm]], rel=1e-9
    )


def test_that_of_a_study_is_known_until_its_next_reward(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with Study.open(url, "shop", arms=ARMS, policy=POLICY, rewards=(0, 1)) as study:
        for number in range(8):
            study.ask(f"v{number}")
            study.tell(f"v{number}", float(number % 2))
        decision = study.ask("next")
        low, high = decision.interval()
        assert 0.0 <= low < high <= 1.0
        assert study.ask("next").interval() == (low, high)


def test_a_level_that_is_none_is_refused() -> None:
    decision = warmed("fixed").ask()
    for level in (0.0, 1.0, 95, "0.9"):
        with pytest.raises((InvalidSetting, NotKept)):
            decision.interval(level)
