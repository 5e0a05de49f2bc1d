"""Merging what two bandits learnt."""

from typing import Any

import numpy as np
import pytest

from infex import Bandit, Greedy, Infex, LinUCB, Uniform, every
from infex.errors import CannotMerge
from infex.testing import problem
from tests.policies.test_contract import Means

GIVEN = problem(4, arms=6, dim=3, horizon=200)


def run(bandit: Bandit, rounds: range) -> None:
    for t in rounds:
        decision = bandit.ask()
        bandit.tell(decision, GIVEN.reward(t, decision.arm))


def make(**settings: Any) -> Bandit:
    return Bandit(GIVEN.arms, Infex(Uniform(), every(1), data="own"), **settings)


def test_two_halves_merge_to_the_whole() -> None:
    one, other, whole = make(seed=1), make(seed=2), make()
    run(one, range(1, 100))
    run(other, range(100, 150))
    for bandit in (one, other):
        for arm, record in enumerate(bandit.estimates()):
            for _ in range(record.pulls):
                whole._player.memory.learn(arm, 0.0, explored=True)
    before = other.estimates().tolist()
    waiting = one.ask()
    one.merge(other)
    np.testing.assert_allclose(one.evidence().widths, whole.evidence().widths, rtol=1e-12)
    np.testing.assert_allclose(one.evidence().explored.widths, whole.evidence().widths, rtol=1e-12)
    assert one.estimates().pulls.tolist() == whole.estimates().pulls.tolist()
    assert other.estimates().tolist() == before
    assert (one.t, one.pending) == (100, (waiting,))


def test_pulls_of_equal_arms_add_up_one_by_one() -> None:
    arms = [[1.0, 0.0], [1.0, 0.0]]
    one, other = Bandit(arms, Uniform()), Bandit(arms, Uniform(), seed=1)
    for bandit in (one, other):
        for _ in range(10):
            bandit.tell(bandit.ask(), 1.0)
    expected = one.estimates().pulls + other.estimates().pulls
    one.merge(other)
    assert one.estimates().pulls.tolist() == expected.tolist()


def test_rewards_add_up_too() -> None:
    one, other = Bandit(np.eye(2), Greedy()), Bandit(np.eye(2), Greedy())
    for bandit, reward in ((one, 1.0), (other, 4.0)):
        bandit.tell(bandit.ask(), reward)
    one.merge(other)
    assert one.estimates().estimate.tolist() == pytest.approx([5 / 3, 0])


@pytest.mark.parametrize("seed", range(5))
def test_sums_by_arm_add_up_wherever_the_arms_stand(seed: int) -> None:
    """Policies that look at no features read them: of all rounds, and of exploring rounds alone."""
    rng = np.random.default_rng(seed)
    labels, sums, explored = list("abcd"), dict.fromkeys("abcd", 0.0), dict.fromkeys("abcd", 0.0)
    bandits = []
    for order in (rng.permutation(4), rng.permutation(4)):
        bandit = Bandit(
            np.eye(4)[order],
            Infex(Uniform(), every(3), data="own"),
            labels=[labels[k] for k in order],
            seed=seed,
        )
        for _ in range(60):
            decision, reward = bandit.ask(), float(rng.integers(-9, 10))  # whose sums are exact
            bandit.tell(decision, reward)
            sums[str(decision.label)] += reward
            explored[str(decision.label)] += reward if decision.explored else 0.0
        bandits.append(bandit)
    one, other = bandits
    one.merge(other)
    for evidence, expected in ((one.evidence(), sums), (one.evidence().explored, explored)):
        assert dict(zip(one.labels or (), evidence.sums.tolist(), strict=True)) == expected


def test_arms_that_only_one_has_tell_all_the_same() -> None:
    one = Bandit(np.eye(2), Greedy(), labels=["a", "b"])
    other = Bandit([[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]], Uniform(), labels=["b", "new", "c"])
    for reward in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        other.tell(other.ask(), reward)
    pulls = dict(zip(other.labels or (), other.estimates().pulls.tolist(), strict=True))
    one.merge(other)
    assert one.estimates().pulls.tolist() == [0, pulls["b"]]
    np.testing.assert_allclose(one.evidence().volume, other.evidence().volume)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (make(), make(penalty=2.0), "penalty must agree, got 1.0 and 2.0"),
        (make(), Bandit(np.eye(2), Greedy()), "dim must agree, got 3 and 2"),
        (make(), Bandit(GIVEN.arms, LinUCB()), "keeps exploring rounds apart, the other bandit does not"),
        (Bandit(GIVEN.arms, Means()), make(), "keeps a state of its own"),
    ],
)
def test_bandits_on_other_problems_are_refused(one: Bandit, other: Bandit, message: str) -> None:
    with pytest.raises(CannotMerge, match=message):
        one.merge(other)


def test_a_bandit_is_not_merged_with_itself() -> None:
    bandit = make()
    with pytest.raises(CannotMerge, match="would count twice"):
        bandit.merge(bandit)


def test_what_was_merged_is_not_applied_once_more() -> None:
    centre, worker = (Bandit(np.eye(2), Greedy()) for _ in range(2))
    worker.learn(arms=[0], rewards=[1.0])
    centre.merge(worker)
    assert centre.apply(worker.changes()) == 0
    worker.learn(arms=[0, 1], rewards=[1.0, 0.5])
    assert centre.apply(worker.changes()) == 2
    assert centre.estimates().pulls.tolist() == [2, 1]


def test_what_was_merged_in_part_is_refused_as_a_whole() -> None:
    centre, worker = (Bandit(np.eye(2), Greedy()) for _ in range(2))
    worker.learn(arms=[0], rewards=[1.0])
    centre.merge(worker)
    worker.learn(arms=[1], rewards=[1.0])
    with pytest.raises(CannotMerge, match="here already"):
        centre.apply(worker.changes())
    assert centre.estimates().pulls.tolist() == [1, 0]


@pytest.mark.parametrize("theirs", [None, (0.0, 100.0), (-1.0, 0.5)])
def test_rewards_outside_the_range_come_in_no_other_way(theirs: tuple[float, float] | None) -> None:
    centre, worker = Bandit(np.eye(2), Greedy(), rewards=(0, 1)), Bandit(np.eye(2), Greedy(), rewards=theirs)
    worker.learn(arms=[0], rewards=[0.5])
    for way in (lambda: centre.merge(worker), lambda: centre.apply(worker.changes())):
        with pytest.raises(CannotMerge, match="say the same range"):
            way()
    assert centre.estimates().pulls.tolist() == [0, 0]


def test_rewards_of_a_narrower_range_can_be_merged_and_applied() -> None:
    centre, worker = Bandit(np.eye(2), Greedy(), rewards=(0, 9)), Bandit(np.eye(2), Greedy(), rewards=(0, 1))
    worker.learn(arms=[0], rewards=[0.5])
    assert centre.apply(worker.changes()) == 1
    centre.merge(worker)
    assert centre.estimates().pulls.tolist() == [2, 0]
