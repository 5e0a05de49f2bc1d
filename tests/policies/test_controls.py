"""Controls under their contract, windows, and explorations that are made up for."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Decision,
    Infex,
    LinUCB,
    budget,
    every,
    guarded,
    jittered,
    listed,
    paused,
    until_certain,
)
from infex.bandit import Exploration
from infex.bandit import exploration as account
from infex.errors import InvalidSetting, NotKept
from infex.models import Posterior
from infex.policies import Control, OLSBandit, Reason, Uniform, catching_up, conservative, doubtful, ledger
from infex.policies.controls import State
from infex.testing import ControlContract, problem

GIVEN = problem(4, arms=6, dim=3, horizon=10)


class Count(NamedTuple):
    done: int = 0


@dataclass(frozen=True)
class Thrice(Control):
    """A control of one's own: three explorations, then no more; those it keeps back are made up for."""

    schedule: Any
    missed: Any = "make up"

    def initial_state(self) -> State:
        return Count()

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        return "that was enough" if state[0] >= 3 else None

    def after_exploring(self, arm: int, posterior: Posterior, state: State) -> State:
        return Count(state[0] + 1)


NEVER_DUE = (Reason.BUDGET_SPENT, Reason.LITTLE_AT_STAKE, Reason.JUST_EXPLORED)
MAKERS: dict[str, Callable[[Any], Any]] = {
    "guarded": lambda schedule: guarded(schedule, 1.0),
    "guarded in a window": lambda schedule: guarded(schedule, 0.5, window=15),
    "conservative": lambda schedule: conservative(schedule, 0.5, alpha=0.9, noise=0.1),
    "doubtful": lambda schedule: doubtful(schedule, scale=0.1, noise=0.3),
    "ledger": lambda schedule: ledger(0.5, schedule, noise=0.4),
    "ledger under a limit": lambda schedule: guarded(ledger(0.3, schedule), 1.0),
    "until_certain": lambda schedule: until_certain(schedule, scale=0.1),
    "paused": lambda schedule: paused(schedule, when=lambda t: t % 7 < 3),
    "paused, made up": lambda schedule: paused(schedule, when=listed(range(5, 40)), missed="make up"),
    "paused, spread": lambda schedule: paused(
        schedule, when=listed(range(5, 40)), missed="make up", at_most=0.2
    ),
    "catching up": catching_up,
    "budget in a window": lambda schedule: budget(schedule, 2, window=9),
    "budget of a control": lambda schedule: budget(guarded(schedule, 9.0), 11),
    "one's own": Thrice,
}


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return MAKERS[request.param]


class TestControls(ControlContract):
    @pytest.fixture(autouse=True)
    def _made(self, maker: Callable[[Any], Any]) -> None:
        self._maker = maker

    def make(self, schedule: Any) -> Any:
        return self._maker(schedule)


def test_the_contract_notices_a_state_that_no_file_can_hold() -> None:
    class Odd(Thrice):
        def initial_state(self) -> State:
            return (np.zeros(2),)

        def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
            return None

        def after_exploring(self, arm: int, posterior: Posterior, state: State) -> State:
            return state

    class TestOdd(ControlContract):
        def make(self, schedule: Any) -> Any:
            return Odd(schedule)

    with pytest.raises(AssertionError, match="a file could not hold the state"):
        TestOdd().test_its_state_can_be_kept()


def go(bandit: Bandit, rounds: int, allowed: Any = None) -> list[Decision]:
    decisions = []
    for _ in range(rounds):
        decisions.append(bandit.ask(allowed=allowed))
        bandit.tell(decisions[-1], math.sin(decisions[-1].t + decisions[-1].arm))
    return decisions


SCHEDULES = st.one_of(
    st.integers(1, 5).map(every),
    st.builds(jittered, st.integers(1, 5), st.integers(0, 9)),
    st.lists(st.integers(1, 80), max_size=30).map(listed),
)
CONTROLS: list[Callable[[Any], Any]] = [*MAKERS.values(), lambda schedule: schedule]


