"""Requests by their `Idempotency-Key`, as draft-ietf-httpapi-idempotency-key-header says.

The same request again gets the answer that the first one got, also after a restart; another request with the
same key gets 422, and one whose first is still under way 409. Answers that say yes are kept for a week.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import final

from infex.errors import InvalidBody, StoreFailed, UnderWay
from infex.study.kept_answers import AnswerTable, KeptAnswer

LONGEST_KEY_HEADER = 200


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
    """Remembers requests that are under way, and finds the answers of those before; for one event loop."""

    def __init__(self, table: AnswerTable, clock: Callable[[], float] = time.time) -> None:
        self._table, self._clock = table, clock
        self._begun: dict[bytes, bytes] = {}
        self._unwritten: list[tuple[KeptAnswer, asyncio.Future[None]]] = []
        self._writing = asyncio.Lock()

    async def begin(self, place: bytes, body: bytes) -> bytes | None:
        """The answer that this request got before; None if it is new, and it is under way from now on."""
        digest = blake2b(body, digest_size=16).digest()
        if place in self._begun:
            _refuse_another(self._begun[place], digest)
            raise UnderWay("a request with this Idempotency-Key is under way")
        self._begun[place] = digest
        try:
            kept = await asyncio.to_thread(self._table.find, place)
        except BaseException:
            del self._begun[place]
            raise
        if kept is None:
            return None
        del self._begun[place]
        _refuse_another(kept.digest, digest)
        return kept.answer

    async def end(self, place: bytes, answer: bytes | None) -> None:
        """A request is no longer under way; with its answer, which is then on disk, if that said yes."""
        try:
            if answer is not None:
                await self._keep(KeptAnswer(place, self._begun[place], answer))
        finally:
            del self._begun[place]

    async def _keep(self, answer: KeptAnswer) -> None:
        """Those who come while others are written are written together, after them."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unwritten.append((answer, written))
        async with self._writing:
            if not written.done():
                await self._write()
        written.result()

    async def _write(self) -> None:
        together, self._unwritten = self._unwritten, []
        failed: StoreFailed | None = StoreFailed("the answer could not be kept: the same again is safe")
        try:
            await asyncio.to_thread(self._table.put, [answer for answer, _ in together], self._clock())
            failed = None
        except StoreFailed as error:
            failed = error
        finally:  # whoever waits must hear of it, though this one is cancelled
            for _, written in together:
                _settle(written, failed)

    def close(self) -> None:
        """Lets go of the answers."""
        self._table.close()


def _settle(written: asyncio.Future[None], failed: StoreFailed | None) -> None:
    if failed is None:
        written.set_result(None)
    else:
        written.set_exception(failed)
        written.exception()  # one who is cancelled does not ask for it


def _refuse_another(known: bytes, digest: bytes) -> None:
    if known != digest:
        raise InvalidBody(
            "another request was sent with this Idempotency-Key",
            field="Idempotency-Key",
            expected="a new key for another request",
        )
