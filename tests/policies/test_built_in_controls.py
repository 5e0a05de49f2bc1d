"""Schedules that look at what is known before they let a round explore."""

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Decision,
    Infex,
    InfexError,
    LinTS,
    LinUCB,
    budget,
    every,
    guarded,
    jittered,
    paused,
    until_certain,
)
from infex.arrays import Floats
from infex.lab import environments, play
from infex.policies import Reason, Uniform, catching_up, conservative
from infex.policies.controls import ControlledSchedule
from infex.registry import expression, parse
from infex.testing import SlowRidge, problem
from infex.testing.reference import Pull, lowest, slow_radius
from tests.alike import probability

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def clear(rounds: int, policy: Any, bandit: Bandit | None = None) -> list[Decision]:
    """Decisions on three arms of which the first is clearly the best, told at once."""
    bandit = Bandit(ARMS, policy) if bandit is None else bandit
    decisions = []
    for _ in range(rounds):
        decisions.append(bandit.ask())
        bandit.tell(decisions[-1], (1.0, -0.5, -1.0)[min(decisions[-1].arm, 2)])
    return decisions


def explored(decisions: list[Decision]) -> list[int]:
    return [decision.t for decision in decisions if decision.explored]


# guarded


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 8),
    limit=st.floats(0, 5),
    period=st.integers(1, 4),
    base=st.sampled_from([LinUCB(), LinTS(), Uniform()]),
    data=st.sampled_from(["shared", "own"]),
    changing=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_the_cost_never_passes_the_limit_however_rewards_come(
    seed: int, arms: int, limit: float, period: int, base: Any, data: Any, changing: bool
) -> None:
    chance = random.Random(seed)
    policy = Infex(base, guarded(every(period), limit), data=data)
    first = problem(seed, arms=arms, dim=3, horizon=1).arms
    bandit = Bandit(dim=3, policy=policy, seed=seed) if changing else Bandit(first, policy, seed=seed)
    spent, stopped = 0.0, False
    for t in range(1, 81):
        offer = problem(seed + t, arms=arms, dim=3, horizon=1).arms if changing else None
        known = bandit.posterior(offer).estimates.copy()
        decision = bandit.ask(offer)
        if decision.explored:
            spent += known.max() - known[decision.arm]
            assert not stopped
        stopped = stopped or decision.reason == Reason.COST_LIMIT
        assert decision.reason in ("greedy", Reason.SCHEDULED, Reason.COST_LIMIT)
        assert spent <= limit + 1e-9
        assert bandit.exploration().cost == pytest.approx(spent, abs=1e-9)
        fate, waiting = chance.random(), chance.choice(bandit.pending)
        if fate < 0.7:
            bandit.tell(waiting, chance.choice([-1.0, 1.0]))
        elif fate < 0.8:
            bandit.drop(waiting)


def test_guarded_stops_for_good_at_the_first_round_it_refuses() -> None:
    policy = Infex(Uniform(), guarded(every(2), 3.0))
    decisions = clear(300, policy)
    due = [decision for decision in decisions if decision.t % 2 == 0]
    first = next(place for place, decision in enumerate(due) if not decision.explored)
    assert 0 < first < len(due) - 1
    assert all(decision.reason == Reason.SCHEDULED for decision in due[:first])
    assert all(decision.reason == Reason.COST_LIMIT and not decision.explored for decision in due[first:])


def test_a_limit_of_nothing_lets_equals_be_tried() -> None:
    decisions = clear(40, Infex(LinUCB(), guarded(every(1), 0.0)))
    assert decisions[0].explored  # nothing is known: all arms are equally good
    assert not decisions[-1].explored


def test_an_exploration_that_was_owed_can_be_the_one_that_ends_it() -> None:
    rule = guarded(paused(every(2), when=lambda t: t <= 20, missed="make up"), 1.0)
    decisions = clear(200, Infex(Uniform(), rule))
    bandit = Bandit(ARMS, Infex(Uniform(), rule))
    made_up = [decision.t for decision in decisions if decision.reason == Reason.MADE_UP]
    last = explored(decisions)[-1]
    refused = next(d.t for d in decisions if d.t > last and d.reason == Reason.COST_LIMIT)
    assert all(d.reason == Reason.COST_LIMIT for d in decisions if d.t >= refused and d.t % 2 == 0)
    assert made_up
    clear(200, bandit.policy, bandit)
    assert bandit.exploration().next_due is None


