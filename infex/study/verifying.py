"""A journal gone through again: the chain, every decision, and a checkpoint that was kept elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from infex.errors import DamagedJournal, InfexError, InvalidSetting
from infex.policies.base import Policy, policy_info
from infex.registry import label_of
from infex.study.cases import EntryKind
from infex.study.contents import DecisionContent, HeldContent, content_of
from infex.study.entries import BEGINNING, HASH_SIZE, Entry, Mark
from infex.study.explaining_cases import decides_again, holds_out_again
from infex.study.opening import begun_standing, missing_entries
from infex.study.standing import Standing
from infex.study.store import Store


class JournalVerdict(NamedTuple):
    """What was found: `entry` is the first that does not fit, None if all do, and `why` says what is wrong.

    Of `decisions`, `proven` were decided once more and came out the same to the last bit; `unproven` rested
    on something that was erased since. `checkpoint` is the end of the journal, to be kept elsewhere.
    """

    entry: int | None
    why: str
    entries: int
    decisions: int
    proven: int
    unproven: int
    checkpoint: str

    @property
    def holds(self) -> bool:
        """Does all of it fit?"""
        return self.entry is None


def verdict_of(
    store: Store, name: str, given: Mapping[str, object], checkpoint: str | None = None
) -> JournalVerdict:
    """Replays all of a journal, decides every decision once more, and compares.

    Entries must also be those of the checkpoint, and of snapshots that are kept beside the journal.
    """
    kept = None if checkpoint is None else mark_of(checkpoint)
    snapshots = [snapshot.mark for snapshot in store.snapshots(name)]  # before the journal, which may grow
    walk, mark = JournalWalk(), BEGINNING
    entry, why = None, ""
    try:
        for each in store.read(name, BEGINNING):
            mark = each.mark
            if kept is not None and mark.number == kept.number and mark != kept:
                entry, why = mark.number, f"entry {mark.number} is not that of the checkpoint"
                break
            if any(mark.number == known.number and mark != known for known in snapshots):
                entry, why = mark.number, f"entry {mark.number} is not the one of which a snapshot is kept"
                break
            if not walk.take(store, name, given, each):
                entry, why = each.number, walk.why
                break
    except DamagedJournal as error:
        entry, why = mark.number + 1, str(error)
    if entry is None and kept is not None and mark.number < kept.number:
        entry, why = mark.number + 1, f"the journal ends at entry {mark.number}, before the checkpoint"
    if entry is None and (missing := missing_entries(name, mark, snapshots)) is not None:
        entry, why = mark.number + 1, missing
    return JournalVerdict(
        entry, why, mark.number, walk.decisions, walk.proven, walk.unproven, checkpoint_of(mark)
    )


class JournalWalk:
    """The state before each entry, and how many decisions were proven on the way."""

    def __init__(self) -> None:
        self.standing: Standing | None = None
        self.decisions = self.proven = self.unproven = 0
        self.why = ""  # the last entry does not fit

    def take(self, store: Store, name: str, given: Mapping[str, object], entry: Entry) -> bool:
        """Enters an entry; False if it is a decision that this state would not take."""
        if self.standing is None:
            self.standing = begun_standing(store, name, entry, given)
            return True
        fits = self._fits(self.standing, entry)
        if fits:
            self.standing.enter(entry)
        return fits

    def _fits(self, standing: Standing, entry: Entry) -> bool:
        if entry.kind not in (EntryKind.DECISION, EntryKind.HELD):
            return True
        self.decisions += 1
        found = None if entry.content is None else self._decides(standing, entry, entry.content)
        self.proven += found is True
        self.unproven += found is None
        if found is False:
            self.why = self.why or f"entry {entry.number} was not decided so"
        return found is not False

    def _decides(self, standing: Standing, entry: Entry, data: bytes) -> bool | None:
        try:
            if entry.kind == EntryKind.HELD:
                held = content_of(HeldContent, entry.number, data)
                return holds_out_again(standing, entry.key, held, msgspec.json.decode(held.request))
            content = content_of(DecisionContent, entry.number, data)
            request = msgspec.json.decode(content.request)
            case = standing, entry.key, content, request
            found = decides_again(*case)
            if found is None or policy_info(standing.bandit.policy).built_in:
                return found
            pure = found and decides_again(*case) is True  # a policy of a user's may change when it is asked
            self.why = "" if pure else _changeable(standing.bandit.policy, entry.number, decided_once=found)
            return pure
        except DamagedJournal:
            raise
        except (InfexError, KeyError, TypeError, ValueError) as error:
            raise DamagedJournal(f"entry {entry.number} cannot be decided once more: {error}") from error


def _changeable(policy: Policy, number: int, decided_once: bool) -> str:
    """What is wrong where a policy of a user's does not decide what the journal has."""
    name = label_of(policy)
    if decided_once:
        return (
            f"{name} decides entry {number} otherwise when it is asked twice: its `choose` must change "
            "nothing, and keep what it is to remember in the `policy_state` of its Choice"
        )
    return (
        f"entry {number} was not decided so: {name} is code of yours, which was changed since, or whose "
        "`choose` changes something in itself"
    )


def checkpoint_of(mark: Mark) -> str:
    """A place in a journal as a text to be kept elsewhere."""
    return f"{mark.number}:{mark.link.hex()}"


def mark_of(checkpoint: str) -> Mark:
    """The place that such a text names."""
    number, _, link = checkpoint.partition(":")
    try:
        found = Mark(int(number), bytes.fromhex(link))
    except ValueError:
        found = Mark(0, b"")
    if found.number < 1 or len(found.link) != HASH_SIZE:
        raise InvalidSetting(f"a checkpoint is a number, a colon and {2 * HASH_SIZE} hexadecimal digits")
    return found
