"""Estimators of the core: against slow versions, and what they refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from infex.arrays import Floats
from infex.core import estimators as core
from infex.core.ridge import add_rewards
from infex.errors import InvalidReward

Rows = list[tuple[Floats, float, float]]  # x, reward and weight


def drawn(seed: int, dim: int, rounds: int, kind: str, clicks: bool = False) -> Rows:
    """Rewards of random x, in an order of its own; every x comes more than once."""
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(max(3, rounds // 4), dim))
    arms /= np.maximum(1.0, np.linalg.norm(arms, axis=1, keepdims=True))
    if kind == "collinear":
        arms = np.outer(rng.normal(size=len(arms)), arms[0]) + rng.choice([0.0, 1e-7]) * arms
    theta = 6.0 * rng.normal(size=dim)
    scale = {"huge": 1e60, "tiny": 1e-60}.get(kind, 1.0)
    rows = []
    for x in arms[rng.integers(len(arms), size=rounds)]:
        odds = float(x @ theta)
        if clicks:
            chance = float(odds > 0) if kind == "separable" else 1 / (1 + np.exp(-odds))
            reward = float(rng.random() < chance)
        else:
            reward = scale * (odds + rng.normal())
        weight = 1.0 if rng.random() < 0.5 else float(10 ** rng.uniform(-4, 6 if kind == "heavy" else 1))
        rows.append((x, reward, weight))
    return rows


def learnt(fit: core.Fit, rows: Rows) -> tuple[float, Floats, Floats]:
    """The log det ratio, the covariance M'M and theta after all rewards."""
    solved = np.zeros((fit.dim + 1, fit.dim))
    ratio = fit.update(np.zeros(fit.dim), 0.0, 0.0, solved)
    assert ratio == 0.0
    for x, reward, weight in rows:
        ratio = fit.update(x, reward, weight, solved)
    assert not np.triu(solved[:-1], 1).any()
    return ratio, solved[:-1].T @ solved[:-1], solved[-1]


def gram_of(rows: Rows, penalty: float, weights: Any) -> Any:
    x = np.array([row[0] for row in rows])
    return penalty * np.eye(x.shape[1]) + (x * np.asarray(weights)[:, None]).T @ x


def slow_ridge(rows: Rows, penalty: float) -> tuple[float, Any, Any]:
    """The same by NumPy, for weighted rewards."""
    weights, d = np.array([row[2] for row in rows]), len(rows[0][0])
    v = gram_of(rows, penalty, weights)
    moment = sum(weight * reward * x for x, reward, weight in rows)
    ratio = float(np.linalg.slogdet(v / penalty)[1])
    return ratio, np.linalg.inv(v), np.linalg.solve(v, np.asarray(moment).reshape(d))


def assert_near(found: tuple[Any, ...], expected: tuple[Any, ...], near: float = 1e-8) -> None:
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=near, atol=near * np.abs(other).max())


slow = settings(max_examples=25, deadline=None)
plain = st.tuples(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from([30.0, 1.0, 1e-2]))


@slow
@given(plain)
def test_weighted_is_ridge_regression_by_weights(problem: tuple[int, int, float]) -> None:
    seed, dim, penalty = problem
    rows = drawn(seed, dim, 40, "plain")
    assert_near(learnt(core.WeightedFit(dim, penalty), rows), slow_ridge(rows, penalty))


@slow
@given(plain, st.integers(1, 50))
def test_windowed_is_ridge_regression_of_the_last_rewards(
    problem: tuple[int, int, float], window: int
) -> None:
    seed, dim, penalty = problem
    rows = drawn(seed, dim, 130, "plain")
    expected = slow_ridge(rows[-window:], penalty)
    assert_near(learnt(core.WindowedFit(dim, penalty, window), rows), expected)


