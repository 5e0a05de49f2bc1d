"""Arms that come with the request: they are checked, copied, and asked about in one call or in two."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, listed, stretched
from infex.arrays import columns_of
from infex.errors import InfexError, InvalidArms
from infex.policies import FixedBonusUCB
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
@settings(max_examples=50, deadline=None)
@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_ask_is_decide_and_enter_to_the_last_bit(
    policy: Any, seed: int, dim: int, penalty: float, spread: float
) -> None:
    asking, entering = (Bandit(dim=dim, policy=policy, seed=seed, penalty=penalty) for _ in range(2))
    rng = np.random.default_rng(seed)
    for _ in range(40):
        arms = drawn(rng, dim, spread)
        labels = [f"arm {k}" for k in range(len(arms))] if rng.random() < 0.3 else None
        one, two = asking.ask(arms, labels), entering.enter(entering.decide(arms, labels))
        assert unnamed(one) == unnamed(two)
        assert [type(part) for part in one] == [type(part) for part in two]
        if rng.random() < 0.7:
            waiting = int(rng.integers(len(asking.pending)))
            reward = float(rng.normal())
            asking.tell(asking.pending[waiting], reward)
            entering.tell(entering.pending[waiting], reward)
        assert asking.digest() == entering.digest()
    assert asking.exploration() == entering.exploration()


def test_another_policy_takes_over_at_once() -> None:
    bandit, arms = Bandit(dim=2, policy=Greedy()), np.eye(2)
    assert not bandit.ask(arms).explored
    bandit.policy = LinUCB()
    assert bandit.ask(arms).explored
    bandit.policy = LinTS()
    assert bandit.ask(arms).propensity is None


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
@pytest.mark.parametrize("rescale", [False, True])
def test_arms_are_taken_and_refused_as_those_of_a_bandit_are(arms: Any, rescale: bool) -> None:
    try:
        expected: Any = columns_of(arms, dim=2, rescale=rescale).tolist()
    except InfexError as error:
        expected = str(error)
    bandit = Bandit(dim=2, policy=Greedy(), rescale=rescale)
    if isinstance(expected, list):
        assert bandit.ask(arms).arm < len(expected[0])
        return
    with pytest.raises(InvalidArms) as caught:
        bandit.ask(arms)
    assert arms is None or str(caught.value) == expected


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
