"""Quantiles, tests and slopes, against SciPy and against all that can happen, counted one by one."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from infex._stats import holm, paired_test, quantile_intervals, slope
from infex.errors import InfexError


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("size", [12, 13, 20, 36, 100])
def test_the_interval_of_a_quantile_is_scipys(size: int, share: float) -> None:
    sample = np.random.default_rng(size).exponential(size=size)
    found = quantile_intervals(sample[None], share).ravel()
    test = scipy.stats.quantile_test(sample, p=share)
    low = scipy.stats.quantile_test(sample, p=share, alternative="greater").confidence_interval(0.975).low
    high = scipy.stats.quantile_test(sample, p=share, alternative="less").confidence_interval(0.975).high
    np.testing.assert_array_equal(found[1:], [low, high])
    assert found[0] == np.quantile(sample, share)
    assert 0 <= test.pvalue <= 1


def test_quantiles_of_few_runs_have_no_interval() -> None:
    for size in (0, 1, 11):
        found = quantile_intervals(np.arange(float(size))[None], 0.5)
        assert np.isnan(found[1:]).all()
        assert np.isnan(found[0]).all() == (size == 0)
    low, high = quantile_intervals(np.arange(20.0)[None], 0.9)[1:, 0]
    assert low == 14
    assert math.isnan(high)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_the_interval_of_a_quantile_holds_it_at_least_as_often_as_it_says(share: float) -> None:
    rows = np.random.default_rng(2).exponential(size=(4000, 20))
    _, low, high = quantile_intervals(rows, share)
    held = (low <= -math.log(1 - share)) & (-math.log(1 - share) <= high)
    assert 0.945 <= held.mean() <= 0.985


def slow_wilcoxon(gaps: Any) -> float:
    """The p-value by going through all signs: ranks of sizes, ties sharing theirs."""
    gaps = gaps[gaps != 0]
    sizes = np.abs(gaps)
    ranks = np.array([np.mean(np.flatnonzero(np.sort(sizes) == size)) + 1 for size in sizes])
    middle = ranks.sum() / 2
    seen = abs(ranks[gaps > 0].sum() - middle)
    sums = [np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=gaps.size)]
    return float(np.mean(np.abs(np.array(sums) - middle) >= seen - 1e-9))


@pytest.mark.parametrize("seed", range(12))
def test_wilcoxons_p_value_is_that_of_all_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 13))
    gaps = rng.normal(0.5, 1.0, size) if seed % 2 else rng.integers(-2, 4, size).astype(float)
    found = paired_test(gaps, np.zeros(size))
    assert found.p == pytest.approx(slow_wilcoxon(gaps) if np.any(gaps) else 1.0, abs=1e-12)
    assert (found.differing, found.below) == (np.count_nonzero(gaps), np.count_nonzero(gaps < 0))


@given(st.lists(st.integers(-3, 3), max_size=30))
def test_the_sign_tests_p_value_is_that_of_all_coins(gaps: list[int]) -> None:
    lower, higher = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    n = lower + higher
    tail = sum(math.comb(n, k) for k in range(min(lower, higher) + 1)) / 2**n
    found = paired_test(np.array(gaps, float), np.zeros(len(gaps)), "sign")
    assert found.p == pytest.approx(min(1.0, 2 * tail))


def test_pairs_that_never_differ_say_nothing() -> None:
    for pairs in (0, 1, 30):
        for test in ("wilcoxon", "sign"):
            assert paired_test(np.ones(pairs), np.ones(pairs), test) == (0, 0, 1.0)
    with pytest.raises(InfexError, match="test must be 'wilcoxon' or 'sign', got 't'"):
        paired_test(np.ones(3), np.zeros(3), "t")


def closed(p: list[float]) -> list[float]:
    """Holm's correction from its principle: a test counts if every set with it does, by Bonferroni."""
    places = range(len(p))
    return [
        max(
            min(1.0, len(some) * min(p[each] for each in some))
            for size in range(1, len(p) + 1)
            for some in itertools.combinations(places, size)
            if place in some
        )
        for place in places
    ]


@given(st.lists(st.floats(0, 1), max_size=7))
def test_holms_correction_is_that_of_closed_testing(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), closed(p), rtol=1e-12)


def test_a_nan_is_no_test() -> None:
    found = holm([0.02, math.nan, 0.5])
    assert found[[0, 2]].tolist() == [0.04, 0.5]
    assert math.isnan(found[1])


def curves(rng: np.random.Generator, runs: int, t: Any, share: float) -> Any:
    """Regret of runs that grow like a square root, some of them like a line."""
    linear = rng.random(runs) < share
    sizes = rng.lognormal(sigma=0.5, size=(runs, 1))
    return sizes * np.where(linear[:, None], 0.05 * t, np.sqrt(t))


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_interval_of_a_slope_holds_it_about_as_often_as_it_says(share: float) -> None:
    t = np.geomspace(1000, 10_000, 12)
    true = np.polyfit(np.log(t), np.log((1 - share) * np.sqrt(t) + share * 0.05 * t), 1)[0]
    rng = np.random.default_rng(3)
    held = []
    for _ in range(200):
        noisy = curves(rng, 20, t, share) * rng.uniform(0.8, 1.2, (20, t.size))
        found = slope(t, noisy)
        assert found.value == pytest.approx(np.polyfit(np.log(t), np.log(noisy.mean(axis=0)), 1)[0])
        held.append(found.low <= true <= found.high)
    assert 0.88 <= np.mean(held) <= 0.99


def test_the_interval_of_a_slope_is_scipys_bootstrap() -> None:
    t = np.geomspace(100, 10_000, 9)
    runs = curves(np.random.default_rng(5), 30, t, 0.3)

    def statistic(places: Any) -> Any:
        return np.polyfit(np.log(t), np.log(runs[places].mean(axis=0)), 1)[0]

    slow = scipy.stats.bootstrap(
        (np.arange(30),), statistic, vectorized=False, n_resamples=4000, method="BCa", rng=1
    ).confidence_interval
    found = slope(t, runs)
    assert [found.low, found.high] == pytest.approx([slow.low, slow.high], abs=0.02)


def test_slopes_of_few_runs_or_without_regret_have_no_interval() -> None:
    t = np.array([10.0, 100.0, 1000.0])
    few = slope(t, np.sqrt(t) * np.ones((11, 1)))
    assert few.value == pytest.approx(0.5)
    assert math.isnan(few.low)
    assert str(few) == "0.5 (too few)"
    assert tuple(slope(t, np.sqrt(t) * np.ones((12, 1)))) == pytest.approx((0.5, 0.5, 0.5))
    assert math.isnan(slope(t, np.zeros((12, 3))).value)
    assert math.isnan(slope(t, np.zeros((0, 3))).value)
    one = np.zeros((12, 3))
    one[0] = t
    assert slope(t, one).value == pytest.approx(1.0)
    assert math.isnan(slope(t, one).low), "most draws leave out the only run with regret"
    with pytest.raises(InfexError, match="at least two rounds, got 1"):
        slope(t[:1], np.ones((12, 1)))
