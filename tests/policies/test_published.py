"""Published bases: what is special to each of them."""

from typing import Any

import numpy as np
import pytest

from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, features, models
from infex.errors import InvalidSetting, NotKept
from infex.lab import optimal_design, play
from infex.lab.environments import changing, gaussian, lower_bound
from infex.models import Posterior
from infex.policies import (
    EXP2,
    TSUCB,
    EnsembleSampling,
    LinIMED,
    LinPHE,
    PhasedElimination,
    SupLinUCB,
    WeightedBootstrap,
    WeightedOFUL,
)
from infex.policies.ensemble import semidefinite_root
from infex.registry import parse

ARMS = np.array([[0.9, 0.1], [0.2, 0.8], [-0.5, 0.5], [0.6, 0.6]])


def learnt(policy: Any, rewards: int, seed: int = 0) -> Bandit:
    """A bandit that was told rewards of +1 and -1 of arms in turn."""
    bandit, rng = Bandit(ARMS, policy, seed=seed), np.random.default_rng(seed)
    for n in range(rewards):
        bandit.learn(arms=[n % 4], rewards=[float(rng.choice([-1.0, 1.0]))])
    return bandit


def shares(policy: Any, posterior: Posterior, count: int = 4000) -> Any:
    """How often each arm is played."""
    rng = np.random.default_rng(7)
    return np.bincount([policy.choose(1, posterior, rng).arm for _ in range(count)], minlength=4) / count


def test_members_of_an_ensemble_are_samples_of_the_posterior() -> None:
    """Drawn in parts as rewards come, their perturbations have the covariance noise^2 V."""
    found = []
    for seed in range(60):
        bandit = Bandit(ARMS, EnsembleSampling(members=50, noise=0.5), seed=seed)
        for n in range(12):
            bandit.tell(bandit.ask(), float(n % 2))
        bandit.ask()
        state = bandit.posterior().policy_state
        gram = bandit.posterior().moments.gram + np.eye(2)
        found.append(np.linalg.solve(np.linalg.cholesky(gram), np.reshape(state.perturbations, (50, 2)).T))
    whitened = np.hstack(found) / 0.5
    np.testing.assert_allclose(np.cov(whitened), np.eye(2), atol=0.1)
    np.testing.assert_allclose(whitened.mean(axis=1), 0.0, atol=0.1)


@pytest.mark.parametrize(
    ("estimator", "weights"),
    [(models.Windowed(size=1), [0, 0, 1]), (models.Discounted(rate=0.5), [0.25, 0.5, 1])],
)
def test_members_of_an_ensemble_know_of_no_reward_that_has_left(estimator: Any, weights: Any) -> None:
    """As a short row goes and a longer one comes, no number on the diagonal of sum x x' falls."""
    rows = np.array([[0.1, 0.1], [0.6, 0.5], [0.7, -0.5]])
    bandit = Bandit(dim=2, policy=EnsembleSampling(members=20_000), estimator=estimator)
    for row in rows:
        bandit.tell(bandit.ask(arms=[row]), 0.1)
    bandit.ask(arms=[rows[0]])
    perturbations = np.reshape(bandit.policy_state.perturbations, (-1, 2))
    right = np.eye(2) + (rows.T * weights) @ rows
    np.testing.assert_allclose(perturbations.T @ perturbations / 20_000, right, atol=0.06)


def test_the_law_of_an_ensemble_is_known_from_the_second_round_on() -> None:
    bandit = Bandit(ARMS, EnsembleSampling(members=7), seed=2)
    first = bandit.ask()
    assert first.propensity is None
    bandit.tell(first, 1.0)
    law = [bandit.policy.propensity(2, bandit.posterior(), arm) for arm in range(4)]  # type: ignore[attr-defined]
    assert sum(law) == pytest.approx(1.0)
    assert all(7 * chance == pytest.approx(round(7 * chance)) for chance in law)
    assert bandit.ask().propensity in law


def test_the_root_of_a_singular_matrix_is_one() -> None:
    rng = np.random.default_rng(1)
    for rank in range(5):
        rows = rng.normal(size=(rank, 4))
        root = semidefinite_root(rows.T @ rows)
        np.testing.assert_allclose(root @ root.T, rows.T @ rows, atol=1e-9)
        assert np.array_equal(root, np.tril(root))


