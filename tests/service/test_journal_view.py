"""The view of a journal, and the events that tell of it."""

import asyncio
import contextlib
import itertools
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infex.errors import InfexError, Overloaded
from infex.service.alarms import alarms_of
from infex.service.application import Service
from infex.service.feed import read_on
from infex.service.journal_view import JournalView
from infex.service.open_studies import Onlookers, OpenStudies
from infex.service.past_sums import MOST_SPANS
from infex.service.service_limits import ServiceLimits
from infex.service.tokens import TokenFile
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.service.running import CONTEXT, PRICING, Running, http_scope, living, never, running
from tests.study.studies import Clock, shop, url_in
from tests.waiting import PATIENCE


def read_all(view: JournalView) -> None:
    while view.catch_up(most=50):
        pass


def played(folder: Path, count: int, clock: Clock) -> tuple[Study, list[Any]]:
    study = shop(folder, clock=clock)
    decisions = []
    for number in range(count):
        clock.now += 2.0
        decisions.append(study.ask(f"k{number}", durable=False))
        if number % 3:
            study.tell(f"k{number}", 0.1 * (number % 5), durable=False)
    study.flush()
    return study, decisions


def test_spans_add_up_to_what_was_decided_however_many_there_were(tmp_path: Path) -> None:
    clock = Clock()
    study, decisions = played(tmp_path, 700, clock)
    with study, contextlib.closing(JournalView(url_in(tmp_path), "shop")) as view:
        read_all(view)
        past = view.past()
        spans = past["stretches"]
        assert len(spans) <= MOST_SPANS
        assert spans[0]["first"] == 1
        assert spans[-1]["last"] == 700
        assert all(one["last"] + 1 == other["first"] for one, other in itertools.pairwise(spans))
        arms = sum((Counter(span["arms"]) for span in spans), Counter[str]())
        assert arms == Counter(str(decision.arm) for decision in decisions)
        assert sum(span["explored"] for span in spans) == sum(decision.explored for decision in decisions)
        told = [0.1 * (number % 5) for number in range(700) if number % 3]
        assert sum(span["rewards"] for span in spans) == len(told)
        assert sum(span["reward"] for span in spans) == pytest.approx(sum(told))
        assert sum(span["cost"] for span in spans) == pytest.approx(study.metrics()["exploration"]["cost"])
        assert [mark["round"] for mark in past["marks"]] == [d.t for d in decisions if d.explored]
        assert view.per_minute(clock.now) == 30.0
        assert view.per_minute(clock.now + 100) == 0.0


def test_the_latest_decisions_are_found_by_what_they_are(tmp_path: Path) -> None:
    study, decisions = played(tmp_path, 40, Clock())
    with study, contextlib.closing(JournalView(url_in(tmp_path), "shop")) as view:
        read_all(view)
        latest = view.latest()
        assert [each.key for each in latest] == [f"k{number}" for number in reversed(range(40))]
        explored = {decision.id for decision in decisions if decision.explored}
        assert {each.key for each in view.latest(explored=True)} == explored
        assert {each.state for each in view.latest(state="rewarded", arm=None)} == {"rewarded"}
        assert view.latest(arm="9") == []
        for each, decision in zip(reversed(latest), decisions, strict=True):
            assert (each.round, each.estimate, each.reason) == (
                decision.t,
                decision.estimate,
                decision.reason,
            )
        study.correct("k1", 0.9)
        study.forget("nobody")
        read_all(view)
        assert view.latest(state="corrected")[0].reward == 0.9


def test_who_is_forgotten_is_shown_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop(tmp_path, clock=Clock()) as study:
        for number in range(30):
            study.ask(f"k{number}", unit=f"u{number % 3}")
            study.tell(f"k{number}", 0.1 * number)
        erase, before = SQLiteStore.erase, list[str]()
        with contextlib.closing(JournalView(url_in(tmp_path), "shop")) as view:
            read_all(view)

            def look_and_erase(store: SQLiteStore, name: str, numbers: list[int]) -> None:
                read_all(view)  # the entry that tells of it is there, and what it tells of as well
                before.extend(each.key for each in view.latest())
                erase(store, name, numbers)

            monkeypatch.setattr(SQLiteStore, "erase", look_and_erase)
            assert study.forget("u1") == 20
            left = [f"k{number}" for number in reversed(range(30)) if number % 3 != 1]
            assert before == left
            study.ask("later")
            study.flush()
            read_all(view)
            with contextlib.closing(JournalView(url_in(tmp_path), "shop")) as fresh:
                read_all(fresh)
                assert view.past() == fresh.past()
                assert view.latest() == fresh.latest()
            assert [each.key for each in view.latest()] == ["later", *left]
            assert sum(sum(each["arms"].values()) for each in view.past()["stretches"]) == 21


