"""Whole runs: compiled, interpreted and slow versions agree."""

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Choice,
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Schedule,
    always,
    budget,
    every,
    jittered,
    logarithmic,
    power,
    stretched,
)
from infex.core.posterior import RidgePosterior
from infex.core.ridge import Ridge
from infex.errors import InfexError, InvalidChoice, NotKept
from infex.lab.environments import ChangingInstance, LinearInstance, gaussian
from infex.lab.simulation import Run, compiled, play, simulator
from infex.models import Posterior
from infex.policies import OLSBandit, Uniform
from infex.policies.base import policy_info, resolve_defaults
from infex.registry import stream_name
from infex.schedules import from_count
from infex.streams import stream
from infex.testing import SlowRidge, odd_arm_sets, slow_play
from infex.testing import play as play_in_python
from infex.testing.reference import Pull, lowest
from tests import golden_table as golden
from tests.clock import Clock
from tests.lab.simulation.in_python import assert_same
from tests.models.exact import Exact, Pulls

EXAMPLES = 200

bases = st.one_of(
    st.builds(Greedy, ties=st.sampled_from(["lowest", "random"])),
    st.just(Uniform()),
    st.builds(EpsilonGreedy, rate=st.sampled_from([None, 0.3]), ties=st.sampled_from(["lowest", "random"])),
    st.builds(LinUCB, delta=st.sampled_from([1.0, 1e-4]), scale=st.sampled_from([0.0, 0.1, 1.0])),
    st.builds(
        LinTS,
        delta=st.sampled_from([1.0, 1e-4]),
        scale=st.sampled_from([0.1, 1.0]),
        sampling=st.sampled_from(["gaussian", "spherical"]),
    ),
)
schedules = st.one_of(
    st.integers(1, 40).map(every),
    st.sampled_from(
        [
            stretched(1),
            power(0.5),
            logarithmic(2),
            jittered(4, 1),
            every(7) | every(5),
            from_count(lambda t: t / 3, grows=True),
        ]
    ),
)
policies = st.one_of(
    bases,
    st.builds(
        Infex,
        bases,
        schedules,
        data=st.sampled_from(["shared", "own"]),
        ties=st.sampled_from(["lowest", "random"]),
    ),
)
instances = st.builds(
    gaussian,
    dim=st.integers(1, 9),
    arms=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    rewards=st.sampled_from(["sign", "gaussian"]),
)


