"""Schedules that explore where the data leave doubt: `ledger` and `doubtful`."""

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Infex,
    InfexError,
    LinTS,
    LinUCB,
    always,
    budget,
    every,
    guarded,
    listed,
    models,
    paused,
)
from infex.arrays import Floats
from infex.core.choosing import largest_expected_improvement
from infex.errors import InvalidSetting
from infex.lab import environments, play
from infex.models.posterior import Posterior
from infex.models.ridge import RidgeModel
from infex.policies import Control, Reason, Uniform, catching_up, doubtful, ledger
from infex.registry import expression, parse
from infex.testing import SlowRidge, problem
from infex.testing.reference import Pull, lowest

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def total(bandit: Bandit) -> float:
    """The total of the ledger, as the bandit keeps it."""
    state = bandit.policy_state
    return 0.0 if state is None else float(state.states[-1].total)


def slow_psi(z: float) -> mpmath.mpf:
    """phi(z) - z Phi(-z) with 50 digits more than cancel."""
    with mpmath.workdps(900):
        return mpmath.npdf(z) - z * mpmath.ncdf(-mpmath.mpf(z))


def slow_rivals(ridge: SlowRidge) -> list[tuple[float, float]]:
    """The gap of each rival of the greedy arm, and the width of its difference from that arm."""
    estimates = ridge.estimates()
    best = lowest(estimates)
    found = []
    for k, arm in enumerate(ridge.arms):
        difference = arm - ridge.arms[best]
        width = math.sqrt(max(difference @ np.linalg.solve(ridge.gram, difference), 0.0))
        found += [(max(estimates[best] - estimates[k], 0.0), width)] if k != best else []
    return found


def slow_stake(ridge: SlowRidge, noise: float) -> float:
    """rho from its definition."""
    widths = [(gap, noise * width) for gap, width in slow_rivals(ridge) if noise * width > 1e-9]
    normal = [(gap / width, width) for gap, width in widths]
    return max([w * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - z * math.erfc(z / math.sqrt(2)) / 2)
                for z, w in normal], default=0.0)  # fmt: skip


def slow_ridge(offer: Floats, played: list[Floats], rewards: list[float], penalty: float) -> SlowRidge:
    """Ridge regression of what was played, read on the arms on offer."""
    pulls = [Pull(len(offer) + place, reward, True) for place, reward in enumerate(rewards)]
    ridge = SlowRidge(np.array([*offer, *played]), pulls, penalty)
    ridge.arms = offer
    return ridge


def test_the_gain_of_knowing_is_exact_for_gaps_of_any_size() -> None:
    z = np.array([0.0, 1e-9, 0.3, 1.0, 2.5, 2.999999, 3.0, 3.1, 4.0, 6.0, 10.0, 20.0, 30.0, 37.0])
    for reach in (1.0, 1e-5, 40.0):
        for at in z:
            exact = reach * float(slow_psi(float(at * reach / reach)))
            found = largest_expected_improvement(np.array([at * reach]), np.array([2 * reach]), 0.5)
            assert found == pytest.approx(exact, rel=1e-13 + 1e-15 * at * at)
    for gap, reach in ((60.0, 1.0), (0.0, 0.0), (2.0, 0.0)):
        assert largest_expected_improvement(np.array([gap]), np.array([reach]), 1.0) == 0.0
    assert largest_expected_improvement(np.zeros(0), np.zeros(0), 1.0) == 0.0
    with pytest.raises(ValueError, match="there must be 2 distances, got 1"):
        largest_expected_improvement(np.zeros(2), np.zeros(1), 1.0)


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 200),
    nearest=st.floats(0, 45),
    spread=st.floats(0, 12),
    noise=st.floats(0, 3),
)
@settings(max_examples=200, deadline=None)
def test_the_largest_expected_improvement_is_that_of_all_rivals_one_by_one(
    seed: int, arms: int, nearest: float, spread: float, noise: float
) -> None:
    """To the last bit, though most are never computed; some rivals have no width."""
    rng = np.random.default_rng(seed)
    distances = np.exp(-spread * rng.random(arms)) * (rng.random(arms) < 0.9)
    gaps = (nearest + spread * rng.random(arms)) * noise * distances
    each = [largest_expected_improvement(gaps[k : k + 1], distances[k : k + 1], noise) for k in range(arms)]
    assert largest_expected_improvement(gaps, distances, noise) == max(each)


