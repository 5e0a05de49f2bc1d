"""Student's quantiles against SciPy's."""

import math

import pytest
from scipy import stats

from infex._stats import student_quantile

FREEDOMS = [0.3, 0.9, 1.0, 1.5, 2.0, 3.7, 10.0, 29.5, 100.0, 1999.0, 2001.0, 12_345.6, 1e6, 1e9]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1e-3])
@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_are_those_of_scipy(level: float, freedom: float) -> None:
    expected = stats.t.isf((1.0 - level) / 2, freedom)
    assert student_quantile(level, freedom) == pytest.approx(expected, rel=1e-10)


def test_without_freedom_nothing_is_known_and_with_much_it_is_normal() -> None:
    assert student_quantile(0.95, 0.0) == student_quantile(0.95, -1.0) == math.inf
    assert student_quantile(0.95, math.inf) == pytest.approx(stats.norm.isf(0.025), rel=1e-9)