class Plain:
    """A built-in policy in disguise, which the compiled loop does not know."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.uses_explored = policy_info(policy).uses_explored

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        choice: Choice = self.policy.choose(t, posterior, rng)
        return choice


def play_plain(monkeypatch: pytest.MonkeyPatch, policy: Any, *given: Any, **more: Any) -> Run:
    """A run in Python with the draws that the policy has in the compiled loop."""
    policy = resolve_defaults(policy, 1 / given[1])
    name = stream_name(policy)
    with monkeypatch.context() as patch:
        patch.setattr(simulator, "stream_name", lambda _: name)
        return play(given[0], Plain(policy), *given[1:], **more)


@given(policy=policies, instance=instances, seed=st.integers(0, 99), penalty=st.sampled_from([0.1, 1.0, 7.0]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_compiled_and_interpreted_runs_are_the_same_to_the_last_bit(
    policy: Any, instance: LinearInstance, seed: int, penalty: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        slow = play_plain(patch, policy, instance, 300, seed, penalty=penalty, record=True)
    assert_same(play(instance, policy, 300, seed, penalty=penalty, record=True), slow)


def one_generator(rng: np.random.Generator) -> Any:
    """A simulated run draws from one generator from start to end."""
    return lambda t: rng


@given(policy=policies, instance=instances, seed=st.integers(0, 99))
@settings(max_examples=EXAMPLES, deadline=None)
def test_every_arm_is_that_of_the_slow_version(policy: Any, instance: LinearInstance, seed: int) -> None:
    if "random" in repr(policy):
        policy = Infex(LinUCB(), every(3), data="own")
    fast = play(instance, policy, 60, seed, record=True)
    policy = fast.policy  # with a delta of 1/60 where none was said
    assert fast.arms is not None
    rng = stream(seed, "policy", stream_name(policy), instance.key)
    draws = instance.draws(seed)
    slow = slow_play(
        policy, instance.arms, lambda t, arm: instance.reward(arm, draws), one_generator(rng), 60
    )
    assert fast.arms.tolist() == slow


@pytest.mark.parametrize("arm_set", odd_arm_sets())
@pytest.mark.parametrize("period", [1, 5, 20, 100, 1000])
@pytest.mark.parametrize("base", [LinUCB(delta=1e-3), LinTS(scale=0.2), LinUCB(ties="random")], ids=repr)
def test_odd_arm_sets_are_played_alike(
    arm_set: str, period: int, base: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arms = odd_arm_sets()[arm_set]
    instance = LinearInstance(arms, arms[0] / 2)
    policy = Infex(base, every(period))
    slow = play_plain(monkeypatch, policy, instance, 400, 3, record=True)
    assert_same(play(instance, policy, 400, 3, record=True), slow)


@pytest.mark.compiled
@pytest.mark.parametrize("row", golden.ROWS, ids=lambda row: row.name)
def test_the_golden_table_is_met(row: golden.Row, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = golden.instance()
    instance = LinearInstance(problem.arms, problem.theta)
    uniforms = np.random.default_rng(np.random.SeedSequence([2510, 26000, 10, 10, 0, 1]))
    monkeypatch.setattr(LinearInstance, "draws", lambda self, seed: uniforms)
    run = play(instance, row.policy, golden.HORIZON, record=True)
    assert run.arms is not None
    assert tuple(run.arms[:12]) == row.first
    assert run.optimal == row.optimal
    assert run.log_det_ratio == pytest.approx(row.log_det_ratio, abs=5e-7)
    rounds, regret = run.curve(every_round=True)
    for t, expected in zip((10, 100, 1000, 10_000), row.regret, strict=True):
        assert regret[t - 1] == pytest.approx(expected, abs=5e-7)
    assert run.regret == pytest.approx(row.regret[-1], abs=5e-7)
    assert rounds[-1] == golden.HORIZON


def test_explorations_that_play_another_arm_than_the_greedy_one_are_counted() -> None:
    """By ridge regression anew in each exploring round."""
    instance = gaussian(dim=4, arms=12, seed=1)
    run = play(instance, Infex(LinUCB(scale=0.2), every(7)), 1000, record=True)
    assert run.arms is not None
    assert run.rewards is not None
    pulls = [Pull(arm, reward, False) for arm, reward in zip(run.arms.tolist(), run.rewards, strict=True)]
    rounds = range(7, 1001, 7)
    greedy = [lowest(SlowRidge(instance.arms, pulls[: t - 1], 1.0).estimates()) for t in rounds]
    expected = sum(run.arms[t - 1] != arm for t, arm in zip(rounds, greedy, strict=True))
    assert run.different == expected
    assert 0 < expected < run.explored
    assert play(instance, LinUCB(), 10).different is None


def test_a_run_adds_up() -> None:
    instance = gaussian(dim=4, arms=12, seed=1)
    run = play(instance, Infex(LinUCB(), every(7)), 5000, record=True)
    assert run.arms is not None
    assert run.explored == 714
    assert run.counts.sum() == 5000
    np.testing.assert_array_equal(run.counts, np.bincount(run.arms, minlength=12))
    explored = np.arange(1, 5001) % 7 == 0
    gaps = instance.gaps[run.arms]
    assert run.regret_exploring == pytest.approx(gaps[explored].sum())
    assert run.regret_greedy == pytest.approx(gaps[~explored].sum())
    rounds, regret = run.curve()
    np.testing.assert_allclose(regret, np.cumsum(gaps)[rounds - 1])
    assert rounds[0] == 1
    assert rounds[-1] == 5000


@pytest.mark.parametrize(
    ("policy", "instance"),
    [
        (LinUCB(), gaussian(dim=2, arms=3, seed=1)),
        (Plain(LinUCB()), gaussian(dim=2, arms=3, seed=1)),
        (OLSBandit(), gaussian(dim=2, arms=3, seed=1)),
        (LinUCB(), ChangingInstance(theta=[0.5, 0.1], arms=3)),
        (Plain(LinUCB()), ChangingInstance(theta=[0.5, 0.1], arms=3)),
    ],
    ids=["compiled", "interpreted", "ordinary least squares", "changing", "changing, interpreted"],
)
def test_a_run_has_the_seconds_between_its_start_and_its_end(
    policy: Any, instance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator, "time", Clock(tick=2.5))
    assert play(instance, policy, 20).seconds == 2.5


def test_long_runs_go_on_where_the_chunk_before_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = gaussian(dim=4, arms=12, seed=1)
    policies: list[Any] = [
        Infex(LinTS(), every(7), data="own"),
        Infex(EpsilonGreedy(), stretched(1), data="own"),
        LinUCB(),
        Greedy(),
        Infex(LinUCB(), power(0.5)),
    ]
    whole = [play(instance, policy, 3000, record=True) for policy in policies]
    monkeypatch.setattr("infex.lab.environments.instances.STRETCH", 97)
    for policy, run in zip(policies, whole, strict=True):
        cut = play(instance, policy, 3000, record=True)
        np.testing.assert_array_equal(cut.arms, run.arms)
        assert_same(cut, run)


def test_a_schedule_that_grows_too_fast_is_named_in_compiled_runs_too() -> None:
    leaping = from_count(lambda t: 0 if t < 5000 else t / 100, grows=True)
    with pytest.raises(InfexError, match="grows by 50 in round 5000"):
        play(gaussian(dim=2, arms=3, seed=1), Infex(LinUCB(), leaping), 20_000)


class Moody(Schedule):
    """Explores every so many rounds, as its owner likes."""

    def __init__(self, period: int) -> None:
        self.period = period
        self.inner: list[Run] = []

    def explores(self, t: int) -> bool:
        return t % self.period == 0

    def count(self, t: int) -> int:
        return t // self.period

    def when(self, n: int) -> int:
        return n * self.period

    def __eq__(self, other: object) -> bool:
        return self is other  # and so it has no hash

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_nothing_is_remembered_of_a_users_schedule() -> None:
    instance, mood = gaussian(dim=2, arms=3, seed=1), Moody(2)
    for schedule in (budget(mood, 10**6), mood | every(50), mood):
        for period in (2, 10):
            mood.period = period
            expected = sum(schedule.explores(t) for t in range(1, 101))
            assert play(instance, Infex(LinUCB(), schedule), 100).explored == expected


def test_a_schedule_may_play_runs_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thinking(Moody):
        def explores(self, t: int) -> bool:
            if t % 97 == 1:
                self.inner.append(play(instance, Uniform(), 10))
            return super().explores(t)

    instance = gaussian(dim=2, arms=3, seed=1)
    monkeypatch.setattr("infex.lab.environments.instances.STRETCH", 97)
    runs = [play(instance, Infex(LinTS(), make(5)), 400, record=True) for make in (Thinking, Moody)]
    uniforms = instance.draws(0).random(400)
    for run in runs:
        means = instance.means[run.arms]
        np.testing.assert_array_equal(run.rewards, np.where(uniforms < (1 + means) / 2, 1.0, -1.0))


@pytest.mark.parametrize("horizon", [2**63, 10**19, 10**400])
def test_more_rounds_than_can_be_counted_are_refused(horizon: int) -> None:
    with pytest.raises(InfexError, match="horizon must be at most 1000000000000000, got"):
        play(gaussian(dim=2, arms=3, seed=1), Greedy(), horizon)


def test_the_noise_is_common_and_each_policy_has_draws_of_its_own() -> None:
    instance = gaussian(dim=3, arms=2, seed=1, rewards="gaussian")
    runs = [play(instance, policy, 200, 5, record=True) for policy in (Greedy(), LinUCB(), Uniform())]
    noise = [run.rewards - instance.means[run.arms] for run in runs]
    np.testing.assert_allclose(noise[0], noise[1], atol=1e-12)
    np.testing.assert_allclose(noise[0], noise[2], atol=1e-12)


def test_a_users_policy_and_learner_are_played() -> None:
    class Means:
        def __init__(self) -> None:
            self.told = 0

        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice((t + self.told) % len(posterior))

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            self.told += 1
            heard.append(reward)

    heard: list[float] = []
    learner = Means()
    run = play(gaussian(dim=2, arms=3, seed=1), Infex(learner, always()), 30, record=True)
    assert run.rewards is not None
    assert heard == run.rewards.tolist()
    again = play(gaussian(dim=2, arms=3, seed=1), Infex(learner, always()), 30, record=True)
    assert_same(run, again)  # a run leaves the policy as it was given
    assert learner.told == 0
    assert run.explored == 30


def test_rounds_that_were_not_recorded_are_not_there() -> None:
    run = play(gaussian(dim=2, arms=3, seed=1), Greedy(), 30)
    assert run.arms is None
    with pytest.raises(NotKept, match="record=True"):
        run.curve(every_round=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda given: play(given, LinUCB, 10), r"got the class LinUCB, say LinUCB\(...\)"),
        (lambda given: play("x", LinUCB(), 10), "instance must be one of infex.lab.environments, got 'x'"),
        (lambda given: play(given, LinUCB(), 0), "horizon must be at least 1, got 0"),
        (lambda given: play(given, LinUCB(), 10, seed=0.5), "seed must be a whole number, got 0.5"),
        (lambda given: play(given, LinUCB(), 10, penalty=0), "penalty must be above 0, got 0"),
    ],
)
def test_bad_settings_are_refused(call: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        call(gaussian(dim=2, arms=3, seed=1))


def test_a_users_schedule_is_played_compiled_too() -> None:
    class Odd:
        """Explores in odd rounds; it cannot be hashed, and says no more than that."""

        __hash__ = None  # type: ignore[assignment]

        def explores(self, t: int) -> bool:
            return t % 2 == 1

    instance = gaussian(dim=3, arms=5, seed=2)
    own = play(instance, Infex(LinUCB(), Odd()), 301, record=True)
    built_in = play(instance, Infex(LinUCB(), every(2, offset=1)), 301, record=True)
    np.testing.assert_array_equal(own.arms, built_in.arms)
    assert own.explored == 151


def test_a_schedule_that_changes_its_mind_is_asked_again() -> None:
    class Moody:
        period = 2

        def explores(self, t: int) -> bool:
            return t % self.period == 0

    moody, instance = Moody(), gaussian(dim=3, arms=5, seed=2)
    assert play(instance, Infex(LinUCB(), moody), 100).explored == 50
    moody.period = 10
    assert play(instance, Infex(LinUCB(), moody), 100).explored == 10


@pytest.mark.compiled
def test_a_union_too_dense_to_count_is_played() -> None:
    policy = Infex(Uniform(), power(1) | jittered(2, 1))
    assert play(gaussian(dim=2, arms=3, seed=2), policy, 210_000).explored == 210_000


@pytest.mark.parametrize("base", [LinUCB(bound=1e200), LinUCB(noise=1e160), LinTS(bound=1e200)], ids=repr)
def test_huge_settings_are_played_like_any_other(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = gaussian(dim=3, arms=5, seed=2)
    slow = play_plain(monkeypatch, Infex(base, every(3)), instance, 50, record=True)
    assert_same(play(instance, Infex(base, every(3)), 50, record=True), slow)


@pytest.mark.compiled
def test_settings_without_bounds_are_named() -> None:
    with pytest.raises(InvalidChoice, match="no arm has a finite score"):
        play(gaussian(dim=3, arms=5, seed=2), LinTS(noise=1e300, scale=1e300), 50)


@pytest.mark.compiled
@pytest.mark.parametrize(("penalty", "horizon"), [(1e-10, 10**7), (1e-9, 10**8), (1e-7, 10**8)])
@pytest.mark.parametrize("line", [(0.6, 0.8), (0.4, -0.5, 0.7)])
def test_a_small_penalty_outlasts_many_rounds_on_a_line(
    penalty: float, horizon: int, line: tuple[float, ...]
) -> None:
    """log det V at the end, against the determinant in exact fractions of how often each arm was played."""
    arms = np.outer([0.5, 0.99, -0.75, 0.9], line)
    policy = Infex(LinUCB(), every(1000))
    run = play(LinearInstance(arms, 0.5 * np.array(line)), policy, horizon, penalty=penalty)
    told = [Pulls(arm, count, Fraction(0)) for arm, count in enumerate(run.counts.tolist())]
    assert run.log_det_ratio == pytest.approx(Exact(arms, told, penalty).log_det_ratio, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "arms", "gigabytes"), [(20, 10**6, 1.2), (500, 1000, 0.6)])
def test_large_problems_run_in_little_memory(dim: int, arms: int, gigabytes: float) -> None:
    """In a process of its own; the arms of a million by 20 alone are 0.16 GB, drawing them takes 0.8,
    and a first compilation 0.35. `ru_maxrss` would begin at what the process that started it holds."""
    program = f"""
