"""Several processes on one study in PostgreSQL: no gap in rounds, limits over all, one state for all."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

import infex
from infex.cli.main import main
from infex.errors import AnotherRequest, OtherSettings, StoreFailed, UnknownDecision
from infex.study import snapshot
from infex.study.stores.base import reading
from infex.study.stores.postgres import PostgresStore
from infex.study.study import Study
from tests.study.server import Server, running
from tests.study.studies import ARMS, POLICY, Clock, replayed
from tests.study.test_batches import Moody, ask_batches_at_once

ROOT = Path(__file__).parents[2]
LIMITED = infex.Infex(infex.LinUCB(), infex.guarded(infex.every(3), 1.0))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


@pytest.fixture
def url(server: Server) -> str:
    with psycopg.connect(server.url, autocommit=True) as connection:
        for table in ("infex_snapshots", "infex_entries", "infex_studies", "infex_schema"):
            connection.execute(f"drop table if exists {table} cascade")
    return server.url


def opened(url: str, **settings: Any) -> Study:
    return Study.open(url, "shop", clock=Clock(), **settings)


def test_two_share_one_study(url: str) -> None:
    with opened(url, arms=ARMS, policy=POLICY, seed=7) as one, opened(url) as other:
        first = one.ask("a", unit="ann")
        assert other.ask("a", unit="ann") == first
        assert other.tell("a", 0.5) == one.tell("a", 0.5) == "rewarded"
        rounds = [
            study.ask(f"k{n}").t for n in range(10) for study in (one, other) if (n + (study is one)) % 2
        ]
        assert rounds == list(range(2, 12))
        assert one.metrics()["exploration"] == other.metrics()["exploration"]
        other.amend(policy=infex.Greedy(), reason="quiet")
        assert one.ask("greedy").reason == "greedy"
        assert one.metrics()["amendments"] == 1
        other.forget("ann", reason="asked for it")
        assert one.state("a") == "erased"
        one.ask("more")
        other.metrics()
        assert one.digest() == other.digest() == replayed(one)
        assert infex.studies(url) == ["shop"]
        with pytest.raises(OtherSettings, match="seed is 7, not 8"):
            opened(url, seed=8)


def test_an_amendment_with_a_key_is_made_once_by_whichever_instance(url: str) -> None:
    with opened(url, arms=ARMS, policy=POLICY, seed=7) as one, opened(url) as other:
        for study in (one, other, one):
            study.add_arms([[0.5, 0.5]], key="spring", reason="new")
        with pytest.raises(AnotherRequest):
            other.add_arms([[0.5, 0.4]], key="spring", reason="new")
        assert len(one.estimates()) == len(other.estimates()) == len(ARMS) + 1
        assert one.digest() == other.digest() == replayed(one)


def test_threads_of_two_instances_take_rounds_without_gaps(url: str) -> None:
    with opened(url, arms=ARMS, policy=LIMITED, seed=7) as one, opened(url) as other:

        def serve(n: int) -> int:
            study = (one, other)[n % 2]
            decision = study.ask(f"k{n % 150}")
            study.tell(f"k{n % 150}", (n % 150) / 150)
            return decision.t

        with ThreadPoolExecutor(16) as pool:
            rounds = set(pool.map(serve, range(300)))
        assert rounds == set(range(1, 151))
        assert one.metrics()["exploration"]["cost"] <= 1.0
        other.metrics()
        assert one.digest() == other.digest() == replayed(other)


def test_what_fails_is_not_acknowledged_and_the_state_is_built_anew(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url, arms=ARMS, policy=POLICY, seed=7) as study:
        study.ask("a")
        append = PostgresStore.append

        def failing(store: PostgresStore, name: str, entries: Any, after: Any) -> None:
            append(store, name, entries, after)
            raise StoreFailed("lost after it had come through")

        monkeypatch.setattr(PostgresStore, "append", failing)
        with pytest.raises(StoreFailed, match="not acknowledged: lost after"):
            study.ask("b")
        monkeypatch.setattr(PostgresStore, "append", broken)
        with pytest.raises(StoreFailed, match="not acknowledged"):
            study.ask("c")
        monkeypatch.undo()
        assert study.ask("b").t == 2
        assert study.ask("c").t == 3
        assert replayed(study) == study.digest()


def test_what_failed_here_makes_room_for_what_others_decided_since(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url, arms=ARMS, policy=POLICY, seed=7) as one, opened(url) as other:
        one.ask("a")
        with monkeypatch.context() as patched:
            patched.setattr(PostgresStore, "append", broken)
            with pytest.raises(StoreFailed, match="not acknowledged"):
                one.ask("b")
        assert other.ask("c").t == 2  # the round that was never acknowledged
        assert one.ask("b").t == 3
        other.metrics()
        assert one.digest() == other.digest() == replayed(one)


def broken(store: PostgresStore, name: str, entries: Any, after: Any) -> None:
    raise RuntimeError("a fault of some library")


def test_it_goes_on_when_the_server_was_restarted(url: str, server: Server) -> None:
    with opened(url, arms=ARMS, policy=POLICY, seed=7) as study:
        study.ask("a")
        server.stop("immediate")
        with pytest.raises(StoreFailed, match="not acknowledged"):
            study.ask("b")
        server.start()
        assert study.ask("b").t == 2
        assert replayed(study) == study.digest()


def test_snapshots_are_kept_while_it_runs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "ENTRIES_BETWEEN_SNAPSHOTS", 10)
    with opened(url, arms=ARMS, policy=POLICY, seed=7) as study, reading(url) as store:
        keys = [f"k{n}" for n in range(12)]
        study.ask_many(keys)
        study.ask("more")  # which is done after a snapshot would have been kept
        assert store.places("shop") == []  # of decisions that all wait
        study.tell_many(keys, [0.5] * 12)
        study.ask("then")
        assert store.places("shop")[0].mark.number >= 13


def test_a_unit_is_forgotten_by_one_instance_while_another_decides(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have snapshots all along the journal, of which none may hold what was erased."""
    monkeypatch.setattr(snapshot, "ENTRIES_BETWEEN_SNAPSHOTS", 20)
    monkeypatch.setattr(snapshot, "ENTRIES_PER_PAGE", 5)
    monkeypatch.setattr(snapshot, "BYTES_OF_AN_ENTRY", 100_000)
    monkeypatch.setattr("infex.study.known_keys.KEYS_IN_A_RUN", 8)
    with opened(url, arms=ARMS, policy=POLICY, seed=7) as one, opened(url) as two, reading(url) as store:
        for n in range(60):
            study = (one, two)[n % 2]
            study.ask(f"k{n}", unit=f"u{n % 6}")
            study.tell(f"k{n}", float(n % 3 == 0))
        before = store.places("shop")
        assert len(before) > 2
        assert one.forget("u2") == 20
        two.ask("more", unit="u2")
        assert two.forget("u2") == 1
        one.ask("then")
        assert one.digest() == two.digest() == replayed(one)
        assert len(store.places("shop")) > 2
        assert not [place for place in before if place.mark.number > 10 and place in store.places("shop")]
        verdict = two.verify()
        assert verdict.holds, verdict.why
        assert two.explain("k50").state == "erased"
        assert one.explain("then").proven is True
    with opened(url) as again:
        assert [again.ask(f"k{n}", unit=f"u{n % 6}").t for n in (0, 1, 59)] == [1, 2, 60]
        assert again.digest() == replayed(again)


