"""Old entries in files of their own: all is found as before, and what is erased is gone there, too."""

import contextlib
import random
import shutil
import stat
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import infex
from infex.cli.main import main
from infex.errors import DamagedJournal, InfexError, InvalidSetting, StoreFailed
from infex.study.journal import BEGINNING, linked
from infex.study.stores import sqlite
from infex.study.stores.segments import SegmentFiles
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from infex.testing.stores import drafts
from tests.study.server import running
from tests.study.studies import ARMS, POLICY, entries_of, replayed, shop

SHOP = {"features": infex.features.disjoint(["tea", "juice"], context_dim=2), "holdout": 0.1}
CONTEXT, REWARD = [0.6180339887, 0.7861513777], 0.4142135623


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "ENTRIES_IN_A_SEGMENT", 60)


def filled(folder: Path, count: int = 100) -> Study:
    """A study with decisions of ten units and of ann; most are told."""
    study, rng = shop(folder, **SHOP), np.random.default_rng(3)
    study.ask("hers", context=CONTEXT, unit="ann@shop")
    for n in range(count):
        study.ask(f"k{n}", context=context_of(n), unit=f"u{n % 10}")
        if n % 4:
            study.tell(f"k{n}", float(rng.integers(2)))
        if n == count // 3:
            study.tell("hers", REWARD)
            study.amend(policy=infex.Infex(infex.LinTS(), infex.every(3)), reason="other")
            study.forget("u9")
    study.flush()
    return study


def context_of(n: int) -> list[float]:
    return [0.5 * np.sin(n), 0.5 * np.cos(n)]


def bytes_of(*folders: Path) -> bytes:
    return b"".join(path.read_bytes() for folder in folders for path in folder.iterdir() if path.is_file())


def test_what_is_archived_is_found_as_before(tmp_path: Path) -> None:
    away = tmp_path / "away"
    with filled(tmp_path) as study:
        entries, digest, checkpoint = entries_of(study), study.digest(), study.verify().checkpoint
        explained = [study.explain(f"k{n}") for n in range(0, 100, 13)]
        rows = study.export(tmp_path / "before.parquet")
        assert study.archive(away, keep=40) > 100
        assert len(list(away.iterdir())) == 3
        assert {stat.S_IMODE(path.stat().st_mode) for path in away.iterdir()} == {0o600}
    for _ in range(2):
        with shop(tmp_path) as study:
            assert entries_of(study) == entries
            assert study.digest() == digest == replayed(study)
            assert study.verify(checkpoint).holds
            assert [study.explain(f"k{n}") for n in range(0, 100, 13)] == explained
            assert study.export(tmp_path / "after.parquet") == rows
            files = (tmp_path / "before.parquet", tmp_path / "after.parquet")
            assert len({path.read_bytes() for path in files}) == 1
            again = [study.ask(f"k{n}", context=context_of(n), unit=f"u{n % 10}") for n in range(0, 100, 13)]
            assert again == [each.decision for each in explained]
            with pytest.raises(infex.errors.AnotherRequest):
                study.ask("k0", context=[0.0, 0.1])
            assert study.archive(away, keep=40) == 0


def test_a_decision_in_the_archive_is_told_and_corrected(tmp_path: Path) -> None:
    with filled(tmp_path) as study:
        study.archive(tmp_path / "away", keep=1)
    with shop(tmp_path) as study:
        assert study.tell("k0", 1.0) == "rewarded"
        assert study.correct("k1", 0.25) == "corrected"
        assert study.explain("k1").reward == 0.25
        study.archive(tmp_path / "away", keep=1)  # the rest, too
        assert study.explain("k1").reward == 0.25
        assert study.digest() == replayed(study)
        assert study.verify().holds


def test_what_is_erased_is_in_no_segment(tmp_path: Path) -> None:
    away = tmp_path / "away"
    with filled(tmp_path) as study:
        hers = [entry for entry in entries_of(study) if entry.key == "hers"]
        study.archive(away, keep=10)
        contents = [zlib.compress(entry.content or b"") for entry in hers]
        traces = [b"ann@shop", *contents, *(entry.salt or b"" for entry in hers)]
        assert all(trace in bytes_of(away) for trace in traces)
        assert study.forget("ann@shop") == 2
        files = bytes_of(tmp_path, away)
        for trace in (*traces, *(struct.pack("<d", number) for number in (*CONTEXT, REWARD))):
            assert trace not in files
        assert study.explain("hers").state == "erased"
        assert {entry.unit for entry in entries_of(study) if entry.key == "hers"} == {None}
        assert study.digest() == replayed(study)
        assert study.verify().holds
    with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
        assert store.of_unit("shop", "ann@shop") == []


