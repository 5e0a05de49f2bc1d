"""Exact laws: the probabilities that a policy tells are those of its definition, and those of its draws."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docs.building import pages
from infex import Bandit, LinUCB
from infex.arrays import Floats
from infex.core.laws import least_ratio
from infex.lab import optimal_design
from infex.models import Posterior
from infex.models.ridge import RidgeModel
from infex.policies import LinIDS, LinMED, RandLinUCB, SpannerIGW
from infex.registry import parse
from infex.testing.reference import Pull, SlowRidge, slow_law, slow_least_ratio
from tests.alike import probability

radii = st.fixed_dictionaries(
    {
        "delta": st.sampled_from([1.0, 0.01, 1e-4]),
        "scale": st.sampled_from([0.1, 1.0]),
        "radius": st.sampled_from(["sum", "mixture"]),
    }
)
laws = st.one_of(
    st.builds(
        lambda radius, levels, spread: RandLinUCB(**radius, levels=levels, spread=spread),
        radii,
        st.integers(2, 20),
        st.floats(0.1, 2),
    ),
    st.builds(
        lambda radius, share, design: LinMED(**radius, greedy_share=share, design=design),
        radii,
        st.floats(0, 1),
        st.booleans(),
    ),
    st.builds(
        lambda radius, gain: LinIDS(**radius, gain=gain), radii, st.sampled_from(["variance", "directed"])
    ),
    st.builds(SpannerIGW, rate=st.floats(0, 1000)),
)


def state(seed: int, arms: int, dim: int, told: int, penalty: float) -> tuple[Posterior, SlowRidge]:
    """What is known after some rewards, by the model and from the definition."""
    rng = np.random.default_rng(seed)
    board = rng.normal(size=(arms, dim)) / (3 * np.sqrt(dim))
    model, pulls = RidgeModel(np.ascontiguousarray(board.T), penalty), list[Pull]()
    for _ in range(told):
        arm, reward = int(rng.integers(arms)), float(rng.normal())
        model.update(arm, reward)
        pulls.append(Pull(arm, reward, True))
    return Posterior(model.posterior()), SlowRidge(board, pulls, penalty)


@given(
    policy=laws,
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 20),
    dim=st.integers(1, 8),
    told=st.sampled_from([0, 1, 5, 60]),
    penalty=st.sampled_from([0.1, 1.0, 7.0]),
)
@settings(max_examples=200, deadline=None)
def test_a_law_is_that_of_its_definition(
    policy: Any, seed: int, arms: int, dim: int, told: int, penalty: float
) -> None:
    posterior, slow = state(seed, arms, dim, told, penalty)
    told_law = [probability(policy, 3, posterior, arm) for arm in range(arms)]
    np.testing.assert_allclose(told_law, slow_law(policy, slow), atol=1e-7)


@pytest.mark.parametrize(
    "policy",
    [
        RandLinUCB(spread=0.4, scale=0.5),
        RandLinUCB(ties="random", scale=0.0),
        LinMED(greedy_share=0.4),
        LinMED(design=False, scale=0.3),
        LinIDS(),
        LinIDS(gain="directed", scale=0.2),
        SpannerIGW(rate=20),
    ],
    ids=repr,
)
def test_a_law_is_the_frequency_of_choices(policy: Any) -> None:
    posterior, _ = state(3, 6, 4, 25, 1.0)
    law = np.array([probability(policy, 2, posterior, arm) for arm in range(6)])
    rng, count = np.random.default_rng(5), 4000
    choices = [policy.choose(2, posterior, rng) for _ in range(count)]
    shares = np.bincount([choice.arm for choice in choices], minlength=6) / count
    assert np.all(np.abs(shares - law) < 5 * np.sqrt(law * np.maximum(1 - law, 0) / count) + 1e-9)
    for choice in choices[:50]:
        assert choice.propensity == pytest.approx(law[choice.arm])


@given(
    points=st.lists(
        st.tuples(st.floats(0.01, 3), st.just(0.0) | st.floats(1e-6, 3)), min_size=1, max_size=12
    ),
)
@settings(max_examples=300, deadline=None)
def test_the_least_ratio_is_that_of_all_pairs(points: list[tuple[float, float]]) -> None:
    regrets, gains = np.array(points).T
    ratios = []
    for law in (least_ratio(regrets, gains), slow_least_ratio(regrets, gains)):
        assert law.sum() == pytest.approx(1.0)
        assert np.count_nonzero(law) <= 2
        ratios.append((law @ regrets) ** 2 / (law @ gains) if gains.max() > 0 else law @ regrets)
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-9)


def test_a_weight_of_two_arms_is_not_clipped() -> None:
    """The stationary point is above 1 here, and the better end is 0."""
    regrets, gains = np.array([1.0, 1.1]), np.array([1.0, 1.05])
    assert regrets[0] / 0.1 - 2 * gains[0] / 0.05 < 0
    assert least_ratio(regrets, gains).tolist() == [1.0, 0.0]


def test_linmed_halves_what_is_not_greedy_between_a_design_and_all_arms() -> None:
    posterior = Bandit(np.eye(4), LinUCB()).posterior()
    np.testing.assert_allclose(
        LinMED(greedy_share=0.9).probabilities(1, posterior), [0.925, 0.025, 0.025, 0.025]
    )
    long = Bandit(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1], [0.0, 0.0]]), LinUCB()).posterior()
    law = LinMED(greedy_share=0.6).probabilities(1, long)
    np.testing.assert_allclose(law, [0.6 + 0.1 + 0.05, 0.1 + 0.05, 0.05, 0.05])


@given(seed=st.integers(0, 10**6), told=st.sampled_from([0, 3, 40]), share=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_the_law_of_linmed_depends_on_the_space_of_the_arms_alone(seed: int, told: int, share: float) -> None:
    """Arms of a plane, and the same within four dimensions."""
    rng = np.random.default_rng(seed)
    plane = np.column_stack([np.full(6, 0.6), rng.uniform(-0.5, 0.5, 6)])
    turned = plane @ np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    rewards, arms = rng.choice([-1.0, 1.0], size=told).tolist(), rng.integers(6, size=told).tolist()
    laws = []
    for board in (plane, turned):
        bandit = Bandit(board, LinMED(greedy_share=share, delta=1.0, bound=0.0))
        bandit.learn(arms=arms, rewards=rewards)
        laws.append(bandit.policy.probabilities(1, bandit.posterior()))  # type: ignore[attr-defined]
    np.testing.assert_allclose(laws[0], laws[1], atol=1e-6)
    assert laws[0][bandit.posterior().greedy] >= share - 1e-12  # so a schedule thins it a second time


def test_linmed_designs_arms_by_their_span_and_not_about_their_centre() -> None:
    """Arms on a line that misses 0 span a plane, which takes two of them; about their centre one would do."""
    line = np.column_stack([np.full(6, 0.6), np.linspace(-0.5, 0.4, 6), np.zeros(6)])
    law = LinMED(greedy_share=0.0).probabilities(1, Bandit(line, LinMED()).posterior())
    np.testing.assert_allclose(law - 1 / 12, [0.25, 0, 0, 0, 0, 0.25], atol=1e-9)


PAGE = pages.DOCS / "api" / "policies.md"
ON_THE_PAGE = " ".join(re.findall(r"```{names} [\w.]+\n(.*?)\n```", PAGE.read_text(), re.DOTALL)).split()
SETTINGS = {
    "EXP2": "EXP2(rate=0.1)",
    "ExploreThenCommit": "ExploreThenCommit(rounds=9)",
    "Infex": "Infex(LinMED, jittered(3))",
    "LinIMED": "LinIMED(variant=3)",
    "Softened": "Softened(RandLinUCB)",
    "SpannerIGW": "SpannerIGW(rate=30)",
    "SupLinUCB": "SupLinUCB(horizon=90, noise=0.1)",
}
NOT_KNOWN = {"GaussianTS", "HybridTS", "LinPHE", "LinTS", "OptimisticTS", "TSUCB", "WeightedBootstrap"}
OF_CHANGING_ARMS = {"ContextReduction"}  # its law is that of its base


@pytest.mark.parametrize("name", sorted(set(ON_THE_PAGE) - OF_CHANGING_ARMS))
@pytest.mark.parametrize("told", [0, 1, 25])
def test_a_law_adds_up_to_one_before_any_reward_and_after_some(name: str, told: int) -> None:
    for seed, (arms, dim) in enumerate([(1, 1), (4, 2), (9, 5)]):
        rng = np.random.default_rng(seed)
        board = rng.uniform(-1, 1, size=(arms, dim)) / dim
        bandit = Bandit(board, parse(SETTINGS.get(name, name)), seed=seed)
        for _ in range(told):
            bandit.tell(bandit.ask(), float(rng.choice([-1.0, 1.0])))
        law = [probability(bandit.policy, told + 1, bandit.posterior(), arm) for arm in range(arms)]
        if name in NOT_KNOWN or (name == "EnsembleSampling" and told == 0):
            assert law == [None] * arms
        else:
            assert sum(chance for chance in law if chance is not None) == pytest.approx(1.0)
            assert all(chance is not None and -1e-12 <= chance <= 1 + 1e-12 for chance in law)


# designs


def widths(arms: Floats, shares: Floats) -> Floats:
    """x'V^-1 x of every arm, in the space of the arms."""
    gram = (arms.T * shares) @ arms
    found: Floats = np.einsum("ki,ij,kj->k", arms, np.linalg.pinv(gram, rcond=1e-9), arms)
    return found


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 40),
    dim=st.integers(1, 8),
    rank=st.integers(1, 8),
    tolerance=st.sampled_from([1.0, 0.01, 1e-4]),
)
@settings(max_examples=150, deadline=None)
def test_a_design_makes_the_largest_width_nearly_the_rank(
    seed: int, arms: int, dim: int, rank: int, tolerance: float
) -> None:
    """Kiefer and Wolfowitz (1960): it cannot be less, so that a design is checked by its widths alone."""
    rng = np.random.default_rng(seed)
    board = rng.normal(size=(arms, min(rank, dim))) @ rng.normal(size=(min(rank, dim), dim))
    board[rng.integers(arms)] = board[0]
    shares = optimal_design(board, tolerance)
    least = np.linalg.matrix_rank(board)
    assert shares.sum() == pytest.approx(1.0)
    assert np.all(shares >= 0.0)
    found = widths(board, shares)
    assert least * (1 - 1e-6) <= found.max() <= least * (1 + tolerance) * (1 + 1e-6)
    stretched = board @ rng.normal(size=(dim, dim))  # what is optimal does not depend on units
    if np.linalg.matrix_rank(stretched) == least:
        assert (
            widths(stretched, optimal_design(stretched, tolerance)).max() <= least * (1 + tolerance) * 1.0001
        )


def test_directions_that_are_below_rounding_do_not_count_in_a_design() -> None:
    np.testing.assert_allclose(optimal_design([[1e9, 0.0], [0.0, 1.0]]), [0.5, 0.5])
    np.testing.assert_allclose(optimal_design([[1e11, 0.0], [0.0, 1.0]]), [1.0, 0.0])


def test_designs_that_are_known_by_hand() -> None:
    np.testing.assert_allclose(optimal_design(np.eye(5)), 0.2)
    np.testing.assert_allclose(optimal_design(np.zeros((3, 2))), 1 / 3)
    angles = np.arange(3) * 2 * np.pi / 3
    np.testing.assert_allclose(optimal_design(np.column_stack([np.cos(angles), np.sin(angles)]), 1e-9), 1 / 3)
    line = np.column_stack([np.ones(21), np.linspace(-1, 1, 21)])  # a straight line is learnt at its ends
    np.testing.assert_allclose(optimal_design(line, 1e-9)[[0, 10, 20]], [0.5, 0.0, 0.5], atol=1e-7)
