"""Sums that were kept: a view goes on from them, and shows what one that has read the whole journal shows."""

import contextlib
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pytest

from infex.errors import StoreFailed
from infex.service import journal_view, kept_pasts
from infex.service.journal_view import JournalView
from infex.service.kept_pasts import KeptPast, SQLitePasts, packed, past_table, unpacked
from infex.service.past_sums import PastSums
from infex.study.journal import Mark
from tests.service.past_tables import check_past_table
from tests.study.studies import Clock, shop, url_in

FEW, BETWEEN = 20, 40


@pytest.fixture(autouse=True)
def kept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_view, "LATEST_KEPT", FEW)
    monkeypatch.setattr(journal_view, "DECISIONS_BETWEEN_KEPT", BETWEEN)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SQLitePasts]:
    found = past_table(url_in(tmp_path))
    assert isinstance(found, SQLitePasts)
    yield found
    found.close()


def play(folder: Path, first: int, last: int, clock: Clock) -> None:
    with shop(folder, clock=clock) as study:
        for number in range(first, last):
            clock.now += 2.0
            study.ask(f"key-{number}", unit=f"unit-{number % 3}", durable=False)
            if number % 3:
                study.tell(f"key-{number}", 0.1 * (number % 5), durable=False)


def shown(folder: Path, table: SQLitePasts | None, page: int = 50) -> tuple[dict[str, Any], list[Any], int]:
    """What a view shows at the end of the journal, without arms of marks, and how often it read a page."""
    with contextlib.closing(JournalView(url_in(folder), "shop", table)) as view:
        pages = 1
        while view.catch_up(most=page):
            pages += 1
        past = view.past()
        marks = [mark | {"arm": ""} for mark in past["marks"]]
        return past | {"marks": marks}, view.latest(), pages


@pytest.mark.parametrize("counts", [(500, 500), (300, 301), (300, 350), (300, 900)])
def test_going_on_from_kept_sums_shows_what_reading_all_shows(
    tmp_path: Path, table: SQLitePasts, counts: tuple[int, int]
) -> None:
    clock = Clock()
    play(tmp_path, 0, counts[0], clock)
    assert table.find("shop") is None
    shown(tmp_path, table)
    assert table.find("shop") is not None
    play(tmp_path, counts[0], counts[1], clock)
    past, latest, pages = shown(tmp_path, table)
    whole, whole_latest, all_pages = shown(tmp_path, None)
    assert past == whole
    assert latest == whole_latest
    assert len(latest) == FEW
    assert pages < all_pages - 5


def test_what_is_kept_names_nobody_and_no_arm_of_a_single_round(tmp_path: Path, table: SQLitePasts) -> None:
    play(tmp_path, 0, 300, Clock())
    shown(tmp_path, table)
    content = table.find("shop") or b""
    kept = unpacked(content)
    assert kept is not None
    assert kept.sums.marks
    assert {mark.arm for mark in kept.sums.marks} == {""}
    assert b"key-" not in content
    assert b"unit-" not in content


