"""Every statement holds on fresh runs, and a broken variant of what it speaks of fails."""

import math
from typing import Any

import numpy as np
import pytest

from infex import Greedy, Infex, LinTS, LinUCB
from infex.errors import InfexError
from infex.lab import environments, play, play_many
from infex.lab.theory import tau_order
from infex.lab.verification import (
    STATEMENTS,
    Effort,
    Statement,
    chosen,
    passes,
    ridge,
    rounds,
    statements,
    two_arms,
    verify,
)
from infex.lab.verification.ridge import replay, replays
from infex.schedules import always, every, logarithmic, never, power

EFFORT = Effort(seed=11)


@pytest.mark.compiled
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.id)
def test_the_statement_holds(statement: Statement) -> None:
    found = statement.find(EFFORT)
    assert found.holds, found
    assert math.isfinite(found.measured)


def test_there_are_all_of_them_and_they_can_be_chosen() -> None:
    assert [each.id for each in STATEMENTS] == [f"C{n}" for n in range(1, 22)]
    assert [each.id for each in chosen(["c9", "C2"])] == ["C2", "C9"]
    with pytest.raises(InfexError, match="no statement 'C22'"):
        verify(only=["C22"])
    heard: list[str] = []
    (found,) = verify(3, only=["C13"], listener=lambda each: heard.append(each.id))
    assert heard == ["C13"]
    assert found._fields == ("id", "statement", "measured", "limit", "holds")


def test_thorough_checks_pass_after_pass_and_keep_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Effort] = []

    def check(effort: Effort) -> float:
        met.append(effort)
        return (0.2, 0.9, 1.5, 1.2, 0.1)[len(met) - 1]

    monkeypatch.setattr(statements, "STATEMENTS", (Statement("C1", "", check),))
    monkeypatch.setattr(statements, "THOROUGH_PASSES", 5)
    found = [each[0] for each in passes(7, thorough=True)]
    assert [each.measured for each in found] == [0.2, 0.9, 1.5, 1.5, 1.5]
    assert [each.holds for each in found] == [True, True, False, False, False]
    assert met[0] == Effort(7, statements.THOROUGH_SCALE)
    assert len({each.seed for each in met}) == 5
    met.clear()
    assert verify(7)[0].measured == 0.2
    assert met == [Effort(7, 1)]


def test_the_same_seed_measures_the_same_and_another_does_not() -> None:
    excess = next(each for each in STATEMENTS if each.id == "C9")
    assert excess.find(Effort(1)) == excess.find(Effort(1))
    assert excess.find(Effort(1)).measured != excess.find(Effort(2)).measured
    assert len(Effort(1, scale=3).seeds("a", 5)) == 15


def test_a_figure_above_its_limit_or_no_number_fails() -> None:
    for value, holds in ((0.5, True), (1.0, True), (1.1, False), (math.nan, False)):
        assert Statement("C0", "", lambda effort, it=value: it).find(EFFORT).holds is holds  # type: ignore[misc]


@pytest.fixture(scope="module")
def long_arms() -> Any:
    """A run on arms of length 2, which the software refuses to play: each width is twice as wide."""
    problem = environments.LinearInstance(np.array([[1.0, 0.0], [0.0, 0.8]]), np.array([0.4, -0.3]))
    run = play(problem, Infex(LinUCB(delta=0.01), every(5)), 300, record=True)
    stretched = environments.LinearInstance(np.array([[0.5, 0.0], [0.0, 0.4]]), np.array([0.8, -0.6]))
    for name, value in (("arms", 2 * np.array(problem.arms)), ("theta", np.array(problem.theta) / 2)):
        object.__setattr__(stretched, name, value)
    object.__setattr__(run, "instance", stretched)
    return replay([run])


def test_arms_longer_than_1_break_what_is_said_of_widths_and_alpha(long_arms: Any) -> None:
    assert ridge.largest([ridge.best_width(long_arms)]) > 1.2
    assert ridge.largest([ridge.simple_volume(long_arms)]) > 1.2
    assert ridge.largest([ridge.better_volume(long_arms._replace(lengths=np.ones(1)))]) > 1.1


@pytest.mark.compiled
def test_a_potential_of_alpha_alone_would_be_too_little() -> None:
    assert ridge.largest(2 * ridge.potential(each) for each in replays(EFFORT)) > 1


@pytest.mark.compiled
def test_an_ellipsoid_of_a_third_of_the_radius_is_left_too_often() -> None:
    problem = environments.gaussian(5, 20, 3, rewards="gaussian")
    found = replay(play_many(problem, Greedy(), 400, range(100), record=True))
    assert ridge.coverage(found, 0.1) <= 0.1
    assert ridge.coverage(found, 0.1, scale=1 / 3) > 0.5


@pytest.mark.compiled
def test_greedy_rounds_cost_more_than_a_tenth_of_the_radius_allows() -> None:
    assert ridge.largest(ridge.greedy_rounds(each, scale=0.1) for each in replays(EFFORT)) > 1


