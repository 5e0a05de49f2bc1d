"""Bandits that pass on what they learn: nothing is counted twice, and nothing is lost without a word."""

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, Infex, LinUCB, every, features, models
from infex.bandit import Changes
from infex.errors import CannotMerge, InfexError, InvalidRecord

ARMS = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -0.5]])
SHOP = features.disjoint(["a", "b", "c"], context_dim=2)
WEIGHTED = models.Weighted(weight=lambda x: 1.0 + float(x[0]) ** 2)
KINDS: dict[str, Any] = {
    "fixed": lambda **more: Bandit(ARMS, Infex(LinUCB(), every(2)), labels=["a", "b", "c"], **more),
    "own": lambda **more: Bandit(ARMS, Infex(LinUCB(), every(2), data="own"), labels=["a", "b", "c"], **more),
    "changing": lambda **more: Bandit(dim=2, policy=LinUCB(), **more),
    "disjoint": lambda **more: Bandit(features=SHOP, policy=LinUCB(), **more),
    "weighted": lambda **more: Bandit(ARMS, Greedy(), labels=["a", "b", "c"], estimator=WEIGHTED, **more),
}


class Peer:
    """A bandit, and the numbers of all rewards that it should have learnt."""

    def __init__(self, bandit: Bandit, seen: set[int]) -> None:
        self.bandit, self.seen = bandit, seen
        self.fresh: set[int] = set(seen)  # not passed on yet

    def learn(self, kind: str, numbers: list[int]) -> None:
        rows = [row_of(number) for number in numbers]
        arms, x, rewards = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
        labels = ["abc"[arm] for arm in arms]
        if kind == "changing":
            self.bandit.learn(arms=x, rewards=rewards)
        elif kind in MAPS:
            self.bandit.learn(x, labels, rewards)
        elif numbers[0] % 2:
            self.bandit.learn(arms=labels, rewards=rewards)
        else:
            for reward in rewards:
                self.bandit.tell(self.bandit.ask(), reward)
        self.seen |= set(numbers)
        self.fresh |= set(numbers)


def row_of(number: int) -> tuple[int, list[float], float]:
    """The arm, features and reward with a number."""
    rng = np.random.default_rng(number)
    x = rng.normal(size=2)
    return int(rng.integers(3)), (x / (2.0 * np.linalg.norm(x))).tolist(), float(rng.normal())


def told(bandit: Bandit) -> int:
    return bandit._agent.model.all.n_observations


MAPS: dict[str, Any] = {
    "disjoint": SHOP,
    "mapped": features.interactions(ARMS, 2, labels=["a", "b", "c"]),
    "hybrid": features.hybrid(features.interactions(ARMS, 2, labels=["a", "b", "c"]), own=[1]),
}
ASKED = np.array([0.3, -0.4])


def estimates_of(kind: str, numbers: set[int], penalty: float) -> Any:
    """Ridge regression of some rewards, by the normal equations."""
    asked = ARMS if kind == "changing" else MAPS[kind](ASKED)
    gram, moment = penalty * np.eye(asked.shape[1]), np.zeros(asked.shape[1])
    for number in numbers:
        arm, features_of, reward = row_of(number)
        x = np.array(features_of) if kind == "changing" else MAPS[kind](features_of)[arm]
        gram, moment = gram + np.outer(x, x), moment + reward * x
    return asked @ np.linalg.solve(gram, moment)


def assert_learnt_once(kind: str, peer: Peer) -> None:
    """All that a peer should have learnt is what it has."""
    assert told(peer.bandit) == len(peer.seen)
    table = peer.bandit.estimates(**({"arms": ARMS} if kind == "changing" else {"context": ASKED}))
    penalty = peer.bandit._agent.model.all.penalty  # that of rows no longer than 1
    assert table.estimate == pytest.approx(estimates_of(kind, peer.seen, penalty), abs=1e-10)
    if kind != "changing":
        played = np.bincount([row_of(number)[0] for number in peer.seen], minlength=3)
        assert table.pulls.tolist() == played.tolist()


