"""Many decisions and rewards at once are as many single ones, to the last bit; or nothing has changed."""

import copy
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Choice,
    Decisions,
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    budget,
    every,
    features,
    guarded,
    jittered,
    listed,
    models,
    paused,
    stretched,
    until_certain,
)
from infex.errors import (
    AlreadyTold,
    DuplicateId,
    InfexError,
    InvalidArms,
    InvalidContext,
    InvalidReward,
    InvalidSetting,
    UnknownArm,
    UnknownDecision,
)
from infex.models import Posterior
from infex.policies import FixedBonusUCB, RarelySwitchingUCB, Uniform, doubtful, ledger
from tests.alike import all_unnamed

pytestmark = pytest.mark.filterwarnings("ignore::infex.errors.InfexWarning")


@dataclass(frozen=True)
class Own:
    """A user's policy, which may fail in one round."""

    fails: int = 0

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        if t == self.fails:
            raise RuntimeError("a user's policy failed")
        return Choice(int(rng.integers(len(posterior))), explored=t % 3 == 0, policy_state=t)


BASES: list[Any] = [
    LinUCB(),
    FixedBonusUCB(),
    LinTS(),
    Uniform(),
    EpsilonGreedy(),
    RarelySwitchingUCB(),
    Own(),
]
SCHEDULES: list[Any] = [
    every(1),
    every(3),
    every(7),
    stretched(1),
    listed([2, 3, 11, 12]),
    jittered(4, seed=3),
    every(5) | listed([4]),
    budget(every(2), 5),
    budget(every(2), 3, window=9),
    guarded(every(2), 0.4),
    until_certain(every(2), delta=0.3),
    doubtful(every(2), scale=0.05),
    ledger(0.4),
    ledger(0.2, every(2), noise=0.5),
    paused(every(2), listed([4, 6, 8]), "make up"),
    paused(every(3), lambda t: t % 4 == 0, "make up"),
]
POLICIES = st.one_of(
    st.sampled_from([Greedy(), Greedy(ties="random"), *BASES]),
    st.builds(
        Infex,
        st.sampled_from(BASES),
        st.sampled_from(SCHEDULES),
        ties=st.sampled_from(["lowest", "lowest", "random"]),
    ),
    st.builds(Infex, st.sampled_from([LinUCB(), LinTS()]), st.sampled_from(SCHEDULES), data=st.just("own")),
)
ESTIMATORS: list[Any] = [None, None, None, models.Discounted(), models.Logistic(), models.Lasso()]
MAPS: list[Any] = [
    features.disjoint(["a", "b", "c"], context_dim=2),
    features.disjoint(4, context_dim=3, longest=2.0),
    features.interactions(np.array([[0.6, 0.8], [1.0, 0.0], [0.5, -0.5]]), context_dim=3, labels=[3, 4, 5]),
    features.joined(lambda context, arm: [context * arm, arm, 1.0], [0.1, 0.7], dim=3, longest=2.0),
    features.hybrid(features.interactions(np.eye(3), context_dim=3), own=[0, 2]),
]
SOURCES = ["fixed", "changing", *range(len(MAPS))]


def made(source: Any, policy: Any, seed: int, estimator: Any) -> Bandit:
    if source == "fixed":
        rows = np.random.default_rng(seed).normal(size=(5, 3))
        arms = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return Bandit(arms, policy, seed=seed, estimator=estimator, labels=list("vwxyz"))
    if source == "changing":
        return Bandit(dim=3, policy=policy, seed=seed, estimator=estimator, rescale=seed % 2 == 0)
    if isinstance(MAPS[source], features.Hybrid):
        estimator = None  # it needs ridge regression
    return Bandit(features=MAPS[source], policy=policy, seed=seed, estimator=estimator)


