"""A study begun, or opened again: from a snapshot and the entries behind it, or from the journal alone."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from infex.errors import DamagedJournal, JournalMoved, UnknownStudy
from infex.study.cases import FORGOTTEN_KEY, EntryKind
from infex.study.contents import (
    CONTENT_VERSION,
    ForgottenContent,
    OpenedContent,
    Residue,
    content_of,
    encoded,
)
from infex.study.entries import BEGINNING, Draft, Entry, Mark, linked
from infex.study.standing import History, Standing
from infex.study.state_snapshots import standing_from
from infex.study.store import Snapshot, Store
from infex.study.study_settings import THINGS, is_same, kept_setting, kept_settings, refuse_different
from infex.version import __version__

PAGE_ENTERED = 10_000  # entries that are entered together
YOUNG_OBJECTS = 100_000  # a page of entries has no cycles: it is not looked at while it is read
REPLAYING = threading.Lock()


def opened_standing(store: Store, name: str, given: Mapping[str, object], at: int) -> tuple[Standing, Mark]:
    """The state of a study, which is begun if there is none, and the place behind its last entry."""
    kept = [
        snapshot.mark for snapshot in store.snapshots(name)
    ]  # before the end: others may append meanwhile
    if (missing := missing_entries(name, store.end(name), kept)) is not None:
        raise DamagedJournal(missing)
    if store.end(name) == BEGINNING:
        _begin(store, name, given, at)
    _finish_erasing(store, name)
    standing, mark = replayed(store, name, given)
    refuse_different(name, standing.settings, _beyond_beginning(store, name, given))
    return standing, mark


def missing_entries(name: str, end: Mark, kept: Iterable[Mark]) -> str | None:
    """What to say of a journal that ends before an entry of which a snapshot is kept; None if it does not.

    A snapshot is written after its entries are on disk, so no crash leaves one without them.
    """
    last = max((mark.number for mark in kept), default=0)
    if last <= end.number:
        return None
    return (
        f"the journal of {name!r} ends at entry {end.number}, and a snapshot of entry {last} is kept "
        f"beside it: {last - end.number} entries are missing. Restore the database from a backup. To go on "
        "without them, copy what is left to a new database: infex study backup, then infex study restore"
    )


def _beyond_beginning(store: Store, name: str, given: Mapping[str, object]) -> dict[str, object]:
    """What is given, but for code of yours that the study began with: replay needs that in any case."""
    first = next(iter(store.read(name, BEGINNING, 1)))
    began = content_of(OpenedContent, 1, first.content or b"").settings
    codes = {word for word in THINGS if began.get(word) and began[word]["record"] is None}
    needed = {word for word in codes & given.keys() if is_same(began[word], kept_setting(word, given[word]))}
    return {word: value for word, value in given.items() if word not in needed}


def _begin(store: Store, name: str, given: Mapping[str, object], at: int) -> None:
    """Writes the first entry, if a study can begin with these settings."""
    if not given:
        raise UnknownStudy(
            f"there is no study {name!r}: give arms, dim or features, and a policy, to begin it"
        )
    settings = kept_settings(given)
    Standing(settings, given, lambda _: [])  # refuses what cannot be
    content = OpenedContent(v=CONTENT_VERSION, infex=__version__, settings=settings)
    draft = Draft(EntryKind.OPENED.value, "", "", at, encoded(content))
    with contextlib.suppress(JournalMoved):  # another process has begun it meanwhile
        store.append(name, linked([draft], BEGINNING))


def replayed(
    store: Store,
    name: str,
    given: Mapping[str, object],
    erased: Mapping[int, Residue] | None = None,
    snapshots: bool = True,
    before: int | None = None,
) -> tuple[Standing, Mark]:
    """The state that the journal has come to, and the place behind its last entry.

    `erased` are entries that are to be left out beside those that were erased before. `before` is the entry
    that the state is to be looked at before.
    """
    known = forgotten(store, name)
    for snapshot in store.snapshots(name) if snapshots else ():
        if snapshot.mark.number < known.last:
            continue  # it has learnt what was erased since
        if (found := _from_snapshot(store, name, snapshot, given)) is not None:
            return found
    first = next(iter(store.read(name, BEGINNING, 1)))
    standing = begun_standing(store, name, first, given)
    standing.residues |= dict(erased or {})
    return caught_up(store, name, standing, first.mark, None if before is None else before - 2)


def begun_standing(store: Store, name: str, first: Entry, given: Mapping[str, object]) -> Standing:
    """The state after the first entry of a journal, from which all others can be entered."""
    known = forgotten(store, name)
    standing = Standing.begun(first, given, _history(store, name))
    standing.residues, standing.forgotten = known.residues, known.spans
    return standing


class Forgotten(NamedTuple):
    """What is left of the entries that were erased, by their numbers.

    `spans` are the entries between which the state rested on what was erased since: from the first that was,
    to the one that says so.
    """

    residues: dict[int, Residue]
    spans: list[tuple[int, int]]

    @property
    def last(self) -> int:
        """The last entry that tells what was erased."""
        return self.spans[-1][1] if self.spans else 0


def forgotten(store: Store, name: str) -> Forgotten:
    """All that was erased."""
    entries = store.of_key(name, FORGOTTEN_KEY)
    contents = [content_of(ForgottenContent, entry.number, entry.content or b"") for entry in entries]
    residues = {residue.number: residue for content in contents for residue in content.residues}
    firsts = [min(residue.number for residue in content.residues) for content in contents]
    return Forgotten(residues, [(first, entry.number) for first, entry in zip(firsts, entries, strict=True)])


def _finish_erasing(store: Store, name: str) -> None:
    """Erases what a process left that stopped before it had done so; a snapshot is kept after that."""
    known = forgotten(store, name)
    last = known.last
    if last and not any(snapshot.mark.number >= last for snapshot in store.snapshots(name)):
        store.erase(name, list(known.residues))
        store.keep(name, Snapshot(store.end(name), b""))  # the one before has learnt what was erased


def _history(store: Store, name: str) -> History:
    return lambda key: store.of_key(name, key)


def _from_snapshot(
    store: Store, name: str, snapshot: Snapshot, given: Mapping[str, object]
) -> tuple[Standing, Mark] | None:
    """The state by way of a snapshot; None if that is not one of this journal."""
    end = store.end(name)
    if snapshot.mark.number > end.number or (snapshot.mark.number == end.number and snapshot.mark != end):
        return None
    standing = standing_from(snapshot.content, snapshot.mark.number, given, _history(store, name))
    if standing is None:
        return None
    try:
        return caught_up(store, name, standing, snapshot.mark)
    except DamagedJournal:  # if it is the journal that is damaged, reading all of it says so
        return None


def caught_up(
    store: Store, name: str, standing: Standing, mark: Mark, most: int | None = None
) -> tuple[Standing, Mark]:
    """The state after all entries behind a place, or so many, and the place behind those."""
    standing.bandit.silence_reward_warnings()
    entries = store.read(name, mark, most)
    with _old_objects_left_alone():
        while page := list(islice(entries, PAGE_ENTERED)):
            for entry in page:
                standing.enter(entry)
            mark = page[-1].mark
    return standing, mark


@contextlib.contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """While it lasts, the garbage collector looks seldom, and not at what was there before.

    It would go through all of that each time that some thousand entries more have been read: a third of the
    time that a replay takes.
    """
    if gc.get_freeze_count() or not REPLAYING.acquire(blocking=False):  # somebody else is the one to end it
        yield
        return
    young, *older = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(young and max(young, YOUNG_OBJECTS), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
        gc.unfreeze()
        REPLAYING.release()
