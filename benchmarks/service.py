"""How many durable decisions a second services answer, beside their client: `make bench-service`.

The client is a process of its own that writes bytes made before and looks at nothing but the status and the
length of what comes back. It shares the cores with the services and their database: `client_us` says how much
it takes of them. Pages are measured by `benchmarks.page`.
"""

import asyncio
import contextlib
import http.client
import itertools
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
from typing import Any, NamedTuple, cast

import uvloop

import infex
from tests.study.server import running as database

ARMS, FEATURES = 40, 12
SECONDS, PATIENCE = 6.0, 30.0
CONTEXT = [round(0.01 * (place + 1), 3) for place in range(FEATURES)]
LENGTH = b"content-length: "


class Row(NamedTuple):
    """One load: the database, connections, decisions in a request, decisions a second, latency of a request,
    and microseconds of the services' and the client's processor time for a decision.
    """

    database: str
    connections: int
    batch: int
    per_second: float
    p50_ms: float
    p99_ms: float
    server_us: float
    client_us: float
    wanted: str


class Load(NamedTuple):
    """So many connections, each with so many decisions in a request."""

    connections: int
    batch: int
    wanted: str = ""


SQLITE_LOADS = (
    Load(1, 1, "p50 under 6 ms"),
    Load(16, 1),
    Load(64, 1, "4,000/s, p99 under 60 ms"),
    Load(8, 100, "14,000/s"),
)
POSTGRES_LOADS = (Load(64, 1), Load(8, 100))


class Instance(NamedTuple):
    """A service: where it listens, and the number of its process."""

    port: int
    process: int


def table(seconds: float = SECONDS) -> list[Row]:
    """All loads, each on a study of its own: of one service on SQLite, and of two on PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as alone:
        rows = [measured("SQLite", [alone], load, seconds) for load in SQLITE_LOADS]
    with (
        database() as server,
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), server.url) as one,
        serving(Path(folder), server.url) as other,
    ):
        return rows + [measured("PostgreSQL", [one, other], load, seconds) for load in POSTGRES_LOADS]


def measured(database: str, instances: list[Instance], load: Load, seconds: float) -> Row:
    """One load, after a second of the same that does not count."""
    ports, name = [instance.port for instance in instances], f"{load.connections}-{load.batch}"
    uvloop.run(_requests(ports, f"warm-{name}", load, 1.0))
    before, own = _processor_seconds(instances), time.process_time()
    taken, spent = uvloop.run(_requests(ports, f"load-{name}", load, seconds))
    server, client = _processor_seconds(instances) - before, time.process_time() - own
    taken.sort()
    count = len(taken) * load.batch
    p50, p99 = (1000 * taken[int(share * (len(taken) - 1))] for share in (0.5, 0.99))
    figures = count / spent, p50, p99, 1e6 * server / count, 1e6 * client / count
    return Row(database, load.connections, load.batch, *figures, load.wanted)


@contextlib.contextmanager
def serving(folder: Path, url: str | None = None) -> Iterator[Instance]:
    """A service in a process of its own, on a database in a folder or at a URL."""
    where = f"sqlite:///{folder}/bench.db" if url is None else url
    words = ["serve", "--db", where, "--port", "0", "--tokens", f"{folder}/no.tokens"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "infex", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r":(\d+)/$", line.strip()):
                    while _status(int(found[1]), "/readyz") != 200:
                        time.sleep(0.05)
                    yield Instance(int(found[1]), process.pid)
                    break
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _status(port: int, path: str) -> int:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", path, headers={"Host": "localhost"})
        return connection.getresponse().status


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


async def _requests(ports: list[int], name: str, load: Load, seconds: float) -> tuple[list[float], float]:
    """Latencies of all requests of a load, and how long they took together."""
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, begin_study, ports[0], name)
    taken: list[float] = []
    begun = time.perf_counter()
    askers = [Asker(name, number, load.batch, begun + seconds, taken) for number in range(load.connections)]
    for asker, port in zip(askers, itertools.cycle(ports), strict=False):
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


def _processor_seconds(instances: list[Instance]) -> float:
    return sum(processor_seconds(instance.process) for instance in instances)


def processor_seconds(process: int) -> float:
    """What a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(seconds: float = SECONDS) -> list[dict[str, Any]]:
    """Prints the table."""
    print("\ndurable decisions over HTTP, 40 arms of 12 features; client and database share these cores\n")
    print(
        f"{'database':12}{'connections':>12}{'batch':>7}{'a second':>11}{'p50 ms':>9}{'p99 ms':>9}"
        f"{'service us':>12}{'client us':>11}  wanted"
    )
    rows = table(seconds)
    for row in rows:
        figures = f"{row.per_second:11,.0f}{row.p50_ms:9.1f}{row.p99_ms:9.1f}"
        spent = f"{row.server_us:12.0f}{row.client_us:11.0f}"
        print(f"{row.database:12}{row.connections:12}{row.batch:7}{figures}{spent}  {row.wanted}")
    return [row._asdict() for row in rows]


if __name__ == "__main__":
    show(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
