"""A bandit with a regression for each arm: every policy, arms that come and go, files, threads."""

import copy
import dataclasses
import functools
import json
import math
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex import (
    Bandit,
    Choice,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    budget,
    every,
    features,
    guarded,
    jittered,
    listed,
    models,
    paused,
    until_certain,
)
from infex.arrays import Floats
from infex.bandit import archive
from infex.bandit.agent import Agent, play_round
from infex.errors import CannotLoad, CannotMerge, InvalidArms, NotKept, UnknownArm
from infex.models import Posterior
from infex.models.layout import ContextOffer, PerArm
from infex.models.state import ModelState
from infex.policies import (
    UCB1,
    ContextReduction,
    FixedBonusUCB,
    GaussianTS,
    HybridTS,
    RarelySwitchingUCB,
    Uniform,
)
from infex.policies.base import policy_info, with_settings
from infex.policies.ucb import Confidence, SwitchingState
from infex.registry import POLICIES
from infex.streams import Rounds
from tests.alike import unnamed
from tests.policies.test_contract import IN_TURN, MAKERS, OF_FIXED_ARMS

ARMS, DIM = 4, 3
SHOP = features.disjoint(["tea", "coffee", "juice", "water"], DIM)
BY_PULLS = ("UCB1", "UCB1 random", "GaussianTS", "HybridTS plain")
MEDLEY: list[Any] = [
    Infex(LinUCB(), every(3)),
    Infex(LinTS(), jittered(3, seed=2), data="own"),
    Infex(RarelySwitchingUCB(scale=0.3), guarded(every(2), 3.0)),
    Infex(Softened(LinUCB()), paused(budget(every(2), 5, window=20), listed(range(9, 20)), missed="make up")),
    Infex(Softened(LinTS(), draws=20), until_certain(jittered(2), scale=0.1)),
    UCB1(),
]


def contexts(seed: int, dim: int = DIM, rounds: int = 60) -> Any:
    rows = np.random.default_rng(seed).standard_normal((rounds, dim))
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]


def reward(t: int, arm: int) -> float:
    return math.sin(3.0 * t + arm)


def without_noise(policy: Any) -> Any:
    """The policy with a radius that no data change: that of one dense regression is the same."""
    if isinstance(policy, Confidence):
        return dataclasses.replace(policy, noise=0.0)
    base = policy_info(policy).chain[1:2]
    return with_settings(policy, base=without_noise(base[0])) if base else policy


def test_every_policy_of_the_registry_is_tried_here() -> None:
    tried = {type(link).__name__ for make in MAKERS.values() for link in policy_info(make()).chain}
    assert set(POLICIES) - tried == {"ContextReduction"}


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if name not in (*BY_PULLS, *OF_FIXED_ARMS, *IN_TURN)]
)
def test_every_policy_chooses_as_with_one_dense_regression_of_the_same_blocks(name: str) -> None:
    table = features.interactions(np.eye(ARMS), DIM, labels=SHOP.labels)
    pair = [
        Bandit(features=rule, policy=without_noise(MAKERS[name]()), seed=5, penalty=0.7)
        for rule in (SHOP, table)
    ]
    spherical = "spherical" in name  # whose draws are on a sphere for each arm
    for t, context in enumerate(contexts(2)):
        mask = [True, t % 3 > 0, True, t % 5 > 0] if t % 2 and name != "Means" else None
        small, large = (bandit.ask(context=context, allowed=mask) for bandit in pair)
        if spherical and small.arm != large.arm:
            return
        assert (small.arm, small.explored, small.greedy) == (large.arm, large.explored, large.greedy)
        assert small.propensity == pytest.approx(large.propensity, abs=1e-9)
        assert small.estimate == pytest.approx(large.estimate, abs=1e-10)
        if t % 4:
            for bandit, decision in zip(pair, (small, large), strict=True):
                bandit.tell(decision, reward(t, decision.arm), weight=1.0 + t % 3)


