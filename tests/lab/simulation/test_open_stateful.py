"""Notes, controls and estimators over open problems run compiled, as the Python loop has them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import EpsilonGreedy, Infex, LinTS, LinUCB, Softened, every, guarded, listed, paused, until_certain
from infex.errors import NotKept
from infex.lab.environments import changing, gaussian, late, steps, turning, walk
from infex.lab.simulation import play
from infex.lab.simulation.compiled import plan_of
from infex.models import Discounted, Lasso, Logistic, Weighted, Windowed
from infex.policies import UCB1, GaussianTS, GreedyFirst, HybridTS, OLSBandit, RarelySwitchingUCB, ledger
from tests.lab.simulation.in_python import assert_same, play_in_python
from tests.lab.simulation.test_opened import skewed
from tests.lab.simulation.test_stateful import lassos, policies
from tests.models.slow import by_first

EXAMPLES = 150

pytestmark = pytest.mark.filterwarnings(
    "ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations"
)

moving = st.sampled_from([None, steps(every=17), turning(60), walk(0.05)])
lateness = st.sampled_from([None, 0, 3, late(mean=5), late(mean=4, lost=0.3), late(rounds=[0, 11, 2])])
laws = st.sampled_from([{}, {"rewards": "student", "degrees": 2.1}, {"rewards": skewed}])


ESTIMATORS: list[Any] = [
    None,
    Discounted(rate=0.9),
    Windowed(size=7),
    Lasso(strength=0.05),
    Logistic(penalty=0.3),
    Logistic(),
    Weighted(weight=by_first),
    Logistic(penalty=1e-8),
]


def problem(anew: bool, seed: int, moves: Any, slow: Any, chances: bool, law: dict[str, Any]) -> Any:
    make = changing if anew else gaussian
    nature: dict[str, Any] = {"rewards": "bernoulli", "link": "logistic"} if chances else law
    return make(dim=3, arms=8, seed=seed, moves=moves, late=slow, **nature)


def runs_compiled(instance: Any, policy: Any, estimator: Any) -> bool:
    plan = plan_of(policy, estimator)
    return plan is not None and plan.can_play(instance)


@given(
    policy=policies, estimator=st.sampled_from(ESTIMATORS),
    anew=st.booleans(), moves=moving, slow=lateness, law=laws, seed=st.integers(0, 99),
    horizon=st.sampled_from([1, 2, 40, 120]), penalty=st.sampled_from([1e-8, 0.5, 1.0]),
    pending=st.sampled_from(["narrow", "narrow", "ignore"]),
)  # fmt: skip
@settings(max_examples=EXAMPLES, deadline=None)
def test_compiled_and_interpreted_runs_are_the_same_to_the_last_bit(
    policy: Any, estimator: Any, anew: bool, moves: Any, slow: Any, law: Any, seed: int, horizon: int,
    penalty: float, pending: Any,
) -> None:  # fmt: skip
    instance = problem(anew, seed, moves, slow, isinstance(estimator, Logistic), law)
    more: Any = {"penalty": penalty, "record": True, "estimator": estimator, "pending": pending}
    try:
        slowly = play_in_python(instance, policy, horizon, seed, **more)
    except NotKept:
        with pytest.raises(NotKept):
            play(instance, policy, horizon, seed, **more)
        return
    assert_same(play(instance, policy, horizon, seed, **more), slowly)


forced = st.one_of(
    lassos,
    st.builds(
        OLSBandit,
        rule=st.sampled_from(["log", "blocks"]),
        scale=st.sampled_from([None, 2.5]),
        keep=st.sampled_from([0.0, 0.5]),
    ),
)


@given(
    policy=forced, anew=st.booleans(), moves=moving, slow=lateness, law=laws, seed=st.integers(0, 99),
    horizon=st.sampled_from([1, 2, 40, 120]),
)  # fmt: skip
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_forced_sampling_is_the_same_to_the_last_bit(
    policy: Any, anew: bool, moves: Any, slow: Any, law: Any, seed: int, horizon: int
) -> None:
    instance = problem(anew, seed, moves, slow, False, law)
    assert runs_compiled(instance, policy, None)
    slowly = play_in_python(instance, policy, horizon, seed, record=True)
    assert_same(play(instance, policy, horizon, seed, record=True), slowly)


@pytest.mark.parametrize("data", ["shared", "own"])
@pytest.mark.parametrize("penalty", [1e-9, 1e-3, 1.0])
def test_late_clicks_beyond_the_first_exact_fits_are_learnt_alike(penalty: float, data: Any) -> None:
    """A run so long that most rewards are taken in by steps of O(d^2), and fits start where these led."""
    instance = gaussian(dim=8, arms=12, seed=3, late=late(mean=30), rewards="bernoulli", link="logistic")
    policy = Infex(LinUCB(delta=0.01), every(2), data=data)
    more: Any = {"penalty": penalty, "record": True, "estimator": Logistic()}
    assert_same(play(instance, policy, 700, 3, **more), play_in_python(instance, policy, 700, 3, **more))


BUILT_IN: list[Any] = [
    GreedyFirst(LinUCB(), wait=3),
    RarelySwitchingUCB(),
    HybridTS(),
    Softened(LinUCB(), 0.2),
    Infex(LinUCB(), guarded(every(2), 5.0)),
    Infex(LinUCB(), until_certain(every(2), scale=0.1, radius="mixture")),
    Infex(LinTS(), paused(every(2), listed(range(20, 40)), "make up"), data="own"),
]


@pytest.mark.parametrize("policy", [*BUILT_IN, UCB1(), GaussianTS(), HybridTS(form="plain")], ids=repr)
def test_all_that_is_built_in_runs_compiled_over_fixed_arms(policy: Any) -> None:
    instance = gaussian(dim=3, arms=8, seed=1, moves=steps(every=30), late=3)
    assert runs_compiled(instance, policy, None)


@pytest.mark.parametrize("policy", BUILT_IN, ids=repr)
def test_all_but_what_reads_pulls_runs_compiled_over_arms_that_change(policy: Any) -> None:
    assert runs_compiled(changing(dim=3, arms=8, seed=1, late=3), policy, None)


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS[1:6], ids=repr)
def test_every_estimator_runs_compiled(estimator: Any, anew: bool) -> None:
    instance = problem(anew, 1, steps(every=30), late(mean=3), isinstance(estimator, Logistic), {})
    assert runs_compiled(instance, LinUCB(), estimator)


def test_what_reads_pulls_is_refused_over_arms_that_change() -> None:
    instance = changing(dim=3, arms=8, seed=1)
    for policy in (UCB1(), GaussianTS(), HybridTS(form="plain")):
        with pytest.raises(NotKept, match="pulls"):
            play(instance, policy, 20)


def test_weights_of_a_user_are_asked_over_arms_that_change() -> None:
    instance = changing(dim=3, arms=8, seed=1)
    weighted = Weighted(weight=by_first)
    assert not runs_compiled(instance, LinUCB(), weighted)
    one = play(instance, LinUCB(), 60, estimator=weighted, record=True)
    assert one.horizon == 60


def test_runs_go_on_where_the_stretch_before_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[tuple[Any, Any]] = [
        (Infex(RarelySwitchingUCB(), guarded(every(2), 3.0, window=40), data="own"), None),
        (GreedyFirst(LinTS(), wait=4), None),
        (Infex(LinUCB(), until_certain(every(2), scale=0.05)), Lasso(strength=0.02)),
        (Infex(LinUCB(), ledger(0.4)), None),
        (EpsilonGreedy(rate=0.2), Windowed(size=9)),
    ]
    from infex.lab.environments import instances

    for anew in (False, True):
        instance = problem(anew, 4, turning(50), late(mean=6), False, {})
        whole = [play(instance, policy, 150, record=True, estimator=each) for policy, each in chosen]
        with monkeypatch.context() as patch:
            patch.setattr(instances, "BLOCK", 24 * 7)
            for (policy, each), run in zip(chosen, whole, strict=True):
                again = play(instance, policy, 150, record=True, estimator=each)
                np.testing.assert_array_equal(again.arms, run.arms)


def test_a_searching_estimator_starts_where_the_last_decision_was_taken() -> None:
    """Several rewards in one round are one search, from the estimate that the round was decided on."""
    instance = gaussian(dim=3, arms=8, seed=2, late=late(rounds=[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]))
    for data in ("shared", "own"):
        policy = Infex(LinUCB(), every(2), data=data)
        more: Any = {"record": True, "estimator": Lasso(strength=0.05)}
        assert_same(play(instance, policy, 90, **more), play_in_python(instance, policy, 90, **more))


def test_rewards_that_logistic_regression_refuses_are_refused() -> None:
    from infex.errors import InvalidReward

    for instance in (gaussian(dim=2, arms=3, seed=1, late=1), changing(dim=2, arms=3, seed=1)):
        for how in (play, play_in_python):
            with pytest.raises(InvalidReward, match=r"must be 0 or 1, got -1\.0"):
                how(instance, LinUCB(), 100, estimator=Logistic())


def test_what_is_certain_of_arms_that_change_is_certain_in_its_round_alone() -> None:
    policy = Infex(LinUCB(scale=0.05), until_certain(every(1), scale=0.02))
    for seed in range(4):
        instance = changing(dim=3, arms=8, seed=seed)
        run = play(instance, policy, 60, seed, record=True)
        assert_same(run, play_in_python(instance, policy, 60, seed, record=True))
        assert 0 < run.explored < 60
