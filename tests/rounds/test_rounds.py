"""One round: what raises changes nothing, limits look back at what was kept, nothing is learnt twice."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex import (
    Choice,
    Control,
    Evidence,
    Greedy,
    Infex,
    LinUCB,
    always,
    budget,
    estimators,
    every,
    guarded,
    listed,
    never,
    paused,
)
from infex.errors import InvalidSetting, NotKept, UnknownArm
from infex.linear import Memory, Spent
from infex.policies.choice import Turn
from infex.policies.gate import State
from infex.policies.traits import traits_of
from infex.rounds import Account, Player, play_round
from infex.rounds.taken import Taken

COLUMNS = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])


def player_of(policy: Any, estimator: Any = None) -> Player:
    return Player(policy, Memory.empty(COLUMNS, 1.0, traits_of(policy).uses_explored, estimator))


def played(player: Player, rounds: int) -> list[Choice]:
    def reward(arm: int) -> float:
        return math.sin(arm + player.account.t)

    first = player.account.t + 1
    rngs = (np.random.default_rng(t) for t in range(first, first + rounds))
    return [play_round(player, t, rng, reward)[0] for t, rng in enumerate(rngs, start=first)]


class Uncompiled:
    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        return Choice(1)

    def compiled(self) -> Any:
        raise RuntimeError("not here")


class Wide:
    """Holds a window that reaches back beyond what was kept."""

    base = Infex(LinUCB(), budget(every(1), 3, window=50))

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        return self.base.choose(t, evidence, rng)


@pytest.mark.parametrize("new", [Uncompiled(), Wide()], ids=["compiled", "window"])
def test_a_policy_that_cannot_take_over_leaves_the_old_one_at_work(new: Any) -> None:
    """The player said that it had the new one, and played by the old one's shortcut."""
    player = player_of(Infex(LinUCB(), every(2)))
    played(player, 20)
    player.account.forgotten = 15
    before = player.policy, player.traits, player.shortcut, player.account.span
    with pytest.raises((RuntimeError, InvalidSetting, NotKept)):
        player.policy = new
    assert (player.policy, player.traits, player.shortcut, player.account.span) == before
    assert sum(choice.explored for choice in played(player, 10)) == 5


def test_a_memory_that_cannot_take_over_leaves_the_old_one_at_work() -> None:
    class Once(Uncompiled):
        asked = 0

        def compiled(self) -> Any:
            self.asked += 1
            if self.asked > 1:
                raise RuntimeError("not again")

    player = player_of(Once())
    memory = player.memory
    with pytest.raises(RuntimeError):
        player.memory = memory.over(COLUMNS[:, :1], np.array([0]))
    assert player.memory is memory


TURNS = [
    (False, Turn.REST, False),
    (True, Turn.DUE, True),
    (True, Turn.DUE, False),
    (False, Turn.OWED, False),
    (False, Turn.DROPPED, False),
    (False, None, False),
    (True, None, True),
]


@given(
    turns=st.lists(st.tuples(st.sampled_from(TURNS), st.floats(0, 9)), max_size=60), span=st.integers(0, 12)
)
@settings(max_examples=200, deadline=None)
def test_what_limits_look_at_is_what_a_plain_list_says(turns: list[Any], span: int) -> None:
    """Where nothing was due, what had left the window stayed in it until the next exploration."""
    account, slow = Account(), []
    account.look_back(span)
    for t, ((explored, turn, different), loss) in enumerate(turns, start=1):
        account.enter(t, explored, turn, loss, different)
        if explored:
            slow.append((t, loss))
        window = tuple(each for each in slow if each[0] > t - span)
        assert account.spent == Spent(
            len(slow),
            pytest.approx(sum(loss for _, loss in slow)),
            account.owed,
            window,
            max(t - span, 0) + 1,
        )
        for first in range(max(t - span, 0) + 1, t + 2):
            since = [loss for at, loss in slow if at >= first]
            assert account.spent.since(first) == (len(since), pytest.approx(sum(since)))
        if span < t:
            with pytest.raises(NotKept, match=f"kept one by one from round {t - span + 1} on"):
                account.spent.since(t - span)


@dataclass(frozen=True)
class Few(Control):
    """Looks back without a window."""

    schedule: Any

    def objects(self, t: int, evidence: Evidence, state: State) -> str | None:
        return "few" if evidence.spent.since(t - 99)[0] >= 3 else None


class Hidden:
    """Holds its Infex under another name than base."""

    inner = Infex(LinUCB(), budget(every(1), 3, window=100))

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        return self.inner.choose(t, evidence, rng)


@pytest.mark.parametrize("policy", [Infex(LinUCB(), Few(every(1))), Hidden()], ids=["window", "base"])
def test_limits_that_look_back_at_what_was_not_kept_say_so(policy: Any) -> None:
    """They counted nothing: 100 explorations where 3 were the most."""
    with pytest.raises(NotKept, match="says so by its `window`, and a policy that holds another by `base`"):
        played(player_of(policy), 5)


