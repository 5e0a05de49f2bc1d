"""Erasing what is kept of a unit: out of the store, and out of all that was learnt."""

from __future__ import annotations

import contextlib

from infex.errors import DamagedJournal, InvalidSetting
from infex.study.commands import check_text
from infex.study.events import CONTENT_VERSION, FORGOTTEN_KEY, Event, EventKind, Forgotten, residues_of
from infex.study.executor import Executor
from infex.study.snapshot import erased_entries, finish_erasing, load_state, replay


def forget_unit(executor: Executor, unit: str, reason: str) -> int:
    """Erases the entries of a unit, and puts a state in place that never learnt from them; how many.

    The new state is built while the study goes on, from the last snapshot before the first of these entries,
    and leaves snapshots on its way in the place of those that have learnt from them; it is held to catch up
    with what came since. The event that says what was erased is written first: if erasing fails behind it,
    the state has forgotten the unit, and the contents go with the next snapshot, or when the study is opened
    again.
    """
    if not unit:
        raise InvalidSetting("forget needs a unit")
    check_text("reason", reason)
    store, name, given = executor.store, executor.name, executor.state.given
    with executor.exclusive():
        finish_erasing(store, name)  # or snapshots that are laid down would say that it is done
        known, entries, end = erased_entries(store, name).residues, store.of_unit(name, unit), store.end(name)
    residues = residues_of(entries)
    if not residues:
        return 0
    left, built = known | residues, None
    with contextlib.suppress(DamagedJournal):  # if others erase something meanwhile
        built = load_state(
            store, name, given, residues=left, before=end.number + 1, with_keys=False, keep_snapshots=True
        )
    with executor.exclusive():
        residues = residues_of(store.of_unit(name, unit))
        if not residues:  # another instance was quicker
            return 0
        now = erased_entries(store, name).residues | residues
        if built is None or now.keys() != left.keys():  # more was asked, told or erased since
            built = load_state(store, name, given, residues=now, with_keys=False)
        state, mark = built
        replay(state, store, mark)
        content = Forgotten(v=CONTENT_VERSION, residues=list(residues.values()), reason=reason)
        event = Event(EventKind.FORGOTTEN, FORGOTTEN_KEY, "", executor.now(), content)
        executor.replace_state(state, event)
        executor.write()
        finish_erasing(store, name)
    executor.keep_snapshot()
    return len(residues)
