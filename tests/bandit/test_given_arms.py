"""Arms that come with the question are checked in one pass; the decision in one call is the long way's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, FixedBonusUCB, Greedy, Infex, LinTS, LinUCB, every, listed, stretched
from infex.arrays import columns_of
from infex.bandit.given_columns import given_columns, plain_rows
from infex.errors import InfexError, InvalidArms
from infex.kernels.compiling import plain_python
from tests.alike import unnamed

BASES: list[Any] = [
    Greedy(),
    LinUCB(),
    LinUCB(noise=0.3, bound=2.0, delta=1.0, scale=0.1),
    FixedBonusUCB(bonus=0.7),
]
policies = st.one_of(
    st.sampled_from(BASES),
    st.builds(
        Infex, st.sampled_from(BASES), st.sampled_from([every(1), every(3), stretched(1), listed([2, 5])])
    ),
)


def drawn(rng: np.random.Generator, dim: int, spread: float) -> Any:
    """Some arms, which may come twice; `spread` brings them near to each other."""
    rows = rng.normal(size=(int(rng.integers(1, 9)), dim)) * spread + rng.normal(size=dim)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * rng.choice([1.0, 1.5])
    return rows[rng.integers(len(rows), size=len(rows) + 1)]


@given(
    policy=policies,
    seed=st.integers(0, 999),
    dim=st.integers(1, 9),
    penalty=st.sampled_from([1e-9, 0.1, 1.0, 50.0]),
    spread=st.sampled_from([1.0, 1e-6]),
)
@settings(max_examples=10 if plain_python else 50, deadline=None)
@pytest.mark.filterwarnings("ignore::infex.SparseExploration", "ignore::infex.FewExplorations")
def test_the_short_way_is_the_long_way_to_the_last_bit(
    policy: Any, seed: int, dim: int, penalty: float, spread: float
) -> None:
    short, long = (Bandit(dim=dim, policy=policy, seed=seed, penalty=penalty) for _ in range(2))
    assert short._open_shortcut is not None
    rng = np.random.default_rng(seed)
    for _ in range(40):
        arms = drawn(rng, dim, spread)
        labels = [f"arm {k}" for k in range(len(arms))] if rng.random() < 0.3 else None
        one, two = short.ask(arms, labels), long.enter(long.decide(arms, labels))
        assert unnamed(one) == unnamed(two)
        assert [type(part) for part in one] == [type(part) for part in two]
        if rng.random() < 0.7:
            waiting = int(rng.integers(len(short.pending)))
            reward = float(rng.normal())
            short.tell(short.pending[waiting], reward)
            long.tell(long.pending[waiting], reward)
        assert short.digest() == long.digest()
    assert short.exploration() == long.exploration()


def test_another_policy_takes_over_at_once() -> None:
    bandit, arms = Bandit(dim=2, policy=Greedy()), np.eye(2)
    assert not bandit.ask(arms).explored
    bandit.policy = LinUCB()
    assert bandit.ask(arms).explored
    bandit.policy = LinTS()
    assert bandit._open_shortcut is None
    assert bandit.ask(arms).probability is None


@pytest.mark.parametrize(
    "arms",
    [
        [[0.5, 0.0], [0.0, 2.0]],
        [[0.5, 0.0], [0.0, float("nan")]],
        [[0.5, 0.0], [float("inf"), 0.0]],
        [[1e200, 0.0]],
        [[1.0, 0.0, 0.0]],
        [[1.0, 0.0], [1.0]],
        [[]],
        [],
        [1.0, 0.0],
        [["a", "b"]],
        [[True, False]],
        [[1, 0], [0, 1]],
        np.eye(2, dtype=np.float32),
        np.asfortranarray(np.eye(2)[:, ::-1] / 2),
        np.full((3, 2, 2), 0.1),
        [[1.0 + 0.9e-9, 0.0]],
        [[1.0 + 1.1e-9, 0.0]],
        "ab",
        None,
    ],
    ids=repr,
)
@pytest.mark.parametrize("rescale", [False, True, None])
def test_one_pass_takes_and_refuses_what_the_plain_check_does(arms: Any, rescale: bool | None) -> None:
    try:
        expected: Any = columns_of(arms, dim=2, rescale=rescale).tolist()
    except InfexError as error:
        expected = str(error)
    try:
        found: Any = given_columns(arms, 2, rescale).tolist()
    except InfexError as error:
        found = str(error)
    assert found == expected


def test_what_is_refused_changes_nothing() -> None:
    bandit = Bandit(dim=2, policy=LinUCB())
    before = bandit.digest()
    for arms, labels in (
        ([[1.0, 1.0]], None),
        ([[np.nan, 0.0]], None),
        (np.eye(2), ["a"]),
        (np.eye(2), "ab"),
    ):
        with pytest.raises(InvalidArms):
            bandit.ask(arms, labels)
    assert bandit.digest() == before


def test_the_arms_of_the_caller_are_not_kept() -> None:
    bandit, arms = Bandit(dim=2, policy=Greedy()), np.eye(2)
    decision = bandit.ask(arms)
    arms[:] = 0.1
    bandit.tell(decision, 1.0)
    assert bandit.estimates(np.eye(2)).estimate.tolist() == [0.5, 0.0]


def test_rows_that_are_plain_are_not_copied() -> None:
    arms = np.eye(3)
    assert plain_rows(arms, 3) is arms
    assert plain_rows(arms, 2) is None
