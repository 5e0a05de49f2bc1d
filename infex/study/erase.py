"""Erasing what is kept of a unit: out of the store, and out of all that was learnt."""

from __future__ import annotations

from infex.errors import InvalidSetting
from infex.study.commands import check_text
from infex.study.events import CONTENT_VERSION, FORGOTTEN_KEY, Event, EventKind, Forgotten, residues_of
from infex.study.executor import Executor
from infex.study.snapshot import finish_erasing, replay, replay_journal


def forget_unit(executor: Executor, unit: str, reason: str) -> int:
    """Erases the entries of a unit, and puts a state in place that never learnt from them; how many.

    The new state is built from the journal while the study goes on; it is held to catch up with what came
    since. The event that says what was erased is written first: if erasing fails behind it, the state has
    forgotten the unit, and the contents go with the next snapshot, or when the study is opened again.
    """
    if not unit:
        raise InvalidSetting("forget needs a unit")
    check_text("reason", reason)
    store, name, given = executor.store, executor.name, executor.state.given
    executor.flush()
    residues = residues_of(store.of_unit(name, unit))
    if not residues:
        return 0
    state, mark = replay_journal(store, name, given, residues)
    with executor.exclusive():
        now = residues_of(store.of_unit(name, unit))
        if now.keys() != residues.keys():  # more was asked or told of this unit since
            residues = now
            state, mark = replay_journal(store, name, given, residues)
        replay(state, store, mark)
        content = Forgotten(v=CONTENT_VERSION, residues=list(residues.values()), reason=reason)
        event = Event(EventKind.FORGOTTEN, FORGOTTEN_KEY, "", executor.now(), content)
        executor.replace_state(state, event)
        executor.write()
        finish_erasing(store, name)
    executor.keep_snapshot()
    return len(residues)
