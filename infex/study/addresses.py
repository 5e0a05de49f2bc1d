"""Where studies are kept: `sqlite:///shop.db` or `postgresql://user@host/database`."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from infex.errors import InvalidSetting, StoreInUse
from infex.study.store import Store

SQLITE, POSTGRES = "sqlite:///", ("postgresql://", "postgres://")
_shared: dict[str, tuple[Store, set[str]]] = {}
_lock = threading.Lock()


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


def opened_store(url: str, reading: bool = False) -> Store:
    """The store at a URL; whoever opens it closes it."""
    path = sqlite_path(url)
    if path is None:
        from infex.study.postgres_store import PostgresStore  # each needs a library of its own

        return PostgresStore(url)
    from infex.study.sqlite_store import SQLiteStore

    return SQLiteStore(path, reading=reading)


def claimed_store(url: str, name: str) -> Store:
    """The store at a URL for one study: those of this process in one file of SQLite share it."""
    path = sqlite_path(url)
    if path is None:
        return opened_store(url)
    place = str(path.resolve())
    with _lock:
        if place not in _shared:
            _shared[place] = opened_store(url), set()
        store, names = _shared[place]
        if name in names:
            raise StoreInUse(f"the study {name!r} in {path} is open already in this process")
        names.add(name)
        return store


def release_store(url: str, name: str, store: Store) -> None:
    """Gives back what `claimed_store` gave; the last one closes it."""
    path = sqlite_path(url)
    if path is None:
        store.close()
        return
    place = str(path.resolve())
    with _lock:
        names = _shared[place][1]
        names.discard(name)
        if not names:
            del _shared[place]
            store.close()


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
    store = opened_store(url, reading=True)
    try:
        return store.names()
    finally:
        store.close()