@slow
@given(plain, st.floats(0.5, 1.0))
def test_discounted_has_the_sandwich_covariance(problem: tuple[int, int, float], rate: float) -> None:
    seed, dim, penalty = problem
    rows = [(x, reward, 1.0) for x, reward, _ in drawn(seed, dim, 40, "plain")]
    weights = rate ** np.arange(39.0, -1.0, -1.0)
    v, w = gram_of(rows, penalty, weights), gram_of(rows, penalty, weights**2)
    moment = sum(weight * reward * x for weight, (x, reward, _) in zip(weights, rows, strict=True))
    inverse = np.linalg.inv(v)
    expected = float(np.linalg.slogdet(w / penalty)[1]), inverse @ w @ inverse, inverse @ moment
    assert_near(learnt(core.DiscountedFit(dim, penalty, rate), rows), expected, 1e-7)


def assert_lasso(gram: Floats, moment: Floats, strength: float, theta: Floats) -> None:
    """The conditions of a minimum: slopes of `strength` where coefficients are not 0, none above."""
    slope, near = moment - gram @ theta, 1e-6 * (strength + float(np.abs(moment).max()))
    assert (np.abs(slope) <= strength + near).all()
    active = theta != 0.0
    np.testing.assert_allclose(slope[active], strength * np.sign(theta[active]), atol=near)


@slow
@given(plain, st.sampled_from([1e-3, 0.05, 0.5]), st.sampled_from(["plain", "collinear"]))
def test_lasso_is_the_minimum(problem: tuple[int, int, float], strength: float, kind: str) -> None:
    seed, dim, penalty = problem
    rows = [(x, reward, 1.0) for x, reward, _ in drawn(seed, dim, 30, kind)]
    fit = core.LassoFit(dim, penalty, strength)
    ratio, covariance, theta = learnt(fit, rows)
    x, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    gram, moment = x.T @ x / len(y), x.T @ y / len(y)
    assert_lasso(gram, moment, strength, theta)
    assert_lasso(gram, moment, strength, core.lasso(gram, moment, strength))
    assert_near((ratio, covariance), slow_ridge(rows, penalty)[:2])
    at = fit.search_at
    assert at is not None
    np.testing.assert_array_equal(fit.memory[at : at + dim], theta)


@slow
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 12))
def test_least_squares_is_the_shortest(seed: int, dim: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(count, dim)), rng.normal(size=count)
    theta = core.least_squares(x.T @ x, x.T @ y)
    np.testing.assert_allclose(
        theta, np.linalg.pinv(x, rcond=1e-6) @ y, atol=1e-6 * (1 + np.abs(theta).max())
    )


@slow
@given(plain, st.sampled_from(["plain", "separable"]))
def test_logistic_is_the_mode_and_its_curvature(problem: tuple[int, int, float], kind: str) -> None:
    seed, dim, penalty = problem
    rows = [(x, reward, 1.0) for x, reward, _ in drawn(seed, dim, 50, kind, clicks=True)]
    x, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    def loss(theta: Floats) -> float:
        return float(np.logaddexp(0.0, x @ theta).sum() - y @ x @ theta + penalty * theta @ theta / 2)

    def slope(theta: Floats) -> Floats:
        return np.asarray(x.T @ (1 / (1 + np.exp(-x @ theta)) - y) + penalty * theta)

    def curvature(theta: Floats) -> Any:
        chance = 1 / (1 + np.exp(-x @ theta))
        return gram_of(rows, penalty, chance * (1 - chance))

    found = minimize(
        loss, np.zeros(dim), jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-9}
    )
    ratio, covariance, theta = learnt(core.LogisticFit(dim, penalty, 50), rows)
    np.testing.assert_allclose(theta, found.x, atol=1e-5 * (1 + np.abs(found.x).max()))
    h = curvature(theta)
    assert_near((ratio, covariance), (float(np.linalg.slogdet(h / penalty)[1]), np.linalg.inv(h)), 1e-6)


