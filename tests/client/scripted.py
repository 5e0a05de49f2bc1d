"""A server that answers what a test says, and remembers what it was asked."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.waiting import PATIENCE


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Script:
    """The answers to come, each a status, a body and headers; None closes the connection without a word.

    A `gate` holds an answer back until it is set.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[Asked] = []
        self.connections = 0
        self.url = ""

    def then(self, status: int, body: object = None, **headers: str) -> None:
        self.answers.append((status, body, headers))

    def then_away(self) -> None:
        """Says that it cannot, and that it will not for longer than anybody waits."""
        self.then(503, {"error": "StoreFailed", "message": "full"}, retry_after="10000")

    def then_held(self, gate: threading.Event, status: int, body: object) -> None:
        self.answers.append((status, body, {}, gate))

    def then_nothing(self) -> None:
        self.answers.append(None)


@contextlib.contextmanager
def scripted() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            script.connections += 1

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.asked.append(Asked(self.command, self.path, headers, body))
            answer = script.answers.pop(0)
            if answer is None:
                self.close_connection = True
                return
            status, said, more, *gates = answer
            for gate in gates:
                gate.wait(PATIENCE)
            data = json.dumps(said).encode()
            self.send_response(status)
            named = {name.replace("_", "-"): value for name, value in more.items()}
            for name, value in {"content-length": str(len(data)), **named}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *words: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
