"""Snapshots at intervals: what they save; that they change no answer, and hold nothing that was erased."""

import contextlib
import dataclasses
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import features, models
from infex.errors import StoreFailed
from infex.study import executor, snapshot
from infex.study.journal import Entry
from infex.study.snapshot import load_state, replay_journal
from infex.study.stores.base import Place, reading
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.study.studies import ARMS, replayed, shop
from tests.waiting import until

INTERVAL = 40
PROBLEMS: dict[str, dict[str, Any]] = {
    "ridge": {"arms": ARMS},
    "logistic": {"arms": ARMS, "estimator": models.Logistic()},
    "held out": {"arms": ARMS, "holdout": 0.3, "holdout_policy": "greedy"},
    "sticky": {"arms": ARMS, "sticky": True},
    "disjoint": {"features": features.disjoint(["tea", "juice"], context_dim=2), "again": "sum"},
}


@pytest.fixture(autouse=True)
def _short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots as often as tests need them; runs of keys as short."""
    monkeypatch.setattr(snapshot, "ENTRIES_BETWEEN_SNAPSHOTS", INTERVAL)
    monkeypatch.setattr(snapshot, "ENTRIES_PER_PAGE", INTERVAL // 4)
    monkeypatch.setattr(snapshot, "BYTES_OF_AN_ENTRY", 100_000)
    monkeypatch.setattr("infex.study.known_keys.KEYS_IN_A_RUN", 16)


def live_on(study: Study, rng: np.random.Generator, first: int, count: int) -> None:
    """So many decisions of ten units; most are told, some late and some otherwise later."""
    has_contexts = study.bandit().features is not None
    for n in range(first, first + count):
        context = rng.uniform(-0.6, 0.6, size=2).tolist() if has_contexts else None
        study.ask(f"k{n}", context=context, unit=f"u{n % 10}")
        if n % 5:
            study.tell(f"k{n}", float(rng.integers(2)))
        if n % 7 == 0 and n > 20:
            late = n - int(rng.integers(1, 20))
            if study.state(f"k{late}") == "pending":
                study.tell(f"k{late}", 1.0)
            elif study.state(f"k{late}") == "rewarded":
                study.correct(f"k{late}", float(rng.integers(2)))
    study.flush()


def places(study: Study) -> list[Place]:
    with reading(study.url) as store:
        return store.places(study.name)


def without_snapshots(folder: Path) -> None:
    with contextlib.closing(SQLiteStore(folder / "shop.db")) as store:
        store.erase("shop", [], store.places("shop"))
        assert store.places("shop") == []


@contextlib.contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The numbers of entries that are read meanwhile, one after the other."""
    numbers: list[int] = []
    read = SQLiteStore.read

    def noting(store: SQLiteStore, *given: Any) -> Iterator[Entry]:
        for entry in read(store, *given):
            numbers.append(entry.number)
            yield entry

    with monkeypatch.context() as patched:
        patched.setattr(SQLiteStore, "read", noting)
        yield numbers


