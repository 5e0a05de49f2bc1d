"""Entries of a journal, and the chain that ties each of them to all before it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import repeat
from struct import Struct
from typing import Any, NamedTuple

from infex.checks import quick
from infex.errors import DamagedJournal, JournalMoved

HASH_SIZE, SALT_SIZE = 32, 16
LENGTH_BYTES, PLACE_BYTES = Struct(">I").pack, Struct(">QqI").pack
NO_LENGTH = LENGTH_BYTES(0)
begin_hash = blake2b(digest_size=HASH_SIZE).copy  # a copy takes half the time of a new one


class Mark(NamedTuple):
    """A place in a journal: after how many entries, and the link of the last of them.

    Kept elsewhere, it tells later whether the journal still is what it was.
    """

    number: int
    link: bytes


BEGINNING = Mark(0, bytes(HASH_SIZE))


class Draft(NamedTuple):
    """What is to become an entry: what happened, to which key, of which unit, and when.

    `at` are microseconds since 1970, UTC. `unit` is whom it is about, "" for nobody; it and the `content`
    can be erased, the rest cannot.
    """

    kind: str
    key: str
    unit: str
    at: int
    content: bytes


class Entry(NamedTuple):
    """One entry: a draft in its place.

    `seal` is the hash of salt, unit and content: it stays when these are erased, and so does the chain; the
    salt is erased too, so that nobody finds out by trying what the content was. `link` is the hash of the
    link before it, and of all that stays.
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
        """Was its content taken out?"""
        return self.content is None


WHOLE = (int, str, str, str, int, bytes, bytes, bytes, bytes)
KINDS_BY_COLUMN = [{kind} for kind in WHOLE]
ERASED = (int, str, str, type(None), int, type(None), type(None), bytes, bytes)


def entries_of(rows: Sequence[tuple[Any, ...]]) -> list[Entry]:
    """The entries in rows of a database, whole or erased."""
    kinds = [set(map(type, column)) for column in zip(*rows, strict=True)]  # one of each, as a rule
    if kinds != KINDS_BY_COLUMN and not {tuple(map(type, row)) for row in rows} <= {WHOLE, ERASED}:
        raise DamagedJournal("an entry of the journal is not what was written: its fields are of other kinds")
    return list(map(quick, repeat(Entry), rows))


def linked(drafts: Sequence[Draft], after: Mark) -> list[Entry]:
    """The drafts as the entries behind a place."""
    entries = []
    number, before = after
    salts = secrets.token_bytes(SALT_SIZE * len(drafts))
    for place, (kind, key, unit, at, content) in enumerate(drafts):
        salt = salts[SALT_SIZE * place : SALT_SIZE * (place + 1)]
        seal = _seal(salt, unit, content)
        number += 1
        before = _link(before, number, kind, key, at, seal)
        entries.append(quick(Entry, (number, kind, key, unit, at, content, salt, seal, before)))
    return entries


def followed(entries: Iterable[Entry], after: Mark) -> Iterator[Entry]:
    """The entries, each if it follows the one before; DamagedJournal names the first that does not."""
    last, before = after
    for entry in entries:
        number, kind, key, unit, at, content, salt, seal, link = entry
        last += 1
        if number != last:
            raise DamagedJournal(f"entry {last} of the journal is missing")
        if content is not None and _seal(salt or b"", unit or "", content) != seal:
            refuse_changed(entry)
        if _link(before, number, kind, key, at, seal) != link:
            raise DamagedJournal(f"entry {number} of the journal does not follow the one before it")
        before = link
        yield entry


def refuse_changed(entry: Entry) -> Entry:
    """The entry, if its unit and content are what its seal is of, or were erased."""
    _, _, _, unit, _, content, salt, seal, _ = entry
    if content is not None and _seal(salt or b"", unit or "", content) != seal:
        raise DamagedJournal(f"the content of entry {entry.number} of the journal is not what was written")
    return entry


def refuse_others(name: str, entries: Sequence[Entry], end: Mark) -> None:
    """Refuses entries that do not follow the end of a journal."""
    if entries and not follows(entries[0], end):
        raise JournalMoved(
            f"the journal of {name!r} has {end.number} entries: this entry {entries[0].number} cannot be next"
        )


def follows(entry: Entry, after: Mark) -> bool:
    """Is this the entry behind a place?"""
    link = _link(after.link, entry.number, entry.kind, entry.key, entry.at, entry.seal)
    return entry.number == after.number + 1 and link == entry.link


def _seal(salt: bytes, unit: str, content: bytes) -> bytes:
    begun = begin_hash()
    if unit:
        about = unit.encode()
        begun.update(salt + LENGTH_BYTES(len(about)) + about + content)
    else:
        begun.update(salt + NO_LENGTH + content)
    return begun.digest()


def _link(before: bytes, number: int, kind: str, key: str, at: int, seal: bytes) -> bytes:
    """Parts of any length have it before them, so that no two can be cut otherwise."""
    word, begun = kind.encode(), begin_hash()
    begun.update(before + seal + PLACE_BYTES(number, at, len(word)) + word + key.encode())
    return begun.digest()
