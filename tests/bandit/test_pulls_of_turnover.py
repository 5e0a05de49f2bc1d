"""Pulls of the arms of a map with one regression, which come and go while rewards are awaited."""

import copy
from pathlib import Path

import numpy as np
import pytest

from infex import Bandit, Greedy, LinUCB, features
from infex.arrays import Label
from infex.bandit import Changes
from infex.errors import CannotMerge


def shop(labels: list[Label] | None = None, arms: int = 4) -> Bandit:
    rows = np.eye(arms) if labels is None else np.eye(len(labels))
    return Bandit(features=features.interactions(rows, 2, labels=labels), policy=LinUCB())


def asked_for(bandit: Bandit, arm: Label) -> str:
    return bandit.ask(context=[0.6, 0.8], offered=[arm]).id


def pulls(bandit: Bandit) -> list[int]:
    found = bandit.pulls
    assert found is not None
    return [int(count) for count in found]


def test_a_late_reward_counts_for_its_own_arm_after_others_went() -> None:
    bandit = shop()
    late = asked_for(bandit, 2)
    bandit.remove_arms([0])
    bandit.tell(late, 1.0)
    assert pulls(bandit) == [0, 1, 0]


def test_a_late_reward_of_an_arm_that_went_counts_for_none() -> None:
    bandit = shop()
    late = [asked_for(bandit, 1), asked_for(bandit, 3)]
    bandit.remove_arms([1, 3])
    bandit.tell_many(late, [1.0, 1.0])
    assert pulls(bandit) == [0, 0]


def test_an_arm_that_came_again_with_its_label_has_pulls_of_its_own() -> None:
    bandit = shop(["tea", "juice"])
    late = asked_for(bandit, "juice")
    bandit.remove_arms("juice")
    bandit.add_arms([[0.6, 0.8]], ["juice"])
    new = asked_for(bandit, "juice")
    bandit.tell(late, 1.0)
    assert pulls(bandit) == [0, 0]
    bandit.tell(new, 1.0)
    assert pulls(bandit) == [0, 1]


def test_what_a_file_a_copy_and_a_batch_hold_counts_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    bandit, arms = shop(arms=6), list(range(6))
    waiting: dict[str, int] = {}
    counts, dim = dict.fromkeys(arms, 0), 2
    for step in range(40):
        contexts = rng.normal(size=(3, dim)) / 10
        places = [int(place) for place in rng.integers(0, len(arms), 3)]
        decisions = bandit.ask_many(contexts, offered=[[place] for place in places])
        waiting |= {decision.id: arms[place] for decision, place in zip(decisions, places, strict=True)}
        if step % 3 == 0 and len(arms) > 1:
            gone = int(rng.integers(0, len(arms)))
            bandit.remove_arms([gone])
            del arms[gone]
        if step % 4 == 0:
            bandit.add_arms(rng.normal(size=(1, 6)) / 10)
            arms.append(100 + step)
            counts[100 + step] = 0
        if step % 5 == 0:
            bandit.save(tmp_path / "shop.infex")
            bandit = Bandit.load(tmp_path / "shop.infex")
        if step % 7 == 0:
            bandit = copy.deepcopy(bandit)
        if step == 20:
            bandit.extend(1)
            dim += 1
        for key in rng.permutation(list(waiting))[:2].tolist():
            bandit.tell(key, 1.0)
            counts[waiting.pop(key)] += 1
        assert pulls(bandit) == [counts[arm] for arm in arms]


def test_a_digest_does_not_depend_on_which_life_learnt_what_is_not_passed_on_yet() -> None:
    one = Bandit([[1.0]], Greedy())
    one.learn(arms=[0], rewards=[1.0])
    one.changes()
    one.learn(arms=[0], rewards=[0.5])
    other = copy.deepcopy(one)
    for bandit in (one, other):
        bandit.learn(arms=[0], rewards=[0.25])
    assert one.digest() == other.digest()


def test_pulls_go_with_the_changes_that_a_worker_passes_on(tmp_path: Path) -> None:
    centre, worker = shop(["tea", "juice", "mate"]), shop(["tea", "juice", "mate"])
    contexts = [[0.6, 0.8]] * 4
    worker.learn(contexts, ["juice", "tea", "juice", "juice"], [1.0, 0.0, 1.0, 0.5])
    centre.apply(worker.changes())
    assert pulls(centre) == [1, 3, 0]
    worker.learn(contexts[:2], ["mate", "juice"], [1.0, 0.0])
    for bandit in (centre, worker):
        bandit.remove_arms("tea")
    worker.save(tmp_path / "worker.infex")
    sent = Changes.from_bytes(Bandit.load(tmp_path / "worker.infex").changes().to_bytes())
    assert (centre.apply(sent), centre.apply(sent)) == (2, 0)
    assert pulls(centre) == pulls(worker) == [4, 1]


def test_a_file_goes_on_with_another_map_by_label_and_passes_its_pulls_on(tmp_path: Path) -> None:
    worker = shop(["tea", "juice"])
    worker.learn([[0.6, 0.8]], ["tea"], [1.0])
    worker.changes()
    worker.learn([[0.6, 0.8]] * 2, ["juice", "tea"], [1.0, 1.0])
    worker.save(tmp_path / "worker.infex")
    other = features.interactions([[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]], 2, labels=["juice", "tea", "mate"])
    found = Bandit.load(tmp_path / "worker.infex", features=other, adopt=True)
    assert pulls(found) == [1, 2, 0]
    centre = Bandit(features=other, policy=LinUCB())
    with pytest.raises(CannotMerge, match="missing"):
        centre.apply(found.changes())
    assert found.changes().n_observations == 0


def test_a_digest_does_not_depend_on_where_features_of_removed_arms_are_kept() -> None:
    one, other = (Bandit(np.eye(3) * 0.9, Greedy()) for _ in range(2))
    keys = ["a", "b", "c"]
    one.ask_many(3, offered=[[0], [1], [0]], ids=keys)
    for key, arm in zip(keys, (0, 1, 0), strict=True):
        other.ask(offered=[arm], id=key)
    for which in (1, 0):  # that of the second decision goes first
        for bandit in (one, other):
            bandit.remove_arms([which])
    assert one.digest() == other.digest()