# until_certain


def slow_is_certain(rule: Any, ridge: SlowRidge) -> bool:
    """The lower bound of the greedy arm exceeds every other arm's upper bound, from the definition."""
    estimates, margins = ridge.estimates(), slow_radius(rule, ridge) * ridge.widths()
    best = lowest(estimates)
    return all(
        estimates[best] - margins[best] > estimates[k] + margins[k] for k in range(len(margins)) if k != best
    )


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 6),
    scale=st.floats(0.01, 0.4),
    delta=st.floats(0.001, 0.5),
    noise=st.floats(0.1, 2),
    changing=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_certainty_is_that_of_the_slow_version(
    seed: int, arms: int, scale: float, delta: float, noise: float, changing: bool
) -> None:
    rule = until_certain(every(2), delta, noise=noise, bound=0.5, scale=scale)
    policy = Infex(LinUCB(), rule)
    fixed = problem(seed, arms=arms, dim=3, horizon=60)
    bandit = (
        Bandit(dim=3, policy=policy, penalty=0.5) if changing else Bandit(fixed.arms, policy, penalty=0.5)
    )
    played: list[Floats] = []
    rewards: list[float] = []
    stopped = False
    for t in range(1, 61):
        offer = problem(seed + t, arms=arms, dim=3, horizon=1).arms if changing else fixed.arms
        board = np.array([*offer, *played])
        pulls = [Pull(arms + place, reward, True) for place, reward in enumerate(rewards)]
        slow = SlowRidge(board, pulls, 0.5)
        slow.arms = offer
        decision = bandit.ask(offer) if changing else bandit.ask()
        if t % 2 == 0:
            stopped = slow_is_certain(rule, slow) or (stopped and not changing)
            assert decision.reason == (Reason.CERTAIN if stopped else Reason.SCHEDULED)
            assert decision.explored != stopped
        played.append(offer[decision.arm])
        rewards.append(fixed.reward(t, 0))
        bandit.tell(decision, rewards[-1])


def test_until_certain_stops_for_good_on_fixed_arms() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(scale=0.2), until_certain(every(2), scale=0.2)))
    decisions = clear(200, bandit.policy, bandit)
    reasons = [decision.reason for decision in decisions if decision.t % 2 == 0]
    first = reasons.index(Reason.CERTAIN)
    assert first > 0
    assert set(reasons[first:]) == {Reason.CERTAIN}
    assert bandit.exploration().next_due is None
    for _ in range(100):  # the estimates turn round, and it stays stopped
        bandit.tell(bandit.ask(), -1.0)
    assert bandit.exploration().skipped == sum(reason == Reason.CERTAIN for reason in reasons) + 50


@pytest.mark.parametrize("kind", ["added", "one for another"])
def test_until_certain_starts_again_when_arms_come_or_go(kind: str) -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(scale=0.2), until_certain(every(2), scale=0.2)))
    clear(200, bandit.policy, bandit)
    assert bandit.exploration().next_due is None
    if kind == "one for another":
        bandit.remove_arms(2)
    bandit.add_arms([[0.99, 0.1]])
    assert bandit.exploration().next_due == 202
    decisions = clear(2, bandit.policy, bandit)
    assert decisions[-1].explored
    assert decisions[-1].reason == Reason.SCHEDULED


def test_changing_arms_are_judged_in_every_round() -> None:
    bandit = Bandit(dim=2, policy=Infex(LinUCB(scale=0.2), until_certain(every(1), scale=0.2)))
    for _ in range(100):
        bandit.tell(bandit.ask(ARMS[:1]), 1.0)
        bandit.tell(bandit.ask(ARMS[2:]), -1.0)
    assert bandit.ask(ARMS[[0, 2]]).reason == Reason.CERTAIN
    assert bandit.ask([ARMS[0], 0.99 * ARMS[0]]).reason == Reason.SCHEDULED
    assert bandit.ask(ARMS[[0, 2]]).reason == Reason.CERTAIN
    assert bandit.ask(ARMS[:1]).reason == Reason.CERTAIN  # one arm is surely the best
    assert bandit.exploration().next_due == 205


# paused


