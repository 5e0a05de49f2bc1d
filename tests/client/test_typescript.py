"""The client in TypeScript: compiled, and run by Node against a real service."""

import json
import os
import re
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import infex
from infex.service.auth import Scope, TokenFile
from tests.client.typescript_types import CLIENT, TYPES, types_now
from tests.lab.reports import browser
from tests.service.serving_here import served
from tests.waiting import PATIENCE

DRINKS = infex.to_record(infex.features.disjoint(
    ["tea", "juice"], context=infex.features.table({"age": (18, 90)}, {"land": ["FR", "DE"]})
))  # fmt: skip


def ran(*words: str | Path, **environment: str) -> str:
    """What a command says that is run in the client's folder; it must succeed."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=CLIENT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    compiler = CLIENT / "node_modules" / ".bin" / "tsc"
    assert compiler.exists(), "the compiler is missing: run `make typescript`"
    ran(compiler, "--build", "test")


def test_its_types_are_those_of_the_service() -> None:
    assert TYPES.read_text() == types_now(), "run `make typescript`, and commit what it has written"


def test_it_asks_a_real_service_and_falls_back_where_none_answers(tmp_path: Path) -> None:
    tests = [f"test/build/{path.stem}.js" for path in CLIENT.glob("test/*.test.ts")]
    tokens = TokenFile(tmp_path / "shop.db.tokens")
    everything, till = tokens.make(list(Scope), note="all"), tokens.make([Scope.DECIDE, Scope.REWARD])
    words = {"INFEX_TOKEN": everything, "INFEX_TILL": till, "INFEX_FEATURES": json.dumps(DRINKS)}
    with served(tmp_path) as url:
        ran("node", "--test", *tests, INFEX_URL=url, **words)


def test_the_example_of_its_readme_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```js\n(import .*?)```", (CLIENT / "README.md").read_text(), re.DOTALL)
    token = TokenFile(tmp_path / "shop.db.tokens").make([Scope.ADMIN, Scope.DECIDE, Scope.REWARD])
    people = infex.features.table({"age": (18, 90)}, {"country": ["FR", "DE"]})
    with served(tmp_path) as url, infex.Client(url, token, seconds=PATIENCE) as client:
        client.open(
            "pricing", policy="Greedy", features=infex.features.disjoint(["tea", "juice"], context=people)
        )
        program = example.replace('8321", {', '8321", { seconds: 600,').replace("http://localhost:8321", url)
        said = ran("node", "--input-type=module", "--eval", program, INFEX_TOKEN=token)
    assert re.fullmatch(r"(tea|juice) false\n422 AlreadyTold reward .*\n", said)


@contextmanager
def site(service: str, token: str) -> Iterator[str]:
    """A shop's own site: it has the client's script, and passes what is below /infex on, with its token."""
    script = (CLIENT / "dist" / "index.js").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(200, script if self.path == "/client.js" else b"<!doctype html>", "text/javascript")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {"authorization": f"Bearer {token}"}
            asked = urllib.request.Request(service + self.path.removeprefix("/infex"), body, headers)
            with urllib.request.urlopen(asked) as answer:
                self.reply(answer.status, answer.read(), "application/json")

        def reply(self, status: int, body: bytes, media: str) -> None:
            self.send_response(status)
            self.send_header("content-type", "text/html" if self.path == "/" else media)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


IN_A_PAGE = """
const [service, token, done] = arguments;
(async () => {
  const { Client } = await import("/client.js");
  const study = new Client("/infex", { seconds: 600 }).study("drinks");
  const decision = await study.ask(null, { offered: ["juice"] });
  const state = await study.tell(decision.key, 0.5);
  const other = new Client(service, { token, seconds: 0.1 }).study("drinks");
  const elsewhere = await other.ask("b", { default: "tea" });
  done([decision.label, decision.fallback, state, elsewhere.label, elsewhere.fallback]);
})().catch((error) => done(String(error)));
"""


@pytest.mark.browser
def test_a_page_asks_through_its_own_site_and_not_from_another(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "shop.db.tokens")
    admin, till = tokens.make([Scope.ADMIN]), tokens.make([Scope.DECIDE, Scope.REWARD])
    with served(tmp_path) as url, site(url, till) as own, browser.window() as driver:
        with infex.Client(url, admin, seconds=PATIENCE) as client:
            client.open("drinks", policy="Greedy", arms=[[1.0, 0.0], [0.0, 1.0]], labels=["tea", "juice"])
        driver.get(own)
        said = driver.execute_async_script(IN_A_PAGE, url, till)
        assert said == ["juice", False, "rewarded", "tea", True]