def test_logistic_between_fits_is_near_the_exact_one() -> None:
    rows = [(x, reward, 1.0) for x, reward, _ in drawn(5, 4, 900, "plain", clicks=True)]
    _, _, theta = learnt(core.LogisticFit(4, 1.0, 900), rows)
    x, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    solved = np.zeros((5, 4))
    core.solve_logistic(x, 1.0 - y, y, 1.0, np.zeros(4), solved)
    assert np.abs(theta - solved[-1]).max() > 0.0
    np.testing.assert_allclose(1 / (1 + np.exp(-x @ theta)), 1 / (1 + np.exp(-x @ solved[-1])), atol=1e-3)


@slow
@given(plain, st.integers(1, 6))
def test_estimates_of_blocks_are_those_of_the_rounds_before(
    problem: tuple[int, int, float], blocks: int
) -> None:
    seed, dim, penalty = problem
    rng = np.random.default_rng(seed)
    table, which, rewards = rng.normal(size=(5, dim)), rng.integers(5, size=40), rng.normal(size=40)
    rewarded, renewed = rng.random(40) < 0.8, rng.random(blocks) < 0.7
    starts = np.sort(rng.integers(40, size=blocks))
    thetas = core.block_estimates(
        np.asfortranarray(table), which, rewards, rewarded, starts, renewed, penalty
    )
    expected: Any = np.zeros(dim)
    for theta, start, anew in zip(thetas, starts, renewed, strict=True):
        x, y = table[which[:start]][rewarded[:start]], rewards[:start][rewarded[:start]]
        if anew:
            expected = np.linalg.solve(penalty * np.eye(dim) + x.T @ x, x.T @ y)
        np.testing.assert_allclose(theta, expected, atol=1e-9)


def numpy_ridge(
    x: Floats, reward: float, weight: float, penalty: float, memory: Floats, solved: Floats
) -> float:
    """Ridge regression as a user would write it."""
    d = x.size
    sums = memory.reshape(d + 1, d)
    sums[:d] += weight * np.outer(x, x)
    sums[d] += weight * reward * x
    v = penalty * np.eye(d) + sums[:d]
    solved[:d] = np.tril(np.linalg.inv(np.linalg.cholesky(v)))
    solved[d] = np.linalg.solve(v, sums[d])
    x[:] = np.nan  # x is a copy
    return float(np.linalg.slogdet(v / penalty)[1])


def test_a_python_function_is_an_estimator() -> None:
    rows = drawn(3, 4, 40, "plain")
    fit = core.PythonFit(4, 0.5, numpy_ridge, 20)
    kept = [x.copy() for x, _, _ in rows]
    assert_near(learnt(fit, rows), slow_ridge(rows, 0.5))
    np.testing.assert_array_equal([x for x, _, _ in rows], kept)
    other = core.PythonFit(4, 0.5, numpy_ridge, 20)
    other.restore(fit.memory)
    mine, again = np.zeros((5, 4)), np.zeros((5, 4))
    assert fit.update(kept[0], 1.0, 1.0, mine) == other.update(kept[0], 1.0, 1.0, again)
    np.testing.assert_array_equal(mine, again)


def test_what_a_python_function_raises_arrives_as_it_is() -> None:
    fault = LookupError("nothing here")

    def fit(*_: Any) -> float:
        raise fault

    solved = np.full((3, 2), 7.0)
    with pytest.raises(LookupError) as caught:
        core.PythonFit(2, 1.0, fit, 0).update(np.zeros(2), 0.0, 0.0, solved)
    assert caught.value is fault
    assert (solved == 7.0).all()


@pytest.mark.parametrize(
    ("answer", "error"), [(None, TypeError), ("1", TypeError), (np.nan, ValueError), (np.inf, ValueError)]
)
def test_a_python_function_must_return_a_number(answer: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="log det ratio"):
        core.PythonFit(2, 1.0, lambda *_: answer, 3).update(np.zeros(2), 0.0, 0.0, np.zeros((3, 2)))


def test_minus_one_is_a_number_like_any_other() -> None:
    fit = core.PythonFit(2, 1.0, lambda *_: -1.0, 3)
    assert fit.update(np.zeros(2), 0.0, 0.0, np.zeros((3, 2))) == -1.0


