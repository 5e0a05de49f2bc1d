"""What keeps journals: a small protocol, which SQLite and PostgreSQL implement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from infex.study.entries import Entry, Mark


class Snapshot(NamedTuple):
    """A state after so many entries, for a quick start; the journal stays the truth."""

    mark: Mark
    content: bytes


class Store(Protocol):
    """Journals by the names of their studies.

    Any thread may call any of these. `infex.testing.StoreContract` tests one of your own.
    """

    def names(self) -> list[str]:
        """The studies that are kept, in alphabetical order."""

    def end(self, name: str) -> Mark:
        """The place behind the last entry; the beginning, if there is none."""

    def append(self, name: str, entries: Sequence[Entry]) -> None:
        """Keeps all entries or none: when it returns, they are on disk.

        JournalMoved is raised, and nothing kept, unless they follow the last entry that is there; StoreFailed
        if the disk or the server does not obey. After that they may be there or not: `end` tells.
        """

    def read(self, name: str, after: Mark, most: int | None = None) -> Iterator[Entry]:
        """The entries behind a place, all or `most` of them; DamagedJournal where they do not fit."""

    def of_key(self, name: str, key: str) -> list[Entry]:
        """All entries of one key."""

    def of_unit(self, name: str, unit: str) -> list[Entry]:
        """All entries of one unit that were not erased."""

    def erase(self, name: str, numbers: Sequence[int]) -> None:
        """Takes unit, content and salt out of entries, on disk too; that they were there stays."""

    def keep(self, name: str, snapshot: Snapshot) -> None:
        """Keeps a snapshot in the place of those before."""

    def snapshots(self, name: str) -> list[Snapshot]:
        """What is kept of these, the newest first."""

    def turn(self, name: str) -> AbstractContextManager[None]:
        """While it lasts, nobody else can append to this journal."""

    def backup(self, path: Path) -> None:
        """Copies all that is kept into a new file, while it is in use."""

    def close(self) -> None:
        """Lets go of the file or the server; nothing can be done with it after."""