@pytest.mark.parametrize("name", BY_PULLS)
def test_plain_arms_are_regressions_on_one_feature(name: str) -> None:
    """UCB1 and GaussianTS play K arms without features: the case c = 1, in a context of 1."""
    plain = Bandit(np.eye(ARMS), MAKERS[name](), seed=3)
    small = Bandit(features=features.disjoint(ARMS, 1), policy=MAKERS[name](), seed=3)
    for t in range(60):
        one, other = plain.ask(), small.ask(context=[1.0])
        assert (one.arm, one.explored) == (other.arm, other.explored)
        assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
        plain.tell(one, reward(t, one.arm))
        small.tell(other, reward(t, other.arm))
    assert plain.estimates().pulls.tolist() == small.estimates(context=[1.0]).pulls.tolist()


def test_samples_of_plain_arms_are_those_of_regressions_on_one_feature() -> None:
    """N(S/(n + 1), noise^2/(n + 1)) is theta + noise V^-1/2 eta with c = 1 and a penalty of 1."""

    class Sampled:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(infex.best(posterior.perturbed(0.4, rng)))

    plain = Bandit(np.eye(6), GaussianTS(noise=0.4), seed=3)
    small = Bandit(features=features.disjoint(6, 1), policy=Sampled(), seed=3)
    for t in range(80):
        one, other = plain.ask(), small.ask(context=[1.0])
        assert one.arm == other.arm
        plain.tell(one, reward(t, one.arm))
        small.tell(other, reward(t, other.arm))


def test_the_interval_of_an_arm_does_not_grow_when_others_get_data() -> None:
    """It did: after 8,000 rewards of others 0.238 had become 0.749, and the arm was explored for that."""
    bandit = Bandit(features=SHOP, policy=LinUCB(), seed=1)
    before = bandit.estimates(context=[0.3, 0.4, 0.5])
    bandit.allowed = [False, True, True, True]
    for t, context in enumerate(contexts(6)):
        decision = bandit.ask(context=context)
        bandit.tell(decision, reward(t, decision.arm))
    after = bandit.estimates(context=[0.3, 0.4, 0.5])
    assert after[0].tolist() == before[0].tolist()
    assert (after.high - after.low < before.high - before.low)[1:].all()


class Slow:
    """K ridges by their definition, and LinUCB and LinTS on them, each with its own radius."""

    def __init__(self, arms: int, dim: int, penalty: float) -> None:
        self.grams = [penalty * np.eye(dim) for _ in range(arms)]
        self.moments = [np.zeros(dim) for _ in range(arms)]
        self.penalty = penalty

    def learn(self, arm: int, x: Floats, reward: float, weight: float = 1.0) -> None:
        self.grams[arm] = self.grams[arm] + weight * np.outer(x, x)
        self.moments[arm] = self.moments[arm] + weight * reward * x

    def estimates(self, x: Floats) -> Floats:
        return np.array([x @ np.linalg.solve(g, b) for g, b in zip(self.grams, self.moments, strict=True)])

    def margins(self, x: Floats, policy: Any, delta: float = 0.01) -> Floats:
        log_det_ratios = [float(np.linalg.slogdet(gram / self.penalty)[1]) for gram in self.grams]
        betas = [
            policy.scale
            * (
                policy.noise * math.sqrt(log_det_ratio + 2 * math.log(1 / delta))
                + math.sqrt(self.penalty) * policy.bound
            )
            for log_det_ratio in log_det_ratios
        ]
        return np.array(
            [beta * math.sqrt(x @ np.linalg.solve(g, x)) for beta, g in zip(betas, self.grams, strict=True)]
        )

    def sampled(self, x: Floats, policy: Any, rng: np.random.Generator) -> Any:
        eta = rng.standard_normal((len(self.grams), x.size))
        lengths = [math.sqrt(x @ np.linalg.solve(gram, x)) for gram in self.grams]
        betas = self.margins(x, policy) / lengths
        roots = [np.linalg.inv(np.linalg.cholesky(gram)) for gram in self.grams]
        parts = [beta * (root @ x) @ each for beta, root, each in zip(betas, roots, eta, strict=True)]
        return self.estimates(x) + np.array(parts)