import infex
instance = infex.lab.environments.gaussian(dim={dim}, arms={arms}, seed=1)
for base in (infex.LinUCB(), infex.LinTS()):
    for data in ("shared", "own"):
        run = infex.lab.play(instance, infex.Infex(base, infex.every(100), data=data), 1000)
        assert run.explored == 10 and run.counts.sum() == 1000
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(int(peak.split()[1]) / 2**20)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < gigabytes


@pytest.mark.slow
def test_a_billion_rounds_agree_with_a_fresh_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates, widths and log_det_ratio at the end, from counts and reward sums, to 1e-8."""
    kept: list[Ridge] = []

    def remember(*given: Any, **more: Any) -> Ridge:
        kept.append(Ridge(*given, **more))
        return kept[-1]

    monkeypatch.setattr(compiled, "Ridge", remember)
    instance = gaussian(dim=10, arms=100, seed=3)
    run = play(instance, Infex(LinUCB(delta=1e-9), every(1000)), 10**9)
    (ridge,) = kept
    gram = np.eye(10) + (instance.arms.T * run.counts) @ instance.arms
    expected = np.sqrt(np.sum(instance.arms * np.linalg.solve(gram, instance.arms.T).T, axis=1))
    np.testing.assert_allclose(RidgePosterior(ridge).widths, expected, rtol=1e-8)
    assert run.log_det_ratio == pytest.approx(np.linalg.slogdet(gram)[1], rel=1e-8)
    sums = ridge.sums.sum(axis=0)[-1] + ridge.run[2] * ridge.vectors[0]
    np.testing.assert_allclose(
        RidgePosterior(ridge).estimates, instance.arms @ np.linalg.solve(gram, sums), atol=1e-8
    )
    assert run.explored == 10**6


def test_a_schedule_within_a_schedule_is_played_with_both() -> None:
    instance = gaussian(dim=3, arms=8, seed=2)
    nested = Infex(Infex(LinUCB(), every(2)), every(3))
    run = play(instance, nested, 300, record=True)
    assert run.arms is not None
    assert run.rewards is not None
    rewards = run.rewards.tolist()
    choices = play_in_python(
        run.policy,
        np.array(instance.arms),
        lambda t, arm: rewards[t - 1],
        lambda t: stream(1),
        300,
    )
    assert run.arms.tolist() == [choice.arm for choice in choices]