def test_windows_of_a_base_with_its_own_clock_are_refused() -> None:
    """It counts its own rounds, and what was spent stands under those of the bandit."""
    inner = Infex(LinUCB(), budget(every(2), 3, window=9))
    with pytest.raises(InvalidSetting, match="with own data a base counts its own rounds"):
        Infex(inner, every(2), data="own")


@pytest.mark.parametrize("on", [3, 99_999_999, -1])
@pytest.mark.parametrize("estimator", [None, estimators.Lasso(), estimators.Logistic()])
def test_rewards_are_learnt_on_arms_that_are_there(on: int, estimator: Any) -> None:
    player = player_of(Greedy(), estimator)
    before = {name: array.copy() for name, array in player.memory.arrays().items()}
    with pytest.raises(UnknownArm, match=f"cannot be learnt on arm {on} of 3"):
        player.learn(0, on, 1.0, explored=False)
    for name, array in player.memory.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_weight_that_raises_once_is_asked_before_anybody_learns() -> None:
    """A reward that was told again was learnt twice by the statistics of all rounds."""
    asked, taught = [], []

    def weight(x: Any) -> float:
        asked.append(x)
        if len(asked) in (1, 3):
            raise ConnectionError("away")
        return 2.0

    class Learner:
        uses_explored = True

        def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
            return Choice(0)

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            taught.append(reward)

    player = player_of(Learner(), estimators.Weighted(weight=weight))
    for reward in (0.5, 0.25):
        with pytest.raises(ConnectionError):
            player.learn(0, 0, reward, explored=True)
        player.learn(0, 0, reward, explored=True)
    assert (len(asked), taught) == (4, [0.5, 0.25])
    both = player.memory.evidence()
    assert both.pulls.tolist() == both.explored.pulls.tolist() == [2, 0, 0]
    np.testing.assert_allclose(both.estimates, both.explored.estimates)
    assert both.estimates[0] == pytest.approx(2 * 0.75 / (1 + 4))


def paused_at(rounds: Any) -> Any:
    return paused(every(1), when=listed(rounds), missed="make up")


@pytest.mark.parametrize(
    "schedule",
    [
        budget(paused_at(range(11, 21)), 3),
        paused(budget(every(1), 3), when=listed(range(11, 21)), missed="make up"),
        budget(guarded(paused_at(range(11, 21)), 99.0), 3, window=1000),
    ],
)
def test_rounds_that_a_budget_leaves_out_are_not_owed_whatever_stands_inside_it(schedule: Any) -> None:
    """A pause inside a budget was asked first: it owed rounds that were never due."""
    player = player_of(Infex(LinUCB(), schedule))
    played(player, 20)
    assert player.account.exploration(None)[:6] == (3, 3, 0, 0, 0, 0)
    player.policy = Infex(LinUCB(), every(1000))
    assert not any(choice.explored for choice in played(player, 15))


@given(
    due=st.sets(st.integers(1, 60), min_size=1),
    pauses=st.sets(st.integers(1, 60)),
    share=st.sampled_from([0.1, 0.3, 0.5, 1.0]),
    rounds=st.integers(0, 40),
)
@settings(max_examples=100, deadline=None)
def test_the_next_round_due_is_the_next_that_explores(
    due: set[int], pauses: set[int], share: float, rounds: int
) -> None:
    """Rounds that are made up for were left out where `at_most` spreads them."""
    before = {t for t in pauses if t <= rounds}  # later pauses are not foreseen
    schedule = paused(
        listed(sorted(due)), when=listed(sorted(before) or [10**6]), missed="make up", at_most=share
    )
    player = player_of(Infex(LinUCB(), schedule))
    played(player, rounds)
    said = player.exploration(player.evidence()).next_due
    later = [rounds + place for place, choice in enumerate(played(player, 100), start=1) if choice.explored]
    assert said == (later[0] if later else None)


@pytest.mark.filterwarnings("ignore::infex.SparseExploration", "ignore::infex.FewExplorations")
def test_never_makes_up_for_nothing() -> None:
    player = player_of(Infex(LinUCB(), paused_at([1, 2, 3])))
    played(player, 3)
    assert player.account.owed == 3
    player.policy = Infex(LinUCB(), never())
    assert not any(choice.explored for choice in played(player, 20))
    assert player.exploration(player.evidence()).next_due is None
    player.policy = Infex(LinUCB(), always())
    assert all(choice.explored for choice in played(player, 5))


def test_where_a_union_is_too_dense_to_be_counted_the_next_round_due_is_not_known() -> None:
    """`exploration` raised OutOfReach on a bandit that played on."""
    player = player_of(Infex(LinUCB(), every(7) | infex.stretched(0.1)))
    player.enter(Taken(2_000_000, Choice(0, False, turn=Turn.REST), 0))
    found = player.exploration(player.evidence())
    assert (found.next_due, found.planned) == (None, 0)
