"""The common decision in one call is the long way's, to the last bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    FixedBonusUCB,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    Uniform,
    budget,
    estimators,
    every,
    features,
    guarded,
    jittered,
    listed,
    logarithmic,
    stretched,
)
from infex.errors import InvalidChoice
from infex.kernels.compiling import plain_python
from infex.testing import odd_boards, problem
from tests.alike import all_unnamed, unnamed
from tests.bandit.test_replay import state

BASES: list[Any] = [
    Greedy(),
    LinUCB(),
    LinUCB(noise=0.3, bound=2.0, delta=1.0, scale=0.1),
    LinUCB(scale=0.0),
    FixedBonusUCB(bonus=0.7),
]
policies = st.one_of(
    st.sampled_from(BASES),
    st.builds(
        Infex,
        st.sampled_from(BASES),
        st.sampled_from([every(1), every(3), stretched(1), logarithmic(2), listed([2, 3, 11])]),
    ),
)


@given(
    policy=policies,
    seed=st.integers(0, 999),
    arms=st.integers(1, 9),
    dim=st.integers(1, 4),
    penalty=st.sampled_from([1e-8, 0.1, 1.0, 50.0]),
    labelled=st.booleans(),
)
@settings(max_examples=15 if plain_python else 150, deadline=None)
@pytest.mark.filterwarnings("ignore::infex.SparseExploration", "ignore::infex.FewExplorations")
def test_both_ways_agree_to_the_last_bit(
    policy: Any, seed: int, arms: int, dim: int, penalty: float, labelled: bool
) -> None:
    board = problem(seed, arms=arms, dim=dim, horizon=1).arms
    labels = [f"arm {k}" for k in range(arms)] if labelled else None
    compare(board, policy, seed, penalty, labels)


@pytest.mark.parametrize("board", odd_boards())
@pytest.mark.parametrize("policy", [*BASES, Infex(LinUCB(), every(2))], ids=repr)
def test_both_ways_agree_on_odd_boards(board: str, policy: Any) -> None:
    compare(odd_boards()[board], policy, 3, 1.0, None)


def compare(board: Any, policy: Any, seed: int, penalty: float, labels: Any) -> None:
    short, long = (Bandit(board, policy, seed=seed, penalty=penalty, labels=labels) for _ in range(2))
    rng = np.random.default_rng(seed)
    assert short._player.shortcut is not None
    for _ in range(60):
        one, decided = short.ask(), long.decide()
        other = long.enter(decided)
        assert unnamed(one) == unnamed(other)
        assert [type(field) for field in one] == [type(field) for field in other]
        if rng.random() < 0.8:
            place = int(rng.integers(len(short.pending)))
            reward = float(rng.standard_normal())
            for bandit in (short, long):
                bandit.tell(bandit.pending[place], reward)
        if rng.random() < 0.03 and len(short.arms) > 1:
            for bandit in (short, long):
                bandit.remove_arms(bandit.labels[0] if bandit.labels else 0)
    first, second = state(short), state(long)
    assert (first[0], first[2:]) == (second[0], second[2:])


@given(
    policy=policies,
    seed=st.integers(0, 999),
    arms=st.integers(1, 9),
    dim=st.integers(1, 4),
    penalty=st.sampled_from([1e-8, 0.1, 1.0, 50.0]),
    told=st.sampled_from([0.0, 0.3, 0.9]),
    alike=st.booleans(),
)
@settings(max_examples=15 if plain_python else 150, deadline=None)
@pytest.mark.filterwarnings("ignore::infex.SparseExploration", "ignore::infex.FewExplorations")
def test_both_ways_agree_in_contexts_beside_what_is_pending(
    policy: Any, seed: int, arms: int, dim: int, penalty: float, told: float, alike: bool
) -> None:
    rng = np.random.default_rng(seed)
    shop = features.disjoint(arms, context_dim=dim)
    short, long = (Bandit(features=shop, policy=policy, seed=seed, penalty=penalty) for _ in range(2))
    for _ in range(60):
        context = np.full(dim, 0.3) if alike else rng.uniform(-0.5, 0.5, dim)
        one, other = short.ask(context=context), long.enter(long.decide(context=context))
        assert unnamed(one) == unnamed(other)
        assert [type(field) for field in one] == [type(field) for field in other]
        while len(short.pending) and rng.random() < told:
            place, reward = int(rng.integers(len(short.pending))), float(rng.standard_normal())
            for bandit in (short, long):
                bandit.tell(bandit.pending[place], reward)
    first, second = state(short), state(long)
    assert (first[0], first[2:]) == (second[0], second[2:])


@pytest.mark.parametrize(
    "policy",
    [
        LinTS(),
        Uniform(),
        LinUCB(ties="random"),
        Greedy(ties="random"),
        Softened(LinUCB()),
        Infex(LinUCB(), every(2), ties="random"),
        Infex(LinUCB(), every(2), data="own"),
        Infex(LinUCB(), jittered(3)),
        Infex(LinUCB(), guarded(every(2), 1.0)),
        Infex(LinTS(), every(2)),
        Infex(Infex(LinUCB(), every(2)), every(3)),
    ],
    ids=repr,
)
def test_what_draws_or_looks_at_limits_goes_the_long_way(policy: Any) -> None:
    assert Bandit(np.eye(2), policy)._player.shortcut is None


@pytest.mark.filterwarnings("ignore::infex.SparseExploration", "ignore::infex.FewExplorations")
def test_budgets_masks_estimators_and_rounds_owed_go_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError("the short way was taken")

    plain = Infex(LinUCB(), every(2))
    assert Bandit(np.eye(2), Infex(LinUCB(), budget(every(2), 3)))._player.shortcut is None
    masked = Bandit(np.eye(2), plain, allowed=[True, False])
    other = Bandit(np.eye(2), plain, estimator=estimators.Discounted())
    owing = Bandit(np.eye(2), plain)
    owing._player.account.owed = 1
    owing._player.account._spent = None
    monkeypatch.setattr("infex.linear.regression.kernels.glance", refuse)
    monkeypatch.setattr("infex.linear.regression.kernels.greedy_glance", refuse)
    for bandit in (masked, other, owing):
        assert bandit.ask().t == 1
    assert owing.exploration().made_up == 1
    with pytest.raises(AssertionError, match="short way"):
        Bandit(np.eye(2), plain).ask()


def test_where_no_score_is_a_number_both_ways_say_so() -> None:
    bandit = Bandit(np.eye(2), LinUCB(noise=1e300, scale=1e300))
    bandit._player.memory.all.truth[:] = np.nan  # type: ignore[attr-defined]
    bandit._player.memory.all._refresh()  # type: ignore[attr-defined]
    with pytest.raises(InvalidChoice, match="no arm has a finite score"):
        bandit.ask()
    assert bandit.t == 0


def test_an_exploring_ask_beside_pending_decisions_is_one_call_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError("the long way was taken")

    board = problem(3, arms=5, dim=2, horizon=1).arms
    short, long = (Bandit(board, Infex(LinUCB(), every(2))) for _ in range(2))
    slow = [long.enter(long.decide()) for _ in range(8)]
    monkeypatch.setattr("infex.rounds.player.Player.decide", refuse)
    assert all_unnamed(short.ask() for _ in range(8)) == all_unnamed(slow)


def test_an_exploring_ask_in_a_context_beside_pending_decisions_is_one_call_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError("the long way was taken")

    shop = features.disjoint(["tea", "juice"], context_dim=2)
    short, long = (Bandit(features=shop, policy=Infex(LinUCB(), every(2))) for _ in range(2))
    asked = [[0.6, 0.1 * n] for n in range(8)]
    slow = [long.enter(long.decide(context=context)) for context in asked]
    monkeypatch.setattr("infex.rounds.player.Player.decide", refuse)
    assert all_unnamed(short.ask(context=context) for context in asked) == all_unnamed(slow)


@pytest.mark.filterwarnings("ignore:overflow")
def test_in_a_context_where_bounds_are_infinite_the_long_way_is_taken() -> None:
    shop = features.disjoint(["tea", "juice"], context_dim=2)
    policy = LinUCB(noise=1e308)
    short, long = (Bandit(features=shop, policy=policy) for _ in range(2))
    asked = [[0.6, 0.8], [0.8, 0.6]]
    slow = [long.enter(long.decide(context=context)) for context in asked]
    assert all_unnamed(short.ask(context=context) for context in asked) == all_unnamed(slow)
    assert slow[-1].high == np.inf
