import math

import numpy as np
import pytest

from infex.experiments.statistics import paired, spread


def test_a_spread_is_that_of_the_sample() -> None:
    values = np.random.default_rng(1).normal(size=31)
    found = spread(values)
    mean = sum(values) / 31
    assert found.runs == 31
    assert found.mean == pytest.approx(mean)
    assert found.std == pytest.approx(math.sqrt(sum((value - mean) ** 2 for value in values) / 30))
    assert found.median == sorted(values)[15]
    assert math.isnan(spread(np.array([1.0])).std)


def test_a_paired_difference_is_one_minus_other() -> None:
    found = paired(np.array([1.0, 5.0, 2.0]), np.array([2.0, 3.0, 4.0]))
    assert found.pairs == 3
    assert found.mean == pytest.approx(-1 / 3)
    assert found.below == 2
    assert found.low < found.mean < found.high
    assert not found.settled
    assert paired(np.arange(9.0), np.arange(9.0) + 5).settled


def test_one_pair_has_no_interval() -> None:
    found = paired(np.array([1.0]), np.array([3.0]))
    assert found.mean == -2
    assert math.isnan(found.low)


def test_the_interval_holds_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    held = [
        found.low <= 1.0 <= found.high
        for found in (paired(rng.exponential(size=60), np.zeros(60)) for _ in range(200))
    ]
    assert 0.87 < np.mean(held) < 0.99