def test_the_weighted_bootstrap_is_that_of_single_weights() -> None:
    """Gamma(wins) and Gamma(losses) are what Exp(1) weights of single rewards add up to."""
    bandit, rng = Bandit(ARMS, WeightedBootstrap()), np.random.default_rng(3)
    told = [(n % 4, float(rng.choice([-1.0, 1.0], p=[0.4, 0.6]))) for n in range(30)]
    bandit.learn(arms=[arm for arm, _ in told], rewards=[reward for _, reward in told])
    rows, rewards = ARMS[[arm for arm, _ in told]], np.array([reward for _, reward in told])
    counts = np.zeros(4)
    for _ in range(4000):
        weights = rng.exponential(size=30)
        gram = (rows.T * weights) @ rows + np.eye(2)
        counts[np.argmax(ARMS @ np.linalg.solve(gram, rows.T @ (weights * rewards)))] += 1
    np.testing.assert_allclose(shares(bandit.policy, bandit.posterior()), counts / 4000, atol=0.05)


def test_rewards_beyond_those_that_the_bootstrap_knows_are_refused() -> None:
    bandit = Bandit(ARMS, WeightedBootstrap(noise=0.5))
    bandit.learn(arms=[0, 1, 2, 3], rewards=[1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidSetting, match=r"rewards go beyond -noise to noise, which is 0\.5"):
        bandit.ask()


@pytest.mark.parametrize("policy", [LinPHE(), WeightedBootstrap(), PhasedElimination()], ids=repr)
def test_bases_that_count_rewards_refuse_arms_that_change(policy: Any) -> None:
    with pytest.raises(NotKept, match="arms that change every round have no pulls"):
        play(changing(dim=2, arms=3, seed=0), policy, 10)
    visits = Bandit(features=features.disjoint(3, context_dim=2), policy=policy)
    with pytest.raises(NotKept, match="arms whose features change with contexts have no history"):
        visits.ask(context=[0.5, 0.5])
    assert Bandit(ARMS, policy).ask(allowed=[False, True, True, False]).arm in (1, 2)


def test_many_drawn_rewards_make_perturbed_history_as_thompson_sampling() -> None:
    """Of n and a n rewards, (1 + a) theta~ is about N(theta, a V^-1), by the central limit theorem."""
    posterior = learnt(LinPHE(), 400).posterior()
    sampled = shares(LinTS(inflation=None, noise=np.sqrt(2.0)), posterior)
    np.testing.assert_allclose(shares(LinPHE(scale=2.0), posterior), sampled, atol=0.06)


def test_ts_ucb_is_greedy_without_noise_and_tries_wide_arms_with_it() -> None:
    posterior = learnt(Greedy(), 40).posterior()
    assert (
        TSUCB(noise=0.001, samples=3).choose(1, posterior, np.random.default_rng(1)).arm == posterior.greedy
    )
    wide = Bandit([[1.0, 0.0], [0.0, 0.1]], TSUCB(samples=50)).ask()
    assert wide.arm == 0


def test_exp2_has_unbiased_estimates() -> None:
    """By enumeration: sum_k p_k Q^-1 x_k (x_k'theta) = theta."""
    theta, policy, estimates = np.array([0.3, -0.6]), EXP2(rate=0.2), dict[int, Any]()
    law = policy.probabilities(1, Bandit(ARMS, policy).posterior())
    np.testing.assert_allclose(law, 0.6 / 4 + 0.4 * optimal_design(ARMS))
    for seed in range(60):  # until every arm was the first
        bandit = Bandit(ARMS, policy, seed=seed)
        decision = bandit.ask()
        bandit.tell(decision, float(ARMS[decision.arm] @ theta))
        estimates[decision.arm] = policy.theta(bandit.posterior())
    assert len(estimates) == 4
    np.testing.assert_allclose(sum(law[arm] * estimates[arm] for arm in range(4)), theta, atol=1e-9)


@pytest.mark.parametrize("policy", [SupLinUCB(horizon=100), EXP2(rate=0.1)], ids=repr)
def test_bases_that_must_know_whose_reward_it_is_refuse_late_ones(policy: Any) -> None:
    bandit = Bandit(ARMS, policy, seed=1)
    first = bandit.ask()
    with pytest.raises(
        NotKept, match=r"must be told the reward of each decision before its next one.*0 rewards"
    ):
        bandit.ask()
    bandit.tell(first, 1.0)
    bandit.learn(arms=[0], rewards=[1.0])
    with pytest.raises(NotKept, match="2 rewards came since"):
        bandit.ask()


def test_phased_elimination_ends_with_the_best_arm() -> None:
    instance = gaussian(dim=3, arms=12, seed=4)
    run = play(instance, PhasedElimination(noise=0.2), 4000, record=True)
    assert run.arms is not None
    assert set(run.arms[-50:].tolist()) == {int(np.argmin(instance.gaps))}
    assert len(set(run.arms[:50].tolist())) > 2


def test_phases_begin_anew_when_arms_come_or_go() -> None:
    bandit = Bandit(ARMS, PhasedElimination(noise=0.1), seed=1)
    for _ in range(40):
        bandit.tell(bandit.ask(), 0.5)
    bandit.remove_arms([0])
    assert bandit.posterior().policy_state is None
    assert 0 <= bandit.ask().arm < 3


def test_linimed_2_is_linimed_1_at_the_radius_of_the_theory() -> None:
    instance = gaussian(dim=4, arms=10, seed=2)
    runs = [play(instance, LinIMED(variant=variant), 300, record=True) for variant in (1, 2)]
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)


