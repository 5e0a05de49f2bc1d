"""What can be read of studies from outside, beside the process that has them open; backups."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, final

import msgspec

from infex.errors import InvalidSetting
from infex.study.events import MICROSECONDS, Amended, EventKind, Opened, content_of, time_of
from infex.study.explain import explain
from infex.study.export import export
from infex.study.journal import BEGINNING, Entry, copy_journal
from infex.study.lift import lift_of
from infex.study.metrics import count_by_age
from infex.study.snapshot import load_state, without_erased
from infex.study.stores.base import Store, open_store, reading, without_password
from infex.study.verify import verify


def list_studies(url: str) -> list[dict[str, Any]]:
    """One row for each study: its name, how many entries it has, and when it was opened first."""
    rows = []
    with reading(url) as store:
        for name in store.names():
            first = next(iter(store.read(name, BEGINNING, 1)))
            opened = time_of(first.at).isoformat()
            rows.append({"name": name, "entries": store.end(name).number, "opened": opened})
    return rows


def describe_study(url: str, name: str) -> dict[str, Any]:
    """What a study is: settings it began with, amendments since, and a checkpoint to be kept elsewhere."""
    with reading(url, name) as store:
        amendments, opened, mark = [], dict[str, Any](), BEGINNING
        for entry in store.read(name, BEGINNING):
            mark = entry.mark
            if entry.kind == EventKind.OPENED:
                first = content_of(Opened, entry)
                opened = {"infex": first.infex, "settings": first.settings}
            elif entry.kind == EventKind.AMENDMENT:
                change, at = content_of(Amended, entry), time_of(entry.at).isoformat()
                words = {"what": change.what, "to": change.to, "reason": change.reason}
                amendments.append({"entry": entry.number, "at": at, **words})
    found = {"name": name, "entries": mark.number, **opened}
    return found | {"amendments": amendments, "checkpoint": mark.checkpoint()}


def log_rows(
    url: str, name: str, key: str | None = None, last: int | None = None, contents: bool = False
) -> list[dict[str, Any]]:
    """Entries of a journal, all, the `last`, or those of a key; contents and units if they are asked for."""
    with reading(url, name) as store:
        entries = store.read(name, BEGINNING) if key is None else iter(store.of_keys(name, [key]))
        return [_row(entry, contents) for entry in deque(without_erased(store, name, entries), maxlen=last)]


def _row(entry: Entry, contents: bool) -> dict[str, Any]:
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


@final
class StoredStudy:
    """A study as its store has it: the verbs of a `RemoteStudy` that only read, which answer plain data."""

    def __init__(self, store: Store, name: str) -> None:
        self.name, self._store = name, store

    def explain(self, key: str, *, prove: bool = True, contents: bool = False) -> dict[str, Any]:
        """Why a decision was taken."""
        return explain(self._store, self.name, {}, key, contents, prove).plain()

    def verify(self, checkpoint: str | None = None) -> dict[str, Any]:
        """What replaying the whole journal finds."""
        verdict = verify(self._store, self.name, {}, checkpoint)
        return {"holds": verdict.holds, **verdict._asdict()}

    def export(self, path: Path) -> dict[str, int]:
        """Writes all decisions with their rewards as a log in Parquet; how many."""
        return export(self._store, self.name, {}, path)._asdict()

    def lift(self) -> dict[str, Any]:
        """What the study gains over those held out, with an interval of 95 %."""
        rules = load_state(self._store, self.name, {}, with_keys=False)[0].rules
        entries = without_erased(self._store, self.name, self._store.read(self.name))
        return lift_of(entries, rules, int(time.time() * MICROSECONDS), 0.95)._asdict()

    def metrics(self) -> dict[str, Any]:
        """The figures of the study, with ages as of now."""
        figures, times = load_state(self._store, self.name, {}, with_keys=False)[0].metrics()
        return figures | {"pending_by_age": count_by_age(times, int(time.time() * MICROSECONDS))}


@contextlib.contextmanager
def stored_study(url: str, name: str) -> Iterator[StoredStudy]:
    """A study that is read beside the process that has it open."""
    with reading(url, name) as store:
        yield StoredStudy(store, name)


def back_up(url: str, path: Path) -> list[str]:
    """Copies all studies at a URL into a new file of SQLite, while they are in use; their names."""
    with reading(url) as store:
        store.backup(Path(path))
        return store.names()


def restore(path: Path, url: str) -> list[str]:
    """Brings the studies of a backup to a URL that has none of their names; their names."""
    with reading(f"sqlite:///{path}") as source, contextlib.closing(open_store(url)) as target:
        names, there = source.names(), set(target.names())
        if both := [name for name in names if name in there]:
            raise InvalidSetting(f"there is a study {both[0]!r} at {without_password(url)} already")
        for name in names:
            copy_journal(source.read(name), partial(target.append, name))
        return names