@given(
    seed=st.integers(0, 99),
    parts=st.lists(
        st.tuples(
            SCHEDULES,
            st.lists(st.sampled_from(CONTROLS), max_size=3),
            st.integers(1, 30),
            st.sampled_from([None, [True] * 6, [False] * 6, [True, False] * 3]),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_explorations_due_done_skipped_owed_and_dropped_add_up(seed: int, parts: list[Any]) -> None:
    """Under policies, masks and controls that change, with rewards that are late, against a count by hand."""
    rng = np.random.default_rng(seed)
    bandit = Bandit(GIVEN.arms, Uniform(), seed=seed)
    by_hand = dict.fromkeys(("done", "different", "cost", "planned"), 0.0)
    for schedule, controls, rounds, allowed, declining in parts:
        rule = schedule
        for control in controls:
            with contextlib.suppress(InvalidSetting):  # a ledger has nothing to make up for
                rule = control(rule)
        bandit.policy = Infex(Uniform(), rule) if not declining else Infex(Uniform(), rule, ties="random")
        for _ in range(rounds):
            known = bandit.posterior().estimates
            decision = bandit.ask(allowed=allowed)
            due = schedule.explores(decision.t) and decision.reason not in NEVER_DUE
            by_hand["planned"] += due
            by_hand["done"] += decision.explored
            if decision.explored:
                by_hand["different"] += decision.arm != decision.greedy
                by_hand["cost"] += max(known.max() - known[decision.arm], 0.0)
            if rng.random() < 0.7:
                bandit.tell(bandit.pending[int(rng.integers(len(bandit.pending)))], float(rng.normal()))
            found = bandit.exploration()
            assert found.planned == found.done - found.made_up + found.skipped
            assert found.skipped == found.made_up + found.owed + found.dropped
            assert min(found.owed, found.dropped, found.made_up) >= 0
    found = bandit.exploration()
    assert (found.done, found.different) == (by_hand["done"], by_hand["different"])
    assert found.planned == by_hand["planned"]
    assert found.cost == pytest.approx(by_hand["cost"])
    assert bandit.explored == found.done


@given(seed=st.integers(0, 99), limit=st.integers(0, 6), window=st.integers(1, 40), schedule=SCHEDULES)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_no_window_holds_more_explorations_than_its_budget(
    seed: int, limit: int, window: int, schedule: Any
) -> None:
    bandit = Bandit(GIVEN.arms, Infex(Uniform(), budget(schedule, limit, window=window)), seed=seed)
    explored = np.array([decision.explored for decision in go(bandit, 90)])
    most = max(explored[start : start + window].sum() for start in range(90))
    assert most <= limit
    for t in range(1, 91):  # and none is held back without need
        before = explored[max(t - window, 0) : t - 1].sum()
        assert explored[t - 1] == (schedule.explores(t) and before < limit)


@given(seed=st.integers(0, 99), limit=st.floats(0, 2), window=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_no_window_costs_more_than_its_limit(seed: int, limit: float, window: int) -> None:
    bandit = Bandit(GIVEN.arms, Infex(Uniform(), guarded(every(2), limit, window=window)), seed=seed)
    costs = []
    for _ in range(120):
        before = bandit.exploration().cost
        go(bandit, 1)
        costs.append(bandit.exploration().cost - before)
    assert max(sum(costs[start : start + window]) for start in range(120)) <= limit + 1e-9


def test_a_window_goes_on_where_a_limit_for_good_stops() -> None:
    stopped = Bandit(GIVEN.arms, Infex(Uniform(), guarded(every(2), 0.5)), seed=3)
    free = Bandit(GIVEN.arms, Infex(Uniform(), guarded(every(2), 0.5, window=20)), seed=3)
    assert [go(bandit, 200)[-1].t for bandit in (stopped, free)] == [200, 200]
    assert stopped.exploration().next_due is None
    assert free.exploration().next_due is not None
    assert free.explored > 2 * stopped.explored


def test_explorations_owed_are_spread_where_that_is_asked_for() -> None:
    rule = paused(every(2), when=listed(range(1, 101)), missed="make up", at_most=0.1)
    bandit = Bandit(GIVEN.arms, Infex(LinUCB(), rule))
    decisions = go(bandit, 1000)
    made_up = [decision.t for decision in decisions if decision.reason == Reason.MADE_UP]
    assert made_up == [101]  # then every second round explores: there is no room for more
    rule = paused(every(50), when=listed(range(1, 501)), missed="make up", at_most=0.1)
    bandit = Bandit(GIVEN.arms, Infex(LinUCB(), rule))
    decisions = go(bandit, 1000)
    explored = [decision.t for decision in decisions if decision.explored]
    made_up = [decision.t for decision in decisions if decision.reason == Reason.MADE_UP]
    assert len(made_up) == 10
    for t in made_up:
        assert not set(range(t - 9, t)) & set(explored)
    assert bandit.exploration()[:6] == (20, 20, 10, 10, 0, 0)


def test_explorations_for_which_no_arm_was_allowed_are_made_up_for() -> None:
    """298 of 500 explorations of important customers were lost."""
    rule = paused(every(5), when=lambda t: False, missed="make up")
    bandit = Bandit(GIVEN.arms, Infex(LinUCB(), rule))
    for t in range(1, 101):
        bandit.tell(bandit.ask(allowed=[t % 3 == 0] * 6), 0.5)
    found = bandit.exploration()
    assert (found.planned, found.done + found.owed, found.dropped) == (20, 20, 0)
    assert found.owed <= 1


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_a_budget_of_a_control_counts_what_was_done() -> None:
    bandit = Bandit(GIVEN.arms, Infex(Uniform(), budget(paused(every(2), when=listed(range(1, 30))), 7)))
    go(bandit, 100)
    assert bandit.exploration() == bandit.exploration()._replace(planned=21, done=7, skipped=14, dropped=14)
    assert bandit.exploration().next_due is None


def test_a_base_that_did_not_explore_is_counted_as_dropped() -> None:
    bandit = Bandit(GIVEN.arms, Infex(OLSBandit(scale=1), every(2)))
    reasons = {decision.reason for decision in go(bandit, 60)}
    assert reasons == {Reason.GREEDY, Reason.SCHEDULED, Reason.DECLINED}
    found = bandit.exploration()
    assert found.planned == found.done + found.dropped == 30


def test_a_window_that_reaches_back_beyond_what_is_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "REMEMBERED", 50)
    bandit = Bandit(GIVEN.arms, Infex(LinUCB(), every(2)))
    go(bandit, 200)
    bandit.policy = Infex(LinUCB(), budget(every(2), 5, window=40))
    with pytest.raises(NotKept, match="a window of 90 rounds reaches back beyond round 150"):
        bandit.policy = Infex(LinUCB(), budget(every(2), 5, window=90))
    assert go(bandit, 1)[0].t == 201
    bandit.policy = Infex(LinUCB(), guarded(every(2), 5.0))  # a limit for good needs none of it


def test_windows_know_what_was_explored_under_another_policy() -> None:
    bandit = Bandit(GIVEN.arms, Infex(LinUCB(), every(1)))
    go(bandit, 10)
    bandit.policy = Infex(LinUCB(), budget(every(1), 4, window=12))
    assert [decision.explored for decision in go(bandit, 12)] == [False] * 8 + [True] * 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: guarded(every(2), 1.0, window=0), "window must be at least 1, got 0"),
        (lambda: budget(every(2), 3, window=0.5), "window must be a whole number, got 0.5"),
        (lambda: budget(every(2), -1, window=3), "limit must be at least 0, got -1"),
        (lambda: paused(every(2), lambda t: False, "make up", at_most=0), "at_most must be above 0, got 0"),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        make()


def test_exploration_has_names_for_all_it_counts() -> None:
    assert Exploration._fields == (
        "planned", "done", "skipped", "made_up", "owed", "dropped", "different", "next_due", "cost",
    )  # fmt: skip
