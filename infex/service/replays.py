"""Answers by their `Idempotency-Key`, as draft-ietf-httpapi-idempotency-key-header says.

The same request again gets the answer that the first one got, another request with the same key 422, and
one whose first is still under way 409. Answers that say yes are kept in memory, up to a number and a
size; after a restart decisions and rewards are still known by their own keys, which the journal keeps.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import final

from infex.errors import InvalidBody, UnderWay

MOST_KEPT, MOST_KEPT_BYTES = 10_000, 50_000_000
LONGEST_KEY_HEADER = 200
Place = tuple[str, str]
"""An address and a key."""


def key_of(header: str) -> str:
    """The key in the header: a text in quotes, as the draft says, or without them."""
    text = header.strip()
    key = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    if not key or len(key) > LONGEST_KEY_HEADER or not key.isascii() or not key.isprintable() or '"' in key:
        raise InvalidBody(
            "the Idempotency-Key cannot be read",
            field="Idempotency-Key",
            expected=f'a text in quotes, of 1 to {LONGEST_KEY_HEADER} letters of ASCII without "',
        )
    return key


@final
class Replays:
    """Remembers requests and their answers; for one event loop."""

    def __init__(self, most: int = MOST_KEPT, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self._most, self._most_bytes, self._bytes = most, most_bytes, 0
        self._kept: OrderedDict[Place, tuple[bytes, bytes]] = OrderedDict()
        self._begun: dict[Place, bytes] = {}

    def begin(self, place: Place, body: bytes) -> bytes | None:
        """The answer that this request got before; None if it is new, and it is under way from now on."""
        digest = blake2b(body, digest_size=16).digest()
        known = self._begun.get(place) or self._kept.get(place, (None,))[0]
        if known is not None and known != digest:
            raise InvalidBody(
                "another request was sent with this Idempotency-Key",
                field="Idempotency-Key",
                expected="a new key for another request",
            )
        if place in self._begun:
            raise UnderWay("a request with this Idempotency-Key is under way")
        if known is not None:
            return self._kept[place][1]
        self._begun[place] = digest
        return None

    def end(self, place: Place, answer: bytes | None) -> None:
        """A request is no longer under way; with its answer if that said yes."""
        digest = self._begun.pop(place)
        if answer is None:
            return
        self._kept[place] = digest, answer
        self._bytes += len(answer)
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            _, (_, old) = self._kept.popitem(last=False)
            self._bytes -= len(old)
