"""A bandit whose arms share features and have some of their own, against one regression of joined rows."""

import copy
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, features, jittered, models
from infex.arrays import Floats, Label
from infex.bandit import Changes
from infex.errors import CannotLoad, CannotMerge, DamagedFile, InvalidContext, InvalidSetting
from infex.features import Hybrid
from infex.models import Posterior
from infex.registry import from_record, to_record
from tests.alike import unnamed
from tests.policies.test_contract import IN_TURN, MAKERS, OF_FIXED_ARMS

DIM = 3
TEAS = np.array([[0.9, 0.1], [0.2, 0.7], [0.5, 0.5], [0.0, 0.8]])
LABELS = ["green", "black", "mate", "oolong"]
MAP = features.hybrid(features.interactions(TEAS, DIM, labels=LABELS, longest=2.0), own=[0, 2])
OWN_CODE = features.joined(max, [1], 1)
BY_ARM = ("UCB1", "UCB1 random", "GaussianTS", "HybridTS plain")  # by pulls, which one regression has not


class Rows:
    """The same rows as a map of a user's, which a bandit knows one dense regression for."""

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid, self.longest = hybrid, hybrid.longest

    @property
    def dim(self) -> int:
        return self.hybrid.dim

    @property
    def count(self) -> int:
        return self.hybrid.count

    @property
    def labels(self) -> tuple[Label, ...] | None:
        return self.hybrid.labels

    def __call__(self, context: object) -> Floats:
        return self.hybrid(context)

    def in_units(self, theta: Floats) -> Floats:
        return self.hybrid.in_units(theta)


def contexts(seed: int, rounds: int = 60) -> Any:
    rows = np.random.default_rng(seed).standard_normal((rounds, DIM))
    return 2.0 * rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]


def reward(t: int, arm: int) -> float:
    return float(np.sin(3.0 * t + arm))


