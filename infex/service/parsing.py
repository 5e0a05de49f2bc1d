"""Bodies of requests as typed data; what does not fit is refused by the name of its field."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from infex.errors import InvalidBody

MISFIT_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
NAMED_FIELD = re.compile(r"`(?P<name>.*)`$", re.DOTALL)
BYTE = re.compile(r"\(byte (\d+)\)$")
FIELD_BEFORE = re.compile(rb'"([A-Za-z_][A-Za-z0-9_-]{0,40})"\s*:[^:"}]*$')
PATH_STEPS = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]")
PRIVATE_FIELDS = ("context", "unit")  # what somebody is: never said in answers about errors, nor in logs
LONGEST_FIELD = 60


class StrictDecoder:
    """Reads one type from JSON: no unknown fields, no numbers as text, no NaN and no infinity."""

    def __init__(self, kind: Any) -> None:
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)

    def read(self, body: bytes) -> Any:
        """The body as data; InvalidBody names the field that is wrong."""
        try:
            return self._decoder.decode(body)
        except UnicodeDecodeError:
            raise InvalidBody("the body is not UTF-8", field="body", expected="JSON in UTF-8") from None
        except msgspec.ValidationError as error:
            raise _misfit(str(error), body) from None
        except RecursionError:
            raise InvalidBody("the body is nested too deep", field="body", expected="less depth") from None
        except msgspec.DecodeError as error:
            raise _malformed(str(error), body) from None


def _misfit(words: str, body: bytes) -> InvalidBody:
    """Of JSON that is well formed: `words` are msgspec's, which say types and places and no values."""
    found = MISFIT_AT.match(words)
    what, path = (found["what"], found["path"] or "") if found else (words, "")
    path = path.removeprefix(".")
    place = f" in {path[:LONGEST_FIELD] or 'body'}"
    if named := NAMED_FIELD.search(what) if "field" in what else None:
        place, path = "", f"{path}.{named['name']}".removeprefix(".")
    field, value = path[:LONGEST_FIELD] or "body", _value_at(path, body)
    return InvalidBody(f"{what}{place}", field=field, expected=_expected(what), value=value)


def _value_at(path: str, body: bytes) -> str | None:
    """What stands in a place of the body, in brief; nothing of what somebody is."""
    steps = PATH_STEPS.findall(path)
    if not steps or any(name in PRIVATE_FIELDS for name, _ in steps):
        return None
    try:
        found: Any = msgspec.json.decode(body)
        for name, place in steps:
            found = found[name] if name else found[int(place)]
        return msgspec.json.encode(found)[:LONGEST_FIELD].decode(errors="replace")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError, TypeError, ValueError):
        return None


def _expected(what: str) -> str:
    """What would be right, from what was wrong."""
    if "out of range" in what:
        return "a finite number"
    if "unknown field" in what:
        return "no such field"
    if "missing required field" in what:
        return "a value"
    return what.removeprefix("Expected ").split(", got ")[0].replace("`", "")


def _malformed(words: str, body: bytes) -> InvalidBody:
    """Of what is not JSON, such as NaN: the field is the one that was written last before it."""
    field = _field_before(body[: _place_of(words, len(body))])
    return InvalidBody(f"{words} in {field}", field=field, expected="JSON, with finite numbers")


def _place_of(words: str, end: int) -> int:
    place = BYTE.search(words)
    return end if place is None else int(place[1])


def _field_before(body: bytes) -> str:
    before = FIELD_BEFORE.search(body[-200:])
    return before[1].decode() if before else "body"