MAKERS: dict[str, Callable[[], core.Fit]] = {
    "weighted": lambda: core.WeightedFit(3, 1.0),
    "windowed": lambda: core.WindowedFit(3, 1.0, 8),
    "discounted": lambda: core.DiscountedFit(3, 1.0, 0.9),
    "lasso": lambda: core.LassoFit(3, 1.0, 0.1),
    "logistic": lambda: core.LogisticFit(3, 1.0, 30),
    "python": lambda: core.PythonFit(3, 1.0, numpy_ridge, 12),
}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@makers
def test_what_was_learnt_goes_on_from_its_memory(make: Callable[[], core.Fit]) -> None:
    whole, first, second = make(), make(), make()
    solved, parted = np.zeros((4, 3)), np.zeros((4, 3))
    for n, (x, reward, weight) in enumerate(drawn(1, 3, 60, "plain", clicks=True)):
        if n == 37:
            second.restore(first.memory)
        ratio = whole.update(x, reward, weight, solved)
        assert (first if n < 37 else second).update(x, reward, weight, parted) == ratio
        np.testing.assert_array_equal(solved, parted)
    np.testing.assert_array_equal(whole.memory, second.memory)


@makers
def test_memory_starts_at_nothing_and_is_for_reading(make: Callable[[], core.Fit]) -> None:
    fit = make()
    assert fit.memory.dtype == np.float64
    assert not fit.memory.any()
    with pytest.raises(ValueError, match="read-only"):
        fit.memory[0] = 1.0
    with pytest.raises(AttributeError):
        fit.memory = np.zeros(3)
    assert fit.search_at == (1 if isinstance(fit, core.LassoFit) else None)


@makers
@pytest.mark.parametrize(
    "changed",
    [
        {"x": np.zeros(2)},
        {"x": np.zeros(4)},
        {"x": np.zeros((3, 1))},
        {"x": 1.0},
        {"x": [np.nan, 0.0, 0.0]},
        {"x": [np.inf, 0.0, 0.0]},
        {"x": ["a", "b", "c"]},
        {"x": [1j, 0, 0]},
        {"x": None},
        {"reward": np.nan},
        {"reward": np.inf},
        {"reward": None},
        {"weight": -1.0},
        {"weight": np.nan},
        {"weight": np.inf},
        {"solved": None},
        {"solved": np.zeros((3, 3))},
        {"solved": np.zeros((5, 3))},
        {"solved": np.zeros((3, 4))},
        {"solved": np.zeros(12)},
        {"solved": np.zeros((4, 3), dtype=np.float32)},
        {"solved": np.asfortranarray(np.zeros((4, 3)))},
        {"solved": np.zeros((8, 3))[::2]},
        {"solved": np.broadcast_to(np.zeros(3), (4, 3))},
    ],
    ids=repr,
)
def test_a_reward_that_does_not_fit_is_refused(make: Callable[[], core.Fit], changed: dict[str, Any]) -> None:
    fit = make()
    given: dict[str, Any] = {"x": np.ones(3), "reward": 1.0, "weight": 1.0, "solved": np.zeros((4, 3))}
    with pytest.raises((ValueError, TypeError)):
        fit.update(**(given | changed))
    assert not fit.memory.any()


@makers
def test_memory_of_another_shape_is_refused(make: Callable[[], core.Fit]) -> None:
    fit = make()
    for size in (0, fit.memory.size - 1, fit.memory.size + 1):
        with pytest.raises(ValueError, match="memory must be numbers of the shape"):
            fit.restore(np.zeros(size))
    with pytest.raises(ValueError, match="memory must be finite"):
        fit.restore(np.full(fit.memory.size, np.nan))
    with pytest.raises(ValueError, match="memory must be numbers"):
        fit.restore(["a"] * fit.memory.size)