@given(
    seed=st.integers(0, 10**6),
    near=st.floats(1e-9, 1),
    penalty=st.sampled_from([1e-8, 1e-4, 0.1, 1.0, 50.0]),
    pulls=st.integers(0, 3000),
    changing=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_widths_of_differences_are_exact_for_arms_that_are_nearly_equal(
    seed: int, near: float, penalty: float, pulls: int, changing: bool
) -> None:
    """Against V^-1 in exact fractions, with an arm that is played many times in a row."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(3, 3)) / 4
    rows = np.concatenate([first, first + near * rng.normal(size=(3, 3)) / 4, first[:1]])
    model = RidgeModel(np.ascontiguousarray(rows.T), penalty)
    gram = [[Fraction(penalty) * (i == j) for j in range(3)] for i in range(3)]
    for arm, times in ((0, 2), (1, 1), (2, pulls), (3, 2)):
        for _ in range(times):
            model.update(arm, 1.0)
        x = [Fraction(number) for number in rows[arm]]
        gram = [[gram[i][j] + times * x[i] * x[j] for j in range(3)] for i in range(3)]
    posterior = Posterior(model.posterior())
    if changing:
        posterior = posterior.on(np.ascontiguousarray(rows.T))
    for arm in range(len(rows)):
        for k, found in enumerate(posterior.distances(arm)):
            apart = [Fraction(one) - Fraction(other) for one, other in zip(rows[k], rows[arm], strict=True)]
            exact = math.sqrt(sum(a * b for a, b in zip(apart, exact_solution(gram, apart), strict=True)))
            assert found == pytest.approx(exact, rel=1e-9, abs=0.0)


def exact_solution(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a small positive definite system, by elimination in fractions."""
    n = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i in range(n):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [line[-1] for line in rows]


@given(seed=st.integers(0, 10**6), logistic=st.booleans(), pulls=st.integers(0, 30), arms=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_widths_of_differences_are_those_of_the_covariance(
    seed: int, logistic: bool, pulls: int, arms: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = problem(seed, arms=arms, dim=3, horizon=1).arms
    bandit = Bandit(rows, Uniform(), estimator=models.Logistic() if logistic else None, seed=seed)
    for _ in range(pulls):
        bandit.tell(bandit.ask(), float(rng.integers(2)))
    posterior = bandit.posterior()
    chances = posterior.estimates
    slopes = chances * (1 - chances) if logistic else np.ones(arms)
    covariance = posterior.factor.T @ posterior.factor
    for arm in range(arms):
        differences = slopes[:, None] * rows - slopes[arm] * rows[arm]
        expected = [math.sqrt(max(row @ covariance @ row, 0.0)) for row in differences]
        np.testing.assert_allclose(posterior.distances(arm), expected, rtol=1e-9, atol=1e-12)
        assert posterior.distances(arm)[arm] == 0.0


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 6),
    limit=st.floats(0.05, 3),
    noise=st.floats(0.05, 2),
    period=st.integers(1, 3),
    changing=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_ledger_explores_when_what_greedy_rounds_may_lose_adds_up_to_its_limit(
    seed: int, arms: int, limit: float, noise: float, period: int, changing: bool
) -> None:
    """From the definition, round by round, on arms that stay or change; the first round has no data."""
    fixed = problem(seed, arms=arms, dim=3, horizon=60)
    policy = Infex(LinUCB(scale=0.3), ledger(limit, every(period), noise=noise))
    bandit = (
        Bandit(dim=3, policy=policy, penalty=0.5) if changing else Bandit(fixed.arms, policy, penalty=0.5)
    )
    played: list[Floats] = []
    rewards: list[float] = []
    sum_, before = 0.0, False
    for t in range(1, 61):
        offer = problem(seed + t, arms=arms, dim=3, horizon=1).arms if changing else fixed.arms
        stake = slow_stake(slow_ridge(offer, played, rewards, 0.5), noise)
        decision = bandit.ask(offer) if changing else bandit.ask()
        if t % period:
            assert decision.reason == Reason.GREEDY
        elif before:
            assert decision.reason == Reason.JUST_EXPLORED
        else:
            explores = sum_ + stake >= limit
            assert decision.reason == (Reason.SCHEDULED if explores else Reason.LITTLE_AT_STAKE)
        sum_ = 0.0 if decision.explored else sum_ + stake * (t % period == 0)
        before = decision.explored
        assert total(bandit) == pytest.approx(sum_, abs=1e-9)
        played.append(offer[decision.arm])
        rewards.append(fixed.reward(t, 0))
        bandit.tell(decision, rewards[-1])
    found = bandit.exploration()
    assert (found.planned or 0, found.skipped) == (found.done, 0)


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 6),
    scale=st.floats(0.001, 2),
    noise=st.floats(0.05, 2),
    changing=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_doubtful_schedule_explores_while_a_rival_may_be_better(
    seed: int, arms: int, scale: float, noise: float, changing: bool
) -> None:
    """min gap^2/(2 D^2) < scale log(1 + t), from the definition; the first round has no data."""
    fixed = problem(seed, arms=arms, dim=3, horizon=60)
    policy = Infex(LinUCB(scale=0.3), doubtful(always(), scale, noise=noise))
    bandit = (
        Bandit(dim=3, policy=policy, penalty=0.5) if changing else Bandit(fixed.arms, policy, penalty=0.5)
    )
    played: list[Floats] = []
    rewards: list[float] = []
    for t in range(1, 61):
        offer = problem(seed + t, arms=arms, dim=3, horizon=1).arms if changing else fixed.arms
        rivals = slow_rivals(slow_ridge(offer, played, rewards, 0.5))
        ratios = [gap**2 / (2 * (noise * width) ** 2) for gap, width in rivals if width > 1e-9]
        decision = bandit.ask(offer) if changing else bandit.ask()
        doubt = bool(ratios) and min(ratios) < scale * math.log(1 + t)
        assert decision.reason == (Reason.SCHEDULED if doubt else Reason.NO_DOUBT)
        assert decision.explored == doubt
        played.append(offer[decision.arm])
        rewards.append(fixed.reward(t, 0))
        bandit.tell(decision, rewards[-1])


def test_a_ledger_never_explores_twice_in_a_row_however_low_its_limit() -> None:
    bandit = Bandit(ARMS, Infex(Uniform(), ledger(1e-9)))
    decisions = []
    for t in range(40):
        decisions.append(bandit.ask())
        bandit.tell(decisions[-1], math.sin(t))
    assert [decision.explored for decision in decisions] == [True, False] * 20
    assert {decision.reason for decision in decisions[1::2]} == {Reason.JUST_EXPLORED}
    assert bandit.exploration().next_due == 41
    bandit.ask()
    assert bandit.exploration().next_due == 43


@pytest.mark.parametrize("rule", [ledger(1e-9), doubtful(always())], ids=repr)
def test_without_a_rival_there_is_no_doubt(rule: Any) -> None:
    alone = Bandit(ARMS[:1], Infex(Uniform(), rule))
    alike = Bandit(np.array([[0.6, 0.0], [0.6, 0.0]]), Infex(Uniform(), rule))
    masked = Bandit(ARMS, Infex(Uniform(), rule), allowed=[True, False, False])
    for bandit in (alone, alike, masked):
        for _ in range(10):
            decision = bandit.ask()
            assert not decision.explored
            bandit.tell(decision, 0.5)
    offered = Bandit(ARMS, Infex(Uniform(), rule))
    assert not offered.ask(offered=[1]).explored
    assert offered.ask(offered=[0, 1]).explored


def test_pending_decisions_narrow_what_is_in_doubt() -> None:
    """Without a reward exploring becomes rarer, as if each decision had been told its estimate."""
    policy = Infex(LinUCB(), ledger(1.0))
    night, told = Bandit(ARMS, policy), Bandit(ARMS, policy)
    ignoring = Bandit(ARMS, policy, pending="ignore")
    for _ in range(300):
        decision = told.ask()
        told.tell(decision, told.posterior().estimates[decision.arm])
        assert night.ask().explored == decision.explored
        ignoring.ask()
    assert total(night) == pytest.approx(total(told), rel=1e-9)
    assert 0 < night.exploration().done < ignoring.exploration().done


def test_an_exploration_that_may_not_happen_waits() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), ledger(1.5)))
    while bandit.ask(explore=False).reason != Reason.FORBIDDEN:
        pass
    waiting = total(bandit)
    assert waiting >= 1.5
    assert bandit.ask(explore=False).reason == Reason.FORBIDDEN
    assert total(bandit) > waiting
    assert bandit.exploration().skipped == 2
    assert bandit.ask().explored
    assert total(bandit) == 0.0
    paused_bandit = Bandit(ARMS, Infex(LinUCB(), paused(ledger(1e-9), when=lambda t: t < 5)))
    assert [paused_bandit.ask().explored for _ in range(6)] == [False] * 4 + [True, False]


