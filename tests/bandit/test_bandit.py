"""Ask and tell."""

import math
import random
import subprocess
import sys
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
    InfexError,
    LinTS,
    LinUCB,
    every,
    jittered,
)
from infex.errors import (
    AlreadyTold,
    CannotMerge,
    InvalidArms,
    InvalidChoice,
    InvalidReward,
    InvalidSetting,
    LargeReward,
    NotKept,
    UnknownArm,
    UnknownDecision,
)
from infex.models import Posterior
from infex.policies import Uniform
from infex.testing import SlowRidge, problem
from infex.testing.reference import Pull
from tests.alike import unnamed

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


class Listener:
    """A learner that only listens."""

    def __init__(self) -> None:
        self.stale_through: list[tuple[int, list[float], float, bool]] = []

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(t % 3)

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        self.stale_through.append((arm, features.tolist(), reward, explored))


def told(bandit: Bandit, rewards: list[float]) -> list[Decision]:
    """Decisions that are told their rewards at once."""
    decisions = []
    for reward in rewards:
        decisions.append(bandit.ask())
        bandit.tell(decisions[-1], reward)
    return decisions


def state(bandit: Bandit) -> tuple[Any, ...]:
    """All that a user can see of a bandit, to show that a refused call changed nothing."""
    records = bandit.estimates()
    return bandit.t, bandit.pending, bandit.labels, bandit.arms.tolist(), records.tolist()


def test_a_decision_says_what_was_known() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(delta=0.1), every(3)), labels=["a", "b", "c"])
    decisions = told(bandit, [1.0, 1.0])
    assert [
        (d.t, d.arm, d.label, d.explored, d.greedy, d.explore_probability, d.base_propensity)
        for d in decisions
    ] == [
        (1, 0, "a", False, 0, 0.0, None),
        (2, 0, "a", False, 0, 0.0, None),
    ]
    third = bandit.ask()
    slow = SlowRidge(ARMS, [Pull(0, 1.0, False)] * 2, 1.0)
    radius = math.sqrt(slow.log_det_ratio() + 2 * math.log(10)) + 1
    assert third.explored
    assert third.greedy == 0
    assert third.arm == int(np.argmax(slow.estimates() + radius * slow.widths()))
    assert third.estimate == pytest.approx(slow.estimates()[third.arm])
    assert third.high - third.estimate == pytest.approx(radius * slow.widths()[third.arm])
    assert third.estimate - third.low == pytest.approx(radius * slow.widths()[third.arm])
    assert (third.propensity, third.explore_probability, third.base_propensity) == (1.0, 1.0, 1.0)


def test_a_decision_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Bandit(ARMS, Greedy()).ask().arm = 2  # type: ignore[misc]


def test_a_policy_without_a_radius_has_the_default_interval() -> None:
    decision = Bandit(ARMS, Greedy()).ask()
    assert decision.high == pytest.approx(math.sqrt(2 * math.log(100)) + 1)


def test_probabilities_are_told_where_they_are_known() -> None:
    assert Bandit(ARMS, Uniform()).ask().propensity == pytest.approx(1 / 3)
    assert Bandit(ARMS, LinTS()).ask().propensity is None
    jitter = Bandit(ARMS, Infex(Uniform(), jittered(4, seed=1)))
    for decision in told(jitter, [1.0] * 8):
        chance = jitter.policy.schedule.explore_probability(decision.t)  # type: ignore[attr-defined]
        expected = chance / 3 + (decision.arm == decision.greedy) * (1 - chance)
        assert decision.propensity == pytest.approx(expected)


