"""A regression for each arm, against K ridges by themselves, plain NumPy, and one dense regression of all."""

import copy
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import models
from infex.arrays import Floats
from infex.core.bank import BankPosterior
from infex.errors import (
    CannotMerge,
    DamagedFile,
    InvalidArms,
    InvalidChoice,
    NotKept,
    StalePosterior,
    UnknownArm,
)
from infex.models.fit import FitBank
from infex.models.layout import ArmRow, ContextOffer, PerArm
from infex.models.posterior import Posterior, on_offer
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.models.state import ModelState, new_model
from infex.policies.ucb import Confidence

ESTIMATORS: list[Any] = [
    models.Ridge(penalty=0.3),
    models.Discounted(rate=0.9),
    models.Windowed(size=4),
    models.Weighted(weight=lambda x: 0.5 + float(x[0]) ** 2),
    models.Lasso(strength=0.02),
    models.Logistic(),
]
NO_PLACES = np.zeros(0, dtype=np.int64)


class Case(NamedTuple):
    """Rewards of arms in contexts, with weights, and a context to ask about."""

    arms: int
    dim: int
    penalty: float
    told: list[tuple[int, Floats, float, float]]
    context: Floats
    rng: np.random.Generator


def inside(rng: np.random.Generator, dim: int) -> Any:
    """A context no longer than 1."""
    x = rng.standard_normal(dim)
    return x / np.linalg.norm(x) * rng.random() ** (1 / dim)


@st.composite
def cases(draw: Any, weights: bool = True, binary: bool = False) -> Case:
    """Up to 60 rewards; none at all, too, and contexts that are 0."""
    arms, dim = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    told = []
    for _ in range(draw(st.integers(0, 60))):
        x = inside(rng, dim) if rng.random() < 0.95 else np.zeros(dim)
        reward = float(rng.random() < 0.5) if binary else float(rng.standard_normal())
        weight = float(rng.choice([1.0, 0.3, 7.0])) if weights else 1.0
        told.append((int(rng.integers(arms)), x, reward, weight))
    return Case(arms, dim, 10 ** draw(st.floats(-2, 2)), told, inside(rng, dim), rng)


def learnt(statistics: Any, case: Case) -> Any:
    for arm, x, reward, weight in case.told:
        on = ArmRow(arm, x)
        statistics.update(on, reward, statistics.effective_weight(on, weight))
    return statistics


def blocks(case: Case) -> RidgeBankModel:
    return learnt(RidgeBankModel(PerArm(case.arms, case.dim), case.penalty), case)  # type: ignore[no-any-return]


def ridges(case: Case) -> list[RidgeModel]:
    """K ridges by themselves."""
    found = [RidgeModel(np.empty((case.dim, 0)), case.penalty) for _ in range(case.arms)]
    for arm, x, reward, weight in case.told:
        found[arm].update(x, reward, weight)
    return found


def dense(case: Case) -> Posterior:
    """One regression of all blocks, as features.interactions(np.eye(K), c) has it, in the case's context."""
    ridge = RidgeModel(np.empty((case.arms * case.dim, 0)), case.penalty)
    for arm, x, reward, weight in case.told:
        ridge.update(ArmRow(arm, x).row(case.arms * case.dim), reward, weight)
    rows = [ArmRow(arm, case.context).row(case.arms * case.dim) for arm in range(case.arms)]
    return Posterior(on_offer(ridge.posterior(), np.ascontiguousarray(np.array(rows).T)))


def asked(statistics: Any, case: Case) -> Posterior:
    return Posterior(on_offer(statistics.posterior(), ContextOffer(case.context)))


@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_each_block_is_a_ridge_by_itself_to_the_last_bit(case: Case) -> None:
    found, apart = blocks(case), ridges(case)
    for arm, ridge in enumerate(apart):
        arrays = ridge.arrays()
        np.testing.assert_array_equal(found.bank.sums[arm], arrays["truth"])
        np.testing.assert_array_equal(found.bank.solved[arm], arrays["solved"])
        assert found.bank.over(np.array([arm])).log_det_ratio == ridge.posterior().log_det_ratio
    assert found.n_observations == len(case.told)


