"""A service that runs within a test: the server in a thread, requests over HTTP."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import infex
from infex.service.app import Service
from infex.service.auth import TokenFile
from infex.service.schemas import ServiceLimits
from infex.service.server import Listening, server_of
from tests.waiting import PATIENCE, until

SHOP = infex.to_record(infex.features.disjoint(["tea", "juice", "water"], context_dim=2))
PRICING = {"name": "pricing", "policy": "Infex(LinUCB, every(3))", "features": SHOP, "seed": 7}
CONTEXT = [0.6, 0.8]


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """Requests to a service, each on a connection of its own."""

    def __init__(self, service: Service, port: int, threads: ThreadPoolExecutor) -> None:
        self.service, self.port, self._threads = service, port, threads
        self.url = f"http://127.0.0.1:{port}"

    def begin(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Future[Reply]:
        """A request that is under way: `.result()` is its reply."""
        return self._threads.submit(self, method, path, body, headers)

    def __call__(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {"host": "localhost", **(headers or {})}
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value.encode("latin-1"))
            if data is not None:
                connection.putheader("content-length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def is_read(self, study: str = "pricing") -> None:
        """Waits until the history of a study is that of its whole journal."""

        def read() -> bool:
            figures = self("GET", f"/v1/studies/{study}").json["figures"]
            return bool(figures["read"] == figures["entries"])

        until(read, "the journal is read")


@contextlib.contextmanager
def running(
    folder: Path,
    limits: ServiceLimits | None = None,
    tokens: TokenFile | None = None,
    url: str | None = None,
    wait: bool = True,
) -> Iterator[Running]:
    """A service on a database in this folder, or at a URL; its tokens are in shop.db.tokens.

    With `wait` its studies are open.
    """
    tokens = TokenFile(folder / "shop.db.tokens") if tokens is None else tokens
    url = f"sqlite:///{folder}/shop.db" if url is None else url
    limits = ServiceLimits() if limits is None else limits
    service = Service(url, tokens, ["localhost", "127.0.0.1"], limits)
    server = server_of(service, limits)
    with (
        Listening(url="sqlite:///unused.db", port=0).bind() as bound,
        ThreadPoolExecutor(64) as threads,
    ):
        port = bound.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            call = Running(service, port, threads)
            if wait:
                until(lambda: call("GET", "/readyz").json["status"] != "opening", "the studies are open")
            yield call
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
