"""Loops over the rounds and arms of a log, against NumPy and loops in Python."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from infex.core import evaluation
from infex.core.evaluation import LawFault

SHAPES = [(0, 1, 1), (1, 1, 3), (20, 3, 2), (33, 17, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_features_of_rounds(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    offers, chances = rng.normal(size=shape), rng.dirichlet(np.ones(shape[1]), size=shape[0])
    chances[::3] = np.eye(shape[1])[0]
    found = evaluation.mean_features(offers, chances)
    assert found == pytest.approx(np.einsum("nk,nkd->nd", chances, offers), abs=1e-14)
    turned = evaluation.mean_features(np.asfortranarray(offers), np.asfortranarray(chances))
    np.testing.assert_array_equal(turned, found)


def test_rows_are_added_to_their_blocks() -> None:
    rng = np.random.default_rng(1)
    values, block, sums = rng.normal(size=(20, 2)), np.repeat([0, -1, 1, 2], 5), np.ones((3, 2))
    evaluation.add_to_blocks(values, block, sums)
    expected = [values[:5].sum(0), values[10:15].sum(0), values[15:].sum(0)]
    assert sums == pytest.approx(1.0 + np.array(expected), abs=1e-13)
    before = sums.copy()
    evaluation.add_to_blocks(np.zeros((0, 2)), np.zeros(0, dtype=np.int64), sums)
    np.testing.assert_array_equal(sums, before)


def test_best_arms_of_rows() -> None:
    nan, inf = math.nan, math.inf
    scores = np.array(
        [[0.1, 0.3, 0.3 + 1e-15], [2.0, 1.0, -inf], [nan, nan, nan], [nan, 1.0, 2.0], [1.0, nan, 0.5]]
    )
    assert evaluation.best_in_rows(scores).tolist() == [1, 0, -1, 2, 0]
    many = np.random.default_rng(2).normal(size=(50, 37))
    np.testing.assert_array_equal(evaluation.best_in_rows(many), many.argmax(axis=1))
    assert evaluation.best_in_rows(np.zeros((0, 3))).size == 0


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
    sound, unknown, outside, apart = LawFault
    found = evaluation.law_faults(laws, 1e-9)
    assert found.tolist() == [sound, unknown, unknown, outside, outside, unknown, apart, sound]


def test_gaps_are_chances_of_arms_without_a_law() -> None:
    rng = np.random.default_rng(5)
    chances = rng.dirichlet(np.ones(4), size=50)
    laws = np.where(rng.random((50, 4)) < 0.3, 0.0, rng.random((50, 4)))
    laws[::7] = np.nan
    by_arm = np.ones(4)
    most, missing = evaluation.law_gaps(chances, laws, by_arm)
    known = ~np.isnan(laws).any(axis=1)
    gone = np.where(laws[known] == 0.0, chances[known], 0.0)
    assert missing[known] == pytest.approx(gone.sum(axis=1))
    assert np.isnan(missing[~known]).all()
    assert by_arm == pytest.approx(1.0 + gone.sum(axis=0))
    there = laws > 0.0
    assert most == pytest.approx((chances[there] / laws[there]).max())


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluation.mean_features(np.zeros((2, 3)), np.zeros((2, 3))),
        lambda: evaluation.mean_features(np.zeros((2, 3, 1)), np.zeros((3, 3))),
        lambda: evaluation.mean_features(np.zeros((2, 3, 1)), np.zeros((2, 2))),
        lambda: evaluation.add_to_blocks(np.zeros((2, 3)), [0, 0], np.zeros((1, 2))),
        lambda: evaluation.add_to_blocks(np.zeros((2, 3)), [0], np.zeros((1, 3))),
        lambda: evaluation.add_to_blocks(np.zeros((2, 3)), [0, 1], np.zeros((1, 3))),
        lambda: evaluation.add_to_blocks(np.zeros((2, 3)), [0, -2], np.zeros((1, 3))),
        lambda: evaluation.best_in_rows(np.zeros(3)),
        lambda: evaluation.best_in_rows(np.zeros((3, 0))),
        lambda: evaluation.law_faults(np.zeros(3), 0.1),
        lambda: evaluation.law_gaps(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(2)),
        lambda: evaluation.law_gaps(np.zeros((1, 3)), np.zeros((2, 3)), np.zeros(3)),
    ],
)
def test_arrays_of_other_shapes_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises((ValueError, IndexError), match="must"):
        call()