def test_what_was_skipped_and_changed_is_told_with_its_reason(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies/pricing/amendments", {"explore": False, "reason": "holiday"})
        for number in range(7):
            call("POST", "/v1/studies/pricing/decisions", {"key": f"a{number}", "context": CONTEXT})
        call.run(call.service.feed.look())
        past = call("GET", "/v1/studies/pricing/past").json
        assert past["skipped"] == {"skipped: paused": 2}
        assert [(each["what"], each["reason"]) for each in past["amendments"]] == [("policy", "holiday")]
        assert [(mark["round"], mark["explored"]) for mark in past["marks"]] == [(3, False), (6, False)]
        assert past["planned"][-1] == 2
        latest = call("GET", "/v1/studies/pricing/decisions?most=2&reason=greedy").json
        assert [each["round"] for each in latest] == [7, 5]
        assert CONTEXT[0] not in json.loads(json.dumps(latest[0])).values()
        for wrong in ("0", "1001", "x", "-1", "1e3", "٣"):
            assert call("GET", f"/v1/studies/pricing/decisions?most={wrong}").json["field"] == "most"


def test_those_held_out_are_in_no_round_but_among_the_latest_are_not(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING | {"holdout": 0.5})
        batch = [{"key": f"a{n}", "context": CONTEXT, "unit": f"u{n}"} for n in range(40)]
        call("POST", "/v1/studies/pricing/decisions", batch)
        silent = call("GET", "/v1/studies/pricing/lift").json
        assert (silent["share"], silent["held_share"], silent["low"]) == (0.0, 0.0, None)
        assert "40 decisions have no reward" in silent["problem"]
        call("POST", "/v1/studies/pricing/rewards", [{"key": f"a{n}", "reward": 0.5} for n in range(40)])
        call.run(call.service.feed.look())
        figures = call("GET", "/v1/studies/pricing").json["figures"]
        past = call("GET", "/v1/studies/pricing/past").json
        assert 0 < figures["held_out"]["decisions"] < 40
        assert figures["decisions"] == sum(figures["states"].values()) == 40
        assert past["stretches"][-1]["last"] == figures["rounds"] == 40 - figures["held_out"]["decisions"]
        lift = call("GET", "/v1/studies/pricing/lift").json
        assert lift["difference"] == pytest.approx(0.0)
        assert (lift["share"], lift["held_share"], lift["problem"]) == (1.0, 1.0, None)


async def stream(call: Running, count: int, between: Any) -> list[bytes]:
    """So many events, and then the listener goes; `between` is awaited after each."""
    heard: list[bytes] = []
    gone, arrived = asyncio.Event(), asyncio.Event()
    bodies = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        for body in bodies:
            return body
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message.get("body"):
            heard.append(message["body"])
            arrived.set()

    task = asyncio.create_task(call.service.app(http_scope("GET", "/v1/events", {}), receive, send))
    for _ in range(count):
        await arrived.wait()
        arrived.clear()
        await between()
    gone.set()
    await task
    return heard


def test_events_come_when_something_has_changed_and_not_otherwise(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call.run(call.service.feed.look())
        asked = iter(range(100))

        async def something_happens() -> None:
            await call.service.feed.look()  # nothing is other than before
            study = call.service.studies.of("pricing")
            await study.call(lambda one: one.ask(f"e{next(asked)}", context=CONTEXT, durable=False))
            await call.service.feed.look()

        heard = call.run(stream(call, 3, something_happens))
        decisions = [json.loads(event.split(b"data: ")[1])[0]["figures"]["decisions"] for event in heard]
        assert decisions[:3] == [0, 1, 2]


def test_too_many_listeners_are_refused_and_an_end_lets_all_go(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(listeners=1)) as call:

        async def listen_twice() -> list[bytes]:
            first, second = call.service.feed.listen(), call.service.feed.listen()
            heard = [await anext(first)]
            with pytest.raises(Overloaded):
                await anext(second)
            await call.service.feed.end()
            heard += [event async for event in first]
            return heard

        (heard,) = call.run(listen_twice())
        assert heard.startswith(b"event: studies")


def test_who_listens_while_studies_are_opened_hears_that_and_then_the_studies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(tmp_path).close()
    may_open, opened = threading.Event(), OpenStudies._open

    def held_open(self: OpenStudies, *words: Any) -> Any:
        assert may_open.wait(PATIENCE)
        return opened(self, *words)

    monkeypatch.setattr(OpenStudies, "_open", held_open)

    async def listen_from_the_start() -> list[bytes]:
        url, tokens = url_in(tmp_path), TokenFile(tmp_path / "tokens")
        service = Service(url, tokens, ["localhost"], None, never)
        life, events = living(service), service.feed.listen()
        await anext(life)
        heard = [await anext(events)]
        may_open.set()
        heard.append(await anext(events))
        await service.feed.end()
        heard += [event async for event in events]
        with contextlib.suppress(StopAsyncIteration):
            await anext(life)
        return heard

    opening, studies = asyncio.run(asyncio.wait_for(listen_from_the_start(), PATIENCE))
    assert opening == b"event: opening\ndata: {}\n\n"
    assert json.loads(studies.split(b"data: ")[1])[0]["name"] == "shop"


def test_who_listens_hears_of_studies_that_cannot_be_opened(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call.service.studies.failed["broken"] = InfexError("entry 2 is missing")

        async def listen_once() -> bytes:
            events = call.service.feed.listen()
            heard = await anext(events)
            await call.service.feed.end()
            assert [event async for event in events] == []
            return heard

        failed, studies, _ = call.run(listen_once()).split(b"\n\n")
        assert failed == b'event: failed\ndata: {"broken":"entry 2 is missing"}'
        assert studies == b"event: studies\ndata: []"


def test_reading_a_long_journal_pauses_to_tell_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, clock = iter([True] * 5 + [False]), itertools.count()
    monkeypatch.setattr(JournalView, "catch_up", lambda self: next(pages))
    view = JournalView(url_in(tmp_path), "shop")
    assert not read_on(view, Onlookers(), clock=lambda: 0.3 * next(clock))
    assert len(list(pages)) == 4, "two pages were read in half a second"


def test_a_journal_that_cannot_be_read_now_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, _ = played(tmp_path, 3, Clock())
    with study, contextlib.closing(JournalView(url_in(tmp_path), "shop")) as view:
        with monkeypatch.context() as broken:
            broken.setattr("infex.service.journal_view.open_store", failing)
            with pytest.raises(InfexError):
                view.catch_up()
        read_all(view)
        assert len(view.latest()) == 3


def test_a_view_that_was_closed_reads_no_more_and_leaves_no_log_behind(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies/pricing/decisions", {"key": "a", "context": CONTEXT})
        assert call.run(call.service.feed.look())
        view = call.service.studies.view("pricing")
        assert view.entries == 2
        assert (tmp_path / "shop.db-wal").exists()
    assert not view.catch_up()
    assert not (tmp_path / "shop.db-wal").exists()


def failing(*words: object, **more: object) -> None:
    raise InfexError("not now")


def test_alarms_are_those_of_figures_that_somebody_should_look_at() -> None:
    quiet = {
        "residuals": {"z": None},
        "pending_by_age": {"1": 5, "604800": 0},
        "states": {"pending": 5},
        "exploration": {"planned": 100, "done": 99},
    }
    assert alarms_of(quiet) == []
    (late,) = alarms_of(quiet | {"pending_by_age": {"604800": 150, "more": 50}, "states": {"pending": 300}})
    assert "200 decisions" in late
    (behind,) = alarms_of(quiet | {"exploration": {"planned": 100, "done": 49}})
    assert "49 done of 100 planned" in behind
    assert len(alarms_of(quiet | {"residuals": {"z": 4.5}})) == 1


def test_somebody_looks_until_the_last_one_has_looked_away() -> None:
    onlookers = Onlookers()
    assert onlookers.give_way(0.0)
    with onlookers.looking():
        with onlookers.looking():
            assert not onlookers.give_way(0.0)
        assert not onlookers.give_way(0.0)
    assert onlookers.give_way(0.0)


def test_whoever_reads_a_long_journal_gives_way_to_those_who_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    view, onlookers = JournalView(url_in(tmp_path), "shop"), Onlookers()
    pages = iter([True, True, False])

    def catch_up(self: JournalView) -> bool:
        steps.append("read")
        return next(pages)

    monkeypatch.setattr(JournalView, "catch_up", catch_up)
    monkeypatch.setattr(Onlookers, "give_way", lambda self: steps.append("gave way"))
    assert read_on(view, onlookers)
    assert steps == ["read", "gave way", "read", "gave way", "read"]
