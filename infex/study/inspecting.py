"""What can be read of studies from outside, beside the process that has them open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from infex.errors import InvalidSetting, UnknownStudy
from infex.study.addresses import opened_store, sqlite_path, without_password
from infex.study.cases import EntryKind
from infex.study.contents import AmendmentContent, OpenedContent, content_of
from infex.study.entries import BEGINNING, Entry
from infex.study.explaining_cases import time_of
from infex.study.opening import replayed
from infex.study.store import Store
from infex.study.study_figures import figures_of
from infex.study.verifying import checkpoint_of

PAGE_RESTORED = 1000


@contextlib.contextmanager
def reading(url: str, name: str | None = None) -> Iterator[Store]:
    """The store at a URL, to be read; the study `name` must be there."""
    path = sqlite_path(url)
    if path is not None and not path.exists():
        raise InvalidSetting(f"there is no file {path}")
    with contextlib.closing(opened_store(url, reading=True)) as store:
        if name is not None and store.end(name) == BEGINNING:
            known = ", ".join(store.names()) or "none"
            raise UnknownStudy(f"there is no study {name!r} at {without_password(url)}; there is: {known}")
        yield store


def listed(url: str) -> list[dict[str, Any]]:
    """One row for each study: its name, how many entries it has, and when it was opened first."""
    with reading(url) as store:
        return [_first(store, name) for name in store.names()]


def _first(store: Store, name: str) -> dict[str, Any]:
    entry = next(iter(store.read(name, BEGINNING, 1)))
    return {"name": name, "entries": store.end(name).number, "opened": time_of(entry.at).isoformat()}


def shown_study(url: str, name: str) -> dict[str, Any]:
    """What a study is: settings it began with, amendments since, and a checkpoint to be kept elsewhere."""
    with reading(url, name) as store:
        amendments = []
        opened: dict[str, Any] = {}
        for entry in store.read(name, BEGINNING):
            if entry.kind == EntryKind.OPENED and entry.content is not None:
                content = content_of(OpenedContent, entry.number, entry.content)
                opened = {"infex": content.infex, "settings": content.settings}
            elif entry.kind == EntryKind.AMENDMENT and entry.content is not None:
                change = content_of(AmendmentContent, entry.number, entry.content)
                at = time_of(entry.at).isoformat()
                amendments.append(
                    {
                        "entry": entry.number,
                        "at": at,
                        "what": change.what,
                        "to": change.to,
                        "reason": change.reason,
                    }
                )
        mark = store.end(name)
        return {
            "name": name,
            "entries": mark.number,
            **opened,
            "amendments": amendments,
            "checkpoint": checkpoint_of(mark),
        }


def log_rows(
    url: str, name: str, key: str | None = None, last: int | None = None, contents: bool = False
) -> list[dict[str, Any]]:
    """Entries of a journal, all, the `last`, or those of a key; contents and units if they are asked for."""
    with reading(url, name) as store:
        entries = list(store.read(name, BEGINNING)) if key is None else store.of_key(name, key)
        chosen = entries if last is None else entries[-last:]
        return [_entry(each, contents) for each in chosen]


def _entry(entry: Entry, contents: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "entry": entry.number,
        "kind": entry.kind,
        "key": entry.key,
        "at": time_of(entry.at).isoformat(),
        "erased": entry.is_erased,
    }
    if contents:
        content = None if entry.content is None else msgspec.json.decode(entry.content)
        row |= {"unit": entry.unit, "content": content}
    return row


def metrics_at(url: str, name: str, now: int) -> dict[str, Any]:
    """The figures of a study, with ages at a time in microseconds."""
    with reading(url, name) as store:
        return figures_of(replayed(store, name, {})[0], now).whole()


def back_up(url: str, path: Path) -> list[str]:
    """Copies all studies at a URL into a new file of SQLite, while they are in use; their names."""
    with reading(url) as store:
        store.backup(Path(path))
        return store.names()


def restore(path: Path, url: str) -> list[str]:
    """Brings the studies of a backup to a URL that has none of their names; their names."""
    with reading(f"sqlite:///{path}") as source, contextlib.closing(opened_store(url)) as target:
        names, there = source.names(), set(target.names())
        if both := [name for name in names if name in there]:
            raise InvalidSetting(f"there is a study {both[0]!r} at {without_password(url)} already")
        for name in names:
            for page in _pages(source.read(name, BEGINNING)):
                target.append(name, page)
        return names


def _pages(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    page: list[Entry] = []
    for entry in entries:
        page.append(entry)
        if len(page) == PAGE_RESTORED:
            yield page
            page = []
    if page:
        yield page
