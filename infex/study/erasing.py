"""Erasing what is kept of a unit: out of the store, and out of all that was learnt."""

from __future__ import annotations

from collections.abc import Iterable

from infex.errors import DamagedJournal, InvalidSetting
from infex.study.cases import FORGOTTEN_KEY, EntryKind
from infex.study.contents import (
    CONTENT_VERSION,
    DecisionContent,
    ForgottenContent,
    Residue,
    content_of,
    residue_of,
)
from infex.study.desk import Desk
from infex.study.entries import Entry
from infex.study.opening import caught_up, replayed


def forget_unit(desk: Desk, unit: str, reason: str) -> int:
    """Erases the entries of a unit, and puts a state in place that never learnt from them.

    The new state is built from the journal while the study goes on; the lock is held to catch up with what
    came since. The entry that tells what was erased is written first: who stops behind it goes on from there
    when the study is opened again.
    """
    if not unit or not isinstance(reason, str):
        raise InvalidSetting("forget needs a unit, and a text as its reason")
    desk.flush()
    residues = residues_of(desk.store.of_unit(desk.name, unit))
    if not residues:
        return 0
    fresh, mark = replayed(desk.store, desk.name, desk.standing.given, residues, snapshots=False)
    with desk.holding():
        desk.flush()
        now = residues_of(desk.store.of_unit(desk.name, unit))
        if now.keys() != residues.keys():  # more was asked or told of this unit since
            residues = now
            fresh, mark = replayed(desk.store, desk.name, desk.standing.given, residues, snapshots=False)
        fresh, mark = caught_up(desk.store, desk.name, fresh, mark)
        content = ForgottenContent(v=CONTENT_VERSION, residues=list(residues.values()), reason=reason)
        fresh.number = desk.write(EntryKind.FORGOTTEN, FORGOTTEN_KEY, "", desk.now(), content)
        desk.replace(fresh)
        desk.flush()
        desk.store.erase(desk.name, list(residues))
        desk.keep_snapshot()
    return len(residues)


def residues_of(entries: Iterable[Entry]) -> dict[int, Residue]:
    """What is to be left of entries, by their numbers."""
    return {entry.number: _residue(entry) for entry in entries}


def _residue(entry: Entry) -> Residue:
    if entry.content is None:
        raise DamagedJournal(f"entry {entry.number} was erased already")
    if entry.kind != EntryKind.DECISION:
        return Residue(number=entry.number)
    return residue_of(entry.number, content_of(DecisionContent, entry.number, entry.content))