@pytest.mark.parametrize(
    "head",
    [
        [9, 0, 0],
        [-1, 0, 0],
        [1e300, 0, 0],
        [0.5, 0.5, 0],
        [2, 3, 0],
        [2, 2, 1],
        [8, 8, 0],
        [8, -1, 0],
        [8, 0, 8],
    ],
    ids=repr,
)
def test_a_window_that_cannot_be_is_refused(head: list[float]) -> None:
    fit = core.WindowedFit(3, 1.0, 8)
    memory = np.zeros(fit.memory.size)
    memory[:3] = head
    with pytest.raises(ValueError, match="memory"):
        fit.restore(memory)
    assert not fit.memory.any()


@pytest.mark.parametrize("count", [31, -1, 0.5, 1e300])
def test_more_rows_of_logistic_regression_than_there_are_are_refused(count: float) -> None:
    fit = core.LogisticFit(3, 1.0, 30)
    memory = np.zeros(fit.memory.size)
    memory[0] = count
    with pytest.raises(ValueError, match="number of rows in memory"):
        fit.restore(memory)


def test_there_is_no_more_room_than_was_asked_for() -> None:
    solved = np.zeros((4, 3))
    window, rows = core.WindowedFit(3, 1.0, 100, rows=2), core.LogisticFit(3, 1.0, 2)
    for fit in (window, rows):
        for n in range(2):
            fit.update([n, 0, 1], 1.0, 1.0, solved)
        before = fit.memory.copy()
        with pytest.raises(ValueError, match="room for 2"):
            fit.update([5, 5, 5], 1.0, 1.0, solved)
        np.testing.assert_array_equal(fit.memory, before)
    rows.update([1, 0, 1], 0.0, 1.0, solved)  # an x that is known
    again = core.WindowedFit(3, 1.0, 100, rows=2)
    again.restore(window.memory)
    with pytest.raises(ValueError, match="room for 2"):
        again.update([5, 5, 5], 1.0, 1.0, solved)


@pytest.mark.parametrize("reward", [0.5, -1.0, 2.0])
def test_rewards_of_logistic_regression_are_0_and_1(reward: float) -> None:
    fit = core.LogisticFit(3, 1.0, 30)
    with pytest.raises(InvalidReward, match="must be 0 or 1, got"):
        fit.update(np.ones(3), reward, 1.0, np.zeros((4, 3)))
    assert not fit.memory.any()


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *((kind, (dim, 1.0, *rest)) for kind, *rest in (
            ("WeightedFit",), ("WindowedFit", 3), ("DiscountedFit", 0.5), ("LassoFit", 0.1),
            ("LogisticFit", 9), ("PythonFit", numpy_ridge, 4),
        ) for dim in (0, -3, 1.5, None, 2**62)),
        *(("WeightedFit", (2, penalty)) for penalty in (0.0, -1.0, 1e-11, np.nan, np.inf)),
        *(("WindowedFit", (2, 1.0, size)) for size in (0, -1, 2.5, 2**60)),
        ("WindowedFit", (2, 1.0, 5, 0)),
        *(("DiscountedFit", (2, 1.0, rate)) for rate in (0.0, -0.5, 1.1, np.nan)),
        *(("LassoFit", (2, 1.0, strength)) for strength in (0.0, -0.5, np.inf, np.nan)),
        *(("LogisticFit", (2, 1.0, rows)) for rows in (0, -1, 2.5, 2**61)),
        ("PythonFit", (2, 1.0, None, 4)),
        ("PythonFit", (2, 1.0, numpy_ridge, -1)),
    ],
    ids=repr,
)  # fmt: skip
def test_settings_out_of_range_are_refused(kind: str, given: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError, MemoryError, OverflowError)):
        getattr(core, kind)(*given)


