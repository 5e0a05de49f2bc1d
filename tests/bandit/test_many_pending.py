"""What waits is kept as columns where it is much, and nobody can tell but by the time it takes."""

import copy
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Choice, Greedy, Infex, LinUCB, estimators, every, features
from infex.bandit import waiting
from infex.bandit.decisions import Decisions
from infex.errors import AlreadyTold, DuplicateId, UnknownDecision
from infex.kernels.compiling import plain_python
from infex.linear import Memory
from infex.linear.grounds import Grounds

MAKERS: dict[str, Any] = {
    "fixed": lambda: Bandit(np.eye(3) * 0.9, Infex(LinUCB(), every(3)), labels=["a", "b", 3]),
    "disjoint": lambda: Bandit(features=features.disjoint(["x", "y"], 2), policy=Infex(LinUCB(), every(3))),
    "products": lambda: Bandit(
        features=features.interactions([[0.6, 0.8], [1.0, 0.0]], 2), policy=Infex(LinUCB(), every(3))
    ),
    "changing": lambda: Bandit(dim=2, policy=Infex(LinUCB(), every(3))),
}


def ask(bandit: Bandit, rng: np.random.Generator, key: str | None) -> Any:
    x = rng.normal(size=2)
    x /= 2 * np.linalg.norm(x)
    if bandit.features is not None:
        return bandit.ask(context=x, id=key)
    return bandit.ask(id=key) if len(bandit.arms) else bandit.ask(np.array([x, -x]), id=key)


