"""What the bases of the core compute, against NumPy."""

import numpy as np
import pytest

from infex.core.choosing import smallest_eigenvalue


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("beside", [0.0, 5e-324, 1e-310, 1e-160, 0.1])
def test_numbers_beside_the_diagonal_may_be_next_to_nothing(scale: float, beside: float) -> None:
    matrix = scale * np.array([[2.0, beside, 0.3], [beside, 1.0, beside], [0.3, beside, 2.0]])
    least, trace = smallest_eigenvalue(matrix)
    assert least == pytest.approx(float(np.linalg.eigvalsh(matrix)[0]), rel=1e-12)
    assert trace == pytest.approx(5.0 * scale, rel=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_the_smallest_eigenvalue_reads_the_lower_triangle(dim: int) -> None:
    x = np.random.default_rng(dim).normal(size=(20, dim))
    least, trace = smallest_eigenvalue(np.tril(x.T @ x))
    assert least == pytest.approx(float(np.linalg.eigvalsh(x.T @ x)[0]), rel=1e-12)
    assert trace == pytest.approx(np.trace(x.T @ x), rel=1e-14)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((2, 3)), np.zeros((0, 0)), np.array([[np.nan]])])
def test_no_eigenvalue_of_what_is_no_matrix(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="gram must be"):
        smallest_eigenvalue(bad)
