"""The history of a study, as the page shows it, and the events that tell of it."""

import contextlib
import http.client
import itertools
import json
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from infex.errors import InfexError
from infex.service.history import History
from infex.service.schemas import ServiceLimits
from infex.service.studies import alarms_of
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.service.running import CONTEXT, PRICING, Running, running
from tests.study.studies import Clock, shop, url_in
from tests.waiting import PATIENCE, until


def read_all(history: History) -> None:
    while history.read_on(most=50):
        pass


def played(folder: Path, count: int, clock: Clock, step: float = 2.0) -> tuple[Study, list[Any]]:
    study = shop(folder, clock=clock)
    decisions = []
    for number in range(count):
        clock.now += step
        decisions.append(study.ask(f"k{number}", durable=False))
        if number % 3:
            study.tell(f"k{number}", 0.1 * (number % 5), durable=False)
    study.flush()
    return study, decisions


@pytest.mark.parametrize("step", [0.5, 97.0, 20_000.0, 500_000.0])  # seconds: minutes, days and years
def test_spans_add_up_to_what_was_decided_however_long_it_took(tmp_path: Path, step: float) -> None:
    clock = Clock()
    study, decisions = played(tmp_path, 700, clock, step)
    with study, contextlib.closing(History(url_in(tmp_path), "shop")) as history:
        read_all(history)
        past = history.plain()
        spans = past["spans"]
        assert spans[-1]["last"] == 700
        assert all(one["end"] <= other["begin"] for one, other in itertools.pairwise(spans))
        assert all(span["begin"] <= span["at"] < span["end"] for span in spans)
        arms = sum((Counter(span["arms"]) for span in spans), Counter[str]())
        assert arms == Counter(str(decision.arm) for decision in decisions)
        assert arms == Counter({arm: sums["decisions"] for arm, sums in past["arms"].items()})
        assert sum(span["decisions"] for span in spans) == 700
        assert sum(span["explored"] for span in spans) == sum(decision.explored for decision in decisions)
        told = [0.1 * (number % 5) for number in range(700) if number % 3]
        assert sum(span["rewards"] for span in spans) == len(told)
        assert sum(span["reward"] for span in spans) == pytest.approx(sum(told))
        assert sum(span["cost"] for span in spans) == pytest.approx(study.metrics()["exploration"]["cost"])
        assert [mark["round"] for mark in past["marks"]] == [d.t for d in decisions if d.explored]


def test_spans_are_minutes_hours_days_and_weeks_by_their_age(tmp_path: Path) -> None:
    clock = Clock()
    study, _ = played(tmp_path, 2500, clock, 3000.0)  # 87 days
    with study, contextlib.closing(History(url_in(tmp_path), "shop")) as history:
        read_all(history)
        spans = history.plain()["spans"]
        minute, hour, day, week = 60, 3600, 86_400, 7 * 86_400
        assert [width for width, _ in itertools.groupby(span["end"] - span["begin"] for span in spans)] == [
            week,
            day,
            hour,
            minute,
        ]
        for span in spans:
            began = datetime.fromtimestamp(span["begin"], UTC)
            assert span["begin"] % (span["end"] - span["begin"]) in (0, 4 * day)
            assert span["end"] - span["begin"] < week or began.weekday() == 0
        assert len(spans) < 250


def test_a_reward_is_summed_where_its_decision_is_whenever_it_comes(tmp_path: Path) -> None:
    clock = Clock()
    with (
        shop(tmp_path, clock=clock, again="sum") as study,
        contextlib.closing(History(url_in(tmp_path), "shop")) as history,
    ):
        study.ask("first")
        clock.now += 7200
        study.ask("second")
        study.flush()
        read_all(history)
        for reward in (0.25, 0.5):
            study.tell("first", reward, part=str(reward))
            read_all(history)
        first, second = history.plain()["spans"]
        assert (first["rewards"], first["reward"], second["rewards"]) == (1, 0.75, 0)
        assert history.recent(key="first")[0].reward == 0.75
        study.correct("first", 0.5)
        read_all(history)
        first, _ = history.plain()["spans"]
        assert (first["rewards"], first["reward"]) == (1, 0.5)