@given(seed=st.integers(0, 10**6), policy=st.sampled_from([LinUCB(), LinTS(), Infex(LinUCB(), every(3))]))
@settings(max_examples=30, deadline=None)
def test_late_rewards_in_any_order_teach_the_same(seed: int, policy: Any) -> None:
    given = problem(seed, arms=6, dim=3, horizon=40)
    bandit = Bandit(given.arms, policy, seed=seed)
    late = [bandit.ask() for _ in range(40)]
    rewards = {decision.id: given.reward(decision.t, decision.arm) for decision in late}
    random.Random(seed).shuffle(late)
    for decision in late:
        bandit.tell(decision.id, rewards[decision.id])
    pulls = [Pull(decision.arm, rewards[decision.id], True) for decision in late]
    slow = SlowRidge(given.arms, sorted(pulls), 1.0)
    np.testing.assert_allclose(bandit.estimates().estimate, slow.estimates(), rtol=1e-12, atol=1e-12)
    assert bandit.estimates().pulls.tolist() == [sum(p.arm == k for p in pulls) for k in range(6)]
    assert bandit.pending == ()


def test_a_reward_that_never_comes_changes_nothing_else() -> None:
    bandit, other = Bandit(ARMS, LinUCB()), Bandit(ARMS, LinUCB())
    told(bandit, [1.0, -1.0])
    told(other, [1.0, -1.0])
    silent = bandit.ask()
    assert bandit.pending == (silent,)
    assert bandit.estimates().tolist() == other.estimates().tolist()
    bandit.drop(silent)
    assert bandit.pending == ()
    with pytest.raises(AlreadyTold, match="-3' has its reward already, or was dropped"):
        bandit.tell(silent, 1.0)


