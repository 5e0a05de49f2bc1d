"""What a store of journals does, and where one is: `sqlite:///shop.db` or `postgresql://user@host/database`."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from infex.errors import InvalidSetting, StoreInUse, UnknownStudy
from infex.study.journal import BEGINNING, Entry, Mark

SQLITE, POSTGRES = "sqlite:///", ("postgresql://", "postgres://")


class Place(NamedTuple):
    """Where a snapshot was taken: behind which entry, and (as a hash) without which erased entries."""

    mark: Mark
    erased: bytes


NO_RUNS: Mapping[int, bytes] = MappingProxyType({})


class Store(Protocol):
    """Journals by the names of their studies.

    Any thread may call any of these. `infex.testing.StoreContract` tests one of your own.
    """

    shared: bool
    """May other processes append to the same journals? Then each append needs a transaction."""

    def names(self) -> list[str]:
        """The studies that are kept, in alphabetical order."""

    def end(self, name: str) -> Mark:
        """The place behind the last entry; the beginning, if there is none."""

    def transaction(self, name: str) -> AbstractContextManager[None]:
        """While it lasts, no other thread and no other process is in a transaction of this journal."""

    def append(self, name: str, entries: Sequence[Entry], after: Mark) -> None:
        """Keeps all entries or none: when it returns, they are on disk.

        JournalMoved is raised, and nothing kept, unless the journal ends at `after`, and the entries follow;
        StoreFailed if the disk or the server does not obey. After that they may be there or not: `read`
        tells.
        """

    def read(self, name: str, after: Mark = BEGINNING, most: int | None = None) -> Iterator[Entry]:
        """The entries behind a mark, all or `most` of them; DamagedJournal where they do not fit."""

    def of_keys(self, name: str, keys: Collection[str]) -> list[Entry]:
        """All entries of these keys, in their order."""

    def of_unit(self, name: str, unit: str) -> list[Entry]:
        """All entries of one unit that were not erased, in their order."""

    def erase(self, name: str, numbers: Sequence[int], learnt: Collection[Place]) -> None:
        """Takes unit, content and salt out of entries, on disk too; that they were there stays.

        The snapshots that have learnt from them go, too.
        """

    def keep(
        self,
        name: str,
        place: Place,
        content: bytes,
        runs: Mapping[int, bytes] = NO_RUNS,
        replaced: Collection[Place] = (),
    ) -> None:
        """Keeps a snapshot (in the place of others, if that is said) and runs of keys by their numbers.

        A snapshot is a state, for a quick start; the journal stays the truth.
        """

    def places(self, name: str) -> list[Place]:
        """Where snapshots were taken that are kept, the newest first."""

    def snapshot(self, name: str, place: Place) -> bytes | None:
        """The snapshot of a place; None if it is kept no longer."""

    def key_runs(self, name: str) -> list[bytes]:
        """All runs of keys that are kept, in their order."""

    def archive(self, name: str, folder: Path, last: int) -> int:
        """Moves entries up to the `last` into files in a folder, if they are not there already; how many.

        All are found as before. Those that a study looks for when it is opened stay (the first, and all whose
        key begins with "infex:"), and so does the last of all. The folder may be another than before, once
        all files were moved there.
        """

    def backup(self, path: Path) -> None:
        """Copies all of the database into a new file, while it is in use; not what was archived."""

    def close(self) -> None:
        """Lets go of the file or the server; nothing can be done with it after."""


def sqlite_path(url: str) -> Path | None:
    """The file that a URL of SQLite names; None of another URL."""
    if not isinstance(url, str) or not url.startswith((SQLITE, *POSTGRES)) or url == SQLITE:
        raise InvalidSetting(
            f"a study is kept at sqlite:///file.db or at postgresql://user@host/database, got {url!r}"
        )
    return Path(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else None


def without_password(url: str) -> str:
    """A URL as it may stand in a log.

    >>> without_password("postgresql://infex:hunter2@db/infex?password=hunter2")
    'postgresql://infex:***@db/infex?password=***'
    """
    hidden = re.sub(r"^(\w+://[^/:@]*):.*@", r"\1:***@", url)
    return re.sub(r"(password=)[^&]*", r"\1***", hidden)


def open_store(url: str, reading: bool = False) -> Store:
    """The store at a URL; whoever opens it closes it."""
    path = sqlite_path(url)
    if path is None:
        from infex.study.stores.postgres import PostgresStore  # each needs a library of its own

        return PostgresStore(url)
    from infex.study.stores.sqlite import SQLiteStore

    return SQLiteStore(path, reading=reading)


@contextlib.contextmanager
def reading(url: str, name: str | None = None) -> Iterator[Store]:
    """The store at a URL, to be read beside the process that has it open; the study `name` must be there."""
    with contextlib.closing(open_store(url, reading=True)) as store:
        if name is not None and store.end(name) == BEGINNING:
            known = ", ".join(store.names()) or "none"
            raise UnknownStudy(f"there is no study {name!r} at {without_password(url)}; there is: {known}")
        yield store


def studies(url: str) -> list[str]:
    """The names of the studies that are kept at a URL, in alphabetical order.

    >>> import tempfile, infex
    >>> folder = tempfile.TemporaryDirectory()
    >>> url = f"sqlite:///{folder.name}/shop.db"
    >>> infex.Study.open(url, "pricing", arms=[[1.0]], policy=infex.Greedy()).close()
    >>> infex.studies(url)
    ['pricing']
    >>> folder.cleanup()
    """
    path = sqlite_path(url)
    if path is not None and not path.exists():
        return []
    with reading(url) as store:
        return store.names()


_open_files: dict[Path, tuple[Store, set[str]]] = {}
_open_files_lock = threading.Lock()


def claim_store(url: str, name: str) -> Store:
    """The store at a URL for one study: the studies of this process in one file of SQLite share a store."""
    path = sqlite_path(url)
    if path is None:
        return open_store(url)
    with _open_files_lock:
        file = path.resolve()
        if file not in _open_files:
            _open_files[file] = open_store(url), set()
        store, names = _open_files[file]
        if name in names:
            raise StoreInUse(f"the study {name!r} in {path} is open already in this process")
        names.add(name)
        return store


def release_store(url: str, name: str, store: Store) -> None:
    """Gives back what `claim_store` gave; the last study of a file closes it."""
    path = sqlite_path(url)
    if path is None:
        store.close()
        return
    with _open_files_lock:
        file = path.resolve()
        names = _open_files[file][1]
        names.discard(name)
        if not names:
            del _open_files[file]
            store.close()
