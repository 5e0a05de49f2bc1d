"""The contract that every store of journals keeps."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from infex.errors import DamagedJournal, JournalMoved
from infex.study.journal import BEGINNING, Draft, Entry, Mark, linked
from infex.study.stores.base import Place, Store


def drafts(count: int, start: int = 1) -> list[Draft]:
    """So many drafts, each with a key of its own, in turn of the units ann, bob and nobody."""
    units = ("ann", "bob", "")
    return [
        Draft("decision", f"key-{n}", units[n % 3], 1_000_000 * n, f"content of {n}".encode())
        for n in range(start, start + count)
    ]


@contextlib.contextmanager
def refused(error: type[Exception], words: str = "") -> Iterator[None]:
    """What is done inside must be refused, by that error with these words."""
    found: Exception | None = None
    try:
        yield
    except error as refusal:
        found = refusal
    assert found is not None, f"this must raise {error.__name__}"
    assert words in str(found), found


class StoreContract:
    """Tests for a store of your own: inherit, say how one is opened, and run pytest.

    class TestMine(infex.testing.StoreContract):
        @pytest.fixture
        def store(self):
            return MyStore()

        def reopened(self, store):
            store.close()
            return MyStore()
    """

    def reopened(self, store: Store) -> Store:
        """The same store after its process has ended; by itself it stays as it is."""
        return store

    def test_what_was_appended_is_read(self, store: Store) -> None:
        assert (store.names(), store.end("a"), list(store.read("a"))) == ([], BEGINNING, [])
        entries = linked(drafts(2500), BEGINNING)
        store.append("a", entries[:2], BEGINNING)
        store.append("a", entries[2:], entries[1].mark)
        store = self.reopened(store)
        assert store.names() == ["a"]
        assert store.end("a") == entries[-1].mark
        assert list(store.read("a")) == entries
        assert list(store.read("a", entries[4].mark, 1200)) == entries[5:1205]
        assert list(store.read("a", entries[-1].mark)) == []

    def test_journals_stand_apart(self, store: Store) -> None:
        for name in ("b", "a"):
            store.append(name, linked(drafts(3), BEGINNING), BEGINNING)
        store.append("b", linked(drafts(1, 4), store.end("b")), store.end("b"))
        assert store.names() == ["a", "b"]
        assert (store.end("a").number, store.end("b").number) == (3, 4)

    def test_only_what_follows_is_taken(self, store: Store) -> None:
        entries = linked(drafts(4), BEGINNING)
        store.append("a", entries[:2], BEGINNING)
        end = store.end("a")
        other = Mark(2, bytes(32))  # of the right number, but not of this chain
        for after in (BEGINNING, entries[2].mark, Mark(5, bytes(32)), other):
            with refused(JournalMoved):
                store.append("a", linked(drafts(1), after), after)
        for wrong in (entries[:1], entries[3:], linked(drafts(1), other)):
            with refused(JournalMoved):
                store.append("a", wrong, end)
        assert store.end("a") == end
        store.append("a", [], end)
        store.append("a", entries[2:], end)
        assert list(store.read("a")) == entries

    def test_nothing_is_kept_of_a_new_journal_that_was_refused(self, store: Store) -> None:
        after = Mark(7, bytes(32))
        with refused(JournalMoved):
            store.append("a", linked(drafts(1), after), after)
        assert store.names() == []

    def test_entries_are_found_by_key_and_by_unit(self, store: Store) -> None:
        entries = linked([*drafts(7), Draft("reward", "key-2", "bob", 9, b"1.0"), *drafts(1, 8)], BEGINNING)
        store.append("a", entries, BEGINNING)
        assert store.of_keys("a", ["key-2"]) == [entries[1], entries[7]]
        assert store.of_keys("a", ["key-3", "key-99", "key-2"]) == [entries[1], entries[2], entries[7]]
        assert store.of_unit("a", "bob") == [each for each in entries if each.unit == "bob"]
        assert store.of_keys("a", ["key-99"]) == store.of_keys("a", []) == store.of_keys("b", ["key-2"]) == []
        assert store.of_unit("a", "") == store.of_keys("a", [""]) == []

    def test_what_is_erased_is_gone_and_the_chain_holds(self, store: Store) -> None:
        entries = linked(drafts(5), BEGINNING)
        store.append("a", entries, BEGINNING)
        before, learnt = Place(entries[0].mark, b"none"), Place(entries[-1].mark, b"none")
        for place in (before, learnt):
            store.keep("a", place, b"all that it has learnt")
        store.erase("a", [entry.number for entry in store.of_unit("a", "bob")], [learnt])
        store = self.reopened(store)
        found = list(store.read("a"))
        erased = [entry.number for entry in found if entry.is_erased]
        assert erased == [1, 4]
        assert [(each.unit, each.content, each.salt) for each in found if each.is_erased] == [
            (None, None, None)
        ] * 2
        assert [each.mark for each in found] == [each.mark for each in entries]
        assert store.of_unit("a", "bob") == []
        assert store.places("a") == [before]

    def test_a_change_of_what_was_written_is_noticed(self, store: Store) -> None:
        entries = linked(drafts(3), BEGINNING)
        for changed in changes(entries[1]):
            name = repr(changed)
            store.append(name, [entries[0], changed, entries[2]], BEGINNING)
            with refused(DamagedJournal, "entry "):
                list(store.read(name))

    def test_snapshots_are_kept_beside_each_other_or_in_the_place_of_others(self, store: Store) -> None:
        entries = linked(drafts(3), BEGINNING)
        store.append("a", entries, BEGINNING)
        assert (store.places("a"), store.key_runs("a")) == ([], [])
        one, two, other, last = (
            Place(entries[place].mark, erased) for place, erased in ((0, b""), (1, b""), (1, b"x"), (2, b""))
        )
        for place in (one, two, other):
            store.keep("a", place, bytes(100_000))
        store.keep("a", two, b"newer", {1: b"second", 0: b"first"})
        store.keep("a", last, b"last", {1: b"2", 2: b"3"}, [one, other])
        store = self.reopened(store)
        assert store.places("a") == [last, two]
        assert [store.snapshot("a", place) for place in (two, last, one)] == [b"newer", b"last", None]
        assert store.snapshot("a", two._replace(mark=Mark(2, bytes(32)))) is None
        assert store.key_runs("a") == [b"first", b"2", b"3"]
        assert (store.places("b"), store.key_runs("b")) == ([], [])
        with refused(JournalMoved):
            store.keep("a", Place(Mark(4, bytes(32)), b""), b"")

    def test_threads_are_in_a_transaction_one_at_a_time(self, store: Store) -> None:
        def work() -> None:
            for _ in range(25):
                with store.transaction("a"):
                    end = store.end("a")
                    store.append("a", linked(drafts(2), end), end)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list(store.read("a"))) == 200


def changes(entry: Entry) -> list[Entry]:
    """The entry with one thing changed, each in turn."""
    return [
        entry._replace(kind="reward"),
        entry._replace(key="other"),
        entry._replace(unit="eve"),
        entry._replace(at=entry.at + 1),
        entry._replace(content=b"other"),
        entry._replace(salt=bytes(16)),
        entry._replace(seal=bytes(32)),
        entry._replace(link=bytes(32)),
    ]