def test_the_latest_decisions_are_found_by_what_they_are(tmp_path: Path) -> None:
    clock = Clock()
    study, decisions = played(tmp_path, 40, clock)
    with study, contextlib.closing(History(url_in(tmp_path), "shop")) as history:
        read_all(history)
        assert history.per_minute(clock.now) == 30.0
        assert history.per_minute(clock.now + 100) == 0.0
        latest = history.recent()
        assert [each.key for each in latest] == [f"k{number}" for number in reversed(range(40))]
        explored = {decision.id for decision in decisions if decision.explored}
        assert {each.key for each in history.recent(explored=True)} == explored
        assert {each.state for each in history.recent(state="rewarded", arm=None)} == {"rewarded"}
        assert history.recent(arm="9") == []
        for each, decision in zip(reversed(latest), decisions, strict=True):
            assert (each.round, each.estimate, each.reason) == (
                decision.t,
                decision.estimate,
                decision.reason,
            )
        study.correct("k1", 0.9)
        study.forget("nobody")
        read_all(history)
        assert history.recent(state="corrected")[0].reward == 0.9


def test_who_is_forgotten_is_shown_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop(tmp_path, clock=Clock()) as study:
        for number in range(30):
            study.ask(f"k{number}", unit=f"u{number % 3}")
            study.tell(f"k{number}", 0.1 * number)
        erase, before = SQLiteStore.erase, list[str]()
        with contextlib.closing(History(url_in(tmp_path), "shop")) as history:
            read_all(history)

            def look_and_erase(store: SQLiteStore, name: str, numbers: list[int], learnt: Any) -> None:
                read_all(history)  # the entry that tells of it is there, and what it tells of as well
                before.extend(each.key for each in history.recent())
                erase(store, name, numbers, learnt)

            monkeypatch.setattr(SQLiteStore, "erase", look_and_erase)
            assert study.forget("u1") == 20
            left = [f"k{number}" for number in reversed(range(30)) if number % 3 != 1]
            assert before == left
            study.ask("later")
            study.flush()
            read_all(history)
            with contextlib.closing(History(url_in(tmp_path), "shop")) as fresh:
                read_all(fresh)
                assert history.plain() == fresh.plain()
                assert history.recent() == fresh.recent()
            assert [each.key for each in history.recent()] == ["later", *left]
            assert sum(sum(each["arms"].values()) for each in history.plain()["spans"]) == 21


