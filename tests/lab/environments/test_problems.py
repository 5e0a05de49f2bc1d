"""Problems by name, laws of rewards, parameters that move, and problems of one's own."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Greedy, LinUCB
from infex.errors import InfexError, InvalidSetting
from infex.lab import environments, play
from infex.lab.environments import (
    ChangingInstance,
    ContextualInstance,
    LinearInstance,
    OwnInstance,
    changing,
    collinear,
    gaussian,
    kernel,
    late,
    lower_bound,
    many_arms,
    misspecified,
    near_ties,
    settings_of,
    sparse,
    sphere,
    steps,
    turning,
    walk,
)
from infex.lab.environments.base import Stretch, reward_law
from infex.testing import EnvironmentContract
from tests import stateful

EYE = np.eye(2)


def skewed(rng: np.random.Generator, means: Any) -> Any:
    return means + rng.standard_exponential(means.shape) - 1.0


def poisson(rng: np.random.Generator, means: Any) -> Any:
    return rng.poisson(means)


class Peak:
    """Arms on a line, means that no linear model has."""

    arms = np.linspace(0.1, 1.0, 10)[:, None]
    rewards = staticmethod(skewed)

    def means(self, t: int, arms: Any) -> Any:
        return 1.0 - np.abs(arms[:, 0] - 0.6)


class Seasonal:
    """Arms drawn anew, and means that come and go; rewards late."""

    noise = 0.3
    rewards = "gaussian"
    late = late(mean=5, lost=0.2)

    def offer(self, t: int, rng: np.random.Generator) -> Any:
        return rng.uniform(-0.5, 0.5, (4, 3))

    def means(self, t: int, arms: Any) -> Any:
        return np.sin(t / 10.0) * arms[:, 0]


class TestOfFixedArms(EnvironmentContract):
    def make(self) -> Any:
        return Peak()


class TestOfDrawnArms(EnvironmentContract):
    def make(self) -> Any:
        return Seasonal()


class TestOfALawOfOnesOwn(EnvironmentContract):
    def make(self) -> Any:
        return LinearInstance([[0.4], [0.9]], [1.0], rewards=poisson)


class TestOfStudent(EnvironmentContract):
    def make(self) -> Any:
        return gaussian(dim=3, arms=6, seed=1, rewards="student", moves=walk(0.1), late=7)


class TestOfChangingArms(EnvironmentContract):
    def make(self) -> Any:
        return changing(dim=3, arms=5, seed=1, link="logistic", rewards="bernoulli", moves=turning(40))


class TestOfTheLogisticLink(EnvironmentContract):
    def make(self) -> Any:
        return gaussian(dim=3, arms=5, seed=1, link="logistic", rewards="bernoulli", moves=steps(every=7))


@pytest.mark.parametrize(
    "broken",
    [
        type("Unsteady", (Peak,), {"means": lambda self, t, arms: np.random.default_rng().random(10)}),
        type("Biased", (Peak,), {"rewards": None, "reward": lambda self, rng, means: means + 1.0}),
        stateful.Walk,
        stateful.Fading,
    ],
)
def test_the_contract_notices(broken: Any) -> None:
    class Tests(EnvironmentContract):
        def make(self) -> Any:
            return broken()

    failed = []
    for name in dir(Tests):
        if name.startswith("test_"):
            try:
                getattr(Tests(), name)()
            except AssertionError:
                failed.append(name)
    assert failed


class Restarting(stateful.Walk):
    """A walk that begins anew in round 1, and is right only if rounds are asked for in their order."""

    def means(self, t: int, arms: Any) -> Any:
        if t == 1:
            self.__init__()  # type: ignore[misc]
        return super().means(t, arms)


class NewArms(Peak):
    """Arms that are other ones each time they are read."""

    def __init__(self) -> None:
        self.read = 0

    @property
    def arms(self) -> Any:  # type: ignore[override]
        self.read += 1
        return Peak.arms / self.read


@pytest.mark.parametrize(
    ("make", "test", "message"),
    [
        (
            stateful.Walk,
            "one_problem_that_is_asked_twice",
            r"stateful:Walk, asked again, has other means in round 1",
        ),
        (
            stateful.Fading,
            "one_problem_that_is_asked_twice",
            r"Fading, asked again, has other arms in round 1",
        ),
        (
            stateful.Fading,
            "rewards_follow",
            r"Fading: the reward of a round depends on what was played before",
        ),
        (Restarting, "early_rounds", r"Restarting, after later ones, has other means in round 60, by up to"),
        (NewArms, "early_rounds", r"NewArms, after later ones, has other arms in round 30, by up to"),
    ],
)
def test_the_contract_names_a_problem_that_keeps_a_state(make: Any, test: str, message: str) -> None:
    class Tests(EnvironmentContract):
        def make(self) -> Any:
            return make()

    (name,) = (name for name in dir(Tests) if name.startswith(f"test_{test}"))
    with pytest.raises(AssertionError, match=message):
        getattr(Tests(), name)()


class Line:
    """A problem that says nothing of its rewards."""

    arms = np.linspace(0.1, 1.0, 4)[:, None]

    def means(self, t: int, arms: Any) -> Any:
        return arms[:, 0] / 2


@pytest.mark.parametrize(
    ("attributes", "meant"),
    [
        ({"nois": 5}, "nois, .* call it noise"),
        ({"rewards": "gaussian", "noises": [1.0] * 4}, "noises, .* call it noise"),
        ({"rewrads": "gaussian"}, "rewrads, .* call it rewards"),
        ({"rewrd": lambda self, rng, means: means}, "rewrd, .* call it reward"),
        ({"rewards": "student", "degree": 2.0}, "degree, .* call it degrees"),
        ({"later": 5}, "later, .* call it late"),
    ],
)
def test_a_misspelt_setting_of_a_problem_of_ones_own_is_refused_by_name(attributes: Any, meant: str) -> None:
    """It was ignored, and rewards were drawn by another law."""
    problem = type("Mine", (Line,), attributes)()
    with pytest.raises(InvalidSetting, match=f"Mine has {meant}, or begin its name with an underscore"):
        play(problem, Greedy(), 9)
    late_set = Line()
    late_set.nois = 5  # type: ignore[attr-defined]
    with pytest.raises(InvalidSetting, match=r"Line has nois, .* call it noise"):
        play(late_set, Greedy(), 9)


@pytest.mark.parametrize(("point_dim", "scale", "seed"), [(1, 0.3, 1), (2, 0.5, 2), (3, 0.9, 3)])
def test_products_of_kernel_features_are_the_kernel_of_points_in_a_cube(
    point_dim: int, scale: float, seed: int
) -> None:
    arms = kernel(arms=12, seed=seed, rank=12, scale=scale, point_dim=point_dim).arms
    squares = -2.0 * scale**2 * np.log(arms @ arms.T)  # |p - q|^2, if it is the kernel
    centring = np.eye(12) - 1.0 / 12
    spread = np.linalg.eigvalsh(-0.5 * centring @ squares @ centring)[::-1]  # of points at these distances
    assert np.abs(spread[point_dim:]).max() < 1e-6 < spread[point_dim - 1]
    assert squares.max() <= point_dim


def test_few_kernel_features_say_most_of_a_smooth_kernel() -> None:
    full, few = (kernel(arms=60, seed=4, rank=rank, scale=0.5).arms for rank in (60, 15))
    assert few.shape == (60, 15)
    assert np.abs(full @ full.T - few @ few.T).max() < 0.01
    assert kernel(arms=4, seed=1).dim <= 4


def test_attributes_of_a_problem_of_ones_own_are_nobodys_business() -> None:
    own = {
        "rate": 0.1, "slate": 3, "lat": 50.0, "latent": 2, "degree": 4, "mean": 0.5, "arm": 1, "thetas": [],
        "theta0": 1.0, "noisy": True, "keys": [], "rewarded": 0, "offers": 3, "scale": 2.0, "_nois": 5,
    }  # fmt: skip
    assert play(type("Mine", (Line,), own)(), Greedy(), 9).horizon == 9
    draws = {"reward": lambda self, rng, means: means + self.noises[0], "noises": [0.1], "noise1": 2.0}
    assert play(type("Mine", (Line,), own | draws)(), Greedy(), 9).horizon == 9


def test_student_rewards_have_students_law() -> None:
    instance = LinearInstance([[1.0]], [0.25], rewards="student", degrees=2.0, noise=0.5)
    draws = instance.draws(1)
    drawn = np.array([instance.reward(0, draws) for _ in range(4000)])
    assert _distance((drawn - 0.25) / 0.5, lambda x: 0.5 + x / (2.0 * math.sqrt(2.0 + x * x))) < FAR


FAR = 1.95 / math.sqrt(4000)  # Kolmogorov and Smirnov's distance that 4,000 draws pass once in 1,000 times


def _distance(drawn: Any, law: Any) -> float:
    expected = np.array([law(x) for x in np.sort(drawn).tolist()])
    return float(np.abs(expected - (np.arange(drawn.size) + 0.5) / drawn.size).max())


def test_noise_may_differ_by_arm() -> None:
    instance = LinearInstance(EYE, [0.5, 0.1], rewards="gaussian", noise=[0.1, 2.0])
    for arm, noise in enumerate((0.1, 2.0)):
        draws = instance.draws(1)
        drawn = np.array([instance.law.draw(arm, 0.0, draws) for _ in range(4000)])
        assert _distance(drawn / noise, lambda x: 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))) < FAR


@given(first=st.integers(1, 150), count=st.integers(1, 150), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_rewards_of_ones_own_law_do_not_depend_on_where_stretches_end(
    first: int, count: int, seed: int
) -> None:
    def thrice(rng: np.random.Generator, means: Any) -> Any:
        return rng.standard_normal(means.shape) + means * rng.integers(3, size=means.shape) + rng.random()

    means = np.random.default_rng(seed).random((300, 3))
    law = reward_law(thrice, 1.0, 3.0, 3)
    whole = law.table(Stretch(1, 300, np.arange(1, 301), means), seed, 7)
    part = Stretch(
        first, first + count - 1, np.arange(first, first + count), means[first - 1 : first + count - 1]
    )
    assert whole is not None
    np.testing.assert_array_equal(law.table(part, seed, 7), whole[first - 1 : first + count - 1])


def test_a_law_of_ones_own_is_given_the_means_of_each_round() -> None:
    ends, means = np.array([70, 130]), np.array([[0.1, 0.2], [0.3, 0.4]])
    law = reward_law(lambda rng, means: means, 1.0, 3.0, 2)
    table = law.table(Stretch(1, 130, ends, means), 1, 2)
    np.testing.assert_array_equal(table, np.repeat(means, [70, 60], axis=0))


@pytest.mark.parametrize(
    "law", [lambda mean, rng: mean, lambda rng: 0.0, lambda rng, means, size: means, lambda: 1.0]
)
def test_a_law_of_other_arguments_is_refused(law: Any) -> None:
    with pytest.raises(
        InfexError, match="a law of rewards must be a function of rng and means, in this order"
    ):
        LinearInstance(EYE, [0.5, 0.1], rewards=law)


def test_a_law_that_gives_one_number_for_all_is_refused() -> None:
    instance = LinearInstance(EYE, [0.5, 0.1], rewards=lambda rng, means: rng.normal())
    with pytest.raises(InfexError, match=r"an array like the means, \(64, 2\)"):
        play(instance, Greedy(), 9)


def test_a_law_of_ones_own_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(skewed)) is skewed
    instance = pickle.loads(pickle.dumps(gaussian(dim=2, arms=3, seed=1, rewards=skewed)))
    assert play(instance, Greedy(), 10).horizon == 10


@given(every=st.integers(1, 40), size=st.integers(1, 25))
def test_steps_are_where_they_should_be_however_rounds_are_cut(every: int, size: int) -> None:
    whole = _thetas(steps(every=every), 120, 120)
    np.testing.assert_array_equal(_thetas(steps(every=every), 120, size), whole)
    changed = [t + 1 for t in range(1, 120) if not np.array_equal(whole[t], whole[t - 1])]
    assert changed == [t for t in range(2, 121) if (t - 1) % every == 0]
    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), 0.8)


def test_steps_at_given_rounds() -> None:
    whole = _thetas(steps(at=[2, 50]), 60, 7)
    assert [t + 1 for t in range(1, 60) if not np.array_equal(whole[t], whole[t - 1])] == [2, 50]


@pytest.mark.parametrize("size", [1, 7, 300])
def test_a_parameter_turns_once_round_in_its_period(size: int) -> None:
    found = _thetas(turning(period=100), 201, size)
    np.testing.assert_array_equal(found, _thetas(turning(period=100), 201, 201))
    np.testing.assert_allclose(found[100], found[0], atol=1e-12)
    np.testing.assert_allclose(found[50], -found[0], atol=1e-12)
    np.testing.assert_allclose(found[25] @ found[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 0.8)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_a_walk_has_steps_of_its_size_and_keeps_its_length(size: int) -> None:
    found = _thetas(walk(size=0.01), 2001, size)
    np.testing.assert_array_equal(found, _thetas(walk(size=0.01), 2001, 2001))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 0.8)
    np.testing.assert_array_equal(found[0], [0.8, 0.0, 0.0])
    squares = np.sum(np.diff(found, axis=0) ** 2, axis=1)
    np.testing.assert_allclose(squares.mean(), (0.01 * 0.8) ** 2 * 2 / 3, rtol=0.1)  # of the part across


def _thetas(moves: Any, horizon: int, size: int) -> Any:
    path = moves.path(np.array([0.8, 0.0, 0.0]), np.random.default_rng(3))
    rows = []
    for first in range(1, horizon + 1, size):
        last = min(first + size - 1, horizon)
        ends, thetas = path.rows(first, last)
        assert ends[-1] >= last
        rows.append(thetas[np.searchsorted(ends, np.arange(first, last + 1))])
    return np.concatenate(rows)


def test_delays_have_their_law() -> None:
    assert late(rounds=[0, 3, 1]).delays(1, 2, 7).tolist() == [0, 3, 1, 0, 3, 1, 0]
    drawn = late(mean=4.0, lost=0.25).delays(1, 2, 40_000)
    told = drawn[drawn >= 0]
    assert abs(told.size / drawn.size - 0.75) < 0.01
    counts = np.bincount(told, minlength=12)[:12]
    np.testing.assert_allclose(counts / told.size, 0.2 * 0.8 ** np.arange(12), atol=0.01)


@pytest.mark.parametrize(
    "instance",
    [
        gaussian(dim=6, arms=40, seed=2),
        sparse(dim=20, arms=40, seed=2, nonzero=3),
        sphere(dim=6, arms=40, seed=2, gap=0.25),
        near_ties(dim=6, arms=40, seed=2, ties=6, gap=0.03),
        collinear(dim=6, arms=40, seed=2, spread=0.02),
        many_arms(dim=6, arms=500, seed=2),
        misspecified(dim=6, arms=40, seed=2, error=0.3),
    ],
    ids=lambda instance: "",
)
def test_arms_fit_and_theta_too(instance: LinearInstance) -> None:
    assert np.linalg.norm(instance.arms, axis=1).max() <= 1 + 1e-12
    assert np.linalg.norm(instance.theta) <= 1 + 1e-12
    assert play(instance, LinUCB(), 50).horizon == 50


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: gaussian(dim=3, arms=5, seed=seed),
        lambda seed: sparse(dim=4, arms=5, seed=seed, nonzero=2),
        lambda seed: sphere(dim=3, arms=5, seed=seed, gap=0.1),
        lambda seed: near_ties(dim=3, arms=5, seed=seed, ties=3, gap=0.05),
        lambda seed: collinear(dim=3, arms=5, seed=seed, spread=0.1),
        lambda seed: kernel(arms=5, seed=seed, rank=3),
        lambda seed: misspecified(dim=3, arms=5, seed=seed, error=0.2),
    ],
    ids=["gaussian", "sparse", "sphere", "near_ties", "collinear", "kernel", "misspecified"],
)
def test_the_best_arm_has_any_place(make: Callable[[int], LinearInstance]) -> None:
    counts = np.bincount([int(np.argmax(make(seed).means)) for seed in range(300)], minlength=5)
    assert counts.min() >= 30  # of 60, where 30 is more than four deviations away


def test_named_problems_are_what_they_say() -> None:
    assert np.count_nonzero(sparse(dim=20, arms=9, seed=1, nonzero=4).theta) == 4
    instance = sphere(dim=4, arms=200, seed=1, gap=0.2)
    np.testing.assert_allclose(np.linalg.norm(instance.arms, axis=1), 1.0)
    assert instance.gap >= 0.2
    assert np.count_nonzero(instance.gaps == 0.0) == 1
    for seed in range(20):
        ties = near_ties(dim=4, arms=30, seed=seed, ties=4, gap=0.05)
        np.testing.assert_allclose(np.sort(ties.gaps)[:4], [0.0, 0.05, 0.1, 0.15], atol=1e-12)
        assert np.sort(ties.gaps)[4] >= 0.2 - 1e-12
    line = collinear(dim=8, arms=400, seed=1, spread=0.01)
    values = np.linalg.svd(line.arms, compute_uv=False)
    assert values[0] > 50 * values[1]
    wave = misspecified(dim=4, arms=300, seed=1, error=0.2)
    assert 0.15 < np.abs(wave.means - wave.arms @ wave.theta).max() <= 0.2
    fitted = np.linalg.lstsq(wave.arms, wave.means, rcond=None)[0]
    assert np.abs(wave.means - wave.arms @ fitted).max() > 0.1
    assert many_arms(dim=3, seed=1).count == 10_000


def test_settings_are_known_by_name() -> None:
    assert set(settings_of(sparse)) == {
        *("dim", "arms", "nonzero", "rewards", "noise", "degrees", "link", "moves", "late"),
    }
    assert settings_of(environments.lower_bound)["which"] == 2


def test_a_subclass_is_refused() -> None:
    for kind in (LinearInstance, ChangingInstance, ContextualInstance, OwnInstance):
        with pytest.raises(TypeError, match=f"Refined cannot refine {kind.__name__}"):
            type("Refined", (kind,), {"reward": lambda self, arm, rng: 0.0})
    with pytest.raises(TypeError, match="cannot refine LinearInstance"):
        type("HeavyTailed", (LinearInstance,), {"reward": lambda self, arm, rng: 0.0})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearInstance(EYE, [0.5, 0.1], noise=0.5), "sign rewards have no noise to be set"),
        (
            lambda: LinearInstance(EYE, [0.5, 0.1], rewards=poisson, noise=2.0),
            "a law of your own has no noise",
        ),
        (lambda: LinearInstance(EYE, [0.5, 0.1], rewards="gaussian", noise=[1.0]), "or 2 of them"),
        (lambda: LinearInstance(EYE, [0.5, 0.1], rewards="student", degrees=0), "degrees must be above 0"),
        (lambda: LinearInstance(EYE, [0.5, 0.1], link="probit"), "link must be"),
        (lambda: LinearInstance(EYE, [0.5, 0.1], moves=turning), "moves must be steps, turning or walk"),
        (lambda: LinearInstance(EYE, [0.5, 0.1], mean=lambda arms: [0.1]), "means must be 2 finite numbers"),
        (lambda: LinearInstance(EYE, [0.5, 0.1], mean=lambda arms: [0.1, 3.0]), "arm 1 has 3"),
        (
            lambda: LinearInstance(EYE, [0.5, 0.1], mean=lambda arms: arms[:, 0], moves=walk(0.1)),
            "does not move",
        ),
        (lambda: LinearInstance(EYE, [0.5, 0.1], late="soon"), "late must be"),
        (lambda: late(rounds=3, mean=2.0), "got both"),
        (lambda: late(rounds=[]), "at least one"),
        (lambda: late(lost=1.5), "lost must be"),
        (lambda: steps(), "either every so many rounds or at given ones"),
        (lambda: steps(at=[5, 5]), "must rise"),
        (lambda: play(lower_bound(0.2, moves=turning(9)), Greedy(), 9), "cannot turn"),
        (lambda: sparse(dim=3, arms=4, seed=1, nonzero=4), "nonzero must be at most dim"),
        (lambda: near_ties(dim=3, arms=4, seed=1, ties=5), "ties must be at most arms"),
        (lambda: near_ties(dim=3, arms=40, seed=1, ties=30, gap=0.1), "do not fit"),
        (lambda: play(Peak, Greedy(), 9), "got Peak"),
        (lambda: play(object(), Greedy(), 9), "means\\(t, arms\\)"),
        (lambda: play(type("Bare", (), {"means": lambda self, t, arms: [1]})(), Greedy(), 9), "either arms"),
        (
            lambda: play(type("P", (Peak,), {"means": lambda self, t, arms: [np.nan] * 10})(), Greedy(), 9),
            "the means of round 1",
        ),
        (
            lambda: play(
                LinearInstance(EYE, [0.5, 0.1], rewards=lambda rng, means: means + np.inf), Greedy(), 9
            ),
            "in round 1 it gave inf",
        ),
        (
            lambda: play(LinearInstance(EYE, [0.5, 0.1], rewards=lambda rng, means: None), Greedy(), 9),
            r"an array like the means, \(64, 2\); .* gave NoneType",
        ),
        (lambda: play(gaussian(2, 3, 1, late=1), Greedy(), 10**8), "at most 10000000 rounds"),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()
