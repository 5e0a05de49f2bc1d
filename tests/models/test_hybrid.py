"""Arms that have a regression each and share one, against one of joined rows, and exact fractions."""

import copy
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import models
from infex.arrays import Floats
from infex.errors import DamagedFile, InvalidChoice, InvalidSetting, NotKept, StalePosterior, UnknownArm
from infex.models.hybrid import HybridModel
from infex.models.layout import ArmRow, ContextOffer, DesignRow, DesignRows, PerArm
from infex.models.pending import PendingBatch
from infex.models.posterior import Posterior, on_offer
from infex.models.ridge import RidgeModel
from infex.models.state import ModelState, new_model

KINDS = ("free", "products", "near")


class Case(NamedTuple):
    """Rewards of arms on rows of own and shared features, with weights; and a round to ask about."""

    layout: PerArm
    penalty: float
    told: list[tuple[ArmRow, float, float]]
    offer: ContextOffer
    rng: np.random.Generator


def rows_of(kind: str, layout: PerArm, rng: np.random.Generator) -> ContextOffer:
    """A context and the shared features of all arms: free ones, or products, of which the context tells."""
    arms, dim, shared = layout
    x = rng.standard_normal(dim) if rng.random() < 0.95 else np.zeros(dim)
    if kind == "near":
        x = np.ones(dim) + 1e-6 * x
    x *= 0.7 / max(1.0, float(np.linalg.norm(x)))
    if kind == "free":
        rows = rng.standard_normal((arms, shared))
    else:
        fixed = np.random.default_rng(7).standard_normal((arms, shared, dim))
        rows = fixed @ x
    return ContextOffer(x, 0.7 * rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None])


def on(offer: ContextOffer, arm: int) -> ArmRow:
    assert offer.rows is not None
    return ArmRow(arm, np.concatenate([offer.context, offer.rows[arm]]))


@st.composite
def cases(draw: Any, least: float = -2.0, weights: bool = True) -> Case:
    """Up to 60 rewards, none at all too."""
    layout = PerArm(draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(1, 6)))
    rng, kind = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from(KINDS))
    told = []
    for _ in range(draw(st.integers(0, 60))):
        weight = float(rng.choice([1.0, 0.3, 7.0])) if weights else 1.0
        arm = int(rng.integers(layout.arms))
        told.append((on(rows_of(kind, layout, rng), arm), float(rng.standard_normal()), weight))
    return Case(layout, 10 ** draw(st.floats(least, 2)), told, rows_of(kind, layout, rng), rng)


def learnt(case: Case) -> HybridModel:
    found = HybridModel(case.layout, case.penalty)
    for row, reward, weight in case.told:
        found.update(row, reward, weight)
    return found


def asked(statistics: HybridModel, case: Case) -> Posterior:
    return Posterior(on_offer(statistics.posterior(), case.offer))


def dense_row(case: Case, row: ArmRow) -> Floats:
    return row.row(case.layout.parameters, case.layout.shared)


def dense(case: Case) -> Posterior:
    """One regression of joined rows."""
    ridge = RidgeModel(np.empty((case.layout.parameters, 0)), case.penalty)
    for row, reward, weight in case.told:
        ridge.update(dense_row(case, row), reward, weight)
    rows = [dense_row(case, on(case.offer, arm)) for arm in range(case.layout.arms)]
    return Posterior(on_offer(ridge.posterior(), np.ascontiguousarray(np.array(rows).T)))


