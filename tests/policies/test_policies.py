import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Choice,
    EpsilonGreedy,
    Greedy,
    Infex,
    InfexError,
    LinTS,
    LinUCB,
    always,
    best,
    budget,
    every,
    jittered,
    listed,
    logarithmic,
    never,
    until_certain,
)
from infex.core.choosing import confidence_radius
from infex.errors import InvalidChoice, InvalidSetting, SparseExploration
from infex.lab import play, stream
from infex.lab.environments import LinearInstance, gaussian
from infex.models import Posterior
from infex.models.ridge import RidgeModel
from infex.policies import Uniform
from infex.policies.base import policy_info
from infex.policies.choice import best_arms, pick, pick_propensity
from infex.streams import Rounds
from tests.alike import probability


def posterior_of(estimates: list[float]) -> Posterior:
    """Posterior with these estimates: on basis arms, one reward of 2 x is an estimate of x."""
    ridge = RidgeModel(np.eye(len(estimates)))
    for arm, value in enumerate(estimates):
        ridge.update(arm, 2 * value)
    return Posterior(ridge.posterior())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinUCB(delta=0), "delta must be above 0, got 0"),
        (lambda: LinUCB(delta=1.5), "delta must be at most 1, got 1.5"),
        (lambda: LinUCB(delta=math.nan), "delta must be finite, got nan"),
        (lambda: LinTS(noise=-1), "noise must be at least 0, got -1"),
        (lambda: LinTS(bound="1"), "bound must be a number, got '1'"),
        (lambda: LinTS(scale=math.inf), "scale must be finite, got inf"),
        (lambda: LinTS(sampling="cubic"), "sampling must be 'gaussian' or 'spherical', got 'cubic'"),
        (lambda: LinTS(inflation="none"), "inflation must be 'abeille' or 'agrawal' or None, got 'none'"),
        (lambda: LinUCB(radius="flynn"), "radius must be 'sum' or 'mixture', got 'flynn'"),
        (lambda: until_certain(every(2), radius=1), "radius must be 'sum' or 'mixture', got 1"),
        (lambda: LinUCB(ties="first"), "ties must be 'lowest' or 'random', got 'first'"),
        (lambda: Greedy(ties=None), "ties must be 'lowest' or 'random', got None"),
        (lambda: EpsilonGreedy(ties=1), "ties must be"),
        (lambda: EpsilonGreedy(rate=1.5), "rate must be at most 1, got 1.5"),
        (lambda: EpsilonGreedy(rate=-0.1), "rate must be at least 0, got -0.1"),
        (lambda: EpsilonGreedy(rate=lambda t: t).eps(7), "in round 7: rate must be at most 1, got 7"),
        (
            lambda: Infex("LinUCB", every(5)),
            "base must be a policy, an object with a method choose; got 'LinUCB'",
        ),
        (lambda: Infex(LinUCB, every(5)), r"base must be a policy; got the class LinUCB, say LinUCB\(...\)"),
        (lambda: Infex(LinUCB(), 20), "schedule must be an object with a method explores, got 20"),
        (lambda: Infex(LinUCB(), every(5), data="both"), "data must be 'shared' or 'own', got 'both'"),
        (lambda: Infex(LinUCB(), every(5), ties="x"), "ties must be"),
        (
            lambda: Infex(Infex(LinUCB(), every(5), data="own"), every(5), data="own"),
            "own data cannot be kept for a base that keeps its own",
        ),
    ],
)
def test_bad_settings_are_refused_with_their_value(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        LinUCB().delta = 0.5  # type: ignore[misc]


@pytest.mark.parametrize("schedule", [never(), listed([5]), logarithmic(1), budget(every(2), 1000)], ids=repr)
def test_infex_warns_once_of_a_schedule_that_explores_too_rarely(schedule: Any) -> None:
    with pytest.warns(SparseExploration, match="explores too rarely") as caught:
        policy = Infex(LinUCB(), schedule)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    policy.choose(1, posterior_of([0.1, 0.2]), stream(1))


def test_the_theory_radius_at_the_papers_settings() -> None:
    ridge = RidgeModel(np.eye(10))
    assert LinUCB(delta=1e-4).confidence_radius(Posterior(ridge.posterior())) == pytest.approx(
        5.291932, abs=1e-6
    )
    half = LinUCB(delta=1e-4, scale=0.5)
    assert half.confidence_radius(Posterior(ridge.posterior())) == pytest.approx(5.291932, abs=1e-6)
    assert half.choosing_radius(Posterior(ridge.posterior())) == pytest.approx(5.291932 / 2, abs=1e-6)


@given(
    noise=st.floats(0, 5),
    bound=st.floats(0, 5),
    delta=st.floats(1e-9, 1),
    penalty=st.floats(0.01, 100),
    pulls=st.integers(0, 50),
)
@settings(deadline=None)
def test_both_radii_are_their_formulas(
    noise: float, bound: float, delta: float, penalty: float, pulls: int
) -> None:
    ridge = RidgeModel(np.array([[0.6, 0.0], [0.8, 1.0]]), penalty)
    for _ in range(pulls):
        ridge.update(0, 1.0)
    log_det_ratio = math.log1p(pulls / penalty)
    expected = noise * math.sqrt(log_det_ratio + 2 * math.log(1 / delta)) + math.sqrt(penalty) * bound
    posterior, numbers = Posterior(ridge.posterior()), {"noise": noise, "bound": bound, "delta": delta}
    assert LinTS(**numbers).confidence_radius(posterior) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    squares = noise**2 * (log_det_ratio + 2 * math.log(1 / delta)) + penalty * bound**2
    mixture = LinUCB(**numbers, radius="mixture").confidence_radius(posterior)
    assert mixture == pytest.approx(math.sqrt(squares), rel=1e-9, abs=1e-6)


def test_the_mixture_radius_is_smaller_and_holds_in_all_rounds_at_once() -> None:
    """Flynn et al. (2023): at sigma = S = penalty = 1 and alpha + 2 log(1/delta) = 48, 7 for 7.93."""
    assert confidence_radius(48.0, 1.0, 1.0, 1.0, 1.0, True) == pytest.approx(7.0)
    assert confidence_radius(48.0, 1.0, 1.0, 1.0, 1.0, False) == pytest.approx(7.9282, abs=1e-4)
    rng, runs, rounds, misses = np.random.default_rng(1), 200, 150, 0
    for run in range(runs):  # played by itself, so that arms depend on rewards
        instance = gaussian(dim=4, arms=8, seed=run)
        bandit = Bandit(instance.arms, LinUCB(radius="mixture", delta=0.1), seed=0)
        outside = False
        for _ in range(rounds):
            decision = bandit.ask()
            posterior = bandit.posterior()
            far = np.abs(posterior.estimates - instance.arms @ instance.theta)
            radius = float(LinUCB(radius="mixture", delta=0.1).confidence_radius(posterior))
            outside = outside or bool(np.any(far > radius * posterior.widths))
            bandit.tell(decision, float(instance.arms[decision.arm] @ instance.theta + rng.normal()))
        misses += outside
    assert misses <= 0.1 * runs


def test_a_tiny_delta_is_no_trouble() -> None:
    posterior = posterior_of([0.1, 0.2])
    assert LinUCB(delta=1e-310).choose(1, posterior, stream(1)).arm == 1


def test_a_delta_of_one_before_any_data_is_no_trouble() -> None:
    for penalty in (0.3, 0.7, 3.0):
        posterior = Posterior(RidgeModel(np.eye(5), penalty).posterior())
        choice = LinUCB(delta=1.0).choose(1, posterior, stream(1))
        assert (choice.arm, choice.explored, choice.propensity) == (0, True, 1.0)


@given(power=st.floats(-9.9, 3), dim=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_with_no_radius_the_first_of_equals_is_played_whatever_the_penalty(power: float, dim: int) -> None:
    """Longer arms have larger widths; before any data a log_det_ratio above 0 would let them win."""
    arms = np.linspace(0.1, 0.9, 5)[:, None] * np.eye(dim)[0]
    policy = LinUCB(delta=1, bound=0)
    assert Bandit(arms, policy, penalty=10**power).ask().arm == 0
    run = play(LinearInstance(arms, np.zeros(dim)), policy, 1, penalty=10**power, record=True)
    assert run.arms is not None
    assert run.arms.tolist() == [0]


def test_epsilon_greedy_explores_as_often_as_it_says() -> None:
    assert sum(EpsilonGreedy().eps(t) for t in range(1, 10_001)) == pytest.approx(695.29, abs=0.005)
    policy, posterior = EpsilonGreedy(rate=0.25), posterior_of([0.0, 0.5, 0.1])
    rounds = Rounds(3, "eps")
    choices = [policy.choose(t, posterior, rounds.at(t)) for t in range(1, 4001)]
    assert abs(sum(choice.explored for choice in choices) - 1000) < 150
    assert {choice.arm for choice in choices if not choice.explored} == {1}
    assert {choice.arm for choice in choices if choice.explored} == {0, 1, 2}


def test_ties_within_rounding_go_to_the_lowest_index() -> None:
    assert best(np.array([0.3, 0.3 + 1e-15, 0.1])) == 0
    assert best(np.array([0.3, 0.3 + 1e-9])) == 1
    assert best(np.array([5e11, 5e11 + 0.4])) == 0
    assert best(np.array([0.1, np.inf, np.inf])) == 1
    assert best(np.array([-np.inf, -np.inf])) == 0
    with pytest.raises(InvalidChoice, match="a score is NaN: that of arm 1"):
        best(np.array([0.3, np.nan]))
    for scores in (np.array([]), np.eye(2)):
        with pytest.raises(InvalidChoice, match="scores must be one number for each arm"):
            best(scores)


def test_random_ties_are_drawn_evenly() -> None:
    scores = np.array([0.3, 0.1, 0.3, 0.3])
    rng = stream(1, "ties")
    counts = np.bincount([pick(scores, "random", rng)[0] for _ in range(3000)], minlength=4)
    assert counts[1] == 0
    assert np.all(np.abs(counts[[0, 2, 3]] - 1000) < 150)
    assert best_arms(scores) == [0, 2, 3]
    assert [pick_propensity(scores, "random", arm) for arm in range(4)] == pytest.approx(
        [1 / 3, 0, 1 / 3, 1 / 3]
    )
    assert [pick_propensity(scores, "lowest", arm) for arm in range(4)] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "policy",
    [Greedy(), Greedy(ties="random"), Uniform(), EpsilonGreedy(rate=0.4), LinUCB(), LinUCB(ties="random")],
    ids=repr,
)
def test_probabilities_are_the_frequencies_of_choices(policy: Any) -> None:
    posterior = posterior_of([0.5, 0.2, 0.5, -0.3])
    rounds, counts, trials = Rounds(5, "trials"), np.zeros(4), 6000
    for trial in range(1, trials + 1):
        counts[policy.choose(2, posterior, rounds.at(trial)).arm] += 1
    told = [probability(policy, 2, posterior, arm) for arm in range(4)]
    np.testing.assert_allclose(counts / trials, told, atol=0.03)


@pytest.mark.compiled
@pytest.mark.parametrize("base", [Uniform(), LinUCB()], ids=repr)
def test_weighting_by_jittered_probabilities_is_unbiased_given_the_past(base: Any) -> None:
    """Over many seeds of the schedule, rewards teaching as they come, 1{arm}/probability has mean 1."""
    weights, trials = np.zeros((4, 2)), 4000
    for seed in range(trials):
        bandit = Bandit(np.eye(2), Infex(base, jittered(3, seed=seed)), seed=seed)
        for t in range(4):
            before = bandit.posterior()
            chances = [probability(bandit.policy, t + 1, before, arm) for arm in range(2)]
            decision = bandit.ask()
            assert decision.propensity == chances[decision.arm]
            bandit.tell(decision, 1.0 if decision.arm else 0.5)
            for arm, chance in enumerate(chances):
                assert chance is not None
                if chance == 0.0:
                    weights[t, arm] += 1.0  # cannot be played, and is not weighted
                elif arm == decision.arm:
                    weights[t, arm] += 1.0 / chance
    np.testing.assert_allclose(weights / trials, 1.0, atol=0.12)


def test_probabilities_that_cannot_be_known_are_none() -> None:
    posterior = posterior_of([0.5, 0.2])
    assert probability(LinTS(), 1, posterior, 0) is None
    assert probability(Infex(LinTS(), every(2)), 2, posterior, 0) is None
    assert probability(Infex(LinTS(), every(2)), 1, posterior, 0) == 1.0
    assert probability(Infex(LinTS(), jittered(2)), 1, posterior, 0) is None
    assert probability(Infex(Infex(Uniform(), jittered(2)), jittered(2)), 1, posterior, 0) is None
    twice = jittered(2) | budget(jittered(2), 5)
    assert probability(Infex(Uniform(), twice), 1, posterior, 0) is None


def test_infex_says_explored_in_the_rounds_of_its_schedule_alone() -> None:
    policy = Infex(EpsilonGreedy(rate=0.0), every(3))
    posterior = posterior_of([0.5, 0.2])
    explored = [policy.choose(t, posterior, stream(1)).explored for t in range(1, 10)]
    assert explored == [t % 3 == 0 for t in range(1, 10)]


def test_a_learner_is_told_all_rounds_or_its_own() -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[float] = []

        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0)

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            self.heard.append(reward)

    for data, heard in (("shared", [1.0, 2.0]), ("own", [1.0])):
        listener = Listener()
        info = policy_info(Infex(listener, always(), data=data))
        assert [learner.learner for learner in info.learners] == [listener]
        info.update(0, np.zeros(1), 1.0, explored=True)
        info.update(0, np.zeros(1), 2.0, explored=False)
        assert listener.heard == heard
    assert policy_info(Infex(LinUCB(), always())).learners == ()


def test_own_data_of_a_policy_that_uses_explored_is_refused() -> None:
    class Forced:
        uses_explored = True

        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(posterior.explored.greedy)

    assert Infex(Forced(), every(5)).uses_explored
    with pytest.raises(InvalidSetting, match="own data"):
        Infex(Forced(), every(5), data="own")
