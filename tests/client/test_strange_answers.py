"""What a client makes of answers that are no service's, or a newer one's."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

import infex
from infex.client import Patience
from infex.errors import ServiceSilent

DECISION = {
    "key": "a",
    "round": 1,
    "arm": 0,
    "label": "tea",
    "explored": False,
    "greedy": 0,
    "estimate": 0.5,
    "low": 0.0,
    "high": 1.0,
    "propensity": 1.0,
    "reason": "greedy",
    "explore_probability": 0.0,
    "base_propensity": None,
    "colour": "of a later version",
}


def patience_for_one_try() -> Patience:
    """Time is up after the first answer."""
    ticks = iter([0.0, 0.0, *[9.0] * 9])
    return Patience(seconds=5.0, pause=lambda seconds: None, clock=ticks.__next__)


class Answering(BaseHTTPRequestHandler):
    status: ClassVar[int] = 200
    body: ClassVar[bytes] = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(self.status)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *given: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def asked(url: str, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, default: str | None) -> Any:
    monkeypatch.setattr(Answering, "status", status)
    monkeypatch.setattr(Answering, "body", body)
    with infex.Client(url, patience=patience_for_one_try()) as client:
        return client.study("shop").ask("a", default=default)


def test_fields_of_a_newer_service_are_left_alone(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(url, monkeypatch, 200, json.dumps(DECISION).encode(), None).label == "tea"


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>a page</html>"), (302, b""), (302, b"<html>")])
def test_a_page_of_a_proxy_is_no_answer(
    url: str, status: int, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision = asked(url, monkeypatch, status, body, "juice")
    assert decision.fallback
    assert decision.label == "juice"
    with pytest.raises(ServiceSilent, match="is the url right"):
        asked(url, monkeypatch, status, body, None)
