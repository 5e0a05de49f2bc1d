"""How many durable decisions a second a service answers, with the client on the same machine."""

import asyncio
import contextlib
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
from typing import NamedTuple

import infex

ARMS, FEATURES = 40, 12
SECONDS = 6.0
WARM_UP = 200
CONTEXT = [round(0.01 * (place + 1), 3) for place in range(FEATURES)]


class Row(NamedTuple):
    """One load: connections, decisions in a request, decisions a second, latency of a request,
    and microseconds of the server's processor time for a decision.
    """

    connections: int
    batch: int
    per_second: float
    p50_ms: float
    p99_ms: float
    server_us: float
    wanted: str


def table(seconds: float = SECONDS) -> list[Row]:
    """All loads, each on a study of its own."""
    loads = (
        (1, 1, "p50 under 6 ms"),
        (16, 1, ""),
        (64, 1, "4,000/s, p99 under 40 ms"),
        (8, 100, "20,000/s"),
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (port, process):
        for connections, batch, wanted in loads:
            asyncio.run(_load(port, f"warm-{connections}-{batch}", connections, batch, 1.0))
            before = _processor_seconds(process)
            taken, spent = asyncio.run(
                _load(port, f"load-{connections}-{batch}", connections, batch, seconds)
            )
            taken.sort()
            per_second = len(taken) * batch / spent
            server = 1e6 * (_processor_seconds(process) - before) / (len(taken) * batch)
            rows.append(
                Row(connections, batch, per_second, _at(taken, 0.5), _at(taken, 0.99), server, wanted)
            )
    return rows


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


async def _load(
    port: int, name: str, connections: int, batch: int, seconds: float
) -> tuple[list[float], float]:
    """Latencies of all requests that so many connections sent, and how long that took."""
    shop = infex.record(infex.features.disjoint(ARMS, context_dim=FEATURES))
    begin = {"name": name, "policy": "Infex(LinUCB, every(50))", "features": shop}
    await _Connection(port).post("/v1/studies", begin)
    taken: list[float] = []
    begun = time.perf_counter()
    end = begun + seconds
    await asyncio.gather(*(_ask(port, name, number, batch, end, taken) for number in range(connections)))
    return taken, time.perf_counter() - begun


async def _ask(port: int, name: str, number: int, batch: int, end: float, taken: list[float]) -> None:
    connection, path = _Connection(port), f"/v1/studies/{name}/decisions"
    count = 0
    while (begun := time.perf_counter()) < end:
        keys = [f"{number}-{count + place}" for place in range(batch)]
        count += batch
        asked = [{"key": key, "context": CONTEXT} for key in keys]
        await connection.post(path, asked if batch > 1 else asked[0])
        taken.append(time.perf_counter() - begun)


class _Connection:
    """One connection that stays open, with the least of HTTP: the client is not what is measured."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: object) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(re.search(rb"content-length: (\d+)", answer)[1])  # type: ignore[index]
        content = await reader.readexactly(size)
        if not answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(content.decode())
        return content


def _processor_seconds(process: int) -> float:
    """What a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _at(taken: list[float], share: float) -> float:
    return 1000 * taken[int(share * (len(taken) - 1))]


if __name__ == "__main__":
    for row in table():
        print(row)
