"""What stands in deploy/, running: Prometheus asks instances and raises alarms, Caddy balances them."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import infex
from infex.service.auth import Scope, TokenFile
from tests.ports import steady_port
from tests.service.killing import Load
from tests.service.running import PRICING
from tests.service.serving_here import listening, serving
from tests.study.server import running as database
from tests.waiting import PATIENCE, started, until

DEPLOY = Path(__file__).parents[2] / "deploy"
PLACES = ("one:8321", "two:8321")


def placed(text: str, places: list[str]) -> str:
    """A file of deploy/ in which instances are where they are in a test."""
    for name, place in zip(PLACES, places, strict=True):
        assert name in text
        text = text.replace(name, place)
    return text


class Prometheus:
    """Asks every second what deploy/prometheus.yml says, by the rules there; alarms come at once."""

    def __init__(self, folder: Path, places: list[str]) -> None:
        text = placed((DEPLOY / "prometheus.yml").read_text(), places)
        text = text.replace("/tokens/prometheus", str(folder / "prometheus")).replace("15s", "1s")
        (folder / "prometheus.yml").write_text(f"global: {{ evaluation_interval: 1s }}\n{text}")
        rules = (DEPLOY / "infex.rules.yml").read_text()
        (folder / "infex.rules.yml").write_text(re.sub(r"\n +for: \w+", "", rules))
        self._port = steady_port()
        program = shutil.which("prometheus")
        assert program is not None, "prometheus is missing: run `make prometheus`"
        self.command = [
            program,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/series",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]

    def __call__(self, path: str) -> dict[str, Any]:
        """What its interface answers; nothing as long as it starts."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/api/v1/{path}") as answer:
                found: dict[str, Any] = json.load(answer)["data"]
                return found
        except (urllib.error.URLError, ConnectionError):
            return {}

    def health(self) -> dict[str, str]:
        """Of each instance."""
        targets = self("targets").get("activeTargets", ())
        return {target["labels"]["instance"]: target["health"] for target in targets}

    def down(self) -> list[str]:
        """The instances that InfexDown is raised for."""
        labels = [alarm["labels"] for alarm in self("alerts").get("alerts", ())]
        return [each["instance"] for each in labels if each["alertname"] == "InfexDown"]


def test_prometheus_asks_with_its_token_and_raises_an_alarm_for_an_instance_that_is_gone(
    tmp_path: Path,
) -> None:
    tokens = tmp_path / "infex.tokens"
    (tmp_path / "prometheus").write_text(TokenFile(tokens).make([Scope.READ], note="prometheus") + "\n")
    with ExitStack() as ending:
        urls, processes = [], []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            url, process = ending.enter_context(serving(tmp_path / name, "--tokens", str(tokens)))
            urls.append(url.removeprefix("http://"))
            processes.append(process)
        asked = Prometheus(tmp_path, urls)
        ending.enter_context(started(asked.command, stderr=subprocess.DEVNULL))
        until(lambda: [*asked.health().values()] == ["up", "up"], "both instances answer")
        (group,) = yaml.safe_load((DEPLOY / "infex.rules.yml").read_text())["groups"]
        loaded = {rule["name"] for found in asked("rules")["groups"] for rule in found["rules"]}
        assert loaded == {rule["alert"] for rule in group["rules"]}
        until(lambda: not asked.down(), "no alarm is raised")
        processes[0].kill()
        until(lambda: asked.down() == [urls[0]], "the alarm is raised")


@contextmanager
def caddy(folder: Path, places: list[str]) -> Iterator[str]:
    """The balancer of deploy/Caddyfile before these instances; its address."""
    program = shutil.which("caddy")
    assert program is not None, "caddy is missing: run `make caddy`"
    port = steady_port()
    text = placed((DEPLOY / "Caddyfile").read_text(), places).replace("\n:8321 {", f"\nhttp://:{port} {{")
    (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n}}\n{text}")
    words = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    environment = os.environ | {"HOME": str(folder)}
    with started(words, stderr=subprocess.DEVNULL, env=environment):
        yield f"http://localhost:{port}"


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=PATIENCE) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.slow
def test_clients_of_the_balancer_go_on_while_instances_are_killed_one_by_one(tmp_path: Path) -> None:
    with ExitStack() as ending:
        server = ending.enter_context(database())
        ports = [steady_port(), steady_port()]
        commands = [
            [
                *(sys.executable, "-m", "infex", "serve", "--db", server.url),
                *("--tokens", str(tmp_path / "tokens"), "--port", str(port)),
            ]
            for port in ports
        ]
        running = [ending.enter_context(listening(command))[1] for command in commands]
        url = ending.enter_context(caddy(tmp_path, [f"127.0.0.1:{port}" for port in ports]))
        until(lambda: is_ready(url), "the balancer has an instance that is ready")
        with infex.Client(url, seconds=PATIENCE) as client:
            client.open("pricing", policy=PRICING["policy"], features=PRICING["features"], seed=7)
        load = Load(url, clients=4)
        try:
            load.wait_for(100)
            for place in (0, 1):
                running[place].kill()
                load.wait_for(len(load.decided) + 200)
                running[place] = ending.enter_context(listening(commands[place]))[1]
                until(lambda: is_ready(f"http://127.0.0.1:{ports[place]}"), "it is back")  # noqa: B023
        finally:
            load.end()
        rounds = sorted(decision.t for decision in load.decided.values())
        assert len(set(rounds)) == len(rounds)