@pytest.mark.parametrize("missed", ["drop", "make up"])
def test_no_round_explores_in_a_pause(missed: Any) -> None:
    rule = paused(every(3), when=lambda t: 10 <= t < 22, missed=missed)
    bandit = Bandit(ARMS, Infex(LinUCB(), rule))
    decisions = clear(40, bandit.policy, bandit)
    skipped = [decision.t for decision in decisions if decision.reason == Reason.PAUSED]
    assert skipped == [12, 15, 18, 21]
    made_up = [22, 23, 25, 26] if missed == "make up" else []
    assert [decision.t for decision in decisions if decision.reason == Reason.MADE_UP] == made_up
    planned = [3, 6, 9, 24, 27, 30, 33, 36, 39]
    assert explored(decisions) == sorted(planned + made_up)
    found = bandit.exploration()
    assert (found.planned, found.skipped, found.made_up, found.next_due) == (13, 4, len(made_up), 42)
    assert found.done == found.planned - found.skipped + found.made_up


def test_what_is_owed_is_due_in_the_next_round() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), paused(every(5), when=lambda t: t < 12, missed="make up")))
    clear(9, bandit.policy, bandit)
    assert bandit.exploration().next_due == 10
    bandit.policy = Infex(LinUCB(), paused(every(5), when=lambda t: t == 5, missed="drop"))
    assert bandit.exploration().next_due == 10


# nesting


def test_each_pause_answers_for_the_rounds_it_forbids() -> None:
    nights = paused(every(2), when=lambda t: t in (4, 8))
    rule = paused(nights, when=lambda t: t in (8, 10, 12), missed="make up")
    bandit = Bandit(ARMS, Infex(LinUCB(), rule))
    decisions = clear(30, bandit.policy, bandit)
    assert [d.t for d in decisions if d.reason == Reason.PAUSED] == [4, 8, 10, 12]
    assert [d.t for d in decisions if d.reason == Reason.MADE_UP] == [11, 13]
    both = paused(
        paused(every(2), when=lambda t: t == 4, missed="make up"), when=lambda t: t == 6, missed="make up"
    )
    found = clear(30, Infex(LinUCB(), both))
    assert [d.t for d in found if d.reason == Reason.MADE_UP] == [5, 7]


def test_controls_of_controls_keep_all_their_words() -> None:
    inner = until_certain(budget(every(2), 60), delta=0.05, scale=0.7)
    rule = paused(guarded(inner, 20.0), when=lambda t: t % 10 == 0, missed="make up")
    assert rule.planned == budget(every(2), 60)
    layers = ControlledSchedule(rule).controls
    assert [type(layer).__name__ for layer in layers] == ["Limited", "UntilCertain", "Guarded", "Paused"]
    bandit = Bandit(ARMS, Infex(Uniform(), rule))
    decisions = clear(200, bandit.policy, bandit)
    reasons = {decision.reason for decision in decisions}
    assert reasons >= {"greedy", Reason.SCHEDULED, Reason.PAUSED, Reason.MADE_UP}
    assert reasons & {Reason.COST_LIMIT, Reason.CERTAIN}
    assert not any(decision.explored and decision.t % 10 == 0 for decision in decisions)
    assert bandit.exploration().cost <= 20.0
    assert bandit.explored <= 60


def test_arms_that_are_equal_leave_it_uncertain_which_is_the_best() -> None:
    """The lower bound of one is the upper bound of the other, not above it."""
    alike = np.array([[0.6, 0.0], [0.6, 0.0]])
    bandit = Bandit(alike, Infex(Uniform(), until_certain(every(1), scale=0.0)))
    assert all(decision.explored for decision in clear(30, bandit.policy, bandit))