def play(bandit: Bandit, given: Iterable[Any], late: int = 0) -> list[Any]:
    """Asks in each context, and tells each reward so many rounds later."""
    taken = []
    for t, context in enumerate(given):
        taken.append(bandit.ask(context=context))
        if t >= late:
            bandit.tell(taken[t - late], reward(t, taken[t - late].arm))
    return taken


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in (*BY_ARM, *OF_FIXED_ARMS, *IN_TURN)])
@pytest.mark.parametrize("late", [0, 5])
def test_every_policy_chooses_as_with_one_dense_regression(name: str, late: int) -> None:
    bandits = [Bandit(features=rule, policy=MAKERS[name](), seed=3, penalty=0.5) for rule in (MAP, Rows(MAP))]
    mine, theirs = (play(bandit, contexts(4), late) for bandit in bandits)
    assert [each.arm for each in mine] == [each.arm for each in theirs]
    for field in ("estimate", "low", "high"):
        values = [[getattr(each, field) for each in taken] for taken in (mine, theirs)]
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(bandits[0].theta, bandits[1].theta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("policy", [LinUCB(), LinTS(), Infex(LinUCB(), every(3))], ids=str)
def test_requests_that_offer_some_arms_are_answered_as_by_one_dense_regression(policy: Any) -> None:
    bandits = [Bandit(features=rule, policy=policy, seed=3) for rule in (MAP, Rows(MAP))]
    masks = np.random.default_rng(2).random((40, 4)) < 0.6
    masks[:, 3] |= ~masks.any(axis=1)
    for t, (context, mask) in enumerate(zip(contexts(4, 40), masks, strict=True)):
        offered = [label for label, on in zip(LABELS, mask, strict=True) if on]
        one, other = (each.ask(context=context, offered=offered, explore=t % 4 > 0) for each in bandits)
        assert (one.label, one.explored) == (other.label, other.explored)
        assert one.label in offered
        for bandit, decision in zip(bandits, (one, other), strict=True):
            bandit.tell(decision, reward(t, decision.arm))
    single = copy.deepcopy(bandits[0])
    given = contexts(5, 40)
    many = bandits[0].ask_many(given, offered=masks)
    alone = [
        single.ask(context=context, offered=[label for label, on in zip(LABELS, mask, strict=True) if on])
        for context, mask in zip(given, masks, strict=True)
    ]
    assert [unnamed(each) for each in many] == [unnamed(each) for each in alone]


def test_pulls_are_known_by_arm() -> None:
    for name in BY_ARM:
        bandit = Bandit(features=MAP, policy=MAKERS[name]())
        taken = play(bandit, contexts(1))
        assert bandit.pulls is not None
        assert bandit.pulls.tolist() == np.bincount([each.arm for each in taken], minlength=4).tolist()


def test_theta_is_that_of_least_squares_on_features_as_they_are_given() -> None:
    bandit = Bandit(features=MAP, policy=LinUCB(), penalty=0.7)
    rows, rewards = [], []
    for t, context in enumerate(contexts(2)):
        decision = bandit.ask(context=context)
        bandit.tell(decision, reward(t, decision.arm))
        own = np.zeros((4, 2))
        own[decision.arm] = context[[0, 2]]
        rows.append(np.concatenate([own.ravel(), np.outer(TEAS[decision.arm], context).ravel()]))
        rewards.append(reward(t, decision.arm))
    design = np.array(rows)
    theta = np.linalg.solve(design.T @ design + 0.7 * np.eye(14), design.T @ np.array(rewards))
    np.testing.assert_allclose(bandit.theta, theta, rtol=1e-10, atol=1e-10)
    shared, own = MAP.parts(bandit.theta)
    np.testing.assert_allclose(own, theta[:8].reshape(4, 2), atol=1e-10)
    np.testing.assert_allclose(shared, theta[8:].reshape(2, 3), atol=1e-10)
    context = contexts(9)[0]
    estimates = [TEAS[k] @ shared @ context + own[k] @ context[[0, 2]] for k in range(4)]
    np.testing.assert_allclose(bandit.estimates(context=context).estimate, estimates, atol=1e-10)


@pytest.mark.parametrize(
    "policy", [LinUCB(), LinTS(), Infex(LinUCB(), every(3)), Infex(LinTS(), jittered(3))]
)
def test_files_copies_batches_and_logs_are_the_same(tmp_path: Path, policy: Any) -> None:
    bandit = Bandit(features=MAP, policy=policy, seed=2)
    play(bandit, contexts(5), late=7)
    bandit.save(tmp_path / "bandit")
    others = [Bandit.load(tmp_path / "bandit"), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))]
    for other in others:
        assert other.digest() == bandit.digest()
    given = contexts(6, 20)
    one_by_one = [unnamed(bandit.ask(context=context)) for context in given]
    assert [unnamed(each) for each in others[0].ask_many(given)] == one_by_one
    rewards = [reward(t, 1) for t in range(len(bandit.pending))]
    for t, each in enumerate(bandit.pending):
        bandit.tell(each, rewards[t])
    others[0].tell_many([each.id for each in others[0].pending], rewards)
    assert others[0].digest() == bandit.digest()
    told, logged = Bandit(features=MAP, policy=policy), Bandit(features=MAP, policy=policy)
    taken = play(told, given)
    logged.learn(given, [each.label for each in taken], [reward(t, e.arm) for t, e in enumerate(taken)])
    np.testing.assert_allclose(logged.theta, told.theta, rtol=1e-10, atol=1e-12)
    assert np.array_equal(logged.pulls, told.pulls)


def test_a_decision_that_is_entered_elsewhere_is_the_same(tmp_path: Path) -> None:
    bandit = Bandit(features=MAP, policy=LinUCB())
    play(bandit, contexts(3, 10))
    other, context = copy.deepcopy(bandit), contexts(8)[0]
    decided = from_record(to_record(bandit.decide(context=context)))
    assert unnamed(other.enter(decided)) == unnamed(bandit.ask(context=context))
    assert other.digest() == bandit.digest()


