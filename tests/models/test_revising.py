"""A reward that is taken out, or gets another value: the state is as if it had never come, or come so."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import models
from infex.arrays import Floats
from infex.errors import InvalidReward, NotKept
from infex.models.layout import ArmRow, ContextOffer, PerArm
from infex.models.posterior import Posterior, on_offer
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.models.state import new_model
from infex.models.sums import Revision

EXAMPLES = 60
HUGE = 1e15  # what a bug may tell
BY_SUMS: list[Any] = [None, models.Weighted(weight=lambda x: 0.5 + float(x[0]) ** 2), models.Lasso()]
IN_ORDER: list[Any] = [
    models.Windowed(size=5),
    models.Windowed(size=40),
    models.Discounted(rate=0.9),
]


def columns(rng: np.random.Generator, dim: int, count: int) -> Floats:
    found: Floats = rng.standard_normal((dim, count))
    found /= np.linalg.norm(found, axis=0)
    return found


def assert_alike(one: Any, other: Any, offer: Any = None) -> None:
    """Estimates, widths, log_det_ratio, counts and what is kept agree to 1e-9."""
    known = [
        each.posterior() if offer is None else on_offer(each.posterior(), offer) for each in (one, other)
    ]
    mine, theirs = (Posterior(each) for each in known)
    np.testing.assert_allclose(mine.estimates, theirs.estimates, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mine.widths, theirs.widths, rtol=1e-9)
    np.testing.assert_allclose(mine.log_det_ratio, theirs.log_det_ratio, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(one.counts[0], other.counts[0])
    assert one.n_observations == other.n_observations


def told(rng: np.random.Generator, ons: list[Any], count: int, huge: bool) -> list[tuple[Any, float, float]]:
    """Rewards in runs, some with weights, and one that is far too large if `huge`."""
    found: list[tuple[Any, float, float]] = []
    while len(found) < count:
        on = ons[int(rng.integers(len(ons)))]
        for _ in range(int(rng.integers(1, 5))):
            weight = 1.0 if rng.random() < 0.8 else float(rng.uniform(0.1, 4))
            found.append((on, float(rng.standard_normal()), weight))
    found = found[:count]
    if huge and found:
        on, _, weight = found[len(found) // 2]
        found[len(found) // 2] = on, HUGE, weight
    return found


def learnt(statistics: Any, rewards: list[tuple[Any, float, float]]) -> tuple[Any, list[Revision]]:
    """The statistics, and what it takes to revise each reward."""
    kept = []
    for on, reward, weight in rewards:
        counted, turn = statistics.effective_weight(on, weight), statistics.observation_number(on)
        statistics.update(on, reward, counted)
        kept.append(Revision(on, reward, None, counted, turn))
    return statistics, kept


def layouts(rng: np.random.Generator, kind: str) -> tuple[Any, list[Any], Any]:
    """A layout, what rewards are learnt on there, and what is asked about."""
    dim = int(rng.integers(1, 8))
    if kind == "fixed":
        found = columns(rng, dim, 6)
        return found, [*range(6), columns(rng, dim, 1)[:, 0]], None
    rows = [columns(rng, dim, 1)[:, 0] for _ in range(5)]
    if kind == "given":
        return np.empty((dim, 0)), rows, columns(rng, dim, 4)
    if kind == "hybrid":
        shared = int(rng.integers(1, 4))
        ties = 0.5 * rng.standard_normal((3, shared))
        ons = [ArmRow(arm, np.concatenate([row, ties[arm]])) for arm in range(3) for row in rows]
        return PerArm(3, dim, shared), ons, ContextOffer(rows[0], ties)
    return PerArm(3, dim), [ArmRow(arm, row) for arm in range(3) for row in rows], ContextOffer(rows[0])


@pytest.mark.parametrize("kind", ["fixed", "given", "blocks", "hybrid"])
@given(seed=st.integers(0, 2**32), huge=st.booleans(), count=st.integers(1, 40))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_was_never_learnt_leaves_no_trace(kind: str, seed: int, huge: bool, count: int) -> None:
    rng = np.random.default_rng(seed)
    layout, ons, offer = layouts(rng, kind)
    rewards = told(rng, ons, count, huge)
    out = {int(at) for at in rng.integers(count, size=3)} | ({count // 2} if huge else set())
    for estimator in BY_SUMS if seed % 3 == 0 and kind != "hybrid" else BY_SUMS[:1]:
        one, kept = learnt(new_model(layout, 0.5, estimator), rewards)
        for place in out:
            one.revise(kept[place])
        left = [reward for place, reward in enumerate(rewards) if place not in out]
        assert_alike(one, learnt(new_model(layout, 0.5, estimator), left)[0], offer)


@pytest.mark.parametrize("kind", ["fixed", "given", "blocks", "hybrid"])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 40))
@settings(max_examples=EXAMPLES, deadline=None)
def test_another_value_is_as_if_it_had_been_told_so(kind: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    layout, ons, offer = layouts(rng, kind)
    estimator = None if kind == "hybrid" else [*BY_SUMS, *IN_ORDER][seed % 6]
    fades = isinstance(estimator, models.Discounted)  # what fades is rounded with every reward
    rewards = told(rng, ons, count, huge=not fades)
    one, kept = learnt(new_model(layout, 0.5, estimator), rewards)
    right = list(rewards)
    for place in {int(at) for at in rng.integers(count, size=3)} | {count // 2}:
        value = float(rng.standard_normal())
        one.revise(kept[place]._replace(after=value))
        right[place] = rewards[place][0], value, rewards[place][2]
    assert_alike(one, learnt(new_model(layout, 0.5, estimator), right)[0], offer)


@given(seed=st.integers(0, 2**32), count=st.integers(1, 30))
@settings(max_examples=EXAMPLES // 3, deadline=None)
def test_logistic_counts_are_put_right_and_rows_of_no_reward_are_gone(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    layout, ons, offer = layouts(rng, ("fixed", "given", "blocks")[seed % 3])
    rewards = [(on, float(reward > 0), 1.0) for on, reward, _ in told(rng, ons, count, huge=False)]
    one, kept = learnt(new_model(layout, 0.5, models.Logistic()), rewards)
    first = kept[0]
    one.revise(first._replace(after=1.0 - first.before))
    one.revise(first._replace(before=1.0 - first.before))
    other, _ = learnt(new_model(layout, 0.5, models.Logistic()), rewards[1:])
    assert_alike(one, other, offer)
    rows = [np.sort(each.arrays()["rows"], axis=None) for each in (one, other)]
    np.testing.assert_array_equal(*rows)


def test_a_reward_of_an_arm_that_is_gone_cannot_leave_what_arms_share() -> None:
    on = ArmRow(0, np.array([0.5, 0.1]))
    ridge, (kept,) = learnt(new_model(PerArm(2, 1, 1), 1.0, None), [(on, 1.0, 1.0)])
    ridge = ridge.rearranged(PerArm(1, 1, 1), np.array([1]))
    with pytest.raises(NotKept, match="removed"):
        ridge.revise(kept._replace(on=ArmRow(-1, on.context)))


def test_sum_x_x_is_untouched_by_another_value() -> None:
    rng = np.random.default_rng(5)
    ridge, kept = learnt(RidgeModel(columns(rng, 4, 9)), told(rng, list(range(9)), 200, huge=False))
    before = ridge.sufficient_statistics().sums
    ridge.revise(kept[50]._replace(after=7.0))
    np.testing.assert_array_equal(before[:, :-1], ridge.sufficient_statistics().sums[:, :-1])
    assert not np.array_equal(before[:, -1], ridge.sufficient_statistics().sums[:, -1])


def test_a_copy_of_posteriors_stays_as_it_is() -> None:
    ridge, kept = learnt(RidgeModel(np.eye(2)), [(0, 1.0, 1.0), (1, 0.5, 1.0)])
    blocks, of_blocks = learnt(RidgeBankModel(PerArm(2, 1)), [(ArmRow(0, np.ones(1)), 1.0, 1.0)])
    held = (
        Posterior(ridge.posterior()).copy(),
        Posterior(on_offer(blocks.posterior(), ContextOffer(np.ones(1)))).copy(),
    )
    before = [each.estimates.copy() for each in held]
    ridge.revise(kept[0])
    blocks.revise(of_blocks[0])
    for mine, then in zip(held, before, strict=True):
        np.testing.assert_array_equal(mine.estimates, then)
    assert ridge.posterior().estimates[0] == 0.0


@pytest.mark.parametrize("estimator", IN_ORDER, ids=repr)
def test_rewards_that_count_by_their_order_are_not_taken_out(estimator: Any) -> None:
    statistics, kept = learnt(new_model(np.eye(2), 1.0, estimator), [(0, 1.0, 1.0), (1, 0.5, 1.0)])
    before = statistics.arrays()
    with pytest.raises(NotKept, match="by their order"):
        statistics.revise(kept[0])
    for name, array in statistics.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_another_value_must_be_one_that_the_estimator_takes() -> None:
    logistic, kept = learnt(new_model(np.eye(2), 1.0, models.Logistic()), [(0, 1.0, 1.0)])
    with pytest.raises(InvalidReward, match="must be 0 or 1, got 2"):
        logistic.revise(kept[0]._replace(after=2.0))
    assert logistic.n_observations == 1