@pytest.mark.parametrize("problem", PROBLEMS)
def test_with_snapshots_all_is_as_without(
    tmp_path: Path, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Explanations, the state, and what an erasure leaves, after lives with restarts and erasures."""
    rng = np.random.default_rng(5)
    with shop(tmp_path, **PROBLEMS[problem]) as study:
        live_on(study, rng, 0, 150)
        assert study.forget("u3") > 0
        live_on(study, rng, 150, 60)
        study.amend(policy=infex.Infex(infex.LinTS(), infex.every(3)), freeze=True, reason="other")
    with shop(tmp_path) as study:
        live_on(study, rng, 210, 60)
        assert study.forget("u7") > 0
        assert len(places(study)) > 5
        verdict = study.verify()
        assert verdict.holds, verdict.why
        assert study.digest() == replayed(study)
        keys = [f"k{n}" for n in range(0, 270, 11)]
        with counting(monkeypatch) as numbers:
            found = [study.explain(key) for key in keys]
        assert len(numbers) < 3 * INTERVAL * len(keys)
        digest = study.digest()
    without_snapshots(tmp_path)
    with shop(tmp_path) as study:
        assert study.digest() == digest
        for before, now in zip(found, [study.explain(key) for key in keys], strict=True):
            assert dataclasses.replace(before, offers=()) == dataclasses.replace(now, offers=())
            assert np.array_equal(
                np.array([each[2:5] for each in before.offers]), np.array([each[2:5] for each in now.offers])
            )


def test_a_start_and_the_erasure_of_a_recent_unit_read_no_more_than_an_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(tmp_path) as study:
        live_on(study, np.random.default_rng(1), 0, 400)
        until(lambda: places(study)[0].mark.number > 600, "snapshots are kept")
        study.ask("recent", unit="recent")
        study.tell("recent", 1.0)
        with counting(monkeypatch) as numbers, reading(study.url) as store:
            load_state(store, "shop", {})
        assert 0 < len(numbers) < 3 * INTERVAL
        with counting(monkeypatch) as numbers:
            assert study.forget("recent") == 2
        assert len(numbers) < 6 * INTERVAL
        assert min(number for number in numbers if number > 1) > 600
        assert study.digest() == replayed(study)


def test_nothing_of_an_erased_unit_is_in_any_snapshot(tmp_path: Path) -> None:
    context, reward = [0.6180339887, 0.7861513777], 0.4142135623
    rng = np.random.default_rng(2)
    with shop(tmp_path, **PROBLEMS["disjoint"]) as study:
        live_on(study, rng, 0, 60)
        study.ask("hers", context=context, unit="ann@shop")
        live_on(study, rng, 60, 60)  # snapshots in which it waits
        study.tell("hers", reward)
        live_on(study, rng, 120, 100)
        until(lambda: len(places(study)) > 4, "snapshots are kept")
        before = places(study)
        assert study.forget("ann@shop") == 2
        after = places(study)
        first = min(place.mark.number for place in before if place not in after)
        assert [each for each in after if each.mark.number < first] == [
            each for each in before if each.mark.number < first
        ]
        assert len([each for each in after if each.mark.number > first]) >= 3, "new ones in their place"
        files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        for trace in (b"ann@shop", *(struct.pack("<d", number) for number in (*context, reward))):
            assert trace not in files
        assert study.verify().holds


def test_an_erasure_that_breaks_off_leaves_the_state_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snapshots without the unit are there, and must not be taken for the state of the study."""

    def broken(*_: object, **__: object) -> None:
        raise StoreFailed("the disk is full")

    with shop(tmp_path) as study:
        live_on(study, np.random.default_rng(3), 0, 200)
        study.forget("u9")
        digest = study.digest()
        with monkeypatch.context() as failing:
            failing.setattr(executor, "replay", broken)
            with pytest.raises(StoreFailed):
                study.forget("u2")
        assert study.digest() == digest
        assert study.explain("k2").state != "erased"
        with reading(study.url) as store:
            assert load_state(store, "shop", {})[0].digest() == digest == replayed(study)
    with shop(tmp_path) as study:
        assert study.digest() == digest
        with counting(monkeypatch) as numbers:
            assert study.forget("u2") > 0
        assert 0 < len(numbers) < 3 * INTERVAL, "it goes on where it broke off"
        assert study.digest() == replayed(study)
        assert study.verify().holds


def test_another_infex_makes_snapshots_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop(tmp_path) as study:
        live_on(study, np.random.default_rng(9), 0, 200)
        until(lambda: len(places(study)) > 4, "snapshots are kept")
        digest, before = study.digest(), places(study)
        explained = study.explain("k99")
    monkeypatch.setattr(snapshot, "__version__", "another")
    with counting(monkeypatch) as numbers, shop(tmp_path) as study:
        assert len(numbers) > 300, "all is replayed once"
        assert study.digest() == digest
        assert len(places(study)) > 4
        assert not set(before) & set(places(study))
        numbers.clear()
        assert study.explain("k99") == explained
        assert len(numbers) < 3 * INTERVAL
        assert study.verify().holds


def test_two_units_are_forgotten_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one who came last went on from a state that had learnt what the other had erased."""
    with shop(tmp_path) as study:
        live_on(study, np.random.default_rng(4), 0, 100)
        calls: list[int] = []

        def meanwhile(*given: Any, **more: Any) -> Any:
            found = load_state(*given, **more)
            calls.append(1)
            if len(calls) == 1:
                other = threading.Thread(target=study.forget, args=("u4",))
                other.start()
                other.join()
            return found

        monkeypatch.setattr(executor, "load_state", meanwhile)
        assert study.forget("u1") > 0
        assert study.digest() == replayed(study)
        assert study.verify().holds


def test_a_snapshot_is_kept_while_nobody_can_erase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was kept after others were let in, and could hold what they had erased meanwhile."""
    inside, kept = threading.Lock(), list[bool]()
    transaction, keep = SQLiteStore.transaction, SQLiteStore.keep

    @contextlib.contextmanager
    def noting(store: SQLiteStore, name: str) -> Iterator[None]:
        with transaction(store, name), inside:
            yield

    def noted(store: SQLiteStore, *given: Any, **more: Any) -> None:
        kept.append(inside.locked())
        keep(store, *given, **more)

    with shop(tmp_path) as study:
        study.ask("a", unit="u")
    monkeypatch.setattr(SQLiteStore, "transaction", noting)
    monkeypatch.setattr(SQLiteStore, "keep", noted)
    shop(tmp_path).close()
    assert kept == [True]


def test_verify_notices_a_snapshot_that_is_not_what_the_journal_comes_to(tmp_path: Path) -> None:
    for name in ("shop", "other"):
        with shop(tmp_path, name) as study:
            study.ask("a")
            study.tell("a", 1.0 if name == "shop" else 0.0)
    with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
        (place,), (foreign,) = store.places("shop"), store.places("other")
        assert (place.mark.number, place.erased) == (foreign.mark.number, foreign.erased)
        store.keep("shop", place, store.snapshot("other", foreign) or b"")
    with shop(tmp_path) as study:
        verdict = study.verify()
        assert (verdict.entry, verdict.why) == (3, "the snapshot of entry 3 is not what the journal comes to")
    without_snapshots(tmp_path)
    with shop(tmp_path) as study:
        assert study.verify().holds


def test_snapshots_of_many_short_visits_are_few(tmp_path: Path) -> None:
    for visit in range(30):
        with shop(tmp_path) as study:
            study.ask(f"k{visit}")
    assert len(places(study)) == 1


def test_large_snapshots_are_kept_at_larger_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    with shop(tmp_path) as study:
        live_on(study, rng, 0, 300)
        until(lambda: len(places(study)) > 5, "snapshots are kept")
    monkeypatch.setattr(snapshot, "BYTES_OF_AN_ENTRY", 10)  # a snapshot has some thousand
    for first in (300, 400, 500, 600):
        many = len(places(study))
        with shop(tmp_path) as study:
            live_on(study, rng, first, 100)
        assert len(places(study)) <= many


def test_a_process_that_is_killed_again_and_again_keeps_snapshots_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is killed before so many entries have come that a snapshot would be due."""
    with monkeypatch.context() as killed:
        killed.setattr("infex.study.executor.Executor.close", lambda self: self.flush())
        rng = np.random.default_rng(7)
        for visit in range(12):
            with shop(tmp_path) as study:
                live_on(study, rng, 10 * visit, 10)
    assert places(study)[0].mark.number > 100


def test_keys_are_known_whatever_is_kept_of_them(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        live_on(study, np.random.default_rng(8), 0, 100)
        told = [study.ask(f"k{n}", unit=f"u{n % 10}") for n in range(100)]
        digest = study.digest()
    with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
        place = store.places("shop")[0]
        assert len(store.key_runs("shop")) == 100 // 16
        store.keep("shop", place, store.snapshot("shop", place) or b"", {2: bytes(16 * 8)})
    for _ in range(2):  # the damaged run is written anew
        with shop(tmp_path) as study:
            assert study.digest() == digest
            assert [study.ask(f"k{n}", unit=f"u{n % 10}") for n in range(100)] == told
            assert study.digest() == replayed(study)
    with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
        assert replay_journal(store, "shop", {})[0].keys.new_runs == dict(enumerate(store.key_runs("shop")))
