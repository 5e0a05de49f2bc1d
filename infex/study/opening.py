"""A study begun, or opened again: from a snapshot and the entries behind it, or from the journal alone."""

from __future__ import annotations

from collections.abc import Mapping

from infex.errors import DamagedJournal, UnknownStudy
from infex.study.cases import EntryKind
from infex.study.contents import CONTENT_VERSION, OpenedContent, encoded
from infex.study.entries import BEGINNING, Draft, Mark, linked
from infex.study.standing import History, Standing
from infex.study.state_snapshots import standing_from
from infex.study.store import Snapshot, Store
from infex.study.study_settings import kept_settings, refuse_different
from infex.version import __version__


def opened_standing(store: Store, name: str, given: Mapping[str, object], at: int) -> tuple[Standing, Mark]:
    """The state of a study, which is begun if there is none, and the place behind its last entry."""
    if store.end(name) == BEGINNING:
        _begin(store, name, given, at)
    standing, mark = replayed(store, name, given)
    refuse_different(name, standing.settings, given)
    return standing, mark


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
    store.append(name, linked([draft], BEGINNING))


def replayed(
    store: Store, name: str, given: Mapping[str, object], snapshots: bool = True
) -> tuple[Standing, Mark]:
    """The state that the journal has come to, and the place behind its last entry."""
    for snapshot in store.snapshots(name) if snapshots else ():
        if (found := _from_snapshot(store, name, snapshot, given)) is not None:
            return found
    first = next(iter(store.read(name, BEGINNING, 1)))
    return _caught_up(store, name, Standing.begun(first, given, _history(store, name)), first.mark)


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
        return _caught_up(store, name, standing, snapshot.mark)
    except DamagedJournal:  # if it is the journal that is damaged, reading all of it says so
        return None


def _caught_up(store: Store, name: str, standing: Standing, mark: Mark) -> tuple[Standing, Mark]:
    for entry in store.read(name, mark):
        standing.enter(entry)
        mark = entry.mark
    return standing, mark
