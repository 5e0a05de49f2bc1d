"""How many durable decisions a second a service answers, with the client on the same machine.

The client is a process of its own that writes bytes made before and looks at nothing but the status and the
length of what comes back: it takes a tenth of the server's time. Pages are measured by `benchmarks.page`.
"""

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import uvloop

import infex

ARMS, FEATURES = 40, 12
SECONDS, PATIENCE = 6.0, 30.0
CONTEXT = [round(0.01 * (place + 1), 3) for place in range(FEATURES)]
LENGTH = b"content-length: "


class Row(NamedTuple):
    """One load: connections, decisions in a request, decisions a second, latency of a request,
    and microseconds of the server's and the client's processor time for a decision.
    """

    connections: int
    batch: int
    per_second: float
    p50_ms: float
    p99_ms: float
    server_us: float
    client_us: float
    wanted: str


def table(seconds: float = SECONDS) -> list[Row]:
    """All loads, each on a study of its own."""
    loads = (
        (1, 1, "p50 under 6 ms"),
        (16, 1, ""),
        (64, 1, "4,000/s, p99 under 60 ms"),
        (8, 100, "14,000/s"),
    )
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (port, process):
        return [measured(port, process, *load, seconds) for load in loads]


def measured(port: int, process: int, connections: int, batch: int, wanted: str, seconds: float) -> Row:
    """One load, after a second of the same that does not count."""
    uvloop.run(_load(port, f"warm-{connections}-{batch}", connections, batch, 1.0))
    before, own = processor_seconds(process), time.process_time()
    taken, spent = uvloop.run(_load(port, f"load-{connections}-{batch}", connections, batch, seconds))
    taken.sort()
    count = len(taken) * batch
    server, client = processor_seconds(process) - before, time.process_time() - own
    p50, p99 = (1000 * taken[int(share * (len(taken) - 1))] for share in (0.5, 0.99))
    return Row(
        connections, batch, count / spent, p50, p99, 1e6 * server / count, 1e6 * client / count, wanted
    )


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[int, int]]:
    """A service in a process of its own; its port, and its number."""
    command = [sys.executable, "-m", "infex", "serve", "--db", f"sqlite:///{folder}/bench.db", "--port", "0"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r":(\d+)/$", line.strip()):
                    yield int(found[1]), process.pid
                    break
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def begin_study(port: int, name: str) -> None:
    """A shop of 40 products whose visitors have 12 features."""
    shop = infex.to_record(infex.features.disjoint(ARMS, context_dim=FEATURES))
    body = {"name": name, "policy": "Infex(LinUCB, every(50))", "features": shop}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/studies", json.dumps(body), {"Host": "localhost"})
    answer = connection.getresponse()
    if answer.status != 201:
        raise RuntimeError(answer.read().decode())
    connection.close()


async def _load(
    port: int, name: str, connections: int, batch: int, seconds: float
) -> tuple[list[float], float]:
    """Latencies of all requests that so many connections sent, and how long that took."""
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, begin_study, port, name)
    taken: list[float] = []
    begun = time.perf_counter()
    askers = [Asker(name, number, batch, begun + seconds, taken) for number in range(connections)]
    for asker in askers:
        await loop.create_connection(lambda asker=asker: asker, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.wait_for(asyncio.gather(*(asker.ended for asker in askers)), seconds + PATIENCE)
    return taken, time.perf_counter() - begun


class Asker(asyncio.Protocol):
    """One connection: sends a request when the one before is answered, until the end."""

    def __init__(self, study: str, number: int, batch: int, end: float, taken: list[float]) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._batch, self._end, self._taken, self._count = batch, end, taken, 0
        self._back, self._sent = b"", 0.0
        key, tail = f'{{"key":"{number}-', f'","context":{json.dumps(CONTEXT)}}}'
        one = (key + "%08d" + tail).encode()
        body = one if batch == 1 else b"[" + b",".join([one] * batch) + b"]"
        size = len(body % ((0,) * batch))
        lines = f"POST /v1/studies/{study}/decisions HTTP/1.1", "Host: localhost", f"Content-Length: {size}"
        self._request = "\r\n".join((*lines, "", "")).encode() + body

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._back = back = self._back + data if self._back else data
        head = back.find(b"\r\n\r\n")
        if head < 0:
            return
        place = back.find(LENGTH) + len(LENGTH)
        if len(back) < head + 4 + int(back[place : back.index(b"\r", place)]):
            return
        if not back.startswith(b"HTTP/1.1 200"):
            self.ended.set_exception(RuntimeError(back.decode()))
            return
        now, self._back = time.perf_counter(), b""
        self._taken.append(now - self._sent)
        if now < self._end:
            self._send()
        else:
            self._transport.close()
            self.ended.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error or ConnectionError("the service has closed the connection"))

    def _send(self) -> None:
        numbers = tuple(range(self._count, self._count + self._batch))
        self._count += self._batch
        self._sent = time.perf_counter()
        self._transport.write(self._request % numbers)


def processor_seconds(process: int) -> float:
    """What a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    for row in table(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS):
        print(row)
