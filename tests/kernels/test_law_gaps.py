"""Laws of a log, against what NumPy says of whole arrays."""

import math

import numpy as np
import pytest

from infex.kernels import law_gaps


def test_each_law_has_its_first_fault() -> None:
    nan, inf = math.nan, math.inf
    laws = np.array(
        [
            [0.5, 0.5, 0.0],
            [nan, nan, nan],
            [0.5, nan, 0.5],
            [1.5, -0.5, 0.0],
            [inf, -inf, 1.0],  # adds up to no number
            [2.0, nan, -1.0],
            [0.5, 0.4, 0.0],
            [0.5, 0.5 + 1e-12, 0.0],
        ]
    )
    faults = np.empty(len(laws), dtype=np.int64)
    with np.errstate(invalid="ignore"):
        law_gaps.find_law_faults(laws, 1e-9, faults)
    sound, unknown, outside, apart = range(4)
    assert faults.tolist() == [sound, unknown, unknown, outside, outside, unknown, apart, sound]


def test_gaps_are_chances_of_arms_without_a_law() -> None:
    rng = np.random.default_rng(5)
    chances = rng.dirichlet(np.ones(4), size=50)
    laws = np.where(rng.random((50, 4)) < 0.3, 0.0, rng.random((50, 4)))
    laws[::7] = np.nan
    missing, by_arm = np.empty(50), np.ones(4)
    most = law_gaps.find_gaps(chances, laws, missing, by_arm)
    known = ~np.isnan(laws).any(axis=1)
    gone = np.where(laws[known] == 0.0, chances[known], 0.0)
    assert missing[known] == pytest.approx(gone.sum(axis=1))
    assert np.isnan(missing[~known]).all()
    assert by_arm == pytest.approx(1.0 + gone.sum(axis=0))
    there = laws > 0.0
    assert most == pytest.approx((chances[there] / laws[there]).max())
