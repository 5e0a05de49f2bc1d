"""The loop of forced sampling, against least squares and LASSO in plain Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from infex.core.estimators import lasso
from infex.core.forced import ForcedRun, fading_strength, least_estimate
from infex.core.runs import Law


def run_of(arms: Any, theta: Any, horizon: int, **settings: Any) -> ForcedRun:
    means = arms @ theta
    return ForcedRun(
        arms.T,
        1.0,
        means,
        means.max() - means,
        Law.GAUSSIAN,
        0.3,
        np.random.default_rng(1),
        np.random.default_rng(2),
        horizon,
        np.unique([1, horizon]),
        **settings,
    )


def slow_arms(
    arms: Any, run: ForcedRun, forced: set[int], keep: float, first: float, later: Callable[[int], float]
) -> list[int]:
    """What each round plays, from the rewards of the rounds before it."""
    rng, found = np.random.default_rng(2), []

    def estimates(rounds: list[int], strength: float) -> Any:
        x, y = arms[run.arms[rounds]], run.rewards[rounds]
        if not rounds or strength == 0.0:
            return arms @ np.linalg.lstsq(x, y, rcond=1e-9)[0] if rounds else np.zeros(len(arms))
        return arms @ lasso(x.T @ x / len(y), x.T @ y / len(y), strength)

    for t in range(1, run.arms.size + 1):
        if t in forced:
            found.append(int(rng.integers(len(arms))))
            continue
        scores = estimates(list(range(t - 1)), later(t - 1))
        if forced:
            screen = estimates([s - 1 for s in forced if s < t], first)
            scores[screen < screen.max() - keep / 2 - 1e-9] = -np.inf
        found.append(int(np.argmax(scores >= scores.max() - 1e-9)))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("first", "later"), [(0.0, 0.0), (0.02, 0.05), (0.0, 0.1)])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_rounds_are_those_of_a_slow_loop(seed: int, first: float, later: float, share: float) -> None:
    rng = np.random.default_rng(seed)
    count, dim = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    arms, theta = rng.normal(size=(count, dim)), rng.normal(size=dim)
    forced = {t for t in range(1, 81) if rng.random() < share}
    settings = {"keep": 0.4, "first": first, "later": later, "screens": bool(forced), "of_d": 2.0}
    run = run_of(arms, theta, 80, record=True, **settings)
    run.play(1, 30, np.array(sorted(t for t in forced if t <= 30), dtype=np.int64))
    run.play(31, 80, np.array(sorted(t for t in forced if t > 30), dtype=np.int64))
    strengths = [later * np.sqrt((np.log(max(n, 1)) + 2 * np.log(dim)) / max(n, 1)) for n in range(80)]
    assert run.arms.tolist() == slow_arms(arms, run, forced, 0.4, first, strengths.__getitem__)
    assert run.explored == len(forced)
    np.testing.assert_array_equal(run.counts, np.bincount(run.arms, minlength=count))
    played = arms[run.arms]
    expected = np.linalg.slogdet(np.eye(dim) + played.T @ played)[1]
    assert run.log_det_ratio == pytest.approx(expected, rel=1e-10)
    assert run.curve[-1] == pytest.approx(run.losses.sum(), rel=1e-12)


def test_nothing_is_learnt_before_the_first_round() -> None:
    run = run_of(np.eye(3), np.ones(3), 1, record=True)
    assert run.log_det_ratio == 0.0
    run.play(1, 1, np.zeros(0, dtype=np.int64))
    assert run.arms.tolist() == [0]  # all arms are tied


def test_formulas() -> None:
    assert fading_strength(0.5, 4.0, 2.0, 10, 3) == pytest.approx(
        0.5 * np.sqrt((4 * np.log(10) + 2 * np.log(3)) / 10)
    )
    assert fading_strength(0.5, 1.0, 1.0, 0, 3) == fading_strength(0.5, 1.0, 1.0, 1, 3)
    assert least_estimate(2.0, 0.5) == pytest.approx(1.75, abs=1e-11)
    assert least_estimate(2.0, 0.0) < 2.0


@pytest.mark.parametrize(
    "change",
    [{"keep": -1.0}, {"first": np.nan}, {"later": np.inf}, {"of_n": -1.0}],
)
def test_settings_out_of_range_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be a number of at least 0"):
        run_of(np.eye(2), np.ones(2), 5, **change)


def test_arrays_and_rounds_that_do_not_fit_are_refused() -> None:
    rngs = np.random.default_rng(1), np.random.default_rng(2)
    with pytest.raises(ValueError, match="there must be 2 means and gaps, got 3 and 2"):
        ForcedRun(np.eye(2), 1.0, np.zeros(3), np.zeros(2), Law.SIGN, 1.0, *rngs, 5, np.array([5]))
    with pytest.raises(ValueError, match="penalty must be"):
        ForcedRun(np.eye(2), 0.0, np.zeros(2), np.zeros(2), Law.SIGN, 1.0, *rngs, 5, np.array([5]))
    with pytest.raises(ValueError, match="Student's law"):
        ForcedRun(np.eye(2), 1.0, np.zeros(2), np.zeros(2), Law.STUDENT, 1.0, *rngs, 5, np.array([5]))
    run = run_of(np.eye(2), np.ones(2), 5)
    with pytest.raises(ValueError, match="rounds 2 to 3 do not go on from round 1"):
        run.play(2, 3, np.zeros(0, dtype=np.int64))
