"""Decide, then enter: a journal of what was decided and told gives the same bandit, bit for bit."""

import json
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
    Softened,
    budget,
    every,
    features,
    from_record,
    guarded,
    jittered,
    listed,
    models,
    paused,
    to_record,
    until_certain,
)
from infex.errors import DuplicateId, InvalidChoice, InvalidRecord, InvalidRound
from infex.models import Posterior
from infex.policies import ContextReduction, GreedyFirst, RarelySwitchingUCB
from infex.testing import problem
from tests.alike import unnamed

ARMS = problem(3, arms=7, dim=4, horizon=1).arms
SHOP = features.interactions(ARMS[:, :2], context_dim=2)
POLICIES: list[Any] = [
    Greedy(ties="random"),
    LinTS(sampling="spherical"),
    EpsilonGreedy(rate=0.3),
    Infex(LinUCB(), every(3)),
    Infex(LinTS(), jittered(4, seed=2), data="own"),
    Infex(RarelySwitchingUCB(scale=0.3), guarded(every(2), 3.0)),
    Infex(GreedyFirst(RarelySwitchingUCB(), level=0.5, wait=5), until_certain(jittered(2), scale=0.2)),
    Infex(
        Softened(LinUCB()),
        paused(budget(every(2), 5, window=20), when=listed(range(9, 30)), missed="make up", at_most=0.4),
    ),
]
ESTIMATORS: list[Any] = [
    None,
    models.Ridge(penalty=0.3),
    models.Discounted(rate=0.9),
    models.Windowed(size=7),
    models.Lasso(strength=0.02),
    models.Logistic(),
]


def bandit_of(kind: str, policy: Any, estimator: Any, seed: int) -> Bandit:
    if kind == "contexts":
        return Bandit(features=SHOP, policy=policy, estimator=estimator, seed=seed)
    if kind == "changing":
        return Bandit(dim=4, policy=policy, estimator=estimator, seed=seed)
    return Bandit(ARMS, policy, estimator=estimator, seed=seed, labels=list("abcdefg"))


def question(kind: str, rng: np.random.Generator, labels: Any = None, offers: float = 0.0) -> dict[str, Any]:
    """What to ask; with `offers`, that often among some arms alone, and exploring may be forbidden."""
    rules: dict[str, Any] = {"explore": bool(rng.random() < 0.8)} if offers else {}
    if offers and rng.random() < offers:
        count = {"contexts": SHOP.count, "changing": 4}.get(kind) or len(labels)
        places = rng.permutation(count)[: rng.integers(1, count + 1)].tolist()
        rules["offered"] = places if labels is None else [labels[place] for place in places]
    if kind == "contexts":
        return rules | {"context": (rng.random(2) / 2).tolist()}
    if kind == "changing":
        return rules | {"arms": (ARMS[rng.permutation(7)[:4]] * rng.random()).tolist()}
    return rules


class Live:
    """A bandit that lives, and its journal: plain data, as a file would keep it."""

    def __init__(self, bandit: Bandit, kind: str, seed: int, offers: float = 0.3) -> None:
        self.bandit, self.kind, self.offers = bandit, kind, offers
        self.rng = np.random.default_rng(seed)
        self.journal: list[str] = []

    def write(self, event: dict[str, Any]) -> None:
        self.journal.append(json.dumps(event, allow_nan=False))

    def step(self, policies: list[Any]) -> None:
        """Asks; reads; tells some rewards, drops some; arms come and go; policies change."""
        decided = self.bandit.decide(**question(self.kind, self.rng, self.bandit.labels, self.offers))
        self.bandit.estimates(ARMS) if self.kind != "contexts" else None
        self.write({"decided": to_record(decided)})
        self.bandit.enter(decided)
        chance = self.rng.random()
        if chance < 0.6:
            waiting = self.bandit.pending[int(self.rng.integers(len(self.bandit.pending)))]
            reward = float(self.rng.random() < 0.5)
            self.write({"told": [waiting.id, reward]})
            self.bandit.tell(waiting.id, reward)
        elif chance < 0.65:
            self.write({"dropped": self.bandit.pending[0].id})
            self.bandit.drop(self.bandit.pending[0])
        elif chance < 0.7 and self.kind == "fixed" and len(self.bandit.arms) > 3:
            label = self.bandit.labels[0] if self.bandit.labels else 0
            self.write({"removed": label})
            self.bandit.remove_arms(label)
        elif chance < 0.75 and self.kind == "fixed":
            row, label = (ARMS[0] * self.rng.random()).tolist(), f"n{self.bandit.t}"
            self.write({"added": [row, label]})
            self.bandit.add_arms([row], labels=[label])
        elif chance < 0.8:
            place = int(self.rng.integers(len(policies)))
            self.write({"policy": place})
            self.bandit.policy = policies[place]