@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_estimates_widths_and_radii_are_those_of_plain_numpy(case: Case) -> None:
    posterior = asked(blocks(case), case)
    posterior.radii(1.0, 1.0, 0.5)
    radii = posterior.radii(0.7, 1.3, 0.05)
    assert isinstance(radii, np.ndarray)
    for arm in range(case.arms):
        own = [(x, reward, weight) for k, x, reward, weight in case.told if k == arm]
        gram = case.penalty * np.eye(case.dim) + sum(
            (w * np.outer(x, x) for x, _, w in own), np.zeros((case.dim, case.dim))
        )
        theta = np.linalg.solve(gram, sum((w * y * x for x, y, w in own), np.zeros(case.dim)))
        width = math.sqrt(case.context @ np.linalg.solve(gram, case.context))
        log_det_ratio = float(np.linalg.slogdet(gram / case.penalty)[1])
        assert posterior.estimate(arm) == pytest.approx(case.context @ theta, rel=1e-10, abs=1e-10)
        assert posterior.width(arm) == posterior.widths[arm] == pytest.approx(width, rel=1e-10)
        beta = 0.7 * math.sqrt(log_det_ratio + 2 * math.log(1 / 0.05)) + math.sqrt(case.penalty) * 1.3
        assert radii[arm] == pytest.approx(beta, rel=1e-10)
        assert posterior.pulls[arm] == len(own)
        assert posterior.sums[arm] == pytest.approx(sum(y for _, y, _ in own), abs=1e-12)


@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_what_policies_read_is_what_one_dense_regression_says(case: Case) -> None:
    posterior, whole = asked(blocks(case), case), dense(case)
    for name in ("estimates", "widths", "theta", "factor", "arms"):
        np.testing.assert_allclose(getattr(posterior, name), getattr(whole, name), rtol=1e-9, atol=1e-10)
    assert (len(posterior), posterior.dim, posterior.penalty) == (len(whole), whole.dim, whole.penalty)
    assert posterior.log_det_ratio == pytest.approx(whole.log_det_ratio, abs=1e-9)
    np.testing.assert_allclose(posterior.upper(0.4), whole.upper(0.4), rtol=1e-9, atol=1e-10)
    seed = int(case.rng.integers(2**32))
    draws = [each.perturbed(0.3, np.random.default_rng(seed)) for each in (posterior, whole)]
    np.testing.assert_allclose(*draws, rtol=1e-9, atol=1e-10)
    theta = case.rng.standard_normal(posterior.dim)
    np.testing.assert_allclose(posterior.scores(theta), whole.scores(theta), atol=1e-12)
    arm = int(case.rng.integers(case.arms))
    np.testing.assert_allclose(posterior.optimistic(arm, 0.4), whole.optimistic(arm, 0.4), atol=1e-9)


@given(case=cases(weights=False))
@settings(max_examples=40, deadline=None)
def test_sums_and_what_is_fitted_to_them_are_those_of_one_regression(case: Case) -> None:
    mine, whole = asked(blocks(case), case).moments, dense(case).moments
    assert mine.n_observations == whole.n_observations == len(case.told)
    np.testing.assert_allclose(mine.gram, whole.gram, atol=1e-10)
    np.testing.assert_allclose(mine.moment, whole.moment, atol=1e-10)
    np.testing.assert_allclose(mine.lasso(0.01), whole.lasso(0.01), atol=1e-6)
    least, trace = mine.least_eigenvalue()
    expected, whole_trace = whole.least_eigenvalue()
    assert (least, trace) == (pytest.approx(expected, abs=1e-9), pytest.approx(whole_trace, abs=1e-9))
    np.testing.assert_allclose(mine.gram @ mine.least_squares(), mine.moment, atol=1e-7)
    np.testing.assert_allclose(mine.lasso(0.0), mine.least_squares())