@given(kind=st.sampled_from(["changing", *MAPS]), seed=st.integers(0, 9999))
@settings(max_examples=45, deadline=None)
def test_whatever_is_sent_to_whom_each_reward_counts_once_or_an_error_says_why(
    tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("changes") / "x.infex"
    make = KINDS.get(kind, lambda: Bandit(features=MAPS[kind], policy=LinUCB()))
    peers = [Peer(make(), set()) for _ in range(3)]
    mail: list[tuple[bytes, set[int]]] = []
    number = 0
    for _ in range(40):
        peer = peers[int(rng.integers(len(peers)))]
        match int(rng.integers(7)):
            case 0 | 1:
                numbers = list(range(number + 1, number + 1 + int(rng.integers(1, 6))))
                number = numbers[-1]
                peer.learn(kind, numbers)
            case 2:
                before = set(peer.fresh)
                sent = peer.bandit.changes()
                peer.fresh = set()
                mail.append((sent.to_bytes(), before))
                assert sent.n_observations == len(before)
            case 3 | 4 if mail:
                place = int(rng.integers(len(mail)))
                data, content = mail[place]
                receive(peer, Changes.from_bytes(data), content)
            case 5 if len(peers) < 6:
                peer.bandit.save(path)
                way = int(rng.integers(3))
                other = (
                    Bandit.load(path)
                    if way == 0
                    else copy.deepcopy(peer.bandit)
                    if way == 1
                    else pickle.loads(pickle.dumps(peer.bandit))
                )
                peers.append(Peer(other, set(peer.seen)))
                peers[-1].fresh = set(peer.fresh)
            case 6:
                other_peer = peers[int(rng.integers(len(peers)))]
                content, sent = set(other_peer.fresh), other_peer.bandit.changes()
                other_peer.fresh = set()
                mail.append((sent.to_bytes(), content))
                receive(peer, sent, content)
    for peer in peers:
        assert_learnt_once(kind, peer)


def receive(peer: Peer, changes: Changes, content: set[int]) -> None:
    before = peer.bandit.digest()
    try:
        new = peer.bandit.apply(changes)
    except CannotMerge:
        assert peer.bandit.digest() == before
        return
    gained = content - peer.seen
    assert new == len(gained)  # what was new is told, and no reward twice
    peer.seen |= content


@pytest.mark.parametrize("kind", KINDS)
def test_workers_that_began_with_one_file_add_up(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    extra: Any = {"estimator": WEIGHTED} if kind == "weighted" else {}
    centre = Peer(KINDS[kind](), set())
    centre.learn(kind, list(range(1, 101, 2)))
    centre.bandit.save(path)
    workers = [Peer(Bandit.load(path, **extra), set(centre.seen)) for _ in range(3)]
    for place, worker in enumerate(workers):
        worker.learn(kind, list(range(201 + 20 * place, 221 + 20 * place)))
        sent = Changes.from_bytes(worker.bandit.changes().to_bytes())
        assert centre.bandit.apply(sent) == 20
        assert centre.bandit.apply(sent) == 0
        assert worker.bandit.apply(sent) == 0
        assert worker.bandit.changes().n_observations == 0
    assert told(centre.bandit) == 110
    offer: Any = (
        {"arms": ARMS} if kind == "changing" else {"context": [0.3, 0.4]} if kind == "disjoint" else {}
    )
    alone = Peer(KINDS[kind](), set())
    alone.learn(kind, list(range(1, 101, 2)))
    for place in range(3):
        alone.learn(kind, list(range(201 + 20 * place, 221 + 20 * place)))
    mine, theirs = centre.bandit.estimates(**offer), alone.bandit.estimates(**offer)
    assert mine.estimate == pytest.approx(theirs.estimate, abs=1e-10)
    assert mine.pulls.tolist() == theirs.pulls.tolist()
    if kind != "changing" and kind != "disjoint":
        assert int(mine.pulls.sum()) == 110


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_taken_in_is_not_passed_on_as_ones_own(kind: str, tmp_path: Path) -> None:
    """Centre and worker both passed it on, so that a third learnt it twice."""
    extra: Any = {"estimator": WEIGHTED} if kind == "weighted" else {}
    worker, middle, centre = (Peer(KINDS[kind](), set()) for _ in range(3))
    worker.learn(kind, [1, 2, 3])
    middle.learn(kind, [5, 6])
    given = worker.bandit.changes()
    assert middle.bandit.apply(given) == 3
    middle.bandit.save(tmp_path / "x.infex")
    middle.learn(kind, [7])
    loaded = Bandit.load(tmp_path / "x.infex", **extra)
    assert (loaded.changes().n_observations, middle.bandit.changes().n_observations) == (2, 3)
    assert middle.bandit.changes().n_observations == 0
    assert centre.bandit.apply(loaded.changes()) == 0
    assert centre.bandit.apply(given) == 3
    assert told(centre.bandit) == 3
    assert middle.bandit.apply(given) == 0


def test_changes_out_of_order_are_refused_until_the_missing_ones_came() -> None:
    worker, centre = Peer(KINDS["fixed"](), set()), KINDS["fixed"]()
    sent = []
    for first in (1, 11, 21):
        worker.learn("fixed", list(range(first, first + 10)))
        sent.append(worker.bandit.changes())
    before = centre.digest()
    with pytest.raises(CannotMerge, match=r"rewards 10 to 20 of '.*', and those 0 to 10 are missing"):
        centre.apply(sent[1])
    assert centre.digest() == before
    assert [centre.apply(each) for each in (sent[0], sent[1], sent[0], sent[2], sent[1])] == [
        10,
        10,
        0,
        10,
        0,
    ]
    assert centre.estimates().tolist() == worker.bandit.estimates().tolist() or told(centre) == 30


def test_two_states_of_one_life_cannot_both_be_counted(tmp_path: Path) -> None:
    """A file of round 100 and one of round 150 share 100 rewards."""
    peer = Peer(KINDS["fixed"](), set())
    workers = []
    for place, count in enumerate((100, 50)):
        peer.learn("fixed", list(range(1 + 100 * place, 1 + 100 * place + count)))
        peer.bandit.save(tmp_path / "x.infex")
        workers.append(Bandit.load(tmp_path / "x.infex"))
    stranger = KINDS["fixed"]()
    assert stranger.apply(workers[0].changes()) == 100
    before = stranger.digest()
    with pytest.raises(CannotMerge, match=r"rewards 0 to 150 of '.*', .* are here already"):
        stranger.apply(workers[1].changes())
    assert stranger.digest() == before


def test_a_child_of_a_fork_passes_on_what_it_learnt_itself(tmp_path: Path) -> None:
    bandit = KINDS["fixed"]()
    bandit.learn(arms=["a"] * 5, rewards=[1.0] * 5)
    child = os.fork()
    if child == 0:
        try:
            bandit.learn(arms=["b"] * 3, rewards=[0.5] * 3)
            (tmp_path / "sent").write_bytes(bandit.changes().to_bytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    bandit.learn(arms=["a"] * 2, rewards=[1.0] * 2)
    assert bandit.apply(Changes.from_bytes((tmp_path / "sent").read_bytes())) == 3
    assert bandit.estimates().pulls.tolist() == [7, 3, 0]
    assert bandit.changes().n_observations == 7


@pytest.mark.parametrize("kind", ["fixed", "disjoint"])
def test_arms_that_come_and_go_leave_what_is_passed_on_right(kind: str) -> None:
    worker, centre = Peer(KINDS[kind](), set()), KINDS[kind]()
    worker.learn(kind, list(range(1, 21, 2)))
    centre.apply(worker.bandit.changes())
    worker.learn(kind, list(range(21, 41, 2)))
    worker.bandit.remove_arms(["b"])
    if kind == "fixed":
        worker.bandit.add_arms([ARMS[1]], ["b"])
    else:
        worker.bandit.add_arms(["d"])
        with pytest.raises(CannotMerge, match="features must agree"):
            centre.apply(worker.bandit.changes())
        return
    assert centre.apply(worker.bandit.changes()) == 10
    assert told(centre) == 20


@pytest.mark.parametrize(
    "estimator",
    [models.Discounted(), models.Windowed(size=5), models.Logistic()],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["fixed", "disjoint"])
def test_estimators_that_keep_no_sums_say_so(estimator: Any, kind: str, tmp_path: Path) -> None:
    made = Bandit(ARMS, Greedy(), estimator=estimator)
    if kind == "disjoint":
        made = Bandit(features=SHOP, policy=Greedy(), estimator=estimator)
    with pytest.raises(CannotMerge, match="not kept as sums that add up"):
        made.changes()
    made.save(tmp_path / "x.infex")
    copied = copy.deepcopy(Bandit.load(tmp_path / "x.infex"))
    assert copied.digest() == made.digest()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: Bandit(ARMS, Greedy(), penalty=2.0), "penalty must agree, got 2.0 and 1.0"),
        (lambda: Bandit(np.eye(3), Greedy()), "dim must agree, got 3 and 2"),
        (lambda: Bandit(features=SHOP, policy=Greedy()), "must agree"),
        (lambda: Bandit(ARMS, Greedy(), estimator=models.Lasso()), "estimator must agree"),
        (lambda: Bandit(ARMS, Infex(LinUCB(), every(2), data="own")), "keeps exploring rounds apart"),
    ],
)
def test_changes_of_another_problem_are_refused(other: Any, words: str) -> None:
    bandit, stranger = Bandit(ARMS, Greedy()), other()
    bandit.learn(arms=[0, 1], rewards=[1.0, 1.0])
    before = stranger.digest()
    with pytest.raises(CannotMerge, match=words):
        stranger.apply(bandit.changes())
    assert stranger.digest() == before
    with pytest.raises(CannotMerge, match="applies what `changes` gave"):
        stranger.apply(b"x")


