"""A service whose database is away: it says so, answers what it can without it, and goes on by itself."""

import contextlib
import json
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infex.service import studies
from infex.study.study import Study
from tests.service.running import CONTEXT, PRICING, Reply, running
from tests.service.serving_here import command
from tests.study.server import running as database
from tests.waiting import PATIENCE, started, until

DECISIONS = "/v1/studies/pricing/decisions"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING|ERROR) \S.*")
NO_BYTES = 1  # a limit on the size of files: with it nothing can be written, as on a full disk


class Instance:
    """A service in a process of its own, and the lines of its log."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.lines, self.url = process, list[str](), ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = until(lambda: self._found(r"at (http://\S+:\d+)/$"), "the service listens", process)

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as said:
            for line in said:
                self.lines.append(line.rstrip("\n"))

    def _found(self, pattern: str) -> str:
        return next((found[1] for line in list(self.lines) if (found := re.search(pattern, line))), "")

    def __call__(self, method: str, path: str, body: bytes | None = None) -> Reply:
        asked = urllib.request.Request(self.url + path, body, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                return Reply(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return Reply(refused.code, dict(refused.headers), refused.read())

    def decide(self, key: str) -> Reply:
        return self("POST", DECISIONS, b'{"key": "%s", "context": [0.6, 0.8]}' % key.encode())

    def becomes(self, status: int) -> Reply:
        """Its readiness, once that has this status."""

        def asked() -> Reply | None:
            reply = self("GET", "/readyz")
            return reply if reply.status == status else None

        found = until(asked, f"/readyz gives {status}", self.process)
        assert found is not None
        return found

    def logged(self, words: str) -> str:
        """The first line of the log that has these words, once there is one."""
        return until(
            lambda: next((line for line in list(self.lines) if words in line), ""), words, self.process
        )

    def end(self) -> None:
        """Ends it; every line of its log had a time and a level."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0
        self._reader.join(PATIENCE)
        assert [line for line in self.lines if not LINE.fullmatch(line)] == []


@contextlib.contextmanager
def instance(words: list[str]) -> Iterator[Instance]:
    with started(words, stderr=subprocess.PIPE, text=True) as process:
        yield Instance(process)


def sample(metrics: Reply, name: str) -> float:
    assert metrics.status == 200, metrics.body
    (found,) = re.findall(rf"^{name} (\S+)$", metrics.body.decode(), re.MULTILINE)
    return float(found)


def begin(service: Instance) -> None:
    assert service("POST", "/v1/studies", json.dumps(PRICING).encode()).status == 201
    assert service.decide("before").status == 200
    assert service.becomes(200).json["status"] == "ready"
    assert sample(service("GET", "/metrics"), "infex_store_up") == 1.0


def check_away(service: Instance, advice: str) -> None:
    """The service without its database, after it failed once."""
    assert service.becomes(503).json["status"] == "store fails"
    assert service("GET", "/healthz").status == 200
    metrics = service("GET", "/metrics")
    assert sample(metrics, "infex_store_up") == 0.0
    assert sample(metrics, "infex_store_failures_total") >= 1.0
    assert b"infex_requests_total" in metrics.body
    line = service.logged("the database cannot be used")
    assert " ERROR " in line
    assert advice in line


def test_a_service_without_its_postgresql(tmp_path: Path) -> None:
    with database() as server:
        words = [sys.executable, "-m", "infex", "serve", "--db", server.url, "--port", "0"]
        with instance([*words, "--tokens", str(tmp_path / "tokens")]) as service:
            begin(service)
            server.stop()
            refused = [service.decide("during"), service("GET", "/v1/studies"), service.becomes(503)]
            assert [reply.status for reply in refused] == [503, 503, 503]
            for reply in refused:
                assert b"127.0.0.1" not in reply.body
                assert str(server.port).encode() not in reply.body
            assert refused[0].json["error"] == "StoreFailed"
            check_away(service, "Bring PostgreSQL back")
            server.start()
            service.becomes(200)
            service.logged("the database can be used again")
            assert sample(service("GET", "/metrics"), "infex_store_up") == 1.0
            assert service.decide("during").status == service.decide("after").status == 200
            service.end()