def replayed(bandit: Bandit, journal: list[str], policies: list[Any]) -> Bandit:
    for line in journal:
        event = json.loads(line)
        match event:
            case {"decided": kept}:
                bandit.enter(from_record(kept))
            case {"told": [key, reward]}:
                bandit.tell(key, reward)
            case {"dropped": key}:
                bandit.drop(key)
            case {"removed": label}:
                bandit.remove_arms(label)
            case {"added": [row, label]}:
                bandit.add_arms([row], labels=[label])
            case {"policy": place}:
                bandit.policy = policies[place]
    return bandit


def state(bandit: Bandit) -> Any:
    """All that a bandit holds, to the last bit."""
    return bandit.digest(), bandit.pending, bandit.exploration(), bandit.policy_state, bandit.t, bandit.labels


@given(
    kind=st.sampled_from(["fixed", "changing", "contexts"]),
    policy=st.integers(0, len(POLICIES) - 1),
    estimator=st.sampled_from(ESTIMATORS),
    seed=st.integers(0, 999),
    rounds=st.integers(0, 60),
)
@settings(max_examples=120, deadline=None)
@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_replay_equals_live_bit_for_bit(
    kind: str, policy: int, estimator: Any, seed: int, rounds: int
) -> None:
    if policy == 6 and isinstance(estimator, models.Logistic):
        estimator = None  # which keeps no sums, that GreedyFirst asks for
    some = POLICIES[:6] + POLICIES[7:] if isinstance(estimator, models.Logistic) else POLICIES
    policies = [each for each in some if apart(each) == apart(POLICIES[policy])]
    live = Live(bandit_of(kind, POLICIES[policy], estimator, seed), kind, seed)
    for _ in range(rounds):
        live.step(policies)
    again = replayed(bandit_of(kind, POLICIES[policy], estimator, seed), live.journal, policies)
    assert state(again) == state(live.bandit)
    for _ in range(10):  # and they go on alike
        asked = question(kind, live.rng, again.labels, 0.3)
        assert unnamed(again.ask(**asked)) == unnamed(live.bandit.ask(**asked))


def apart(policy: Any) -> bool:
    """Are exploring rounds kept apart for it? Policies that are not can take over from each other."""
    return bool(getattr(policy, "uses_explored", False))


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2},
        {"kind": "Decision"},
        {"decision": {"id": "x"}},
        {"decision": None},
        {"on": "x"},
        {"turn": "never"},
        {"loss": -1.0},
        {"noticed": 3},
    ],
)
def test_records_of_decisions_that_cannot_be_are_refused_by_name(wrong: Any) -> None:
    bandit = bandit_of("fixed", POLICIES[3], None, 1)
    kept = to_record(bandit.decide())
    assert bandit.enter(from_record(json.loads(json.dumps(kept)))).t == 1
    with pytest.raises(InvalidRecord):
        from_record(kept | wrong)


def test_deciding_changes_nothing() -> None:
    bandit = bandit_of("fixed", POLICIES[5], None, 3)
    for _ in range(20):
        bandit.tell(bandit.ask(), 0.3)
    before = state(bandit)
    decided = [bandit.decide() for _ in range(3)]
    assert state(bandit) == before
    assert decided[0] == decided[1] == decided[2]
    assert unnamed(bandit.enter(decided[0])) == unnamed(decided[1].decision)
    with pytest.raises(InvalidRound, match="was decided as round 21, and round 22 is next"):
        bandit.enter(decided[1])
    later = bandit.decide()
    with pytest.raises(DuplicateId):
        bandit.enter(later._replace(decision=later.decision._replace(id=decided[0].decision.id)))
    assert bandit.t == 21


