"""Named errors as status and body."""

from __future__ import annotations

import re

import msgspec

from infex import errors
from infex.errors import InfexError, InvalidBody
from infex.service.answers import RefusalAnswer

REFUSED = 422
STATUS_OF: dict[type[InfexError], int] = {
    errors.UnknownStudy: 404,
    errors.UnknownDecision: 404,
    errors.OtherSettings: 409,
    errors.UnderWay: 409,
    errors.Overloaded: 429,
    errors.NotReady: 503,
    errors.StoreFailed: 503,
    errors.StoreInUse: 503,
    errors.JournalMoved: 503,
    errors.DamagedJournal: 503,
    errors.ForeignStore: 503,
}
"""All other named errors are of what was asked: 422."""
LATER = (429, 503)
FIELD_OF: dict[type[InfexError], str] = {
    errors.UnknownStudy: "name",
    errors.UnknownDecision: "key",
    errors.AnotherRequest: "key",
    errors.AlreadyTold: "reward",
    errors.InvalidReward: "reward",
    errors.InvalidContext: "context",
    errors.InvalidArms: "arms",
    errors.InvalidExpression: "policy",
    errors.InvalidRecord: "features",
    errors.UnderWay: "Idempotency-Key",
}
EXPECTED_OF: dict[type[InfexError], str] = {
    errors.UnknownStudy: "a name of GET /v1/studies, or POST /v1/studies to begin it",
    errors.UnknownDecision: "the key of a decision that was taken",
    errors.AnotherRequest: "a new key for another request",
    errors.AlreadyTold: "the same reward again, or none; to put it right: infex study correct",
    errors.OtherSettings: "the settings it was begun with, or another name; changes are amendments",
    errors.UnderWay: "the same again, once the first is answered",
    errors.NotReady: "the same again, later",
    errors.StoreFailed: "the same again with the same key, later: what was refused may still take effect",
}
MESSAGE_OF: dict[type[InfexError], str] = {
    errors.StoreFailed: "the database cannot be read or written now: nothing was acknowledged",
    errors.StoreInUse: "another process has the database open",
    errors.ForeignStore: "the database is not one that this infex can use",
}
"""What is said in the place of messages that name a file, a host or a process; the log has these."""
FIELD_FIRST = re.compile(r"(?:an? )?(\w+)(?: must|=)")  # how messages about a setting begin
ENCODER_OF_REFUSALS = msgspec.json.Encoder()


def status_of(error: InfexError) -> int:
    """The status that says what kind of refusal it is."""
    for kind in type(error).__mro__:
        if kind in STATUS_OF:
            return STATUS_OF[kind]
    return REFUSED


def refusal_of(error: InfexError) -> RefusalAnswer:
    """The body that says what was wrong; of a batch, in which row."""
    if error.row is not None and isinstance(error.__cause__, InfexError):
        inner = refusal_of(error.__cause__)
        place = f"[{error.row}]" if inner.field is None else f"[{error.row}].{inner.field}"
        return msgspec.structs.replace(inner, message=str(error), field=place)
    if isinstance(error, InvalidBody):
        words = {"field": error.field, "value": error.value, "expected": error.expected}
        return RefusalAnswer(error="InvalidBody", message=str(error), **words)
    expected = next((EXPECTED_OF[kind] for kind in type(error).__mro__ if kind in EXPECTED_OF), None)
    message = next((MESSAGE_OF[kind] for kind in type(error).__mro__ if kind in MESSAGE_OF), str(error))
    return RefusalAnswer(
        error=type(error).__name__, message=message, field=_field_of(error), expected=expected
    )


def _field_of(error: InfexError) -> str | None:
    if status_of(error) in LATER:
        return None
    known = [FIELD_OF[kind] for kind in type(error).__mro__ if kind in FIELD_OF]
    named = FIELD_FIRST.match(str(error))
    return known[0] if known else named[1] if named else None


def encoded_refusal(refusal: RefusalAnswer) -> bytes:
    """The body as bytes."""
    return ENCODER_OF_REFUSALS.encode(refusal)
