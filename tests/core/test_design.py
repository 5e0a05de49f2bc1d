"""Optimal designs and arms that span all others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.arrays import Floats
from infex.core.design import optimal_shares, spanning_arms
from infex.testing.reference import slow_spanning

KINDS = ["normal", "low rank", "doubled", "some zero", "long and short", "steep"]


def board(kind: str, arms: int, dim: int, rng: np.random.Generator) -> Floats:
    """Arms, (K, d), some of which have no one shape: few, in few directions, equal, 0, or of many lengths."""
    rows: Floats = rng.normal(size=(arms, dim))
    if kind == "low rank":
        rank = int(rng.integers(1, dim + 1))
        rows = rows[:, :rank] @ rng.normal(size=(rank, dim))
    elif kind == "doubled":
        rows = np.concatenate([rows, rows, rows[:1]])
    elif kind == "some zero":
        rows[rng.random(arms) < 0.5] = 0.0
    elif kind == "long and short":
        rows *= np.exp(-8 * rng.random(arms))[:, None]
    elif kind == "steep":
        rows = rows * 10.0 ** (-6 * rng.random(dim)) @ np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    return rows


def widest(rows: Floats, shares: Floats) -> tuple[float, int]:
    """The largest x'V^-1 x in the space of the arms, by their singular vectors; and their rank."""
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    rank = int(np.sum(values > 1e-9 * values[0]))
    points = left[:, :rank]
    gram = (points.T * shares) @ points
    return float(np.max(np.sum(points.T * np.linalg.solve(gram, points.T), axis=0))), rank


@given(
    kind=st.sampled_from(KINDS), arms=st.integers(1, 40), dim=st.integers(1, 9), seed=st.integers(0, 10**6),
    tolerance=st.sampled_from([1.0, 0.01, 1e-4]), unit=st.sampled_from([1.0, 1e-200, 1e200]),
    shrinks=st.booleans(),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_the_largest_width_of_a_design_is_nearly_the_rank(
    kind: str, arms: int, dim: int, seed: int, tolerance: float, unit: float, shrinks: bool
) -> None:
    """It cannot be less (Kiefer and Wolfowitz, 1960), so that a design is checked by its widths alone."""
    rng = np.random.default_rng(seed)
    rows = board(kind, arms, dim, rng)
    factors = np.exp(-3 * rng.random(len(rows))) if shrinks else None
    shares = optimal_shares(unit * rows.T, factors, tolerance)
    assert shares.sum() == pytest.approx(1.0)
    assert np.all(shares >= 0.0)
    if not rows.any():
        np.testing.assert_allclose(shares, 1 / len(rows))
        return
    largest, rank = widest(rows if factors is None else rows * factors[:, None], shares)
    assert rank * (1 - 1e-6) <= largest <= rank * (1 + tolerance) * (1 + 1e-6)


@given(
    kind=st.sampled_from(KINDS), arms=st.integers(1, 20), dim=st.integers(1, 6), seed=st.integers(0, 10**6)
)
@settings(max_examples=200, deadline=None)
def test_spanning_arms_are_each_the_farthest_from_the_span_of_those_before(
    kind: str, arms: int, dim: int, seed: int
) -> None:
    rows = board(kind, arms, dim, np.random.default_rng(seed))
    expected = slow_spanning(rows) if rows.any() else []
    assert spanning_arms(rows.T).tolist() == expected


def test_a_design_refuses_what_it_cannot_divide_or_multiply() -> None:
    with pytest.raises(ValueError, match="there must be 2 factors from 0 to 1, got 3"):
        optimal_shares(np.eye(2), np.ones(3), 0.1)
    with pytest.raises(ValueError, match="there must be 2 factors from 0 to 1, got 2"):
        optimal_shares(np.eye(2), np.array([1.0, np.nan]), 0.1)
    with pytest.raises(ValueError, match="tolerance must be above 0, got 0"):
        optimal_shares(np.eye(2), None, 0.0)
    for columns in (np.zeros((2, 0)), np.zeros((0, 2)), np.array([[np.inf]])):
        with pytest.raises(ValueError, match="columns must be finite numbers"):
            spanning_arms(columns)
