"""Many decisions that wait: asked for one by one and in batches, told in any order, in small files."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from infex import Bandit, Choice, Greedy, Infex, LinUCB, every, features
from infex.errors import AlreadyTold, DuplicateId, UnknownDecision


def test_an_id_is_known_refused_and_told_once() -> None:
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


def test_a_batch_between_single_questions_keeps_the_order() -> None:
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

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        if t == self.at:
            raise ValueError("this one fails")
        return Choice(0, explored=True)


def hybrid_shop() -> Any:
    return features.hybrid(features.interactions([[0.6, 0.8], [1.0, 0.0]], 2), own=[0])


@pytest.mark.parametrize(
    "shop", [lambda: features.disjoint(["x", "y"], 2), hybrid_shop], ids=["disjoint", "hybrid"]
)
def test_decisions_of_a_batch_get_further_features_as_single_ones_do(shop: Any) -> None:
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


def test_a_batch_that_fails_leaves_those_before_it_as_they_were() -> None:
    bandit = Bandit(np.eye(2), Failing(at=25))
    bandit.ask_many(5)
    bandit.ask(id="mine")
    before, digest = bandit.pending, bandit.digest()
    with pytest.raises(ValueError, match="this one fails"):
        bandit.ask_many(30)
    assert bandit.pending == before
    assert bandit.digest() == digest
    bandit.tell(before[0].id, 1.0)
    assert bandit.pending == before[1:]