@given(case=cases(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_some_arms_alone_are_known_as_among_all(case: Case, data: Any) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=case.arms, max_size=case.arms)))
    mask[int(case.rng.integers(case.arms))] = True
    posterior = asked(blocks(case), case)
    seen, places = posterior.among(mask)
    for name in ("estimates", "widths", "pulls", "sums"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(posterior, name)[places])
    np.testing.assert_array_equal(seen.arms, posterior.arms[places])
    mine, theirs = seen.radii(1.0, 1.0, 0.1), posterior.radii(1.0, 1.0, 0.1)
    assert isinstance(theirs, np.ndarray)
    np.testing.assert_array_equal(mine, theirs[places])
    np.testing.assert_array_equal(seen.upper(mine), posterior.upper(theirs)[places])
    assert (seen.dim, seen.best) == (posterior.dim, posterior.best)
    assert seen.design_row(0) == ArmRow(int(places[0]), case.context) or case.dim > 1


def test_the_radius_of_an_arm_does_not_move_when_others_get_data() -> None:
    """It took the log_det_ratio of all blocks: an arm's interval grew with other arms' rewards."""
    ridge, x = RidgeBankModel(PerArm(3, 2)), np.array([0.6, 0.8])
    ridge.update(ArmRow(0, x), 1.0)
    before = Confidence().confidence_radius(Posterior(on_offer(ridge.posterior(), ContextOffer(x))))
    for _ in range(100):
        ridge.update(ArmRow(1, x), 1.0)
    after = Confidence().confidence_radius(Posterior(on_offer(ridge.posterior(), ContextOffer(x))))
    assert isinstance(before, np.ndarray)
    assert isinstance(after, np.ndarray)
    assert before[[0, 2]].tolist() == after[[0, 2]].tolist()
    assert before[1] < after[1]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_each_block_is_the_statistics_that_an_estimator_starts(estimator: Any, data: Any) -> None:
    binary = isinstance(estimator, models.Logistic)
    case = data.draw(cases(weights=not binary, binary=binary))
    found = new_model(PerArm(case.arms, case.dim), case.penalty, estimator)
    apart = [estimator.new_model(np.empty((case.dim, 0)), case.penalty) for _ in range(case.arms)]
    for arm, x, reward, weight in case.told:
        on = ArmRow(arm, x)
        found.check_reward(reward)
        found.update(on, reward, found.effective_weight(on, weight))
        apart[arm].update(x, reward, apart[arm].effective_weight(x, weight))
        if case.rng.random() < 0.7:
            for each in (found, *apart):
                each.set_warm_start()
    posterior = Posterior(on_offer(found.posterior(), ContextOffer(case.context)))
    each = [on_offer(part.posterior(), np.ascontiguousarray(case.context[:, None])) for part in apart]
    np.testing.assert_allclose(posterior.estimates, [known.estimate(0) for known in each], atol=1e-10)
    np.testing.assert_allclose(posterior.widths, [known.width(0) for known in each], rtol=1e-10)
    np.testing.assert_allclose(posterior.upper(0.6), [known.upper(0.6)[0] for known in each], rtol=1e-9)
    radii = posterior.radii(1.0, 1.0, 0.1)
    np.testing.assert_allclose(radii, [known.radii(1.0, 1.0, 0.1) for known in each], rtol=1e-10)
    draws = case.rng.standard_normal((case.arms, case.dim))
    sampled = [known.perturbed(0.2, row)[0] for known, row in zip(each, draws, strict=True)]
    np.testing.assert_allclose(posterior._known.perturbed(0.2, draws), sampled, rtol=1e-9, atol=1e-12)
    assert (found.n_observations, found.penalty, found.is_least_squares) == (
        len(case.told),
        each[0].penalty,
        not binary,
    )
    if isinstance(found, FitBank):
        for mine, theirs in zip(found.parts, apart, strict=True):
            kept, expected = mine.arrays(), theirs.arrays()  # where searches start from, too
            assert all(np.array_equal(kept[name], expected[name]) for name in expected)
    if not binary:
        assert posterior.moments.n_observations == sum(known.told for known in each)


def test_spherical_draws_are_on_a_sphere_for_each_arm() -> None:
    """One ridge of c = 1 then has eta = +1 or -1."""
    ridge = RidgeBankModel(PerArm(50, 1))
    posterior = Posterior(on_offer(ridge.posterior(), ContextOffer(np.ones(1))))
    scores = posterior.perturbed(1.0, np.random.default_rng(1), "spherical")
    np.testing.assert_allclose(np.abs(scores), 1.0)