@given(seed=st.integers(0, 10**6), arms=st.integers(1, 7), dim=st.integers(1, 6), penalty=st.floats(0.05, 20))
@settings(max_examples=25, deadline=None)
def test_linucb_and_lints_are_those_of_separate_ridges_with_late_and_lost_rewards(
    seed: int, arms: int, dim: int, penalty: float
) -> None:
    rng = np.random.default_rng(seed)
    for policy in (LinUCB(scale=0.4), LinTS(scale=0.3), Infex(LinUCB(noise=0.3), every(3))):
        bandit = Bandit(
            features=features.disjoint(arms, dim, longest=2),
            policy=policy,
            seed=seed,
            penalty=penalty,
            pending="ignore",
        )
        slow, waiting = Slow(arms, dim, penalty / 4), []  # of contexts divided by 2
        for t, context in enumerate(contexts(seed, dim, 40), 1):
            decision = bandit.ask(context=2 * context)
            estimates = slow.estimates(context)
            confidence: Any = policy_info(policy).chain[-1]
            scores = estimates + slow.margins(context, confidence)
            if isinstance(policy, LinTS):
                scores = slow.sampled(context, policy, Rounds(seed, "bandit").at(t))
            elif not decision.explored:
                scores = estimates
            assert scores[decision.arm] >= scores.max() - 1e-9 * (1 + abs(scores.max()))
            assert decision.estimate == pytest.approx(estimates[decision.arm], rel=1e-9, abs=1e-10)
            margin = slow.margins(context, dataclasses.replace(confidence, scale=1.0))[decision.arm]
            assert decision.high - decision.estimate == pytest.approx(margin, rel=1e-9)
            waiting.append((decision, context, float(rng.uniform(-1, 1)), float(rng.choice([1.0, 2.5]))))
            while len(waiting) > 4:
                told, x, gained, weight = waiting.pop(int(rng.integers(5)))
                if rng.random() < 0.2:
                    bandit.drop(told)
                    continue
                bandit.tell(told.id, gained, weight=weight)
                slow.learn(told.arm, x, gained, weight)


@pytest.mark.parametrize(
    "policy",
    [LinUCB(), LinUCB(scale=0.2, noise=0.3), FixedBonusUCB(bonus=0.3), Greedy(), Infex(LinUCB(), every(3)),
     Infex(FixedBonusUCB(), every(2)), Infex(LinUCB(scale=0.1), every(4), ties="lowest")],
    ids=str,
)  # fmt: skip
@given(seed=st.integers(0, 10**6), arms=st.integers(1, 20), dim=st.integers(1, 19))
@settings(max_examples=8, deadline=None)
def test_ask_is_decide_and_enter(policy: Any, seed: int, arms: int, dim: int) -> None:
    pair = [Bandit(features=features.disjoint(arms, dim), policy=policy, seed=1) for _ in range(2)]
    for t, context in enumerate(contexts(seed, dim, 30)):
        quick = pair[0].ask(context=context)
        long = pair[1].enter(pair[1].decide(context=context))
        assert unnamed(quick) == unnamed(long)
        for bandit, decision in zip(pair, (quick, long), strict=True):
            bandit.tell(decision, reward(t, decision.arm))
    assert pair[0].digest() == pair[1].digest()