@given(kind=st.sampled_from(list(MAKERS)), seed=st.integers(0, 999))
@settings(max_examples=5 if plain_python else 30, deadline=None)
def test_folded_decisions_are_told_dropped_copied_and_saved_as_others_are(
    tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int
) -> None:
    patch = pytest.MonkeyPatch()
    small = int(np.random.default_rng(seed).integers(4, 12))
    single = MAKERS[kind]()
    folded = MAKERS[kind]()
    rngs = [np.random.default_rng(seed) for _ in range(2)]
    for bandit, rng in zip((single, folded), rngs, strict=True):
        with patch.context() as own:
            if bandit is folded:
                own.setattr(waiting, "MOST_SINGLE", small)
                own.setattr(waiting, "FOLDED", small // 2)
            for t in range(60):
                fate = rng.random()
                ask(bandit, rng, f"mine {t}" if fate < 0.3 else f"order-{t + 1}" if fate < 0.4 else None)
                if rng.random() < 0.6 and bandit.pending:
                    taken = bandit.pending[int(rng.integers(len(bandit.pending)))]
                    if rng.random() < 0.8:
                        bandit.tell(taken if rng.random() < 0.5 else taken.id, float(rng.normal()))
                    else:
                        bandit.drop(taken.id)
                if len(bandit.arms) > 2 and t == 40:
                    bandit.remove_arms(["b"])
    assert folded._waiting._blocks
    assert folded.digest() == single.digest()
    assert [decision[1:] for decision in folded.pending] == [decision[1:] for decision in single.pending]
    assert len(folded._waiting) == len(folded.pending)
    path = tmp_path_factory.mktemp("many") / "x.infex"
    folded.save(path)
    for other in (Bandit.load(path), copy.deepcopy(folded), pickle.loads(pickle.dumps(folded))):
        assert other.pending == folded.pending
        assert other.digest() == folded.digest()
        for decision in other.pending:
            other.tell(decision.id, 0.5)
        assert other.pending == ()
    for one, two in zip(folded.pending, single.pending, strict=True):
        folded.tell(one.id, 0.5)
        single.tell(two.id, 0.5)
    assert folded.digest() == single.digest()


def test_an_id_in_a_block_is_known_refused_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_SINGLE", 4)
    monkeypatch.setattr(waiting, "FOLDED", 3)
    bandit = Bandit(np.eye(2), Greedy())
    decisions = [bandit.ask(id=None if t % 2 else f"own {t}") for t in range(9)]
    with pytest.raises(DuplicateId, match="'own 2' waits"):
        bandit.ask(id="own 2")
    bandit.tell("own 2", 1.0)
    with pytest.raises(UnknownDecision):
        bandit.tell("own 2", 1.0)
    bandit.tell(decisions[1].id, 1.0)
    with pytest.raises(AlreadyTold):
        bandit.tell(decisions[1].id, 1.0)
    with pytest.raises(UnknownDecision, match="another bandit, or told already"):
        bandit.tell(decisions[4]._replace(arm=1), 1.0)
    assert bandit.ask(id="own 2").id == "own 2"
    assert [d.id for d in bandit.pending] == [d.id for d in [*decisions[:1], *decisions[3:]]] + ["own 2"]


def test_places_that_are_given_up_take_no_room() -> None:
    bandit = Bandit(np.eye(2), Greedy())
    decisions = bandit.ask_many(1000)
    bandit.tell_many(decisions[:990], np.zeros(990))
    (block,) = bandit._waiting._blocks
    assert block.alive.size == 10
    assert list(bandit.pending) == list(decisions[990:])
    bandit.tell(decisions[995].id, 1.0)
    bandit.tell_many(decisions[996:], np.ones(4))
    bandit.tell_many([decision.id for decision in decisions[990:995]], np.ones(5))
    assert bandit._waiting._blocks == []


def test_a_batch_between_single_questions_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_SINGLE", 5)
    monkeypatch.setattr(waiting, "FOLDED", 4)
    bandit = Bandit(np.eye(2), Infex(LinUCB(), every(4)))
    expected = [bandit.ask() for _ in range(3)]
    expected += bandit.ask_many(6)
    for _ in range(9):
        expected.append(bandit.ask())
    expected += bandit.ask_many(2)
    assert list(bandit.pending) == expected
    for decision in expected[::-1]:
        bandit.tell(decision.id, 0.1)
    assert bandit.pending == ()


def test_files_of_many_pending_decisions_are_small(tmp_path: Path) -> None:
    shop = features.disjoint(40, context_dim=12)
    bandit = Bandit(features=shop, policy=Infex(LinUCB(), every(50)))
    contexts = np.random.default_rng(0).normal(size=(2000, 12)) / 12
    bandit.save(tmp_path / "none.infex")
    bandit.ask_many(contexts)
    bandit.save(tmp_path / "many.infex")
    sizes = [(tmp_path / name).stat().st_size for name in ("none.infex", "many.infex")]
    assert (sizes[1] - sizes[0]) / 2000 < 250  # bytes for each: a dense row alone would take 3,840
    assert Bandit.load(tmp_path / "many.infex").digest() == bandit.digest()


class Failing(NamedTuple):
    """Raises in one round."""

    at: int

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        if t == self.at:
            raise ValueError("this one fails")
        return Choice(0, explored=True)


def hybrid_shop() -> Any:
    return features.hybrid(features.interactions([[0.6, 0.8], [1.0, 0.0]], 2), own=[0])


@pytest.mark.parametrize(
    "shop", [lambda: features.disjoint(["x", "y"], 2), hybrid_shop], ids=["disjoint", "hybrid"]
)
def test_columns_get_further_features_as_single_decisions_do(shop: Any) -> None:
    contexts = np.random.default_rng(1).normal(size=(12, 2)) / 4
    single, many = (Bandit(features=shop(), policy=Infex(LinUCB(), every(3))) for _ in range(2))
    for context in contexts:
        single.ask(context=context)
    many.ask_many(contexts)
    for bandit in (single, many):
        bandit.tell(bandit.pending[3].id, 0.5)
        bandit.extend(2)
        bandit.ask(context=[0.1, 0.2, 0.3, 0.4])
        for decision in bandit.pending[::2]:
            bandit.tell(decision.id, 0.25)
    assert many.digest() == single.digest()


def test_a_batch_that_fails_leaves_those_before_it_in_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_SINGLE", 6)
    monkeypatch.setattr(waiting, "FOLDED", 4)
    bandit = Bandit(np.eye(2), Failing(at=25))
    bandit.ask_many(5)
    bandit.ask(id="mine")
    before, digest = bandit.pending, bandit.digest()
    assert bandit._waiting.oldest == 1
    with pytest.raises(ValueError, match="this one fails"):
        bandit.ask_many(30)
    assert bandit.pending == before
    assert bandit.digest() == digest
    bandit.tell(before[0].id, 1.0)
    assert bandit._waiting.oldest == 2


def test_what_a_batch_adds_single_decisions_take_away_whatever_their_estimates() -> None:
    memory = Memory.empty(np.ascontiguousarray(np.eye(2)), 1.0, False, estimators.Logistic())
    taken = Decisions.of(
        Bandit(np.eye(2), Greedy()).ask()._replace(estimate=each) for each in (0.5, 1.5, 1e300)
    )
    memory.foresee([(Grounds.on_arms(np.array([0, 1, 1])), taken.explored, taken.estimate)])
    assert memory.foresight is not None
    for place, decision in zip([0, 1, 1], taken, strict=True):
        memory.foresight.remove(decision, place)
    assert len(memory.foresight) == 0
    memory.foresight.add((taken[0], 0))
    np.testing.assert_allclose(memory.evidence().narrowed.widths, np.sqrt([1 / 1.25, 1.0]) / 4)
