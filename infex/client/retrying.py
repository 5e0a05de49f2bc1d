"""Requests that are sent again until they are answered, or their time is over."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from infex import errors
from infex.checks import real
from infex.client.connections import Connections, HeardAnswer
from infex.errors import InfexError, InvalidSetting, ServiceRefused, ServiceSilent, UnderWay

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds
SENT_AGAIN = (408, 425, 429, 500, 502, 503, 504)
OWN_WORDS = (errors.InvalidBody, errors.ServiceRefused)  # errors that say more than a message


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a request may take in all, in `seconds`, sent again as often as there is time.

    After a decision for which there was no answer, further ones fall back at once for `rest` seconds. `pause`
    and `clock` are those of the system, but in tests.
    """

    seconds: float = 2.0
    rest: float = 5.0
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        real("seconds", self.seconds, above=0)
        real("rest", self.rest, least=0)


def _plain(answer: HeardAnswer) -> Any:
    """The body of an answer as plain data; ServiceSilent if no service gave it, but, say, a proxy."""
    if 200 <= answer.status < 300:
        with contextlib.suppress(ValueError):
            return json.loads(answer.body) if answer.body else None
    raise ServiceSilent(f"no service of infex answered (status {answer.status}): is the url right?")


@final
class Sender:
    """Sends requests that may be sent more than once: their keys make them one."""

    def __init__(self, connections: Connections, patience: Patience) -> None:
        self._connections, self._patience = connections, patience

    def call(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The answer as plain data. Errors are those of a study; ServiceSilent if none comes in time."""
        data = None if body is None else encoded_body(body)
        more = dict(headers or {}) | ({} if data is None else {"content-type": "application/json"})
        end, tries, last = self._patience.clock() + self._patience.seconds, 0, ServiceSilent("no time")
        while (left := end - self._patience.clock()) > 0:
            wait: float | None = None
            try:
                answer = self._connections.send(method, path, data, left, more)
                if answer.status < 400:
                    return _plain(answer)
                refused = error_of(answer)
                if answer.status not in SENT_AGAIN and not isinstance(refused, UnderWay):
                    raise refused
                last, wait = ServiceSilent(f"the service said {answer.status}: {refused}"), answer.retry_after
            except ServiceSilent as silent:
                last = silent
            tries += 1
            self._rest(tries, wait, end)
        raise ServiceSilent(f"{last} (sent {tries} times in {self._patience.seconds:g} s)")

    def is_ready(self) -> bool:
        """Does the service answer, and not that it cannot now? Asked once."""
        try:
            answer = self._connections.send("GET", "/readyz", None, self._patience.seconds, {})
        except ServiceSilent:
            return False
        return answer.status not in SENT_AGAIN

    def _rest(self, tries: int, wait: float | None, end: float) -> None:
        """Pauses, longer each time and by chance, so that clients do not come back all at once."""
        most = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (tries - 1))
        pause = most * (0.5 + random.random() / 2) if wait is None else wait
        self._patience.pause(max(0.0, min(pause, end - self._patience.clock())))


def error_of(answer: HeardAnswer) -> InfexError:
    """The error that a refusal names, as a study would raise it; ServiceRefused where it has another name."""
    try:
        said = json.loads(answer.body)
        name, message = str(said["error"]), str(said["message"])
    except (ValueError, KeyError, TypeError):
        return ServiceRefused(f"status {answer.status}", status=answer.status, error="")
    kind = vars(errors).get(name)
    if isinstance(kind, type) and issubclass(kind, InfexError) and not issubclass(kind, OWN_WORDS):
        return kind(message)
    words = {"field": said.get("field"), "expected": said.get("expected")}
    return ServiceRefused(message, status=answer.status, error=name, **words)


def encoded_body(body: object) -> bytes:
    """A body as JSON: arrays as lists, what is missing as null, and no number that is not finite."""
    try:
        return json.dumps(plain_body(body), allow_nan=False).encode()
    except ValueError:
        raise InvalidSetting("numbers must be finite") from None


def plain_body(value: object) -> Any:
    """What JSON can hold; NaN under a name is what is missing."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return plain_body(value.tolist())
    if isinstance(value, float):
        return value
    if isinstance(value, Mapping):
        return {str(name): None if _is_nan(part) else plain_body(part) for name, part in value.items()}
    if isinstance(value, list | tuple | range | set | frozenset):
        return [plain_body(part) for part in value]
    raise InvalidSetting(f"a request holds numbers, texts, lists and mappings, got a {type(value).__name__}")


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