def compare(posterior: Posterior, whole: Posterior, case: Case) -> None:
    """All that policies read."""
    assert (len(posterior), posterior.dim, posterior.penalty) == (len(whole), whole.dim, whole.penalty)
    np.testing.assert_array_equal(posterior.arms, whole.arms)
    for name in ("estimates", "widths"):
        np.testing.assert_allclose(getattr(posterior, name), getattr(whole, name), rtol=1e-10, atol=1e-10)
    scale = 1.0 / case.penalty
    np.testing.assert_allclose(posterior.factor, whole.factor, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(posterior.theta, whole.theta, rtol=1e-9, atol=1e-10 * max(1.0, scale))
    assert posterior.log_det_ratio == pytest.approx(whole.log_det_ratio, abs=1e-9)
    radii = [each.radii(0.7, 1.3, 0.05) for each in (posterior, whole)]
    assert radii[0] == pytest.approx(radii[1], abs=1e-9)
    np.testing.assert_allclose(posterior.upper(0.4), whole.upper(0.4), rtol=1e-10, atol=1e-10)
    seed, theta = int(case.rng.integers(2**32)), case.rng.standard_normal(posterior.dim)
    draws = [each.perturbed(0.3, np.random.default_rng(seed)) for each in (posterior, whole)]
    np.testing.assert_allclose(*draws, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(posterior.scores(theta), whole.scores(theta), atol=1e-11)
    arm = int(case.rng.integers(case.layout.arms))
    assert posterior.width(arm) == posterior.widths[arm]
    optimistic = [each.optimistic(arm, 0.4) for each in (posterior, whole)]
    np.testing.assert_allclose(*optimistic, rtol=1e-9, atol=1e-9 * max(1.0, scale))


@given(case=cases())
@settings(max_examples=80, deadline=None)
def test_what_policies_read_is_what_one_dense_regression_says(case: Case) -> None:
    found = asked(learnt(case), case)
    compare(found, dense(case), case)
    assert found.pulls.tolist() == [sum(row.arm == arm for row, *_ in case.told) for arm in range(len(found))]
    assert found.sums.sum() == pytest.approx(sum(reward for _, reward, _ in case.told), abs=1e-12)


def exactly(case: Case) -> tuple[Floats, Floats]:
    """Estimates and squared widths by Gauss-Jordan elimination in fractions."""
    size = case.layout.parameters
    gram = [[Fraction(case.penalty if i == j else 0) for j in range(size)] for i in range(size)]
    moment = [Fraction(0)] * size
    for row, reward, weight in case.told:
        x = [Fraction(value) for value in dense_row(case, row).tolist()]
        for i in range(size):
            moment[i] += Fraction(weight) * Fraction(reward) * x[i]
            for j in range(size):
                gram[i][j] += Fraction(weight) * x[i] * x[j]
    rows = [
        [Fraction(v) for v in dense_row(case, on(case.offer, k)).tolist()] for k in range(case.layout.arms)
    ]
    sides = solved(gram, [moment, *rows])
    estimates = [float(sum(a * b for a, b in zip(row, sides[0], strict=True))) for row in rows]
    squares = [
        float(sum(a * b for a, b in zip(row, side, strict=True)))
        for row, side in zip(rows, sides[1:], strict=True)
    ]
    return np.array(estimates), np.array(squares)


def solved(gram: list[list[Fraction]], sides: list[list[Fraction]]) -> list[list[Fraction]]:
    size = len(gram)
    table = [[*gram[i], *(side[i] for side in sides)] for i in range(size)]
    for i in range(size):
        table[i] = [value / table[i][i] for value in table[i]]
        for j in range(size):
            if j != i and table[j][i]:
                by = table[j][i]
                table[j] = [a - by * b for a, b in zip(table[j], table[i], strict=True)]
    return [[table[i][size + n] for i in range(size)] for n in range(len(sides))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", [1.0, 1e-4, 1e-9])
def test_small_penalties_and_near_collinear_rows_keep_ten_digits(kind: str, penalty: float) -> None:
    layout, rng = PerArm(3, 2, 3), np.random.default_rng(5)
    told = []
    for _ in range(40):
        arm = int(rng.integers(2))  # the last one is never played
        told.append((on(rows_of(kind, layout, rng), arm), float(rng.standard_normal()), 1.0))
    case = Case(layout, penalty, told, rows_of(kind, layout, rng), rng)
    estimates, squares = exactly(case)
    anew = HybridModel(layout, penalty)
    anew.restore({name: array for name, array in learnt(case).arrays().items() if name not in DERIVED})
    for statistics in (learnt(case), anew):
        posterior = asked(statistics, case)
        np.testing.assert_allclose(posterior.widths**2, squares, rtol=1e-10)
        scale = np.maximum(np.abs(estimates), np.sqrt(squares))
        assert (np.abs(posterior.estimates - estimates) <= 1e-10 * np.maximum(1.0, scale)).all()


DERIVED = ("tied", "factors", "runs")


@given(case=cases())
@settings(max_examples=30, deadline=None)
def test_one_by_one_at_once_as_sums_and_in_parts_is_the_same(case: Case) -> None:
    whole, grounds = learnt(case), DesignRows.of(row for row, *_ in case.told)
    rewards = np.array([reward for _, reward, _ in case.told])
    weights = np.array([weight for *_, weight in case.told])
    many, gathered = (HybridModel(case.layout, case.penalty) for _ in range(2))
    if case.told:
        many.update_many(grounds, rewards, weights)
        gathered.bulk_update(grounds, rewards, weights)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(many.arrays()[name], array)
    half = len(case.told) // 2
    first, second = (learnt(case._replace(told=part)) for part in (case.told[:half], case.told[half:]))
    first.add_statistics(second.sufficient_statistics())
    for other in (gathered, first):
        assert other.n_observations == len(case.told)
        compare(asked(other, case), dense(case), case)
    rest = whole.sufficient_statistics().minus(second.sufficient_statistics())
    np.testing.assert_allclose(rest.sums.sum(axis=1), learnt_sums(case, half), atol=1e-12)


def learnt_sums(case: Case, half: int) -> Floats:
    return learnt(case._replace(told=case.told[:half])).sufficient_statistics().sums.sum(axis=1)  # type: ignore[no-any-return]


@given(case=cases())
@settings(max_examples=30, deadline=None)
def test_what_is_pending_narrows_as_in_one_dense_regression(case: Case) -> None:
    half = len(case.told) // 2
    pending = [row for row, *_ in case.told[half:]]
    kept = case._replace(told=case.told[:half])
    memory = ModelState(learnt(kept), None)
    memory.track_pending(batch(pending))
    posterior = memory.offer(case.offer).narrowed
    plain = ModelState(RidgeModel(np.empty((case.layout.parameters, 0)), case.penalty), None)
    for row, reward, weight in kept.told:
        plain.all.update(dense_row(case, row), reward, weight)
    plain.track_pending(batch([dense_row(case, row) for row in pending]))
    compare(posterior, plain.offer(np.ascontiguousarray(posterior.arms.T)).narrowed, case)
    np.testing.assert_array_equal(posterior.estimates, asked(learnt(kept), case).estimates)


def batch(rows: Sequence[DesignRow]) -> PendingBatch:
    """Pending decisions on these, none of which explored."""
    return PendingBatch(DesignRows.of(rows), np.zeros(len(rows), dtype=bool), np.zeros(len(rows)))


@given(case=cases(), data=st.data())
@settings(max_examples=30, deadline=None)
def test_what_an_arm_that_goes_has_told_of_shared_features_stays(case: Case, data: Any) -> None:
    arms, dim, shared = case.layout
    kept = sorted(data.draw(st.sets(st.integers(0, arms - 1), min_size=1)))
    fewer = learnt(case).rearranged(PerArm(len(kept), dim, shared), np.array(kept))
    assert fewer.n_observations == len(case.told)
    assert case.offer.rows is not None
    offer = ContextOffer(case.offer.context, case.offer.rows[kept])
    for statistics in (fewer, restored(fewer)):
        found, whole = (
            Posterior(on_offer(statistics.posterior(), offer)),
            dense(case).among(np.isin(range(arms), kept))[0],
        )
        np.testing.assert_allclose(found.estimates, whole.estimates, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.widths, whole.widths, rtol=1e-10, atol=1e-10)
        assert found.log_det_ratio == pytest.approx(whole.log_det_ratio, abs=1e-9)
    more = learnt(case).rearranged(PerArm(arms + 1, dim, shared), np.array([*range(arms), -1]))
    rows = np.vstack([case.offer.rows, np.zeros((1, shared))])
    found = Posterior(on_offer(more.posterior(), ContextOffer(case.offer.context, rows)))
    np.testing.assert_array_equal(found.estimates[:-1], asked(learnt(case), case).estimates)
    assert found.estimates[-1] == 0.0
    assert found.log_det_ratio == pytest.approx(dense(case).log_det_ratio, abs=1e-9)


def restored(statistics: HybridModel) -> HybridModel:
    """All computed anew."""
    other = HybridModel(statistics.layout, statistics.penalty)
    other.restore({name: array for name, array in statistics.arrays().items() if name not in DERIVED})
    return other


@given(case=cases())
@settings(max_examples=20, deadline=None)
def test_what_is_kept_goes_on_bit_for_bit(case: Case) -> None:
    whole, other = learnt(case), HybridModel(case.layout, case.penalty)
    other.restore(whole.arrays())
    for statistics in (whole, other):
        statistics.update(on(case.offer, 0), 0.5)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(other.arrays()[name], array)


def a_case() -> Case:
    layout, rng = PerArm(3, 2, 2), np.random.default_rng(3)
    told = [(on(rows_of("free", layout, rng), n % 3), float(n), 1.0) for n in range(9)]
    return Case(layout, 1.0, told, rows_of("free", layout, rng), rng)


@pytest.mark.parametrize(
    "name", ["tied", "cross", "common", "gone", "told", "pulled", "truth", "shared truth", "shared factors"]
)
def test_arrays_of_another_shape_or_without_numbers_are_refused(name: str) -> None:
    arrays = learnt(a_case()).arrays()
    for wrong in (np.full(arrays[name].shape, np.nan), np.zeros((1, *arrays[name].shape)), np.array(-1)):
        with pytest.raises(DamagedFile):
            HybridModel(PerArm(3, 2, 2)).restore(arrays | {name: wrong})


def test_what_is_known_is_of_now_and_a_copy_stays() -> None:
    case = a_case()
    statistics = learnt(case)
    held, live = copy.deepcopy(statistics), on_offer(statistics.posterior(), case.offer)
    kept = live.copy()
    statistics.update(on(case.offer, 1), 5.0)
    expected = on_offer(held.posterior(), case.offer)
    for name in ("widths", "estimates", "counts", "theta", "factor", "log_det_ratio", "greedy"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(expected, name))
        with pytest.raises(StalePosterior, match="learnt since"):
            getattr(live, name)
    np.testing.assert_array_equal(Posterior(kept).moments.gram, Posterior(expected).moments.gram)
    for read in (
        lambda: live.estimate(0), lambda: live.width(0), lambda: live.radii(1, 1, 0.5),
        lambda: live.upper(1.0),
        lambda: live.perturbed(1.0, np.zeros(8)), lambda: live.optimistic(0, 1.0),
        lambda: Posterior(live).moments, lambda: on_offer(live, case.offer),
        lambda: live.among(np.arange(1)), live.copy,
    ):  # fmt: skip
        with pytest.raises(StalePosterior, match="ask for a new one"):
            read()


@given(case=cases(weights=False))
@settings(max_examples=15, deadline=None)
def test_sums_are_those_of_one_dense_regression(case: Case) -> None:
    posterior, whole = asked(learnt(case), case), dense(case)
    for name in ("gram", "moment"):
        np.testing.assert_allclose(getattr(posterior.moments, name), getattr(whole.moments, name), atol=1e-12)
    assert posterior.moments.n_observations == len(case.told)


def test_what_cannot_be_is_refused_by_name() -> None:
    case = a_case()
    statistics = learnt(case)
    posterior = asked(statistics, case)
    with pytest.raises(UnknownArm, match="arm 3 of 3"):
        statistics.update(ArmRow(3, np.zeros(4)), 1.0)
    with pytest.raises(UnknownArm, match="in contexts of 4 features"):
        statistics.update_many(
            DesignRows.on_arm_rows(np.array([0]), np.zeros((1, 2))), np.ones(1), np.ones(1)
        )
    with pytest.raises(NotKept, match="known in a context"):
        posterior.on(np.zeros((8, 2)))
    with pytest.raises(InvalidChoice, match="one radius"):
        posterior.upper(np.ones(3))
    with pytest.raises(InvalidChoice, match="features of a Choice"):
        posterior.design_row(0, np.zeros(8))
    with pytest.raises(InvalidSetting, match=r"features.hybrid is a ridge regression, which Lasso is not"):
        new_model(case.layout, 1.0, models.Lasso(strength=0.1))
    assert isinstance(new_model(case.layout, 1.0, models.Ridge(penalty=0.3)), HybridModel)
    before = statistics.arrays()
    statistics.update(ArmRow(-1, np.zeros(4)), 1.0)  # of an arm that is gone
    for name, array in before.items():
        np.testing.assert_array_equal(statistics.arrays()[name], array)