@pytest.mark.parametrize("policy", MEDLEY, ids=str)
@pytest.mark.parametrize("estimator", [None, models.Discounted(rate=0.9), models.Logistic()])
def test_files_copies_and_journals_go_on_exactly(tmp_path: Path, policy: Any, estimator: Any) -> None:
    bandit = Bandit(
        features=SHOP, policy=policy, seed=4, estimator=estimator, allowed=[True, True, False, True]
    )
    table = contexts(7)
    for t in range(40):
        decided = bandit.decide(context=table[t], id=f"order {t}")
        decision = bandit.enter(infex.from_record(json.loads(json.dumps(infex.to_record(decided)))))
        if t % 3:
            bandit.tell(decision, float(reward(t, decision.arm) > 0))
    bandit.save(tmp_path / "a.infex")
    others = [Bandit.load(tmp_path / "a.infex"), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))]
    assert {other.digest() for other in others} == {bandit.digest()}
    for t in range(40, 60):
        decisions = [
            each.ask(context=table[t], allowed=[t % 2 == 0, True, True, False], id=f"order {t}")
            for each in (bandit, *others)
        ]
        assert len(set(decisions)) == 1
        for each in (bandit, *others):
            each.tell(f"order {t}", 1.0)
            if t < 50:
                each.tell(f"order {3 * (t - 40)}", 0.0)
    assert {other.digest() for other in others} == {bandit.digest()}
    assert bandit.estimates(context=table[0]).tolist() == others[0].estimates(context=table[0]).tolist()
    assert all(other.exploration() == bandit.exploration() for other in others)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_arms_that_come_and_go_leave_the_others_as_they_were(seed: int) -> None:
    """Against ridges by label, with rewards that come late, also of arms that are gone."""
    rng = np.random.default_rng(seed)
    bandit = Bandit(features=features.disjoint(["a", "b"], 2), policy=Uniform(), seed=seed)
    pulls: dict[str, list[tuple[Floats, float]]] = {"a": [], "b": []}
    alive = {"a": 0, "b": 1}  # the life in which a label stands now
    lives, waiting = 2, []
    for t, context in enumerate(contexts(seed, 2, 60)):
        labels = bandit.labels
        assert labels is not None
        chance = rng.random()
        if chance < 0.15 and len(alive) < 5:
            new = sorted({"a", "b", "c", "d", "e"} - set(alive))[:2]
            bandit.add_arms(new[0] if len(new) == 1 else new)
            for name in new:
                pulls[name], alive[name], lives = [], lives, lives + 1
        elif chance < 0.3 and len(alive) > 1:
            gone = str(rng.choice(sorted(alive)))
            bandit.remove_arms(gone)
            del alive[gone], pulls[gone]
        decision = bandit.ask(context=context)
        waiting.append((decision, context, alive[str(decision.label)]))
        if len(waiting) > 3:
            told, x, life = waiting.pop(int(rng.integers(4)))
            bandit.tell(told, reward(t, told.arm))
            if alive.get(str(told.label)) == life:
                pulls[str(told.label)].append((x, reward(t, told.arm)))
        table = bandit.estimates(context=context)
        assert set(table.label) == set(alive)
        for row in table:
            gram = np.eye(2) + sum((np.outer(x, x) for x, _ in pulls[row.label]), np.zeros((2, 2)))
            theta = np.linalg.solve(gram, sum((y * x for x, y in pulls[row.label]), np.zeros(2)))
            assert row.estimate == pytest.approx(context @ theta, abs=1e-10)
            assert row.pulls == len(pulls[row.label])
    assert bandit._agent.model.all.n_observations == sum(map(len, pulls.values()))


def test_thousands_of_arms_that_came_and_went_leave_no_trace(tmp_path: Path) -> None:
    """In memory, counted by a pickle, and in the file, but for how many digits a count has."""
    bandit = Bandit(features=SHOP, policy=Infex(LinUCB(), every(2), data="own"))
    bandit.tell(bandit.ask(context=[0.1, 0.2, 0.3]), 1.0)
    bandit.save(tmp_path / "before.infex")
    sizes = [len(pickle.dumps(bandit))]
    for n in range(1500):
        bandit.add_arms([f"new {n}", f"other {n}"])
        decision = bandit.ask(context=[0.1, 0.2, 0.3])
        if n % 2:
            bandit.tell(decision, 0.0)
        bandit.remove_arms([f"new {n}", f"other {n}"])
        if not n % 2:
            bandit.tell(decision, 0.0)
    assert bandit.labels == SHOP.labels
    sizes.append(len(pickle.dumps(bandit)))
    bandit.save(tmp_path / "after.infex")
    sizes += [(tmp_path / name).stat().st_size for name in ("before.infex", "after.infex")]
    recent = len(bandit._agent.account.recent)  # explorations, which limits look back at
    assert abs(sizes[1] - sizes[0]) <= 64 + 64 * recent
    assert abs(sizes[3] - sizes[2]) <= 256 + 64 * recent
    _, arrays = archive.read(tmp_path / "after.infex")
    assert arrays["all truth"].shape == (ARMS, 2, DIM + 1, DIM)


