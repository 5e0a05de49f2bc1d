"""What keeps notes, reads pulls or looks at controls runs compiled, as the Python loop has it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    budget,
    every,
    guarded,
    jittered,
    listed,
    paused,
    power,
    until_certain,
)
from infex.core.choosing import smallest_eigenvalue
from infex.lab import play_many
from infex.lab.environments import LinearInstance, gaussian
from infex.lab.simulation import play
from infex.policies import (
    UCB1,
    AgnosticLassoBandit,
    Control,
    ExploreThenCommit,
    GaussianTS,
    GreedyFirst,
    HybridTS,
    LassoBandit,
    RarelySwitchingUCB,
    Uniform,
    doubtful,
    ledger,
)
from infex.policies.base import policy_info
from infex.policies.compiled import CompiledSpec, compiled_spec
from infex.testing import odd_arm_sets
from tests.lab.simulation.in_python import assert_same, play_in_python
from tests.lab.simulation.test_playing import instances
from tests.strategies import accepted

EXAMPLES = 200

ties = st.sampled_from(["lowest", "random"])
scales = st.sampled_from([0.05, 0.3, 1.0])
simple = st.one_of(
    st.builds(UCB1, noise=st.sampled_from([0.2, 1.0]), ties=ties),
    st.builds(GaussianTS, noise=st.sampled_from([0.2, 1.0]), ties=ties),
    st.builds(RarelySwitchingUCB, growth=st.sampled_from([0.1, 1.0]), scale=scales, ties=ties),
    st.builds(HybridTS, form=st.sampled_from(["plain", "linear"]), p=st.sampled_from([0.1, 0.7]), ties=ties),
    st.builds(LinUCB, scale=scales, ties=ties),
    st.builds(LinTS, scale=scales, sampling=st.sampled_from(["gaussian", "spherical"])),
    st.builds(EpsilonGreedy, rate=st.sampled_from([None, 0.3]), ties=ties),
    st.sampled_from([Greedy(), Uniform()]),
)
bases = st.one_of(
    simple,
    st.builds(
        GreedyFirst, simple, level=st.sampled_from([None, 0.0, 0.01, 0.5]), wait=st.sampled_from([None, 0, 9])
    ),
    st.builds(Softened, st.one_of(simple.filter(lambda base: not isinstance(base, LinTS))), share=scales),
)
plans = st.one_of(
    st.integers(1, 12).map(every),
    st.sampled_from([power(0.6), jittered(3, 1), every(4) | every(7), budget(every(2), 20)]),
)
windows = st.sampled_from([None, 1, 7, 60])


def controlled(inner: Any) -> Any:
    return st.one_of(
        st.builds(guarded, inner, st.sampled_from([0.0, 0.3, 2.0]), windows),
        st.builds(until_certain, inner, scale=st.sampled_from([0.0, 0.02, 0.1])),
        st.builds(doubtful, inner, st.sampled_from([0.0, 0.02, 0.3])),
        accepted(ledger, st.sampled_from([0.01, 0.3, 2.0]), inner, noise=st.sampled_from([0.2, 1.0])),
        st.builds(budget, inner, st.integers(0, 30), windows),
        accepted(
            paused,
            inner,
            st.sampled_from([listed(range(20, 60)), every(2), every(5)]),
            missed=st.sampled_from(["drop", "make up"]),
            at_most=st.sampled_from([1.0, 0.4, 0.05]),
        ),
    )


schedules = st.recursive(plans, controlled, max_leaves=4)
policies = st.one_of(
    bases,
    st.builds(Infex, bases, schedules, data=st.sampled_from(["shared", "own"]), ties=ties),
    st.builds(
        ExploreThenCommit,
        rounds=st.integers(0, 40),
        order=st.sampled_from(["uniform", "robin"]),
        then=st.just("commit"),
        ties=ties,
    ),
)
horizons = st.sampled_from([1, 2, 30, 250])


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
@given(
    policy=policies, instance=instances, seed=st.integers(0, 99), horizon=horizons,
    penalty=st.sampled_from([1e-7, 0.1, 1.0]),
)  # fmt: skip
@settings(max_examples=EXAMPLES, deadline=None)
def test_compiled_and_interpreted_runs_are_the_same_to_the_last_bit(
    policy: Any, instance: LinearInstance, seed: int, horizon: int, penalty: float
) -> None:
    assert isinstance(compiled_spec(policy), CompiledSpec), "it runs compiled"
    slow = play_in_python(instance, policy, horizon, seed, penalty=penalty, record=True)
    assert_same(play(instance, policy, horizon, seed, penalty=penalty, record=True), slow)


@pytest.mark.parametrize("arm_set", odd_arm_sets())
@pytest.mark.parametrize(
    "policy",
    [
        UCB1(),
        GaussianTS(ties="random"),
        RarelySwitchingUCB(),
        GreedyFirst(),
        Infex(LinUCB(), guarded(every(3), 1.0)),
        Infex(LinUCB(), until_certain(every(3), scale=0.1), data="own"),
        Infex(LinUCB(), ledger(0.5, noise=0.5), data="own"),
        Infex(LinUCB(), doubtful(every(2), scale=0.05)),
    ],
    ids=repr,
)
def test_odd_arm_sets_are_played_alike(arm_set: str, policy: Any) -> None:
    arms = odd_arm_sets()[arm_set]
    instance = LinearInstance(arms, arms[0] / 2)
    slow = play_in_python(instance, policy, 300, 3, record=True)
    assert_same(play(instance, policy, 300, 3, record=True), slow)


lassos = st.one_of(
    st.builds(
        LassoBandit,
        q=st.sampled_from([None, 1, 3]),
        keep=st.sampled_from([0.0, 0.5]),
        first=st.sampled_from([0.0, 0.05]),
        later=st.sampled_from([0.0, 0.05, 0.3]),
    ),
    st.builds(AgnosticLassoBandit, strength=st.sampled_from([0.0, 0.1]), ties=ties),
)


@given(policy=lassos, instance=instances, seed=st.integers(0, 99), horizon=horizons)
@settings(max_examples=EXAMPLES // 4, deadline=None)
def test_lasso_bandits_are_the_same_to_the_last_bit(
    policy: Any, instance: LinearInstance, seed: int, horizon: int
) -> None:
    slow = play_in_python(instance, policy, horizon, seed, record=True)
    assert_same(play(instance, policy, horizon, seed, record=True), slow)


def test_lasso_bandits_go_on_where_the_chunk_before_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = gaussian(dim=4, arms=12, seed=1)
    whole = [play(instance, policy, 300, record=True) for policy in (LassoBandit(), AgnosticLassoBandit())]
    monkeypatch.setattr("infex.lab.environments.instances.STRETCH", 97)
    for run in whole:
        np.testing.assert_array_equal(play(instance, run.policy, 300, record=True).arms, run.arms)


def test_many_runs_in_one_call_are_those_of_one_by_one() -> None:
    problems = [gaussian(dim=3, arms=8, seed=seed) for seed in range(3)]
    chosen: list[Any] = [
        UCB1(),
        GreedyFirst(LinTS(), wait=5),
        Infex(RarelySwitchingUCB(), paused(every(2), every(3), "make up"), data="own"),
        Infex(LinTS(), guarded(every(2), 1.0, window=20)),
    ]
    for policy in chosen:
        many = play_many(problems, policy, 120, seeds=range(4), record=True, workers=1)
        for run in many:
            assert_same(run, play(run.instance, policy, 120, run.seed, record=True))


def test_long_runs_go_on_where_the_chunk_before_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = gaussian(dim=4, arms=12, seed=1)
    chosen: list[Any] = [
        GaussianTS(),
        GreedyFirst(wait=3),
        Infex(LinTS(), guarded(paused(every(3), listed(range(90, 300)), "make up"), 2.0, window=150)),
        Infex(LinTS(), budget(every(2), 9, window=110), data="own"),
    ]
    whole = [play(instance, policy, 1000, record=True) for policy in chosen]
    monkeypatch.setattr("infex.lab.environments.instances.STRETCH", 97)
    for policy, run in zip(chosen, whole, strict=True):
        np.testing.assert_array_equal(play(instance, policy, 1000, record=True).arms, run.arms)


class Cautious(Control):
    """A control of a user's, which no compiled loop knows."""

    def __init__(self, schedule: Any) -> None:
        self.schedule = schedule

    def objects(self, t: int, posterior: Any, state: Any) -> str | None:
        return "too early" if t < 50 else None


def test_a_control_of_ones_own_is_obeyed() -> None:
    policy = Infex(Uniform(), guarded(Cautious(every(2)), 1e9))
    assert compiled_spec(policy) is None
    assert play(gaussian(dim=2, arms=3, seed=1), policy, 100).explored == 26


def test_a_softened_base_is_no_shortcut_in_a_bandit() -> None:
    """The shortcut of `ask` reads the form of a policy, which says what stands around the base too."""
    policy = Softened(LinUCB(), 0.9)
    form = compiled_spec(policy)
    assert isinstance(form, CompiledSpec)
    assert not form.is_plain
    assert policy_info(policy).controlled_schedule is None


@given(dim=st.integers(1, 12), rank=st.integers(0, 12), seed=st.integers(0, 10**6))
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_least_eigenvalue_is_that_of_lapack(dim: int, rank: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(rank, dim)) * 10.0 ** (seed % 7 - 3)
    gram = rows.T @ rows
    least, trace = smallest_eigenvalue(gram)
    assert least == pytest.approx(np.linalg.eigvalsh(gram)[0], abs=1e-13 * (1e-300 + np.trace(gram)))
    assert trace == pytest.approx(np.trace(gram))
