"""Requests made from the OpenAPI description and spoiled in every way: no 5xx, and refusals name a field."""

import signal
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.service import fuzzing
from tests.service.running import PRICING, running
from tests.service.serving_here import serving
from tests.service.test_serving import asked, sent
from tests.waiting import PATIENCE

MOST_GROWTH = 50_000  # kilobytes
SLOW_BODIES = 20
HALF = b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
LARGE = (
    b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n" + b" " * 10_000_000
)


def description(folder: Path) -> dict[str, Any]:
    with running(folder) as call:
        described: dict[str, Any] = call("GET", "/openapi.json").json
        return described


def memory(process: subprocess.Popen[Any]) -> int:
    """Kilobytes that a process has in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def fuzzed(folder: Path, examples: int, warm: int, count: int) -> int:
    """By how many kilobytes a service grows while it is sent so many requests, after some that do not count.

    All the while some bodies have come in half, and stay so.
    """
    pool = fuzzing.cases(description(folder), examples)
    with serving(folder) as (url, process):
        asked(url, "POST", "/v1/studies", PRICING)
        place = urlsplit(url)
        slow = [socket.create_connection((place.hostname, place.port), PATIENCE) for _ in range(SLOW_BODIES)]
        for connection in slow:
            connection.sendall(HALF)
        judged(fuzzing.send_all(url, fuzzing.requests(pool, 1), warm))
        before = memory(process)
        judged(fuzzing.send_all(url, fuzzing.requests(pool, 2), count))
        grown = memory(process) - before
        for connection in slow:
            connection.close()
        assert asked(url, "GET", "/healthz")[0] == 200
        assert said_at_end(process) == "", "requests alone must not fill the log"
        return grown


def said_at_end(process: subprocess.Popen[Any]) -> str:
    """What a service has said of all requests, once it has ended."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    assert process.stderr is not None
    said: str = process.stderr.read()
    return said


def judged(seen: fuzzing.Seen) -> None:
    assert not seen.wrong, (len(seen.wrong), seen.wrong[:5])
    assert {200, 404, 422} <= seen.statuses.keys(), seen.statuses


def test_requests_by_the_description_never_fail_the_service(tmp_path: Path) -> None:
    fuzzed(tmp_path, 4, 100, 700)


def test_ten_megabytes_are_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as (url, _):
        for _ in range(3):
            back = sent(url, LARGE, half_close=False)
            assert back.startswith(b"HTTP/1.1 413") or back == b"", back
        assert asked(url, "GET", "/healthz")[0] == 200


@pytest.mark.slow
def test_a_hundred_thousand_requests_take_no_memory(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, 150, 5_000, 100_000) < MOST_GROWTH