def test_a_service_that_starts_before_its_postgresql(tmp_path: Path) -> None:
    with database() as server:
        words = [sys.executable, "-m", "infex", "serve", "--db", server.url, "--port", "0"]
        words += ["--tokens", str(tmp_path / "tokens")]
        with instance(words) as service:
            begin(service)
            service.end()
        server.stop()
        with instance(words) as service:
            service.logged("the database cannot be used")
            assert service.becomes(503).json["status"] == "opening"
            assert service.decide("a").json["error"] == "NotReady"
            assert sample(service("GET", "/metrics"), "infex_store_up") == 0.0
            server.start()
            service.becomes(200)
            assert service.decide("before").status == 200
            service.end()


def test_a_service_on_a_full_disk(tmp_path: Path) -> None:
    with instance(command(tmp_path)) as service:
        begin(service)
        pid, kind = service.process.pid, resource.RLIMIT_FSIZE
        before = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (NO_BYTES, before[1]))
        refused = service.decide("during")
        assert (refused.status, refused.json["error"]) == (503, "StoreFailed")
        assert str(tmp_path).encode() not in refused.body
        check_away(service, "Make room on the disk")
        figures = service("GET", "/metrics").body
        assert b'infex_waiting{study="pricing"} 0.0' in figures
        resource.prlimit(pid, kind, before)
        service.becomes(200)  # nobody asks for anything meanwhile
        assert sample(service("GET", "/metrics"), "infex_store_up") == 1.0
        during = service.decide("during")
        assert (during.status, during.json["round"]) == (200, 2), "what was refused has taken effect since"
        assert service.decide("after").json["round"] == 3
        service.end()


@pytest.mark.parametrize("unreadable", [False, True], ids=["gone", "unreadable"])
def test_a_service_whose_file_is_gone_or_cannot_be_read(tmp_path: Path, unreadable: bool) -> None:
    with running(tmp_path) as call:
        assert call("POST", "/v1/studies", PRICING).status == 201
        assert call("POST", DECISIONS, {"key": "a", "context": CONTEXT}).status == 200

        def ready() -> int:
            return call("GET", "/readyz").status

        until(lambda: ready() == 200, "it is ready")
        file, aside = tmp_path / "shop.db", tmp_path / "aside"
        file.rename(aside)
        if unreadable:
            file.mkdir()  # which nobody can read as a file, not even root
        until(lambda: ready() == 503, "it is not ready without its file")
        assert sample(call("GET", "/metrics"), "infex_store_up") == 0.0
        if unreadable:
            file.rmdir()
        aside.rename(file)
        until(lambda: ready() == 200, "it is ready again")


def test_a_database_that_is_being_made_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, made, may_go_on, opened = tmp_path / "shop.db", threading.Event(), threading.Event(), Study.open

    def half_made(*words: Any, **more: Any) -> Study:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("create table half (made)")
        made.set()
        assert may_go_on.wait(PATIENCE)
        file.unlink()
        return opened(*words, **more)

    monkeypatch.setattr(Study, "open", half_made)
    monkeypatch.setattr(studies, "SECONDS_BETWEEN_CHECKS", 0.0)
    with running(tmp_path) as call:
        begun = call.begin("POST", "/v1/studies", PRICING)
        assert made.wait(PATIENCE)
        assert sample(call("GET", "/metrics"), "infex_store_up") == 1.0
        may_go_on.set()
        assert begun.result(PATIENCE).status == 201


def test_a_database_of_another_application_is_named_in_the_log_and_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("create table recipes (name)")
    with running(tmp_path, wait=False) as call:
        until(lambda: "is a database of another application" in caplog.text, "the log says what is wrong")
        assert call("GET", "/readyz").json["status"] == "opening"
        assert sample(call("GET", "/metrics"), "infex_store_up") == 0.0
        file.unlink()
        until(lambda: call("GET", "/readyz").status == 200, "the service goes on")
        assert call("POST", "/v1/studies", PRICING).status == 201
