"""Two instances on one PostgreSQL, one of them killed: clients go on, and exploration stays exact."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import infex
from tests.service.running import CONTEXT, PRICING
from tests.study.server import running as database
from tests.waiting import PATIENCE, started

CLIENTS, KEYS, KILL_AFTER = 4, 15, 20
GIVES_UP = 3.0  # seconds, after which a till asks the other instance, and that one again, and so on


@contextmanager
def instance(url: str, tokens: Path) -> Iterator[tuple[str, subprocess.Popen[Any]]]:
    words = [sys.executable, "-m", "infex", "serve", "--db", url, "--port", "0", "--tokens", str(tokens)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with started(words, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        found = next(found for line in lines if (found := re.search(r"at (http://\S+:\d+)/$", line.strip())))
        yield found[1], process
        process.stderr.close()


class Till(threading.Thread):
    """Asks for its keys, at one instance, or where that does not answer, at the other."""

    def __init__(self, number: int, urls: list[str], answered: threading.Semaphore) -> None:
        super().__init__()
        self.number, self.urls, self.answered = number, urls, answered
        self.decided: dict[str, Any] = {}

    def run(self) -> None:
        clients = [infex.Client(url, seconds=GIVES_UP, fallback=False) for url in self.urls]
        studies = [client.study("pricing") for client in clients]
        for place in range(KEYS):
            key = f"{self.number}-{place}"
            self.decided[key] = self.ask(studies, key)
            self.answered.release()
        for client in clients:
            client.close()

    def ask(self, studies: list[Any], key: str) -> Any:
        while True:
            try:
                return studies[0].ask(key, context=CONTEXT)
            except infex.errors.ServiceSilent:
                studies.reverse()


def test_clients_go_on_with_the_other_and_exploration_stays_exact(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    with (
        database() as server,
        instance(server.url, tokens) as (one, first),
        instance(server.url, tokens) as (two, _),
    ):
        with infex.Client(one, seconds=PATIENCE) as client:
            client.open("pricing", policy=PRICING["policy"], features=PRICING["features"], seed=7)
        answered = threading.Semaphore(0)
        tills = [Till(n, [one, two] if n % 2 else [two, one], answered) for n in range(CLIENTS)]
        for till in tills:
            till.start()
        for _ in range(KILL_AFTER):
            assert answered.acquire(timeout=PATIENCE)
        first.kill()
        for till in tills:
            till.join(PATIENCE)
        decided = {key: decision for till in tills for key, decision in till.decided.items()}
        assert len(decided) == CLIENTS * KEYS
        rounds = sorted(decision.t for decision in decided.values())
        assert rounds == list(range(1, CLIENTS * KEYS + 1))
        assert sorted(d.t for d in decided.values() if d.explored) == [t for t in rounds if t % 3 == 0]
        with infex.Client(two, seconds=PATIENCE, fallback=False) as client:
            study = client.study("pricing")
            assert all(study.ask(key, context=CONTEXT) == decision for key, decision in decided.items())
