"""After a unit is erased nothing of it is in any file or served again; files are their owner's alone."""

import contextlib
import json
import os
import random
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import infex
from infex.cli.main import main
from tests.service.running import PRICING, Reply, Running, running
from tests.study.server import running as database

DECISIONS, REWARDS = "/v1/studies/pricing/decisions", "/v1/studies/pricing/rewards"
UNIT, CONTEXT, REWARD = "alice@example.com", [0.6180339887, 0.7861513777], 0.4142135623
KEYS = {"idempotency-key": "order-991"}, {"idempotency-key": "order-992"}, {"idempotency-key": "reward-991"}
BATCH = [
    {"key": "c1", "unit": UNIT, "context": CONTEXT},
    {"key": "c2", "unit": "bob@example.com", "context": [0.1, 0.2]},
]


def asked_and_told(call: Running) -> list[Reply]:
    """A decision and its reward, and a batch with somebody else in it, each with an Idempotency-Key."""
    one = call("POST", DECISIONS, {"unit": UNIT, "context": CONTEXT}, KEYS[0])
    many = call("POST", DECISIONS, BATCH, KEYS[1])
    told = call("POST", REWARDS, {"key": "order-991", "reward": REWARD}, KEYS[2])
    return [one, many, told]


def forgotten(url: str, *more: str) -> Any:
    words = ["study", "forget", url, "pricing", UNIT, "--reason", "asked for it", "--json", *more]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def files_with(folder: Path, what: bytes) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and what in path.read_bytes()]


def traces(replies: list[Reply]) -> list[bytes]:
    """What would tell of the unit: its name, its contexts and reward, and what it was answered."""
    numbers = [*CONTEXT, REWARD]
    decided = [replies[0].json, replies[1].json[0]]
    answers = [json.dumps(each, separators=(",", ":")).encode() for each in decided]
    texts = [UNIT.encode(), *(repr(number).encode() for number in numbers), *answers]
    return [*texts, *(struct.pack("<d", number) for number in numbers), replies[0].body]


@contextlib.contextmanager
def a_umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_nothing_of_an_erased_unit_is_in_any_file_or_served_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    with running(tmp_path) as call:
        assert call("POST", "/v1/studies", PRICING).status == 201
        replies = asked_and_told(call)
        assert [reply.status for reply in replies] == [200, 200, 200]
        assert [again.body for again in asked_and_told(call)] == [reply.body for reply in replies]
    assert files_with(tmp_path, UNIT.encode()) == ["shop.db"]
    assert forgotten(url)["erased"] == 3
    for trace in traces(replies):
        assert files_with(tmp_path, trace) == [], trace
    with running(tmp_path) as call:
        for reply in asked_and_told(call):
            assert (reply.status, reply.json["error"]) == (404, "UnknownDecision")
            assert "was erased" in reply.json["message"]
        for trace in traces(replies):
            assert files_with(tmp_path, trace) == [], trace
        other = call("POST", DECISIONS, BATCH[1])
        assert (other.status, other.json) == (200, replies[1].json[1]), "somebody else's decision stays"


@pytest.mark.parametrize("count", [1, 2])
def test_no_page_of_the_file_keeps_a_copy_of_what_was_erased(tmp_path: Path, count: int) -> None:
    """Rows move to other pages as a file grows, and leave copies behind where nothing is written."""
    url, rng, arms = f"sqlite:///{tmp_path}/shop.db", random.Random(count), [[0.1, 0.2], [0.3, 0.1]]
    with contextlib.ExitStack() as opened:
        studies = [
            opened.enter_context(infex.Study.open(url, f"shop {number}", arms=arms, policy=infex.Greedy()))
            for number in range(count)
        ]
        for place in range(1500):
            study = rng.choice(studies)
            study.ask(f"k{place}", unit=f"unit-{place // 10}@example.com", durable=False)
            if rng.random() < 0.7:
                study.tell(f"k{place}", rng.random(), durable=False)
        erased = [f"unit-{number}@example.com" for number in rng.sample(range(150), 40)]
        for study in studies:
            for unit in erased:
                study.forget(unit)
        assert [unit for unit in erased if files_with(tmp_path, unit.encode())] == []


def test_a_unit_is_erased_from_postgresql_while_the_service_runs(tmp_path: Path) -> None:
    with database() as server, running(tmp_path, url=server.url) as call:
        assert call("POST", "/v1/studies", PRICING).status == 201
        assert [reply.status for reply in asked_and_told(call)] == [200, 200, 200]
        assert forgotten(server.url)["erased"] == 3
        for reply in asked_and_told(call):
            assert (reply.status, reply.json["error"]) == (404, "UnknownDecision")
        assert call("POST", DECISIONS, BATCH[1]).status == 200


def test_databases_are_readable_by_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    with a_umask(0), running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        asked_and_told(call)
        infex.studies(url)
        done = CliRunner().invoke(main, ["study", "backup", url, str(tmp_path / "backup.db")])
        assert done.exit_code == 0, done.output
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert {"shop.db", "shop.db-wal", "shop.db-shm", "backup.db"} <= modes.keys()
    assert set(modes.values()) == {0o600}, modes


def test_a_file_that_others_were_allowed_to_read_stays_so(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/shop.db", tmp_path / "shop.db"
    infex.Study.open(url, "shop", arms=[[1.0]], policy=infex.Greedy()).close()
    file.chmod(0o640)
    infex.Study.open(url, "shop").close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
