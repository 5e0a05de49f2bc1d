"""The state of a study, from a snapshot and the entries behind it, or from the journal alone.

A snapshot is a state in bytes: a place to replay from, for a start, an explanation or an erasure. They are
kept at intervals all along the journal. One may be thrown away at any time: what does not fit is not used. A
snapshot fits if it is of the same chain of entries, was written by this infex, and was made without exactly
those of the entries before it that the journal says were erased.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np

from infex.errors import DamagedJournal, InfexError, JournalMoved, StoreFailed, UnknownStudy
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
from infex.study.known_keys import KnownKeys
from infex.study.settings import check_holdout_arm, check_settings, settings_to_plain, without_first_code
from infex.study.state import History, StudyState
from infex.study.stores.base import Place, Store
from infex.version import __version__

SNAPSHOT_VERSION = 1
CHECK_SIZE, ERASED_SIZE = 32, 16
ENTRIES_BETWEEN_SNAPSHOTS = 20_000
BYTES_OF_AN_ENTRY = 500  # about


def state_to_bytes(state: StudyState) -> bytes:
    """All of a state but the runs of its keys, and a hash of it."""
    kept = {
        "state": state.to_plain(),
        "keys": state.keys.summary(),
        "bandit": state.bandit.to_bytes(),
        "frozen": None if state.frozen is None else state.frozen.to_bytes(),
    }
    body = msgspec.msgpack.encode(kept)
    return blake2b(body, digest_size=CHECK_SIZE).digest() + body


def state_at(
    store: Store, name: str, place: Place, given: Mapping[str, object], with_keys: bool
) -> StudyState | None:
    """The state of a snapshot; None if there is none that can be used."""
    content = store.snapshot(name, place) or b""
    body = content[CHECK_SIZE:]
    if blake2b(body, digest_size=CHECK_SIZE).digest() != content[:CHECK_SIZE]:
        return None
    try:
        kept = msgspec.msgpack.decode(body)
        keys = KnownKeys.restored(kept["keys"], store.key_runs(name) if with_keys else None)
        parts = kept["state"], keys, kept["bandit"], kept["frozen"]
        state = StudyState.from_plain(name, *parts, given, _history(store, name))
    except StoreFailed:
        raise
    except (InfexError, msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None
    return state if state.number == place.mark.number else None


def is_snapshot_due(number: int, last: int, pending: int, size: int) -> bool:
    """Is it time for another snapshot? `size` is that of the last one.

    To read a pending decision from a snapshot takes nearly as long as to apply it again, so most entries
    since the last snapshot are to be of other decisions. No more is written for snapshots than for entries.
    """
    return number - last >= max(ENTRIES_BETWEEN_SNAPSHOTS, 2 * pending, size // BYTES_OF_AN_ENTRY)


def keep_snapshot(store: Store, state: StudyState, mark: Mark) -> int:
    """Keeps a state, in the place of the snapshot before it if the one before that is near enough; its size.

    So all snapshots together take about a tenth of what the journal takes, however large one is.
    """
    content, erased = state_to_bytes(state), erased_hash(state.residues)
    older = (each for each in store.places(state.name) if each.mark.number < mark.number)
    fitting = [*islice((each for each in older if each.erased == erased(each.mark.number)), 2)]
    start = fitting[1].mark.number if len(fitting) > 1 else 0
    is_near = mark.number - start <= max(ENTRIES_BETWEEN_SNAPSHOTS, 10 * len(content) // BYTES_OF_AN_ENTRY)
    runs = dict(state.keys.new_runs)
    place = Place(mark, erased(mark.number))
    store.keep(state.name, place, content, runs, fitting[:1] if is_near else ())
    for number in runs:
        del state.keys.new_runs[number]
    return len(content)


def open_state(store: Store, name: str, given: Mapping[str, object], now: int) -> tuple[StudyState, Mark]:
    """The state of a study, which is begun if there is none, and the mark behind its last entry."""
    kept = [place.mark for place in store.places(name)]  # before the end: others may append meanwhile
    end = store.end(name)
    if (missing := missing_entries(name, end, kept)) is not None:
        raise DamagedJournal(missing)
    if end == BEGINNING:
        _begin(store, name, given, now)
    finish_erasing(store, name)
    state, mark = load_state(store, name, given, keep_snapshots=True)
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
    check_holdout_arm(StudyState(name, settings, given, lambda _: []).bandit, settings)  # or what cannot be
    content = Opened(v=CONTENT_VERSION, infex=__version__, settings=settings)
    draft = Event(EventKind.OPENED, "", "", now, content).draft()
    with contextlib.suppress(JournalMoved):  # another process has begun it meanwhile
        store.append(name, linked([draft], BEGINNING), BEGINNING)


def finish_erasing(store: Store, name: str) -> None:
    """Erases all that the journal says was erased, unless that is done.

    A snapshot behind the entry that says so, which fits, is the sign that it is done: none is kept before.
    With what was erased go all snapshots that do not fit, and if none fits, as another infex wrote them.
    """
    found, places = erased_entries(store, name), store.places(name)
    erased = erased_hash(found.residues)
    done = next((each.mark.number for each in places if each.erased == erased(each.mark.number)), 0)
    if found.last > done or (places and not done):
        learnt = [each for each in places if each.erased != erased(each.mark.number)]
        store.erase(name, [number for number, said in found.said_by.items() if said > done], learnt)
        end = store.end(name)
        store.keep(name, Place(end, erased(end.number)), b"")


def load_state(
    store: Store,
    name: str,
    given: Mapping[str, object],
    *,
    residues: Mapping[int, Residue] | None = None,
    before: int | None = None,
    with_keys: bool = True,
    keep_snapshots: bool = False,
) -> tuple[StudyState, Mark]:
    """The state that a journal has come to, from the nearest snapshot, and the mark behind its last entry.

    `residues` are what is left of entries that are to be left out, if these are not those that the journal
    says. With `before`, it is the state before that entry. A state that is to run no commands needs not know
    the keys of decisions before the snapshot. With `keep_snapshots`, snapshots are kept on the way.
    """
    found, end = erased_entries(store, name), store.end(name)
    left = found.residues if residues is None else dict(residues)
    erased, last = erased_hash(left), end.number if before is None else before - 1
    for place in store.places(name):
        number = place.mark.number
        if number > last or (number == end.number and place.mark != end) or place.erased != erased(number):
            continue
        state = state_at(store, name, place, given, with_keys)
        if state is None:
            continue
        state.residues, state.erased_spans = left, found.spans
        with contextlib.suppress(DamagedJournal):  # if the journal is damaged, reading all of it says so
            return state, replay(state, store, place.mark, before, keep_snapshots)
    try:
        return replay_journal(store, name, given, left, before, keep_snapshots)
    except DamagedJournal:
        if residues is not None or not erases_more(store, name, left):
            raise
    return load_state(store, name, given, before=before, with_keys=with_keys, keep_snapshots=keep_snapshots)


def replay_journal(
    store: Store,
    name: str,
    given: Mapping[str, object],
    residues: Mapping[int, Residue] | None = None,
    before: int | None = None,
    keep_snapshots: bool = False,
) -> tuple[StudyState, Mark]:
    """The state that the journal alone comes to, and the mark behind its last entry; as `load_state`."""
    first = _first_entry(store, name)
    state = first_state(store, name, first, given)
    if residues is not None:
        state.residues = dict(residues)
    return state, replay(state, store, first.mark, before, keep_snapshots)


def replay(
    state: StudyState, store: Store, after: Mark, before: int | None = None, keep_snapshots: bool = False
) -> Mark:
    """Applies the entries behind a mark, up to the one `before` another; the mark behind the last of them."""
    state.bandit.silence_reward_warnings()
    snapshot_at, size = after.number, 0
    for entry in store.read(state.name, after, None if before is None else before - 1 - after.number):
        apply_entry(state, entry)
        after = entry.mark
        if entry.number % ENTRIES_PER_PAGE == 0:
            state.forget_closed(entry.number)
            if keep_snapshots and is_snapshot_due(entry.number, snapshot_at, len(state.open), size):
                snapshot_at, size = entry.number, _keep_if_current(store, state, after)
    state.forget_closed(after.number)
    return after


def _keep_if_current(store: Store, state: StudyState, mark: Mark) -> int:
    """Keeps a snapshot in the middle of a replay, unless the state has learnt what others erased since."""
    with store.transaction(state.name):
        if erased_entries(store, state.name).residues.keys() <= state.residues.keys():
            return keep_snapshot(store, state, mark)
    return 0


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
    settings = content_of(Opened, first).settings
    state = StudyState(name, settings, given, _history(store, name))
    state.residues, state.erased_spans = erased.residues, erased.spans
    return state


class ErasedEntries(NamedTuple):
    """What is left of the entries that were erased, by their numbers.

    `said_by` are the entries that say so. `spans` are the entries between which the state rested on what was
    erased since: from the first that was, to the one that says so.
    """

    residues: dict[int, Residue]
    said_by: dict[int, int]
    spans: list[tuple[int, int]]

    @property
    def last(self) -> int:
        """The last entry that says what was erased."""
        return self.spans[-1][1] if self.spans else 0


def erased_entries(store: Store, name: str) -> ErasedEntries:
    """All that was erased from a journal."""
    found = ErasedEntries({}, {}, [])
    for entry in store.of_keys(name, [FORGOTTEN_KEY]):
        residues = content_of(Forgotten, entry).residues
        found.residues.update({residue.number: residue for residue in residues})
        found.said_by.update({residue.number: entry.number for residue in residues})
        found.spans.append((min(residue.number for residue in residues), entry.number))
    return found


def erases_more(store: Store, name: str, known: Collection[int]) -> bool:
    """Has a journal erased further entries since these were read? They may be missing in a replay."""
    return not erased_entries(store, name).residues.keys() <= set(known)


def erased_hash(residues: Collection[int]) -> Callable[[int], bytes]:
    """A hash of those erased entries that come up to an entry, and of the version of infex."""
    version = f"{SNAPSHOT_VERSION} {__version__} ".encode()
    numbers = np.sort(np.fromiter(residues, dtype="<i8", count=len(residues)))

    def up_to(number: int) -> bytes:
        these = numbers[: np.searchsorted(numbers, number, side="right")]
        return blake2b(version + these.tobytes(), digest_size=ERASED_SIZE).digest()

    return up_to


def without_erased(store: Store, name: str, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Entries of a journal without the contents that were erased, also where the store still has them."""
    residues = erased_entries(store, name).residues
    return (entry.erased() if entry.number in residues else entry for entry in entries)


def _first_entry(store: Store, name: str) -> Entry:
    return next(iter(store.read(name, BEGINNING, 1)))


def _history(store: Store, name: str) -> History:
    return lambda keys: store.of_keys(name, list(keys))