def questions(bandit: Bandit, rng: np.random.Generator, count: int) -> tuple[Any, list[dict[str, Any]], Any]:
    """What to ask at once, and the same one by one; and labels."""
    if bandit.features is None and len(bandit.arms):
        return count, [{}] * count, None
    if bandit.features is None:
        sets = [rng.normal(size=(int(rng.integers(1, 6)), 3)) / 9.0 for _ in range(count)]
        if bandit.rescale and count:
            sets[-1] = sets[-1] * 90.0
        labels = [[f"{place} {k}" for k in range(len(each))] for place, each in enumerate(sets)]
        named = bool(rng.random() < 0.5)
        single = [
            {"arms": each, "labels": names if named else None}
            for each, names in zip(sets, labels, strict=True)
        ]
        return sets, single, labels if named else None
    rule = bandit.features.shared if isinstance(bandit.features, features.Hybrid) else bandit.features
    if isinstance(rule, features.Interactions | features.Disjoint):
        contexts: Any = rng.normal(size=(count, rule.context_dim))
        contexts *= rule.longest / np.linalg.norm(contexts, axis=1, keepdims=True)
        if rng.random() < 0.5:
            contexts = contexts.tolist()
    else:
        contexts = rng.random(count).tolist()
    return contexts, [{"context": context} for context in contexts], None


