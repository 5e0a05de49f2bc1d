"""A journal gone through again: the chain, every decision, and a checkpoint that was kept elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from infex.errors import DamagedJournal, InfexError
from infex.policies.base import Policy, policy_info
from infex.registry import label_of
from infex.study.events import DECISIONS, Decided, event_of
from infex.study.explain import decides_again
from infex.study.journal import BEGINNING, ENTRIES_PER_PAGE, Entry, Mark
from infex.study.snapshot import (
    apply_entry,
    erased_entries,
    erased_hash,
    erases_more,
    first_state,
    missing_entries,
    state_at,
)
from infex.study.state import StudyState
from infex.study.stores.base import Place, Store


class Verdict(NamedTuple):
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


class Misfit(Exception):
    """An entry does not fit."""


def verify(store: Store, name: str, given: Mapping[str, object], checkpoint: str | None = None) -> Verdict:
    """Replays all of a journal, decides every decision once more, and compares.

    Entries must also be those of the checkpoint, and of snapshots that are kept beside the journal; and these
    must hold what the journal has come to there. If somebody is erased meanwhile, it is all done again.
    """
    kept = None if checkpoint is None else Mark.from_checkpoint(checkpoint)
    while True:
        erased = erased_entries(store, name).residues
        verdict = _verdict(store, name, given, kept)
        if verdict.holds or not erases_more(store, name, erased):
            return verdict


def _verdict(store: Store, name: str, given: Mapping[str, object], kept: Mark | None) -> Verdict:
    places = store.places(name)  # before the journal, which may grow
    snapshots = defaultdict(list)
    for place in places:
        snapshots[place.mark.number].append(place)
    proofs: dict[bool | None, int] = {True: 0, None: 0, False: 0}
    state: StudyState | None = None
    mark, fitting, entry, why = BEGINNING, 0, None, ""
    try:
        for each in store.read(name, BEGINNING):
            mark = each.mark
            if kept is not None and mark.number == kept.number and mark != kept:
                raise Misfit(f"entry {mark.number} is not that of the checkpoint")
            if any(place.mark != mark for place in snapshots[mark.number]):
                raise Misfit(f"entry {mark.number} is not the one of which a snapshot is kept")
            if state is None:
                state = first_state(store, name, each, given)
            else:
                if each.kind in DECISIONS:
                    proof, why = _prove(state, each)
                    proofs[proof] += 1
                    if why:
                        raise Misfit(why)
                apply_entry(state, each)
                if each.number % ENTRIES_PER_PAGE == 0:
                    state.forget_closed(each.number)
            for place in snapshots[mark.number]:
                _check_snapshot(store, place, state)
            fitting = each.number
        if kept is not None and mark.number < kept.number:
            raise DamagedJournal(f"the journal ends at entry {mark.number}, before the checkpoint")
        if (missing := missing_entries(name, mark, [place.mark for place in places])) is not None:
            raise DamagedJournal(missing)
    except Misfit as error:
        entry, why = mark.number, str(error)
    except DamagedJournal as error:
        entry, why = fitting + 1, str(error)
    decisions = sum(proofs.values())
    return Verdict(entry, why, mark.number, decisions, proofs[True], proofs[None], mark.checkpoint())


def _check_snapshot(store: Store, place: Place, state: StudyState) -> None:
    """Refuses a snapshot that would be used, and is not of this state."""
    if place.erased == erased_hash(state.residues)(state.number):
        found = state_at(store, state.name, place, state.given, with_keys=False)
        if found is not None and found.digest() != state.digest():
            raise Misfit(f"the snapshot of entry {state.number} is not what the journal comes to")


def _prove(state: StudyState, entry: Entry) -> tuple[bool | None, str]:
    """Is a decision what this state decides? And what is wrong, if it is not."""
    event, policy = event_of(entry), state.bandit.policy
    is_own = isinstance(event.content, Decided) and not policy_info(policy).built_in
    try:
        proof = decides_again(state, event)
        if proof and is_own and not decides_again(state, event):
            return False, _own_code(policy, entry.number, decided_once=True)
    except DamagedJournal:
        raise
    except (InfexError, KeyError, TypeError, ValueError) as error:
        raise DamagedJournal(f"entry {entry.number} cannot be decided once more: {error}") from error
    if proof is not False:
        return proof, ""
    if is_own:
        return False, _own_code(policy, entry.number, decided_once=False)
    return False, f"entry {entry.number} was not decided so"


def _own_code(policy: Policy, number: int, decided_once: bool) -> str:
    """What is wrong where a user's policy does not decide what the journal has."""
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