@pytest.mark.parametrize("estimator", [None, models.Lasso()])
def test_what_is_known_is_of_now_and_a_copy_stays(estimator: Any) -> None:
    x = np.array([0.6, 0.8])
    statistics = new_model(PerArm(2, 2), 1.0, estimator)
    statistics.update(ArmRow(0, x), 1.0)
    held, live = copy.deepcopy(statistics), on_offer(statistics.posterior(), ContextOffer(x))
    assert isinstance(live, BankPosterior)
    kept = live.copy()
    for reward in (5.0, -3.0):
        statistics.update(ArmRow(0, x), reward)
        on_offer(statistics.posterior(), ContextOffer(x))
    expected = on_offer(held.posterior(), ContextOffer(x))
    for name in ("widths", "estimates", "counts", "theta", "factor", "log_det_ratio", "greedy"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(expected, name))
        with pytest.raises(StalePosterior, match="learnt since"):
            getattr(live, name)
    np.testing.assert_array_equal(kept.radii(1, 1, 0.5), expected.radii(1, 1, 0.5))
    np.testing.assert_array_equal(Posterior(kept).moments.gram, Posterior(expected).moments.gram)
    nobody = np.zeros((2, 2, 2, 2), dtype=np.int64)
    for read in (
        lambda: live.estimate(0), lambda: live.width(0), lambda: live.radii(1, 1, 0.5),
        lambda: live.upper(1.0),
        lambda: live.perturbed(1.0, np.zeros((2, 2))), lambda: live.optimistic(0, 1.0),
        lambda: Posterior(live).moments, lambda: on_offer(live, ContextOffer(x)),
        lambda: live.among(np.arange(1)),
        lambda: live.narrowed(nobody), live.copy,
    ):  # fmt: skip
        with pytest.raises(StalePosterior, match="ask for a new one"):
            read()


