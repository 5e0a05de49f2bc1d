"""Requests by the thousand: made from the OpenAPI description, spoiled, and sent as bytes."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core.result import Ok

UNENDING = ("/v1/events",)
CONNECTIONS = 8
SCARS = b'\0\xff\r\n:"{}[],\\ 09eE+-'
NO_JSON = (b"NaN", b"1e999", b"-Infinity", b"[" * 3000 + b"]" * 3000, b"0x1", b"\xff\xfe", b"'a'")
OTHER_JSON: tuple[Any, ...] = (
    True,
    None,
    "1",
    "",
    -1,
    0.5,
    2**70,
    1e300,
    [],
    {},
    [[]],
    {"a": {"a": [1]}},
    "\ud800",
    "\0",
    "x" * 300,
)
PLACE = "a place for what is not JSON"


class Raw(NamedTuple):
    """One request as bytes; with `must_name` its body is wrong, and the refusal must name a field."""

    data: bytes
    must_name: bool = False
    is_http: bool = True


class Seen(NamedTuple):
    """What came back: how often each status, and the statuses are 0 where a connection was closed instead."""

    statuses: Counter[int]
    wrong: list[str]


def cases(described: dict[str, Any], examples: int) -> list[Any]:
    """So many requests for every address, as schemathesis makes them of the description."""
    found: list[Any] = []
    for operation in schemathesis.openapi.from_dict(described).get_all_operations():
        assert isinstance(operation, Ok), operation
        if operation.ok().path not in UNENDING:
            found += _drawn(operation.ok(), examples)
    return found


def _drawn(operation: Any, examples: int) -> list[Any]:
    drawn: list[Any] = []

    @given(case=operation.as_strategy())
    @settings(max_examples=examples, phases=[Phase.generate], derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    def draw(case: Any) -> None:
        drawn.append(case)

    draw()
    return drawn


def requests(pool: list[Any], seed: int) -> Iterator[Raw]:
    """Requests without end: those of the pool, with other values, with what is no JSON, or scarred."""
    luck = random.Random(seed)
    while True:
        case, kind = luck.choice(pool), luck.randrange(10)
        name = None if kind == 9 else "pricing"
        body = case.body if isinstance(case.body, bytes | list | dict | str | int | float | bool) else None
        if kind < 3:
            yield as_http(case, name, _encoded(body))
        elif kind < 6:
            yield as_http(case, name, _encoded(_changed(body, luck.choice(OTHER_JSON), luck)))
        elif kind < 8 and isinstance(body, dict | list):
            spoiled = _encoded(_changed(body, PLACE, luck)).replace(_encoded(PLACE), luck.choice(NO_JSON), 1)
            yield as_http(case, name, spoiled)._replace(must_name=True)
        else:
            yield Raw(_scarred(as_http(case, name, _encoded(body)).data, luck), is_http=False)


def as_http(case: Any, name: str | None, body: bytes) -> Raw:
    """A case of schemathesis as bytes; of the study of this name, or of that of the case."""
    words = (case.path_parameters or {}) | ({} if name is None else {"name": name})
    path = case.operation.path.format(**{word: quote(str(value), safe="") for word, value in words.items()})
    query = urlencode({word: str(value) for word, value in (case.query or {}).items()}, errors="replace")
    lines = [f"{case.method} {path}?{query} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    for header, value in (case.headers or {}).items():
        if header.lower() != "authorization" and str(value).isascii() and str(value).isprintable():
            lines.append(f"{header}: {value}")
    return Raw("\r\n".join((*lines, "", "")).encode() + body)


def _encoded(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    return b"" if body is None else json.dumps(body).encode()


def _changed(body: object, value: object, luck: random.Random) -> object:
    """The body with another value somewhere in it, or with a field that nobody knows."""
    if isinstance(body, dict):
        field = luck.choice([*body, "unheard_of"])
        return {**body, field: value if luck.random() < 0.7 else _changed(body.get(field), value, luck)}
    if isinstance(body, list) and body and luck.random() < 0.7:
        place = luck.randrange(len(body))
        return [*body[:place], _changed(body[place], value, luck), *body[place + 1 :]]
    return value


def _scarred(data: bytes, luck: random.Random) -> bytes:
    """Bytes that were swapped, repeated or cut off."""
    whole = bytearray(data)
    for _ in range(luck.randrange(1, 4)):
        place = luck.randrange(len(whole) or 1)
        match luck.randrange(4):
            case 0:
                whole[place : place + 1] = bytes([luck.choice(SCARS)])
            case 1:
                del whole[place:]
            case 2:
                whole[place:place] = whole[max(0, place - 9) : place]
            case _:
                whole[place:place] = luck.randbytes(8)
    return bytes(whole) or b"\r\n"


def send_all(url: str, requests: Iterator[Raw], count: int) -> Seen:
    """Sends so many of them, a few at once."""
    return asyncio.run(_send_all(url, requests, count))


async def _send_all(url: str, requests: Iterator[Raw], count: int) -> Seen:
    seen, left = Seen(Counter(), []), iter(range(count))
    await asyncio.gather(*(_sender(url, requests, left, seen) for _ in range(CONNECTIONS)))
    return seen


async def _sender(url: str, requests: Iterator[Raw], left: Iterator[int], seen: Seen) -> None:
    """One connection, which is made anew whenever the service has closed it."""
    line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    for _ in left:
        raw = next(requests)
        if line is None or not raw.is_http:
            _close(line)
            line = await _connected(url)
        status, body = await _answered(*line, raw)
        seen.statuses[status] += 1
        if reason := _complaint(raw, status, body):
            seen.wrong.append(f"{reason}: {raw.data[:400]!r} got {status} {body[:300]!r}")
        if not raw.is_http or status == 0:
            _close(line)
            line = None
    _close(line)


async def _connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(url)
    return await asyncio.open_connection(place.hostname, place.port)


def _close(line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None) -> None:
    if line is not None:
        line[1].transport.abort()


async def _answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, raw: Raw
) -> tuple[int, bytes]:
    """Status and body; the status is 0 where the connection was closed."""
    try:
        writer.write(raw.data)
        if not raw.is_http:
            writer.write_eof()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head[9:12])
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        bodiless = raw.data.startswith(b"HEAD ") or status == 304
        body = await reader.readexactly(0 if bodiless else length)
        return (0 if b"connection: close" in head and raw.is_http and status < 400 else status), body
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0, b""


def _complaint(raw: Raw, status: int, body: bytes) -> str:
    """What is wrong with an answer; nothing if it is right."""
    if status >= 500 or (status == 0 and raw.is_http):
        return "failed"
    if status >= 400 and raw.is_http and not body.startswith(b'{"error":"'):
        return "a refusal that is no JSON"
    if raw.must_name and status != 429 and (status < 400 or json.loads(body)["field"] is None):
        return "no field is named"
    return ""
