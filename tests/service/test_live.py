"""What clients see of a service that listens while its disk stands still: by HTTP, and by `infex.Client`."""

import asyncio
import contextlib
import http.client
import json
import re
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import infex
from infex.client import FALLBACK_REASON, AsyncRemoteStudy, Patience, RemoteDecision
from infex.study.study import Study
from tests.clock import Clock
from tests.service.held_service import HeldService, held_service
from tests.service.running import CONTEXT, PRICING, Reply
from tests.waiting import PATIENCE, until

DECISIONS = "/v1/studies/pricing/decisions"
HELD = PATIENCE - 0.2  # seconds that a look at the clock takes, so that little time is left for an answer


def asked(url: str, method: str, path: str, body: object = None, **headers: str) -> Reply:
    """One request on a connection of its own; names of headers have `_` for `-`."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, data, named)
        answer = connection.getresponse()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())


@contextlib.contextmanager
def pricing(folder: Path, **limits: int) -> Iterator[tuple[HeldService, ThreadPoolExecutor]]:
    """A held service with a study, and threads to ask it."""
    with held_service(folder, **limits) as service, ThreadPoolExecutor(16) as threads:
        assert asked(service.url, "POST", "/v1/studies", PRICING).status == 201
        try:
            yield service, threads
        finally:
            service.let_go(1000)


def waiting(service: HeldService) -> int:
    """How many requests wait for the study, as its figures say."""
    text = asked(service.url, "GET", "/metrics").body.decode()
    found = re.search(r'infex_waiting\{study="pricing"\} (\d+)', text)
    assert found is not None
    return int(found[1])


def begun(service: HeldService, threads: ThreadPoolExecutor, count: int) -> list[Future[Reply]]:
    """So many decisions that are under way, the first of them at the disk."""
    bodies = [{"key": f"k{number}", "context": CONTEXT} for number in range(count)]
    under_way = [threads.submit(asked, service.url, "POST", DECISIONS, body) for body in bodies]
    service.wait_for_commit()
    until(lambda: waiting(service) == count, f"{count} requests wait")
    return under_way


def test_a_key_that_is_under_way_gets_the_same_answer(tmp_path: Path) -> None:
    with pricing(tmp_path) as (service, threads):
        body, other, key = {"context": CONTEXT}, {"context": [0.0, 1.0]}, {"Idempotency_Key": "abc"}
        first = threads.submit(asked, service.url, "POST", DECISIONS, body, **key)
        service.wait_for_commit()
        second = threads.submit(asked, service.url, "POST", DECISIONS, body, **key)
        service.let_go(1000)
        assert first.result(PATIENCE).status == 200
        again = asked(service.url, "POST", DECISIONS, body, **key)
        assert second.result(PATIENCE).body == again.body == first.result().body
        refused = asked(service.url, "POST", DECISIONS, other, **key)
        assert (refused.status, refused.json["error"]) == (422, "AnotherRequest")


def test_while_the_disk_stands_still_overload_is_refused_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    with pricing(tmp_path, waiting=3) as (service, threads):
        under_way = begun(service, threads, 3)
        more = asked(service.url, "POST", DECISIONS, {"key": "more", "context": CONTEXT})
        assert (more.status, more.json["error"], more.headers["retry-after"]) == (429, "Overloaded", "1")
        assert not any(each.done() for each in under_way), "the disk still stands"
        until(lambda: asked(service.url, "GET", "/readyz").status == 200, "a busy service is ready")
        service.let_go(1000)
        assert sorted(each.result(PATIENCE).json["round"] for each in under_way) == [1, 2, 3]
        last = asked(service.url, "POST", DECISIONS, {"key": "more", "context": CONTEXT})
        assert last.json["round"] == 4


def test_too_many_connections_are_refused_until_some_have_gone(tmp_path: Path) -> None:
    with pricing(tmp_path, waiting=1) as (service, _), contextlib.ExitStack() as ending:
        place = urlsplit(service.url)
        for _ in range(4):  # four times as many as may wait
            idle = socket.create_connection((place.hostname, place.port), PATIENCE)
            ending.enter_context(idle)
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert idle.recv(10).startswith(b"HTTP/1.1 ")
        assert asked(service.url, "GET", DECISIONS).status == 503
        ending.close()
        until(lambda: asked(service.url, "GET", DECISIONS).status == 200, "there is room again")


def test_a_service_that_ends_answers_what_was_begun_and_refuses_what_comes(tmp_path: Path) -> None:
    with pricing(tmp_path, closing_seconds=int(PATIENCE)) as (service, threads):
        under_way = begun(service, threads, 8)
        service.process.send_signal(signal.SIGTERM)
        until(lambda: is_refused(service.url), "new requests are refused")
        assert not any(each.done() for each in under_way)
        service.let_go(1000)
        answers = [each.result(PATIENCE) for each in under_way]
        assert {each.status for each in answers} == {200}
        assert service.process.wait(PATIENCE) == 0
    with Study.open(f"sqlite:///{tmp_path}/shop.db", "pricing") as study:
        kept = {answer.json["key"]: study.explain(answer.json["key"]).decision for answer in answers}
        assert len(kept) == 8
        for answer in answers:
            decision = kept[answer.json["key"]]
            assert decision is not None
            assert (decision.t, decision.arm) == (answer.json["round"], answer.json["arm"])


def is_refused(url: str) -> bool:
    """Is a question refused, by an answer or by nobody who listens? One that waits for no disk."""
    try:
        return asked(url, "GET", DECISIONS).status == 503
    except (ConnectionError, http.client.HTTPException):
        return True


def check_fallback(decision: RemoteDecision, before: RemoteDecision) -> None:
    assert (decision.fallback, decision.reason) == (True, FALLBACK_REASON)
    assert (decision.arm, decision.label) == (before.arm, before.label)
    assert (decision.t, decision.propensity, decision.explored) == (0, None, False)


def test_a_client_plays_its_fallback_while_the_service_does_not_answer(tmp_path: Path) -> None:
    clock = Clock()
    patience = Patience(seconds=PATIENCE, clock=clock.monotonic)
    with pricing(tmp_path) as (service, _), infex.Client(service.url, patience=patience) as client:
        study = client.study("pricing")
        service.let_go(1)
        before = study.ask("first", context=CONTEXT)
        assert not before.fallback
        clock.tick = HELD  # a service that is held never answers, however long one waits
        check_fallback(study.ask("second", context=CONTEXT), before)
        assert study.tell("second", 1.0) == "fallback"
        check_fallback(study.ask_many(["third"], contexts=[CONTEXT])[0], before)
        service.let_go(1000)
        clock.tick = 0.0
        assert study.ask("second", context=CONTEXT).fallback, "a key gives the same decision again"
        clock.now += patience.rest
        keys = (f"later {number}" for number in range(1_000_000))
        until(lambda: not study.ask(next(keys), context=CONTEXT).fallback, "the service decides again")
        assert study.metrics()["states"].get("rewarded", 0) == 0, "nothing was told"


def test_an_asynchronous_client_plays_its_fallback_too(tmp_path: Path) -> None:
    with pricing(tmp_path) as (service, _):

        async def ask() -> tuple[RemoteDecision, RemoteDecision, str]:
            clock = Clock()
            patience = Patience(seconds=PATIENCE, clock=clock.monotonic)
            async with infex.AsyncClient(service.url, patience=patience) as client:
                study: Any = client.study("pricing")
                assert isinstance(study, AsyncRemoteStudy)
                service.let_go(1)
                before = await study.ask("first", context=CONTEXT)
                clock.tick = HELD
                return before, await study.ask("second", context=CONTEXT), await study.tell("second", 1.0)

        before, decision, told = asyncio.run(ask())
        check_fallback(decision, before)
        assert told == "fallback"


def test_decisions_that_wait_for_rewards_are_limited(tmp_path: Path) -> None:
    with pricing(tmp_path, pending=2) as (service, _):
        service.let_go(1000)
        keys = [{"key": f"k{number}", "context": CONTEXT} for number in range(3)]
        assert [asked(service.url, "POST", DECISIONS, key).status for key in keys[:2]] == [200, 200]
        refused = asked(service.url, "POST", DECISIONS, keys[2])
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert "2 decisions wait" in refused.json["message"]
        again = asked(service.url, "POST", DECISIONS, keys[0])
        assert (again.status, again.json["round"]) == (200, 1), "who asks again is answered as before"
        rewards = "/v1/studies/pricing/rewards"
        assert asked(service.url, "POST", rewards, {"key": "k0", "reward": 1.0}).status == 200
        assert asked(service.url, "POST", DECISIONS, [keys[2], keys[2] | {"key": "k3"}]).status == 429
        assert asked(service.url, "POST", DECISIONS, [keys[1], keys[2], keys[2]]).json[2]["round"] == 3


def test_what_is_too_much_or_for_another_host_is_refused_by_name(tmp_path: Path) -> None:
    with pricing(tmp_path, arms=4, body=50_000) as (service, _):
        deep = b'{"name":"x","policy":' + b'{"a":' * 5000 + b"1" + b"}" * 5001
        for path, body, status, field in (
            (DECISIONS, {"key": "k", "arms": [[1.0]] * 5}, 422, "arms"),
            (DECISIONS, {"key": "k", "context": [0.0] * 50_000}, 413, "body"),
            ("/v1/studies", deep, 422, "body"),
        ):
            refused = asked(service.url, "POST", path, body)
            assert (refused.status, refused.json["field"]) == (status, field), refused.body[:200]
        other = asked(service.url, "GET", DECISIONS, Host="evil.example")
        assert (other.status, other.json["field"]) == (421, "Host")
        assert asked(service.url, "GET", DECISIONS).json == [], "nothing was decided"
