"""Arms and walks that problems draw, against NumPy with the same generator."""

from collections.abc import Callable

import numpy as np
import pytest

from infex.core import drawing


@pytest.mark.parametrize(
    ("rounds", "dim", "columns", "count"), [(7, 3, 6, 4), (2, 1, 1, 1), (0, 2, 3, 3), (3, 40, 9, 9)]
)
def test_arms_are_normal_and_at_most_of_length_one(rounds: int, dim: int, columns: int, count: int) -> None:
    block = np.full((rounds, dim, columns), 5.0)
    drawing.draw_arms(block, count, np.random.default_rng(3))
    drawn = np.random.default_rng(3).normal(size=(rounds, dim, count)) * np.sqrt(1.0 / (2 * dim))
    lengths = np.sqrt((drawn**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(block[:, :, :count], drawn / np.maximum(lengths, 1.0), rtol=1e-14)
    assert (block[:, :, count:] == 5.0).all()


def test_arms_are_moved_below_a_limit() -> None:
    rng = np.random.default_rng(4)
    block, theta = rng.normal(size=(6, 3, 5)), rng.normal(size=3)
    before = block.copy()
    drawing.shift_arms(block, 4, theta, 0.2)
    means = np.einsum("tik,i->tk", before[:, :, :4], theta)
    np.testing.assert_allclose(
        np.einsum("tik,i->tk", block[:, :, :4], theta), np.minimum(means, 0.2), atol=1e-13
    )
    across = np.linalg.svd(theta[None])[2][1:]  # along which nothing moves
    np.testing.assert_allclose(across @ block, across @ before, atol=1e-13)
    np.testing.assert_array_equal(block[:, :, 4:], before[:, :, 4:])


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 30])
def test_a_walk_stays_on_its_sphere(started: bool, rows: int) -> None:
    theta, rng = np.array([0.6, 0.0, -0.8]), np.random.default_rng(5)
    found = drawing.random_walk(theta, 1.0, 0.3, rows, started, np.random.default_rng(5))
    here = theta
    for row, each in enumerate(found):
        if row or started:
            here = here + 0.3 * rng.standard_normal(3) / np.sqrt(3)
            here = here / np.linalg.norm(here)
        np.testing.assert_allclose(each, here, rtol=1e-12)
    assert found.shape == (rows, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda rng: drawing.draw_arms(np.zeros((1, 2, 3)), 4, rng),
        lambda rng: drawing.draw_arms(np.zeros((1, 2, 3)), -1, rng),
        lambda rng: drawing.draw_arms(np.zeros((1, 0, 3)), 3, rng),
        lambda rng: drawing.draw_arms(np.zeros((1, 2, 3)).T, 1, rng),
        lambda rng: drawing.shift_arms(np.zeros((1, 2, 3)), 3, np.zeros(3), 0.1),
        lambda rng: drawing.shift_arms(np.zeros((1, 2, 3)), 3, np.zeros(2), 0.1),
        lambda rng: drawing.random_walk(np.zeros(2), 1.0, 0.1, -1, False, rng),
    ],
)
def test_arrays_of_other_shapes_are_refused(call: Callable[[np.random.Generator], object]) -> None:
    with pytest.raises(ValueError, match=r"must|cannot|contiguous"):
        call(np.random.default_rng(0))
