"""Ridges of arms, alone and tied by shared features: against NumPy, and what they refuse at the door."""

import copy
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.core.bank import BankPosterior, RidgeBank, greedy, products
from infex.core.hybrid import Hybrid
from infex.core.pending import expect_in_bank, expect_in_hybrid
from infex.errors import InvalidContext, InvalidReward, UnknownArm

SEEDS = st.integers(0, 2**32)
Rewards = tuple[Any, Any, Any, Any, Any]


def unit(rng: np.random.Generator, *shape: int) -> Any:
    """Rows no longer than 1."""
    rows = rng.standard_normal(shape)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1.0)


def rewards_of(rng: np.random.Generator, count: int, arms: int, dim: int) -> Rewards:
    """Arms, of which -1 is gone, places of contexts, contexts, rewards and weights."""
    weights = rng.choice([1.0, 0.5, 3.0], count)
    place, row = rng.integers(-1, arms, count), rng.integers(0, count + 1, count)
    return place, row, unit(rng, count + 1, dim), rng.standard_normal(count), weights


def no_sums(arms: int, dim: int, shared: int) -> tuple[Any, Any, Any]:
    """Sums over no pending decisions of a hybrid."""
    own, cross = (
        np.zeros((arms, 2, dim, dim), dtype=np.int64),
        np.zeros((arms, 2, dim, shared), dtype=np.int64),
    )
    return own, cross, np.zeros((2, shared, shared), dtype=np.int64)


def numbers_of(bank: RidgeBank) -> list[Any]:
    return [bank.sums, bank.solved, bank.runs, bank.counts, bank.told]


