"""Rewards as they come: what range they are in, what kind of numbers, and a second one for a decision."""

import copy
import math
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Choice, Greedy, Infex, LinTS, LinUCB, every, features, models
from infex.bandit import Changes
from infex.errors import (
    AlreadyTold,
    InvalidReward,
    InvalidSetting,
    LargeReward,
    NotKept,
    NotRemembered,
    RewardOutOfRange,
    UnknownDecision,
)

ARMS = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
POLICY = Infex(LinUCB(noise=100, bound=100), every(3))


WAYS: list[Any] = [
    None,
    models.Discounted(rate=0.8),
    models.Windowed(size=4),
    models.Lasso(),
]


def shop(**more: Any) -> Bandit:
    return Bandit(ARMS, POLICY, **more)


@pytest.mark.parametrize("base", [LinUCB, LinTS])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_without_noise_only_rewards_far_beyond_the_bound_are_warned_of(base: Any, noise: float) -> None:
    """Exploring rounds go by the bound then: a reward of about that size fits."""
    bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Infex(base(noise=noise, bound=2.0), every(2)))
    for reward in (2.0, np.nextafter(2.0, 3.0), -2.5, 6.0):
        bandit.tell(bandit.ask(), float(reward))
    with pytest.warns(LargeReward, match="a reward of 100 is far beyond"):
        bandit.tell(bandit.ask(), 100.0)


def test_a_reward_outside_the_range_is_refused_and_its_decision_waits() -> None:
    bandit = shop(rewards=(0, 250))
    visit = bandit.ask()
    before = bandit.digest()
    for reward in (-0.5, 250.1, 1e15, math.inf, math.nan):
        with pytest.raises(InvalidReward):
            bandit.tell(visit, reward)
    with pytest.raises(RewardOutOfRange, match=r"from 0 to 250, got 250\.1"):
        bandit.tell(visit, 250.1)
    assert (bandit.digest(), len(bandit.pending)) == (before, 1)
    bandit.tell(visit, 250)


def test_many_rewards_are_refused_with_the_row_of_the_first_that_lies_outside() -> None:
    bandit = shop(rewards=(0, 250))
    visits = bandit.ask_many(4)
    before = bandit.digest()
    with pytest.raises(RewardOutOfRange, match="reward in row 2 must be from 0 to 250, got -1"):
        bandit.tell_many(visits, [1.0, 2.0, -1.0, 300.0])
    with pytest.raises(RewardOutOfRange, match="in row 1 "):
        bandit.learn(arms=[0, 1], rewards=[1.0, 251.0])
    with pytest.raises(InvalidReward, match="reward in row 1 must be a number, got '17'"):
        bandit.learn(arms=[0, 1], rewards=np.array([1.0, "17"], dtype=object))
    assert bandit.digest() == before
    bandit.tell_many(visits, [1.0, 2.0, 0.0, 250.0])


def test_the_range_is_kept_in_files_and_told_apart(tmp_path: Path) -> None:
    bandit = shop(rewards=(0, 250))
    bandit.save(tmp_path / "b.infex")
    loaded = Bandit.load(tmp_path / "b.infex")
    assert loaded.rewards == copy.copy(loaded).rewards == (0.0, 250.0)
    assert loaded.digest() == bandit.digest() != shop(rewards=(0, 251)).digest() != shop().digest()
    for one in (loaded, copy.copy(loaded)):
        with pytest.raises(RewardOutOfRange):
            one.tell(one.ask(), 251.0)
        one.policy = Greedy()  # which allows for any reward
        with pytest.raises(RewardOutOfRange):
            one.tell(one.ask(), 251.0)


@pytest.mark.parametrize("rewards", [(1, 0), (0, 0), (0, math.inf), 250, "01", (0, 1, 2), (True, 2)])
def test_a_range_that_is_none_is_refused(rewards: Any) -> None:
    with pytest.raises(InvalidSetting, match="rewards"):
        shop(rewards=rewards)


@pytest.mark.parametrize("more", [{"rewards": (0, 1)}, {"estimator": models.Logistic()}])
@pytest.mark.parametrize("reward", [True, np.True_, 1, np.int8(1), np.float32(1), Decimal(1), Fraction(1)])
def test_truth_and_numbers_of_any_kind_are_clicks(more: dict[str, Any], reward: Any) -> None:
    one, other, many = (shop(**more) for _ in range(3))
    one.tell(one.ask(), reward)
    other.tell(other.ask(), 1.0)
    many.tell_many(many.ask_many(1), [reward])
    assert one.digest() == other.digest()
    np.testing.assert_array_equal(many.estimates(), other.estimates())