def worker(url: str, name: str, threads: int, decisions: int, aborted: float) -> subprocess.Popen[str]:
    words = ["-m", "tests.study.shared_worker", url, "shop", name, str(threads), str(decisions), str(aborted)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )


def acknowledged(process: subprocess.Popen[str], most: int | None = None) -> list[list[Any]]:
    """What a process was told, line by line, to its end or so many lines."""
    assert process.stdout is not None
    found = []
    for line in process.stdout:
        found.append(json.loads(line))
        if len(found) == most:
            return found
    process.stdout.close()
    return found


def survive(url: str, server: Server, decisions: int) -> None:
    """Two processes, aborted transactions, one of them killed and the server restarted: nothing is lost."""
    settings = {"arms": ARMS, "policy": LIMITED, "seed": 7}
    with opened(url, **settings):
        pass
    first, second = (worker(url, name, 4, decisions, 0.05) for name in ("one", "two"))
    told = acknowledged(first, 2 * decisions)
    first.send_signal(signal.SIGKILL)
    told += acknowledged(first)
    first.wait()
    server.stop("immediate")
    server.start()
    third = worker(url, "three", 4, decisions, 0.05)
    told += acknowledged(second) + acknowledged(third)
    assert second.wait() == third.wait() == 0
    with opened(url) as study:
        decided = {row[0]: row for row in told if row[0] != "end"}
        assert len(decided) >= 10 * decisions
        for key, t, arm, explored, was_told in decided.values():
            found = study.explain(key, prove=False)
            assert found.decision is not None
            assert (found.decision.t, found.decision.arm, found.decision.explored) == (t, arm, explored)
            assert not was_told or found.state == "rewarded"
        figures = study.metrics()
        rounds = {decision.t for decision in study.bandit().pending}
        assert len(rounds) == figures["states"]["pending"]
        assert figures["decisions"] == sum(figures["states"].values())  # no round is missing
        exploration = figures["exploration"]
        assert exploration["planned"] == figures["decisions"] // 3
        assert exploration["done"] + exploration["skipped"] == exploration["planned"]
        assert exploration["cost"] <= 1.0
        assert replayed(study) == study.digest()


def test_two_processes_survive_aborts_a_kill_and_a_restart(url: str, server: Server) -> None:
    survive(url, server, 15)


@pytest.mark.slow
def test_two_processes_survive_for_long(url: str, server: Server) -> None:
    survive(url, server, 500)


def test_a_batch_that_is_refused_leaves_nothing_and_keeps_what_was_done_beside_it(url: str) -> None:
    moody = Moody()
    with opened(url, arms=ARMS, policy=moody, seed=7) as study:
        done = ask_batches_at_once(study, moody)
        assert study.metrics()["decisions"] == 3 * done.count(True)
        assert study.digest() == replayed(study, policy=moody)
        with pytest.raises(UnknownDecision, match="row 1, 'unknown'"):
            study.tell_many([f"{done.index(True)}-0", "unknown"], [1.0, 1.0])
        assert study.state(f"{done.index(True)}-0") == "pending"


def test_a_reward_is_corrected_from_the_command_line_while_others_have_the_study_open(url: str) -> None:
    with opened(url, arms=ARMS, policy=POLICY) as study:
        study.ask("a")
        study.tell("a", 1.0)
        found = CliRunner().invoke(
            main, ["study", "correct", url, "shop", "a", "0.5"], catch_exceptions=False
        )
        assert found.exit_code == 0, found.output
        assert study.explain("a").reward == 0.5
