"""One round: what raises changes nothing, limits look back at what was kept, nothing is learnt twice."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex import Choice, Greedy, Infex, LinUCB, always, budget, every, guarded, listed, models, never, paused
from infex.bandit.agent import Agent, play_round
from infex.bandit.exploration import ExplorationAccount
from infex.errors import InvalidSetting, NotKept, UnknownArm
from infex.models import Posterior
from infex.models.posterior import Spent
from infex.models.state import ModelState
from infex.policies import Control
from infex.policies.base import policy_info
from infex.policies.choice import ScheduleStatus
from infex.policies.controls import State

COLUMNS = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])


def agent_of(policy: Any, estimator: Any = None) -> Agent:
    return Agent(policy, ModelState.empty(COLUMNS, 1.0, policy_info(policy).uses_explored, estimator))


def played(agent: Agent, rounds: int) -> list[Choice]:
    def reward(arm: int) -> float:
        return math.sin(arm + agent.account.t)

    first = agent.account.t + 1
    rngs = (np.random.default_rng(t) for t in range(first, first + rounds))
    return [play_round(agent, t, rng, reward)[0] for t, rng in enumerate(rngs, start=first)]


class Apart:
    """Needs exploring rounds kept apart, which was not done."""

    uses_explored = True

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(1)


class Wide:
    """Holds a window that reaches back beyond what was kept."""

    base = Infex(LinUCB(), budget(every(1), 3, window=50))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return self.base.choose(t, posterior, rng)


@pytest.mark.parametrize("new", [Wide(), Apart(), Greedy], ids=["window", "own data", "no policy"])
def test_a_policy_that_cannot_take_over_leaves_the_old_one_at_work(new: Any) -> None:
    agent = agent_of(Infex(LinUCB(), every(2)))
    played(agent, 20)
    agent.account.forgotten = 15
    before = agent.policy, agent.info, agent.account.span
    with pytest.raises((InvalidSetting, NotKept)):
        agent.policy = new
    assert (agent.policy, agent.info, agent.account.span) == before
    assert sum(choice.explored for choice in played(agent, 10)) == 5


TURNS = [
    (False, ScheduleStatus.REST, False),
    (True, ScheduleStatus.DUE, True),
    (True, ScheduleStatus.DUE, False),
    (False, ScheduleStatus.OWED, False),
    (False, ScheduleStatus.DROPPED, False),
    (False, None, False),
    (True, None, True),
]


@given(
    turns=st.lists(st.tuples(st.sampled_from(TURNS), st.floats(0, 9)), max_size=60), span=st.integers(0, 12)
)
@settings(max_examples=200, deadline=None)
def test_what_limits_look_at_is_what_a_plain_list_says(turns: list[Any], span: int) -> None:
    """Where nothing was due, what had left the window stayed in it until the next exploration."""
    account, slow = ExplorationAccount(), []
    account.look_back(span)
    for t, ((explored, schedule_status, different), loss) in enumerate(turns, start=1):
        account.apply(t, explored, schedule_status, loss, different)
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

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        return "few" if posterior.spent.since(t - 99)[0] >= 3 else None


class Hidden:
    """Holds its Infex under another name than base."""

    inner = Infex(LinUCB(), budget(every(1), 3, window=100))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return self.inner.choose(t, posterior, rng)


@pytest.mark.parametrize("policy", [Infex(LinUCB(), Few(every(1))), Hidden()], ids=["window", "base"])
def test_limits_that_look_back_at_what_was_not_kept_say_so(policy: Any) -> None:
    """They counted nothing: 100 explorations where 3 were the most."""
    with pytest.raises(NotKept, match="says so by its `window`, and a policy that holds another by `base`"):
        played(agent_of(policy), 5)


def test_windows_of_a_base_with_its_own_clock_are_refused() -> None:
    """It counts its own rounds, and what was spent stands under those of the bandit."""
    inner = Infex(LinUCB(), budget(every(2), 3, window=9))
    with pytest.raises(InvalidSetting, match="with own data a base counts its own rounds"):
        Infex(inner, every(2), data="own")


@pytest.mark.parametrize("on", [3, 99_999_999, -1])
@pytest.mark.parametrize("estimator", [None, models.Lasso(), models.Logistic()])
def test_rewards_are_learnt_on_arms_that_are_there(on: int, estimator: Any) -> None:
    agent = agent_of(Greedy(), estimator)
    before = {name: array.copy() for name, array in agent.model.arrays().items()}
    with pytest.raises(UnknownArm, match=f"cannot be learnt on arm {on} of 3"):
        agent.learn(0, on, 1.0, explored=False)
    for name, array in agent.model.arrays().items():
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

        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0)

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            taught.append(reward)

    agent = agent_of(Learner(), models.Weighted(weight=weight))
    for reward in (0.5, 0.25):
        with pytest.raises(ConnectionError):
            agent.learn(0, 0, reward, explored=True)
        agent.learn(0, 0, reward, explored=True)
    assert (len(asked), taught) == (4, [0.5, 0.25])
    both = agent.model.posterior()
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
    agent = agent_of(Infex(LinUCB(), schedule))
    played(agent, 20)
    assert agent.account.exploration(None)[:6] == (3, 3, 0, 0, 0, 0)
    agent.policy = Infex(LinUCB(), every(1000))
    assert not any(choice.explored for choice in played(agent, 15))


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
    agent = agent_of(Infex(LinUCB(), schedule))
    played(agent, rounds)
    said = agent.exploration(agent.posterior()).next_due
    later = [rounds + place for place, choice in enumerate(played(agent, 100), start=1) if choice.explored]
    assert said == (later[0] if later else None)


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_never_makes_up_for_nothing() -> None:
    agent = agent_of(Infex(LinUCB(), paused_at([1, 2, 3])))
    played(agent, 3)
    assert agent.account.owed == 3
    agent.policy = Infex(LinUCB(), never())
    assert not any(choice.explored for choice in played(agent, 20))
    assert agent.exploration(agent.posterior()).next_due is None
    agent.policy = Infex(LinUCB(), always())
    assert all(choice.explored for choice in played(agent, 5))


def test_where_a_union_is_too_dense_to_be_counted_the_next_round_due_is_not_known() -> None:
    """`exploration` raised OutOfReach on a bandit that played on."""
    agent = agent_of(Infex(LinUCB(), every(7) | infex.stretched(0.1)))
    agent.apply(2_000_000, False, ScheduleStatus.REST, 0.0, False, None)
    found = agent.exploration(agent.posterior())
    assert (found.next_due, found.planned) == (None, 0)