def with_rules(
    bandit: Bandit, rng: np.random.Generator, each: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Offers and flags for a batch, and for the same questions one by one, where some have any."""
    many: dict[str, Any] = {}
    if rng.random() < 0.5:
        many["explore"] = rng.random(len(each)) < 0.6
        each = [one | {"explore": bool(may)} for one, may in zip(each, many["explore"], strict=True)]
    if rng.random() < 0.6 and each:
        count = len(bandit.arms) or (bandit.features.count if bandit.features is not None else 0)
        sizes = [len(one["arms"]) if "arms" in one else count for one in each]
        masks = [rng.random(size) < 0.5 for size in sizes]
        for mask in masks:
            mask[rng.integers(mask.size)] = True
        names = [
            one.get("labels") or bandit.labels or range(size) for one, size in zip(each, sizes, strict=True)
        ]
        offers: list[Any] = [
            [label for label, offered in zip(labels, mask, strict=True) if offered]
            for labels, mask in zip(names, masks, strict=True)
        ]
        truths = rng.random() < 0.5
        many["offered"] = np.array(masks) if truths and len(set(sizes)) == 1 else offers
        each = [one | {"offered": offer} for one, offer in zip(each, offers, strict=True)]
    return many, each


def same(one: Bandit, two: Bandit) -> None:
    assert one.digest() == two.digest()
    assert all_unnamed(one.pending) == all_unnamed(two.pending)
    assert one.exploration() == two.exploration()


@given(
    source=st.sampled_from(SOURCES),
    policy=POLICIES,
    estimator=st.sampled_from(ESTIMATORS),
    seed=st.integers(0, 999),
    masked=st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_many_decisions_and_rewards_are_as_many_single_ones(
    source: Any, policy: Any, estimator: Any, seed: int, masked: bool
) -> None:
    many, single = (made(source, policy, seed, estimator) for _ in range(2))
    rng = np.random.default_rng(seed)
    if masked and source != "changing":
        mask = rng.random(len(many.arms) or many.features.count) < 0.6  # type: ignore[union-attr]
        many.allowed = single.allowed = mask
    for _ in range(4):
        count = int(rng.integers(0, 14))
        asked, each, labels = questions(many, rng, count)
        own = [f"own {single.t + place}" for place in range(count)] if rng.random() < 0.4 else None
        rules, each = with_rules(many, rng, each)
        decisions = many.ask_many(asked, labels, ids=own, **rules)
        ids = own or [None] * count
        singles = [single.ask(**one, id=key) for one, key in zip(each, ids, strict=True)]
        assert all_unnamed(decisions) == all_unnamed(singles)
        assert [[type(part) for part in d] for d in decisions] == [
            [type(part) for part in d] for d in singles
        ]
        assert own is None or decisions.ids == own
        same(many, single)
        late = rng.permutation(len(many.pending))[: int(rng.integers(0, len(many.pending) + 1))]
        rewards = (rng.random(late.size) < 0.5).astype(float)
        weights = (
            rng.random(late.size) + 0.5
            if many._agent.model.all.is_least_squares and rng.random() < 0.3
            else None
        )
        waiting = many.pending, single.pending
        many.tell_many([waiting[0][place] for place in late], rewards, weights)
        for n, place in enumerate(late):
            weight = 1.0 if weights is None else float(weights[n])
            single.tell(waiting[1][place].id, float(rewards[n]), weight=weight)
        same(many, single)


@given(seed=st.integers(0, 99), source=st.sampled_from(["fixed", "changing", 0, 2]))
@settings(max_examples=30, deadline=None)
def test_a_batch_is_told_as_a_whole_or_in_part(seed: int, source: Any) -> None:
    many, single = (made(source, Infex(LinUCB(), every(3)), seed, None) for _ in range(2))
    rng = np.random.default_rng(seed)
    asked, each, labels = questions(many, rng, 20)
    decisions = many.ask_many(asked, labels)
    singles = [single.ask(**one) for one in each]
    rewards = rng.normal(size=20)
    many.drop(decisions[5])
    single.drop(singles[5])
    for part in (slice(10, 20), slice(0, 5), slice(6, 10)):
        many.tell_many(decisions[part], rewards[part])
        for decision, reward in zip(singles[part], rewards[part].tolist(), strict=True):
            single.tell(decision, reward)
        same(many, single)
    assert many.pending == ()
    with pytest.raises(AlreadyTold):
        many.tell_many(decisions[:3], rewards[:3])


def test_removed_arms_can_still_be_told_in_a_batch() -> None:
    many, single = (Bandit(np.eye(3), Infex(LinUCB(), every(2))) for _ in range(2))
    decisions, singles = many.ask_many(9), [single.ask() for _ in range(9)]
    for bandit in (many, single):
        bandit.remove_arms([0])
    many.tell_many(decisions[::2], np.arange(5.0) / 5)
    for place, decision in enumerate(singles[::2]):
        single.tell(decision, place / 5)
    same(many, single)


def bad_calls() -> Iterator[tuple[str, Any, Any]]:
    shop = features.disjoint(["a", "b"], context_dim=2)
    fixed, changing, mapped = {"arms": np.eye(2)}, {"dim": 2}, {"features": shop}
    yield "one context of another length", mapped, (InvalidContext, [[0.1, 0.2], [0.1]])
    yield "one context with no number", mapped, (InvalidContext, np.array([[0.1, 0.2], [0.1, np.nan]]))
    yield "one context too long", mapped, (InvalidContext, np.array([[0.1, 0.2], [1.0, 1.0]]))
    yield "a single context", mapped, (InvalidContext, [0.1, 0.2])
    yield "a text", mapped, (InvalidContext, "ab")
    yield "a number for contexts", mapped, (InvalidContext, 3)
    yield "contexts for fixed arms", fixed, (InvalidSetting, [[0.1, 0.2]])
    yield "a number below 0", fixed, (InvalidSetting, -1)
    yield "half a decision", fixed, (InvalidSetting, 1.5)
    yield "one arm too long", changing, (InvalidArms, [np.eye(2), 2 * np.eye(2)])
    yield "one arm that is no number", changing, (InvalidArms, np.full((3, 2, 2), np.nan))
    yield "a set of other features", changing, (InvalidArms, [np.eye(2), np.eye(3)])
    yield "a single set", changing, (InvalidArms, np.eye(2))
    yield "a number for sets", changing, (InvalidArms, 3)


@pytest.mark.parametrize(
    ("made", "wrong"), [case[1:] for case in bad_calls()], ids=[case[0] for case in bad_calls()]
)
@pytest.mark.parametrize("policy", [Infex(LinUCB(), every(2)), LinTS(), Own()], ids=repr)
def test_a_batch_with_one_bad_question_changes_nothing(made: Any, wrong: Any, policy: Any) -> None:
    error, asked = wrong
    bandit = Bandit(**made, policy=policy)
    before = bandit.digest()
    with pytest.raises(error):
        bandit.ask_many(asked)
    assert bandit.digest() == before


@pytest.mark.parametrize(
    "policy", [Own(fails=5), Infex(Own(fails=6), every(2)), Infex(Own(fails=6), guarded(every(2), 9.0))]
)
@pytest.mark.parametrize("estimator", [None, models.Lasso()], ids=repr)
def test_a_policy_that_fails_in_the_middle_leaves_nothing_half_changed(policy: Any, estimator: Any) -> None:
    bandit = Bandit(np.eye(2), policy, estimator=estimator)
    bandit.tell(bandit.ask(), 1.0)
    bandit.ask()
    before, pending = bandit.digest(), bandit.pending
    with pytest.raises(RuntimeError, match="a user's policy failed"):
        bandit.ask_many(8)
    assert (bandit.digest(), bandit.pending, bandit.t) == (before, pending, 2)
    assert len(bandit.ask_many(2)) == 2


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        (["a", "b", "a"], DuplicateId, "'a' would wait twice"),
        (["a", "waits", "c"], DuplicateId, "'waits' waits for its reward already"),
        (["a", "b"], InvalidSetting, "as many as the decisions, 3, got 2"),
        ("abc", InvalidSetting, "got the text 'abc'"),
        (["a", "", "c"], InvalidSetting, "id must be a text"),
        (["a", "b", 3], InvalidSetting, "id must be a text"),
    ],
)
def test_ids_that_cannot_be_are_refused(ids: Any, error: Any, words: str) -> None:
    bandit = Bandit(np.eye(2), Greedy())
    bandit.ask_many(1, ids=["waits"])
    before = bandit.digest()
    with pytest.raises(error, match=words):
        bandit.ask_many(3, ids=ids)
    assert bandit.digest() == before
    with pytest.raises(DuplicateId):
        bandit.ask(id="waits")
    bandit.tell("waits", 1.0)
    bandit.ask(id="waits")


@pytest.mark.parametrize(
    ("which", "rewards", "weights", "error", "words"),
    [
        ([0, 1], [1.0], None, InvalidReward, "as many as the decisions, 2, got the shape"),
        ([0, 1], [1.0, np.nan], None, InvalidReward, "reward in row 1 must be finite"),
        ([0, 1], [1.0, "x"], None, InvalidReward, "reward in row 0 must be a number, got '1.0'"),
        ([0, 1], [[1.0], [2.0, 3.0]], None, InvalidReward, "lists of several lengths"),
        ([0, 1], [1.0, 1e200], None, InvalidReward, "reward in row 1 must be at most"),
        ([0, 1], [True, False], None, InvalidReward, "reward in row 0 must be a number, got True"),
        ([0, 1], [1.0, 1.0], [1.0, 0.0], InvalidReward, "weight must be above 0"),
        ([0, 1], [1.0, 1.0], [1.0], InvalidReward, "weights must be as many"),
        ([0, 0], [1.0, 1.0], None, DuplicateId, "is told 2 times at once"),
        (["nobody"], [1.0], None, UnknownDecision, "no decision 'nobody' is pending here"),
    ],
)
def test_rewards_that_cannot_be_told_change_nothing(
    which: Any, rewards: Any, weights: Any, error: Any, words: str
) -> None:
    bandit = Bandit(np.eye(2), Infex(LinUCB(), every(2)))
    decisions = bandit.ask_many(5)
    before = bandit.digest()
    keys = [each if isinstance(each, str) else decisions.ids[each] for each in which]
    with pytest.raises(error, match=words):
        bandit.tell_many(keys, rewards, weights)
    assert bandit.digest() == before


def test_an_estimator_refuses_all_rewards_for_one_that_it_cannot_take() -> None:
    bandit = Bandit(np.eye(2), Greedy(), estimator=models.Logistic())
    decisions = bandit.ask_many(3)
    before = bandit.digest()
    with pytest.raises(InvalidReward, match=r"must be 0 or 1, got 0\.5"):
        bandit.tell_many(decisions, [1.0, 0.0, 0.5])
    assert bandit.digest() == before


def test_decisions_of_another_bandit_are_refused() -> None:
    one, two = Bandit(np.eye(2), Greedy()), Bandit(np.eye(2), Greedy())
    decisions = one.ask_many(3)
    two.ask_many(3)
    with pytest.raises(InfexError):
        two.tell_many(decisions, [1.0, 1.0, 1.0])
    assert len(two.pending) == 3


def test_decisions_are_columns_that_cannot_be_written_to() -> None:
    bandit = Bandit(np.eye(2), Infex(LinUCB(), every(2)), labels=["a", 7])
    decisions = bandit.ask_many(5)
    assert isinstance(decisions, Decisions)
    assert decisions[-1] == list(decisions)[-1] == decisions[4]
    assert list(decisions[1:3]) == list(decisions)[1:3]
    assert decisions[:] == decisions
    assert repr(decisions) == "Decisions(5, 2 of them explored)"
    with pytest.raises(IndexError):
        decisions[5]
    for name, column in decisions.columns().items():
        values = [getattr(decision, name) for decision in decisions]
        found = [None if value != value else value for value in list(column)]
        assert found == values, name
        if isinstance(column, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = column[1]


def test_decisions_become_a_table() -> None:
    decisions = Bandit(np.eye(2), Infex(LinUCB(), every(2)), labels=["a", "b"]).ask_many(4)
    table = decisions.to_arrow()
    assert table.column_names == list(decisions[0]._fields)
    assert table["base_propensity"].to_pylist() == [None, 1.0, None, 1.0]
    assert table["id"].to_pylist() == decisions.ids


def test_an_empty_batch_is_nothing() -> None:
    for bandit, asked in (
        (Bandit(np.eye(2), Greedy()), 0),
        (Bandit(dim=2, policy=LinTS()), []),
        (Bandit(features=MAPS[0], policy=LinUCB()), np.zeros((0, 2))),
    ):
        before = bandit.digest()
        decisions = bandit.ask_many(asked)
        assert (len(decisions), list(decisions), decisions.ids) == (0, [], [])
        bandit.tell_many(decisions, [])
        bandit.tell_many([], [])
        assert bandit.digest() == before


def test_copies_of_a_batch_go_on_by_themselves() -> None:
    bandit = Bandit(np.eye(2), Infex(LinUCB(), every(2)))
    decisions = bandit.ask_many(6)
    other = copy.deepcopy(bandit)
    bandit.tell_many(decisions, np.ones(6))
    assert len(other.pending) == 6
    other.tell_many(decisions, np.ones(6))
    assert other.digest() == bandit.digest()


def test_a_control_sees_what_waits_as_it_would_one_by_one() -> None:
    """A user's function may look at the bandit."""
    found: list[list[int]] = []
    for many in (True, False):
        held: list[Bandit] = []
        seen: list[int] = []

        def full(t: int, seen: list[int] = seen, held: list[Bandit] = held) -> bool:
            seen.append(len(held[0].pending))
            return seen[-1] > 6

        bandit = Bandit(np.eye(2), Infex(LinUCB(), paused(every(2), full)))
        held.append(bandit)
        if many:
            bandit.ask_many(12)
        else:
            for _ in range(12):
                bandit.ask()
        found.append([*seen, bandit.explored])
    assert found[0] == found[1]


def test_batches_of_many_threads_are_rounds_without_gaps() -> None:
    bandit = Bandit(features=MAPS[0], policy=Infex(LinUCB(), every(10)))
    batches: list[Decisions] = []
    start = threading.Barrier(8)

    def serve(place: int) -> None:
        rng = np.random.default_rng(place)
        start.wait()
        for _ in range(10):
            decisions = bandit.ask_many(rng.normal(size=(7, 2)) / 9)
            batches.append(decisions)
            bandit.tell_many(decisions[::2], np.ones(4))

    threads = [threading.Thread(target=serve, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(t for each in batches for t in each.t.tolist()) == list(range(1, 561))
    assert all((np.diff(each.t) == 1).all() for each in batches)
    assert bandit.explored == sum(int(each.explored.sum()) for each in batches) == 56
    assert len(bandit.pending) == 3 * 80
    assert len({key for each in batches for key in each.ids}) == 560


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        models.Lasso(strength=0.05),
        models.Logistic(),
        models.Discounted(rate=0.9),
        models.Windowed(size=5),
        models.Weighted(weight=lambda x: 1.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("data", ["shared", "own"])
def test_a_batch_that_is_refused_leaves_no_trace(estimator: Any, data: Any) -> None:
    """Not in where a search starts either: with LASSO later estimates would be others."""
    rng = np.random.default_rng(63)
    arms = rng.standard_normal((5, 8)) / 4.0
    bandit = Bandit(arms, Infex(LinUCB(), every(2), data=data), estimator=estimator)
    bandit.ask()
    for _ in range(3):
        bandit.tell(bandit.ask(), float(rng.random() < 0.5))
    before, other = bandit.digest(), copy.deepcopy(bandit)
    with pytest.raises(UnknownArm):
        bandit.ask_many(3, offered=[[0], [1], [99]])
    assert bandit.digest() == before
    for each in (bandit, other):
        each.tell(each.pending[0], 1.0)
        each.ask_many(4)
    assert bandit.digest() == other.digest()
