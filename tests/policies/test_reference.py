"""Whole runs of the built-in policies against slow versions that solve from scratch every round."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Policy,
    Softened,
    every,
    jittered,
    logarithmic,
    power,
    stretched,
)
from infex.errors import InvalidSetting
from infex.lab.environments import changing
from infex.policies import (
    EXP2,
    TSUCB,
    UCB1,
    AgnosticLassoBandit,
    EnsembleSampling,
    ExploreThenCommit,
    FixedBonusUCB,
    GaussianTS,
    GreedyFirst,
    HybridTS,
    LassoBandit,
    LinIDS,
    LinIMED,
    LinMED,
    LinPHE,
    OLSBandit,
    OptimisticTS,
    PhasedElimination,
    RandLinUCB,
    RarelySwitchingUCB,
    SpannerIGW,
    SupLinUCB,
    Uniform,
    WeightedBootstrap,
    WeightedOFUL,
)
from infex.streams import Rounds
from infex.testing import agree, odd_arm_sets, play, problem, slow_play
from infex.testing.problems import signed

HORIZON = 50

radii = st.fixed_dictionaries(
    {
        "delta": st.sampled_from([1.0, 0.01, 1e-4]),
        "scale": st.sampled_from([0.0, 0.1, 1.0]),
        "radius": st.sampled_from(["sum", "mixture"]),
    }
)
bases = st.one_of(
    st.just(Greedy()),
    st.just(Uniform()),
    st.builds(EpsilonGreedy, rate=st.sampled_from([None, 0.3])),
    radii.map(lambda radius: LinUCB(**radius)),
    st.builds(
        lambda kind, radius, sampling, inflation: kind(**radius, sampling=sampling, inflation=inflation),
        st.sampled_from([LinTS, OptimisticTS]),
        radii,
        st.sampled_from(["gaussian", "spherical"]),
        st.sampled_from(["abeille", "agrawal", None]),
    ),
)
rivals = st.one_of(
    st.builds(
        OLSBandit,
        rule=st.sampled_from(["log", "blocks"]),
        scale=st.sampled_from([None, 0.7, 3, 9]),
        keep=st.sampled_from([0.0, 0.3]),
        forced_by=st.sampled_from(["uniform", "design"]),
    ),
    st.builds(
        ExploreThenCommit,
        rounds=st.integers(0, 30),
        order=st.sampled_from(["uniform", "robin", "design"]),
        then=st.sampled_from(["greedy", "commit"]),
    ),
    st.builds(
        LassoBandit,
        q=st.integers(1, 9),
        keep=st.sampled_from([0.1, 0.5]),
        forced_by=st.sampled_from(["uniform", "design"]),
    ),
    st.builds(AgnosticLassoBandit, strength=st.sampled_from([0.01, 0.2])),
    st.builds(GreedyFirst, bases, level=st.sampled_from([None, 0.1]), wait=st.integers(0, 20)),
)
stateless = st.one_of(
    st.builds(WeightedOFUL, scale=st.sampled_from([0.01, 1.0]), least_noise=st.sampled_from([None, 0.3])),
    st.builds(
        lambda radius, gain: LinIDS(**radius, gain=gain),
        radii,
        st.sampled_from(["variance", "directed"]),
    ),
    st.builds(
        lambda radius, share, design: LinMED(**radius, greedy_share=share, design=design),
        radii.filter(lambda radius: radius["scale"] > 0),  # else its law jumps where estimates tie
        st.sampled_from([0.5, 0.9]),
        st.booleans(),
    ),
    st.builds(SpannerIGW, rate=st.sampled_from([1.0, 50.0])),
    st.builds(LinPHE, scale=st.sampled_from([0.5, 1.0, 2.0])),
    st.builds(WeightedBootstrap, noise=st.sampled_from([1.0, 2.0])),
    st.builds(TSUCB, samples=st.integers(1, 5), noise=st.sampled_from([0.2, 1.0])),
    st.builds(
        lambda radius, levels, spread: RandLinUCB(**radius, levels=levels, spread=spread),
        radii,
        st.integers(2, 20),
        st.floats(0.1, 2),
    ),
    st.builds(
        lambda radius, variant, cap: LinIMED(**radius, variant=variant, cap=cap, horizon=HORIZON),
        radii,
        st.sampled_from([1, 2, 3]),
        st.sampled_from([0.5, 30.0]),
    ),
    st.builds(UCB1, noise=st.sampled_from([0.1, 1.0])),
    st.builds(GaussianTS, noise=st.sampled_from([0.1, 1.0])),
    st.builds(HybridTS, p=st.sampled_from([0.0, 0.4, 1.0]), form=st.sampled_from(["linear", "plain"])),
    st.builds(FixedBonusUCB, bonus=st.sampled_from([0.0, 0.5, 3.0])),
    st.builds(Softened, st.sampled_from([LinUCB(), Uniform(), EpsilonGreedy()]), st.floats(0.1, 1)),
    st.builds(RarelySwitchingUCB, growth=st.sampled_from([0.2, 1.0]), scale=st.sampled_from([0.1, 1.0])),
)
schedules = st.one_of(
    st.integers(1, 9).map(every),
    st.sampled_from([stretched(1), power(0.5), logarithmic(2), jittered(4, 1), every(7) | every(5)]),
)
everyone = st.one_of(bases, stateless)
independent = st.one_of(
    st.builds(PhasedElimination, noise=st.sampled_from([0.05, 0.3, 1.0]), delta=st.sampled_from([None, 0.5])),
    st.builds(SupLinUCB, noise=st.sampled_from([0.01, 0.1, 1.0]), horizon=st.sampled_from([1, 50, 1000])),
    st.builds(EXP2, rate=st.sampled_from([0.05, 0.3]), bound=st.sampled_from([1.0, 2.0])),
    st.builds(EXP2, horizon=st.just(50)),
)
drawn_once = st.builds(EnsembleSampling, members=st.integers(1, 6), noise=st.sampled_from([0.1, 1.0]))
policies = st.one_of(
    everyone,
    rivals,
    drawn_once,
    st.builds(Infex, drawn_once, schedules),
    independent,
    st.builds(Infex, independent, schedules, data=st.just("own")),
    st.builds(Infex, everyone, schedules, data=st.sampled_from(["shared", "own"])),
)


@given(
    policy=policies,
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 30),
    dim=st.integers(1, 8),
    penalty=st.sampled_from([0.1, 1.0, 7.0]),
)
@settings(max_examples=150, deadline=None)
def test_every_arm_is_that_of_the_slow_version(
    policy: Any, seed: int, arms: int, dim: int, penalty: float
) -> None:
    given = problem(seed, arms=arms, dim=dim, horizon=HORIZON)
    draws = Rounds(seed, "test").at
    fast = play(policy, given.arms, given.reward, draws, HORIZON, penalty)
    slow = slow_play(policy, given.arms, given.reward, draws, HORIZON, penalty)
    assert [choice.arm for choice in fast] == slow, policy


@pytest.mark.parametrize("arm_set", odd_arm_sets())
@pytest.mark.parametrize(
    "policy",
    [
        Greedy(),
        LinUCB(),
        LinTS(),
        *(Infex(LinUCB(), every(m), data=d) for m in (1, 5, 20) for d in ("shared", "own")),
    ],
    ids=repr,
)
def test_odd_arm_sets_are_played_like_the_slow_version(arm_set: str, policy: Policy) -> None:
    arms = odd_arm_sets()[arm_set]
    uniforms = Rounds(1, "uniforms").at(1).random(200)
    given = signed(arms, arms[0] / 2, uniforms)
    draws = Rounds(2, "test").at
    fast = play(policy, arms, given.reward, draws, 200)
    assert [choice.arm for choice in fast] == slow_play(policy, arms, given.reward, draws, 200)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (FixedBonusUCB(bonus=0.5), FixedBonusUCB(bonus=0.9), r"^round by round, alone, .*: round \d+: "),
        (Greedy(), LinUCB(scale=0.0), r"round 1: Greedy\(.* has \(0, False\), LinUCB\(.* has \(0, True\)"),
    ],
)
def test_two_policies_that_differ_are_told_apart_by_the_round(one: Any, other: Any, message: str) -> None:
    agree(one, one, horizon=30)
    with pytest.raises(AssertionError, match=message):
        agree(one, other, horizon=60)


def test_policies_are_compared_over_fixed_arms_alone() -> None:
    drawn: Any = changing(dim=2, arms=3, seed=1)
    with pytest.raises(InvalidSetting, match="instances must be problems with fixed arms"):
        agree(Greedy(), Greedy(), instances=[drawn])
