"""Saving and loading."""

import hashlib
import io
import json
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex import Bandit, Choice, EpsilonGreedy, Greedy, Infex, LinTS, LinUCB, budget, every, jittered
from infex.bandit import archive
from infex.errors import CannotLoad, CannotSave, DamagedFile, ForeignFile, InvalidFile, NewerFile
from infex.models import Posterior, Ridge
from infex.policies import Uniform
from infex.testing import problem
from tests.alike import unnamed

POLICIES = [
    Greedy(ties="random"),
    Uniform(),
    LinUCB(delta=1e-3, scale=0.3),
    LinTS(sampling="spherical"),
    Infex(LinUCB(), every(3), data="own"),
    Infex(LinTS(), jittered(5, seed=2) | every(7)),
]


def go_on(bandit: Bandit, rounds: int, changing: bool = False) -> list[Any]:
    """What a bandit does next: decisions and, from time to time, rewards of older ones."""
    seen: list[Any] = []
    for _ in range(rounds):
        offer = problem(bandit.t, arms=5, dim=4, horizon=1).arms if changing else None
        decision = bandit.ask() if offer is None else bandit.ask(offer)
        if decision.t % 3:
            waiting = bandit.pending[len(bandit.pending) // 2]
            bandit.tell(waiting.id, math.sin(waiting.t))
        seen.append(unnamed(decision))
    return seen


@given(
    policy=st.sampled_from(POLICIES),
    rounds=st.integers(0, 60),
    seed=st.integers(0, 99),
    changing=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_a_loaded_bandit_goes_on_exactly_as_the_saved_one(
    tmp_path_factory: pytest.TempPathFactory, policy: Any, rounds: int, seed: int, changing: bool
) -> None:
    path = tmp_path_factory.mktemp("saved") / "pricing.infex"
    arms = problem(seed, arms=7, dim=4, horizon=1).arms
    bandit = (
        Bandit(dim=4, policy=policy, seed=seed) if changing else Bandit(arms, policy, seed=seed, penalty=0.7)
    )
    go_on(bandit, rounds, changing)
    bandit.save(path)
    loaded = Bandit.load(path)
    assert loaded.policy == bandit.policy
    assert loaded.pending == bandit.pending
    assert go_on(loaded, 50, changing) == go_on(bandit, 50, changing)
    assert (
        loaded.estimates(arms if changing else None).tolist()
        == bandit.estimates(arms if changing else None).tolist()
    )


def saved(path: Path) -> Bandit:
    bandit = Bandit(np.eye(3), Infex(LinUCB(), every(2)), labels=["a", "b", 7], seed=3)
    go_on(bandit, 10)
    bandit.remove_arms("a")
    bandit.save(path)
    return bandit


def test_labels_and_removed_arms_survive(tmp_path: Path) -> None:
    bandit = saved(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex")
    assert loaded.labels == ("b", 7)
    for decision in bandit.pending:
        bandit.tell(decision, 1.0)
        loaded.tell(decision, 1.0)
    assert loaded.estimates().tolist() == bandit.estimates().tolist()
    assert loaded.explored == bandit.explored == 5
    assert (loaded.seed, loaded.penalty, loaded.rescale) == (bandit.seed, bandit.penalty, bandit.rescale)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    saved(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    places = {*range(90), len(data) - 1, *rng.integers(len(data), size=200).tolist()}
    for place in places:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(InvalidFile, match=r"x\.infex"):
            Bandit.load(path)


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    saved(path)
    data = path.read_bytes()
    for length in (0, 5, 13, 14, 40, 80, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(InvalidFile, match=r"x\.infex"):
            Bandit.load(path)
    path.write_bytes(data + b"more")
    with pytest.raises(DamagedFile, match="does not match its checksum"):
        Bandit.load(path)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, gram=np.eye(2))
    with pytest.raises(ForeignFile, match=r"x\.npz is not a bandit saved by infex"):
        Bandit.load(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder: .*nowhere'"):
        Bandit(np.eye(2), Greedy()).save(tmp_path / "nowhere" / "x.infex")


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_loading_does_not_warn_again(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), Infex(LinUCB(), budget(every(2), 9)))
    bandit.save(tmp_path / "x.infex")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Bandit.load(tmp_path / "x.infex").policy == bandit.policy


def test_data_kept_apart_survive_a_policy_that_does_not_use_them(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), Infex(LinUCB(), every(2), data="own"))
    go_on(bandit, 9)
    bandit.save(tmp_path / "x.infex")
    other = Bandit.load(tmp_path / "x.infex", policy=Greedy(), adopt=True)
    other.policy = bandit.policy
    assert go_on(other, 9) == go_on(bandit, 9)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Bandit.load(tmp_path / "nothing.infex")


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    saved(path)
    path.write_bytes(path.read_bytes().replace(b"infex bandit 1", b"infex bandit 2", 1))
    with pytest.raises(NewerFile, match="has format 2, this infex reads 1: install a newer infex"):
        Bandit.load(path)


@pytest.mark.parametrize("missing", ["seed", "t", "pending", "columns", "all told"])
def test_a_file_that_lacks_something_is_refused(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "x.infex"
    saved(path)
    stored, arrays = archive.read(path)
    for part in (stored, arrays, stored["account"]):
        part.pop(missing, None)
    archive.write(path, stored, arrays)
    with pytest.raises(DamagedFile, match="lacks what a bandit needs"):
        Bandit.load(path)


def test_the_file_holds_plain_json_and_arrays(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    saved(path)
    head, body = path.read_bytes().split(b"\n", 1)
    assert head == b"infex bandit 1 " + hashlib.sha256(b"1\n" + body).hexdigest().encode()
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        settings = json.loads(arrays["header"].tobytes())
    assert settings["policy"]["schedule"] == {"kind": "every", "version": 1, "m": 2, "offset": 0}
    assert settings["written_by"] == f"infex {infex.__version__}"


def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.infex"
    bandit = saved(path)
    before = path.read_bytes()
    go_on(bandit, 5)
    known = bandit.estimates().tolist()

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        bandit.save(path)
    assert path.read_bytes() == before
    assert bandit.estimates().tolist() == known
    assert os.listdir(tmp_path) == ["x.infex"]


def test_the_rights_of_the_old_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    bandit = saved(path)
    path.chmod(0o600)
    bandit.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_numbers_of_a_users_policy_are_saved(tmp_path: Path) -> None:
    class Float32(Mine):
        def propensity(self, t: int, posterior: Posterior, arm: int) -> Any:
            return np.float32(0.5)

        def confidence_radius(self, posterior: Posterior) -> Any:
            return np.float32(2.0)

    bandit = Bandit(np.eye(2), Float32())
    decision = bandit.ask()
    assert (type(decision.propensity), type(decision.low)) == (float, float)
    bandit.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex", policy=Float32()).pending == (decision,)


def test_an_interval_without_end_is_saved(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), LinUCB(noise=1e300, scale=1e300))
    bandit.ask()
    bandit.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex").pending == bandit.pending


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.infex").symlink_to(tmp_path / "x.infex")
    saved(tmp_path / "link.infex")
    assert (tmp_path / "link.infex").is_symlink()
    assert Bandit.load(tmp_path / "x.infex").t == 10


class Mine:
    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(posterior.greedy)


def test_a_users_policy_is_given_again_when_loading(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    bandit = Bandit(np.eye(2), Infex(Mine(), every(2)))
    go_on(bandit, 4)
    bandit.save(path)
    with pytest.raises(CannotLoad, match=r"not infex's own; load it with policy=, it was Infex"):
        Bandit.load(path)
    assert go_on(Bandit.load(path, policy=bandit.policy), 9) == go_on(bandit, 9)


def test_another_policy_may_take_over_if_its_data_were_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    saved(path)
    with pytest.raises(CannotLoad, match=r"holds another policy: it is Infex.*, not EpsilonGreedy"):
        Bandit.load(path, policy=EpsilonGreedy())
    with pytest.raises(CannotLoad, match="holds another policy: data is 'shared', not 'own'; say adopt=True"):
        Bandit.load(path, policy=Infex(LinUCB(), every(2), data="own"))
    assert Bandit.load(path, policy=EpsilonGreedy(), adopt=True).ask().t == 11
    with pytest.raises(CannotLoad, match="needs exploring rounds kept apart"):
        Bandit.load(path, policy=Infex(LinUCB(), every(2), data="own"), adopt=True)


def test_a_learner_cannot_be_saved(tmp_path: Path) -> None:
    class Learns(Mine):
        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            raise AssertionError("no reward was told")

    with pytest.raises(CannotSave, match="keeps a state of its own"):
        Bandit(np.eye(2), Learns()).save(tmp_path / "x.infex")
    assert os.listdir(tmp_path) == []


def test_another_penalty_is_refused_by_name_and_adopted_exactly(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    bandit = Bandit(rng.normal(size=(6, 3)) / 4.0, Uniform(), penalty=1.0)
    gram, sums = np.zeros((3, 3)), np.zeros(3)
    for _ in range(20):
        decision, reward = bandit.ask(), float(rng.normal())
        bandit.tell(decision, reward)
        x = bandit.arms[decision.arm]
        gram, sums = gram + np.outer(x, x), sums + reward * x
    path = tmp_path / "one.infex"
    bandit.save(path)
    with pytest.raises(CannotLoad, match=r"penalty of the bandit, not Ridge\(penalty=3\)"):
        Bandit.load(path, estimator=Ridge(penalty=3.0))
    assert Bandit.load(path, estimator=Ridge(penalty=1.0)).penalty == 1.0
    adopted = Bandit.load(path, estimator=Ridge(penalty=3.0), adopt=True)
    assert adopted.penalty == 3.0
    expected = np.linalg.solve(gram + 3.0 * np.eye(3), sums)
    np.testing.assert_allclose(adopted.posterior().theta, expected, rtol=1e-10)
