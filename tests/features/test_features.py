"""Feature maps, and bandits that are asked with a context."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, Infex, InfexError, LinTS, LinUCB, every, features, guarded
from infex.errors import CannotLoad, CannotMerge, InvalidArms, InvalidContext
from infex.features import FeatureMap, disjoint, interactions, joined
from infex.policies import Uniform
from infex.testing import SlowRidge
from infex.testing.reference import Pull
from tests.alike import unnamed

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.5]])
FIXED = (np.array([0.3, 0.4]), np.array([-0.8, 0.1]))


def contexts(seed: int, dim: int, rounds: int) -> Any:
    """Rows no longer than 1."""
    rows = np.random.default_rng(seed).standard_normal((rounds, dim))
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]


def by_hand(context: Any, arm: Any) -> Any:
    return np.outer(arm, context).ravel()


@given(seed=st.integers(0, 10**6), arms=st.integers(1, 5), dim=st.integers(1, 4), longest=st.floats(0.1, 50))
@settings(max_examples=60, deadline=None)
def test_rows_are_those_built_by_hand_and_no_longer_than_one(
    seed: int, arms: int, dim: int, longest: float
) -> None:
    (context,) = longest * contexts(seed, dim, 1)
    table = contexts(seed + 1, 3, arms)
    found = interactions(table, dim, longest=longest)
    assert (found.dim, found.count) == (3 * dim, arms)
    rows = found(context)
    np.testing.assert_allclose(rows, [by_hand(context / longest, arm) for arm in table], atol=1e-15)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    blocks = disjoint(arms, dim, longest=longest)
    assert blocks.dim == arms * dim
    expected = np.zeros((arms, arms, dim))
    expected[np.arange(arms), np.arange(arms)] = context / longest
    np.testing.assert_allclose(blocks(context), expected.reshape(arms, -1), atol=1e-15)
    same = joined(by_hand, list(table), 3 * dim, longest=longest)
    np.testing.assert_allclose(same(context), rows, atol=1e-15)


@pytest.mark.parametrize(
    "policy", [Infex(LinUCB(), every(3)), LinTS(), Infex(Uniform(), guarded(every(2), 2))]
)
def test_asking_with_a_context_is_asking_with_the_rows(policy: Any) -> None:
    rule = interactions(ARMS, 2, labels=["a", "b", "c"])
    short, long = Bandit(features=rule, policy=policy, seed=2), Bandit(dim=4, policy=policy, seed=2)
    for t, context in enumerate(contexts(1, 2, 40)):
        rows = [by_hand(context, arm) for arm in ARMS]
        mask = [True, t % 2 == 0, True]
        one, other = short.ask(context=context, allowed=mask), long.ask(rows, ["a", "b", "c"], allowed=mask)
        assert unnamed(one) == unnamed(other)
        assert one.label == "abc"[one.arm]
        short.tell(one, math.sin(t))
        long.tell(other, math.sin(t))
    mine = short.estimates(context=FIXED[0])
    theirs = long.estimates([by_hand(FIXED[0], arm) for arm in ARMS], ["a", "b", "c"])
    for name in ("label", "estimate", "low", "high"):
        assert mine[name].tolist() == theirs[name].tolist()
    assert (mine.pulls.sum(), theirs.pulls.sum()) == (40, 0)  # rows have no arm to count them by
    np.testing.assert_array_equal(
        short.posterior(context=FIXED[1]).widths,
        long.posterior([by_hand(FIXED[1], arm) for arm in ARMS]).widths,
    )


@given(seed=st.integers(0, 10**6), arms=st.integers(1, 4), dim=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_a_disjoint_bandit_is_a_ridge_regression_for_each_arm(seed: int, arms: int, dim: int) -> None:
    bandit = Bandit(features=disjoint(arms, dim), policy=Uniform(), seed=seed, penalty=0.5)
    seen = contexts(seed, dim, 41)
    pulls: dict[int, list[Pull]] = {k: [] for k in range(arms)}
    for t in range(40):
        decision = bandit.ask(context=seen[t])
        pulls[decision.arm].append(Pull(t, math.sin(t), True))
        bandit.tell(decision, math.sin(t))
    apart = [SlowRidge(seen, pulls[k], 0.5) for k in range(arms)]
    posterior = bandit.posterior(context=seen[40])
    np.testing.assert_allclose(posterior.estimates, [r.estimates()[40] for r in apart], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.widths, [ridge.widths()[40] for ridge in apart], rtol=1e-9)
    assert posterior.log_det_ratio == pytest.approx(sum(ridge.log_det_ratio() for ridge in apart))


def test_labels_come_from_the_map() -> None:
    assert disjoint(["tea", 7], 2).labels == ("tea", 7)
    assert disjoint(2, 2).labels is None
    assert joined(by_hand, ["a", "b"], 2).labels == ("a", "b")
    assert joined(by_hand, [{"price": 3}], 2).labels is None
    assert joined(by_hand, [{"price": 3}], 2, labels=["cheap"]).labels == ("cheap",)
    bandit = Bandit(features=disjoint(["tea", "coffee"], 2), policy=Greedy())
    assert bandit.estimates(context=[0, 1]).label.tolist() == ["tea", "coffee"]
    assert "2 arms in a context of 4 features" in repr(bandit)
    assert repr(disjoint(3, 2)) == "Disjoint(3 arms, contexts of 2)"
    assert repr(joined(by_hand, ["a"], 2)) == "Joined(by_hand, 1 arms, 2 features)"


def test_a_map_cannot_be_changed_and_equals_its_like() -> None:
    found = disjoint(["a", "b"], 2)
    with pytest.raises(AttributeError):
        found.longest = 3.0  # type: ignore[misc]
    table = interactions(np.eye(2), 2, labels=["a", "b"])
    with pytest.raises(ValueError, match="read-only"):
        table.arms[0, 0] = 2.0
    assert hash(found) == hash(disjoint(["a", "b"], 2))
    assert found != disjoint(2, 2)
    assert isinstance(found, FeatureMap)


def test_a_map_of_ones_own_needs_four_words() -> None:
    class Squares:
        dim, count, labels = 2, 2, ("x", "y")

        def __call__(self, context: float) -> Any:
            return [[context, 0.0], [0.0, context**2]]

    bandit = Bandit(features=Squares(), policy=LinUCB())
    assert bandit.ask(context=0.5).label == "x"


def test_allowed_holds_for_the_arms_of_the_map(tmp_path: Path) -> None:
    bandit = Bandit(features=disjoint(3, 2), policy=Infex(Uniform(), every(1)), allowed=[True, False, False])
    assert {bandit.ask(context=[0.6, 0.8]).arm for _ in range(20)} == {0}
    bandit.allowed = [False, True, True]
    bandit.save(tmp_path / "a.infex")
    loaded = Bandit.load(tmp_path / "a.infex")
    assert {loaded.ask(context=[0.6, 0.8], allowed=[True, True, False]).arm for _ in range(20)} == {1}
    with pytest.raises(InvalidArms, match="for each of 3 arms"):
        bandit.allowed = [True]


@pytest.mark.parametrize("rule", [disjoint(["a", "b"], 2, longest=3), interactions(ARMS, 2)], ids=repr)
@pytest.mark.parametrize("policy", [LinTS(), Infex(LinUCB(), every(2), data="own")])
def test_a_bandit_with_features_is_saved_and_goes_on_exactly(tmp_path: Path, rule: Any, policy: Any) -> None:
    bandit = Bandit(features=rule, policy=policy)
    for t, context in enumerate(contexts(3, 2, 30)):
        decision = bandit.ask(context=context)
        if t % 3:
            bandit.tell(decision, math.sin(t))
    bandit.save(tmp_path / "a.infex")
    loaded = Bandit.load(tmp_path / "a.infex")
    assert loaded.features == rule
    assert loaded.pending == bandit.pending
    for waiting in bandit.pending:
        bandit.tell(waiting, 0.5)
        loaded.tell(waiting, 0.5)
    for context in contexts(4, 2, 30):
        one, other = bandit.ask(context=context), loaded.ask(context=context)
        assert unnamed(one) == unnamed(other)
        bandit.tell(one, 1.0)
        loaded.tell(other, 1.0)


def test_a_function_is_given_again_when_a_bandit_is_loaded(tmp_path: Path) -> None:
    rule = joined(by_hand, list(ARMS), 4)
    bandit = Bandit(features=rule, policy=LinUCB())
    bandit.tell(bandit.ask(context=FIXED[0]), 1.0)
    bandit.save(tmp_path / "a.infex")
    with pytest.raises(CannotLoad, match=r"load it with features=, it was Joined"):
        Bandit.load(tmp_path / "a.infex")
    with pytest.raises(CannotLoad, match="a map of 4 features, got Disjoint"):
        Bandit.load(tmp_path / "a.infex", features=disjoint(3, 2))
    loaded = Bandit.load(tmp_path / "a.infex", features=rule)
    assert unnamed(loaded.ask(context=FIXED[1])) == unnamed(bandit.ask(context=FIXED[1]))
    Bandit(ARMS, LinUCB()).save(tmp_path / "b.infex")
    with pytest.raises(CannotLoad, match="no feature map, got Disjoint"):
        Bandit.load(tmp_path / "b.infex", features=disjoint(1, 2))


def test_bandits_with_one_map_add_up_and_others_do_not() -> None:
    one, other = (Bandit(features=disjoint(["a", "b"], 2), policy=LinUCB(), seed=s) for s in (0, 1))
    for bandit, reward in ((one, 1.0), (other, -1.0)):
        bandit.tell(bandit.ask(context=[0.6, 0.8]), reward)
    one.apply(other.changes())
    assert one.estimates(context=[0.6, 0.8]).estimate[0] == pytest.approx(0.0)
    with pytest.raises(CannotMerge, match="features must agree"):
        one.apply(Bandit(features=disjoint(2, 2), policy=LinUCB()).changes())
    with pytest.raises(CannotMerge, match="must agree"):
        one.apply(Bandit(dim=4, policy=LinUCB()).changes())


def shop() -> Bandit:
    return Bandit(features=disjoint(2, 3, longest=2), policy=LinUCB())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: shop().ask(), InvalidContext, "give `context`"),
        (lambda: shop().estimates(), InvalidContext, "joined with a context"),
        (lambda: shop().ask(np.eye(6)), InvalidContext, "a context must be 3 finite numbers"),
        (lambda: shop().ask(context=[1, 0, 0], labels=["a", "b"]), InvalidArms, "come from the feature map"),
        (lambda: shop().estimates(np.eye(6), context=[1, 0, 0]), InvalidArms, "come from the feature map"),
        (lambda: Bandit(ARMS, LinUCB()).ask(context=[1.0]), InvalidContext, "no feature map for a context"),
        (lambda: Bandit(dim=2, policy=LinUCB()).ask(ARMS, context=[1.0]), InvalidContext, "no feature map"),
        (lambda: Bandit(ARMS, LinUCB()).estimates(context=[1.0]), InvalidContext, "no feature map"),
        (
            lambda: shop().ask(context=[2, 1, 0]),
            InvalidContext,
            "a context must be no longer than longest=2, got one of length 2.23607",
        ),
        (lambda: shop().ask(context=[1, 0]), InvalidContext, r"must be 3 finite numbers, got 2"),
        (lambda: shop().ask(context=[1, math.nan, 0]), InvalidContext, "must be 3 finite numbers"),
        (lambda: shop().ask(context="abc"), InvalidContext, "must be 3 finite numbers, got a str"),
        (lambda: shop().ask(context=[1, [2], 3]), InvalidContext, "must be 3 finite numbers"),
        (lambda: shop().ask(context=[True, True, True]), InvalidContext, "must be 3 finite numbers"),
        (
            lambda: shop().add_arms("tea"),
            InfexError,
            "how many arms to add must be a whole number, got 'tea'",
        ),
        (lambda: Bandit(features=disjoint(2, 2), policy=LinUCB(), labels="ab"), InvalidArms, "go with it"),
        (lambda: Bandit(ARMS, LinUCB(), features=disjoint(2, 2)), InfexError, "give either the arms or"),
        (lambda: Bandit(policy=LinUCB()), InfexError, "give either the arms or"),
        (lambda: Bandit(features=disjoint, policy=LinUCB()), InfexError, "features must be a map"),
        (lambda: disjoint(0, 2), InfexError, "the number of arms must be at least 1, got 0"),
        (lambda: disjoint("ab", 2), InfexError, "the number of arms must be a whole number, got 'ab'"),
        (lambda: disjoint([], 2), InvalidArms, "at least one"),
        (lambda: disjoint(["a", "a"], 2), InvalidArms, "labels must differ, got 'a' 2 times"),
        (lambda: disjoint(2, 0), InfexError, "context_dim must be at least 1, got 0"),
        (lambda: disjoint(2, 2, longest=0), InfexError, "longest must be above 0, got 0"),
        (lambda: interactions(2 * ARMS, 2), InvalidArms, "no longer than 1"),
        (lambda: interactions(ARMS, 2, labels=["a"]), InvalidArms, "as many as the arms, 3, got 1"),
        (lambda: joined(3, ["a"], 2), InfexError, "function must be one of a context and an arm, got 3"),
        (lambda: joined(by_hand, [], 2), InvalidArms, "at least one arm, got none"),
        (
            lambda: joined(lambda context, arm: [arm, 2.0], [0.1, 0.2], 2)(1),
            InvalidContext,
            "the features of arm 0 must be no longer than longest=1, got one of length 2.0025",
        ),
        (
            lambda: joined(lambda context, arm: [arm], [0.1, 0.2], 2)(1),
            InvalidContext,
            r"the features of arm 0 must be 2 finite numbers, got 1",
        ),
    ],
)
def test_what_does_not_fit_is_named(make: Any, error: type[InfexError], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_refused_context_changes_nothing() -> None:
    bandit = shop()
    with pytest.raises(InvalidContext):
        bandit.ask(context=[9, 9, 9])
    assert (bandit.t, bandit.pending) == (0, ())
    assert features.disjoint is disjoint


class Counting:
    """An encoder that counts the contexts it has read."""

    names, size, longest = ("a", "b"), 2, 1.0

    def __init__(self) -> None:
        self.read = 0

    def encode(self, context: Any) -> features.Encoded:
        self.read += 1
        return features.Encoded(np.array([context["a"], context["b"]]))

    def encode_many(self, contexts: Any) -> features.EncodedMany:
        raise NotImplementedError


@pytest.mark.parametrize("kind", ["disjoint", "interactions", "hybrid"])
def test_a_context_is_encoded_once_for_each_request(kind: str) -> None:
    encoder = Counting()
    crossed = features.interactions(np.eye(2), context=encoder)
    maps: dict[str, Any] = {
        "disjoint": features.disjoint(2, context=encoder),
        "interactions": crossed,
        "hybrid": features.hybrid(crossed),
    }
    bandit = Bandit(features=maps[kind], policy=Infex(LinUCB(), every(3)))
    for asked in range(1, 10):
        bandit.tell(bandit.ask(context={"a": 0.5, "b": asked / 20}), 1.0)
        assert encoder.read == asked
    bandit.ask_many([{"a": 0.1, "b": 0.2}] * 5)
    assert encoder.read == 14
