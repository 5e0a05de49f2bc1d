"""Ids that never come twice, in no other process, copy or file."""

import copy
import multiprocessing
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Infex, LinUCB, every, features
from infex.errors import AlreadyTold, DuplicateId, InvalidSetting, UnknownDecision
from infex.policies import Uniform

ARMS = np.eye(3)


def made() -> Bandit:
    return Bandit(ARMS, Infex(LinUCB(), every(2)))


def ids(bandit: Bandit, count: int = 5) -> list[str]:
    return [bandit.ask().id for _ in range(count)]


def test_ids_are_text_and_differ() -> None:
    found = [*ids(made()), *ids(made())]
    assert all(isinstance(key, str) for key in found)
    assert len(set(found)) == 10


def test_a_reward_of_before_a_crash_does_not_land_on_another_customer(tmp_path: Path) -> None:
    rule = features.disjoint(["tea", "coffee"], context_dim=2)
    bandit = Bandit(features=rule, policy=Infex(LinUCB(), every(2)))
    bandit.save(tmp_path / "s.infex")
    first = [bandit.ask(context=[1.0, 0.0]) for _ in range(2)]
    again = Bandit.load(tmp_path / "s.infex")
    second = [again.ask(context=[0.0, 1.0]) for _ in range(2)]
    with pytest.raises(UnknownDecision, match="was taken by another copy of this bandit"):
        again.tell(first[1].id, 1.0)
    with pytest.raises(UnknownDecision, match="was taken by another copy of this bandit"):
        again.tell(first[1], 1.0)
    assert again.pending == tuple(second)
    assert again.estimates(context=[0.0, 1.0]).estimate.tolist() == [0.0, 0.0]


def test_what_was_pending_when_it_was_saved_can_be_told_once_in_each_life(tmp_path: Path) -> None:
    bandit = made()
    waiting = bandit.ask()
    bandit.save(tmp_path / "s.infex")
    again = Bandit.load(tmp_path / "s.infex")
    again.tell(waiting.id, 1.0)
    with pytest.raises(AlreadyTold):
        again.tell(waiting.id, 1.0)
    third = Bandit.load(tmp_path / "s.infex")
    assert len({*ids(bandit), *ids(again), *ids(third)}) == 15


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_copies_share_neither_ids_nor_what_they_learn(copied: Any) -> None:
    bandit = made()
    waiting = bandit.ask()
    other = copied(bandit)
    assert not set(ids(bandit)) & set(ids(other))
    other.tell(waiting.id, 1.0)
    assert bandit.estimates().pulls.sum() == 0
    assert other.estimates().pulls.sum() == 1
    kept = pickle.dumps(bandit)
    assert not set(ids(pickle.loads(kept))) & set(ids(pickle.loads(kept)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_give_out_other_ids() -> None:
    bandit = made()
    before = ids(bandit)

    def work(pipe: Any) -> None:
        pipe.send(ids(bandit))

    found = [*before, *ids(bandit)]
    context: Any = multiprocessing.get_context("fork")
    for _ in range(2):
        mine, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,))
        process.start()
        found += mine.recv()
        process.join()
    assert len(set(found)) == len(found)


def test_the_callers_own_id_is_taken() -> None:
    bandit = made()
    decision = bandit.ask(id="order-123")
    assert decision.id == "order-123"
    with pytest.raises(DuplicateId, match="decision 'order-123' waits for its reward already"):
        bandit.ask(id="order-123")
    assert bandit.t == 1
    bandit.tell("order-123", 1.0)
    with pytest.raises(UnknownDecision, match="no decision 'order-123' is pending here"):
        bandit.tell("order-123", 1.0)
    with pytest.raises(InvalidSetting, match="looks like one of the bandit's own"):
        bandit.ask(id=f"{ids(bandit, 1)[0].split('-')[0]}-99")
    assert bandit.ask(id="17").id == "17"
    bandit.tell(17, 1.0)  # as queues and JSON may have it


def test_ids_of_ones_own_and_the_bandits_stand_side_by_side(tmp_path: Path) -> None:
    bandit = Bandit(ARMS, Uniform())
    mixed = [bandit.ask(id=f"order-{t}") if t % 2 else bandit.ask() for t in range(20)]
    bandit.save(tmp_path / "x.infex")
    again = Bandit.load(tmp_path / "x.infex")
    for decision in reversed(mixed):
        again.tell(decision.id, 0.5)
    assert again.pending == ()
