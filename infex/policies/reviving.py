"""Notes from plain data, with the named tuples that they had."""

from __future__ import annotations

from typing import Any

from infex.policies.likelihood import InfexNote
from infex.policies.traits import hook, traits_of


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