def test_an_estimator_is_a_subclass() -> None:
    with pytest.raises(NotImplementedError):
        core.Fit().update(np.zeros(0), 1.0, 1.0, np.zeros((1, 0)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: core.least_squares(np.eye(3), np.zeros(2)),
        lambda: core.least_squares(np.zeros(3), np.zeros(3)),
        lambda: core.lasso(np.eye(2), np.zeros(2), -1.0),
        lambda: core.lasso(np.eye(2), np.zeros(2), np.nan),
        lambda: core.lasso(np.eye(2), np.zeros(2), 1.0, np.zeros(3)),
        lambda: add_rewards(np.zeros((2, 3, 3)), 1.0, np.zeros(3), 1.0, 1.0),
        lambda: add_rewards(np.zeros((2, 4, 3)), 1.0, np.zeros(2), 1.0, 1.0),
        lambda: add_rewards(np.zeros((2, 1, 0)), 1.0, np.zeros(0), 1.0, 1.0),
        lambda: core.solve_ridge(np.zeros((2, 4, 3)), 1.0, np.zeros((3, 3))),
        lambda: core.solve_ridge(np.zeros((1, 4, 3)), 1.0, np.zeros((4, 3))),
        lambda: core.solve_discounted(np.zeros((2, 4, 3)), np.zeros((2, 3, 2)), 1.0, np.zeros((4, 3))),
        lambda: core.solve_logistic(
            np.zeros((5, 2)), np.zeros(5), np.zeros(4), 1.0, np.zeros(2), np.zeros((3, 2))
        ),
        lambda: core.solve_logistic(
            np.zeros((5, 2)), np.zeros(5), np.zeros(5), 1.0, np.zeros(3), np.zeros((4, 3))
        ),
        lambda: core.solve_logistic(
            np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0, np.zeros(0), np.zeros((1, 0))
        ),
        lambda: core.update_logistic(np.zeros(2), 1.0, 1.0, np.zeros((3, 2)), np.zeros(2)),
        lambda: core.update_logistic(np.zeros(2), 1.0, 1.0, np.zeros((4, 2)), np.zeros(3)),
        lambda: core.logistic_fit_is_due(3, 5.0, 1.0, np.zeros(4)),
        lambda: core.begin_logistic_progress(np.zeros(1), 5.0),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError):
        call()


@pytest.mark.parametrize(
    "changed",
    [
        {"which": np.array([0, 5])},
        {"which": np.array([-1, 0])},
        {"rewards": np.zeros(3)},
        {"rewarded": np.ones(1, dtype=bool)},
        {"starts": np.array([3])},
        {"starts": np.array([-1])},
        {"renewed": np.ones(2, dtype=bool)},
        {"table": np.zeros((5, 0))},
    ],
    ids=repr,
)
def test_blocks_that_do_not_fit_together_are_refused(changed: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "table": np.ones((5, 2)),
        "which": np.array([0, 1]),
        "rewards": np.ones(2),
        "rewarded": np.ones(2, dtype=bool),
        "starts": np.array([1]),
        "renewed": np.ones(1, dtype=bool),
        "penalty": 1.0,
    }
    assert core.block_estimates(**given).shape == (1, 2)
    with pytest.raises((ValueError, IndexError)):
        core.block_estimates(**(given | changed))


@pytest.mark.parametrize("penalty", [0.0, -1.0, 1e-11, np.nan, np.inf])
def test_a_penalty_that_leaves_nothing_to_factor_is_refused(penalty: float) -> None:
    sums, solved = np.zeros((2, 3, 2)), np.zeros((3, 2))
    one, place, yes = np.ones(1), np.zeros(1, dtype=np.int64), np.ones(1, dtype=bool)
    for call in (
        lambda: core.solve_ridge(sums, penalty, solved),
        lambda: core.solve_discounted(sums, sums.copy(), penalty, solved),
        lambda: core.solve_logistic(np.ones((1, 2)), one, one, penalty, np.zeros(2), solved),
        lambda: core.block_estimates(np.ones((1, 2)), place, one, yes, place, yes, penalty),
    ):
        with pytest.raises(ValueError, match="penalty must be a number of at least 1e-10"):
            call()
    assert not sums.any()
