"""Kernels of evaluation against plain NumPy, compiled and not."""

import numpy as np
import pytest

from infex.kernels import frozen_fits, weighing


def rounds(seed: int = 0, n: int = 90, arms: int = 5) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.8)
    return weight, rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)


BENDS = {
    (weighing.AS_IT_IS, 0.0): lambda w: w,
    (weighing.CLIPPED, 1.2): lambda w: np.minimum(w, 1.2),
    (weighing.CUT_OFF, 1.2): lambda w: w * (w <= 1.2),
    (weighing.SHRUNK, 2.0): lambda w: 2 * w / (w**2 + 2),
    (weighing.SHRUNK, 0.0): lambda w: 0 * w,
    (weighing.SHRUNK, np.inf): lambda w: w,
    (weighing.BENT, 0.3): lambda w: w / (0.7 + 0.3 * w),
}


@pytest.mark.parametrize("bend", BENDS)
def test_terms_and_their_spread(bend: tuple[int, float]) -> None:
    weight, reward, direct, at = rounds()
    expected = direct + BENDS[bend](weight) * (reward - at)
    out = np.empty(weight.size)
    weighing.fill_terms(*bend, 1.0, weight, reward, direct, at, out)
    assert out == pytest.approx(expected, abs=1e-13)
    mean, spread = weighing.spread_of_terms(*bend, weight, reward, direct, at)
    assert (mean, spread) == pytest.approx(
        (expected.mean(), ((expected - expected.mean()) ** 2).sum()), abs=1e-11
    )


def test_the_spread_of_large_terms_loses_no_digits() -> None:
    weight, reward, direct, at = rounds(n=300)
    _, spread = weighing.spread_of_terms(weighing.AS_IT_IS, 0.0, weight, reward, direct, at)
    _, far = weighing.spread_of_terms(weighing.AS_IT_IS, 0.0, weight, reward, direct + 1e6, at)
    assert far == pytest.approx(spread, rel=1e-7)


def test_a_ratio_and_its_linear_terms() -> None:
    weight, reward, direct, at = rounds()
    value, spread, total, squares = weighing.spread_of_ratio(weight, reward, direct, at)
    ratio = (weight * (reward - at)).sum() / weight.sum()
    linear = direct - direct.mean() + weight * (reward - at - ratio) / weight.mean()
    assert value == pytest.approx(direct.mean() + ratio, abs=1e-13)
    assert (spread, total, squares) == pytest.approx(((linear**2).sum(), weight.sum(), (weight**2).sum()))


@pytest.mark.parametrize("arms", [1, 4, 5])
def test_weights_and_model_values_of_rounds(arms: int) -> None:
    rng = np.random.default_rng(arms)
    arm, probability = rng.integers(arms, size=40), rng.uniform(0.1, 1, size=40)
    chances, fitted = rng.dirichlet(np.ones(arms), size=40), rng.normal(size=(40, arms))
    weight, direct, at = np.empty(40), np.empty(40), np.empty(40)
    weighing.weigh_rounds(arm, probability, chances, fitted, weight, direct, at)
    assert weight == pytest.approx(chances[np.arange(40), arm] / probability)
    assert direct == pytest.approx((chances * fitted).sum(axis=1), abs=1e-14)
    assert at == pytest.approx(fitted[np.arange(40), arm])


def test_power_sums() -> None:
    weight, reward, _, _ = rounds()
    r = (reward + 4.0) / 8.0
    found = weighing.power_sums(weight, reward, -4.0, 8.0)
    expected = [(weight**i * r**j).sum() for i, j in ((1, 0), (2, 0), (1, 1), (2, 1), (2, 2))]
    assert found == pytest.approx((*expected, weight.min(), weight.max()))


def test_deviations_from_a_middle() -> None:
    values = np.random.default_rng(6).normal(size=40) - 3.0
    found = weighing.deviations(values, -2.5)
    apart = values + 2.5
    assert found == pytest.approx((apart @ apart, np.abs(apart).max(), np.abs(values).max()))
    assert weighing.deviations(np.zeros(0), 1.0) == (0.0, 0.0, 0.0)


def test_mixtures_sums_and_best_arms() -> None:
    rng = np.random.default_rng(4)
    offers, chances = rng.normal(size=(20, 3, 2)), rng.dirichlet(np.ones(3), size=20)
    chances[5] = [0.0, 1.0, 0.0]
    out = np.empty((20, 2))
    frozen_fits.mix_offers(offers, chances, out)
    assert out == pytest.approx(np.einsum("nk,nkd->nd", chances, offers), abs=1e-14)
    block, sums = np.repeat([0, -1, 1, 2], 5), np.zeros((3, 2))
    frozen_fits.sum_blocks(out, block, sums)
    assert sums == pytest.approx(np.array([out[:5].sum(0), out[10:15].sum(0), out[15:].sum(0)]), abs=1e-13)
    scores = np.array([[0.1, 0.3, 0.3 + 1e-15], [2.0, 1.0, -np.inf]])
    assert frozen_fits.best_in_rows(scores).tolist() == [1, 0]