def test_truth_is_no_reward_where_rewards_are_not_0_and_1() -> None:
    bandit = shop()
    visit = bandit.ask()
    for reward in (True, np.False_):
        with pytest.raises(InvalidReward, match=r"say rewards=\(0, 1\)"):
            bandit.tell(visit, reward)
        with pytest.raises(InvalidReward, match="in row 0"):
            bandit.tell_many([visit], np.array([reward]))
    for text in ("17", b"17", None, 1j):
        with pytest.raises(InvalidReward, match="reward must be a number"):
            bandit.tell(visit, text)
    bandit.tell(visit, Decimal("0.1"))
    assert bandit.posterior().sums.sum() == 0.1
    for nothing in (Decimal("NaN"), Decimal("Infinity"), Decimal("1e400")):
        with pytest.raises(InvalidReward, match="finite"):
            bandit.tell(bandit.ask(), nothing)


def test_rewards_that_do_not_fit_are_warned_of_and_again_if_it_gets_ten_times_worse() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(4)))
    told: list[str] = []
    for reward in (5.0, 25.0, 240.0, -251.0, 2500.0, 2511.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bandit.tell(bandit.ask(), reward)
        told += [str(warning.message).split(" is ")[0] for warning in caught]
        assert all(warning.filename == __file__ for warning in caught)
    assert told == ["a reward of 25", "a reward of -251", "a reward of 2511"]


def test_a_log_that_does_not_fit_is_warned_of_by_its_largest_reward() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(4)))
    with pytest.warns(LargeReward, match="a reward of -300 is far beyond") as caught:
        bandit.learn(arms=[0, 1, 2], rewards=[20.0, -300.0, 40.0])
    assert len(caught) == 1
    bandit.tell_many(bandit.ask_many(2), [2000.0, -2999.0])
    with pytest.warns(LargeReward, match="a reward of 4000"):
        bandit.tell_many(bandit.ask_many(2), [4000.0, 1.0])


def bandits(kind: str, estimator: Any) -> list[Bandit]:
    """Three alike, of which two remember."""
    more: list[dict[str, Any]] = [{"remembers": 50}, {"remembers": 50}, {}]
    common = {"policy": POLICY, "estimator": estimator, "seed": 3}
    if kind == "fixed":
        return [Bandit(ARMS, **common, **each) for each in more]
    if kind == "given":
        return [Bandit(dim=2, **common, **each) for each in more]
    rule = {
        "disjoint": features.disjoint(["tea", "juice"], context_dim=2),
        "interactions": features.interactions(np.eye(2), context_dim=2),
    }[kind]
    return [Bandit(features=rule, **common, **each) for each in more]


def asked(bandit: Bandit, kind: str, rng: np.random.Generator) -> Any:
    row = rng.standard_normal(2)
    row /= np.linalg.norm(row)
    if kind == "fixed":
        return bandit.ask()
    return bandit.ask(arms=[row, -row]) if kind == "given" else bandit.ask(context=row)


def theta(bandit: Bandit) -> Any:
    return np.append(bandit.theta, bandit._agent.model.all.n_observations)


