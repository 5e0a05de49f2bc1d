"""The smallest eigenvalue where numbers beside the diagonal are next to nothing."""

import numpy as np
import pytest

from infex.kernels.eigenvalues import least_eigenvalue


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("beside", [0.0, 5e-324, 1e-310, 1e-160, 0.1])
def test_numbers_beside_the_diagonal_may_be_next_to_nothing(scale: float, beside: float) -> None:
    matrix = scale * np.array([[2.0, beside, 0.3], [beside, 1.0, beside], [0.3, beside, 2.0]])
    least, trace = least_eigenvalue(matrix)
    assert least == pytest.approx(float(np.linalg.eigvalsh(matrix)[0]), rel=1e-12)
    assert trace == pytest.approx(5.0 * scale, rel=1e-14)