def same(one: Any, other: Any) -> None:
    for mine, theirs in zip(numbers_of(one), numbers_of(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@given(seed=SEEDS, arms=st.integers(1, 5), dim=st.integers(1, 9), count=st.integers(0, 40))
@settings(max_examples=40, deadline=None)
def test_a_bank_is_plain_numpy(seed: int, arms: int, dim: int, count: int) -> None:
    rng, penalty = np.random.default_rng(seed), 10.0 ** float(np.random.default_rng(seed).uniform(-2, 2))
    told = rewards_of(rng, count, arms, dim)
    one, many, gathered = (RidgeBank(arms, dim, penalty) for _ in range(3))
    many.update_many(*told)
    gathered.gather(*told)
    place, row, contexts, rewards, weights = told
    for n in np.flatnonzero(place >= 0):
        one.update(int(place[n]), contexts[row[n]], rewards[n], weights[n])
    same(one, many)
    x, directions = unit(rng, dim), rng.standard_normal((arms, dim))
    for bank in (one, gathered):
        for arm in range(arms):
            own = place == arm
            rows = contexts[row[own]]
            gram = penalty * np.eye(dim) + (weights[own, None] * rows).T @ rows
            theta = np.linalg.solve(gram, (weights[own] * rewards[own]) @ rows)
            width = np.sqrt(x @ np.linalg.solve(gram, x))
            assert bank.estimates(x)[arm] == pytest.approx(x @ theta, abs=1e-9, rel=1e-9)
            assert (
                bank.lengths(x)[arm]
                == BankPosterior(bank).over(x).width(arm)
                == pytest.approx(width, rel=1e-9)
            )
            ratio = float(np.linalg.slogdet(gram / penalty)[1])
            beta = 0.3 * np.sqrt(ratio - 2 * np.log(0.1)) + 0.7 * np.sqrt(penalty)
            assert bank.radii(0.3, 0.7, 0.1)[arm] == pytest.approx(beta, rel=1e-9)
            factor = bank.solved[arm, :-1]
            np.testing.assert_allclose(factor.T @ factor @ gram, np.eye(dim), atol=1e-8)
            along = x @ factor.T @ directions[arm]
            assert bank.deviations(x, directions)[arm] == pytest.approx(along, abs=1e-12)
            best = theta + 0.4 * np.linalg.solve(gram, x) / width
            np.testing.assert_allclose(bank.optimistic(arm, x, 0.4), best, rtol=1e-8, atol=1e-8)
            assert bank.counts[0, arm] == own.sum()
            assert bank.counts[1, arm] == pytest.approx(rewards[own].sum(), abs=1e-12)
        assert bank.told == (place >= 0).sum()


@given(seed=SEEDS, arms=st.integers(1, 4), dim=st.integers(1, 6), count=st.integers(0, 30))
@settings(max_examples=30, deadline=None)
def test_copies_go_on_by_themselves_and_bit_for_bit(seed: int, arms: int, dim: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    told = rewards_of(rng, count, arms, dim)
    bank = RidgeBank(arms, dim, 0.5)
    bank.update_many(*told)
    kept = [np.array(each) for each in numbers_of(bank)]
    others = [bank.copy(), copy.deepcopy(bank), pickle.loads(pickle.dumps(bank)), RidgeBank(arms, dim, 0.5)]
    others[-1].restore(*numbers_of(bank))
    x = unit(rng, dim)
    for other in others:
        same(bank, other)
        other.update(0, x, 1.5, 0.5)
    for mine, then in zip(numbers_of(bank), kept, strict=True):
        np.testing.assert_array_equal(mine, then)
    bank.update(0, x, 1.5, 0.5)
    for other in others:
        same(bank, other)
        np.testing.assert_array_equal(bank.estimates(x), other.estimates(x))


def test_every_change_raises_the_version_and_reading_does_not() -> None:
    x, ones = np.array([0.6, 0.8]), np.ones(1)
    told = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), x[None], ones, ones
    bank, hybrid = RidgeBank(2, 2), Hybrid(2, 1, 1)
    bank_changes = [
        lambda: bank.update(0, x, 1.0), lambda: bank.update_many(*told), lambda: bank.gather(*told),
        lambda: bank.revise(0, x, 1.0, 2.0), lambda: bank.revise(0, x, 2.0, None),
        lambda: bank.add(bank.sums, bank.counts, np.arange(2), 2), lambda: bank.restore(*numbers_of(bank)),
        lambda: bank.put(0, np.eye(2), x, 1.0), lambda: bank.note(0, 1, 1.0),
    ]  # fmt: skip
    sums = hybrid.own.sums, hybrid.own.counts, hybrid.cross, hybrid.common
    hybrid_changes = [
        lambda: hybrid.update(0, x, 1.0), lambda: hybrid.update_many(*told), lambda: hybrid.gather(*told),
        lambda: hybrid.revise(0, x, 1.0, 2.0), lambda: hybrid.revise(0, x, 2.0, None),
        lambda: hybrid.add(*sums, np.arange(2), 2, 2),
    ]  # fmt: skip
    for ridges, changes in ((bank, bank_changes), (hybrid, hybrid_changes)):
        for change in changes:
            before = ridges.version
            change()
            assert ridges.version > before
    versions = bank.version, hybrid.version
    bank.estimates(x), bank.lengths(x), bank.radii(1, 1, 0.5), bank.copy(), bank.optimistic(0, x, 1.0)
    hybrid.estimates(x[:1], np.ones((2, 1))), hybrid.widths(x[:1], np.ones((2, 1))), hybrid.copy()
    assert (bank.version, hybrid.version) == versions


@given(seed=SEEDS, arms=st.integers(1, 3), dim=st.integers(1, 4), shared=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_pending_sums_are_those_of_fractions_in_any_order(
    seed: int, arms: int, dim: int, shared: int
) -> None:
    rng, count = np.random.default_rng(seed), int(np.random.default_rng(seed).integers(0, 30))
    place, row, contexts, _, _ = rewards_of(rng, count, arms, dim + shared)
    weights, stays, order = 1.0 - rng.random(count), rng.random(count) < 0.5, rng.permutation(count)
    found, expected = (no_sums(arms, dim, shared) for _ in range(2))
    own = np.zeros((arms, 2, dim, dim), dtype=np.int64)
    expect_in_hybrid(*found, place[order], row[order], contexts, weights[order])
    expect_in_hybrid(*found, place[~stays], row[~stays], contexts, weights[~stays], -1)
    expect_in_hybrid(*expected, place[stays], row[stays], contexts, weights[stays])
    expect_in_bank(own, place[stays], row[stays], np.ascontiguousarray(contexts[:, :dim]), weights[stays])
    for mine, theirs in zip((*found, own), (*expected, found[0]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for arm in range(arms):
        total = Fraction(0)
        for n in np.flatnonzero(stays & (place == arm)):
            x = contexts[row[n]]
            total += Fraction(float(weights[n] * x[dim - 1])) * Fraction(float(x[dim]))
        units, small = found[1][arm, :, dim - 1, 0].tolist()
        assert abs(Fraction(units, 2**34) + Fraction(small, 2**68) - total) <= Fraction(count, 2**68)


@given(seed=SEEDS, arms=st.integers(1, 4), dim=st.integers(1, 5), count=st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_what_is_pending_narrows_as_a_dense_inverse_does(seed: int, arms: int, dim: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    told, pending = rewards_of(rng, count, arms, dim), rewards_of(rng, count, arms, dim)
    bank, sums = RidgeBank(arms, dim, 0.5), np.zeros((arms, 2, dim, dim), dtype=np.int64)
    bank.update_many(*told)
    expect_in_bank(sums, pending[0], pending[1], pending[2], np.ones(count))
    narrowed, x = bank.narrowed(sums), unit(rng, dim)
    np.testing.assert_array_equal(narrowed.estimates(x), bank.estimates(x))
    np.testing.assert_array_equal(narrowed.radii(1, 1, 0.5), bank.radii(1, 1, 0.5))
    for arm in range(arms):
        gram = 0.5 * np.eye(dim)
        for (place, row, contexts, _, _), weights in ((told, told[4]), (pending, np.ones(count))):
            for n in np.flatnonzero(place == arm):
                gram += weights[n] * np.outer(contexts[row[n]], contexts[row[n]])
        assert narrowed.lengths(x)[arm] == pytest.approx(np.sqrt(x @ np.linalg.solve(gram, x)), rel=1e-9)


def test_what_does_not_fit_is_refused_by_name_and_changes_nothing() -> None:
    x, one, none = np.array([0.6, 0.8]), np.ones(1), np.zeros(1, dtype=np.int64)
    for ridges, size in ((RidgeBank(2, 2), 2), (Hybrid(2, 1, 1), 2)):
        before = ridges.version
        for arm in (-1, 2, 2**40):
            with pytest.raises(UnknownArm, match=f"arm {arm} of 2"):
                ridges.update(arm, x, 1.0)
            with pytest.raises(UnknownArm):
                ridges.revise(arm, x, 1.0, None)
        for context in (np.zeros(3), np.zeros(0), np.array([0.1, np.nan]), np.array([np.inf, 0.0])):
            with pytest.raises(InvalidContext):
                ridges.update(0, context, 1.0)
        with pytest.raises((ValueError, TypeError)):
            ridges.update(0, np.zeros((2, 2)), 1.0)
        with pytest.raises(InvalidReward, match="nan"):
            ridges.update(0, x, float("nan"))
        for revised in ((float("nan"), None), (1.0, float("inf"))):
            with pytest.raises(InvalidReward, match="must be finite"):
                ridges.revise(0, x, *revised)
        for way in (ridges.update_many, ridges.gather):
            with pytest.raises(UnknownArm, match="arm 2 of 2"):
                way(none + 2, none, x[None], one, one)
            for row in (-1, 1):
                with pytest.raises(UnknownArm, match=f"context {row} of 1"):
                    way(none, none + row, x[None], one, one)
            with pytest.raises(UnknownArm, match=f"contexts of {size} features"):
                way(none, none, np.zeros((1, 3)), one, one)
            with pytest.raises(InvalidReward):
                way(none, none, x[None], one * np.inf, one)
            with pytest.raises(InvalidContext):
                way(none, none, x[None] * np.nan, one, one)
            with pytest.raises(ValueError, match="for each reward"):
                way(none, none, x[None], np.ones(2), one)
            way(none[:0], none[:0], np.zeros((0, 2)), one[:0], one[:0])
        with pytest.raises(UnknownArm):
            ridges.over(np.array([0, 2]))
        assert ridges.version == before
    bank = RidgeBank(2, 2)
    for wrong in (np.zeros((2, 2, 2)), np.zeros((3, 2, 2, 2))):
        with pytest.raises(ValueError):
            bank.narrowed(wrong.astype(np.int64))
    with pytest.raises(ValueError, match="directions"):
        bank.deviations(x, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="sums must be finite"):
        bank.restore(np.full((2, 2, 3, 2), np.nan), bank.solved, bank.runs, bank.counts, 0)
    with pytest.raises(ValueError, match="an arm and a feature"):
        RidgeBank(0, 2)
    with pytest.raises(ValueError, match="feature that arms share"):
        Hybrid(1, 1, 0)
    with pytest.raises(ValueError, match="rows must be 2 of 1"):
        Hybrid(2, 1, 1).estimates(x[:1], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="read-only"):
        bank.sums[:] = 1.0


def test_contexts_may_be_read_only_strided_and_of_other_numbers() -> None:
    bank, other = RidgeBank(2, 2), RidgeBank(2, 2)
    wide = np.array([1.0, 5.0, 0.0, 5.0])
    wide.flags.writeable = False
    bank.update(1, wide[::2], 1.0)
    other.update(1, [1, 0], 1.0)
    same(bank, other)
    np.testing.assert_array_equal(bank.estimates(wide[::2]), other.estimates(np.array([1, 0])))


def test_the_greedy_arm_is_the_first_among_ties() -> None:
    assert greedy(np.array([0.0, 1.0, 1.0])) == 1
    assert greedy(np.array([np.nan, np.nan])) == -1
    assert greedy(np.zeros(0)) == -1
    np.testing.assert_array_equal(products(np.eye(2), [2.0, 3.0]), [2.0, 3.0])
    np.testing.assert_array_equal(products(np.zeros((0, 2)), np.zeros(0)), [0.0, 0.0])
    with pytest.raises(ValueError, match="must have 2 numbers, got 3"):
        products(np.zeros((3, 1)), np.zeros(2))


@given(seed=SEEDS, arms=st.integers(1, 4), dim=st.integers(1, 4), shared=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_a_hybrid_is_one_regression_of_joined_rows(seed: int, arms: int, dim: int, shared: int) -> None:
    rng = np.random.default_rng(seed)
    count, penalty = int(rng.integers(0, 40)), 10.0 ** float(rng.uniform(-2, 2))
    place, row, rows, rewards, weights = told = rewards_of(rng, count, arms, dim + shared)
    one, many = Hybrid(arms, dim, shared, penalty), Hybrid(arms, dim, shared, penalty)
    many.update_many(*told)
    gram, moment = penalty * np.eye(arms * dim + shared), np.zeros(arms * dim + shared)

    def joined(arm: int, x: Any) -> Any:
        whole = np.zeros(arms * dim + shared)
        whole[arm * dim : (arm + 1) * dim], whole[arms * dim :] = x[:dim], x[dim:]
        return whole

    for n in np.flatnonzero(place >= 0):
        x = rows[row[n]]
        one.update(int(place[n]), x, rewards[n], weights[n])
        gram += weights[n] * np.outer(joined(place[n], x), joined(place[n], x))
        moment += weights[n] * rewards[n] * joined(place[n], x)
    context, z = unit(rng, dim), unit(rng, arms, shared)
    asked = np.array([joined(arm, np.concatenate([context, z[arm]])) for arm in range(arms)])
    for hybrid in (one, many, one.copy(), pickle.loads(pickle.dumps(one))):
        same(hybrid.own, one.own)
        same(hybrid.shared, one.shared)
        np.testing.assert_allclose(
            hybrid.estimates(context, z), asked @ np.linalg.solve(gram, moment), rtol=1e-8, atol=1e-8
        )
        widths = np.sqrt(np.einsum("ki,ki->k", asked, np.linalg.solve(gram, asked.T).T))
        np.testing.assert_allclose(hybrid.widths(context, z), widths, rtol=1e-8)
        ratio = float(np.linalg.slogdet(gram / penalty)[1])
        assert hybrid.log_det_ratio == pytest.approx(ratio, abs=1e-8)
        assert hybrid.told == (place >= 0).sum()