def test_alpha_of_another_penalty_is_found_out() -> None:
    run = play(environments.gaussian(3, 10, 1), Greedy(), 500, penalty=2.0)
    assert ridge.drift(run, penalty=2.0) < 1e-8
    assert ridge.drift(run) > 0.1


def test_the_walks_of_the_reading_guide() -> None:
    for level, wanted in ((0.1, 49.758), (0.2, 12.267), (0.5, 1.791), (1.0, 0.331)):
        assert rounds.crossings(level) == pytest.approx(wanted, abs=6e-4)
        assert rounds.crossings(level) <= 1 / (2 * level**2)
        assert rounds.crossings(level) > 1 / (4 * level**2) or level == 1.0


def test_without_the_factor_of_2_chances_exceed_too_often() -> None:
    rng = np.random.default_rng(0)
    assert rounds.excess(rng, np.array([0.1]), 4000) <= 0.1
    assert rounds.excess(rng, np.array([0.1]), 4000, factor=1.0) > 0.15


def test_the_middle_step_of_the_papers_first_example_is_false() -> None:
    whole = 1 / 1 + 1 / 2  # m = 1, T = 2
    middle = 1 + 1 / (2 - 1) * 1
    assert rounds.reciprocals(1, 2)[1] * (1 + math.log(2)) == pytest.approx(whole)
    assert whole <= 1 + math.log(2) < middle


def test_a_schedule_that_counts_one_off_is_found_out() -> None:
    class Late:
        explores, count, grows = every(20).explores, every(20).count, every(20).grows

        def when(self, n: int) -> int | None:
            due = every(20).when(n)
            return None if due is None else due + 1

    rng = np.random.default_rng(0)
    assert rounds.inversions(every(20), rng) == 0
    assert rounds.inversions(Late(), rng) > 30


def test_other_schedules_and_shared_data_are_found_out() -> None:
    arms, rewards = rounds.table(5, 120)
    base = LinUCB(delta=0.01)
    assert rounds.ends(base, arms, rewards) == 0
    assert rounds.ends(base, arms, rewards, schedules=(every(2), never())) > 0
    assert rounds.ends(base, arms, rewards, schedules=(always(), every(10))) > 0
    for each in (base, LinTS(delta=0.01)):
        assert rounds.own_rounds(each, every(3), arms, rewards) == 0
        assert rounds.own_rounds(each, every(3), arms, rewards, data="shared") > 0


def test_the_textbooks_linucb_costs_more_than_a_greedy_round_may() -> None:
    def model(dim: int, arms: int) -> int:
        return dim * dim + dim * arms

    costs = {play: rounds.cost(play, 12, 64) / model(12, 64) for play, _ in rounds.ROUND_ORDERS}
    assert costs[rounds.greedy_round] <= 4
    assert costs[rounds.fast_linucb_round] <= 4
    assert costs[rounds.linucb_round] > 8
    assert rounds.cost(rounds.lints_round, 24, 8) / model(24, 8) > 4


@pytest.mark.compiled
def test_the_order_that_table_2_prints_is_outgrown_as_m_rises() -> None:
    def printed(dim: int, gap: float, m: int) -> float:
        return (m + dim / gap) * dim / gap * math.log(dim / gap) ** 2

    assert rounds.widening(printed) > 5
    assert rounds.growth(every(20), lambda dim, gap: tau_order(dim, gap) * gap, 10) > 1.5


@pytest.mark.compiled
def test_pulls_of_the_worse_arm_are_more_than_the_paper_says_and_no_more_than_we_do() -> None:
    pulls = two_arms.greedy_pulls(every(20), EFFORT.seeds("many", 5000))
    assert pulls <= 1 + 1 / (2 * two_arms.GAP**2)
    assert pulls > 1 / (2 * two_arms.GAP**2)


@pytest.mark.compiled
def test_the_printed_divergence_is_far_off() -> None:
    (statement,) = chosen(["C21"])
    assert two_arms.log_ratio(EFFORT, rate=4.0) > 10 * statement.limit


@pytest.mark.compiled
def test_regret_on_two_arms_is_near_linear_or_flat() -> None:
    found = two_arms.measure(EFFORT, count=300)
    assert 0.75 <= found.slope("log t", 100) <= 0.95
    assert 0.98 <= found.slope("greedy", 100) <= 1.02
    for name in ("(log t)^2", "sqrt t", "t/20"):
        assert found.slope(name, 10_000) < 0.1
    assert two_arms.SCHEDULES["log t"] == logarithmic(1)
    assert two_arms.SCHEDULES["sqrt t"] == power(0.5)


def test_slopes_that_are_not_near_linear_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(two_arms.SCHEDULES, "log t", power(0.5))
    (statement,) = chosen(["C10"])
    assert not statement.find(Effort(3)).holds


def test_what_is_no_number_is_passed_on() -> None:
    for order in ((0.5, math.nan), (math.nan, 0.5)):
        assert math.isnan(ridge.largest(np.array([each]) for each in order))