def test_a_folder_that_is_not_there_is_said_when_it_is_needed(tmp_path: Path) -> None:
    away, other = tmp_path / "away", tmp_path / "other"
    with filled(tmp_path) as study:
        decision = study.ask("k1", context=context_of(1), unit="u1")
        study.archive(away, keep=30)
    away.rename(other)
    with shop(tmp_path) as study:
        assert study.ask("new", context=[0.1, 0.2]).t > 0
        for needs in (
            lambda: study.ask("k1", context=context_of(1), unit="u1"),
            lambda: study.explain("k1"),
            lambda: study.forget("u1"),
            lambda: study.verify(),
            lambda: study.export(tmp_path / "log.parquet"),
        ):
            with pytest.raises(StoreFailed, match=r"entries 1 to 60 are archived in .*, which is not there"):
                needs()
        with pytest.raises(InvalidSetting, match="is part of the archive: move it to"):
            study.archive(tmp_path / "elsewhere", keep=1)
        assert study.archive(other, keep=100_000) == 0
        assert study.ask("k1", context=context_of(1), unit="u1") == decision
        assert study.verify().holds


def test_a_damaged_segment_is_said_or_does_not_matter(tmp_path: Path) -> None:
    away = tmp_path / "away"
    with filled(tmp_path) as study:
        entries = entries_of(study)
        study.archive(away, keep=30)
    path, rng, said = min(away.iterdir()), random.Random(2), 0
    whole = path.read_bytes()
    for _ in range(60):
        place = rng.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :])
        with contextlib.closing(SQLiteStore(tmp_path / "shop.db", reading=True)) as store:
            try:
                assert list(store.read("shop")) == entries
            except InfexError:
                said += 1
    assert said > 20
    path.write_bytes(whole[: len(whole) // 2])
    with (
        contextlib.closing(SQLiteStore(tmp_path / "shop.db", reading=True)) as store,
        pytest.raises(DamagedJournal),
    ):
        list(store.read("shop"))


@pytest.mark.parametrize("written", [False, True])
def test_what_breaks_off_moves_nothing_and_leaves_no_file_that_erasing_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    away, write = tmp_path / "away", SegmentFiles.write
    with filled(tmp_path) as study:
        entries = entries_of(study)

        def broken(files: SegmentFiles, path: Path, some: Any) -> None:
            if written:
                write(files, path, some)
            else:
                path.write_bytes(b"half of it, with ann@shop")
            raise StoreFailed("the process was killed")

        with monkeypatch.context() as failing:
            failing.setattr(SegmentFiles, "write", broken)
            with pytest.raises(StoreFailed, match="killed"):
                study.archive(away, keep=30)
    with shop(tmp_path) as study:
        assert entries_of(study) == entries
        assert len(list(away.iterdir())) == 1
        study.forget("ann@shop")
        assert list(away.iterdir()) == []
        entries = entries_of(study)
        assert study.archive(away, keep=30) > 100
        assert entries_of(study) == entries
        assert study.verify().holds


def test_it_is_read_while_it_is_archived(tmp_path: Path) -> None:
    """By other processes, too, which see each segment go at any time."""
    entries = linked(drafts(3000), BEGINNING)
    with (
        contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store,
        contextlib.closing(SQLiteStore(tmp_path / "shop.db", reading=True)) as reader,
        ThreadPoolExecutor(1) as pool,
    ):
        store.append("a", entries, BEGINNING)
        archived = pool.submit(store.archive, "a", tmp_path / "away", 2500)
        while not archived.done():
            assert list(reader.read("a")) == list(store.read("a")) == entries
        assert archived.result() == 2499  # the first stays
        assert list(reader.read("a", entries[1234].mark, 1500)) == entries[1235:2735]
        assert reader.of_keys("a", ["key-7", "key-2900"]) == [entries[6], entries[2899]]


def test_databases_may_share_a_folder(tmp_path: Path) -> None:
    away, homes = tmp_path / "away", [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
        with filled(home, 60) as study:
            study.archive(away, keep=20)
    for home in homes:
        with shop(home) as study:
            assert study.verify().holds


def test_from_the_command_line_and_back_from_a_backup(tmp_path: Path) -> None:
    with filled(tmp_path) as study:
        entries = entries_of(study)
    url, new = f"sqlite:///{tmp_path}/shop.db", f"sqlite:///{tmp_path}/new.db"

    def run(*words: object) -> str:
        done = CliRunner().invoke(main, ["study", *map(str, words)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    assert "entries were archived" in run("archive", url, "shop", "--keep", 25)
    assert "holds" in run("verify", url, "shop")
    run("backup", url, tmp_path / "copy.db")
    run("restore", tmp_path / "copy.db", new)  # all of it, in one database
    shutil.rmtree(tmp_path / "shop.db.archive")
    with Study.open(new, "shop") as study:
        assert entries_of(study) == entries


def test_postgresql_says_that_it_cannot(tmp_path: Path) -> None:
    with running() as server, Study.open(server.url, "shop", arms=ARMS, policy=POLICY) as study:
        study.ask_many(["a", "b"])
        with pytest.raises(InvalidSetting, match="journals in PostgreSQL are not archived"):
            study.archive(tmp_path, keep=1)


@pytest.mark.parametrize("keep", [0, -1, 1.5, None])
def test_at_least_one_entry_stays(tmp_path: Path, keep: Any) -> None:
    with shop(tmp_path) as study, pytest.raises(InvalidSetting, match="keep must be"):
        study.archive(tmp_path / "away", keep=keep)
    assert not (tmp_path / "away").exists()
