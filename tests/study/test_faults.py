"""What a study survives: kills, disks that fail, damaged files, journals of long ago."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import infex
from infex import features
from infex.errors import DamagedJournal, ForeignStore, InfexError, StoreFailed
from infex.study.inspection import log_rows
from infex.study.journal import BEGINNING, Draft, Entry, linked
from infex.study.snapshot import replay_journal
from infex.study.stores import base
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.study.faulty_disk import Disk
from tests.study.studies import ARMS, Clock, entries_of, replayed, shop, url_in

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "study-journal-1.json"
LIMITED = infex.Infex(infex.LinUCB(), infex.guarded(infex.every(5), 1.0))


def kill_again_and_again(folder: Path, cycles: int, lines: int) -> None:
    """So many processes with 16 threads, each killed when it was told so many answers."""
    shop(folder, policy=LIMITED).close()
    told: dict[str, list[Any]] = {}
    for cycle in range(cycles):
        words = ["-m", "tests.study.local_worker", url_in(folder), "shop", str(cycle)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for count, line in enumerate(process.stdout, 1):
                row = json.loads(line)
                told[row[0]] = row
                if count == lines:
                    process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    with shop(folder) as study:
        assert len(told) >= cycles * lines
        for key, t, arm, explored, was_told in told.values():
            found = study.explain(key, prove=False)
            assert found.decision is not None
            assert (found.decision.t, found.decision.arm, found.decision.explored) == (t, arm, explored)
            assert found.state == "rewarded" or not was_told
        figures = study.metrics()
        assert figures["decisions"] == sum(figures["states"].values())  # no round is missing
        exploration = figures["exploration"]
        assert exploration["planned"] == figures["decisions"] // 5
        assert exploration["done"] + exploration["skipped"] == exploration["planned"]
        assert exploration["cost"] <= 1.0
        assert replayed(study) == study.digest()
        assert study.verify().holds


def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 2, 120)


@pytest.mark.slow
def test_sixty_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 60, 400)


def survive_a_fault(folder: Path, n: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> bool:
    """The n-th call of the disk fails: True if there were not so many."""
    home = folder / str(n)
    home.mkdir()
    disk = Disk(f"study-{error.__name__}-{n}", fails=n, error=error)
    monkeypatch.setattr(
        base,
        "open_store",
        lambda url, reading=False: SQLiteStore(home / "shop.db", vfs=disk.name),
    )

    def insisting(call: Any, *given: Any, **more: Any) -> Any:
        try:
            return call(*given, **more)
        except StoreFailed:
            return call(*given, **more)

    study = insisting(Study.open, url_in(home), "shop", arms=ARMS, policy=LIMITED, seed=7)
    told = {}
    for place in range(4):
        told[place] = insisting(study.ask, f"k{place}")
        insisting(study.tell, f"k{place}", 0.5)
    clean = disk.count < n
    disk.fails = None
    study.close()
    monkeypatch.undo()
    with shop(home) as again:
        assert [again.ask(f"k{place}") for place in range(4)] == list(told.values())
        assert again.metrics()["states"]["rewarded"] == again.metrics()["decisions"] == 4
        assert replayed(again) == again.digest()
    disk.unregister()
    return clean


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # SQLite goes on after some
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
def test_whatever_call_fails_the_study_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    n = 1
    while not survive_a_fault(tmp_path, n, error, monkeypatch):
        n += 5
    assert n > 40


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
def test_each_call_that_fails_is_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    n = 1
    while not survive_a_fault(tmp_path, n, error, monkeypatch):
        n += 1


def flip_bytes(folder: Path, count: int) -> None:
    """A byte of the file is another: what was acknowledged is there, or an error says what is wrong."""
    with shop(folder) as study:
        told = {f"k{n}": study.ask(f"k{n}", unit=f"u{n}") for n in range(60)}
        study.tell_many(list(told)[:40], [0.5] * 40)
    whole, rng, said = (folder / "shop.db").read_bytes(), random.Random(3), 0
    for place in range(count):
        flipped = bytearray(whole)
        flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        home = folder / str(place)
        home.mkdir()
        (home / "shop.db").write_bytes(flipped)
        try:
            with Study.open(url_in(home), "shop", clock=Clock()) as study:
                for n, (key, decision) in enumerate(told.items()):
                    assert study.ask(key, unit=f"u{n}") == decision
        except (InfexError, apsw.Error):
            said += 1
    assert 0 < said < count


def test_a_flipped_byte_is_said_or_does_not_matter(tmp_path: Path) -> None:
    flip_bytes(tmp_path, 40)


@pytest.mark.slow
def test_many_flipped_bytes_are_said_or_do_not_matter(tmp_path: Path) -> None:
    flip_bytes(tmp_path, 1500)


def test_a_key_that_a_damaged_index_does_not_find_is_never_decided_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(tmp_path) as study:
        study.ask_many(["a", "b"])
        study.tell("a", 0.5)
    with monkeypatch.context() as damaged, shop(tmp_path) as study:
        damaged.setattr(SQLiteStore, "of_keys", lambda *_: [])
        for call in (
            lambda: study.ask("a"),
            lambda: study.ask_many(["c", "a"]),
            lambda: study.tell("a", 0.5),
        ):
            with pytest.raises(
                DamagedJournal, match="there is a decision 'a', and the store does not find it"
            ):
                call()
        assert study.ask("c").t == 3
    with shop(tmp_path) as study:
        assert study.ask("a").t == 1


def test_a_cut_file_is_never_taken_for_a_new_one(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.ask_many([f"k{n}" for n in range(60)])
    whole = (tmp_path / "shop.db").read_bytes()
    for share in (0.2, 0.5, 0.9):
        (tmp_path / "shop.db").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises((DamagedJournal, ForeignStore)):
            shop(tmp_path)


def test_entries_of_a_newer_infex_are_refused(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.ask("a")
        entries = entries_of(study)
    newer = Draft("decision", "b", "", 0, b'{"v":2,"something":"new"}')
    with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
        store.append("newer", [*entries, *linked([newer], entries[-1].mark)], BEGINNING)
    with pytest.raises(InfexError, match="written by a newer infex: its version is 2"):
        shop(tmp_path, "newer")


def test_any_order_and_repetition_of_rewards_comes_to_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    factors = []
    for name in ("one", "other"):
        with shop(tmp_path, name) as study:
            keys = [f"k{n}" for n in range(200)]
            study.ask_many(keys)
            order = rng.permutation(np.repeat(np.arange(200), 3)).tolist()
            study.tell_many([keys[n] for n in order], [n / 200 for n in order])
            known = study.bandit()._agent.model.all.posterior()
            factors.append((known.theta, known.factor))
    for found, expected in zip(*factors, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_ten_thousand_keys_sent_five_times_by_sixteen_threads(tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(10_000), 5)).tolist()
    with shop(tmp_path) as study:

        def serve(n: int) -> tuple[int, Any]:
            decision = study.ask(f"k{n}")
            study.tell(f"k{n}", n % 3)
            return n, decision

        with ThreadPoolExecutor(16) as pool:
            answers = set(pool.map(serve, order))
        assert len(answers) == 10_000
        assert {decision.t for _, decision in answers} == set(range(1, 10_001))
        assert study.metrics()["exploration"]["done"] == 2000
        assert replayed(study) == study.digest()


def write_golden(folder: Path) -> None:
    """How the journal of this format was written, with an entry of every kind."""
    clock = Clock()
    visitor = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]}, missing="flag")
    settings = {
        "features": features.disjoint(["tea", "juice"], context=visitor),
        "policy": infex.Infex(infex.LinUCB(), infex.guarded(infex.every(3), 5.0)),
        "wait": "1 hour", "default": 0.0, "again": "sum", "holdout": 0.2, "holdout_policy": "greedy",
    }  # fmt: skip
    with shop(folder, clock=clock, **settings) as study:
        for n in range(30):
            clock.now += 200
            study.ask(f"k{n}", context={"age": 20 + n, "country": "FR"}, unit=f"u{n % 7}")
            if n % 3:
                study.tell(f"k{n}", (n % 4) / 4, part="click")
        study.tell("k0", 0.5)  # late
        study.tell("k28", 0.25, part="more")
        study.correct("k10", 1.0, reason="cents")
        study.add_arms(["oolong"], reason="new")
        study.amend(policy=infex.Infex(infex.LinTS(), infex.every(2)), freeze=True, reason="other")
        study.forget("u3", reason="asked for it")
        for n in range(30, 40):
            study.ask(f"k{n}", context={"age": None, "country": "DE"}, unit=f"u{n % 7}")
        study.extend(numbers={"visits": (0, 10)})
        study.remove_arms(["juice"])
        study.ask("last", context={"age": 30, "country": "DE", "visits": 3})
        study.flush()
        entries = [[each.hex() if isinstance(each, bytes) else each for each in entry]
                   for entry in entries_of(study)]  # fmt: skip
        theta, states = study.bandit().theta.tolist(), study.metrics()["states"]
    GOLDEN.write_text(json.dumps({"entries": entries, "theta": theta, "states": states}) + "\n")


def test_a_journal_of_every_format_replays_for_ever(tmp_path: Path) -> None:
    kept = json.loads(GOLDEN.read_text())
    entries = []
    for number, kind, key, unit, at, *rest in kept["entries"]:
        content, salt, seal, link = (None if each is None else bytes.fromhex(each) for each in rest)
        entries.append(Entry(number, kind, key, unit, at, content, salt, seal or b"", link or b""))
    store = SQLiteStore(tmp_path / "shop.db")
    store.append("shop", entries, BEGINNING)
    state, _ = replay_journal(store, "shop", {})
    store.close()
    assert {entry.kind for entry in entries} == {
        "opened", "decision", "held", "reward", "defaulted", "late", "correction", "amendment", "forgotten",
    }  # fmt: skip
    np.testing.assert_allclose(state.bandit.theta, kept["theta"], rtol=1e-12, atol=1e-12)
    with shop(tmp_path) as study:
        assert study.metrics()["states"] == kept["states"]
        assert study.explain("last").proven is True
        assert len(log_rows(url_in(tmp_path), "shop")) == len(entries)
    shop(tmp_path, reward_unit="").close()  # a setting that is younger than the journal has its default