def test_drawn_rewards_of_perturbed_history_have_no_mean() -> None:
    """Arms without a constant feature could not carry one: the mean score is the estimate over 1 + scale."""
    posterior, rng = learnt(LinPHE(), 80).posterior(), np.random.default_rng(4)
    scores = np.array([LinPHE(scale=0.5).sampled(1, posterior, rng) for _ in range(4000)])
    error = scores.std(axis=0) / np.sqrt(4000)
    assert np.all(np.abs(scores.mean(axis=0) - posterior.estimates / 1.5) < 5 * error)


@pytest.mark.parametrize("schedule", [every(1), every(20)], ids=repr)
def test_pulls_of_a_phase_are_interleaved(schedule: Any) -> None:
    """An unfinished phase has played every arm of its design as much as it should, within one pull."""
    policy = PhasedElimination()
    bandit, played = Bandit(ARMS, Infex(policy, schedule, data="own"), seed=1), np.zeros(4)
    quotas = np.array(policy.pulls(1, optimal_design(ARMS), dim=2, arms=4))
    for _ in range(900):
        decision = bandit.ask()
        bandit.tell(decision, 0.0)
        if decision.explored and played.sum() < quotas.sum():
            played[decision.arm] += 1
            assert np.all(np.abs(played - played.sum() * quotas / quotas.sum()) <= 1.0)
    assert played.sum() == min(quotas.sum(), 900 // schedule.period)


def test_the_radius_of_bernstein_is_so_wide_that_the_widest_arm_is_played() -> None:
    posterior, wide = learnt(LinUCB(), 400).posterior(), WeightedOFUL(bound=0.0)
    assert wide.confidence_radius(posterior) > 20 * LinUCB(bound=0.0).confidence_radius(posterior)
    bandit = Bandit(ARMS, WeightedOFUL(), seed=1)
    for n in range(300):
        decision = bandit.ask()
        widths = bandit.posterior().widths
        assert widths[decision.arm] >= 0.95 * widths.max()
        bandit.tell(decision, 1.0 if n % 3 else -1.0)


def test_a_sampled_maximum_of_few_samples_may_lie_below_the_best_estimate() -> None:
    posterior, rng = learnt(Greedy(), 40).posterior(), np.random.default_rng(2)
    below = []
    for samples in (1, 100):
        policy = TSUCB(samples=samples)
        scores = [policy.sampled(1, posterior, rng)[posterior.greedy] for _ in range(400)]
        below.append(np.mean(np.array(scores) > 0.0))  # -(f - x'theta)/|x| of the greedy arm
    assert below[0] > 0.15
    assert below[1] < 0.3 * below[0]


def test_variant_1_of_imed_never_plays_an_arm_without_features() -> None:
    problem = lower_bound(gap=0.3, which=1)  # whose best arm it is
    pulls = [play(problem, LinIMED(variant=variant), 4000, seed=1).counts.tolist() for variant in (1, 2, 3)]
    assert pulls[0] == [4000, 0]
    assert pulls[1][1] > 1000
    assert pulls[2][1] > 1000


@pytest.mark.slow
def test_perturbed_history_loses_what_an_independent_implementation_lost() -> None:
    """259 in the mean at d = 10, K = 100, T = 10^4, with rewards and drawn rewards centred; 1,747 if not."""
    lost = [play(gaussian(dim=10, arms=100, seed=seed), LinPHE(), 10_000, seed).regret for seed in range(12)]
    assert abs(np.mean(lost) - 259) < 4 * np.std(lost, ddof=1) / np.sqrt(12)


@pytest.mark.parametrize(
    "text",
    [
        "RandLinUCB",
        "LinIMED",
        "LinMED",
        "LinIDS",
        "OptimisticTS(inflation=None)",
        "LinPHE",
        "EnsembleSampling",
    ],
)
def test_published_bases_learn(text: str) -> None:
    """Each loses far less than playing at random, on problems of the paper."""
    lost = [play(gaussian(dim=4, arms=20, seed=seed), parse(text), 600, seed).regret for seed in range(3)]
    uniform = [
        play(gaussian(dim=4, arms=20, seed=seed), parse("Uniform"), 600, seed).regret for seed in range(3)
    ]
    assert np.mean(lost) < 0.6 * np.mean(uniform)
