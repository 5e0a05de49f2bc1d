"""Which arms a request offers, and whether it may explore: rules for one request that bind every policy."""

import copy
import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Choice,
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Policy,
    Softened,
    budget,
    every,
    features,
    from_record,
    guarded,
    jittered,
    listed,
    paused,
    to_record,
    until_certain,
)
from infex.errors import InfexError, InvalidArms, InvalidSetting, UnknownArm
from infex.models import Posterior
from infex.policies import UCB1, AgnosticLassoBandit, ContextReduction, FixedBonusUCB, Reason, Uniform
from infex.policies.base import ScheduledPolicy, policy_info
from infex.policies.choice import ScheduleStatus
from infex.registry import POLICIES
from infex.testing import odd_arm_sets, problem
from tests.alike import unnamed
from tests.bandit.test_replay import state
from tests.policies.test_contract import IN_TURN, MAKERS, OF_FIXED_ARMS

pytestmark = pytest.mark.filterwarnings("ignore::infex.errors.InfexWarning")

ARMS = 5
LABELS = ("tea", "coffee", "juice", "water", "mate")
ROWS = problem(3, arms=ARMS, dim=3, horizon=1).arms
CONTROLLED: dict[str, Any] = {
    "guarded": lambda: Infex(LinTS(), guarded(every(2), 2.0)),
    "until certain": lambda: Infex(LinUCB(), until_certain(every(2), scale=0.1)),
    "paused": lambda: Infex(Uniform(), paused(every(2), listed(range(5, 12)), "make up")),
    "limited": lambda: Infex(Softened(LinTS(), draws=20), budget(jittered(2, seed=1), 4, window=9)),
}
LEFT_OUT = ("Means", *IN_TURN)  # a learner by index; bases that refuse late rewards
KEPT = {name: make for name, make in (MAKERS | CONTROLLED).items() if name not in LEFT_OUT}
MAPS: dict[str, Any] = {
    "disjoint": features.disjoint(LABELS, 3),
    "interactions": features.interactions(ROWS, 3, labels=LABELS),
    "joined": features.joined(lambda x, arm: x * arm, list(ROWS), dim=3, labels=LABELS),
    "hybrid": features.hybrid(features.interactions(ROWS, 3, labels=LABELS), own=[0, 2]),
}


def bandit_of(source: str, policy: Policy, seed: int = 0) -> Bandit:
    if source == "fixed":
        return Bandit(ROWS, policy, labels=LABELS, seed=seed)
    if source == "changing":
        return Bandit(dim=3, policy=policy, seed=seed)
    return Bandit(features=MAPS[source], policy=policy, seed=seed)


def asked_of(source: str, rng: np.random.Generator) -> dict[str, Any]:
    if source == "fixed":
        return {}
    if source == "changing":
        return {"arms": ROWS * rng.random(), "labels": LABELS}
    return {"context": rng.random(3) / 2}


def offer(rng: np.random.Generator) -> list[str]:
    """Some labels, in any order."""
    return [LABELS[place] for place in rng.permutation(ARMS)[: rng.integers(1, ARMS + 1)]]


def test_every_policy_of_the_registry_is_asked_here() -> None:
    tried = {type(link).__name__ for make in KEPT.values() for link in policy_info(make()).chain}
    refusing = {"ContextReduction", "SupLinUCB", "EXP2"}  # offers, or rewards that do not come in turn
    assert set(POLICIES) - tried == refusing