@pytest.mark.parametrize("estimator", [None, *ESTIMATORS], ids=lambda each: type(each).__name__)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_what_is_kept_goes_on_bit_for_bit(estimator: Any, data: Any) -> None:
    binary = isinstance(estimator, models.Logistic)
    case = data.draw(cases(weights=not binary, binary=binary))
    layout = PerArm(case.arms, case.dim)
    one = learnt(new_model(layout, case.penalty, estimator), case)
    other = new_model(layout, case.penalty, estimator)
    other.restore(copy.deepcopy(one.arrays()))
    for each in (one, other):
        each.set_warm_start()
        learnt(each, case)
    mine, theirs = (asked(each, case) for each in (one, other))
    for name in ("estimates", "widths", "pulls", "sums", "log_det_ratio"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    assert one.n_observations == other.n_observations == 2 * len(case.told)


@given(case=cases(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_arms_come_and_go_and_the_others_keep_all(case: Case, data: Any) -> None:
    old = data.draw(st.lists(st.integers(-1, case.arms - 1), min_size=1, max_size=8, unique_by=id))
    kept = [place for n, place in enumerate(old) if place < 0 or place not in old[:n]]
    ridge = blocks(case)
    moved = ridge.rearranged(PerArm(len(kept), case.dim), np.array(kept))
    fresh = RidgeBankModel(PerArm(1, case.dim), case.penalty)
    for new, place in enumerate(kept):
        source, at = (fresh, 0) if place < 0 else (ridge, place)
        for name in ("sums", "solved", "runs"):
            np.testing.assert_array_equal(getattr(moved.bank, name)[new], getattr(source.bank, name)[at])
        assert moved.counts[:, new].tolist() == source.counts[:, at].tolist()
    assert moved.n_observations == sum(arm in kept for arm, *_ in case.told)
    before = asked(ridge, case)
    np.testing.assert_array_equal(
        asked(moved, case).widths[[place >= 0 for place in kept]],
        before.widths[[place for place in kept if place >= 0]],
    )


@given(case=cases(weights=False))
@settings(max_examples=20, deadline=None)
def test_adding_another_is_having_learnt_both(case: Case) -> None:
    half = len(case.told) // 2
    layout = PerArm(case.arms, case.dim)
    one, other = (
        learnt(RidgeBankModel(layout, case.penalty), case._replace(told=part))
        for part in (case.told[:half], case.told[half:])
    )
    one.add_statistics(other.sufficient_statistics())
    whole, found = asked(blocks(case), case), asked(one, case)
    np.testing.assert_allclose(found.estimates, whole.estimates, atol=1e-8)
    np.testing.assert_allclose(found.widths, whole.widths, rtol=1e-9)
    assert found.pulls.tolist() == whole.pulls.tolist()
    assert one.n_observations == len(case.told)


def test_rewards_that_count_by_their_order_cannot_be_added() -> None:
    with pytest.raises(CannotMerge, match="count by their order"):
        FitBank(PerArm(2, 1), 1.0, models.Windowed(size=3)).sufficient_statistics()


def test_what_does_not_fit_is_refused_by_name() -> None:
    ridge = RidgeBankModel(PerArm(2, 3))
    with pytest.raises(UnknownArm, match="on an arm in a context, not on int"):
        ridge.update(1, 1.0)
    with pytest.raises(UnknownArm, match="arm 2 of 2"):
        ridge.update(ArmRow(2, np.zeros(3)), 1.0)
    posterior = Posterior(on_offer(ridge.posterior(), ContextOffer(np.zeros(3))))
    with pytest.raises(NotKept, match="known in a context, not by rows"):
        posterior.on(np.zeros((6, 2)))
    with pytest.raises(InvalidChoice, match="cannot be learnt on the features of a Choice"):
        posterior.design_row(0, np.zeros(6))
    plain = RidgeModel(np.eye(2))
    with pytest.raises(UnknownArm, match="needs a regression for each arm"):
        plain.update(ArmRow(0, np.zeros(2)), 1.0)
    with pytest.raises(InvalidArms, match="cannot go on as one for each of 3 arms"):
        plain.rearranged(PerArm(3, 2), NO_PLACES)
    with pytest.raises(NotKept, match="a context alone says nothing"):
        on_offer(plain.posterior(), ContextOffer(np.zeros(2)))
    with pytest.raises(InvalidChoice, match="have one radius, got 2"):
        Posterior(plain.posterior()).upper(np.ones(2))
    assert (ridge.n_observations, plain.n_observations) == (0, 0)


def test_a_reward_of_an_arm_that_is_gone_is_learnt_nowhere() -> None:
    for estimator in (None, models.Weighted(weight=lambda x: 1.0)):
        memory = ModelState.empty(PerArm(2, 2), 1.0, True, estimator)
        before = {name: array.copy() for name, array in memory.arrays().items()}
        on = ArmRow(-1, np.ones(2) / 2)
        memory.update(on, 1.0, True, memory.effective_weight(on, 1.0))
        after = memory.arrays()
        assert all(np.array_equal(before[name], after[name]) for name in after)
        assert memory.row(ArmRow(-1, np.ones(2))).tolist() == [0.0] * 4
        assert memory.row(ArmRow(1, np.ones(2))).tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["truth", "factors", "runs", "counts"])
def test_arrays_of_another_shape_or_without_numbers_are_refused(name: str) -> None:
    ridge = RidgeBankModel(PerArm(2, 2))
    for arm in (0, 1, 1):
        ridge.update(ArmRow(arm, np.array([0.3, 0.4])), 1.0)
    other = RidgeBankModel(PerArm(2, 2))
    for wrong in (np.full_like(ridge.arrays()[name], np.nan), ridge.arrays()[name][:1], np.array("x")):
        with pytest.raises(DamagedFile, match=name):
            other.restore(ridge.arrays() | {name: wrong})
    assert other.n_observations == 0


def test_sums_that_no_rewards_add_up_to_are_refused() -> None:
    ridge = RidgeBankModel(PerArm(1, 2))
    sums = np.zeros((1, 2, 3, 2))
    sums[0, 0, 0, 0] = -5.0
    with pytest.raises(DamagedFile, match="no sums of x x'"):
        ridge.restore({"truth": sums, "told": np.array(1), "counts": np.zeros((2, 1))})
