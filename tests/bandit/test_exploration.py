"""Arms that exploring may not try, why a decision explored, and what exploring has cost."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Choice,
    Decision,
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    budget,
    every,
    guarded,
    jittered,
    listed,
    paused,
    until_certain,
)
from infex.bandit import Exploration, exploration
from infex.errors import CannotLoad, InvalidArms, SparseExploration
from infex.models import Posterior
from infex.policies import Reason, Uniform, catching_up
from infex.schedules import from_count
from infex.testing import problem
from tests.alike import probability, unnamed

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def told(bandit: Bandit, rounds: int, means: Any = (1.0, -0.5, -1.0)) -> list[Decision]:
    decisions = []
    for _ in range(rounds):
        decisions.append(bandit.ask())
        bandit.tell(decisions[-1], means[decisions[-1].arm])
    return decisions


@given(
    seed=st.integers(0, 10**6),
    bits=st.lists(st.booleans(), min_size=6, max_size=6),
    base=st.sampled_from([LinUCB(), LinTS(), Uniform(), EpsilonGreedy(), Greedy(), Infex(LinTS(), every(2))]),
    rule=st.sampled_from([every(2), jittered(3, seed=2), guarded(every(2), 3.0), until_certain(every(2))]),
    data=st.sampled_from(["shared", "own"]),
    changing=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_exploring_rounds_never_try_a_forbidden_arm(
    seed: int, bits: list[bool], base: Any, rule: Any, data: Any, changing: bool
) -> None:
    given = problem(seed, arms=6, dim=3, horizon=40)
    policy = Infex(base, rule, data=data)
    mask = np.array(bits)
    bandit = Bandit(dim=3, policy=policy) if changing else Bandit(given.arms, policy, allowed=bits)
    for t in range(1, 41):
        arms = problem(seed + t, arms=6, dim=3, horizon=1).arms if changing else None
        decision = bandit.ask(arms, allowed=mask if changing else None)
        assert mask[decision.arm] or not decision.explored
        if not mask.any():
            assert not decision.explored
            assert decision.reason in (Reason.NO_ARM_ALLOWED, "greedy")
        if not decision.explored:
            assert decision.arm == decision.greedy
        bandit.tell(decision, given.reward(t, 0))


def test_greedy_rounds_may_play_a_forbidden_arm() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(2)), allowed=[False, True, False])
    decisions = told(bandit, 40)
    assert {decision.arm for decision in decisions if not decision.explored} == {0}
    assert {decision.arm for decision in decisions if decision.explored} == {1}


@pytest.mark.parametrize("policy", [LinUCB(), LinTS(), EpsilonGreedy(), EpsilonGreedy(rate=1.0)], ids=repr)
@pytest.mark.parametrize("changing", [False, True])
def test_a_policy_without_a_schedule_keeps_to_the_allowed_arms(policy: Any, changing: bool) -> None:
    mask = [False, True, True]
    bandit = Bandit(dim=2, policy=policy) if changing else Bandit(ARMS, policy, allowed=mask)
    rows = ARMS if changing else None
    arms = set()
    for _ in range(60):
        decision = bandit.ask(rows, allowed=mask if changing else None)
        bandit.tell(decision, (1.0, 0.2, 0.1)[decision.arm])
        arms.add(decision.arm)
    assert arms == {1, 2}


def test_the_allowed_arms_are_played_as_if_there_were_no_others() -> None:
    whole = Bandit(ARMS, LinTS(), allowed=[True, False, True], seed=4)
    part = Bandit(ARMS[[0, 2]], LinTS(), seed=4)
    for t in range(60):
        one, other = whole.ask(), part.ask()
        assert one.arm == (0, 2)[other.arm]
        assert one.high == pytest.approx(other.high)
        whole.tell(one, math.sin(t))
        part.tell(other, math.sin(t))


@pytest.mark.parametrize(
    "policy", [LinUCB(), EpsilonGreedy(rate=0.5), Greedy(), Infex(LinUCB(), every(1))], ids=repr
)
def test_where_no_arm_is_allowed_the_greedy_one_is_played(policy: Any) -> None:
    bandit = Bandit(ARMS, policy)
    told(bandit, 5)
    bandit.allowed = [False] * 3
    posterior = bandit.posterior()
    chances = [probability(policy, 6, posterior, arm) for arm in range(3)]
    assert sum(chance or 0.0 for chance in chances) == 1.0
    decision = bandit.ask()
    assert (decision.arm, decision.explored) == (posterior.greedy, False)
    assert decision.reason == Reason.NO_ARM_ALLOWED
    assert decision.propensity == 1.0
    assert bandit.exploration().skipped == isinstance(policy, Infex)  # without a schedule none was due


def test_what_the_bandit_forbids_one_round_cannot_allow() -> None:
    bandit = Bandit(ARMS, LinUCB(), allowed=[True, True, False])
    for _ in range(20):
        assert bandit.ask(allowed=[False, True, True]).arm == 1
    assert bandit.ask(allowed=[False, False, True]).reason == Reason.NO_ARM_ALLOWED
    bandit.allowed = None
    assert bandit.allowed is None
    assert bandit.ask(allowed=[False, False, True]).arm == 2


def test_the_mask_follows_arms_that_come_and_go() -> None:
    bandit = Bandit(ARMS, LinUCB(), labels=["a", "b", "c"], allowed=[True, False, True])
    bandit.remove_arms("a")
    bandit.add_arms([[0.5, 0.5]], labels=["d"])
    assert bandit.allowed is not None
    assert bandit.allowed.tolist() == [False, True, True]
    assert {bandit.ask().label for _ in range(20)} <= {"c", "d"}
    with pytest.raises(ValueError, match="read-only"):
        bandit.allowed[0] = True


@pytest.mark.parametrize("data", ["shared", "own"])
def test_probabilities_under_a_mask_add_up_to_one(data: Any) -> None:
    policy = Infex(Uniform(), jittered(3, seed=1), data=data)
    bandit = Bandit(ARMS, policy, allowed=[False, True, True])
    for t in range(1, 30):
        posterior = bandit.posterior()
        chances = [probability(policy, t, posterior, arm) for arm in range(3)]
        assert sum(chance or 0.0 for chance in chances) == pytest.approx(1.0)
        chance = policy.schedule.explore_probability(t)  # type: ignore[union-attr]
        shares = [0.0, chance / 2, chance / 2]
        shares[posterior.greedy] += 1 - chance
        assert chances == pytest.approx(shares)
        told(bandit, 1)


@pytest.mark.parametrize(
    "mask",
    [[True, False], [1, 0, 1], "yes", [[True] * 3], [True, None, False], [[True], [True, False]], True],
)
def test_bad_masks_are_refused_with_their_value(mask: Any) -> None:
    with pytest.raises(InvalidArms, match="allowed must be true or false for each of 3 arms, got ") as caught:
        Bandit(ARMS, LinUCB(), allowed=mask)
    assert repr(mask) in str(caught.value)
    bandit = Bandit(ARMS, LinUCB(), allowed=[True, False, True])
    for wrong in (lambda: bandit.ask(allowed=mask), lambda: setattr(bandit, "allowed", mask)):
        with pytest.raises(InvalidArms, match="allowed must be true or false for each of 3 arms"):
            wrong()
    assert bandit.t == 0
    assert bandit.allowed is not None
    assert bandit.allowed.tolist() == [True, False, True]


def test_changing_arms_have_their_mask_with_them() -> None:
    with pytest.raises(InvalidArms, match=r"goes with them: give"):
        Bandit(dim=2, policy=LinUCB(), allowed=[True, False])
    with pytest.raises(InvalidArms, match="goes with them"):
        Bandit(dim=2, policy=LinUCB()).allowed = [True]


def test_a_learner_that_knows_arms_by_index_is_not_shown_some_of_them() -> None:
    class Plain:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0)

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None: ...

    class Heeding(Plain):
        uses_allowed = True

        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            assert posterior.allowed is not None
            return Choice(int(np.flatnonzero(posterior.allowed)[0]))

    with pytest.raises(InvalidArms, match="knows arms by their indices, which `allowed` would change"):
        Bandit(ARMS, Plain(), allowed=[False, True, True]).ask()
    assert Bandit(ARMS, Heeding(), allowed=[False, True, True]).ask().arm == 1


def test_decisions_say_why() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)
        policy = Infex(LinUCB(), budget(every(2), 3))
        nested = Infex(LinUCB(), budget(budget(every(2), 3), 9))
    for each in (policy, nested):
        reasons = [decision.reason for decision in told(Bandit(ARMS, each), 10)]
        assert reasons == ["greedy", "scheduled"] * 3 + ["greedy", "budget spent"] * 2
    assert told(Bandit(ARMS, LinUCB()), 1)[0].reason == "explored"
    assert told(Bandit(ARMS, Greedy()), 1)[0].reason == "greedy"
    words = {decision.reason for decision in told(Bandit(ARMS, EpsilonGreedy(rate=0.5)), 40)}
    assert words == {"explored", "greedy"}


def test_exploration_reports_what_was_planned_done_and_spent() -> None:
    bandit = Bandit(ARMS, Infex(Uniform(), every(4)))
    assert bandit.exploration() == Exploration(0, 0, 0, 0, 0, 0, 0, 4, 0.0)
    cost, different = 0.0, 0
    for t in range(1, 51):
        known = bandit.posterior().estimates
        decision = bandit.ask()
        if t % 4 == 0:
            cost += known.max() - known[decision.arm]
            different += decision.arm != decision.greedy
        bandit.tell(decision, (1.0, -0.5, -1.0)[decision.arm])
    found = bandit.exploration()
    assert found[:-1] == (12, 12, 0, 0, 0, 0, different, 52)
    assert 0 < different < 12
    assert found.cost == pytest.approx(cost)
    assert cost > 1
    assert Bandit(ARMS, LinUCB()).exploration() == Exploration(None, 0, 0, 0, 0, 0, 0, None, 0.0)
    changing = Bandit(dim=2, policy=Infex(LinUCB(), guarded(every(4), 1.0)))
    changing.ask(ARMS)
    assert changing.exploration() == Exploration(0, 0, 0, 0, 0, 0, 0, 4, 0.0)


def test_a_schedule_that_ends_has_no_next_round() -> None:
    with pytest.warns(SparseExploration):
        bandit = Bandit(ARMS, Infex(LinUCB(), budget(every(2), 3)))
    told(bandit, 10)
    assert bandit.exploration()[:6] == (3, 3, 0, 0, 0, 0)
    assert bandit.exploration().next_due is None


def test_a_schedule_of_explores_alone_is_counted_and_does_not_look_ahead() -> None:
    class Odd:
        def explores(self, t: int) -> bool:
            return t % 2 == 1

    bandit = Bandit(ARMS, Infex(LinUCB(), Odd()))
    told(bandit, 5)
    assert bandit.exploration()[:3] == (3, 3, 0)
    assert bandit.exploration().next_due is None


@pytest.mark.parametrize("by_file", [False, True])
def test_what_was_spent_stays_spent_under_another_policy(tmp_path: Path, by_file: bool) -> None:
    bandit = Bandit(ARMS, Infex(Uniform(), guarded(every(1), 1.0)))
    told(bandit, 60)
    spent = bandit.exploration()
    assert spent.next_due is None
    for limit in (1.0, 3.0):
        policy = Infex(Uniform(), guarded(every(1), limit))
        if by_file:
            bandit.save(tmp_path / "a.infex")
            bandit = Bandit.load(tmp_path / "a.infex", policy, adopt=True)
        else:
            bandit.policy = policy
        told(bandit, 60)
        assert spent.cost <= bandit.exploration().cost <= limit
    assert bandit.exploration().cost > 1.0


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_a_budget_is_one_for_all_policies() -> None:
    """20 of 30 explorations were done under another schedule: ten are left."""
    bandit = Bandit(ARMS, Infex(LinUCB(), budget(every(5), 30)))
    told(bandit, 100)
    bandit.policy = Infex(LinUCB(), budget(every(2), 30))
    told(bandit, 200)
    found = bandit.exploration()
    assert (found.planned, found.done, found.skipped, found.next_due) == (30, 30, 0, None)


def test_rounds_owed_are_made_up_for_under_another_policy() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), paused(every(2), when=lambda t: True, missed="make up")))
    told(bandit, 20)
    assert bandit.exploration()[:5] == (10, 0, 10, 0, 10)
    bandit.policy = Infex(LinUCB(), every(10))
    reasons = [decision.reason for decision in told(bandit, 20)]
    assert reasons.count(Reason.MADE_UP) == 10
    found = bandit.exploration()
    assert (found.planned, found.done, found.made_up, found.owed) == (12, 12, 10, 0)


RULES: dict[str, Any] = {
    "guarded": guarded(every(2), 2.0),
    "until_certain": until_certain(every(2), scale=0.2),
    "both": until_certain(guarded(jittered(3, seed=4), 3.0), scale=0.1),
    "paused": paused(every(2), when=lambda t: t % 7 < 3, missed="make up"),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("data", ["shared", "own"])
@pytest.mark.parametrize("rounds", [0, 9, 40])
@pytest.mark.parametrize("changing", [False, True])
def test_a_loaded_bandit_goes_on_exactly(
    tmp_path: Path, rule: str, data: Any, rounds: int, changing: bool
) -> None:
    policy = Infex(LinTS(scale=0.5), RULES[rule], data=data)
    mask = [False, True, True]
    bandit = Bandit(dim=2, policy=policy) if changing else Bandit(ARMS, policy, allowed=mask)
    rows, given = (ARMS, mask) if changing else (None, None)
    for t in range(rounds):
        bandit.ask(rows, allowed=given)
        if t % 3:
            bandit.tell(bandit.pending[0], math.sin(t))
    bandit.save(tmp_path / "a.infex")
    loaded = Bandit.load(tmp_path / "a.infex", policy=policy if rule == "paused" else None)
    assert loaded.exploration() == bandit.exploration()
    assert (loaded.allowed is None) == changing
    for t in range(60):
        one, other = bandit.ask(rows, allowed=given), loaded.ask(rows, allowed=given)
        assert unnamed(one) == unnamed(other)
        if t % 4:
            bandit.tell(bandit.pending[-1], math.cos(t))
            loaded.tell(loaded.pending[-1], math.cos(t))
    assert loaded.exploration() == bandit.exploration()
    assert loaded.allowed is None or loaded.allowed.tolist() == mask


def test_a_policy_given_in_the_place_of_the_saved_one_has_a_note_of_its_own(tmp_path: Path) -> None:
    bandit = Bandit(ARMS, Infex(Uniform(), guarded(every(1), 1.0)))
    told(bandit, 60)
    bandit.save(tmp_path / "a.infex")
    with pytest.raises(CannotLoad, match=r"holds another policy: schedule is .* say adopt=True"):
        Bandit.load(tmp_path / "a.infex", policy=Infex(Uniform(), until_certain(every(1), scale=9)))
    policy = Infex(Uniform(), until_certain(every(1), scale=9))
    other = Bandit.load(tmp_path / "a.infex", policy=policy, adopt=True)
    assert other.ask().explored
    same = Bandit.load(tmp_path / "a.infex", policy=Infex(Uniform(), guarded(every(1), 1.0)))
    assert not same.ask().explored


def test_a_schedule_of_a_users_own_can_be_controlled() -> None:
    bandit = Bandit(ARMS, Infex(Uniform(), guarded(from_count(lambda t: t // 3), 1.0)))
    told(bandit, 60)
    found = bandit.exploration()
    assert found.planned == 20
    assert found.done + found.skipped == 20
    assert found.cost <= 1.0


def test_a_window_longer_than_what_is_remembered_forgets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "REMEMBERED", 10)
    bandit = Bandit(np.eye(2), Infex(LinUCB(), budget(every(2), 3, window=40)))
    rounds = [decision.t for decision in (bandit.ask() for _ in range(200)) if decision.explored]
    assert max(sum(t - 40 < other <= t for other in rounds) for t in rounds) == 3
    assert rounds[:4] == [2, 4, 6, 42]


@pytest.mark.parametrize("forbidden", ["at random", "in every round that is due"])
@pytest.mark.parametrize("base", [LinUCB(), Uniform()])
def test_with_catching_up_two_percent_stay_two_percent(base: Any, forbidden: str) -> None:
    """One request in ten forbids exploring; the last rounds allow it, so that nothing stays owed."""
    rng = np.random.default_rng(3)
    allows = rng.random(5000) >= 0.1 if forbidden == "at random" else np.arange(1, 5001) % 10 != 0
    allows[-2:] = True
    done = {}
    for schedule in (every(50), catching_up(every(50))):
        bandit = Bandit(np.eye(3), Infex(base, schedule), seed=1)
        explored = [bandit.ask(explore=bool(may)).explored for may in allows]
        assert not any(each and not may for each, may in zip(explored, allows, strict=True))
        found = bandit.exploration()
        assert (found.planned, found.owed) == (100, 0)
        done[schedule] = sum(explored)
        assert found.done == done[schedule]
    assert done[catching_up(every(50))] == 100
    assert done[every(50)] < 95


def test_what_a_limit_or_a_pause_keeps_from_happening_is_not_caught_up_with() -> None:
    for schedule in (guarded(every(2), 0.0), paused(every(2), when=listed(range(1, 21)))):
        bandit = Bandit(np.eye(2), Infex(LinUCB(), catching_up(schedule)))
        bandit.learn(arms=[0, 1], rewards=[1.0, -1.0])
        for _ in range(20):
            bandit.ask()
        assert bandit.exploration().owed == 0
        assert bandit.exploration().made_up == 0