@pytest.mark.parametrize("source", ["fixed", "changing", *MAPS])
@pytest.mark.parametrize("name", KEPT)
def test_an_arm_that_is_not_offered_is_never_played(name: str, source: str) -> None:
    by_pulls = name.startswith(("UCB1", "GaussianTS")) or name == "HybridTS plain"
    if by_pulls and source not in ("fixed", "disjoint"):
        source = "disjoint"  # others have no pulls of their own
    if name in OF_FIXED_ARMS:
        source = "fixed"
    rng = np.random.default_rng(len(name))
    bandit = bandit_of(source, KEPT[name](), seed=4)
    told = np.zeros(ARMS, dtype=int)
    for t in range(1, 31):
        rules: dict[str, Any] = {"explore": bool(rng.random() < 0.7)}
        offered = offer(rng) if rng.random() < 0.8 else list(LABELS)
        mask = rng.random(ARMS) < 0.7
        if rng.random() < 0.5:
            rules["allowed"] = mask
        question = asked_of(source, rng)
        decided = bandit.decide(**question, offered=offered, **rules)
        decision = bandit.enter(decided)
        assert decision.label == LABELS[decision.arm]
        assert {decision.label, LABELS[decision.greedy]} <= set(offered)
        assert not decision.explored or rules["explore"]
        assert not decision.explored or "allowed" not in rules or mask[decision.arm]
        assert decision.explored or decision.explore_probability == 0.0 or rules["explore"]
        assert decision.propensity is None or 0.0 < decision.propensity <= 1.0 + 1e-9
        assert 0.0 <= decided.loss <= max(0.0, bandit.exploration().cost)
        found = bandit.exploration()
        if found.planned is not None:
            assert found.planned == found.done - found.made_up + found.skipped
            assert found.skipped == found.made_up + found.owed + found.dropped
        if t % 3:
            bandit.tell(decision, float(rng.random() < (decision.arm + 1) / 6))
            told[decision.arm] += 1
    assert source == "changing" or bandit.pulls is not None
    assert bandit.pulls is None or bandit.pulls.tolist() == told.tolist()


@given(
    names=st.lists(
        st.sampled_from([name for name, make in KEPT.items() if policy_info(make()).controlled_schedule]),
        min_size=3,
        max_size=3,
    ),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=40, deadline=None)
def test_what_was_due_adds_up_whatever_requests_forbid(names: list[str], seed: int) -> None:
    """Over offers, masks, requests that forbid exploring, batches, and policies that take over."""
    rng = np.random.default_rng(seed)
    policies = [KEPT[name]() for name in names]
    policies = [
        each for each in policies if policy_info(each).uses_explored == policy_info(policies[0]).uses_explored
    ]
    bandit = bandit_of("fixed", policies[0], seed=seed)
    due = 0
    for t in range(1, 61):
        controlled_schedule = policy_info(bandit.policy).controlled_schedule
        assert controlled_schedule is not None
        before = bandit.exploration()
        mask = rng.random(ARMS) < 0.5 if rng.random() < 0.3 else None
        explore = bool(rng.random() < 0.6)
        decision = bandit.ask(offered=offer(rng), explore=explore, allowed=mask)
        after = bandit.exploration()
        assert after.done == before.done + decision.explored
        assert after.planned is not None
        assert before.planned is not None
        planned = after.planned - before.planned
        assert planned <= controlled_schedule.plan.explores(t)
        assert planned or after.skipped == before.skipped
        assert explore or after.done == before.done
        if decision.reason is Reason.FORBIDDEN:
            assert (planned, after.skipped) == (1, before.skipped + 1)
            owes = any(layer.missed == "make up" for layer in controlled_schedule.controls)
            assert after.owed - before.owed == owes
        due += planned
        assert after.planned == due == after.done - after.made_up + after.skipped
        if rng.random() < 0.7:
            bandit.tell(decision, float(rng.random()))
        if rng.random() < 0.1:
            bandit.policy = policies[int(rng.integers(len(policies)))]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in KEPT
        if not name.startswith(("UCB1", "GaussianTS")) and name not in ("HybridTS plain", *OF_FIXED_ARMS)
    ],
)
def test_an_offer_is_decided_as_if_there_were_no_other_arms(name: str) -> None:
    """By a bandit that is given the same rows alone, and has learnt the same."""
    rng = np.random.default_rng(7)
    whole, part = bandit_of("fixed", KEPT[name](), seed=2), bandit_of("changing", KEPT[name](), seed=2)
    for t in range(40):
        places = sorted(rng.permutation(ARMS)[: rng.integers(1, ARMS)].tolist())
        rules = {"explore": bool(t % 4)}
        one = whole.ask(offered=[LABELS[place] for place in places], **rules)
        other = part.ask(ROWS[places], [LABELS[place] for place in places], **rules)
        assert (one.arm, one.greedy) == (places[other.arm], places[other.greedy])
        assert (one.label, one.explored, one.reason) == (other.label, other.explored, other.reason)
        for field in ("estimate", "low", "high", "propensity", "explore_probability", "base_propensity"):
            assert one._asdict()[field] == pytest.approx(other._asdict()[field], abs=1e-9)
        if t % 3:
            reward = float(rng.random())
            whole.tell(one, reward)
            part.tell(other, reward)
    assert whole.exploration()[:-1] == part.exploration()[:-1]
    assert whole.exploration().cost == pytest.approx(part.exploration().cost)