def test_a_pending_decision_of_an_arm_that_is_gone_can_be_told_and_teaches_nothing(tmp_path: Path) -> None:
    bandit = Bandit(features=SHOP, policy=Infex(Greedy(), every(2), data="own"))
    decision = bandit.ask(context=[0.6, 0.8, 0.0])
    assert decision.label == "tea"
    bandit.remove_arms("tea")
    bandit.add_arms("tea")  # which is another arm
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex")
    for each in (bandit, loaded):
        before = each.posterior(context=[0.6, 0.8, 0.0]).theta
        each.tell(decision, 5.0)
        assert each.pending == ()
        assert each.posterior(context=[0.6, 0.8, 0.0]).theta.tolist() == before.tolist()
        assert each.labels == ("coffee", "juice", "water", "tea")
    assert bandit.digest() == loaded.digest()


@pytest.mark.parametrize("wrap", [lambda base: base, lambda base: Infex(base, guarded(every(1), 50.0))])
def test_a_policy_that_noted_a_parameter_of_other_arms_finds_another(wrap: Any) -> None:
    """A control that has stopped stays stopped; a note of the right length may be of other arms, too."""
    bandit = Bandit(features=SHOP, policy=wrap(RarelySwitchingUCB(growth=1e9)))
    for context in contexts(3, rounds=5):
        bandit.tell(bandit.ask(context=context), 1.0)
    bandit.remove_arms("tea")
    bandit.add_arms("mate")
    policy_state = bandit.policy_state
    assert (
        (policy_state is None)
        if not isinstance(bandit.policy, Infex)
        else (policy_state.base is None and policy_state.states)
    )
    bandit.ask(context=[0.1, 0.2, 0.3])
    found = bandit.policy_state if not isinstance(bandit.policy, Infex) else bandit.policy_state.base
    assert isinstance(found, SwitchingState)
    assert len(found.theta) == ARMS * DIM


def test_masks_follow_their_arms_and_new_ones_may_be_tried() -> None:
    bandit = Bandit(features=SHOP, policy=Uniform(), allowed=[True, False, True, False])
    bandit.remove_arms(["tea", "coffee"])
    bandit.add_arms(["mate"])
    assert bandit.allowed is not None
    assert dict(zip(bandit.labels or (), bandit.allowed.tolist(), strict=True)) == {
        "juice": True, "water": False, "mate": True,
    }  # fmt: skip
    assert {bandit.ask(context=[0.1, 0.1, 0.1]).label for _ in range(40)} == {"juice", "mate"}


def test_arms_without_labels_come_by_number_and_go_by_index() -> None:
    bandit = Bandit(features=features.disjoint(2, 2), policy=Greedy())
    for context in ([1.0, 0.0], [0.0, 1.0]):
        bandit.tell(bandit.ask(context=context), -1.0)
    bandit.add_arms(2)
    bandit.remove_arms([0])
    assert bandit.estimates(context=[1.0, 0.0]).estimate.tolist() == [0.0, 0.0, 0.0]
    assert bandit.estimates(context=[0.0, 1.0]).pulls.tolist() in ([1, 0, 0], [0, 0, 0])
    assert bandit.features == features.disjoint(3, 2)


TWO = [[1.0, 0.0], [0.6, 0.8]]


def joint(context: Any, arm: Any) -> Any:
    return [0.5 * context, 0.1 * len(str(arm))]


@pytest.mark.parametrize(
    ("rule", "more", "labels", "context"),
    [
        (features.interactions(TWO, 2, labels=["a", "b"]), [[0.0, 1.0]], ["c"], [0.6, 0.8]),
        (features.interactions(TWO, 2), [[0.0, 1.0]], None, [0.6, 0.8]),
        (features.joined(joint, ["a", "b"], 2), "c", None, 0.4),
        (features.joined(joint, [{"x"}, {"y"}], 2, labels=["a", "b"]), [{"z"}], ["c"], 0.4),
    ],
)  # fmt: skip
def test_arms_of_other_maps_come_and_go_and_what_was_learnt_stays(
    rule: Any, more: Any, labels: Any, context: Any
) -> None:
    bandit = Bandit(features=rule, policy=LinUCB())
    first = bandit.ask(context=context)
    bandit.tell(bandit.ask(context=context), 1.0)
    theta, before = bandit.posterior(context=context).theta, bandit.estimates(context=context)
    bandit.add_arms(more, labels)
    assert len(bandit.posterior(context=context)) == 3
    assert bandit.posterior(context=context).theta.tolist() == theta.tolist()
    assert bandit.estimates(context=context).estimate[:2].tolist() == before.estimate.tolist()
    bandit.remove_arms("a" if bandit.labels else 0)
    assert bandit.labels == (("b", "c") if labels or rule.labels else None)
    assert bandit.estimates(context=context).estimate[0] == before.estimate[1]
    bandit.tell(first, 0.0)
    assert bandit._agent.model.all.n_observations == 2
    bandit.remove_arms("c" if bandit.labels else 1)
    assert bandit.features is not None
    assert bandit.features.count == 1


