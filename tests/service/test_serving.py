"""A service that listens: what it listens on, how it ends, and what bytes of any kind do to it."""

import http.client
import json
import random
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import infex
from infex.client import RemoteStudy
from infex.errors import InvalidSetting
from infex.service.auth import TokenFile
from infex.service.server import Listening, serve
from tests.ports import steady_port
from tests.service.killing import Load
from tests.service.running import CONTEXT, PRICING
from tests.service.serving_here import served, serving
from tests.waiting import PATIENCE

KILLS, CLIENT_KEYS = 3, 60


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("127.8.8.8", True),
        ("0.0.0.0", False),
        ("10.0.0.7", False),
        ("::", False),
        ("example.com", False),
        ("127.0.0.1.evil.example", False),
    ],
)
def test_another_address_than_loopback_needs_a_token(tmp_path: Path, host: str, local: bool) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    if local:
        assert Listening(url=url, host=host).is_local
        return
    with pytest.raises(InvalidSetting, match="infex token make"):
        Listening(url=url, host=host)
    TokenFile(tmp_path / "shop.db.tokens").make(["read"])
    assert host in Listening(url=url, host=host, hosts=("shop.example",)).names[3]
    with pytest.raises(InvalidSetting, match="port"):
        Listening(url=url, port=70_000)


def sent(url: str, data: bytes, half_close: bool) -> bytes:
    """What comes back for some bytes; the other side may close at any time."""
    place = urlsplit(url)
    back = b""
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(data)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            while not back.endswith(b"}") and (part := connection.recv(65_536)):
                back += part
        except (ConnectionResetError, BrokenPipeError):
            pass
    return back


def test_bytes_of_any_kind_do_no_harm(tmp_path: Path) -> None:
    """Cut, swapped and repeated requests, with half-closed connections: never a 5xx, and it goes on."""
    random_bytes = random.Random(7)
    body = json.dumps({"key": "k", "context": CONTEXT}).encode()
    lines = (
        b"POST /v1/studies/pricing/decisions HTTP/1.1",
        b"Host: localhost",
        b"Connection: close",
        b"Content-Length: %d" % len(body),
    )
    right = b"\r\n".join(lines) + b"\r\n\r\n" + body
    with served(tmp_path) as url:
        asked(url, "POST", "/v1/studies", PRICING)
        for number in range(150):
            whole = bytearray(right)
            for _ in range(random_bytes.randrange(1, 4)):
                place = random_bytes.randrange(len(whole))
                kind = random_bytes.randrange(3)
                if kind == 0:
                    whole[place] = random_bytes.randrange(256)
                elif kind == 1:
                    del whole[place:]
                    break
                else:
                    whole[place:place] = whole[max(0, place - 9) : place]
            back = sent(url, bytes(whole) or b"\r\n", half_close=True)
            assert not back.startswith(b"HTTP/1.1 5"), (bytes(whole), back)
            assert b"Traceback" not in back, number
        assert asked(url, "GET", "/healthz")[0] == 200
        assert (
            asked(url, "POST", "/v1/studies/pricing/decisions", {"key": "last", "context": CONTEXT})[0] == 200
        )


def asked(url: str, method: str, path: str, body: object = None) -> tuple[int, object]:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_large_body_is_refused_while_it_comes(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        for head in (b"Content-Length: 10000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"):
            start = b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + head
            chunk = (
                b"%x\r\n%s\r\n" % (1_100_000, b" " * 1_100_000) if b"chunked" in head else b" " * 1_100_000
            )
            back = sent(url, start + chunk, half_close=False)
            assert back.startswith(b"HTTP/1.1 413") or back == b"", back
        assert asked(url, "GET", "/healthz")[0] == 200


@pytest.mark.parametrize("part", [b"X-More: %s\r\n" % (b"a" * 1000), b"a" * 1000], ids=["many", "long"])
def test_a_head_without_end_is_refused(tmp_path: Path, part: bytes) -> None:
    with served(tmp_path) as url:
        start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: "
        back = sent(url, start + part * 2000, half_close=False)
        assert back.startswith(b"HTTP/1.1 400") or back == b"", back
        assert asked(url, "GET", "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("size", "statuses"), [(32_000, {200}), (33_000, {431}), (60_000, {431}), (200_000, {431, 400, 0})]
)
def test_a_head_larger_than_the_handbook_says_is_refused(
    tmp_path: Path, size: int, statuses: set[int]
) -> None:
    """431; or 400, or the connection is closed, if twice as much has come without an end."""
    assert "Heads of 32 kB" in (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    line, rest = b"GET /healthz?", b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: "
    with served(tmp_path) as url:
        for in_line in (True, False):
            filling = b"a" * (size - len(line) - len(rest) - 4)
            parts = (line, filling, rest, b"\r\n\r\n") if in_line else (line, rest, filling, b"\r\n\r\n")
            back = sent(url, b"".join(parts), half_close=False)
            assert (int(back.split()[1]) if back else 0) in statuses, back[:200]


def test_trailers_without_end_are_refused(tmp_path: Path) -> None:
    head = (
        b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    )
    with served(tmp_path) as url:
        back = sent(url, head + b"X-Long: " + b"a" * 2_000_000, half_close=False)
        assert back == b"" or back[9:12] in (b"400", b"422"), back[:200]
        assert asked(url, "GET", "/healthz")[0] == 200


@pytest.mark.slow
def test_what_was_acknowledged_survives_sixty_kills(tmp_path: Path) -> None:
    killed(tmp_path, 60, 16)


def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    killed(tmp_path, KILLS, 4)


def killed(folder: Path, cycles: int, clients: int) -> None:
    """Clients that retry, a service that is killed: nothing acknowledged is lost or changed."""
    port = steady_port()
    with serving(folder, port=port) as (url, process):
        with infex.Client(url, seconds=PATIENCE) as client:
            client.open("pricing", policy=PRICING["policy"], features=PRICING["features"], seed=7)
        load = Load(url, clients)
        load.wait_for(20)
        process.kill()
        process.wait()
    for cycle in range(1, cycles):
        with serving(folder, port=port) as (_, process):
            load.wait_for(20 + CLIENT_KEYS * cycle)
            process.kill()
            process.wait()
    with serving(folder, port=port), infex.Client(url, seconds=PATIENCE, fallback=False) as client:
        load.end()
        judge(client.study("pricing"), load)


def judge(study: RemoteStudy, load: Load) -> None:
    for key, decision in load.decided.items():
        assert study.ask(key, context=CONTEXT) == decision
        if key in load.told:
            assert study.explain(key)["reward"] == load.told[key]
    figures = study.metrics()
    rounds = sorted(decision.t for decision in load.decided.values())
    assert rounds == list(range(1, figures["decisions"] + 1)), "a round is missing, or was given twice"
    explored = sorted(decision.t for decision in load.decided.values() if decision.explored)
    assert explored == [t for t in rounds if t % 3 == 0]
    assert figures["exploration"]["done"] == figures["decisions"] // 3


def test_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listening = Listening(url=f"sqlite:///{tmp_path}/a.db", port=taken.getsockname()[1])
        with pytest.raises(InvalidSetting, match=f"port {listening.port}: Address already in use"):
            serve(listening, started=lambda at: None)