def test_reads_change_no_later_bit(tmp_path: Path) -> None:
    """Estimates of other arms, posterior, masks that allow all, saving, repr: two bandits stay the same."""
    for policy in (Infex(LinUCB(), every(3)), Infex(LinTS(), every(2), data="own"), LinTS()):
        for estimator in ESTIMATORS:
            quiet, read = (bandit_of("fixed", policy, estimator, 5) for _ in range(2))
            for t in range(60):
                if t % 3 == 0:
                    read.estimates(ARMS[::-1])
                    read.posterior(ARMS[:2] / 2).upper(1.0)
                    read.posterior().perturbed(1.0, np.random.default_rng(1))
                if t % 7 == 0:
                    read.save(tmp_path / "x.infex")
                    repr(read), read.exploration(), read.pending, read.decide()
                one = quiet.ask()
                other = read.ask(allowed=[True] * 7) if t % 5 == 0 and not one.explored else read.ask()
                assert one.arm == other.arm
                quiet.tell(one, float(t % 2))
                read.tell(other, float(t % 2))
            assert state(quiet)[0] == state(read)[0]


class Odd:
    """A policy of a user's that gives back whatever it is told to."""

    def __init__(self, **wrong: Any) -> None:
        self.wrong = wrong

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(**({"arm": 0} | self.wrong))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"features": [1.0]}, "features of a Choice must be 4 finite numbers, got the shape"),
        ({"features": [np.nan] * 4}, "features of a Choice must be 4 finite numbers"),
        ({"features": [1e9, 0, 0, 0]}, "features of a Choice must be no longer than 1, got length 1e"),
        ({"features": "abcd"}, "features of a Choice must be 4 numbers"),
        (
            {"policy_state": np.zeros(2)},
            r"policy_state of a Choice must be numbers and texts .* got a NumPy array: say \.tolist\(\)",
        ),
        ({"policy_state": (np.int64(3),)}, r"got a NumPy int64: say int\(\.\.\.\)"),
        ({"policy_state": {"level": np.float32(0.5)}}, r"got a NumPy float32: say float\(\.\.\.\)"),
        ({"policy_state": [np.bool_(True)]}, r"got a NumPy bool_?: say bool\(\.\.\.\)"),
        ({"policy_state": {1, 2}}, "got a set"),
        (
            {"policy_state": (1, [float("nan")])},
            "numbers in the policy_state of a Choice must be finite, got nan",
        ),
        ({"policy_state": {1: 2}}, "got a dict"),
        ({"reason": 7}, "reason of a Choice must be a text, got 7"),
        ({"explored": "yes"}, "explored of a Choice must be True or False, got 'yes'"),
        ({"propensity": 1.5}, "must be at most 1, got 1.5"),
        ({"base_propensity": -0.1}, "must be at least 0, got -0.1"),
        ({"explore_probability": float("nan")}, "must be finite, got nan"),
        ({"arm": 9}, "arm of a Choice must be from 0 to 6, got 9"),
        ({"arm": 0.5}, "arm of a Choice must be a whole number, got 0.5"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda policy: policy, lambda policy: Infex(policy, every(1))])
def test_what_a_policy_returns_is_checked_whole_at_the_decision(wrong: Any, message: str, wrap: Any) -> None:
    bandit = Bandit(ARMS, wrap(Odd(**wrong)))
    before = state(bandit)
    with pytest.raises(InvalidChoice, match=message):
        bandit.ask()
    assert state(bandit) == before


def test_notes_of_a_users_policy_come_back_as_they_were(tmp_path: Path) -> None:
    policy_state = {"level": 0.5, "seen": (1, 2, ["a", None, True])}
    bandit = Bandit(ARMS, Odd(policy_state=policy_state))
    bandit.ask()
    bandit.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex", Odd(policy_state=policy_state)).policy_state == policy_state


def test_the_reduction_of_contexts_is_replayed_too() -> None:
    policy = ContextReduction(samples=np.array([ARMS, ARMS / 2]), directions=20)
    live = Live(Bandit(dim=4, policy=policy, seed=1), "changing", 3, offers=0.0)
    for _ in range(30):
        live.step([policy])
    again = replayed(Bandit(dim=4, policy=policy, seed=1), live.journal, [policy])
    assert state(again) == state(live.bandit)
    assert all(isinstance(decision, Decision) for decision in again.pending)