class Own:
    """A user's map, which cannot turn."""

    dim, count, labels = 2, 2, ("x", "y")

    def __call__(self, context: float) -> Any:
        return [[context, 0.0], [0.0, context]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda b: b.add_arms("tea"), InvalidArms, "labels must differ, got 'tea' 2 times"),
        (lambda b: b.add_arms(["a", "b"], ["c", "d"]), InvalidArms, "are their labels: give these alone"),
        (lambda b: b.add_arms([2.5]), InvalidArms, "a label that is no text"),
        (lambda b: b.add_arms([]), InvalidArms, "at least one arm to add, got none"),
        (lambda b: b.remove_arms("mate"), UnknownArm, "no arm is called 'mate'"),
        (lambda b: b.remove_arms(SHOP.labels), InvalidArms, "at least one arm must stay"),
        (lambda b: Bandit(features=Own(), policy=Greedy()).add_arms("z"), InvalidArms, "a map of your own"),
        (
            lambda b: Bandit(features=features.interactions(np.eye(2), 2), policy=Greedy()).add_arms(
                [[0.1, 0.2]], ["x"]
            ),
            InvalidArms,
            "either all arms have labels or none",
        ),
        (
            lambda b: Bandit(features=SHOP, policy=MAKERS["Means"]()).remove_arms("tea"),
            InvalidArms,
            "knows arms by their indices",
        ),
    ],
)  # fmt: skip
def test_what_cannot_come_or_go_is_refused_and_nothing_changes(make: Any, error: Any, message: str) -> None:
    bandit = Bandit(features=SHOP, policy=Greedy())
    before = bandit.digest()
    with pytest.raises(error, match=message):
        make(bandit)
    assert bandit.digest() == before


def test_a_reduction_of_contexts_needs_one_regression_for_all() -> None:
    samples = np.array([features.interactions(np.eye(2), 2)(row) for row in contexts(1, 2, 5)])
    policy = ContextReduction(samples=samples, directions=10)
    with pytest.raises(NotKept, match=r"features\.interactions\(np\.eye\(K\), context_dim\) keeps one"):
        Bandit(features=features.disjoint(2, 2), policy=policy).ask(context=[0.1, 0.2])
    Bandit(features=features.interactions(np.eye(2), 2), policy=policy).ask(context=[0.1, 0.2])


def test_bandits_that_learnt_apart_merge_into_one_that_learnt_all() -> None:
    parts = [Bandit(features=SHOP, policy=Infex(LinUCB(), every(2), data="own"), seed=s) for s in (1, 2, 3)]
    *halves, whole = parts
    for t, context in enumerate(contexts(5)):
        decision = halves[t % 2].ask(context=context)
        halves[t % 2].tell(decision, reward(t, decision.arm))
        whole._agent.learn(
            decision.arm, whole.posterior(context=context).design_row(decision.arm), reward(t, decision.arm),
            decision.explored,
        )  # fmt: skip
    halves[0].apply(halves[1].changes())
    mine, all_of_it = (each.estimates(context=[0.3, 0.3, 0.3]) for each in (halves[0], whole))
    pulls = [each.posterior(context=[0.3, 0.3, 0.3]).pulls.tolist() for each in (halves[0], whole)]
    assert pulls[0] == pulls[1] == mine.pulls.tolist()
    np.testing.assert_allclose(mine.estimate, all_of_it.estimate, atol=1e-10)
    np.testing.assert_allclose(mine.low, all_of_it.low, atol=1e-10)
    with pytest.raises(CannotMerge, match="features must agree"):
        halves[0].apply(Bandit(features=features.disjoint(ARMS, DIM), policy=LinUCB()).changes())