@given(seed=st.integers(0, 10**6), kind=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_with_own_data_the_exploring_rounds_are_a_run_by_itself(seed: int, kind: int) -> None:
    rule: Any = [
        guarded(every(3), 2.0),
        until_certain(every(2), scale=0.1),
        paused(every(3), when=lambda t: t % 4 == 1, missed="make up"),
        guarded(paused(every(2), when=lambda t: 10 < t < 20, missed="make up"), 3.0),
    ][kind]
    given = problem(seed, arms=5, dim=3, horizon=80)
    mixed = Bandit(given.arms, Infex(LinUCB(scale=0.3), rule, data="own"))
    alone = Bandit(given.arms, LinUCB(scale=0.3))
    for t in range(1, 81):
        decision = mixed.ask()
        mixed.tell(decision, given.reward(t, decision.arm))
        if decision.explored:
            other = alone.ask()
            assert other.arm == decision.arm
            alone.tell(other, given.reward(t, other.arm))
    assert alone.t == mixed.explored


def test_a_base_that_draws_counts_its_own_rounds() -> None:
    seen: list[int] = []

    class Counting:
        def choose(self, t: int, posterior: Any, rng: Any) -> Any:
            seen.append(t)
            return Uniform().choose(t, posterior, rng)

    clear(40, Infex(Counting(), paused(every(4), when=lambda t: t == 8, missed="make up"), data="own"))
    assert seen == list(range(1, 11))


@pytest.mark.parametrize(
    "rule",
    [
        until_certain(every(2), scale=0.1),
        paused(every(2), when=lambda t: t % 3 == 0, missed="make up"),
        guarded(every(2), 1.0),
        guarded(jittered(3, seed=1), 1.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("base", [Uniform(), LinUCB(), LinTS()], ids=repr)
@pytest.mark.parametrize("mask", [None, [True, False, True], [False] * 3], ids=str)
def test_probabilities_add_up_to_one_where_they_are_told(rule: Any, base: Any, mask: Any) -> None:
    bandit = Bandit(ARMS, Infex(base, rule, ties="random"), allowed=mask)
    told = 0
    for t in range(1, 60):
        posterior = bandit.posterior()
        chances = [probability(bandit.policy, t, posterior, arm) for arm in range(3)]
        decision = bandit.ask()
        assert chances[decision.arm] in (decision.propensity, None)
        known = [chance for chance in chances if chance is not None]
        assert len(known) in (0, 3)
        if known:
            told += 1
            assert sum(known) == pytest.approx(1.0)
            assert known[decision.arm] > 0
        bandit.tell(decision, math.sin(t))
    assert told > 0


def test_a_control_plays_in_simulation_as_in_a_bandit() -> None:
    policy = Infex(Uniform(), guarded(paused(every(2), when=lambda t: t < 20, missed="make up"), 2.0))
    run = play(environments.gaussian(dim=3, arms=6, seed=1), policy, 400)
    assert 0 < run.explored < 200
    free = play(environments.gaussian(dim=3, arms=6, seed=1), Infex(Uniform(), every(2)), 400)
    assert free.explored == 200
    changing = play(environments.changing(dim=3, arms=6, seed=1), policy, 400)
    assert 0 < changing.explored < 200


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (guarded(every(20), 5.0), "guarded(every(20), 5)"),
        (guarded(budget(every(20), 3), 0.25), "guarded(budget(every(20), 3), 0.25)"),
        (until_certain(every(5)), "until_certain(every(5))"),
        (catching_up(every(50)), "catching_up(every(50))"),
        (catching_up(guarded(every(50), 3), at_most=0.5), "catching_up(guarded(every(50), 3), at_most=0.5)"),
        (until_certain(every(5), 0.001, scale=0.5), "until_certain(every(5), delta=0.001, scale=0.5)"),
        (
            guarded(until_certain(every(2) | jittered(9, 1), noise=2), 7),
            "guarded(until_certain(every(2) | jittered(9, seed=1), noise=2), 7)",
        ),
        (until_certain(guarded(every(3), 1)), "until_certain(guarded(every(3), 1))"),
    ],
)
def test_controls_are_written_and_read_back(rule: Any, text: str) -> None:
    assert expression(rule) == text
    assert parse(text) == rule
    whole = Infex(LinUCB(), rule)
    assert parse(expression(whole)) == whole
    assert eval(repr(rule)) == rule


def test_a_pause_is_no_text_as_its_function_is_none() -> None:
    with pytest.raises(InfexError, match="not in the catalogue: Paused"):
        expression(paused(every(2), when=lambda t: False))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: guarded(every(2), -1.0), "cost_limit must be at least 0, got -1"),
        (lambda: guarded(every(2), math.nan), "cost_limit must be finite, got nan"),
        (lambda: guarded("every(2)", 1.0), "a schedule needs explores"),
        (lambda: until_certain(every(2), 0.0), "delta must be above 0, got 0.0"),
        (lambda: until_certain(every(2), scale=-2), "scale must be at least 0, got -2"),
        (lambda: paused(every(2), when=7), "when must be a function of the round, or a schedule, got 7"),
        (lambda: paused(every(2), lambda t: True, missed="later"), "missed must be .* got 'later'"),
        (lambda: guarded(every(2), 1.0) | every(3), "cannot stand inside a schedule"),
        (lambda: every(3) | guarded(every(2), 1.0), "cannot stand inside a schedule"),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()


def test_nothing_is_said_of_growth() -> None:
    assert guarded(every(2), 1.0).grows is None
    assert until_certain(every(2)).explores(4)
    assert not until_certain(every(2)).explores(5)


# conservative


@given(
    seed=st.integers(0, 10**6),
    baseline=st.floats(0.05, 1),
    alpha=st.floats(0, 1),
    period=st.integers(1, 4),
    radius=st.sampled_from(["sum", "mixture"]),
)
@settings(max_examples=40, deadline=None)
def test_an_arm_is_tried_if_what_was_tried_surely_earns_enough(
    seed: int, baseline: float, alpha: float, period: int, radius: Any
) -> None:
    """CLUCB's inequality (Kazerouni et al., 2017) from its definition, in every round that is due."""
    given = problem(seed, arms=5, dim=3, horizon=60)
    control = conservative(every(period), baseline, alpha, noise=0.1, bound=0.5, radius=radius)
    bandit, pulls = Bandit(given.arms, Infex(Uniform(), control), seed=seed), list[Pull]()
    tried = np.zeros(3)
    for t in range(1, 61):
        slow = SlowRidge(given.arms, pulls, 1.0)
        beta = slow_radius(LinUCB(noise=0.1, bound=0.5, radius=radius), slow)
        decision = bandit.ask()
        if t % period == 0:
            explored = sum(pull.explored for pull in pulls) + 1
            verdicts = []
            for arm in given.arms:
                z = tried + arm
                least = z @ slow.theta - beta * math.sqrt(z @ np.linalg.solve(slow.gram, z))
                verdicts.append(least + (t - explored) * baseline >= (1 - alpha) * t * baseline)
            if decision.explored:
                assert verdicts[decision.arm]
            else:
                assert not all(verdicts)
                assert (decision.reason, decision.arm) == (Reason.BASELINE, lowest(slow.estimates()))
        if decision.explored:
            tried += given.arms[decision.arm]
        pulls.append(Pull(decision.arm, given.reward(t, decision.arm), decision.explored))
        bandit.tell(decision, pulls[-1].reward)


def test_a_conservative_bandit_earns_its_share_of_the_baseline_and_goes_on_after_loading(
    tmp_path: Any,
) -> None:
    instance = environments.gaussian(dim=3, arms=8, seed=2)
    means = instance.arms @ instance.theta
    baseline = float(np.sort(means)[-2])
    policy = Infex(LinUCB(), conservative(every(2), baseline, alpha=0.2))
    bandit, rng, earned = Bandit(instance.arms, policy), np.random.default_rng(1), 0.0
    bandit.learn(
        arms=[int(np.argsort(means)[-2])] * 200, rewards=rng.normal(baseline, 1.0, size=200).tolist()
    )
    for t in range(1, 1500):
        decision = bandit.ask()
        earned += means[decision.arm] if decision.explored else max(means[decision.arm], baseline)
        bandit.tell(decision, float(rng.normal(means[decision.arm])))
        assert earned >= 0.8 * t * baseline - 1e-9
    assert bandit.explored > 20
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex")
    assert loaded.posterior().policy_state == bandit.posterior().policy_state
    assert [loaded.ask().arm for _ in range(20)] == [bandit.ask().arm for _ in range(20)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: conservative(every(2), 0), "baseline must be above 0, got 0"),
        (lambda: conservative(every(2), 1, alpha=2), "alpha must be at most 1, got 2"),
        (lambda: conservative(every(2), 1, noise=-1), "noise must be at least 0, got -1"),
        (lambda: conservative(every(2), 1, radius="x"), "radius must be 'sum' or 'mixture', got 'x'"),
    ],
)
def test_bad_settings_of_a_conservative_schedule_are_named(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()