@pytest.mark.parametrize("kind", ["fixed", "given", "disjoint", "interactions"])
@pytest.mark.parametrize("again", ["sum", "replace"])
@given(seed=st.integers(0, 2**32), which=st.integers(0, 3))
@settings(max_examples=12, deadline=None)
def test_a_second_reward_is_as_if_all_had_been_told_at_once(
    kind: str, again: Any, seed: int, which: int
) -> None:
    estimator = [None, models.Discounted(rate=0.8), models.Windowed(size=4), models.Lasso()][which]
    rng = np.random.default_rng(seed)
    first, second, plain = bandits(kind, estimator)
    visits = [asked(first, kind, np.random.default_rng((seed, n))) for n in range(12)]
    others = [
        [asked(bandit, kind, np.random.default_rng((seed, n))) for n in range(12)]
        for bandit in (second, plain)
    ]
    values, late = (
        rng.standard_normal(12),
        {int(at): float(rng.standard_normal()) for at in rng.integers(12, size=4)},
    )
    for visit, value in zip(visits, values.tolist(), strict=True):
        first.tell(visit, value)
    second.tell_many(others[0], values)  # remembers as well as one by one
    for at, more in late.items():
        first.tell(visits[at], more, on_duplicate=again)
        second.tell(others[0][at].id, more, on_duplicate=again)
        values[at] = values[at] + more if again == "sum" else more
    for visit, value in zip(others[1], values.tolist(), strict=True):
        plain.tell(visit, value)
    np.testing.assert_allclose(theta(first), theta(plain), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(theta(first), theta(second))
    if kind != "given":
        assert first.pulls is not None
        assert plain.pulls is not None
        assert first.pulls.tolist() == plain.pulls.tolist()


def test_large_rewards_that_are_replaced_leave_no_trace() -> None:
    mistaken, plain = (Bandit([[0.6], [0.3]], Greedy(), remembers=10) for _ in range(2))
    values = [0.1, -0.2, 0.3, 0.4, 0.5, 0.1, 0.2]
    visits = [[bandit.ask() for _ in values] for bandit in (mistaken, plain)]
    for n, value in enumerate(values):
        plain.tell(visits[1][n], value)
        mistaken.tell(visits[0][n], {3: 1e9, 4: 1e9 / 3}.get(n, value))
    for n in (3, 4):
        mistaken.tell(visits[0][n], values[n], on_duplicate="replace")
    np.testing.assert_allclose(mistaken.theta, plain.theta, rtol=0, atol=1e-12)


def test_a_click_and_what_was_bought_are_added_up_also_of_logistic() -> None:
    bandit = shop(rewards=(0, 1), remembers=10, estimator=models.Logistic())
    visit = bandit.ask()
    bandit.tell(visit, False, on_duplicate="sum")
    bandit.tell(visit, True, on_duplicate="sum")
    with pytest.raises(RewardOutOfRange, match="from 0 to 1, got 2"):
        bandit.tell(visit, True, on_duplicate="sum")
    other = shop(rewards=(0, 1), estimator=models.Logistic())
    other.tell(other.ask(), True)
    np.testing.assert_allclose(bandit.theta, other.theta, rtol=1e-12)


def test_money_that_is_given_back_may_be_added_where_the_sum_is_in_the_range() -> None:
    bandit = shop(rewards=(0, 250), remembers=10)
    visit = bandit.ask()
    bandit.tell(visit, 100.0)
    bandit.tell(visit, -40.0, on_duplicate="sum")
    with pytest.raises(RewardOutOfRange, match="got -40"):
        bandit.tell(visit, -100.0, on_duplicate="sum")
    assert bandit.posterior().sums.sum() == 60.0


def test_the_same_again_changes_nothing_and_another_is_refused() -> None:
    bandit = shop(remembers=10)
    visit = bandit.ask()
    bandit.tell(visit, 3.0, on_duplicate="same")
    before = bandit.digest()
    bandit.tell(visit, 3.0, on_duplicate="same")
    for reward, again in ((4.0, "same"), (3.0, "refuse"), (4.0, "refuse")):
        with pytest.raises(AlreadyTold, match=r"was told 3\.0 already"):
            bandit.tell(visit, reward, on_duplicate=again)
    with pytest.raises(InvalidReward, match="weight of the first, 1, got 2"):
        bandit.tell(visit, 3.0, on_duplicate="sum", weight=2.0)
    assert bandit.digest() == before


def test_what_is_not_remembered_any_more_is_refused_by_name() -> None:
    bandit = shop(remembers=2)
    visits = [bandit.ask(id=f"order {n}") if n == 1 else bandit.ask() for n in range(4)]
    bandit.drop(bandit.ask())
    for visit in visits:
        bandit.tell(visit, 1.0)
    before = bandit.digest()
    with pytest.raises(NotRemembered, match="not among the last 2 that are remembered"):
        bandit.tell(visits[0], 2.0, on_duplicate="replace")
    with pytest.raises(UnknownDecision):  # an id of the caller's own may never have been
        bandit.tell("order 1", 2.0, on_duplicate="replace")
    with pytest.raises(UnknownDecision):
        bandit.tell("never", 2.0, on_duplicate="replace")
    with pytest.raises(InvalidSetting, match=r"remembers=1000"):
        shop().tell("never", 1.0, on_duplicate="sum")
    with pytest.raises(InvalidSetting, match="on_duplicate must be 'refuse' or 'same'"):
        bandit.tell(visits[3], 1.0, on_duplicate="twice")
    assert bandit.digest() == before


def test_a_bandit_that_does_not_remember_refuses_a_second_reward() -> None:
    bandit = shop()
    visit = bandit.ask()
    bandit.tell(visit, 1.0)
    with pytest.raises(AlreadyTold, match="has its reward already"):
        bandit.tell(visit, 1.0)


def test_what_is_remembered_is_saved_copied_and_goes_on_bit_for_bit(tmp_path: Path) -> None:
    bandit = shop(remembers=3)
    visits = [bandit.ask(id="order" if n == 2 else None) for n in range(6)]
    for n in (4, 1, 2, 0):
        bandit.tell(visits[n], float(n))
    bandit.save(tmp_path / "b.infex")
    copies = [Bandit.load(tmp_path / "b.infex"), copy.deepcopy(bandit)]
    assert {each.digest() for each in copies} == {bandit.digest()}
    for each in (bandit, *copies):
        with pytest.raises(NotRemembered):
            each.tell(visits[4], 1.0, on_duplicate="replace")
        each.tell("order", 5.0, on_duplicate="sum")
        each.tell(visits[3], 7.0)  # the oldest that is remembered goes
        with pytest.raises(NotRemembered):
            each.tell(visits[1], 1.0, on_duplicate="replace")
    assert {each.digest() for each in copies} == {bandit.digest()}


@pytest.mark.parametrize("kind", ["fixed", "disjoint"])
def test_a_second_reward_finds_its_arm_after_others_have_come_and_gone(kind: str) -> None:
    remembering, _, plain = bandits(kind, None)
    context = {} if kind == "fixed" else {"context": [1.0, 0.0]}
    for bandit, values in ((remembering, (1.0, 2.0)), (plain, (1.5, 2.0))):
        visits = [bandit.ask(**context) for _ in range(6)]
        bandit.tell(visits[2], values[0])  # explored
        bandit.tell(visits[0], values[1])
        bandit.remove_arms(["tea"] if kind == "disjoint" else [0])
        bandit.add_arms(["mate"] if kind == "disjoint" else [[0.0, 0.5]])
        if bandit is remembering:
            bandit.tell(visits[2], 0.5, on_duplicate="sum")
            bandit.tell(visits[0], 2.0, on_duplicate="same")
    np.testing.assert_allclose(remembering.theta, plain.theta, rtol=1e-12)


def test_a_second_reward_is_learnt_where_features_have_come_since() -> None:
    remembering, _, plain = bandits("disjoint", None)
    for bandit, value in ((remembering, 1.0), (plain, 3.0)):
        visit = bandit.ask(context=[0.6, 0.8])
        bandit.tell(visit, value)
        bandit.extend(1)
        if bandit is remembering:
            bandit.tell(visit, 3.0, on_duplicate="replace")
    np.testing.assert_allclose(remembering.theta, plain.theta, rtol=1e-12)


def test_exploring_rounds_that_are_kept_apart_are_put_right_too() -> None:
    policy = Infex(LinUCB(), every(2), data="own")
    one, other = Bandit(ARMS, policy, remembers=9), Bandit(ARMS, policy)
    for bandit, values in ((one, (1.0, 2.0)), (other, (0.5, 0.25))):
        visits = [bandit.ask() for _ in range(2)]
        bandit.tell_many(visits, values)
        if bandit is one:
            bandit.tell(visits[0], 0.5, on_duplicate="replace")
            bandit.tell(visits[1], 0.25, on_duplicate="replace")
    for mine, theirs in (
        (one.posterior(), other.posterior()),
        (one.posterior().explored, other.posterior().explored),
    ):
        np.testing.assert_allclose(mine.estimates, theirs.estimates, rtol=1e-12)


def test_a_second_reward_is_passed_on_to_others() -> None:
    worker, centre, plain = shop(remembers=9), shop(), shop()
    visits = [worker.ask() for _ in range(3)]
    worker.tell_many(visits, [1.0, 2.0, 3.0])
    assert centre.apply(Changes.from_bytes(worker.changes().to_bytes())) == 3
    worker.tell(visits[1], 5.0, on_duplicate="sum")
    assert centre.apply(Changes.from_bytes(worker.changes().to_bytes())) == 1
    plain.learn(arms=[visit.arm for visit in visits], rewards=[1.0, 7.0, 3.0])
    np.testing.assert_allclose(centre.theta, plain.theta, rtol=1e-12)


def test_a_learner_with_a_state_of_its_own_refuses_another_value() -> None:
    class Own:
        def choose(self, t: int, posterior: Any, rng: Any) -> Any:
            return Choice(0, explored=True)

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            """Hears of it."""

    bandit = Bandit(ARMS, Own(), remembers=9)
    visit = bandit.ask()
    bandit.tell(visit, 1.0)
    with pytest.raises(NotKept, match="state of its own"):
        bandit.tell(visit, 2.0, on_duplicate="replace")
    bandit.tell(visit, 1.0, on_duplicate="same")
