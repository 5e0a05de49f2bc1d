"""Sums over pending decisions come and go without a trace, and narrow as a dense inverse does."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.core.pending import Pending
from infex.errors import StalePosterior
from infex.models.layout import DesignRows
from infex.models.pending import MOST_CHANGES, PendingBatch, PendingSums
from infex.models.posterior import Posterior
from infex.models.ridge import RidgeModel
from infex.models.state import ModelState

EXAMPLES = 60


class Row(NamedTuple):
    t: int
    explored: bool = True
    estimate: float = 0.0


def unit(rng: np.random.Generator, count: int, dim: int) -> Any:
    rows = rng.standard_normal((count, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.random((count, 1)) ** 0.2


def on_rows(sums: PendingSums, rows: Any, weights: Any, times: int = 1) -> None:
    sums.add(DesignRows.on_rows(rows), weights, times)


@given(seed=st.integers(0, 9999), dim=st.integers(1, 6), count=st.integers(0, 40))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_is_narrowed_does_not_depend_on_the_way_there(seed: int, dim: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    columns = np.ascontiguousarray(unit(rng, 3, dim).T)
    rows, weights, places = unit(rng, count, dim), rng.random(count), rng.integers(3, size=count)
    stay = rng.random(count) < 0.5
    around, straight = PendingSums(columns), PendingSums(columns)
    for place in rng.permutation(count):
        on_rows(around, rows[place : place + 1], weights[place : place + 1])
        around.add(DesignRows.on_arms(places[place : place + 1]), np.ones(1), 1)
    for place in rng.permutation(np.flatnonzero(~stay)):
        on_rows(around, rows[place : place + 1], weights[place : place + 1], -1)
        around.add(DesignRows.on_arms(places[place : place + 1]), np.ones(1), -1)
    on_rows(straight, rows[stay], weights[stay])
    straight.add(DesignRows.on_arms(places[stay]), np.ones(int(stay.sum())), 1)
    known = RidgeModel(columns).posterior()
    for sums, like in (
        (around, straight),
        (around.copy(), straight),
        (around.rearranged(columns, np.arange(3)), straight),
    ):
        np.testing.assert_array_equal(sums.narrowed(known).factor, like.narrowed(known).factor)


@given(seed=st.integers(0, 9999), dim=st.integers(1, 4), times=st.integers(1, 10**8))
@settings(max_examples=EXAMPLES, deadline=None)
def test_sums_are_those_of_fractions(seed: int, dim: int, times: int) -> None:
    rng = np.random.default_rng(seed)
    (x,) = unit(rng, 1, dim)
    pending = Pending(dim)
    pending.add_rows([x], [1.0], times)
    sums = pending.whole_numbers()
    for i in range(dim):
        for j in range(i + 1):
            found = Fraction(int(sums[0, i, j]), 2**34) + Fraction(int(sums[1, i, j]), 2**68)
            assert abs(found - times * Fraction(x[i]) * Fraction(x[j])) <= Fraction(times, 2**69) * 2


@given(
    seed=st.integers(0, 9999),
    dim=st.integers(1, 6),
    arms=st.integers(1, 9),
    told=st.integers(0, 60),
    waiting=st.integers(1, 60),
    penalty=st.sampled_from([1e-3, 1.0, 30.0]),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_is_narrowed_is_v_with_the_pending_x_in_it(
    seed: int, dim: int, arms: int, told: int, waiting: int, penalty: float
) -> None:
    rng = np.random.default_rng(seed)
    columns = np.ascontiguousarray(unit(rng, arms, dim).T)
    ridge = RidgeModel(columns, penalty)
    gram = penalty * np.eye(dim)
    for arm in np.sort(rng.integers(arms, size=told)):  # which makes runs
        ridge.update(int(arm), float(rng.standard_normal()))
        gram += np.outer(columns[:, arm], columns[:, arm])
    sums = PendingSums(columns)
    for arm in rng.integers(arms, size=waiting):
        sums.add(DesignRows.on_arms(np.array([arm])), np.ones(1), 1)
        gram += np.outer(columns[:, arm], columns[:, arm])
    known = ridge.posterior()
    narrowed = sums.narrowed(known)
    inverse = np.linalg.inv(gram)
    np.testing.assert_array_equal(narrowed.estimates, known.estimates)
    np.testing.assert_array_equal(narrowed.theta, known.theta)
    assert narrowed.greedy == known.greedy
    np.testing.assert_allclose(
        narrowed.widths, np.sqrt(np.einsum("ik,ij,jk->k", columns, inverse, columns)), rtol=1e-8
    )
    np.testing.assert_allclose(narrowed.factor.T @ narrowed.factor, inverse, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(np.triu(narrowed.factor, 1), 0.0)
    assert narrowed.log_det_ratio == known.log_det_ratio  # and with it the radius: they speak of rewards
    np.testing.assert_allclose(
        narrowed.upper(0.7), np.array(known.estimates) + 0.7 * narrowed.widths, rtol=1e-12, atol=1e-12
    )
    direction = rng.standard_normal(dim)
    sampled = columns.T @ (np.array(known.theta) + 1.3 * narrowed.factor.T @ direction)
    np.testing.assert_allclose(narrowed.perturbed(1.3, direction), sampled, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(Posterior(narrowed).moments.gram, Posterior(known).moments.gram)


@pytest.mark.parametrize("penalty", [1e-10, 1e-6])
def test_nothing_is_wider_with_what_is_pending_however_small_the_penalty(penalty: float) -> None:
    rng = np.random.default_rng(3)
    columns = np.ascontiguousarray(unit(rng, 5, 4).T)
    ridge, sums = RidgeModel(columns, penalty), PendingSums(columns)
    before = np.array(ridge.posterior().widths)
    for arm in range(3):
        sums.add(DesignRows.on_arms(np.array([arm])), np.ones(1), 10**6)
        after = np.array(sums.narrowed(ridge.posterior()).widths)
        assert np.isfinite(after).all()
        assert (after <= before * (1 + 1e-9)).all()
        assert after[arm] < 2e-3
        before = after


def remembered(apart: bool = False) -> ModelState:
    memory = ModelState.empty(np.eye(3), 1.0, apart)
    memory.track_pending()
    return memory


def test_a_copy_stays_as_it_is_while_decisions_come_and_go() -> None:
    memory = remembered(apart=True)
    assert memory.pending_design is not None
    memory.pending_design.add(Row(1), 0)
    live = memory.posterior()
    seen = live.copy()
    for t in range(2, 9):
        memory.pending_design.add(Row(t), t % 3)
        memory.posterior()
    memory.pending_design.remove(Row(1), 0)
    memory.posterior()
    np.testing.assert_allclose(seen.narrowed.widths, np.sqrt([0.5, 1.0, 1.0]))
    np.testing.assert_allclose(seen.explored.narrowed.widths, np.sqrt([0.5, 1.0, 1.0]))
    np.testing.assert_allclose(seen.narrowed.on(np.eye(3)[:, :2]).widths, np.sqrt([0.5, 1.0]))
    np.testing.assert_allclose(memory.posterior().narrowed.widths, np.sqrt([1 / 3, 1 / 3, 1 / 4]))
    np.testing.assert_allclose(live.widths, np.ones(3))
    for stale in (live.narrowed, live.explored.narrowed):
        with pytest.raises(StalePosterior, match="decisions were made or told"):
            _ = stale.widths


def test_what_narrows_narrows_once() -> None:
    memory = remembered()
    assert memory.pending_design is not None
    nothing = memory.posterior()
    assert nothing.narrowed is nothing
    memory.pending_design.add(Row(1), 0)
    seen = memory.posterior().narrowed
    assert seen.narrowed is seen
    some, _ = seen.among(np.array([True, True, False]))
    np.testing.assert_allclose(some.widths, np.sqrt([0.5, 1.0]))
    np.testing.assert_allclose(seen.on(np.eye(3)[:, :1]).widths, np.sqrt([0.5]))
    np.testing.assert_allclose(seen.with_policy_state("x").widths, np.sqrt([0.5, 1.0, 1.0]))
    assert isinstance(seen, Posterior)


def test_decisions_that_go_in_another_order_leave_nothing_behind() -> None:
    memory = remembered()
    assert memory.pending_design is not None
    x = np.array([0.6, 0.8, 0.0])
    for t in range(0, 4 * MOST_CHANGES, 3):
        for pending in (Row(t), 0), (Row(t + 1), 1), (Row(t + 2), x):
            memory.pending_design.add(*pending)
        assert memory.pending_design.count == 3
        memory.pending_design.remove(Row(t), 0)
        memory.pending_design.remove(Row(t + 2), x)
        memory.pending_design.remove(Row(t + 1), 1)
    assert memory.pending_design.count == 0
    assert memory.posterior().narrowed is not None
    np.testing.assert_array_equal(memory.posterior().narrowed.widths, np.ones(3))


def test_decisions_that_nobody_looks_at_do_not_pile_up() -> None:
    memory = remembered(apart=True)
    batch = PendingBatch(DesignRows.on_arms(np.array([0, 1, 1])), np.array([False, True, False]), np.zeros(3))
    memory.track_pending(batch)
    pending = memory.pending_design
    assert pending is not None
    assert pending.count == 3
    np.testing.assert_allclose(memory.posterior().narrowed.widths, np.sqrt([1 / 2, 1 / 3, 1.0]))
    np.testing.assert_allclose(memory.posterior().explored.narrowed.widths, np.sqrt([1.0, 1 / 2, 1.0]))
    for t in range(3 * MOST_CHANGES):
        pending.add(Row(t), 2)
    for t in range(3 * MOST_CHANGES):
        pending.remove(Row(t), 2)
    for explored, arm in (False, 0), (True, 1), (False, 1):
        pending.remove(Row(-1, explored), arm)
    assert pending.count == 0
    nothing = memory.posterior()
    assert nothing.narrowed is nothing
