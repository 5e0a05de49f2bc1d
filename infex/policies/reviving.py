"""Notes from plain data, with the named tuples that they had."""

from __future__ import annotations

from typing import Any

from infex.policies.gate import State
from infex.policies.likelihood import InfexNote
from infex.policies.traits import Traits, hook, traits_of


def revived(policy: object, note: Any) -> Any:
    """A note of a policy by its own hook `revived`.

    One that has none, such as a wrapper of a user's, passes on what the policy inside it noted, or keeps it
    somewhere in a note of its own: there the first policy inside that has the hook gets it.
    """
    if note is None:
        return None
    chain = traits_of(policy).chain  # type: ignore[arg-type]
    revives = next((found for link in chain if (found := hook(link, "revived")) is not None), None)
    if revives is None:
        return note
    return revives(note) if hook(policy, "revived") is not None else _inside(note, revives)


def _inside(note: Any, revives: Any) -> Any:
    """The note, with every note of an Infex in it revived."""
    if isinstance(note, InfexNote):
        return revives(note)
    if isinstance(note, dict):
        return {name: _inside(part, revives) for name, part in note.items()}
    if type(note) in (list, tuple):
        return type(note)(_inside(part, revives) for part in note)
    return note


def fits_note(begin: InfexNote, base: Traits, note: object, dim: int) -> bool:
    """Is it a note of an Infex that begins like that, with a state for each control?"""
    return (
        isinstance(note, InfexNote)
        and [type(state) for state in note.states] == [type(state) for state in begin.states]
        and (note.base is None or base.accepts is None or base.accepts(note.base, dim))
    )


def revived_note(begin: InfexNote, base: object, note: object) -> object:
    """A note of an Infex with the states of its controls as these have them, and the base's note."""
    if not isinstance(note, InfexNote) or len(note.states) != len(begin.states):
        return note
    states = (_named(fresh, state) for fresh, state in zip(begin.states, note.states, strict=True))
    return InfexNote(tuple(states), revived(base, note.base))


def _named(fresh: State, state: State) -> State:
    """A state as the control's own kind of tuple, if it has as many fields."""
    made = getattr(type(fresh), "_make", None)
    fits = isinstance(state, tuple) and len(fresh) == len(state)  # a file's may be anything
    return made(state) if fits and made is not None else state
