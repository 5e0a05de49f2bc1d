"""The journal of a study: entries in a row, each tied to all before it by a chain of hashes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import Any, NamedTuple

from infex.errors import DamagedJournal, InvalidSetting, JournalMoved

HASH_SIZE, SALT_SIZE = 32, 16
ENTRIES_PER_PAGE = 1000  # that are read at once
RESERVED = "infex:"  # what keys of the journal's own begin with
LENGTH, PLACE = Struct(">I"), Struct(">QqI")


class Mark(NamedTuple):
    """A place in a journal: after how many entries, and the link of the last of them.

    Kept elsewhere, it tells later whether the journal still is what it was.
    """

    number: int
    link: bytes

    def checkpoint(self) -> str:
        """The mark as a text, to be kept elsewhere."""
        return f"{self.number}:{self.link.hex()}"

    @staticmethod
    def from_checkpoint(text: str) -> Mark:
        """The mark that `checkpoint` gave as a text."""
        number, _, link = text.partition(":")
        try:
            found = Mark(int(number), bytes.fromhex(link))
        except ValueError:
            found = Mark(0, b"")
        if found.number < 1 or len(found.link) != HASH_SIZE:
            raise InvalidSetting(
                f"a checkpoint must be a number, a colon and {2 * HASH_SIZE} hexadecimal digits"
            )
        return found


BEGINNING = Mark(0, bytes(HASH_SIZE))


class Draft(NamedTuple):
    """An event in bytes, which has no place in a journal yet.

    `at` are microseconds since 1970, UTC. `unit` is whom it is about, "" for nobody; it and the `content`
    can be erased, the rest cannot.
    """

    kind: str
    key: str
    unit: str
    at: int
    content: bytes


class Entry(NamedTuple):
    """A draft in its place.

    `seal` is the hash of salt, unit and content. It stays when these are erased, and so does the chain; the
    salt is erased too, so that nobody finds the content by trying. `link` is the hash of the link before it
    and of all that stays.
    """

    number: int
    kind: str
    key: str
    unit: str | None
    at: int
    content: bytes | None
    salt: bytes | None
    seal: bytes
    link: bytes

    @property
    def mark(self) -> Mark:
        """The place behind it."""
        return Mark(self.number, self.link)

    @property
    def is_erased(self) -> bool:
        """Was its content erased?"""
        return self.content is None

    def erased(self) -> Entry:
        """What a store has of it once it is erased."""
        return self._replace(unit=None, content=None, salt=None)


WHOLE = (int, str, str, str, int, bytes, bytes, bytes, bytes)
ERASED = (int, str, str, type(None), int, type(None), type(None), bytes, bytes)


def entries_from_rows(rows: Iterable[tuple[Any, ...]]) -> list[Entry]:
    """The entries in rows of a database: DamagedJournal unless each is whole, or erased."""
    entries = []
    for row in rows:
        if tuple(map(type, row)) not in (WHOLE, ERASED):
            raise DamagedJournal("an entry of the journal is not what was written: a field has another type")
        entries.append(Entry._make(row))
    return entries


def linked(drafts: Iterable[Draft], after: Mark) -> list[Entry]:
    """The drafts as the entries behind a mark."""
    entries = []
    number, before = after
    for kind, key, unit, at, content in drafts:
        number, salt = number + 1, secrets.token_bytes(SALT_SIZE)
        seal = _seal(salt, unit, content)
        before = _link(before, number, kind, key, at, seal)
        entries.append(Entry(number, kind, key, unit, at, content, salt, seal, before))
    return entries


def verified(entries: Iterable[Entry], after: Mark) -> Iterator[Entry]:
    """The entries, each if it follows the one before; DamagedJournal names the first that does not."""
    for entry in entries:
        if entry.number != after.number + 1:
            raise DamagedJournal(f"entry {after.number + 1} of the journal is missing")
        check_seal(entry)
        if not follows(entry, after):
            raise DamagedJournal(f"entry {entry.number} of the journal does not follow the one before it")
        after = entry.mark
        yield entry


def check_seal(entry: Entry) -> None:
    """Refuses an entry whose unit and content are neither erased nor what was sealed."""
    if entry.content is None:
        return
    if _seal(entry.salt or b"", entry.unit or "", entry.content) != entry.seal:
        raise DamagedJournal(f"the content of entry {entry.number} of the journal is not what was written")


def follows(entry: Entry, after: Mark) -> bool:
    """Is this the entry behind a mark?"""
    link = _link(after.link, entry.number, entry.kind, entry.key, entry.at, entry.seal)
    return entry.number == after.number + 1 and link == entry.link


def check_append(name: str, entries: Sequence[Entry], after: Mark, end: Mark) -> None:
    """Refuses entries (JournalMoved) unless they follow `after`, and the journal ends there."""
    if end != after or not follows(entries[0], after):
        raise JournalMoved(
            f"the journal of {name!r} has {end.number} entries: this entry {entries[0].number} cannot be next"
        )


def read_pages(
    read_page: Callable[[int, int], list[Entry]], after: Mark, most: int | None
) -> Iterator[Entry]:
    """The verified entries behind a mark, all or `most`; `read_page` gets a number and how many to read."""
    left = ENTRIES_PER_PAGE if most is None else most
    while left > 0:
        wanted = min(left, ENTRIES_PER_PAGE)
        page = read_page(after.number, wanted)
        yield from verified(page, after)
        if len(page) < wanted:
            return
        after = page[-1].mark
        left = left if most is None else left - len(page)


def copy_journal(entries: Iterable[Entry], append: Callable[[list[Entry], Mark], None]) -> None:
    """Appends a whole journal elsewhere, page by page."""
    after, left = BEGINNING, iter(entries)
    while page := list(islice(left, ENTRIES_PER_PAGE)):
        append(page, after)
        after = page[-1].mark


def _seal(salt: bytes, unit: str, content: bytes) -> bytes:
    about = unit.encode()
    return blake2b(salt + LENGTH.pack(len(about)) + about + content, digest_size=HASH_SIZE).digest()


def _link(before: bytes, number: int, kind: str, key: str, at: int, seal: bytes) -> bytes:
    """Parts of any length have it before them, so that no two can be cut otherwise."""
    word = kind.encode()
    place = PLACE.pack(number, at, len(word))
    return blake2b(before + seal + place + word + key.encode(), digest_size=HASH_SIZE).digest()
