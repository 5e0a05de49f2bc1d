import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex._stats import (
    INTERVAL_ENDS,
    mean_intervals,
    paired,
    product_of_means,
    quantile,
    ratio,
    spread,
)
from infex.streams import stream


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
    assert not found.settled
    more = paired(np.arange(12.0), np.arange(12.0) ** 1.1)
    assert more.low < more.mean < more.high
    assert paired(np.arange(12.0), np.arange(12.0) + 5) == (12, -5, -5, -5, 12)
    assert paired(np.arange(12.0), np.arange(12.0) + 5).settled


@pytest.mark.parametrize("pairs", [1, 11, 12, 40])
def test_pairs_that_are_equal_are_not_below(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    one, other = rng.integers(3, size=(2, pairs)).astype(float)
    assert paired(one, other).below == sum(a < b for a, b in zip(one, other, strict=True))
    assert paired(one, one).below == 0


@pytest.mark.parametrize("pairs", [0, 1, 6, 11])
def test_few_pairs_have_no_interval(pairs: int) -> None:
    found = paired(np.full(pairs, 1.0), np.full(pairs, 3.0))
    assert (found.pairs, found.below) == (pairs, pairs)
    assert math.isnan(found.mean) if pairs == 0 else found.mean == -2
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert not found.settled
    assert f"(too few) of {pairs} pairs" in str(found)


def test_an_interval_turns_with_its_sign() -> None:
    values = np.random.default_rng(3).exponential(size=25)
    found, turned = paired(values, np.zeros(25)), paired(np.zeros(25), values)
    assert (turned.mean, turned.below) == (-found.mean, 25)
    assert [turned.low, turned.high] == pytest.approx([-found.high, -found.low], rel=0.02)


def test_an_interval_never_leaves_what_was_seen() -> None:
    """The least and the greatest difference can be had, and so can every mean between them."""
    reviewed = np.array([87.0, -677, -1196, 78, 66, 68])  # printed as -262 [-22,634, +115] before
    assert str(paired(reviewed, np.zeros(6))) == "-262.3 (too few) of 6 pairs"
    found = paired(np.tile(reviewed, 2), np.zeros(12))
    assert -1196 <= found.low < found.mean < found.high <= 87
    rng = np.random.default_rng(4)
    for size in (12, 13, 20, 40):
        for sample in rng.lognormal(sigma=3.0, size=(100, size)) * rng.choice([-1, 1], size=(100, 1)):
            found = paired(sample, np.zeros(size))
            assert sample.min() <= found.low <= found.mean <= found.high <= sample.max()
    alone = paired(np.array([0.0] * 11 + [1.0]), np.zeros(12))  # its upper bound was infinite
    assert (alone.low, alone.high) == (0, 1)
    assert not alone.settled


@pytest.mark.parametrize("law", ["normal", "exponential", "greedy"])
def test_cutting_an_interval_costs_twelve_pairs_no_coverage(law: str) -> None:
    draw, mean = LAWS[law]
    rng = np.random.default_rng(9)
    samples = [draw(rng)[:12] for _ in range(1000)]
    found = mean_intervals(samples)
    assert 0.925 <= np.mean([each.low <= mean <= each.high for each in found]) <= 0.99
    assert (
        np.mean([sample.min() <= mean <= sample.max() for sample in samples]) >= 0.965
    )  # else none can hold it


def test_many_pairs_are_drawn_in_blocks() -> None:
    import tracemalloc

    values = np.random.default_rng(3).normal(size=2_000)
    tracemalloc.start()
    try:
        found = paired(values, np.zeros(2_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6
    assert found.high - found.low == pytest.approx(4 * values.std() / math.sqrt(2_000), rel=0.1)


def test_intervals_of_many_means_are_those_of_each() -> None:
    rng = np.random.default_rng(6)
    samples = [rng.exponential(size=n) for n in (12, 5, 30, 12, 0, 12)] + [np.ones(12)]
    found = mean_intervals(samples)
    for sample, interval in zip(samples, found, strict=True):
        each = paired(sample, np.zeros(sample.size))
        np.testing.assert_allclose(interval, (each.mean, each.low, each.high), rtol=1e-12)
    assert found[-1] == (1.0, 1.0, 1.0)


def test_the_interval_of_a_mean_is_that_of_draws_taken_one_by_one() -> None:
    """Against a slow obvious bootstrap-t on the same draws."""
    sample = np.random.default_rng(7).exponential(size=13)
    rng, n = stream(0, "bootstrap", 13), sample.size
    mean, error = sample.mean(), sample.std(ddof=1) / math.sqrt(n)
    ratios = []
    for places in rng.integers(0, n, (10_000, n)):
        drawn = sample[places]
        ratios.append((drawn.mean() - mean) / (drawn.std(ddof=1) / math.sqrt(n)))
    ratios.sort()
    found = paired(sample, np.zeros(n))
    assert mean - ratios[9751] * error <= found.low <= mean - ratios[9748] * error
    assert mean - ratios[251] * error <= found.high <= mean - ratios[248] * error


def mixture(rng: np.random.Generator) -> Any:
    """A difference to greedy's regret: most runs near nil, a few linear."""
    linear = rng.random(20) < 0.3
    return 350 + 120 * rng.standard_normal(20) - np.where(linear, rng.uniform(500, 4000, 20), 60)


LAWS: dict[str, tuple[Callable[[np.random.Generator], Any], float]] = {
    "normal": (lambda rng: rng.normal(size=20), 0.0),
    "exponential": (lambda rng: rng.exponential(size=20), 1.0),
    "greedy": (mixture, 350 - 0.3 * 2250 - 0.7 * 60),
}


@pytest.mark.parametrize("law", LAWS)
def test_twenty_pairs_hold_the_mean_as_often_as_they_say(law: str) -> None:
    draw, mean = LAWS[law]
    rng = np.random.default_rng(8)
    found = [paired(draw(rng), np.zeros(20)) for _ in range(500)]
    assert 0.925 <= np.mean([each.low <= mean <= each.high for each in found]) <= 0.985


def test_the_interval_holds_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    held = [
        found.low <= 1.0 <= found.high
        for found in (paired(rng.exponential(size=60), np.zeros(60)) for _ in range(200))
    ]
    assert 0.87 < np.mean(held) < 0.99


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_interval_of_a_quantile_holds_it_about_as_often_as_it_says(share: float) -> None:
    """Of an exponential law, against its known quantile; and of differences, against that of both laws."""
    rng = np.random.default_rng(5)
    true = -np.log(1 - share)
    held = []
    for _ in range(100):
        one = rng.exponential(3.0, size=100)
        found = quantile(one, one / 3.0, share)
        assert found.value == pytest.approx(np.quantile(one, share) * 2 / 3)
        held.append(found.low <= 2.0 * true <= found.high)
    assert 0.86 <= np.mean(held) <= 1.0
    few = quantile(np.ones(5 if share == 0.5 else 29), np.zeros(5 if share == 0.5 else 29), share)
    assert few.value == 1.0
    assert np.isnan(few.low)


def test_a_ratio_of_means_is_paired() -> None:
    rng = np.random.default_rng(1)
    one = rng.exponential(2.0, 30)
    found = ratio(one, 4.0 * one)
    assert found == pytest.approx((0.25, 0.25, 0.25))
    apart = ratio(one, rng.exponential(2.0, 30))
    assert apart.low < apart.value < apart.high
    turned = ratio(4.0 * one + 1.0, one)
    back = ratio(one, 4.0 * one + 1.0)
    assert (turned.value, turned.low, turned.high) == pytest.approx(
        (1 / back.value, 1 / back.high, 1 / back.low)
    )


@given(seed=st.integers(0, 10**6), n=st.integers(12, 60))
@settings(max_examples=6, deadline=None)
def test_the_interval_of_a_ratio_is_that_of_draws_taken_one_by_one(seed: int, n: int) -> None:
    """Against a slow obvious bootstrap-t of the logarithm on the same draws, with errors by NumPy's own."""
    rng = np.random.default_rng(seed)
    one, other = rng.gamma(4, size=n), rng.gamma(4, size=n)

    def log_and_error(a: Any, b: Any) -> tuple[float, float]:
        parts = a / a.mean() - b / b.mean()
        return math.log(a.mean() / b.mean()), float(np.std(parts, ddof=1)) / math.sqrt(n)

    value, error = log_and_error(one, other)
    scaled = []
    for places in stream(0, "bootstrap", n).integers(0, n, (2000, n)):
        drawn, drawn_error = log_and_error(one[places], other[places])
        scaled.append((drawn - value) / drawn_error)
    low, high = np.quantile(scaled, INTERVAL_ENDS, method="inverted_cdf")
    found = ratio(one, other)
    assert found.value == pytest.approx(one.mean() / other.mean())
    assert found.low == pytest.approx(math.exp(value - high * error))
    assert found.high == pytest.approx(math.exp(value - low * error))


def test_draws_whose_ratio_is_that_of_all_pairs_without_error_are_not_off() -> None:
    one, other = np.ones(20), np.ones(20)
    one[0], other[1] = 2.0, 2.0  # the others say nothing, and a draw may hold them alone
    found = ratio(one, other)
    assert found.value == 1.0
    assert 0.5 <= found.low < 1.0 < found.high <= 2.0


def test_few_pairs_and_means_of_nothing_have_no_interval_of_their_ratio() -> None:
    few = ratio(np.ones(11), np.arange(11.0))
    assert few.value == pytest.approx(0.2)
    assert np.isnan([few.low, few.high]).all()
    assert np.isnan(ratio(np.zeros(20), np.ones(20))).all()
    assert np.isnan(ratio(np.ones(20), np.zeros(20))).all()


@pytest.mark.parametrize("law", ["normal", "skewed"])
def test_an_interval_of_a_ratio_holds_it_as_often_as_it_says(law: str) -> None:
    rng = np.random.default_rng(5)
    cases, held = 400, 0
    for _ in range(cases):
        one = rng.normal(3.0, 1.0, 20) if law == "normal" else rng.exponential(3.0, 20)
        other = 0.5 * one + rng.exponential(1.5, 20)
        found = ratio(one, other)
        held += found.low <= 1.0 <= found.high
    assert 0.91 * cases <= held <= 0.98 * cases


def test_a_product_of_means_is_that_of_a_slow_bootstrap() -> None:
    rng = np.random.default_rng(3)
    rows, weights = rng.exponential(2.0, (5, 25)), rng.normal(size=5)

    def logarithm_and_error(runs: list[int]) -> tuple[float, float]:
        means = [sum(row[run] for run in runs) / 25 for row in rows]
        total = sum(w * math.log(mean) for w, mean in zip(weights, means, strict=True))
        parts = [
            sum(w * row[run] / mean for w, row, mean in zip(weights, rows, means, strict=True))
            for run in runs
        ]
        return total, math.sqrt(statistics.variance(parts) / 25)

    value, error = logarithm_and_error(list(range(25)))
    scaled = []
    for _ in range(4000):
        drawn, own_error = logarithm_and_error(rng.integers(0, 25, 25).tolist())
        scaled.append((drawn - value) / own_error)
    first, last = np.quantile(scaled, [0.025, 0.975])
    found = product_of_means(rows, weights)
    assert math.log(found.value) == pytest.approx(value, rel=1e-12)
    assert math.log(found.low) == pytest.approx(value - last * error, abs=0.2 * error)
    assert math.log(found.high) == pytest.approx(value - first * error, abs=0.2 * error)


@pytest.mark.parametrize("shared", [False, True])
def test_an_interval_of_a_geometric_mean_of_skewed_ratios_does_not_lie_below_it(shared: bool) -> None:
    rng = np.random.default_rng(8)
    cases, below, above = 400, 0, 0
    weights = np.repeat([0.25, -0.25], 4)
    for _ in range(cases):
        alone = rng.normal(10.0, 1.0, (4, 20))
        hard = (
            rng.random((1 if shared else 4, 20)) < 0.2
        )  # instances that all four problems may have in common
        scheduled = rng.exponential(3.0, (4, 20)) * np.where(hard, 3.0, 0.5)
        found = product_of_means(np.concatenate([scheduled, alone]), weights)
        below, above = below + (found.low > 0.3), above + (found.high < 0.3)
    assert below + above <= 0.12 * cases
    assert above <= 0.1 * cases  # where quantiles of the products have 0.2


def test_an_interval_of_a_ratio_never_leaves_the_ratios_of_pairs() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        one = rng.exponential(1.0, 20)
        other = one * (1.0 + 1e-16)  # equal, but for a few pairs
        other[: int(rng.integers(1, 3))] *= rng.choice([0.01, 50.0])
        found = ratio(one, other)
        assert np.isnan(found.low) == np.isnan(found.high)
        if not np.isnan(found.low):
            pairs = one / other
            assert pairs.min() / (1 + 1e-9) <= found.low <= found.value <= found.high
            assert found.high <= pairs.max() * (1 + 1e-9)


def test_a_ratio_has_no_interval_where_few_pairs_have_anything() -> None:
    one = np.zeros(20)
    one[0] = 63.0
    found = ratio(one, 10.0 + np.random.default_rng(1).random(20))
    assert found.value == pytest.approx(0.3, rel=0.1)
    assert np.isnan([found.low, found.high]).all()