def test_counts_go_by_label_and_features() -> None:
    one = Bandit(ARMS, Greedy(), labels=["a", "b", "c"])
    two = Bandit(ARMS[[2, 0]], Greedy(), labels=["c", "z"])
    one.learn(arms=["a", "c", "c"], rewards=[1.0, 0.5, 0.25])
    two.apply(one.changes())
    assert two.estimates().pulls.tolist() == [2, 0]
    assert told(two) == 3


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_bytes_that_are_no_changes_are_refused_by_name(data: Any) -> None:
    bandit = Bandit(features=SHOP, policy=LinUCB())
    bandit.learn(np.full((5, 2), 0.3), ["a"] * 5, np.ones(5))
    good = bandit.changes().to_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    bad = data.draw(
        st.sampled_from(
            [good[:place], good[:place] + bytes([good[place] ^ 85]) + good[place + 1 :], b"", b"PK"]
        )
    )
    try:
        changes = Changes.from_bytes(bad)
    except InvalidRecord:
        return
    other = Bandit(features=SHOP, policy=LinUCB())
    try:
        other.apply(changes)
    except InfexError:
        return
    assert np.isfinite(other.estimates(context=[0.3, 0.4]).estimate).all()


def test_what_was_passed_on_is_saved(tmp_path: Path) -> None:
    peer, centre = Peer(KINDS["own"](), set()), KINDS["own"]()
    peer.learn("own", list(range(2, 22)))
    centre.apply(peer.bandit.changes())
    peer.learn("own", list(range(32, 42)))
    peer.bandit.save(tmp_path / "x.infex")
    again = Bandit.load(tmp_path / "x.infex")
    assert again.digest() == peer.bandit.digest()
    sent = again.changes()
    assert (sent.n_observations, repr(sent)) == (10, "Changes(10 rewards)")
    assert centre.apply(sent) == 10
    assert centre.estimates().pulls.tolist() == again.estimates().pulls.tolist()
    assert centre._agent.model.explored is not None
    assert again._agent.model.explored is not None
    assert centre._agent.model.explored.n_observations == again._agent.model.explored.n_observations
    assert centre.apply(peer.bandit.changes()) == 0 or told(centre) == 30