@pytest.mark.parametrize("source", ["fixed", *MAPS])
@pytest.mark.parametrize("name", ["LinUCB", "LinTS", "Infex", "Infex own", "Greedy", "paused"])
def test_an_offer_of_all_arms_is_no_offer(name: str, source: str) -> None:
    plain, offered = (bandit_of(source, KEPT[name](), seed=1) for _ in range(2))
    rng = np.random.default_rng(0)
    for t in range(20):
        question = asked_of(source, rng)
        every_one = [LABELS[place] for place in rng.permutation(ARMS)] if t % 2 else [True] * ARMS
        one, other = plain.ask(**question), offered.ask(**question, offered=every_one, explore=True)
        assert unnamed(one) == unnamed(other)
        plain.tell(one, float(t % 3))
        offered.tell(other, float(t % 3))
    assert plain.digest() == offered.digest()


quick_policies = st.one_of(
    st.sampled_from([Greedy(), LinUCB(), FixedBonusUCB(bonus=0.7)]),
    st.builds(Infex, st.sampled_from([LinUCB(scale=0.1), Greedy()]), st.sampled_from([every(1), every(3)])),
)


@given(
    policy=quick_policies,
    seed=st.integers(0, 999),
    odd=st.sampled_from([None, *odd_arm_sets()]),
    blocks=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_a_decision_in_one_call_is_what_the_long_way_decides(
    policy: Any, seed: int, odd: str | None, blocks: bool
) -> None:
    rng = np.random.default_rng(seed)
    board = problem(seed, arms=6, dim=3, horizon=1).arms if odd is None else odd_arm_sets()[odd]
    quick, slow = (
        Bandit(features=features.disjoint(len(board), 2), policy=policy) if blocks else Bandit(board, policy)
        for _ in range(2)
    )
    for _ in range(15):
        mask = rng.random(len(board)) < 0.6
        mask[rng.integers(len(board))] = True
        rules: dict[str, Any] = {"offered": mask, "explore": bool(rng.random() < 0.7)}
        if blocks:
            rules["context"] = rng.random(2) / 2
        one, other = quick.ask(**rules), slow.enter(slow.decide(**rules))
        assert unnamed(one) == unnamed(other)
        if rng.random() < 0.8:
            reward = float(rng.normal())
            quick.tell(one, reward)
            slow.tell(other, reward)
    assert state(quick)[0] == state(slow)[0]
    assert quick.digest() == slow.digest()


def test_costs_count_from_the_best_that_could_be_played() -> None:
    """Not from an arm that is sold out: a limit on costs would be spent by what nobody could have had."""
    bandit = Bandit(np.eye(3), Infex(Uniform(), guarded(every(1), 3.0)), seed=1)
    bandit.learn(arms=[0, 0, 0, 1, 2], rewards=[9.0, 9.0, 9.0, 1.0, 0.5])
    cost, skipped = 0.0, 0
    for _ in range(40):
        known = bandit.posterior().estimates
        decision = bandit.ask(offered=[1, 2])
        loss = known[1:].max() - known[decision.arm]
        if decision.explored:
            cost += loss
        skipped += decision.reason is Reason.COST_LIMIT
        assert decision.greedy == 1
    assert bandit.exploration().cost == pytest.approx(cost)
    assert 2.5 < cost <= 3.0
    assert skipped > 0


@pytest.mark.parametrize("explore", [True, False])
@pytest.mark.parametrize(
    ("base", "rest"), [(Uniform(), 0.0), (EpsilonGreedy(rate=0.3), 0.7), (Softened(LinUCB(), 0.4), 0.6)]
)
def test_probabilities_are_over_the_arms_on_offer(base: Any, rest: float, explore: bool) -> None:
    bandit = Bandit(ROWS, Infex(base, jittered(3, seed=5)), labels=LABELS)
    rng = np.random.default_rng(0)
    for t in range(1, 40):
        offered = offer(rng)
        known = bandit.posterior()
        places = sorted(LABELS.index(label) for label in offered)
        decision = bandit.ask(offered=offered, explore=explore)
        top = places[int(np.argmax(known.estimates[places]))]
        upper = known.narrowed.upper(LinUCB().confidence_radius(known.narrowed))
        liked = top if isinstance(base, EpsilonGreedy) else places[int(np.argmax(upper[places]))]
        law = (1.0 - rest) / len(places) + rest * (decision.arm == liked)
        chance = bandit.policy.schedule.explore_probability(t) if explore else 0.0  # type: ignore[attr-defined]
        assert decision.explore_probability == pytest.approx(chance)
        assert decision.base_propensity == (pytest.approx(law) if chance else None)
        assert decision.propensity == pytest.approx(chance * law + (1.0 - chance) * (decision.arm == top))
        bandit.tell(decision, float(rng.random()))


def test_a_request_that_forbids_exploring_is_skipped_or_owed_as_the_schedule_says() -> None:
    dropping = Bandit(ROWS, Infex(LinUCB(), every(2)))
    owing = Bandit(ROWS, Infex(LinUCB(), paused(every(2), listed([99]), "make up")))
    spent = Bandit(ROWS, Infex(LinUCB(), budget(every(2), 0)))
    for bandit in (dropping, owing, spent):
        reasons = [bandit.ask(explore=False).reason for _ in range(4)]
        word = Reason.BUDGET_SPENT if bandit is spent else Reason.FORBIDDEN
        assert reasons == [Reason.GREEDY, word, Reason.GREEDY, word]
    assert dropping.exploration()[:6] == (2, 0, 2, 0, 0, 2)
    assert owing.exploration()[:6] == (2, 0, 2, 0, 2, 0)
    assert spent.exploration()[:6] == (0, 0, 0, 0, 0, 0)
    assert dropping.ask().explored is False  # the rule was for the request, and the schedule goes on
    assert dropping.ask().reason is Reason.SCHEDULED
    assert owing.ask(explore=False).reason is Reason.GREEDY  # an owed one stays owed
    assert [owing.ask().reason for _ in range(3)] == [Reason.SCHEDULED, Reason.MADE_UP, Reason.SCHEDULED]
    assert owing.exploration()[:6] == (4, 3, 2, 1, 1, 0)


@pytest.mark.parametrize(
    "policy", [LinUCB(), LinTS(), Uniform(), EpsilonGreedy(rate=0.9), Softened(LinUCB())], ids=repr
)
def test_a_policy_without_a_schedule_is_greedy_where_exploring_is_forbidden(policy: Any) -> None:
    bandit = Bandit(ROWS, policy, seed=3)
    bandit.learn(arms=[0, 1, 2, 3, 4], rewards=[0.1, 0.9, 0.5, 0.2, 0.3])
    policy_state = bandit.policy_state
    for _ in range(10):
        decision = bandit.ask(explore=False)
        assert (decision.arm, decision.explored) == (bandit.posterior().greedy, False)
        assert (decision.propensity, decision.explore_probability, decision.base_propensity) == (
            1.0,
            0.0,
            None,
        )
        assert decision.reason is Reason.FORBIDDEN
    assert bandit.explored == 0
    assert bandit.policy_state is policy_state


def test_a_policy_that_would_not_have_explored_keeps_its_choice() -> None:
    """LASSO's best arm stays LASSO's best: the greedy arm of ridge may be another."""
    free, bound = (Bandit(dim=2, policy=AgnosticLassoBandit(strength=9.0)) for _ in range(2))
    rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    for bandit in (free, bound):
        bandit.learn(arms=rows[[1, 1]], rewards=[0.1, 0.2])  # too little for LASSO, and not for ridge
    one, other = free.ask(rows), bound.ask(rows, explore=False)
    assert unnamed(one) == unnamed(other)
    assert (one.arm, one.greedy, one.reason) == (0, 1, Reason.LASSO)


@dataclasses.dataclass(frozen=True)
class Coin:
    """A user's policy that does not say how likely it explores."""

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(int(rng.integers(len(posterior))), explored=bool(rng.random() < 0.5), policy_state=t)


def test_of_a_users_policy_nothing_is_claimed_that_is_not_known() -> None:
    bandit = Bandit(ROWS, Coin(), seed=2)
    decisions = [bandit.ask(explore=False, offered=[1, 3, 4]) for _ in range(30)]
    assert {decision.arm for decision in decisions} <= {1, 3, 4}
    assert not any(decision.explored for decision in decisions)
    assert {decision.propensity for decision in decisions} == {None}
    assert {decision.explore_probability for decision in decisions} == {0.0}
    replaced = [decision for decision in decisions if decision.reason is Reason.FORBIDDEN]
    assert 0 < len(replaced) < 30
    assert all(decision.arm == decision.greedy for decision in replaced)


class ByIndex:
    """A learner of means by index."""

    def __init__(self) -> None:
        self.means = np.zeros(ARMS)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(int(np.argmax(self.means[posterior.places])))

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        self.means[arm] = reward


class ByPlaces(ByIndex):
    uses_places = True


def test_learners_by_index_are_refused_or_find_their_arms_by_places() -> None:
    for policy in (ByIndex(), Infex(ByIndex(), every(2)), Infex(LinUCB(), every(2), greedy=ByIndex())):
        bandit = Bandit(ROWS, policy)
        before = bandit.digest()
        with pytest.raises(
            InvalidArms, match="knows arms by their indices, which an offer of some would change"
        ):
            bandit.ask(offered=[1, 2])
        assert bandit.digest() == before
    reader = ByPlaces()
    bandit = Bandit(ROWS, Infex(reader, every(1)))
    for arm in range(ARMS):
        decision = bandit.ask(offered=[arm])
        bandit.tell(decision, (3.0, 1.0, 4.0, 1.5, 5.0)[arm])
    assert reader.means.tolist() == [3.0, 1.0, 4.0, 1.5, 5.0]
    assert bandit.ask(offered=[0, 1, 3]).arm == 0
    assert bandit.ask(offered=[0, 2, 4], allowed=[True, True, True, True, False]).arm == 2


def test_a_reduction_of_contexts_refuses_offers_and_masks_by_name() -> None:
    """It learns on the mean of the best arm of whole rounds: among some of them that is another arm."""
    policy = ContextReduction(LinUCB(), samples=ROWS[None], directions=10)
    for rules in ({"offered": [0, 1]}, {"allowed": [True, True, False, False, False]}):
        bandit = Bandit(ROWS, policy)
        with pytest.raises(InvalidArms, match=r"ContextReduction\(.*needs all arms of a round"):
            bandit.ask(**rules)
        assert bandit.t == 0
    assert Bandit(ROWS, policy).ask(offered=range(ARMS), allowed=[True] * ARMS).t == 1


def test_the_bonus_of_plain_arms_counts_the_rewards_of_all() -> None:
    """It counted those of the arms that were shown alone, and so explored less than UCB1 may."""
    rng = np.random.default_rng(1)
    bandit = Bandit(np.eye(ARMS), UCB1(noise=0.5))
    bandit.learn(arms=rng.integers(ARMS, size=200), rewards=rng.random(200))
    pulls, sums = bandit.posterior().pulls, bandit.posterior().sums
    indices = sums / pulls + 0.5 * np.sqrt(8.0 * np.log(200) / pulls)
    for _ in range(30):
        places = np.sort(rng.permutation(ARMS)[: rng.integers(1, ARMS)])
        seen = bandit.posterior().requested(np.isin(np.arange(ARMS), places), True)
        np.testing.assert_allclose(UCB1(noise=0.5).index(seen), indices[places], rtol=1e-12)
        assert bandit.ask(offered=places).arm == places[np.argmax(indices[places])]
        mask = np.isin(np.arange(ARMS), places)
        assert bandit.ask(allowed=mask).arm == places[np.argmax(indices[places])]


def test_with_own_data_the_bonus_counts_the_rewards_of_exploring_rounds() -> None:
    bandit = Bandit(np.eye(ARMS), Infex(UCB1(), every(2), data="own"))
    rng = np.random.default_rng(0)
    for _ in range(60):
        bandit.tell(bandit.ask(offered=rng.permutation(ARMS)[:3]), float(rng.random()))
    mask = np.array([True, False, True, True, False])
    whole, some = bandit.posterior(), bandit.posterior().requested(mask, True)
    assert whole.explored.pulled == some.explored.pulled == 30
    assert whole.pulled == some.pulled == 60
    np.testing.assert_array_equal(UCB1().index(some.explored), UCB1().index(whole.explored)[mask])


@dataclasses.dataclass(frozen=True)
class Obstinate(ScheduledPolicy):
    """A user's policy with a schedule, which explores whatever a request says."""

    base: Any
    owing: bool
    greedy: Any = None
    data: Any = "shared"

    @property
    def controlled_schedule(self) -> Any:  # type: ignore[override]
        return policy_info(self.base).controlled_schedule

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        schedule_status = (
            ScheduleStatus.MADE_UP if self.owing and posterior.spent.owed else ScheduleStatus.DUE
        )
        return Choice(0, True, schedule_status=schedule_status)


def test_a_users_policy_that_explores_all_the_same_is_kept_from_it() -> None:
    owing = Infex(LinUCB(), paused(every(2), listed([99]), "make up"))
    bandit = Bandit(ROWS, owing)
    bandit.ask_many(2, explore=False)
    assert bandit.exploration().owed == 1
    for takes_back in (True, False):
        bandit.policy = Obstinate(owing, takes_back)
        decision = bandit.ask(explore=False)
        assert (decision.explored, decision.reason, decision.arm) == (
            False,
            Reason.FORBIDDEN,
            decision.greedy,
        )
        assert decision.propensity is None
    assert bandit.exploration()[:6] == (2, 0, 2, 0, 1, 1)


def test_where_none_on_offer_may_be_tried_the_best_on_offer_is_played() -> None:
    bandit = Bandit(ROWS, Infex(LinUCB(), every(1)), labels=LABELS, allowed=[True, True, False, False, False])
    decision = bandit.ask(offered=["juice", "water"])
    assert (decision.reason, decision.label) == (Reason.NO_ARM_ALLOWED, "juice")
    assert bandit.ask(offered=["juice", "coffee"]).label == "coffee"


def test_certainty_is_judged_among_the_arms_on_offer() -> None:
    bandit = Bandit(np.eye(3), Infex(LinUCB(), until_certain(every(1), scale=0.2)))
    bandit.learn(arms=[0] * 400 + [1, 2], rewards=[9.0] * 400 + [0.5, 0.5])
    assert bandit.ask().reason is Reason.CERTAIN  # and stops for good, among all
    assert bandit.ask(offered=[1, 2]).explored  # of which nothing is certain
    assert bandit.ask(offered=[0, 1]).reason is Reason.CERTAIN
    assert bandit.ask().reason is Reason.CERTAIN
    assert bandit.exploration().next_due is None


BAD_OFFERS: list[tuple[Any, Any, str]] = [
    (["tea", "beer"], UnknownArm, "no arm is called 'beer'"),
    ([0, 1], UnknownArm, "no arm is called 0"),
    ([], InvalidArms, "at least one arm must be on offer"),
    ([False] * 5, InvalidArms, "at least one arm must be on offer"),
    (["tea", "mate", "tea"], InvalidArms, "offered once, got 'tea' twice"),
    ([True, False], InvalidArms, "offered must be True or False for each of 5 arms, got 2"),
    (["tea", 1.5], UnknownArm, "go by their labels, got a float"),
    (["tea", True], UnknownArm, "go by their labels, got a bool"),
    (np.ones((2, 5), dtype=bool), UnknownArm, "go by their labels, got a list"),
]


@pytest.mark.parametrize("source", ["fixed", "changing", *MAPS])
@pytest.mark.parametrize(("offered", "error", "words"), BAD_OFFERS)
def test_an_offer_that_cannot_be_is_refused_and_nothing_changes(
    source: str, offered: Any, error: Any, words: str
) -> None:
    bandit = bandit_of(source, Infex(LinTS(), every(2)))
    rng = np.random.default_rng(0)
    bandit.ask(**asked_of(source, rng))
    before = bandit.digest()
    for ask in (bandit.ask, bandit.decide):
        with pytest.raises(error, match=words):
            ask(**asked_of(source, rng), offered=offered)
        with pytest.raises(InvalidSetting, match="explore must be True or False, got 1"):
            ask(**asked_of(source, rng), explore=1)
    assert bandit.digest() == before


@pytest.mark.parametrize("source", ["fixed", "changing", "disjoint"])
def test_a_batch_with_a_rule_that_cannot_be_is_refused_whole(source: str) -> None:
    bandit = bandit_of(source, Infex(LinUCB(), every(2)))
    asked: Any = {"fixed": 3, "changing": [ROWS] * 3, "disjoint": np.eye(3)}[source]
    names: Any = [LABELS] * 3 if source == "changing" else None
    some = ["tea", "mate"]
    bad: list[tuple[dict[str, Any], str]] = [
        ({"offered": [some, some]}, "as many lists as there are requests, 3, got 2"),
        ({"offered": [some, some, ["beer"]]}, "no arm is called 'beer'"),
        ({"offered": [some, [], some]}, "at least one arm must be on offer"),
        ({"offered": []}, "at least one arm must be on offer in each request"),
        ({"explore": [True, False]}, "a truth for each of 3 requests, got 2"),
        ({"explore": [True, False, 1]}, r"explore\[2\] must be True or False, got 1"),
        ({"explore": "no"}, "must be True or False, or a list of them, got 'no'"),
    ]
    before = bandit.digest()
    for rules, words in bad:
        with pytest.raises(InfexError, match=words):
            bandit.ask_many(asked, names, **rules)
        assert bandit.digest() == before
    decisions = bandit.ask_many(asked, names, offered=[some, None, ["water"]], explore=False)
    assert decisions.labels[2] == "water"
    assert not decisions.explored.any()
    assert set(bandit.ask_many(asked, names, offered=some).labels) <= set(some)  # the same for all


@pytest.mark.parametrize("source", ["fixed", *MAPS])
@pytest.mark.parametrize("name", ["Infex", "Infex own", "paused", "limited", "LinTS"])
def test_records_files_and_copies_go_on_with_what_was_offered(name: str, source: str, tmp_path: Path) -> None:
    if source == "joined":
        source = "interactions"  # a function of a user's has no record
    live, journal = bandit_of(source, KEPT[name](), seed=6), bandit_of(source, KEPT[name](), seed=6)
    rng = np.random.default_rng(1)
    for t in range(25):
        rules = {"offered": offer(rng), "explore": bool(t % 3)}
        decided = live.decide(**asked_of(source, rng), **rules)
        kept = json.loads(json.dumps(to_record(decided)))
        decision = live.enter(decided)
        assert unnamed(journal.enter(from_record(kept))) == unnamed(decision)
        if t % 2:
            reward = float(rng.random() < 0.5)
            live.tell(decision.id, reward)
            journal.tell(decision.id, reward)
        if t == 12:
            live.save(tmp_path / "shop.infex")
            live = Bandit.load(tmp_path / "shop.infex")
            live = copy.deepcopy(live)
    assert live.exploration() == journal.exploration()
    assert live.digest() == journal.digest()


def test_a_context_may_stand_first() -> None:
    shop = Bandit(features=MAPS["disjoint"], policy=Infex(LinUCB(), every(2)))
    other = Bandit(features=MAPS["disjoint"], policy=Infex(LinUCB(), every(2)))
    x = [0.1, 0.2, 0.3]
    assert unnamed(shop.ask(x, offered=["tea", "juice"])) == unnamed(
        other.ask(context=x, offered=["tea", "juice"])
    )
    assert unnamed(shop.enter(shop.decide(x))) == unnamed(other.ask(context=x))
    with pytest.raises(InvalidArms, match="give a context alone"):
        shop.ask(x, context=x)


@pytest.mark.parametrize("source", ["fixed", *MAPS])
def test_a_year_of_arms_that_come_and_go_leaves_no_trace(source: str, tmp_path: Path) -> None:
    """In memory, counted by a pickle, in the file, or in what a journal keeps of a decision.

    Some decisions are told after their arm has gone, some are dropped, some told at once; masks and offers go
    by label all the while.
    """
    bandit = bandit_of(source, Infex(LinUCB(), every(3)))
    if source == "joined":  # a function of a user's cannot be pickled
        rule = features.joined(times, list(ROWS), dim=3, labels=LABELS)
        bandit = Bandit(features=rule, policy=Infex(LinUCB(), every(3)))
    bandit.allowed = [True, False, True, True, True]
    rng = np.random.default_rng(0)
    sizes, widths = [], []
    for day in range(0, 366):
        names = [f"{day:03} {n}" for n in range(4)]
        new: Any = names if source == "disjoint" else list(ROWS[:4] * rng.random())
        bandit.add_arms(new, labels=None if source == "disjoint" else names)
        asked: Any = [asked_of(source, rng).get("context") for _ in range(3)]
        decided = bandit.decide(asked[0], offered=[*names[:2], "coffee"])
        waiting = [bandit.enter(decided)]
        waiting += bandit.ask_many(2 if source == "fixed" else asked[1:], offered=names)
        assert {str(decision.label) for decision in waiting} <= {*names, "coffee"}
        assert bandit.allowed is not None
        assert bandit.allowed.tolist() == [True, False, True, True, True] + [True] * 4
        bandit.tell(waiting[0], 1.0)
        bandit.remove_arms(names)
        bandit.tell(waiting[1].id, 0.5)
        bandit.drop(waiting[2].id)
        if day in (1, 365):
            bandit._agent.account.recent.clear()  # explorations, which limits look back at
            bandit.save(tmp_path / f"{day}.infex")
            widths.append(len(json.dumps(to_record(decided))))
            sizes.append((len(pickle.dumps(bandit)), (tmp_path / f"{day}.infex").stat().st_size))
    assert bandit.labels == LABELS
    assert not bandit.pending
    assert abs(sizes[1][0] - sizes[0][0]) <= 64
    assert abs(sizes[1][1] - sizes[0][1]) <= 64
    assert abs(widths[1] - widths[0]) <= 64


def times(x: Any, arm: Any) -> Any:
    return x * arm


def test_removed_arms_are_no_longer_offered_and_new_ones_are() -> None:
    for source in ("fixed", *MAPS):
        bandit = bandit_of(source, Infex(LinUCB(), every(2)))
        rng = np.random.default_rng(0)
        decision = bandit.ask(**asked_of(source, rng), offered=["coffee", "mate"])
        bandit.allowed = [True, False, True, True, True]
        bandit.remove_arms("coffee")
        new: Any = {"disjoint": ["oolong"], "joined": [np.ones(3)]}.get(source, [[0.1, 0.1, 0.1]])
        bandit.add_arms(new, labels=None if source == "disjoint" else ["oolong"])
        with pytest.raises(UnknownArm, match="no arm is called 'coffee'"):
            bandit.ask(**asked_of(source, rng), offered=["coffee"])
        for _ in range(4):
            one = bandit.ask(**asked_of(source, rng), offered=["oolong"])
            assert (one.label, one.arm) == ("oolong", ARMS - 1)
            bandit.tell(one, 1.0)
        bandit.tell(decision, 1.0)
        assert bandit.pulls is not None
        assert bandit.pulls[-1] == 4
        many = bandit.ask_many(
            3 if source == "fixed" else [next(iter(asked_of(source, rng).values()))] * 3,
            offered=["oolong", "tea"],
        )
        assert set(many.labels) <= {"oolong", "tea"}
