"""Refusals as responses: the status and the body for each named error."""

from __future__ import annotations

import re

import msgspec
from starlette.responses import Response

from infex import errors
from infex.errors import InfexError, InvalidBody
from infex.service.schemas import RefusalAnswer

SECONDS_TO_RETRY = 1
LATER = (429, 503)
STATUS_OF: dict[type[InfexError], int] = {
    errors.UnknownStudy: 404,
    errors.UnknownDecision: 404,
    errors.OtherSettings: 409,
    errors.Overloaded: 429,
    errors.NotReady: 503,
    errors.StoreFailed: 503,
    errors.StoreInUse: 503,
    errors.JournalMoved: 503,
    errors.DamagedJournal: 503,
    errors.ForeignStore: 503,
    InfexError: 422,  # all others are about what was asked
}
FIELD_OF: dict[type[InfexError], str] = {
    errors.UnknownStudy: "name",
    errors.UnknownDecision: "key",
    errors.AnotherRequest: "key",
    errors.AlreadyTold: "reward",
    errors.InvalidReward: "reward",
    errors.InvalidContext: "context",
    errors.InvalidArms: "arms",
    errors.InvalidLog: "body",
}
EXPECTED_OF: dict[type[InfexError], str] = {
    errors.UnknownStudy: "a name of GET /v1/studies, or POST /v1/studies to begin it",
    errors.UnknownDecision: "the key of a decision that was taken",
    errors.AnotherRequest: "a new key for another request",
    errors.AlreadyTold: "the same reward again, or none; to put it right: POST .../corrections",
    errors.OtherSettings: "the settings it was begun with, or another name; changes are amendments",
    errors.NotReady: "the same again, later",
    errors.Overloaded: "the same again, later",
    errors.StoreFailed: "the same again with the same key, later: what was refused may still take effect",
}
MESSAGE_OF: dict[type[InfexError], str] = {
    errors.StoreFailed: "the database cannot be read or written now: nothing was acknowledged",
    errors.StoreInUse: "another process has the database open",
    errors.ForeignStore: "the database is not one that this infex can use",
}
"""In place of messages that name a file, a host or a process; the log has these."""
FIELD_FIRST = re.compile(r"(?:an? )?(\w+)(?: must|=)")  # how messages about a setting begin
PARTS_OF_FIELD = {
    "add_arms": ("arms", "labels"),
    "extend": ("more", "numbers", "categories", "longest"),
}


class Refused(Exception):
    """A request is refused for a reason that is not a study's; `close` ends its connection, too."""

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        expected: str,
        field: str | None = None,
        close: bool = False,
        allow: str = "",
    ) -> None:
        super().__init__(message)
        self.status, self.close, self.allow = status, close, allow
        self.body = RefusalAnswer(error=error, message=message, expected=expected, field=field)


def refusal_of(error: InfexError) -> RefusalAnswer:
    """The body that says what was wrong; in a batch, in which row."""
    if error.row is not None and isinstance(error.__cause__, InfexError):
        inner = refusal_of(error.__cause__)
        place = f"[{error.row}]" if inner.field is None else f"[{error.row}].{inner.field}"
        return msgspec.structs.replace(inner, message=str(error), field=place)
    if isinstance(error, InvalidBody):
        words = {"field": error.field, "value": error.value, "expected": error.expected}
        return RefusalAnswer(error="InvalidBody", message=str(error), **words)
    message = _words(MESSAGE_OF, error) or str(error)
    return RefusalAnswer(
        error=type(error).__name__, message=message, field=_field(error), expected=_words(EXPECTED_OF, error)
    )


def _field(error: InfexError) -> str | None:
    """The field that a refusal is about: of an amendment, the one that was refused and its part."""
    named = FIELD_FIRST.match(str(error))
    if status_of(error) in LATER:
        return None
    if error.field is None:
        return _words(FIELD_OF, error) or (named and named[1])
    is_part = named is not None and named[1] in PARTS_OF_FIELD.get(error.field, ())
    return f"{error.field}.{named[1]}" if named is not None and is_part else error.field


def status_of(error: InfexError) -> int:
    """The status that says what kind of refusal it is."""
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


def _words(table: dict[type[InfexError], str], error: InfexError) -> str | None:
    return next((table[kind] for kind in type(error).__mro__ if kind in table), None)


def response_to(error: Exception) -> Response:
    """The response that tells of an error; one without a name says nothing of what was asked."""
    close, allow = False, ""
    if isinstance(error, Refused):
        status, body, close, allow = error.status, error.body, error.close, error.allow
    elif isinstance(error, InfexError):
        status, body = status_of(error), refusal_of(error)
    else:
        words = "the service failed: its log says where"
        status, body = 500, RefusalAnswer(error="InternalError", message=words)
    response = Response(msgspec.json.encode(body), status, media_type="application/json")
    if status in LATER:
        response.headers["retry-after"] = str(SECONDS_TO_RETRY)
    if status == 401:
        response.headers["www-authenticate"] = 'Bearer realm="infex"'
    if close:
        response.headers["connection"] = "close"
    if allow:
        response.headers["allow"] = allow
    return response