@dataclass(frozen=True)
class Patient(Control):
    """A control of a user's whose explorations stay due."""

    schedule: Any
    missed: Any = "drop"

    stays_due = True


@pytest.mark.parametrize(
    "make",
    [
        lambda: catching_up(ledger(0.3)),
        lambda: paused(ledger(0.3), listed([5]), "make up"),
        lambda: paused(guarded(ledger(0.3), 2.0), lambda t: t < 9, "make up", at_most=0.1),
        lambda: guarded(catching_up(ledger(0.3, every(2))), 2.0),
        lambda: ledger(0.3, catching_up(every(2))),
        lambda: catching_up(Patient(every(2))),
        lambda: Patient(doubtful(every(2)), missed="make up"),
    ],
)
def test_what_stays_due_cannot_be_made_up_for(make: Any) -> None:
    with pytest.raises(InvalidSetting, match=r"explores in the next round that may, so there is nothing to"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: paused(ledger(0.3), listed([5])),
        lambda: catching_up(doubtful(every(2))),
        lambda: catching_up(budget(guarded(every(2), 1.0), 3, window=9)),
        lambda: Patient(every(2)),
    ],
)
def test_all_else_can_be_made_up_for_or_dropped(make: Any) -> None:
    assert Bandit(ARMS, Infex(LinUCB(), make())).ask().arm == 0


