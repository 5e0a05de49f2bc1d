"""The state of a study, from a snapshot and the entries behind it, or from the journal alone.

A snapshot is a state in bytes, for a quick start. It may be thrown away at any time: one that does not fit
the journal, or was written by another infex, is not used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from infex.errors import DamagedJournal, InfexError, JournalMoved, UnknownStudy
from infex.study.events import (
    CONTENT_VERSION,
    FORGOTTEN_KEY,
    Event,
    EventKind,
    Forgotten,
    Opened,
    Residue,
    content_of,
    event_of,
)
from infex.study.journal import BEGINNING, ENTRIES_PER_PAGE, Entry, Mark, linked
from infex.study.settings import check_settings, settings_to_plain, without_first_code
from infex.study.state import History, StudyState
from infex.study.stores.base import Snapshot, Store
from infex.version import __version__

SNAPSHOT_VERSION = 1
CHECK_SIZE = 32


def state_to_bytes(state: StudyState) -> bytes:
    """All of a state, and a hash of it."""
    kept = {
        "v": SNAPSHOT_VERSION,
        "infex": __version__,
        "state": state.to_plain(),
        "keys": state.keys.to_bytes(),
        "bandit": state.bandit.to_bytes(),
        "frozen": None if state.frozen is None else state.frozen.to_bytes(),
    }
    body = msgspec.msgpack.encode(kept)
    return blake2b(body, digest_size=CHECK_SIZE).digest() + body


def state_from_bytes(
    name: str, snapshot: Snapshot, given: Mapping[str, object], history: History
) -> StudyState | None:
    """The state of a snapshot; None if it is not one that can be used."""
    body = snapshot.content[CHECK_SIZE:]
    if blake2b(body, digest_size=CHECK_SIZE).digest() != snapshot.content[:CHECK_SIZE]:
        return None
    try:
        kept = msgspec.msgpack.decode(body)
        if (kept["v"], kept["infex"]) != (SNAPSHOT_VERSION, __version__):
            return None
        parts = kept["state"], kept["keys"], kept["bandit"], kept["frozen"]
        state = StudyState.from_plain(name, *parts, given, history)
    except (InfexError, msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None
    return state if state.number == snapshot.mark.number else None


def open_state(store: Store, name: str, given: Mapping[str, object], now: int) -> tuple[StudyState, Mark]:
    """The state of a study, which is begun if there is none, and the mark behind its last entry."""
    kept = [
        snapshot.mark for snapshot in store.snapshots(name)
    ]  # before the end: others may append meanwhile
    end = store.end(name)
    if (missing := missing_entries(name, end, kept)) is not None:
        raise DamagedJournal(missing)
    if end == BEGINNING:
        _begin(store, name, given, now)
    finish_erasing(store, name)
    state, mark = load_state(store, name, given)
    first = content_of(Opened, _first_entry(store, name)).settings
    check_settings(name, state.settings, without_first_code(first, given))
    return state, mark


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


def _begin(store: Store, name: str, given: Mapping[str, object], now: int) -> None:
    """Writes the first entry, if a study can begin with these settings."""
    if not given:
        raise UnknownStudy(
            f"there is no study {name!r}: give arms, dim or features, and a policy, to begin it"
        )
    settings = settings_to_plain(given)
    StudyState(name, settings, given, lambda _: [])  # refuses what cannot be
    content = Opened(v=CONTENT_VERSION, infex=__version__, settings=settings)
    draft = Event(EventKind.OPENED, "", "", now, content).draft()
    with contextlib.suppress(JournalMoved):  # another process has begun it meanwhile
        store.append(name, linked([draft], BEGINNING), BEGINNING)


def finish_erasing(store: Store, name: str) -> None:
    """Erases all that the journal says was erased, unless that is done.

    A snapshot behind the entry that says so is the sign that it is done: none is kept before.
    """
    erased = erased_entries(store, name)
    if erased.last and not any(snapshot.mark.number >= erased.last for snapshot in store.snapshots(name)):
        store.erase(name, list(erased.residues))
        store.keep(name, Snapshot(store.end(name), b""))  # the one before has learnt what was erased


def load_state(store: Store, name: str, given: Mapping[str, object]) -> tuple[StudyState, Mark]:
    """The state that a journal has come to, if possible by a snapshot, and the mark behind its last entry."""
    erased, end = erased_entries(store, name), store.end(name)
    for snapshot in store.snapshots(name):
        if snapshot.mark.number < erased.last:
            continue  # it has learnt what was erased since
        if snapshot.mark.number >= end.number and snapshot.mark != end:
            continue  # it is of another journal
        state = state_from_bytes(name, snapshot, given, _history(store, name))
        if state is None:
            continue
        with contextlib.suppress(DamagedJournal):  # if the journal is damaged, reading all of it says so
            return state, replay(state, store, snapshot.mark)
    return replay_journal(store, name, given)


def replay_journal(
    store: Store,
    name: str,
    given: Mapping[str, object],
    erased: Mapping[int, Residue] | None = None,
    before: int | None = None,
) -> tuple[StudyState, Mark]:
    """The state that the journal alone comes to, and the mark behind the last entry that was read.

    `erased` are entries to be left out beside those that were erased before. With `before`, it is the state
    before that entry.
    """
    first = _first_entry(store, name)
    state = first_state(store, name, first, given)
    state.residues |= dict(erased or {})
    return state, replay(state, store, first.mark, None if before is None else before - 2)


def replay(state: StudyState, store: Store, after: Mark, most: int | None = None) -> Mark:
    """Applies all entries behind a mark to a state, or so many; the mark behind the last of them."""
    state.bandit.silence_reward_warnings()
    for entry in store.read(state.name, after, most):
        apply_entry(state, entry)
        after = entry.mark
        if entry.number % ENTRIES_PER_PAGE == 0:
            state.forget_closed(entry.number)
    state.forget_closed(after.number)
    return after


def apply_entry(state: StudyState, entry: Entry) -> None:
    """Applies the next entry of a journal; DamagedJournal if that cannot be."""
    try:
        state.apply(event_of(entry))
    except DamagedJournal:
        raise
    except (InfexError, KeyError, ValueError, TypeError) as error:
        raise DamagedJournal(f"entry {entry.number} of the journal cannot be applied: {error}") from error
    if entry.kind == EventKind.AMENDMENT:
        state.bandit.silence_reward_warnings()


def first_state(store: Store, name: str, first: Entry, given: Mapping[str, object]) -> StudyState:
    """The state after the first entry of a journal, to which all others can be applied."""
    erased = erased_entries(store, name)
    state = StudyState.begun(name, event_of(first), given, _history(store, name))
    state.residues, state.erased_spans = erased.residues, erased.spans
    return state


class ErasedEntries(NamedTuple):
    """What is left of the entries that were erased, by their numbers.

    `spans` are the entries between which the state rested on what was erased since: from the first that was,
    to the one that says so.
    """

    residues: dict[int, Residue]
    spans: list[tuple[int, int]]

    @property
    def last(self) -> int:
        """The last entry that says what was erased."""
        return self.spans[-1][1] if self.spans else 0


def erased_entries(store: Store, name: str) -> ErasedEntries:
    """All that was erased from a journal."""
    found = ErasedEntries({}, [])
    for entry in store.of_keys(name, [FORGOTTEN_KEY]):
        residues = content_of(Forgotten, entry).residues
        found.residues.update({residue.number: residue for residue in residues})
        found.spans.append((min(residue.number for residue in residues), entry.number))
    return found


def without_erased(store: Store, name: str, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Entries of a journal without the contents that were erased, also where the store still has them."""
    residues = erased_entries(store, name).residues
    return (entry.erased() if entry.number in residues else entry for entry in entries)


def _first_entry(store: Store, name: str) -> Entry:
    return next(iter(store.read(name, BEGINNING, 1)))


def _history(store: Store, name: str) -> History:
    return lambda keys: store.of_keys(name, list(keys))