def test_what_was_learnt_goes_by_label_into_another_map(tmp_path: Path) -> None:
    """It went by place: the estimates of one product were taken for those of another."""
    bandit = Bandit(features=features.disjoint(["a", "b", "c"], 2), policy=Greedy())
    for gained in (-1.0, -2.0, 3.0):
        bandit.tell(bandit.ask(context=[0.6, 0.8]), gained)
    late = bandit.ask(context=[0.6, 0.8])
    bandit.save(tmp_path / "x.infex")
    before = {row.label: row.estimate for row in bandit.estimates(context=[0.6, 0.8])}
    other = features.disjoint(["d", "c", "a"], 2)
    loaded = Bandit.load(tmp_path / "x.infex", features=other, adopt=True)
    after = {row.label: row.estimate for row in loaded.estimates(context=[0.6, 0.8])}
    assert after == {"a": before["a"], "c": before["c"], "d": 0.0}
    assert late.label == "c"
    assert bandit.labels is not None
    loaded.tell(late.id, 3.0)
    assert loaded.estimates(context=[0.6, 0.8]).pulls.tolist() == [0, 2, 1]


def test_an_arm_that_is_gone_stays_gone_under_another_map(tmp_path: Path) -> None:
    bandit = Bandit(features=features.disjoint(["a", "b", "c"], 2), policy=Greedy())
    decision = bandit.ask(context=[0.6, 0.8])
    bandit.remove_arms("a")
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex", features=features.disjoint(["d", "b"], 2), adopt=True)
    loaded.tell(decision.id, 1.0)
    assert loaded.estimates(context=[0.6, 0.8]).pulls.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("held", "given", "message"),
    [
        (features.disjoint(2, 3), features.disjoint(3, 2), "cannot go on|the map given has other arms"),
        (
            features.disjoint(2, 3),
            features.interactions(np.eye(2), 3),
            "cannot go on as one regression for all",
        ),
        (features.interactions(np.eye(2), 3), features.disjoint(2, 3), "holds one regression for all, which"),
    ],
)  # fmt: skip
def test_regressions_of_another_shape_cannot_go_on(
    tmp_path: Path, held: Any, given: Any, message: str
) -> None:
    Bandit(features=held, policy=Greedy()).save(tmp_path / "x.infex")
    with pytest.raises(CannotLoad, match=message):
        Bandit.load(tmp_path / "x.infex", features=given, adopt=True)


def test_threads_share_a_bandit_while_arms_come_and_go() -> None:
    bandit = Bandit(features=SHOP, policy=Infex(LinUCB(), every(5)))
    errors: list[Exception] = []

    def serve(name: str) -> None:
        try:
            for n in range(60):
                bandit.tell(bandit.ask(context=[0.1, 0.2, n / 100]), 1.0)
                if n % 20 == 0:
                    bandit.add_arms(f"{name} {n}")
                if n % 20 == 10:
                    bandit.remove_arms(f"{name} {n - 10}")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=serve, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert bandit.t == 240
    assert bandit.labels == SHOP.labels


@pytest.mark.parametrize("policy", [LinUCB(), Infex(LinTS(), every(3)), HybridTS(p=0.3)], ids=str)
def test_a_run_in_python_is_what_a_bandit_decides(policy: Any) -> None:
    """`play_round` takes a context as an offer; so do simulated runs in Python."""
    agent = Agent(policy, ModelState.empty(PerArm(ARMS, DIM), 1.0, False))
    bandit = Bandit(features=SHOP, policy=policy, seed=8)
    for t, context in enumerate(contexts(9), 1):
        gain = functools.partial(reward, t)
        choice, _ = play_round(agent, t, bandit.draws(t), gain, ContextOffer(SHOP.within(context)))
        decision = bandit.ask(context=context)
        bandit.tell(decision, reward(t, decision.arm))
        assert (choice.arm, choice.explored) == (decision.arm, decision.explored)
