"""Features that are added to a bandit: what was learnt stays, as if they had been 0 before."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, guarded
from infex.errors import InvalidRound, InvalidSetting, NotKept
from infex.features import disjoint, interactions, joined, table
from infex.models import Discounted, Lasso, Logistic, Ridge, Windowed
from infex.models.extension import FeatureExtension
from infex.policies import GreedyFirst, RarelySwitchingUCB, Uniform
from infex.registry import from_record, to_record

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.5]])
ESTIMATORS = [None, Ridge(penalty=0.3), Logistic(), Lasso(), Discounted(rate=0.9), Windowed(size=9)]
NARROW = table({"age": (18, 90)}, {"country": ["FR", "DE"]}, missing="flag", unseen="flag")
WIDE = table(
    {"age": (18, 90), "visits": (0, 10)},
    {"country": ["FR", "DE", "IT"], "device": ["phone", "desk"]},
    missing="flag",
    unseen="flag",
)
MORE: dict[str, Any] = {
    "numbers": {"visits": (0, 10)},
    "categories": {"country": ["IT"], "device": ["phone", "desk"]},
}


def map_of(kind: str, **how: Any) -> Any:
    return disjoint(["x", "y", "z"], **how) if kind == "disjoint" else interactions(ARMS, labels="xyz", **how)


def visitors(seed: int, count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    kinds = ["FR", "DE", "IT", None]
    ages = rng.uniform(18, 90, count).tolist()
    return [{"age": age, "country": kinds[rng.integers(4)]} for age in ages]


def as_if_zero(encoder: Any, context: dict[str, Any]) -> Any:
    """The features of an earlier context among those of the wide table, by name, 0 where there were none."""
    known = dict(zip(encoder.names, encoder.rows([context])[0], strict=True))
    return np.array([known.get(name, 0.0) for name in WIDE.names])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("kind", ["disjoint", "interactions"])
def test_an_extended_table_knows_what_one_that_was_wide_all_along_would(kind: str, estimator: Any) -> None:
    """The wide one is told the same rows as plain vectors, with 0 for what was not there."""
    near = 1e-2 if isinstance(estimator, Logistic) else 1e-7  # which may be fitted to so many digits
    bandit = Bandit(features=map_of(kind, context=NARROW), policy=Uniform(), estimator=estimator, penalty=0.4)
    vectors = map_of(kind, context_dim=WIDE.size, longest=WIDE.longest)
    wide = Bandit(features=vectors, policy=Uniform(), estimator=estimator, penalty=0.4)
    for t, context in enumerate(visitors(1, 40)):
        reward = float(math.sin(t) > 0)
        bandit.tell(bandit.ask(context=context), reward)
        wide.tell(wide.ask(context=as_if_zero(NARROW, context)), reward)
    late = bandit.ask(context=visitors(2, 1)[0]), wide.ask(context=as_if_zero(NARROW, visitors(2, 1)[0]))
    bandit.extend(**MORE)
    assert (bandit.names, bandit.penalty) == (WIDE.names, wide.penalty)
    assert bandit.pulls.tolist() == wide.pulls.tolist()  # type: ignore[union-attr]
    np.testing.assert_allclose(bandit.theta, wide.theta, rtol=near, atol=near / 100)
    bandit.tell(late[0], 1.0)
    wide.tell(late[1], 1.0)
    for t, context in enumerate(visitors(3, 20)):
        full = context | {"visits": t / 2, "device": "desk"}
        one, other = bandit.ask(context=full), wide.ask(context=WIDE.rows([full])[0])
        assert one[1:6] == other[1:6]
        assert one[6:9] == pytest.approx(other[6:9], rel=10 * near, abs=near)
        bandit.tell(one, float(t % 2))
        wide.tell(other, float(t % 2))
    np.testing.assert_allclose(bandit.theta, wide.theta, rtol=near, atol=near / 100)


@given(
    seed=st.integers(0, 10**6),
    more=st.integers(1, 3),
    stretch=st.sampled_from([1.0, 1.7, 30.0]),
    penalty=st.sampled_from([1e-5, 0.5, 1.0]),
)
@settings(max_examples=25, deadline=None)
def test_plain_contexts_get_more_features(seed: int, more: int, stretch: float, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    bandit = Bandit(features=disjoint(2, 3, longest=4), policy=Uniform(), seed=seed, penalty=penalty)
    wide = Bandit(
        features=disjoint(2, 3 + more, longest=4 * stretch), policy=Uniform(), seed=seed, penalty=penalty
    )
    for t in range(25):
        context = rng.uniform(-2, 2, 3)
        bandit.tell(bandit.ask(context=context), math.sin(t))
        wide.tell(wide.ask(context=[*context, *[0.0] * more]), math.sin(t))
    bandit.extend(more, longest=4 * stretch)
    np.testing.assert_allclose(bandit.theta, wide.theta, rtol=1e-8, atol=1e-10)
    full = rng.uniform(-1, 1, 3 + more)
    one, other = bandit.posterior(context=full), wide.posterior(context=full)
    np.testing.assert_allclose(one.widths, other.widths, rtol=1e-8)
    assert one.log_det_ratio == pytest.approx(other.log_det_ratio, rel=1e-9)
    assert (bandit.penalty, bandit._prior) == (penalty, wide._prior)
    bandit.apply(wide.changes())


@pytest.mark.parametrize("fixed", [True, False], ids=["fixed arms", "arms that change"])
def test_arms_get_more_features(fixed: bool, tmp_path: Path) -> None:
    policy = Infex(LinUCB(), every(3))
    padded = np.hstack([ARMS, np.zeros((3, 2))])
    narrow = (
        Bandit(ARMS, policy, labels=[*"xyz"], allowed=[True, True, False])
        if fixed
        else Bandit(dim=2, policy=policy)
    )
    wide = (
        Bandit(padded, policy, labels=[*"xyz"], allowed=[True, True, False])
        if fixed
        else Bandit(dim=4, policy=policy)
    )
    for t in range(20):
        one = narrow.ask() if fixed else narrow.ask(ARMS)
        other = wide.ask() if fixed else wide.ask(padded)
        assert one[1:6] == other[1:6]
        if t % 4:
            narrow.tell(one, math.sin(t))
            wide.tell(other, math.sin(t))
    narrow.extend(2)
    assert (narrow.labels, narrow.t) == (wide.labels, wide.t)
    for mine, theirs in zip(narrow.pending, wide.pending, strict=True):
        narrow.tell(mine, 0.5)
        wide.tell(theirs, 0.5)
    np.testing.assert_allclose(narrow.theta, wide.theta, rtol=1e-12, atol=1e-15)
    if fixed:
        assert narrow.pulls.tolist() == wide.pulls.tolist()  # type: ignore[union-attr]
        assert narrow.allowed.tolist() == [True, True, False]  # type: ignore[union-attr]
        narrow.add_arms([[0.1, 0.2, 0.3, 0.4]], ["new"])
        assert narrow.ask().t == 21
    narrow.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex").digest() == narrow.digest()


@pytest.mark.parametrize(
    "policy",
    [
        Infex(LinTS(), every(2), data="own"),
        Infex(LinUCB(bound=0.0), guarded(every(2), 1.0)),
        RarelySwitchingUCB(bound=0.0),
        Infex(RarelySwitchingUCB(bound=0.0), every(2)),
        GreedyFirst(LinUCB(bound=0.0)),
    ],
    ids=repr,
)
def test_every_policy_goes_on(policy: Any, tmp_path: Path) -> None:
    """With its note, of which the parameter of the last switch is one of the features too.

    A bound is one of rewards, whatever `longest` is, so that radii of both agree where it is 0.
    """
    bandit = Bandit(features=disjoint(["x", "y"], 2, longest=2), policy=policy)
    wide = Bandit(features=disjoint(["x", "y"], 3, longest=5), policy=policy)
    alike = not isinstance(policy, Infex) or policy.data != "own"  # samples have a draw for each feature
    rng = np.random.default_rng(7)
    for t in range(60):
        if t == 30:
            before = bandit.exploration()
            bandit.extend(1, longest=5)
            assert (bandit.exploration(), bandit.narrows) == (before, True)
            if alike:
                seen, other = (each.posterior(context=[0.3, 0.1, 0.2]).narrowed for each in (bandit, wide))
                np.testing.assert_allclose(seen.widths, other.widths, rtol=1e-9)
            bandit.save(tmp_path / "x.infex")
            assert Bandit.load(tmp_path / "x.infex").digest() == bandit.digest()
        context = rng.uniform(-1, 1, 2)
        full = [*context, 0.0]
        one, two = bandit.ask(context=full if t >= 30 else context), wide.ask(context=full)
        if alike:
            assert one.arm == two.arm
            assert one.explored == two.explored
        if t % 5:
            bandit.tell(one, math.sin(t))
            wide.tell(two, math.sin(t))


def test_a_decision_of_before_cannot_be_entered_and_a_pending_one_can_be_told() -> None:
    bandit = Bandit(features=disjoint(["x", "y"], context=NARROW), policy=Greedy())
    context = {"age": 30, "country": "FR"}
    waiting = [bandit.ask(context=context) for _ in range(3)]
    decided = from_record(to_record(bandit.decide(context=context)))
    before = bandit.digest()
    bandit.extend(numbers={"visits": (0, 10)})
    assert bandit.digest() != before
    assert [decision.id for decision in bandit.pending] == [decision.id for decision in waiting]
    with pytest.raises(InvalidRound, match="have changed since"):
        bandit.enter(decided)
    other = copy.deepcopy(bandit)
    for each in (bandit, other):
        each.tell(waiting[1].id, 1.0)
    assert other.digest() == bandit.digest()
    assert bandit.theta[0][bandit.names.index("visits")] == 0.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("make", "how", "message"),
    [
        (lambda: Bandit(ARMS, Greedy()), {}, "more must be said"),
        (lambda: Bandit(ARMS, Greedy()), {"more": 0}, "more must be at least 1, got 0"),
        (lambda: Bandit(ARMS, Greedy()), {"more": 1, "longest": 2.0}, "longest goes with contexts"),
        (lambda: Bandit(ARMS, Greedy()), {"numbers": {"a": (0, 1)}}, "have no names: say how many"),
        (
            lambda: mapped(disjoint(2, 2, longest=3)),
            {"more": 1, "longest": 2.0},
            "longest must be at least 3, got 2",
        ),
        (lambda: mapped(disjoint(2, context=NARROW)), {"more": 1}, "have names: give further `numbers`"),
        (lambda: mapped(disjoint(2, 2, longest=3)), {"more": 1, "longest": 1e9}, "a penalty of 1 is 1e-18"),
        (lambda: mapped(disjoint(2, context=NARROW)), {}, "have names: give further `numbers`"),
        (lambda: mapped(disjoint(2, context=NARROW)), {"numbers": {"age": (0, 1)}}, "got 'age' 2 times"),
        (
            lambda: mapped(disjoint(2, context=NARROW)),
            {"categories": {"country": ["FR"]}},
            "must differ, got 'FR'",
        ),
        (lambda: mapped(joined(lambda x, arm: [x], [0.1], 1)), {"more": 1}, "with code of yours"),
    ],
)
def test_what_cannot_be_extended_is_left_as_it_was(make: Any, how: Any, message: str) -> None:
    bandit = make()
    before = bandit.digest()
    with pytest.raises((InvalidSetting, NotKept), match=message):
        bandit.extend(**how)
    assert bandit.digest() == before


def mapped(features: Any, **how: Any) -> Bandit:
    return Bandit(features=features, policy=Greedy(), **how)


def test_scores_stay_when_features_come() -> None:
    rng = np.random.default_rng(3)
    widening = FeatureExtension(4, np.array([0, 2, 3]), 0.4)
    rows, theta = rng.standard_normal((5, 6)), rng.standard_normal(6)  # two blocks
    wide = widening.rows(rows)
    assert wide.shape == (5, 8)
    np.testing.assert_array_equal(wide[:, [1, 5]], 0.0)
    np.testing.assert_allclose(wide @ widening.parameter(theta), rows @ theta, rtol=1e-12)


@given(seed=st.integers(0, 10**6), scale=st.floats(0.01, 1.0))
@settings(max_examples=30, deadline=None)
def test_sums_are_brought_to_more_features_without_loss(seed: int, scale: float) -> None:
    """As pairs of floats: against fractions."""
    from fractions import Fraction

    rng = np.random.default_rng(seed)
    places = np.sort(rng.permutation(5)[:3])
    truth = np.zeros((2, 4, 3))
    truth[0] = rng.standard_normal((4, 3)) * 1e8
    truth[1] = rng.standard_normal((4, 3)) * 1e-9
    wide = FeatureExtension(5, places, scale).sums(truth)
    assert wide.shape == (2, 6, 5)
    assert not np.triu(wide[0, :-1], 1).any()
    factors = Fraction(scale**2), Fraction(scale)
    for i in range(4):
        for j in range(3 if i == 3 else i + 1):
            exact = (Fraction(truth[0, i, j]) + Fraction(truth[1, i, j])) * factors[i == 3]
            to = 5 if i == 3 else places[i]
            found = Fraction(wide[0, to, places[j]]) + Fraction(wide[1, to, places[j]])
            assert abs(found - exact) <= Fraction(1e-28) * abs(Fraction(1e8))
    assert np.count_nonzero(wide[0]) == 9
