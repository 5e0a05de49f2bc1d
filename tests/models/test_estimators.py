"""Bandits, policies and whole runs with every estimator."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex import Bandit, Choice, Greedy, Infex, LinTS, LinUCB, every, models
from infex.errors import (
    CannotLoad,
    CannotMerge,
    DamagedFile,
    InvalidExpression,
    InvalidReward,
    InvalidSetting,
    NotKept,
)
from infex.lab import environments
from infex.models import Discounted, Fit, Lasso, Logistic, Posterior, Ridge, Solution, Weighted, Windowed
from infex.registry import expression, parse
from infex.testing import problem
from tests.alike import unnamed
from tests.models.own import Averaging, AveragingFit
from tests.models.slow import ALL, IN_ORDER, by_first

POLICIES = [
    Greedy(),
    LinUCB(scale=0.3),
    LinTS(scale=0.3),
    Infex(LinUCB(), every(5)),
    Infex(LinTS(), every(3), data="own"),
]
GIVEN = problem(4, arms=6, dim=3, horizon=300)
KEPT_ROWS = [Logistic()]  # rewards are kept one by one
ADDING = [each for each in ALL if each not in IN_ORDER + KEPT_ROWS]


def offered(t: int) -> Any:
    return problem(t, arms=5, dim=3, horizon=1).arms


def go_on(bandit: Bandit, rounds: int, changing: bool = False) -> list[Any]:
    """What a bandit does next: decisions and, from time to time, rewards of 0 and 1 of older ones."""
    seen = []
    for _ in range(rounds):
        decision = bandit.ask(offered(bandit.t)) if changing else bandit.ask()
        if decision.t % 3:
            waiting = bandit.pending[len(bandit.pending) // 2]
            bandit.tell(waiting.id, float(math.sin(waiting.t) > 0.1 * waiting.arm))
        seen.append(unnamed(decision))
    return seen


def made(estimator: Any, policy: Any = None, changing: bool = False, **more: Any) -> Bandit:
    where: dict[str, Any] = {"dim": 3} if changing else {"arms": GIVEN.arms}
    return Bandit(policy=policy or Infex(LinUCB(), every(5)), estimator=estimator, **where, **more)


@given(
    estimator=st.sampled_from(ALL),
    policy=st.sampled_from(POLICIES),
    rounds=st.integers(0, 60),
    changing=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_loaded_bandit_goes_on_exactly_as_the_saved_one(
    tmp_path_factory: pytest.TempPathFactory, estimator: Any, policy: Any, rounds: int, changing: bool
) -> None:
    path = tmp_path_factory.mktemp("saved") / "x.infex"
    bandit = made(estimator, policy, changing, penalty=0.7)
    go_on(bandit, rounds, changing)
    bandit.save(path)
    given_again = {"estimator": estimator} if isinstance(estimator, Weighted) else {}
    loaded = Bandit.load(path, **given_again)
    assert (loaded.estimator, loaded.penalty) == (estimator, 0.7)
    assert go_on(loaded, 40, changing) == go_on(bandit, 40, changing)
    arms = GIVEN.arms if changing else None
    assert loaded.estimates(arms).tolist() == bandit.estimates(arms).tolist()


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_arms_come_and_go(estimator: Any) -> None:
    bandit, whole = made(estimator), made(estimator)
    go_on(bandit, 40)
    go_on(whole, 40)
    bandit.remove_arms([0, 3])
    bandit.add_arms(GIVEN.arms[[0]])
    expected = whole.estimates().estimate[[1, 2, 4, 5, 0]]
    np.testing.assert_allclose(bandit.estimates().estimate, expected, rtol=1e-6, atol=1e-8)
    go_on(bandit, 20)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_fixed_arms_and_the_same_arms_offered_anew_are_alike(estimator: Any) -> None:
    """LASSO and logistic regression are searched for, so the last digits may differ."""
    fixed, changing = made(estimator), made(estimator, changing=True)
    for t in range(1, 80):
        one, other = fixed.ask(), changing.ask(GIVEN.arms)
        assert (one.arm, one.explored) == (other.arm, other.explored)
        assert one.estimate == pytest.approx(other.estimate, abs=1e-9)
        assert one.high == pytest.approx(other.high, abs=1e-9)
        reward = float(GIVEN.reward(t, one.arm) > 0)
        fixed.tell(one, reward)
        changing.tell(other, reward)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
@pytest.mark.parametrize("changing", [False, True])
def test_exploring_keeps_to_the_arms_that_are_allowed(estimator: Any, changing: bool) -> None:
    bandit = made(estimator, LinUCB(), changing)
    allowed = np.arange(6) % 2 == 1
    for t in range(1, 20):
        decision = bandit.ask(GIVEN.arms if changing else None, allowed=allowed)
        assert allowed[decision.arm]
        bandit.tell(decision, float(GIVEN.reward(t, decision.arm) > 0))


def test_weights_count_in_exploring_rounds_kept_apart() -> None:
    bandit = made(Discounted(rate=0.9), Infex(LinUCB(), every(2), data="own"))
    for t in range(1, 20):
        decision = bandit.ask()
        bandit.tell(decision, GIVEN.reward(t, decision.arm), weight=3.0)
    assert bandit.posterior().explored.pulls.sum() == 9
    assert bandit._agent.model.explored is not None
    assert bandit._agent.model.explored.n_observations == 9


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_every_policy_works_in_whole_runs(estimator: Any, policy: Any) -> None:
    fixed = environments.LinearInstance(np.abs(GIVEN.arms), np.abs(GIVEN.theta) / 2, rewards="bernoulli")
    changing = environments.ChangingInstance(
        theta=fixed.theta, arms=4, rewards="bernoulli", contexts=lambda rng: rng.random((4, 3)) / 2
    )
    for instance in (fixed, changing):
        run = infex.lab.play(instance, policy, 60, 3, record=True, estimator=estimator)
        assert run.horizon == 60
        (again,) = infex.lab.play_many(instance, policy, 60, [3], record=True, estimator=estimator)
        np.testing.assert_array_equal(run.arms, again.arms)
        assert run.log_det_ratio == again.log_det_ratio > 0


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_ridge_that_is_asked_for_is_what_is_played_anyway(policy: Any) -> None:
    for instance in (
        environments.gaussian(dim=4, arms=20, seed=2),
        environments.changing(dim=4, arms=7, seed=2),
    ):
        plain = infex.lab.play(instance, policy, 150, penalty=0.5, record=True)
        asked = infex.lab.play(instance, policy, 150, penalty=0.5, record=True, estimator=Ridge())
        own = infex.lab.play(instance, policy, 150, record=True, estimator=Ridge(penalty=0.5))
        np.testing.assert_array_equal(plain.arms, asked.arms)
        np.testing.assert_array_equal(plain.arms, own.arms)


def test_play_refuses_what_is_no_estimator() -> None:
    instance = environments.gaussian(dim=4, arms=20, seed=2)
    for play in (infex.lab.play, infex.lab.play_many):
        with pytest.raises(InvalidSetting, match="or an object with a method new_model; got 'lasso'"):
            play(instance, Greedy(), 10, estimator="lasso")
    with pytest.raises(InvalidSetting, match=r"got the class Lasso, say Lasso\(\.\.\.\)"):
        Bandit(np.eye(2), Greedy(), estimator=Lasso)


@pytest.mark.parametrize(
    ("theta", "covariance", "message"),
    [
        ([0.0, math.nan], np.eye(2), "theta of a Solution must be finite, got nan"),
        ([0.0, 0.0], [[math.inf, 0.0], [0.0, 1.0]], "covariance of a Solution must be finite, got inf"),
        ([0.0, 0.0], np.diag([1.0, -2.0]), "must be positive definite, got one with the eigenvalue -2"),
        ([0.0], np.eye(2), r"the shapes \(d,\) and \(d, d\), got \(1,\) and \(2, 2\)"),
    ],
)
def test_a_solution_that_cannot_be_is_refused(theta: Any, covariance: Any, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        Solution.about(theta, covariance, 0.0)


def test_a_fit_that_solves_to_something_else_is_named() -> None:
    class Plain:
        def new_model(self, columns: Any, penalty: float) -> Fit:
            return PlainFit(columns, penalty, self)

    class PlainFit(AveragingFit):
        def solve(self, start: Any) -> Any:
            return start

    with pytest.raises(
        InvalidSetting, match=r"solve of PlainFit must return a models\.Solution, got ndarray"
    ):
        Bandit(np.eye(2), Greedy(), estimator=Plain()).ask()


def test_arrays_that_a_fit_of_ones_own_cannot_solve_are_a_damaged_file() -> None:
    model = Averaging().new_model(np.eye(2), 1.0)
    with pytest.raises(DamagedFile, match="theta of a Solution must be finite, got nan"):
        model.restore(model.arrays() | {"total": np.array([0.0, math.nan])})


def test_a_fit_of_ones_own_is_told_what_it_may_define() -> None:
    bandit = Bandit(np.eye(2), Greedy(), estimator=Averaging(), remembers=1)
    decision = bandit.ask()
    bandit.tell(decision, 1.0)
    with pytest.raises(NotKept, match="AveragingFit may define revise_observation"):
        bandit.tell(decision, 0.0, on_duplicate="replace")
    with pytest.raises(NotKept, match="AveragingFit may define standard_errors"):
        bandit.intervals()
    with pytest.raises(CannotMerge, match="AveragingFit may define sufficient_statistics and add_statistics"):
        bandit.changes()


@pytest.mark.parametrize("estimator", ADDING, ids=repr)
def test_what_two_bandits_learnt_adds_up(estimator: Any) -> None:
    one, other, whole = (made(estimator, Greedy()) for _ in range(3))
    for t in range(1, 60):
        bandit = one if t % 2 else other
        decision, same = bandit.ask(), whole.ask()
        reward = float(GIVEN.reward(t, decision.arm) > 0)
        bandit.tell(decision, reward)
        whole.drop(same)
        whole._agent.learn(decision.arm, decision.arm, reward, decision.explored)
    one.apply(other.changes())
    np.testing.assert_allclose(one.posterior().widths, whole.posterior().widths, rtol=1e-8)
    np.testing.assert_allclose(one.posterior().estimates, whole.posterior().estimates, rtol=1e-6, atol=1e-8)
    assert one.estimates().pulls.tolist() == whole.estimates().pulls.tolist()


@pytest.mark.parametrize("estimator", IN_ORDER + KEPT_ROWS, ids=repr)
def test_rewards_that_count_by_their_order_or_one_by_one_do_not_add_up(estimator: Any) -> None:
    one, other = made(estimator), made(estimator)
    go_on(one, 9)
    before = one.estimates().tolist()
    with pytest.raises(CannotMerge, match="its rewards count by their order, or one by one"):
        one.apply(other.changes())
    assert one.estimates().tolist() == before


def test_other_estimators_do_not_add_up() -> None:
    with pytest.raises(CannotMerge, match="estimator must agree"):
        made(Lasso(strength=0.1)).apply(made(None).changes())
    with pytest.raises(CannotMerge, match="estimator must agree"):
        made(Lasso(strength=0.1)).apply(made(Lasso(strength=0.2)).changes())
    made(Ridge(penalty=1)).apply(made(None).changes())


def test_weights_and_the_weight_of_features_go_together() -> None:
    bandit, plain = made(Weighted(weight=by_first)), made(None)
    for t in range(1, 30):
        one, other = bandit.ask(), plain.ask()
        assert one.arm == other.arm
        bandit.tell(one, GIVEN.reward(t, one.arm), weight=2.0)
        plain.tell(other, GIVEN.reward(t, one.arm), weight=2.0 * by_first(GIVEN.arms[one.arm]))
    np.testing.assert_allclose(
        bandit.posterior().estimates, plain.posterior().estimates, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, "1"])
def test_a_weight_must_be_above_0(weight: Any) -> None:
    bandit = made(Weighted(weight=lambda x: weight))
    decision = bandit.ask()
    with pytest.raises(InvalidSetting, match=r"weight\(x\) must be"):
        bandit.tell(decision, 1.0)
    assert bandit.pending == (decision,)


@pytest.mark.parametrize("reward", [0.5, -1.0, 2.0])
def test_logistic_regression_refuses_rewards_other_than_0_and_1(reward: float) -> None:
    bandit = made(Logistic())
    decision = bandit.ask()
    with pytest.raises(InvalidReward, match=rf"must be 0 or 1, got {reward}"):
        bandit.tell(decision, reward)
    with pytest.raises(InvalidSetting, match=r"a weight \(2\) needs an estimator of least squares"):
        bandit.tell(decision, 1.0, weight=2.0)
    bandit.tell(decision, 1)
    assert bandit.posterior().pulls.sum() == 1


class Curious:
    """Reads the sums."""

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        theta = posterior.moments.least_squares()
        assert posterior.moments.n_observations <= max(t - 1, 17)
        return Choice(infex.best(np.asarray(posterior.arms @ theta)))


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_sums_are_given_or_refused(estimator: Any) -> None:
    for changing in (False, True):
        bandit = made(estimator, Curious(), changing)
        if isinstance(estimator, Logistic):
            with pytest.raises(NotKept, match="keeps no sums"):
                go_on(bandit, 1, changing)
        else:
            go_on(bandit, 30, changing)


@pytest.mark.parametrize(
    ("estimator", "text"),
    [
        (Ridge(), "Ridge"),
        (Ridge(penalty=0.5), "Ridge(penalty=0.5)"),
        (Discounted(rate=0.95), "Discounted(rate=0.95)"),
        (Windowed(size=50), "Windowed(size=50)"),
        (Lasso(), "Lasso"),
        (Logistic(penalty=2), "Logistic(penalty=2)"),
    ],
)
def test_expressions_are_written_and_read_back(estimator: Any, text: str) -> None:
    assert expression(estimator) == text
    assert parse(text) == estimator


def test_an_estimator_with_a_function_is_given_again_when_loading(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    made(Weighted(weight=by_first)).save(path)
    with pytest.raises(CannotLoad, match=r"load it with estimator=, it was Weighted"):
        Bandit.load(path)
    with pytest.raises(InvalidExpression, match="not in the catalogue"):
        expression(Weighted(weight=by_first))


def test_another_estimator_may_go_on_from_the_same_sums(tmp_path: Path) -> None:
    path, bandit = tmp_path / "x.infex", made(None)
    go_on(bandit, 30)
    bandit.save(path)
    with pytest.raises(
        CannotLoad, match=r"another estimator: ridge regression .* not Lasso\(strength=1e-09\)"
    ):
        Bandit.load(path, estimator=Lasso(strength=1e-9))
    assert Bandit.load(path, estimator=Ridge()).t == 30
    loaded = Bandit.load(path, estimator=Lasso(strength=1e-9), adopt=True)
    np.testing.assert_allclose(loaded.posterior().widths, bandit.posterior().widths, rtol=1e-9)
    with pytest.raises(CannotLoad, match=r"Windowed\(size=5\) cannot go on from what ridge regression has"):
        Bandit.load(path, estimator=Windowed(size=5), adopt=True)


def test_a_shorter_window_keeps_the_last_rewards(tmp_path: Path) -> None:
    path, bandit, short = tmp_path / "x.infex", made(Windowed(size=30)), Windowed(size=4)
    go_on(bandit, 50)
    bandit.save(path)
    loaded = Bandit.load(path, estimator=short, adopt=True)
    assert loaded.posterior().moments.n_observations == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Discounted(rate=0.0), "rate must be above 0, got 0.0"),
        (lambda: Discounted(rate=1.1), "rate must be at most 1, got 1.1"),
        (lambda: Discounted(rate="0.9"), "rate must be a number, got '0.9'"),
        (lambda: Windowed(size=0), "size must be at least 1, got 0"),
        (lambda: Windowed(size=1.5), "size must be a whole number, got 1.5"),
        (lambda: Weighted(weight=2.0), "weight must be a function of an arm's features, got 2.0"),
        (lambda: Lasso(strength=0), "strength must be above 0, got 0"),
        (lambda: Lasso(strength=math.nan), "strength must be finite, got nan"),
        (lambda: Logistic(penalty=0), "penalty must be above 0, got 0"),
        (lambda: Ridge(penalty=-1), "penalty must be above 0, got -1"),
        (lambda: made(Lasso(), penalty=0), "penalty must be above 0, got 0"),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        make()


def test_every_estimator_says_whether_the_papers_conditions_hold() -> None:
    for each in ALL:
        assert "The paper's two conditions on an estimator" in (type(each).__doc__ or "")
        assert type(each).__name__ in models.__all__