def test_the_same_seed_gives_the_same_decisions_in_another_process() -> None:
    program = """
import infex
bandit = infex.Bandit([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], infex.LinTS(), seed=11)
for t in range(30):
    decision = bandit.ask()
    bandit.tell(decision, 1.0 if decision.arm else -1.0)
    print(decision._replace(id=""))
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    bandit = Bandit(ARMS, LinTS(), seed=11)
    for line in out.splitlines():
        decision = bandit.ask()
        bandit.tell(decision, 1.0 if decision.arm else -1.0)
        assert line == str(unnamed(decision))


@pytest.mark.parametrize("policy", [LinTS(), Uniform(), EpsilonGreedy(rate=0.5), Greedy(ties="random")])
def test_any_decision_can_be_replayed(policy: Any) -> None:
    bandit = Bandit(ARMS, policy, seed=5)
    told(bandit, [1.0, -1.0, 1.0, 0.5])
    posterior = bandit.posterior()
    replayed = [policy.choose(t, posterior, bandit.draws(t)).arm for t in range(5, 25)]
    assert replayed == [bandit.ask().arm for _ in range(5, 25)]


def test_another_seed_gives_other_decisions() -> None:
    runs = {tuple(d.arm for d in told(Bandit(ARMS, Uniform(), seed=s), [0.0] * 40)) for s in range(5)}
    assert len(runs) == 5


def test_arms_may_change_every_round() -> None:
    rng = np.random.default_rng(2)
    policy = Infex(LinUCB(delta=0.1), every(2), data="own")
    bandit = Bandit(dim=3, policy=policy, penalty=2.0)
    offers, pulls = [], []
    for _ in range(30):
        arms = rng.standard_normal((int(rng.integers(1, 9)), 3)) / 4
        decision = bandit.ask(arms, labels=[f"arm {k}" for k in range(len(arms))])
        assert decision.label == f"arm {decision.arm}"
        offers.append(arms[decision.arm])
        pulls.append(Pull(len(offers) - 1, float(rng.standard_normal()), decision.explored))
        bandit.tell(decision, pulls[-1].reward)
    slow = SlowRidge(np.array(offers), pulls, 2.0)
    records = bandit.estimates(np.array(offers))
    np.testing.assert_allclose(records.estimate, slow.estimates(), rtol=1e-9, atol=1e-12)
    own = SlowRidge(np.array(offers), [pull for pull in pulls if pull.explored], 2.0)
    explored = bandit.posterior(np.array(offers)).explored
    np.testing.assert_allclose(explored.widths, own.widths(), rtol=1e-9)


def test_changing_arms_that_stay_the_same_are_fixed_arms() -> None:
    fixed, changing = Bandit(ARMS, LinUCB(), seed=3), Bandit(dim=2, policy=LinUCB(), seed=3)
    for t in range(60):
        one, other = fixed.ask(), changing.ask(ARMS)
        assert one.arm == other.arm
        assert one.high == pytest.approx(other.high, rel=1e-9)
        fixed.tell(one, math.sin(t))
        changing.tell(other, math.sin(t))


def test_estimates_are_one_record_for_each_arm() -> None:
    bandit = Bandit(ARMS, LinUCB(), labels=["a", "b", "c"])
    told(bandit, [1.0, 0.5, -1.0])
    records = bandit.estimates()
    assert [record.label for record in records] == ["a", "b", "c"]
    assert sum(record.pulls for record in records) == 3
    for record in records:
        assert record.low < record.estimate < record.high


def test_other_arms_can_be_asked_about() -> None:
    bandit = Bandit(ARMS, LinUCB())
    told(bandit, [1.0, 0.5, -1.0])
    records = bandit.estimates(ARMS[::-1], labels=["c", "b", "a"])
    np.testing.assert_allclose(records.estimate[::-1], bandit.estimates().estimate)
    assert records.label.tolist() == ["c", "b", "a"]


def test_another_policy_may_take_over() -> None:
    bandit = Bandit(ARMS, LinUCB())
    told(bandit, [1.0, 0.5, -1.0])
    wide = bandit.estimates()
    bandit.policy = LinTS(noise=0.1, bound=0.1, scale=0.5)
    narrow = bandit.estimates()
    np.testing.assert_allclose(narrow.high - narrow.low, 0.1 * (wide.high - wide.low))
    assert bandit.ask().t == 4


def test_a_bandit_tells_how_often_it_explored() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(4)))
    decisions = told(bandit, [0.5] * 10)
    assert bandit.explored == sum(decision.explored for decision in decisions) == 2
    assert repr(bandit).startswith("Bandit(3 arms of 2 features, Infex(")
    assert repr(bandit).endswith("t=10, explored=2, pending=0)")
    assert "changing arms of 2 features" in repr(Bandit(dim=2, policy=Greedy()))


def test_rewards_far_beyond_the_settings_are_warned_of_once() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(4)))
    told(bandit, [1.0, -1.0, 5.0])
    with pytest.warns(LargeReward, match="a reward of 25 is far beyond the noise and bound") as caught:
        told(bandit, [25.0, -40.0])
    assert len(caught) == 1
    told(Bandit(ARMS, Infex(LinUCB(noise=10, bound=30), every(4))), [25.0, -40.0])
    told(Bandit(ARMS, Greedy()), [25.0, -40.0])


@pytest.mark.parametrize("policy", [Greedy(), LinUCB()])
def test_rewards_that_would_overflow_are_refused_by_every_policy(policy: Any) -> None:
    bandit = Bandit(ARMS, policy)
    waiting = bandit.ask()
    for reward in (math.inf, -math.inf, math.nan, 1e101):
        with pytest.raises(InvalidReward, match="reward must be"):
            bandit.tell(waiting, reward)


def test_added_arms_are_known_at_once_by_what_was_learnt() -> None:
    bandit = Bandit(ARMS[:1], LinUCB())
    told(bandit, [1.0] * 5)
    waiting = bandit.ask()
    bandit.add_arms(ARMS[1:])
    assert bandit.arms.tolist() == ARMS.tolist()
    bandit.tell(waiting, 1.0)
    slow = SlowRidge(ARMS, [Pull(0, 1.0, True)] * 6, 1.0)
    np.testing.assert_allclose(bandit.estimates().estimate, slow.estimates(), rtol=1e-12)
    assert bandit.estimates().pulls.tolist() == [6, 0, 0]


def test_what_was_learnt_of_removed_arms_stays() -> None:
    bandit = Bandit(ARMS, Infex(Uniform(), every(1), data="own"), labels=["a", "b", "c"], seed=1)
    decisions = told(bandit, [1.0] * 9)
    waiting = [bandit.ask() for _ in range(9)]
    assert {decision.label for decision in waiting} == {"a", "b", "c"}
    bandit.remove_arms("a")
    assert bandit.labels == ("b", "c")
    for decision in waiting:
        bandit.tell(decision, -1.0)
    pulls = [Pull(d.arm, 1.0, True) for d in decisions] + [Pull(d.arm, -1.0, True) for d in waiting]
    slow = SlowRidge(ARMS, pulls, 1.0)
    np.testing.assert_allclose(bandit.estimates().estimate, slow.estimates()[1:], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(bandit.posterior().explored.widths, slow.widths()[1:], rtol=1e-10)
    assert bandit.estimates().pulls.tolist() == [sum(pull.arm == k for pull in pulls) for k in (1, 2)]


@pytest.mark.parametrize("which", [True, [True], np.array([True, False, True]), [1.0], None, [[0]], 3, -1])
def test_what_is_no_index_removes_nothing(which: Any) -> None:
    bandit = Bandit(ARMS, Greedy())
    with pytest.raises(UnknownArm):
        bandit.remove_arms(which)
    assert len(bandit.arms) == 3


def test_numpy_indices_are_indices() -> None:
    bandit = Bandit(ARMS, Greedy())
    bandit.remove_arms(np.int64(1))
    bandit.remove_arms(np.array([0]))
    assert bandit.arms.tolist() == ARMS[2:].tolist()


def test_in_a_greedy_round_the_greedy_arm_is_the_one_played() -> None:
    bandit = Bandit(ARMS, Greedy(ties="random"))
    decisions = [bandit.ask() for _ in range(20)]
    assert {decision.arm for decision in decisions} == {0, 1, 2}
    assert all(decision.greedy == decision.arm for decision in decisions)


def test_a_policy_that_only_says_it_is_greedy_does_not_move_the_greedy_arm() -> None:
    class Stubborn:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(2, explored=False)

    bandit = Bandit(ARMS, Stubborn())
    bandit.tell(bandit.ask(), -1.0)
    decision = bandit.ask()
    assert (decision.arm, decision.greedy, decision.propensity) == (2, 0, None)


def test_a_learner_keeps_its_arms() -> None:
    bandit = Bandit(ARMS, Listener())
    with pytest.raises(InvalidArms, match="knows arms by their indices"):
        bandit.remove_arms(0)


def test_a_base_that_returns_no_choice_is_named() -> None:
    class Wrong:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return 1

    with pytest.raises(InvalidChoice, match="choose must return a Choice, got int"):
        Bandit(ARMS, Infex(Wrong(), every(1))).ask()


def test_arms_without_labels_are_removed_by_index() -> None:
    bandit = Bandit(ARMS, Greedy())
    bandit.remove_arms([0, 2])
    assert bandit.arms.tolist() == ARMS[1:2].tolist()


def test_long_arms_are_cut_where_the_user_says_so() -> None:
    bandit = Bandit(5 * ARMS, Greedy(), rescale=True)
    np.testing.assert_allclose(np.linalg.norm(bandit.arms, axis=1), 1.0)
    bandit.add_arms([[3.0, 0.0]])
    assert bandit.arms[-1].tolist() == [1.0, 0.0]
    assert Bandit(dim=2, policy=Greedy(), rescale=True).ask([[3.0, 0.0]]).arm == 0


def test_a_learner_hears_of_every_reward() -> None:
    listener = Listener()
    told(Bandit(ARMS, Infex(listener, every(2))), [1.0, 2.0])
    assert listener.stale_through == [(0, [1.0, 0.0], 1.0, False), (2, [0.0, 1.0], 2.0, True)]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Bandit(ARMS), InvalidSetting, "policy must be a policy, .* got None"),
        (lambda: Bandit(ARMS, Greedy), InvalidSetting, r"got the class Greedy, say Greedy\(...\)"),
        (lambda: Bandit(policy=Greedy()), InvalidSetting, "either the arms or"),
        (lambda: Bandit(ARMS, Greedy(), dim=2), InvalidSetting, "either the arms or"),
        (lambda: Bandit(dim=0, policy=Greedy()), InvalidSetting, "dim must be at least 1, got 0"),
        (lambda: Bandit(ARMS, Greedy(), seed=0.5), InvalidSetting, "seed must be a whole number, got 0.5"),
        (lambda: Bandit(ARMS, Greedy(), penalty=0), InvalidSetting, "penalty must be above 0, got 0"),
        (lambda: Bandit(ARMS, Greedy(), penalty=1e-18), InvalidSetting, "penalty must be at least 1e-10"),
        (
            lambda: Bandit(ARMS, Greedy(), rescale="no"),
            InvalidSetting,
            "rescale must be True or False, got 'no'",
        ),
        (lambda: Bandit(2 * ARMS, Greedy()), InvalidArms, "no longer than 1"),
        (lambda: Bandit(ARMS * np.nan, Greedy()), InvalidArms, "finite"),
        (lambda: Bandit(ARMS, Greedy(), labels=["a"]), InvalidArms, "as many as the arms, 3, got 1"),
        (
            lambda: Bandit(ARMS, Greedy(), labels=["a", "b", "a"]),
            InvalidArms,
            "labels must differ, got 'a' 2 times",
        ),
        (
            lambda: Bandit(ARMS, Greedy(), labels=["a", "b", 1.5]),
            InvalidArms,
            r"a label that is no text must be a whole number, got 1.5",
        ),
        (lambda: Bandit(dim=2, policy=Greedy(), labels=["a"]), InvalidArms, "labels of arms that change"),
        (
            lambda: Bandit(ARMS, Greedy(), labels="abc"),
            InvalidArms,
            "one label for each arm, got the text 'abc'",
        ),
    ],
)
def test_a_bandit_that_cannot_be_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda b: b.tell(b.pending[0], math.nan), InvalidReward, "reward must be finite, got nan"),
        (lambda b: b.tell(b.pending[0], -math.inf), InvalidReward, "reward must be finite, got -inf"),
        (lambda b: b.tell(b.pending[0], True), InvalidReward, "reward must be a number, got True"),
        (lambda b: b.tell(b.pending[0], np.True_), InvalidReward, "reward must be a number"),
        (lambda b: b.tell(b.pending[0], 1e308), InvalidReward, "reward must be at most 1e"),
        (lambda b: setattr(b, "policy", Greedy), InvalidSetting, "got the class Greedy"),
        (lambda b: setattr(b, "policy", Infex(LinUCB(), every(2), data="own")), NotKept, "was not done"),
        (lambda b: setattr(b, "seed", 3), AttributeError, "seed"),
        (lambda b: b.apply("x"), CannotMerge, "a bandit applies what `changes` gave, got 'x'"),
        (lambda b: b.tell(b.pending[0], "1"), InvalidReward, "reward must be a number, got '1'"),
        (lambda b: b.tell(b.pending[0], None), InvalidReward, "reward must be a number, got None"),
        (lambda b: b.tell(b.pending[0], np.ones(1)), InvalidReward, "reward must be a number"),
        (lambda b: b.tell(9, 1.0), UnknownDecision, "no decision '9' is pending here: it was never taken"),
        (
            lambda b: b.tell("third", 1.0),
            UnknownDecision,
            "no decision 'third' is pending here: it was never taken",
        ),
        (lambda b: b.tell(0.5, 1.0), UnknownDecision, "must be a whole number, got 0.5"),
        (lambda b: b.tell(other_id(b, 1), 1.0), AlreadyTold, "-1' has its reward already"),
        (lambda b: b.tell(other_id(b, 9), 1.0), UnknownDecision, "this one is from round 3"),
        (lambda b: b.ask(id=other_id(b, 4)), InvalidSetting, "looks like one of the bandit's own"),
        (lambda b: b.ask(id=b.pending[0].id), InvalidSetting, "looks like one of the bandit's own"),
        (lambda b: b.ask(id=""), InvalidSetting, "id must be a text of 1 to 200 characters, got ''"),
        (lambda b: b.ask(id=17), InvalidSetting, "id must be a text"),
        (
            lambda b: b.tell(b.pending[0]._replace(arm=99), 1.0),
            UnknownDecision,
            "of another bandit, or told already",
        ),
        (lambda b: b.drop(7), UnknownDecision, "no decision '7' is pending here"),
        (lambda b: b.ask(labels=["x", "y", "z"]), InvalidArms, "the arms are fixed"),
        (lambda b: b.ask(ARMS), InvalidArms, "the arms are fixed"),
        (
            lambda b: b.add_arms([[0.1, 0.2]]),
            InvalidArms,
            r"all arms have labels or none; those there are have \('a'",
        ),
        (lambda b: b.add_arms([[0.1]], labels=["d"]), InvalidArms, "arms must have 2 features each, got 1"),
        (lambda b: b.add_arms([[0.1, 9]], labels=["d"]), InvalidArms, "no longer than 1"),
        (lambda b: b.add_arms([[0.1, 0]], labels=["a"]), InvalidArms, "labels must differ, got 'a' 2 times"),
        (
            lambda b: b.remove_arms("d"),
            UnknownArm,
            "no arm is called 'd'; arms go by their labels",
        ),
        (lambda b: b.remove_arms(0), UnknownArm, "no arm is called 0"),
        (lambda b: b.remove_arms(["a", "b", "c"]), InvalidArms, "at least one arm must stay"),
    ],
)
def test_a_bad_call_is_refused_and_changes_nothing(call: Any, error: type[Exception], message: str) -> None:
    bandit = Bandit(ARMS, LinUCB(), labels=["a", "b", "c"])
    told(bandit, [1.0, -1.0])
    bandit.ask()
    before = state(bandit)
    with pytest.raises(error, match=message):
        call(bandit)
    assert state(bandit) == before
    bandit.tell(bandit.pending[0].id, 1.0)


def other_id(bandit: Bandit, t: int) -> str:
    """The id that the bandit gives, gave or will give to round t."""
    return f"{bandit.pending[0].id.split('-')[0]}-{t}"


def test_arms_that_change_are_asked_for_with_the_arms() -> None:
    bandit = Bandit(dim=2, policy=Greedy())
    for call in (bandit.ask, bandit.estimates, bandit.posterior):
        with pytest.raises(InvalidArms, match="change every round: give"):
            call()
    for change in (lambda: bandit.add_arms(ARMS), lambda: bandit.remove_arms(0)):
        with pytest.raises(InvalidArms, match="there are none to add to or remove"):
            change()
    with pytest.raises(InvalidArms, match="2 features each, got 3"):
        bandit.ask(np.eye(3))
    assert bandit.t == 0


@pytest.mark.parametrize("choice", [Choice(3), Choice(-1), Choice(1.0), Choice(True), 1, None])
def test_a_policy_that_names_no_arm_on_offer_is_refused(choice: Any) -> None:
    class Wild:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return choice  # type: ignore[no-any-return]

    bandit = Bandit(ARMS, Wild())
    with pytest.raises(InvalidChoice):
        bandit.ask()
    assert bandit.t == 0
    assert bandit.pending == ()


def test_numpy_numbers_are_welcome() -> None:
    class Mine:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(np.argmax(posterior.estimates))

    bandit = Bandit(ARMS, Mine(), labels=np.array([10, 20, 30]))
    decision = bandit.ask()
    assert type(decision.arm) is int
    assert type(decision.label) is int
    bandit.tell(decision.id, np.float32(0.5))
    with pytest.raises(InfexError):
        bandit.remove_arms(0)
    bandit.remove_arms(np.array([10]))
    assert bandit.labels == (20, 30)
