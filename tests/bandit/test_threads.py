"""One bandit, many threads: it does one thing at a time."""

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Decision, Infex, LinTS, LinUCB, budget, every, features, guarded, paused
from tests.waiting import PATIENCE

pytestmark = pytest.mark.compiled  # counting lines would take most of its time
THREADS = 16
DECISIONS = 16 * 1050  # 50,400 over the three bandits
LONG = 50_000  # each, in make torture
FILES = 25  # that are written beside them
SHOP = features.disjoint(8, context_dim=3)
ARMS = np.random.default_rng(1).normal(size=(20, 4)) / 4
BANDITS: dict[str, Any] = {
    "fixed arms": lambda: Bandit(ARMS, Infex(LinUCB(), every(20))),
    "contexts": lambda: Bandit(features=SHOP, policy=Infex(LinUCB(), every(50))),
    "controls": lambda: Bandit(
        ARMS,
        Infex(
            LinTS(),
            budget(
                guarded(paused(every(3), when=lambda t: t % 10 < 4, missed="make up"), 400.0),
                900,
                window=3000,
            ),
            data="own",
        ),
    ),
}


@pytest.mark.parametrize("name", BANDITS)
def test_rounds_have_no_gaps_and_exploration_is_as_scheduled(name: str, tmp_path: Path) -> None:
    ask_and_tell(name, DECISIONS, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", BANDITS)
def test_so_it_is_over_many_rounds(name: str, tmp_path: Path) -> None:
    ask_and_tell(name, LONG, tmp_path)


def ask_and_tell(name: str, count: int, tmp_path: Path) -> None:
    bandit = BANDITS[name]()
    decisions: list[list[Decision]] = [[] for _ in range(THREADS)]
    errors: list[BaseException] = []
    start, save = threading.Barrier(THREADS + 1), threading.Semaphore(0)

    def serve(place: int) -> None:
        chance, late = random.Random(place), []
        start.wait()
        try:
            for _ in range(count // THREADS):
                context = [chance.random() / 2 for _ in range(3)] if bandit.features else None
                decision = bandit.ask(context=context)
                if decision.t % (count // FILES) == 0:
                    save.release()
                decisions[place].append(decision)
                late.append(decision)
                chance.shuffle(late)
                while len(late) > 5:  # rewards come late, in any order, or never
                    taken = late.pop()
                    if chance.random() < 0.9:
                        bandit.tell(taken.id, chance.random())
                    else:
                        bandit.drop(taken)
        except BaseException as error:
            errors.append(error)
            save.release(FILES)

    threads = [threading.Thread(target=serve, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    start.wait()
    path = tmp_path / "x.infex"
    for _ in range(FILES):
        assert save.acquire(timeout=PATIENCE)
        bandit.save(path)
        again = Bandit.load(path, None if name != "controls" else bandit.policy)
        assert again.exploration().planned is not None
        assert again.t <= bandit.t
        bandit.exploration(), bandit.pending, repr(bandit)
    for thread in threads:
        thread.join()
    assert errors == []
    taken = [decision for some in decisions for decision in some]
    assert sorted(decision.t for decision in taken) == list(range(1, count + 1))
    assert len({decision.id for decision in taken}) == bandit.t == count
    explored = sorted(decision.t for decision in taken if decision.explored)
    assert bandit.explored == len(explored)
    found = bandit.exploration()
    assert found.planned == found.done - found.made_up + found.skipped
    assert found.skipped == found.made_up + found.owed + found.dropped
    if name == "controls":
        assert found.cost <= 400.0
        assert max(np.searchsorted(explored, [t + 3000 for t in explored]) - range(len(explored))) <= 900
    else:
        period = 20 if name == "fixed arms" else 50
        assert explored == list(range(period, count + 1, period))


def test_two_bandits_that_merge_each_other_at_once_do_not_wait_for_ever() -> None:
    one, other = (Bandit(ARMS, LinUCB()) for _ in range(2))
    for bandit in (one, other):
        bandit.tell(bandit.ask(), 1.0)
    start = threading.Barrier(2)

    def merge(mine: Bandit, theirs: Bandit) -> None:
        start.wait()
        for _ in range(20):
            mine.apply(theirs.changes())

    threads = [
        threading.Thread(target=merge, args=pair, daemon=True) for pair in ((one, other), (other, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()
