"""Sums of a study's past on disk, so that a service that starts need not read the whole journal to show it.

They are for a quick start alone, and can be deleted at any time. They hold no key, and of single rounds
nothing that would have to go when a unit is erased.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Protocol, final

import msgspec

from infex.service.past_sums import PastSums
from infex.study.journal import Mark
from infex.study.kept_places import PostgresTables, SQLiteFile
from infex.study.stores.base import sqlite_path
from infex.version import __version__

PAST_VERSION, PAST_CHECK_SIZE = 1, 16
MOST_BYTES = 4_000_000  # sums with more have arms without end, and are read from the journal instead
PASTS_IN_SQLITE = """
pragma synchronous = normal;
create table if not exists pasts (study text primary key, content blob) strict, without rowid;
"""
PASTS_IN_POSTGRES = "create table if not exists infex_pasts (study text primary key, content bytea)"


class KeptPast(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Sums over all entries up to a mark, and the infex that wrote them."""

    v: int = PAST_VERSION
    infex: str = __version__
    number: int
    link: bytes
    sums: PastSums

    @property
    def mark(self) -> Mark:
        """The place behind the last entry that is in the sums."""
        return Mark(self.number, self.link)


def packed(mark: Mark, sums: PastSums) -> bytes:
    """The sums up to a mark, with a checksum."""
    body = msgspec.msgpack.encode(
        KeptPast(number=mark.number, link=mark.link, sums=sums.without_single_arms())
    )
    return blake2b(body, digest_size=PAST_CHECK_SIZE).digest() + body


def unpacked(content: bytes) -> KeptPast | None:
    """What was packed; None if it is damaged, or another infex has written it."""
    body = content[PAST_CHECK_SIZE:]
    if blake2b(body, digest_size=PAST_CHECK_SIZE).digest() != content[:PAST_CHECK_SIZE]:
        return None
    try:
        found = msgspec.msgpack.decode(body, type=KeptPast)
    except msgspec.MsgspecError:
        return None
    return found if (found.v, found.infex) == (PAST_VERSION, __version__) else None


class PastTable(Protocol):
    """Holds packed sums by the names of studies."""

    def find(self, study: str) -> bytes | None:
        """What was put last."""

    def put(self, study: str, content: bytes) -> None:
        """Keeps this in the place of what was before."""

    def close(self) -> None:
        """Lets go of the table."""


def past_table(url: str) -> PastTable:
    """The table that belongs to the database at a URL."""
    path = sqlite_path(url)
    return PostgresPasts(url) if path is None else SQLitePasts(path.with_name(f"{path.name}.past"))


@final
class SQLitePasts:
    """In a file of its own; there is none before the first sums."""

    def __init__(self, path: Path) -> None:
        self._file = SQLiteFile(path, PASTS_IN_SQLITE)
        self.close = self._file.close

    def find(self, study: str) -> bytes | None:
        if not self._file.is_there:
            return None
        with self._file.using() as connection:
            found = connection.execute("select content from pasts where study = ?", (study,)).fetchone()
        return None if found is None else found[0]

    def put(self, study: str, content: bytes) -> None:
        with self._file.using() as connection:
            connection.execute("insert or replace into pasts values (?, ?)", (study, content))
            connection.execute("pragma wal_checkpoint(truncate)")  # the log still holds what was overwritten


@final
class PostgresPasts:
    """In the database itself, so that all instances find them."""

    def __init__(self, url: str) -> None:
        self._tables = PostgresTables(url, PASTS_IN_POSTGRES)
        self.close = self._tables.close

    def find(self, study: str) -> bytes | None:
        words = "select content from infex_pasts where study = %s"
        found = self._tables.run(lambda connection: connection.execute(words, (study,)).fetchone())
        return None if found is None else bytes(found[0])

    def put(self, study: str, content: bytes) -> None:
        words = (
            "insert into infex_pasts values (%s, %s) "
            "on conflict (study) do update set content = excluded.content"
        )
        self._tables.run(lambda connection: connection.execute(words, (study, content)))