@pytest.mark.parametrize("page", [1, 7, 50])
def test_no_span_that_is_kept_is_that_of_a_single_round(
    tmp_path: Path, table: SQLitePasts, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its arm and reward are those of one person, who may be erased while no service runs."""
    contents: list[bytes] = []
    monkeypatch.setattr(table, "put", lambda _, content: contents.append(content))
    play(tmp_path, 0, 300, Clock())
    shown(tmp_path, table, page)
    kept = [unpacked(content) for content in contents]
    assert kept
    assert all(span.first < span.last for past in kept if past is not None for span in past.sums.spans)


def test_nothing_is_left_in_any_file_of_sums_that_were_replaced(tmp_path: Path, table: SQLitePasts) -> None:
    """They may have counted somebody who was erased since."""
    table.put("shop", b"rather-not-said" * 1000)
    assert any(b"rather-not-said" in file.read_bytes() for file in tmp_path.iterdir())
    table.put("shop", b"")
    assert not any(b"rather-not-said" in file.read_bytes() for file in tmp_path.iterdir())
    table.close()
    assert not any(b"rather-not-said" in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("other", [250, 300, 700])
def test_sums_of_another_journal_are_not_used(tmp_path: Path, other: int) -> None:
    """It may be shorter, as long, or longer than the one that the sums are of."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, count in ((one, 300), (two, other)):
        folder.mkdir()
        play(folder, 0, count, Clock())
    with contextlib.closing(past_table(url_in(one))) as mine:
        shown(one, mine)
        assert shown(two, mine) == shown(two, None)


def test_sums_further_than_their_journal_are_not_used(tmp_path: Path, table: SQLitePasts) -> None:
    """A backup from before was put in its place."""
    play(tmp_path, 0, 60, Clock())
    table.put("shop", packed(Mark(10_000, bytes(32)), PastSums(width=4)))
    assert shown(tmp_path, table) == shown(tmp_path, None)


def spoiled(content: bytes) -> Iterator[bytes]:
    body = content[kept_pasts.PAST_CHECK_SIZE :]
    kept = msgspec.msgpack.decode(body)
    yield b""
    yield content[:-1]
    yield content[:40] + bytes([content[40] ^ 1]) + content[41:]
    for change in ({"infex": "0.0.1"}, {"v": 99}, {"number": "1"}, {"more": 1}):
        yield sealed(msgspec.msgpack.encode(kept | change))
    yield sealed(b"\xc1")


def sealed(body: bytes) -> bytes:
    return blake2b(body, digest_size=kept_pasts.PAST_CHECK_SIZE).digest() + body


def test_what_is_damaged_or_of_another_infex_is_not_used(tmp_path: Path, table: SQLitePasts) -> None:
    play(tmp_path, 0, 300, Clock())
    shown(tmp_path, table)
    content = table.find("shop") or b""
    assert isinstance(unpacked(content), KeptPast)
    for bad in spoiled(content):
        assert unpacked(bad) is None
    table.put("shop", next(spoiled(content)))
    assert shown(tmp_path, table) == shown(tmp_path, None)


def test_who_was_erased_after_sums_were_kept_is_not_in_them(tmp_path: Path, table: SQLitePasts) -> None:
    clock = Clock()
    play(tmp_path, 0, 600, clock)
    shown(tmp_path, table)
    with shop(tmp_path, clock=clock) as study:
        assert study.forget("unit-1") == 400
    past, latest, _ = shown(tmp_path, table)
    whole, whole_latest, _ = shown(tmp_path, None)
    assert (past, latest) == (whole, whole_latest)
    assert sum(sum(span["arms"].values()) for span in past["stretches"]) == 400
    kept = unpacked(table.find("shop") or b"")
    assert kept is not None, "sums without them were kept since"
    assert sum(sum(span.arms.values()) for span in kept.sums.spans) <= 400


def test_sums_with_somebody_who_was_erased_go_at_once(tmp_path: Path, table: SQLitePasts) -> None:
    clock = Clock()
    play(tmp_path, 0, 300, clock)
    shown(tmp_path, table)
    assert table.find("shop")
    with shop(tmp_path, clock=clock) as study:
        for unit in ("unit-0", "unit-1"):
            study.forget(unit)
    shown(tmp_path, table)
    assert table.find("shop") == b"", "too few decisions are left to keep sums again"


def test_a_table_that_fails_changes_nothing_that_is_shown(
    tmp_path: Path, table: SQLitePasts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: SQLitePasts, study: str, content: bytes) -> None:
        raise StoreFailed("the disk is full")

    play(tmp_path, 0, 300, Clock())
    monkeypatch.setattr(SQLitePasts, "put", failing)
    assert shown(tmp_path, table) == shown(tmp_path, None)


def test_a_file_that_is_no_table_changes_nothing_that_is_shown(tmp_path: Path) -> None:
    play(tmp_path, 0, 300, Clock())
    (tmp_path / "shop.db.past").write_bytes(b"no database at all" * 100)
    with contextlib.closing(past_table(url_in(tmp_path))) as broken:
        assert shown(tmp_path, broken) == shown(tmp_path, None)


def test_sums_beyond_all_measure_are_not_kept(
    tmp_path: Path, table: SQLitePasts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_view, "MOST_BYTES", 100)
    play(tmp_path, 0, 300, Clock())
    shown(tmp_path, table)
    assert table.find("shop") is None


def test_pasts_are_kept_beside_sqlite(tmp_path: Path) -> None:
    check_past_table(url_in(tmp_path))
    assert [path.name for path in tmp_path.glob("*.past")] == ["shop.db.past"]