@pytest.mark.parametrize(
    "policy", [LinUCB(), LinUCB(scale=0.2), Greedy(), Infex(LinUCB(), every(3))], ids=str
)
@pytest.mark.parametrize("seed", range(4))
def test_ask_takes_what_was_decided(policy: Any, seed: int) -> None:
    bandit = Bandit(features=MAP, policy=policy, penalty=10.0 ** (1 - 2 * seed))
    for t, context in enumerate(contexts(seed, 80)):
        long = bandit.decide(context=context).decision
        decision = bandit.ask(context=context)
        assert unnamed(decision) == unnamed(long)
        bandit.tell(decision, reward(t, decision.arm))
        if t == 40:
            bandit.remove_arms("mate")


def test_removing_an_arm_keeps_what_its_rewards_told_of_shared_features(tmp_path: Path) -> None:
    bandit, whole = (Bandit(features=MAP, policy=LinUCB()) for _ in range(2))
    for each in (bandit, whole):
        play(each, contexts(4, 40), late=3)
    bandit.remove_arms("black")
    bandit.save(tmp_path / "fewer")
    for fewer in (bandit, Bandit.load(tmp_path / "fewer")):
        assert fewer.labels == ("green", "mate", "oolong")
        context = contexts(8)[0]
        mine: Any = fewer.estimates(context=context)
        theirs: Any = whole.estimates(context=context)[[0, 2, 3]]
        for name in ("estimate", "low", "high"):
            np.testing.assert_allclose(mine[name], theirs[name], atol=1e-10)
        assert mine.pulls.tolist() == theirs.pulls.tolist()
    late = [each for each in bandit.pending if each.label == "black"]
    assert late
    before = bandit.theta
    bandit.tell(late[0], 1.0)  # of an arm that is gone: nothing is learnt
    assert np.array_equal(bandit.theta, before)
    bandit.add_arms([[0.3, 0.3]], ["rooibos"])
    own = MAP.parts(whole.theta)
    estimate = bandit.estimates(context=context)[-1]
    assert estimate.label == "rooibos"
    assert estimate.estimate == pytest.approx([0.3, 0.3] @ own.shared @ context, abs=1e-10)


def test_pending_decisions_of_an_arm_that_goes_narrow_no_longer() -> None:
    bandit, other = (Bandit(features=MAP, policy=LinUCB(), seed=1) for _ in range(2))
    for each in (bandit, other):
        play(each, contexts(4, 30))
        for context in contexts(7, 12):
            each.ask(context=context)
    bandit.remove_arms("mate")
    for decision in other.pending:
        if decision.label == "mate":
            other.drop(decision)
    other.remove_arms("mate")
    context = contexts(8)[0]
    found = [each.posterior(context=context).narrowed.widths for each in (bandit, other)]
    np.testing.assert_array_equal(*found)
    assert (found[0] < bandit.posterior(context=context).widths).all()


def test_workers_add_up_and_what_cannot_add_up_is_refused() -> None:
    centre, together = (Bandit(features=MAP, policy=LinUCB()) for _ in range(2))
    workers = [Bandit(features=MAP, policy=LinTS(), seed=seed) for seed in range(2)]
    for seed, worker in enumerate(workers):
        given = contexts(seed + 20, 15)
        taken = play(worker, given)
        gained = [reward(t, each.arm) for t, each in enumerate(taken)]
        together.learn(given, [each.label for each in taken], gained)
        sent = Changes.from_bytes(worker.changes().to_bytes())
        assert (centre.apply(sent), centre.apply(sent)) == (15, 0)
    np.testing.assert_allclose(centre.theta, together.theta, atol=1e-12)
    play(workers[0], contexts(1, 5))
    for each in (workers[0], centre):
        each.remove_arms("mate")
    with pytest.raises(CannotMerge, match="blocks must agree"):
        centre.apply(workers[1].changes())
    play(workers[0], contexts(2, 5))
    with pytest.raises(CannotMerge, match=r"rewards 20 to 25.*are missing"):
        centre.apply(workers[0].changes())


