"""A batch in which every round may explore is as many calls of `ask`, to the last bit, and takes one pass."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Decisions, FixedBonusUCB, Infex, LinUCB, always, every, features, listed, stretched
from infex.bandit import batching, optimistic_rounds
from infex.kernels import batch_ahead
from infex.kernels.batch_ahead import MOST_UPDATES, UPDATE_SLACK, ahead_of, batch_of, decide_ahead
from infex.kernels.compiling import plain_python
from infex.linear.block_ridge import BlockRidge
from infex.linear.foresight import Foresight
from infex.linear.grounds import Grounds
from infex.linear.offers import Separate
from tests.alike import all_unnamed

pytestmark = pytest.mark.filterwarnings("ignore::infex.InfexWarning")
EXAMPLES = 3 if plain_python else 40
BASES: list[Any] = [LinUCB(), LinUCB(scale=0.05), FixedBonusUCB(), FixedBonusUCB(bonus=0.1)]
SCHEDULES: list[Any] = [None, always(), every(2), every(7), stretched(2), listed([3, 4, 50])]


def policy_of(base: Any, schedule: Any) -> Any:
    return base if schedule is None else Infex(base, schedule)


def contexts_of(rng: np.random.Generator, count: int, dim: int) -> Any:
    """Contexts of length 1 at most; half of the time there are only a few different ones."""
    few = rng.integers(-1, 2, size=(count, dim)) + 1e-3
    rows = few if rng.random() < 0.5 else rng.normal(size=(count, dim))
    return rows / (1.001 * np.linalg.norm(rows, axis=1, keepdims=True))


def shop_of(
    rng: np.random.Generator, dim: int, arms: int, policy: Any, penalty: float, **more: Any
) -> Bandit:
    shop = Bandit(features=features.disjoint(arms, dim), policy=policy, penalty=penalty, **more)
    told = int(rng.integers(0, 60))
    shop.learn(contexts_of(rng, told, dim), rng.integers(arms, size=told), rng.normal(size=told))
    return shop


@given(
    seed=st.integers(0, 10**6),
    dim=st.integers(1, 6),
    arms=st.integers(1, 7),
    base=st.sampled_from(BASES),
    schedule=st.sampled_from(SCHEDULES),
    digits=st.sampled_from([0.0, 0.0, 2.0, -4.0, -10.0]),
    pending=st.sampled_from(["narrow", "narrow", "ignore"]),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_batch_is_as_many_single_decisions(
    seed: int, dim: int, arms: int, base: Any, schedule: Any, digits: float, pending: str
) -> None:
    rng = np.random.default_rng(seed)
    at_once = shop_of(rng, dim, arms, policy_of(base, schedule), 10.0**digits, pending=pending)
    single = copy.deepcopy(at_once)
    for _ in range(2):
        contexts = contexts_of(rng, int(rng.integers(1, 90)), dim)
        many = at_once.ask_many(contexts)
        one_by_one = [single.ask(context=context) for context in contexts]
        assert all_unnamed(many) == all_unnamed(Decisions.of(one_by_one))
        assert at_once.exploration() == single.exploration()
        assert at_once._player.account.recent == single._player.account.recent
        narrowed = (shop.evidence(context=contexts[0]).narrowed for shop in (at_once, single))
        np.testing.assert_array_equal(*(evidence.widths for evidence in narrowed))
        for place in np.flatnonzero(rng.random(len(many)) < 0.5).tolist():
            at_once.tell(many[place], 0.3)
            single.tell(one_by_one[place], 0.3)


def test_updates_of_one_arm_are_renewed_in_long_batches() -> None:
    rng = np.random.default_rng(0)
    at_once = shop_of(rng, 3, 2, LinUCB(), 1.0)
    single, contexts = copy.deepcopy(at_once), contexts_of(rng, 4 * MOST_UPDATES, 3)
    many = at_once.ask_many(contexts)
    assert many.arm.tolist() == [single.ask(context=context).arm for context in contexts]


def test_arms_of_which_nothing_is_known_are_tied_as_in_single_decisions() -> None:
    at_once = Bandit(features=features.disjoint(6, 3), policy=FixedBonusUCB())
    single, contexts = copy.deepcopy(at_once), contexts_of(np.random.default_rng(1), 60, 3)
    many = at_once.ask_many(contexts)
    assert many.arm.tolist() == [single.ask(context=context).arm for context in contexts]


def test_the_policy_is_not_asked_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a round was decided by itself")

    monkeypatch.setattr(batching, "_decided", refuse)
    shop = shop_of(np.random.default_rng(2), 3, 4, LinUCB(), 1.0)
    assert shop.ask_many(contexts_of(np.random.default_rng(3), 50, 3)).explored.all()


def test_a_batch_that_fails_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    shop = shop_of(rng, 3, 4, LinUCB(), 1.0)
    shop.ask_many(contexts_of(rng, 20, 3))
    contexts = contexts_of(rng, 20, 3)
    before, widths = shop.exploration(), shop.evidence(context=contexts[0]).narrowed.widths

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Foresight, "replace_sums", fail)
    with pytest.raises(MemoryError):
        shop.ask_many(contexts)
    assert (shop.exploration(), len(shop.pending), shop.t) == (before, 20, 20)
    np.testing.assert_array_equal(shop.evidence(context=contexts[0]).narrowed.widths, widths)


@given(seed=st.integers(0, 10**6), dim=st.integers(1, 12), digits=st.floats(-8, 2), told=st.integers(0, 3000))
@settings(max_examples=EXAMPLES, deadline=None)
def test_inverses_stay_within_their_slack(seed: int, dim: int, digits: float, told: int) -> None:
    """A hundredth of it is enough for all updates between two times that they are computed anew."""
    rng = np.random.default_rng(seed)
    ridge, count = BlockRidge(Separate(2, dim), 10.0**digits), MOST_UPDATES
    rows = contexts_of(rng, told + 1, dim)
    ridge.learn_many(Grounds.in_blocks(rng.integers(2, size=told + 1), rows), rows[:, 0], np.ones(told + 1))
    contexts, arms = contexts_of(rng, count, dim), np.zeros(count, dtype=np.int64)
    sums: np.ndarray = np.zeros((2, 2, dim, dim), dtype=np.int64)
    ahead = ahead_of(ridge.solved, ridge.runs, sums, count)
    batch, thetas = batch_of(ridge.solved, ridge.runs, contexts), np.ascontiguousarray(ridge.solved[:, -1].T)
    assert decide_ahead(batch, thetas, np.arange(count), np.ones(2), True, ahead, arms, np.zeros(count))
    batch_ahead.take_pair(ahead.inverse, arms[-1], contexts, count - 1, np.empty(dim))  # nobody has read it
    quickly = ahead.inverse.copy()
    for arm in range(2):
        batch_ahead.renew(ahead, arm, batch)
    assert (np.abs(quickly - ahead.inverse).max(axis=1) * dim <= 0.01 * ahead.slack).all()
    assert (ahead.slack >= UPDATE_SLACK * dim * (ridge.solved[:, :-1] ** 2).sum(axis=(1, 2))).all()


def test_sums_over_what_is_pending_are_those_of_the_decisions() -> None:
    rng = np.random.default_rng(5)
    shop = shop_of(rng, 4, 3, Infex(LinUCB(), every(2)), 1.0)
    many, contexts = shop.ask_many(contexts := contexts_of(rng, 33, 4)), contexts
    evidence = shop.evidence(context=contexts[0])
    for arm in range(3):
        factor = evidence._known.factor_of(arm)  # type: ignore[attr-defined]
        mine = contexts[many.arm == arm]
        inverse = np.linalg.inv(np.linalg.inv(factor.T @ factor) + mine.T @ mine)
        width = np.sqrt(contexts[0] @ inverse @ contexts[0])
        assert evidence.narrowed.widths[arm] == pytest.approx(width, rel=1e-10)


def test_numbers_beyond_all_bounds_take_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimistic_rounds, "decide_ahead", lambda *_: False)
    at_once = shop_of(np.random.default_rng(6), 3, 4, LinUCB(), 1.0)
    single, contexts = copy.deepcopy(at_once), contexts_of(np.random.default_rng(7), 9, 3)
    many = at_once.ask_many(contexts)
    assert all_unnamed(many) == all_unnamed(Decisions.of(single.ask(context=each) for each in contexts))
