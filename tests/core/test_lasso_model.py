"""Forced sampling in the general loop, against least squares and LASSO in plain Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from infex.core.choosing import Base, Kind, Reads
from infex.core.estimators import lasso
from infex.core.general import GeneralRun
from infex.core.models import LassoModel, fading_strength, least_estimate
from infex.core.ridge import Ridge
from infex.core.runs import Law


def run_of(arms: Any, horizon: int, first: float = 0.0, screens: bool = True, **settings: Any) -> GeneralRun:
    """A run that plays uniform arms in forced rounds, and greedy ones by LASSO in others."""
    forced = LassoModel(Ridge(arms.T, scored=False), strength=first) if screens else None
    return GeneralRun(
        LassoModel(Ridge(arms.T, scored=False), screen=forced, **settings),
        Base(Kind.UNIFORM, Reads.READS_NOTHING),
        Law.GAUSSIAN,
        np.full(len(arms), 0.3),
        np.random.default_rng(1),
        np.random.default_rng(2),
        horizon,
        np.unique([1, horizon]),
        explored=forced,
        steady=True,
        record=True,
    )


def play(run: GeneralRun, first: int, last: int, means: Any, forced: Any = ()) -> None:
    rounds = np.array(sorted(t for t in forced if first <= t <= last), dtype=np.int64)
    run.play(first, last, rounds, np.array([last]), means[None])


def slow_arms(
    arms: Any, run: GeneralRun, forced: set[int], keep: float, first: float, later: Callable[[int], float]
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
    run = run_of(arms, 80, first, bool(forced), keep=0.4, fading=later, of_d=2.0)
    play(run, 1, 30, arms @ theta, forced)
    play(run, 31, 80, arms @ theta, forced)
    strengths = [later * np.sqrt((np.log(max(n, 1)) + 2 * np.log(dim)) / max(n, 1)) for n in range(80)]
    assert run.arms.tolist() == slow_arms(arms, run, forced, 0.4, first, strengths.__getitem__)
    assert run.explored == len(forced)
    np.testing.assert_array_equal(run.counts, np.bincount(run.arms, minlength=count))
    played = arms[run.arms]
    expected = np.linalg.slogdet(np.eye(dim) + played.T @ played)[1]
    assert run.log_det_ratio == pytest.approx(expected, rel=1e-10)
    assert run.curve[-1] == pytest.approx(run.losses.sum(), rel=1e-12)


def test_nothing_is_learnt_before_the_first_round() -> None:
    run = run_of(np.eye(3), 1)
    assert run.log_det_ratio == 0.0
    play(run, 1, 1, np.ones(3))
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
    [{"keep": -1.0}, {"strength": np.nan}, {"fading": np.inf}, {"of_n": -1.0}],
)
def test_settings_out_of_range_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be a number of at least 0"):
        LassoModel(Ridge(np.eye(2)), **change)


def test_a_screen_and_a_base_that_do_not_fit_are_refused() -> None:
    ridge = Ridge(np.eye(2))
    for screen in (LassoModel(ridge), LassoModel(Ridge(np.eye(3)))):
        with pytest.raises(ValueError, match="screen must be another model"):
            LassoModel(ridge, screen=screen)
    rngs = np.random.default_rng(1), np.random.default_rng(2)
    with pytest.raises(ValueError, match="reads nothing of the arms"):
        GeneralRun(LassoModel(ridge), Base(Kind.LINUCB), Law.SIGN, np.ones(2), *rngs, 5, np.array([5]))