def test_contexts_with_names_are_read_once_for_both_parts(tmp_path: Path) -> None:
    visitor = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]}, beyond="clip")
    teas = features.interactions(TEAS, context=visitor, labels=LABELS)
    shop = features.hybrid(shared=teas, own=["intercept", "country=DE"])
    assert features.hybrid(shared=teas) == features.hybrid(shared=teas, own=visitor) != shop
    bandit = Bandit(features=shop, policy=Infex(LinUCB(), every(2)))
    given = [{"age": age, "country": country} for age in (15, 30, 90) for country in ("FR", "DE")]
    play(bandit, given)
    assert bandit.noticed == {"age clipped": 4}
    assert bandit.names == ("intercept", "age", "country=FR", "country=DE")
    assert [part.shape for part in shop.parts(bandit.theta)] == [(2, 4), (4, 2)]
    bandit.ask_many(given)
    bandit.learn(given, ["mate"] * 6, [1.0] * 6)
    bandit.save(tmp_path / "shop")
    assert Bandit.load(tmp_path / "shop").digest() == bandit.digest()
    assert from_record(to_record(shop)) == shop


def at(t: int) -> dict[str, Any]:
    return {"age": 20 + t, "country": "FR" if t % 3 else "IT"}


@pytest.mark.parametrize("own", [None, ["age", "intercept"]])
def test_further_features_are_as_if_they_had_been_0_before(tmp_path: Path, own: Any) -> None:
    small = features.table({"age": (20, 80)}, {"country": ["FR"]}, unseen="zero")
    large = features.table({"age": (20, 80), "visits": (0, 10)}, {"country": ["FR", "DE"]}, unseen="zero")
    maps = [features.hybrid(features.interactions(TEAS, context=table), own) for table in (small, large)]
    bandit, known = (
        Bandit(features=each, policy=Infex(LinUCB(), every(2)), penalty=0.3, seed=1) for each in maps
    )
    for t in range(40):
        decision = bandit.ask(context=at(t))
        if t < 35:
            bandit.tell(decision, reward(t, decision.arm))
            known.learn([at(t) | {"visits": 5}], [decision.arm], [reward(t, decision.arm)])
    bandit.extend(numbers={"visits": (0, 10)}, categories={"country": ["DE"]})
    assert bandit.features == known.features
    context = {"age": 33, "country": "DE", "visits": 9}
    for other in (bandit, copy.deepcopy(bandit)):
        np.testing.assert_allclose(other.theta, known.theta, atol=1e-10)
        np.testing.assert_allclose(
            other.posterior(context=context).widths, known.posterior(context=context).widths, rtol=1e-10
        )
    assert (bandit.posterior(context=context).narrowed.widths < known.posterior(context=context).widths).all()
    for decision in bandit.pending:
        bandit.tell(decision, 0.5)
        known.learn([at(decision.t - 1) | {"visits": 5}], [decision.arm], [0.5])
    np.testing.assert_allclose(bandit.theta, known.theta, atol=1e-10)
    bandit.save(tmp_path / "bandit")
    assert Bandit.load(tmp_path / "bandit").digest() == bandit.digest()
    plain = Bandit(features=MAP, policy=LinUCB())
    play(plain, contexts(3))
    before = plain.estimates(context=[0.5, 0.4, 0.3]).estimate
    plain.extend(2, longest=3.0)
    np.testing.assert_allclose(
        plain.estimates(context=[0.5, 0.4, 0.3, 0.0, 0.0]).estimate, before, atol=1e-10
    )


