"""What policies note of their own choices, and what rewards are learnt on, as records."""

from __future__ import annotations

from typing import Any, get_args, get_origin, get_type_hints

from infex.arrays import Floats, fitting
from infex.checks import whole
from infex.errors import InvalidRecord
from infex.models.layout import ArmRow, DesignRow
from infex.policies.base import InfexNote
from infex.policies.choice import Reason, refuse_note
from infex.policies.controls import GuardedState
from infex.policies.greedy import FirstNote
from infex.policies.ucb import Switched
from infex.policies.until_certain import CertainState

NOTES: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (InfexNote, FirstNote, Switched, GuardedState, CertainState)
}

PLAIN_KINDS = (bool, int, float, str, type(None))

REASONS = {str(reason): reason for reason in Reason}


def note_record(note: object) -> Any:
    """A note as plain data: what has names keeps them, and a tuple is told from a list."""
    if isinstance(note, tuple):
        if type(note).__name__ in NOTES and type(note) is NOTES[type(note).__name__]:
            return {"kind": type(note).__name__} | {
                name: note_record(part)
                for name, part in note._asdict().items()  # type: ignore[attr-defined]
            }
        return {"kind": "tuple", "parts": [note_record(part) for part in note]}
    if isinstance(note, dict):
        return {"kind": "dict", "parts": {name: note_record(part) for name, part in note.items()}}
    return [note_record(part) for part in note] if isinstance(note, list) else note


def note_of(kept: object) -> Any:
    """The note that a record is of."""
    if isinstance(kept, list):
        return [note_of(part) for part in kept]
    if not isinstance(kept, dict):
        refuse_note(kept)
        return kept
    kind, parts = kept.get("kind"), kept.get("parts")
    if kind == "tuple" and isinstance(parts, list):
        return tuple(note_of(part) for part in parts)
    if kind == "dict" and isinstance(parts, dict):
        return {str(name): note_of(part) for name, part in parts.items()}
    if kind not in NOTES:
        raise InvalidRecord(f"no note is called {kind!r}")
    try:
        note = NOTES[kind](**{name: note_of(part) for name, part in kept.items() if name != "kind"})
    except TypeError as error:
        raise InvalidRecord(f"the note {kind} cannot be read: {error}") from None
    for name, hint in get_type_hints(NOTES[kind]).items():
        hints = (hint,) if get_origin(hint) is tuple else get_args(hint) or (hint,)
        if not any(_is_of(note._asdict()[name], part) for part in hints):
            raise InvalidRecord(f"{name} of the note {kind} cannot be {note._asdict()[name]!r}")
    return note


def _is_of(value: object, hint: Any) -> bool:
    """Is a part of a note of its kind? A whole number is a float too; of `Any` nothing is asked."""
    if get_origin(hint) is tuple:
        return isinstance(value, tuple)
    if hint not in PLAIN_KINDS:
        return True
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else hint)


def on_record(on: DesignRow) -> Any:
    """What a reward is learnt on, as plain data."""
    if isinstance(on, ArmRow):
        return {"arm": on.arm, "context": on.context.tolist()}
    return on if isinstance(on, int) else on.tolist()


def on_of(kept: object) -> DesignRow:
    """What a record says a reward is learnt on."""
    if isinstance(kept, dict):
        arm = whole("the arm that is learnt on", kept["arm"], least=0, error=InvalidRecord)
        return ArmRow(arm, fitting("on", kept["context"], (-1,)))
    if isinstance(kept, list):
        features: Floats = fitting("on", kept, (-1,))
        return features
    return whole("on", kept, error=InvalidRecord)


def reason_of(text: str) -> Reason | str:
    """A reason by its text: one of infex's own, or a user's."""
    return REASONS.get(text, text)