@pytest.mark.parametrize(
    "rule", [ledger(0.3), guarded(ledger(0.3, every(2)), 2.0), ledger(0.2, budget(every(1), 6))], ids=repr
)
@pytest.mark.parametrize("base", [LinUCB(scale=0.3), LinTS()], ids=repr)
def test_a_ledger_is_saved_and_goes_on(rule: Any, base: Any, tmp_path: Path) -> None:
    bandit = Bandit(ARMS, Infex(base, rule), seed=4)
    rewards = np.random.default_rng(1).normal(size=120)
    for t in range(61):
        decision = bandit.ask()
        if t % 3:
            bandit.tell(decision, rewards[t])
    bandit.save(tmp_path / "it.infex")
    loaded = Bandit.load(tmp_path / "it.infex")
    for t in range(61, 120):
        one, other = bandit.ask(id=f"{t}"), loaded.ask(id=f"{t}")
        assert one == other
        bandit.tell(one, rewards[t])
        loaded.tell(other, rewards[t])
    assert bandit.digest() == loaded.digest()


def test_a_doubtful_schedule_explores_again_where_the_data_contradict() -> None:
    bandit = Bandit(ARMS[[0, 2]], Infex(LinUCB(scale=0.2), doubtful(every(2), scale=0.05)))
    for _ in range(200):
        decision = bandit.ask()
        bandit.tell(decision, (0.9, 0.1)[decision.arm])
    assert decision.reason == Reason.NO_DOUBT
    done = bandit.exploration().done
    for _ in range(400):
        decision = bandit.ask()
        bandit.tell(decision, (-0.9, 0.1)[decision.arm])
    assert bandit.exploration().done > done


def test_late_rewards_are_played_as_in_a_bandit() -> None:
    """No compiled loop tells a control of what is pending: such runs are Python's."""
    late = environments.gaussian(dim=3, arms=6, seed=1, late=40)
    ignoring = play(late, Infex(LinUCB(), ledger(0.5)), 400, pending="ignore")
    run = play(late, Infex(LinUCB(), ledger(0.5)), 400)
    assert 0 < run.explored < ignoring.explored


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (ledger(1), "ledger(1)"),
        (ledger(0.5, every(2), noise=0.25), "ledger(0.5, schedule=every(2), noise=0.25)"),
        (doubtful(every(20)), "doubtful(every(20))"),
        (doubtful(guarded(ledger(2), 5), 0.1), "doubtful(guarded(ledger(2), 5), scale=0.1)"),
    ],
)
def test_they_are_written_and_read_back(rule: Any, text: str) -> None:
    assert expression(rule) == text
    assert parse(text) == rule
    assert parse(expression(Infex(LinUCB(), rule))) == Infex(LinUCB(), rule)
    assert eval(repr(rule)) == rule


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ledger(0), "limit must be above 0, got 0"),
        (lambda: ledger(math.inf), "limit must be finite, got inf"),
        (lambda: ledger(1, noise=-1), "noise must be above 0, got -1"),
        (lambda: ledger(1, noise=0), "noise must be above 0, got 0"),
        (lambda: doubtful(every(2), noise=0), "noise must be above 0, got 0"),
        (lambda: ledger(1, "every(2)"), "a schedule needs explores"),
        (lambda: doubtful(every(2), -0.1), "scale must be at least 0, got -0.1"),
        (lambda: doubtful(every(2), noise=math.nan), "noise must be finite, got nan"),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()