def test_a_function_of_yours_and_a_table_join(tmp_path: Path) -> None:
    def fits(context: Any, tea: Floats) -> Floats:
        return np.asarray(tea * context["age"] / 100)

    joined = features.joined(fits, list(TEAS), 2, labels=LABELS, longest=1.0)
    visitor = features.table({"age": (20, 80)})
    shop = features.hybrid(joined, own=visitor)
    bandit = Bandit(features=shop, policy=LinUCB())
    play(bandit, [{"age": age} for age in (20, 40, 60)])
    bandit.save(tmp_path / "shop")
    with pytest.raises(CannotLoad, match="your code"):
        Bandit.load(tmp_path / "shop")
    assert Bandit.load(tmp_path / "shop", features=shop).digest() == bandit.digest()
    other = features.hybrid(joined, own=features.table({"age": (20, 90)}))
    with pytest.raises(CannotLoad, match="another feature map"):
        Bandit.load(tmp_path / "shop", features=other)
    plain = features.hybrid(features.joined(lambda x, tea: tea * x[0], list(TEAS), 2), own=DIM, longest=2.0)
    assert plain(contexts(1)[0]).shape == (4, 14)
    assert np.linalg.norm(plain(contexts(1)[0]), axis=1).max() <= 1.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: features.hybrid(features.disjoint(3, 2)), InvalidSetting, "one parameter for all arms"),
        (lambda: features.hybrid(None), InvalidSetting, "one parameter for all arms"),
        (lambda: features.hybrid(MAP.shared, own=["age"]), InvalidSetting, "have no names"),
        (lambda: features.hybrid(MAP.shared, own=[3]), InvalidSetting, "place 3, and contexts have 3"),
        (lambda: features.hybrid(MAP.shared, own=[]), InvalidSetting, "at least one"),
        (lambda: features.hybrid(MAP.shared, own=[1, 1]), InvalidSetting, "different features"),
        (lambda: features.hybrid(MAP.shared, own=5), InvalidSetting, "left out for all features"),
        (lambda: features.hybrid(MAP.shared, longest=3.0), InvalidSetting, "leave it out"),
        (lambda: features.hybrid(OWN_CODE), InvalidSetting, "how many numbers"),
        (lambda: Bandit(features=MAP, policy=Greedy(), estimator=models.Logistic()), InvalidSetting,
         "Logistic is not"),
        (lambda: Bandit(features=features.hybrid(OWN_CODE, own=2), policy=Greedy()).extend(1), InvalidSetting,
         "cannot be extended"),
        (lambda: Bandit(features=MAP, policy=Greedy()).ask(context=[1.0, 2.0]), InvalidContext, "3 finite"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_file_whose_map_is_of_another_size_is_refused(tmp_path: Path) -> None:
    from infex.bandit import archive

    bandit = Bandit(features=MAP, policy=LinUCB())
    play(bandit, contexts(1, 5))
    bandit.save(tmp_path / "bandit")
    settings, arrays = archive.read(tmp_path / "bandit")
    settings["features"]["own"] = [0]
    archive.write(tmp_path / "damaged", settings, arrays)
    with pytest.raises(DamagedFile):
        Bandit.load(tmp_path / "damaged")
    with pytest.raises(CannotLoad, match="cannot go on as"):
        Bandit.load(tmp_path / "bandit", features=features.disjoint(7, 2), adopt=True)


def test_memory_is_that_of_small_regressions() -> None:
    rule = features.hybrid(features.interactions(np.eye(4)[np.zeros(200, dtype=int)], 20), own=None)
    bandit = Bandit(features=rule, policy=LinUCB())
    memory = bandit._agent.model
    numbers = sum(array.size for array in memory.arrays().values())
    assert numbers <= 4 * (80**2 + 200 * (20**2 + 20 * 80)) < 4080**2 / 8
    posterior = bandit.posterior(context=np.full(20, 0.2))
    assert isinstance(posterior, Posterior)
    assert len(posterior) == 200
