"""Pending decisions narrow what exploring reads, and nothing else; told at once, nothing changes."""

import copy
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    every,
    features,
    from_record,
    jittered,
    models,
    to_record,
    until_certain,
)
from infex.bandit import archive
from infex.errors import DamagedFile, InvalidRound, InvalidSetting
from infex.models import Posterior
from infex.policies.choice import Choice
from tests.alike import unnamed
from tests.bandit.test_replay import ARMS, ESTIMATORS, POLICIES, bandit_of, question

NIGHT = 200
PLAIN_POLICIES = [policy for policy in POLICIES if "GreedyFirst" not in repr(policy)]  # which reads sums


def on_the_sphere(seed: int, dim: int) -> Any:
    rows = np.random.default_rng(seed).standard_normal((40, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def shop(context_dim: int, policy: Any, **more: Any) -> Bandit:
    return Bandit(features=features.disjoint(40, context_dim=context_dim), policy=policy, **more)


SHOPS: dict[str, Callable[..., Bandit]] = {
    "an axis for each arm": lambda policy, **more: Bandit(np.eye(40), policy, **more),
    "20 features": lambda policy, **more: Bandit(on_the_sphere(1, 20), policy, **more),
    "30 features": lambda policy, **more: Bandit(on_the_sphere(2, 30), policy, **more),
    "a regression for each arm": functools.partial(shop, 3),
    "a regression for each arm, 12 features": functools.partial(shop, 12),
}


def night(bandit: Bandit, rng: np.random.Generator) -> list[int]:
    """The arms that a night of explorations tries, without a reward."""
    tried: list[int] = []
    shopping: Any = bandit.features
    while len(tried) < NIGHT:
        x = rng.standard_normal(shopping.context_dim if shopping else 1)
        decision = bandit.ask(context=x / np.linalg.norm(x)) if shopping else bandit.ask()
        tried += [decision.arm] if decision.explored else []
    return tried


@pytest.mark.parametrize("name", SHOPS)
@pytest.mark.parametrize("base", [LinUCB(), LinUCB(scale=0.2), LinTS()], ids=repr)
@pytest.mark.parametrize("period", [1, 5])
def test_a_night_of_explorations_tries_most_arms(name: str, base: Any, period: int) -> None:
    for seed in range(2):
        policy = base if period == 1 else Infex(base, every(period))
        tried = night(SHOPS[name](policy, seed=seed), np.random.default_rng(seed))
        assert len(set(tried)) >= 30


@pytest.mark.parametrize("name", SHOPS)
def test_linucb_that_ignores_what_is_pending_tries_one(name: str) -> None:
    bandit = SHOPS[name](Infex(LinUCB(), every(5)), pending="ignore")
    tried = night(bandit, np.random.default_rng(0))
    assert len(set(tried)) <= 3  # with contexts, few are tied with the first


@pytest.mark.parametrize("seed", range(3))
def test_few_features_are_all_learnt_in_a_night_though_fewer_arms_are_tried(seed: int) -> None:
    arms = on_the_sphere(seed, 6)
    tried = arms[night(Bandit(arms, LinUCB()), np.random.default_rng(seed))]
    inverse = np.linalg.inv(np.eye(6) + tried.T @ tried)
    widest = np.sqrt(np.einsum("ki,ij,kj->k", arms, inverse, arms)).max()
    assert widest <= 1.2 * np.sqrt(6 / NIGHT)  # the least of any design (Kiefer and Wolfowitz, 1960)


@given(
    kind=st.sampled_from(["fixed", "changing", "contexts"]),
    policy=st.sampled_from([*PLAIN_POLICIES, LinUCB(), LinTS()]),
    estimator=st.sampled_from(ESTIMATORS),
    seed=st.integers(0, 999),
)
@settings(max_examples=60, deadline=None)
def test_rewards_told_at_once_change_no_bit(kind: str, policy: Any, estimator: Any, seed: int) -> None:
    narrow, ignore = bandit_of(kind, policy, estimator, seed), bandit_of(kind, policy, estimator, seed)
    ignore.narrows = False
    for t in range(30):
        asked = question(kind, np.random.default_rng((seed, t)))
        one, other = narrow.ask(**asked), ignore.ask(**asked)
        assert unnamed(one) == unnamed(other)
        narrow.tell(one, float(one.arm % 2))
        ignore.tell(other, float(one.arm % 2))
    ignore.narrows = True
    narrow.narrows = True  # a change, as the other has two
    narrow.narrows = True
    assert narrow.digest() == ignore.digest()


class Probe:
    """LinUCB that shows what it read."""

    def __init__(self) -> None:
        self.seen: Posterior | None = None

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        self.seen = posterior
        return LinUCB().choose(t, posterior, rng)


class Dense:
    """V and b of what was told and what is pending, added up in NumPy."""

    def __init__(self, dim: int, penalty: float) -> None:
        self.told: list[tuple[Any, float, float]] = []
        self.pending: dict[str, Any] = {}
        self.dim, self.penalty = dim, penalty

    def gram(self, narrowed: bool) -> Any:
        gram = self.penalty * np.eye(self.dim)
        for x, _, weight in self.told:
            gram = gram + weight * np.outer(x, x)
        for x in self.pending.values() if narrowed else ():
            gram = gram + np.outer(x, x)
        return gram

    def estimates(self, arms: Any) -> Any:
        moment = sum((weight * y * x for x, y, weight in self.told), np.zeros(self.dim))
        return arms @ np.linalg.solve(self.gram(False), moment)

    def widths(self, arms: Any, narrowed: bool) -> Any:
        return np.sqrt(np.einsum("ki,ij,kj->k", arms, np.linalg.inv(self.gram(narrowed)), arms))


def course(bandit: Bandit, probe: Probe, own: bool, kind: str, rng: np.random.Generator) -> None:
    """Asks, tells in any order and with any weight, drops, arms that come and go; all against `Dense`."""
    dense, apart = (Dense(bandit._arms.dim, bandit.penalty) for _ in range(2))
    for _ in range(40):
        probe.seen = None
        mask = rng.random(len(bandit.arms)) < 0.7 if kind == "fixed" and rng.random() < 0.2 else None
        before = bandit.posterior() if kind == "fixed" else None
        asked = question("contexts" if kind == "disjoint" else kind, rng)
        decision = bandit.ask(**asked, **({} if mask is None else {"allowed": mask}))
        x = row_of(bandit, decision.id)
        if probe.seen is not None:
            read, base = probe.seen, apart if own else dense
            np.testing.assert_allclose(read.estimates, base.estimates(read.arms), atol=1e-9)
            np.testing.assert_allclose(read.widths, base.widths(read.arms, narrowed=True), atol=1e-9)
            np.testing.assert_allclose(
                read.log_det_ratio, np.linalg.slogdet(base.gram(False) / base.penalty)[1], atol=1e-9
            )
        data = float(np.sqrt(x @ np.linalg.solve(dense.gram(False), x)))
        own_block = x != 0.0 if kind == "disjoint" else np.ones(x.size, dtype=bool)
        mine = dense.gram(False)[np.ix_(own_block, own_block)] / dense.penalty
        beta = np.sqrt(np.linalg.slogdet(mine)[1] + 2 * np.log(100)) + np.sqrt(dense.penalty)
        np.testing.assert_allclose(decision.high - decision.estimate, beta * data, atol=1e-9)
        dense.pending[decision.id] = x
        if decision.explored:
            apart.pending[decision.id] = x
        if before is not None:  # what was read before this decision is as it was
            widths = dense.widths(before.arms, narrowed=False)
            np.testing.assert_allclose(before.widths, widths, atol=1e-9)
        for _ in range(int(rng.integers(0, 3))):
            leave(bandit, dense, apart, rng)
        if kind == "fixed" and rng.random() < 0.1 and len(bandit.arms) > 3:
            bandit.remove_arms([int(rng.integers(len(bandit.arms)))])
        if kind == "fixed" and rng.random() < 0.1:
            bandit.add_arms(ARMS[:1] * rng.random())
        assert bandit.narrows
        assert len(bandit.pending) == len(dense.pending)


def row_of(bandit: Bandit, key: str) -> Any:
    """The features that the reward of a pending decision will be learnt on."""
    on = next(each.on for each in bandit.pending_entries() if each.decision.id == key)
    return bandit._agent.model.row(on)


def leave(bandit: Bandit, dense: Dense, apart: Dense, rng: np.random.Generator) -> None:
    """One decision is told, or dropped."""
    if not bandit.pending:
        return
    gone = bandit.pending[int(rng.integers(len(bandit.pending)))]
    if rng.random() < 0.2:
        bandit.drop(gone)
        del dense.pending[gone.id]
        apart.pending.pop(gone.id, None)
        return
    reward, weight = float(rng.standard_normal()), float(rng.choice([1.0, 1.0, 0.25, 7.0]))
    bandit.tell(gone, reward, weight=weight)
    dense.told.append((dense.pending.pop(gone.id), reward, weight))
    if gone.explored:
        apart.told.append((apart.pending.pop(gone.id), reward, weight))


@given(
    kind=st.sampled_from(["fixed", "changing", "contexts", "disjoint"]),
    data=st.sampled_from(["shared", "own", "alone"]),
    penalty=st.sampled_from([0.1, 1.0]),
    seed=st.integers(0, 9999),
)
@settings(max_examples=40, deadline=None)
def test_exploring_reads_what_a_dense_inverse_gives(kind: str, data: Any, penalty: float, seed: int) -> None:
    probe = Probe()
    policy: Any = probe if data == "alone" else Infex(probe, every(2), data=data)
    arms: Any = {
        "fixed": {"arms": ARMS},
        "changing": {"dim": 4},
        "contexts": {"features": features.interactions(ARMS[:, :2], context_dim=2)},
        "disjoint": {"features": features.disjoint(3, context_dim=2)},
    }[kind]
    bandit = Bandit(policy=policy, penalty=penalty, seed=seed, **arms)
    course(bandit, probe, data == "own", kind, np.random.default_rng(seed))


@given(
    estimator=st.sampled_from([*ESTIMATORS, models.Weighted(weight=lambda x: 1.0 + x[0] ** 2)]),
    kind=st.sampled_from(["fixed", "changing"]),
    seed=st.integers(0, 9999),
)
@settings(max_examples=40, deadline=None)
def test_every_estimator_has_the_pending_x_in_its_precision(estimator: Any, kind: str, seed: int) -> None:
    """inv(covariance) grows by sum x x'; by sum p(1 - p) x x' where estimates are chances p."""
    rng = np.random.default_rng(seed)
    bandit = bandit_of(kind, Infex(LinTS(), every(2)), estimator, seed)
    rows: dict[str, Any] = {}
    for _ in range(25):
        decision = bandit.ask(**question(kind, rng))
        x = row_of(bandit, decision.id)
        chance = decision.estimate * (1 - decision.estimate)
        rows[decision.id] = np.outer(x, x) * (chance if isinstance(estimator, models.Logistic) else 1.0)
        if rng.random() < 0.5:
            gone = bandit.pending[int(rng.integers(len(bandit.pending)))]
            bandit.tell(gone, float(rng.random() < 0.5))
            del rows[gone.id]
        seen = bandit.posterior(**({"arms": ARMS} if kind == "changing" else {}))
        data, narrowed = (np.linalg.inv(each.factor.T @ each.factor) for each in (seen, seen.narrowed))
        pending = sum(rows.values(), np.zeros((4, 4)))
        np.testing.assert_allclose(narrowed, data + pending, rtol=1e-6, atol=1e-8)
        assert seen.narrowed.log_det_ratio == seen.log_det_ratio
        np.testing.assert_array_equal(seen.narrowed.estimates, seen.estimates)


def restless(seed: int, policy: Any = None, kind: str = "fixed", **more: Any) -> Bandit:
    """A bandit with decisions that came and went in every way."""
    rng = np.random.default_rng(seed)
    bandit = bandit_of(kind, policy or Infex(LinTS(), every(2)), None, seed)
    for _ in range(40):
        bandit.ask(**question(kind, rng))
        if rng.random() < 0.6:
            bandit.tell(bandit.pending[int(rng.integers(len(bandit.pending)))], float(rng.standard_normal()))
        if rng.random() < 0.1:
            bandit.drop(bandit.pending[0].id) if bandit.pending else None
        if kind == "fixed" and rng.random() < 0.05 and bandit.labels is not None and len(bandit.labels) > 4:
            bandit.remove_arms(bandit.labels[0])
    return bandit


def goes_on(bandit: Bandit, kind: str, rounds: int = 20) -> list[Any]:
    rng = np.random.default_rng(5)
    return [unnamed(bandit.ask(**question(kind, rng))) for _ in range(rounds)]


@pytest.mark.parametrize("kind", ["fixed", "changing", "contexts"])
@pytest.mark.parametrize(
    "policy",
    [LinUCB(), LinTS(), Infex(LinTS(), every(2), data="own"), Infex(LinUCB(), jittered(3))],
    ids=repr,
)
def test_what_is_loaded_copied_or_replayed_goes_on_bit_for_bit(
    tmp_path: Path, kind: str, policy: Any
) -> None:
    for seed in range(3):
        bandit = restless(seed, policy, kind)
        bandit.save(tmp_path / "b.infex")
        loaded, copied = Bandit.load(tmp_path / "b.infex"), copy.deepcopy(bandit)
        assert loaded.narrows
        assert loaded.digest() == bandit.digest() == copied.digest()
        live, rng = copy.deepcopy(bandit), np.random.default_rng(5)
        for _ in range(20):  # one that decides, against one that enters what was decided
            decided = live.decide(**question(kind, rng))
            again = from_record(json.loads(json.dumps(to_record(decided))))
            live.enter(decided)
            copied.enter(again)
        first = goes_on(bandit, kind)
        assert first == goes_on(loaded, kind)
        assert goes_on(live, kind) == goes_on(copied, kind)
        assert bandit.digest() == loaded.digest()
        assert live.digest() == copied.digest()


@pytest.mark.parametrize("estimator", [None, models.Logistic()], ids=repr)
def test_arms_with_a_regression_each_come_and_go_while_pending(tmp_path: Path, estimator: Any) -> None:
    rng = np.random.default_rng(4)
    bandit = Bandit(
        features=features.disjoint(["a", "b", "c"], context_dim=2),
        policy=Infex(LinTS(), every(2)),
        estimator=estimator,
    )
    for t in range(30):
        bandit.ask(context=rng.random(2) / 2)
        if t == 9:
            bandit.remove_arms("b")
        if t == 14:
            bandit.add_arms(["d"])
        if rng.random() < 0.5:
            bandit.tell(bandit.pending[int(rng.integers(len(bandit.pending)))], float(rng.random() < 0.5))
    bandit.save(tmp_path / "b.infex")
    loaded = Bandit.load(tmp_path / "b.infex")
    context = np.array([0.4, 0.3])
    one, other = bandit.posterior(context=context), loaded.posterior(context=context)
    np.testing.assert_array_equal(one.narrowed.widths, other.narrowed.widths)
    assert (one.narrowed.widths < one.widths).any()
    for decision in bandit.pending:
        bandit.drop(decision)
    np.testing.assert_array_equal(bandit.posterior(context=context).narrowed.widths, one.widths)


@pytest.mark.parametrize("pending", ["narrow", "ignore"])
@pytest.mark.parametrize("kind", ["fixed", "interactions", "disjoint"])
def test_further_features_leave_what_is_pending_as_it_was(kind: str, pending: Any) -> None:
    arms: Any = {
        "fixed": {"arms": ARMS[:, :2]},
        "interactions": {"features": features.interactions(ARMS[:, :2], context_dim=2)},
        "disjoint": {"features": features.disjoint(3, context_dim=2)},
    }[kind]
    bandit = Bandit(policy=Infex(LinUCB(), every(2)), pending=pending, **arms)
    x: Any = {} if kind == "fixed" else {"context": np.array([0.4, 0.3])}
    wider: Any = {} if kind == "fixed" else {"context": np.array([0.4, 0.3, 0.0])}
    for t in range(9):
        decision = bandit.ask(**x)
        bandit.tell(decision, 0.5) if t % 3 == 0 else None
    before = bandit.posterior(**x).narrowed
    bandit.extend(1)
    assert bandit.narrows == (pending == "narrow")
    np.testing.assert_allclose(bandit.posterior(**wider).narrowed.widths, before.widths, rtol=1e-12)
    bandit.tell(bandit.pending[0], 1.0)
    bandit.drop(bandit.pending[0])
    assert bandit.ask(**wider).t == 10


def test_reading_changes_nothing() -> None:
    one, other = restless(1), restless(1)
    for _ in range(10):
        one.posterior().narrowed.widths.sum()
        one.decide()
        one.estimates()
        assert unnamed(one.ask()) == unnamed(other.ask())
    assert one.digest() == other.digest()


def test_the_setting_is_kept_shown_and_can_be_switched(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(3), LinUCB(), pending="ignore")
    assert [bandit.ask().arm for _ in range(4)] == [0, 0, 0, 0]
    assert repr(bandit).endswith("pending=4 ignored)")
    bandit.save(tmp_path / "b.infex")
    loaded = Bandit.load(tmp_path / "b.infex")
    assert not loaded.narrows
    decided, before = loaded.decide(), loaded.digest()
    loaded.narrows = True
    assert loaded.digest() != before
    with pytest.raises(InvalidRound, match="changed"):
        loaded.enter(decided)
    assert [loaded.ask().arm for _ in range(3)] == [1, 2, 1]  # four of arm 0 are pending
    assert repr(loaded).endswith("pending=7)")
    loaded.narrows = False
    assert loaded.ask().arm == 0


@pytest.mark.parametrize("pending", ["narrowed", None, True, 1])
def test_another_way_is_refused(pending: Any) -> None:
    with pytest.raises(InvalidSetting, match="pending must be 'narrow' or 'ignore', got"):
        Bandit(np.eye(2), LinUCB(), pending=pending)
    bandit = Bandit(np.eye(2), LinUCB())
    with pytest.raises(InvalidSetting, match="narrows must be True or False, got 'narrow'"):
        bandit.narrows = "narrow"  # type: ignore[assignment]
    assert bandit.narrows


def test_a_file_that_says_neither_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.infex"
    Bandit(np.eye(2), LinUCB()).save(path)
    kept, arrays = archive.read(path)
    archive.write(path, kept | {"narrows": "yes"}, arrays)
    with pytest.raises(DamagedFile, match="its narrows is 'yes'"):
        Bandit.load(path)


def test_limits_and_greedy_rounds_read_rewards_alone() -> None:
    """Widths that fall for what is pending make nobody certain, and no greedy round another."""
    certain = Infex(LinUCB(), until_certain(every(2), delta=0.5, noise=0.01, bound=0.01))
    bandit = Bandit(np.eye(2), certain)
    for _ in range(400):
        bandit.ask()
    assert bandit.exploration().done == 200
    greedy = Bandit(ARMS, Greedy())
    assert {greedy.ask().arm for _ in range(20)} == {0}


def test_a_policy_of_ones_own_reads_what_is_narrowed() -> None:
    probe = Probe()
    bandit = Bandit(np.eye(2), probe)
    assert [bandit.ask().arm for _ in range(4)] == [0, 1, 0, 1]
    assert probe.seen is not None
    np.testing.assert_allclose(probe.seen.widths, np.sqrt([1 / 3, 1 / 2]))
    np.testing.assert_array_equal(bandit.posterior().widths, 1.0)


def test_what_was_dropped_is_looked_for_again() -> None:
    bandit = Bandit(np.eye(2), LinUCB())
    first = bandit.ask()
    assert bandit.ask().arm == 1
    bandit.drop(first)
    assert bandit.ask().arm == 0