def test_what_was_skipped_and_changed_is_told_with_its_reason(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies/pricing/amendments", {"explore": False, "reason": "holiday"})
        for number in range(7):
            call("POST", "/v1/studies/pricing/decisions", {"key": f"a{number}", "context": CONTEXT})
        call.is_read()
        past = call("GET", "/v1/studies/pricing/past").json
        assert past["skipped"] == {"skipped: paused": 2}
        assert [(each["what"], each["reason"]) for each in past["amendments"]] == [("pause", "holiday")]
        assert [(mark["round"], mark["explored"]) for mark in past["marks"]] == [(3, False), (6, False)]
        assert past["planned"][-1] == 2
        latest = call("GET", "/v1/studies/pricing/decisions?most=2&reason=greedy").json
        assert [each["round"] for each in latest] == [7, 5]
        assert CONTEXT[0] not in json.loads(json.dumps(latest[0])).values()
        for wrong in ("0", "1001", "x", "-1", "1e3", "%D9%A3"):
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
        call.is_read()
        figures = call("GET", "/v1/studies/pricing").json["figures"]
        past = call("GET", "/v1/studies/pricing/past").json
        assert 0 < figures["held_out"]["decisions"] < 40
        assert figures["decisions"] == sum(figures["states"].values()) == 40
        assert past["spans"][-1]["last"] == figures["rounds"] == 40 - figures["held_out"]["decisions"]
        lift = call("GET", "/v1/studies/pricing/lift").json
        assert lift["difference"] == pytest.approx(0.0)
        assert (lift["share"], lift["held_share"], lift["problem"]) == (1.0, 1.0, None)


class Listener:
    """Reads server-sent events from a service, one after the other."""

    def __init__(self, call: Running) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", call.port, timeout=PATIENCE)
        self._connection.request("GET", "/v1/events", headers={"host": "localhost"})
        self.answer = self._connection.getresponse()

    def next(self) -> tuple[str, Any]:
        """Kind and data of the next event; ("", None) when there are no more."""
        kind = ""
        while line := self.answer.readline():
            if line.startswith(b"event: "):
                kind = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                return kind, json.loads(line[6:])
        return "", None

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


def test_events_come_when_something_has_changed(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        with contextlib.closing(Listener(call)) as listener:
            assert listener.answer.getheader("content-type", "").startswith("text/event-stream")
            kind, first = listener.next()
            assert (kind, [each["figures"]["decisions"] for each in first]) == ("studies", [0])
            for count in (1, 2):
                call("POST", "/v1/studies/pricing/decisions", {"key": f"e{count}", "context": CONTEXT})
                found = 0
                while found < count:
                    kind, studies = listener.next()
                    assert kind == "studies"
                    found = studies[0]["figures"]["decisions"]
                assert found == count


def test_too_many_listeners_are_refused_and_an_end_lets_all_go(tmp_path: Path) -> None:
    with contextlib.ExitStack() as ending:
        with running(tmp_path, ServiceLimits(listeners=1, closing_seconds=int(PATIENCE))) as call:
            listener = Listener(call)
            ending.enter_context(contextlib.closing(listener))
            assert listener.next() == ("studies", [])
            refused = call("GET", "/v1/events")
            assert (refused.status, refused.json["error"]) == (429, "Overloaded")
        events = [listener.next()]
        while events[-1][0]:
            events.append(listener.next())
        assert events[-2:] == [("end", {}), ("", None)], "the service ends, and does not wait for listeners"


def test_one_who_goes_makes_room_for_another_listener(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(listeners=1)) as call:
        with contextlib.closing(Listener(call)) as listener:
            assert listener.next() == ("studies", [])

        def is_heard() -> bool:
            with contextlib.closing(Listener(call)) as another:
                return another.answer.status == 200

        until(is_heard, "there is room for another")


def test_who_listens_while_studies_are_opened_hears_that_and_then_the_studies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(tmp_path).close()
    may_open, opened = threading.Event(), Study.open

    def held_open(*words: Any, **more: Any) -> Study:
        assert may_open.wait(PATIENCE)
        return opened(*words, **more)

    monkeypatch.setattr(Study, "open", held_open)
    with running(tmp_path, wait=False) as call:
        listener = Listener(call)
        with contextlib.closing(listener):
            assert listener.next() == ("opening", {})
            assert call("GET", "/readyz").json["status"] == "opening"
            assert call("GET", "/v1/studies/shop").json["error"] == "NotReady"
            may_open.set()
            kind, studies = listener.next()
            assert (kind, [each["name"] for each in studies]) == ("studies", ["shop"])


def test_who_listens_hears_of_studies_that_cannot_be_opened(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies/pricing/decisions", {"key": "a", "context": CONTEXT})
    connection = apsw.Connection(str(tmp_path / "shop.db"))
    connection.execute("update entries set content = x'00' where number = 2")
    connection.execute("delete from snapshots")
    connection.close()
    with running(tmp_path) as call, contextlib.closing(Listener(call)) as listener:
        kind, failed = listener.next()
        assert (kind, list(failed)) == ("failed", ["pricing"])
        assert "entry 2" in failed["pricing"]
        assert listener.next() == ("studies", [])


def test_a_journal_that_cannot_be_read_now_is_read_later(tmp_path: Path) -> None:
    study, _ = played(tmp_path, 3, Clock())
    with study, contextlib.closing(History(url_in(tmp_path), "shop")) as history:
        file, aside = tmp_path / "shop.db", tmp_path / "aside"
        file.rename(aside)
        with pytest.raises(InfexError):
            history.read_on()
        aside.rename(file)
        read_all(history)
        assert len(history.recent()) == 3


def test_a_service_that_ended_leaves_no_log_of_the_database_behind(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies/pricing/decisions", {"key": "a", "context": CONTEXT})
        call.is_read()
        assert (tmp_path / "shop.db-wal").exists()
    assert not (tmp_path / "shop.db-wal").exists()


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
