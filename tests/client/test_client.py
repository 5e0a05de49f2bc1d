"""A client asks a service as one asks a study, sends again what was not answered, and has a fallback."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex.client import FALLBACK_REASON, Patience
from infex.errors import (
    AlreadyTold,
    AnotherRequest,
    InvalidContext,
    InvalidSetting,
    OtherSettings,
    ServiceRefused,
    ServiceSilent,
    UnknownDecision,
    UnknownStudy,
)
from infex.service.auth import TokenFile
from tests.client.scripted import Script, scripted
from tests.service.serving_here import served
from tests.waiting import PATIENCE

DECIDED = {
    "key": "a", "round": 3, "arm": 1, "label": "juice", "explored": False, "reason": "greedy", "greedy": 1,
    "estimate": 0.5, "low": 0.1, "high": None, "propensity": 1.0, "explore_probability": 0.0,
    "base_propensity": None,
}  # fmt: skip


class Time:
    """Goes on by pauses alone, at any pace."""

    def __init__(self, pace: float = 1.0) -> None:
        self.now, self.pauses, self.pace = 0.0, list[float](), pace

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += self.pace * seconds

    def patience(self) -> Patience:
        """It waits for an answer in real time, and so for long."""
        return Patience(seconds=PATIENCE, pause=self.pause, clock=lambda: self.now)


def client_of(script: Script, time: Time, **more: Any) -> infex.Client:
    return infex.Client(script.url, "secret", patience=time.patience(), **more)


def test_a_served_study_is_asked_as_one_here_is(tmp_path: Path) -> None:
    shop = infex.features.disjoint(
        ["tea", "juice"], context=infex.features.table({"age": (18, 90)}, {"land": ["FR", "DE"]})
    )
    policy = infex.Infex(infex.LinUCB(), infex.every(4))
    settings: dict[str, Any] = {"features": shop, "policy": policy, "seed": 7}
    people = [{"age": 20 + 5 * number, "land": "FR" if number % 2 else "DE"} for number in range(9)]
    token = TokenFile(tmp_path / "shop.db.tokens").make(["decide", "reward", "read", "admin"])
    with served(tmp_path) as url, infex.Client(url, token, seconds=PATIENCE) as client:
        study = client.open("pricing", **settings)
        there = [study.ask(f"o{number}", context=person) for number, person in enumerate(people[:6])]
        assert study.tell("o1", 0.7) == "rewarded"
        assert study.tell_many(["o2", "o3"], [0.1, 0.9]) == ["rewarded", "rewarded"]
        there += study.ask_many([f"o{number}" for number in (6, 7, 8)], contexts=people[6:])
        assert study.ask("o0", context=people[0]) == there[0]
        assert study.explain("o1")["reward"] == 0.7
        assert (study.state("o1"), study.state("o8")) == ("rewarded", "pending")
        assert study.metrics()["decisions"] == 9
        assert client.studies() == ["pricing"]
        assert study.ask(context=people[0]).id
        rule: dict[str, Any] = {"holdout": 1.0, "holdout_policy": {"arm": "juice"}}
        held = client.open("fixed", **settings, **rule).ask("h", context=people[0])
        assert (held.label, held.reason) == ("juice", "held out")
        refused(client, study, people[0])
        asyncio.run(asked_at_once(url, token))
    with infex.Study.open(f"sqlite:///{tmp_path}/alone.db", "pricing", **settings) as alone:
        here = [alone.ask(f"o{number}", context=person) for number, person in enumerate(people[:6])]
        alone.tell("o1", 0.7)
        alone.tell_many(["o2", "o3"], [0.1, 0.9])
        here += [alone.ask(f"o{number}", context=people[number]) for number in (6, 7, 8)]
    assert [decision[:-1] for decision in there] == [tuple(decision) for decision in here]


def refused(client: infex.Client, study: Any, person: dict[str, Any]) -> None:
    for error, call in (
        (AnotherRequest, lambda: study.ask("o0", context=person | {"age": 50})),
        (AlreadyTold, lambda: study.tell("o1", 0.8)),
        (UnknownDecision, lambda: study.tell("nobody", 0.8)),
        (InvalidContext, lambda: study.ask("x", context={"age": 30, "town": "Lyon"})),
        (UnknownStudy, lambda: client.study("nothing").ask("x")),
        (OtherSettings, lambda: client.open("pricing", seed=8, policy="Greedy")),
        (ServiceRefused, lambda: study.ask("x", context=True)),
        (InvalidSetting, lambda: study.ask_many(["a"], contexts=[])),
    ):
        with pytest.raises(error):
            call()


async def asked_at_once(url: str, token: str) -> None:
    async with infex.AsyncClient(url, token, connections=4, seconds=PATIENCE) as client:
        assert await client.studies() == ["fixed", "pricing"]
        study = client.study("pricing")
        asked = [study.ask(f"async-{number}", context={"age": 30, "land": "FR"}) for number in range(20)]
        rounds = sorted(decision.t for decision in await asyncio.gather(*asked))
        assert rounds == list(range(rounds[0], rounds[0] + 20))
        assert await study.tell("async-0", 1.0) == "rewarded"
        assert await study.tell_many(["async-1"], [1.0]) == ["rewarded"]
        assert await study.state("async-1") == "rewarded"
        assert (await study.explain("async-1"))["reward"] == 1.0
        assert (
            len(await study.ask_many(["async-20", "async-21"], contexts=[{"age": 30, "land": "FR"}] * 2)) == 2
        )
        assert (await study.metrics())["decisions"] >= 22
        await study.amend(reason="a holiday", explore=False)
        again = await client.open("second", policy="Greedy", arms=[[1.0, 0.0]])
        assert (await again.ask("a")).arm == 0


def test_what_is_not_answered_is_sent_again_with_the_same_key() -> None:
    time = Time()
    with scripted() as script:
        script.then(503, {"error": "StoreFailed", "message": "full"}, retry_after="1")
        script.then(429, {"error": "Overloaded", "message": "much"}, retry_after="2")
        script.then_nothing()
        script.then(502, "a proxy's words")
        script.then(200, DECIDED)
        with client_of(script, time) as client:
            decision = client.study("pricing").ask("a", context=np.array([0.6, 0.8]))
        assert (decision.t, decision.label, decision.high, decision.fallback) == (3, "juice", None, False)
        assert [asked.body for asked in script.asked] == [{"key": "a", "context": [0.6, 0.8]}] * 5
        assert {asked.headers["authorization"] for asked in script.asked} == {"Bearer secret"}
    assert time.pauses[:2] == [1.0, 2.0], "as the service said"
    assert len(time.pauses) == 3, "a connection that had died while idle is no reason for a pause"
    assert 0.1 <= time.pauses[2] <= 0.2


def test_a_connection_that_was_closed_while_idle_is_made_anew_without_a_pause() -> None:
    time = Time()
    with scripted() as script, client_of(script, time) as client:
        study = client.study("pricing")
        script.then(200, DECIDED, connection="keep-alive")
        script.then(200, DECIDED)
        study.ask("a")
        study.ask("a")
        assert script.connections == 1
        script.then_nothing()
        script.then(200, DECIDED)
        study.ask("a")
        assert (script.connections, time.pauses) == (2, [])


def test_when_nobody_answers_the_last_greedy_arm_is_played_and_said_to_be_that() -> None:
    time = Time(pace=200.0)
    with contextlib.ExitStack() as ending, scripted() as script:
        client = ending.enter_context(client_of(script, time))
        study = client.study("pricing")
        for _ in range(50):  # more often than there is time for
            script.then(503, {"error": "StoreFailed", "message": "full"})
        with pytest.raises(ServiceSilent, match="sent"):
            client.study("another").ask("before any was heard of")
        script.answers.clear()
        script.then(200, DECIDED)
        script.then(200, DECIDED | {"key": "b", "explored": True, "arm": 0, "label": "tea"})
        study.ask("a")
        study.ask("b")
    decision = study.ask("c")
    assert (decision.id, decision.label, decision.arm) == ("c", "juice", 1)
    assert (decision.fallback, decision.reason, decision.explored) == (True, FALLBACK_REASON, False)
    assert (decision.t, decision.estimate, decision.propensity) == (0, None, None)
    assert study.ask("c") == decision, "a key gives the same decision again"
    assert study.tell("c", 1.0) == "fallback", "nothing is learnt from what the service did not decide"
    assert study.tell_many(["c"], [1.0]) == ["fallback"]
    for call in (
        lambda: study.tell("a", 1.0),
        lambda: study.ask("e", arms=[[1.0], [2.0]]),
        lambda: client.study("other").ask("a"),
    ):
        with pytest.raises(ServiceSilent):
            call()


def test_without_a_fallback_silence_is_an_error() -> None:
    time = Time()
    with scripted() as script, client_of(script, time, fallback=False) as client:
        study = client.study("pricing")
        script.then(200, DECIDED)
        study.ask("a")
    with pytest.raises(ServiceSilent):
        study.ask("b")


def test_a_refusal_is_not_sent_again() -> None:
    time = Time()
    with scripted() as script, client_of(script, time) as client:
        script.then(403, {"error": "ScopeTooSmall", "message": "no", "field": "x", "expected": "admin"})
        with pytest.raises(ServiceRefused) as raised:
            client.study("pricing").tell("a", 1.0)
        error = raised.value
        assert (error.status, error.error, error.field, error.expected) == (
            403,
            "ScopeTooSmall",
            "x",
            "admin",
        )
        script.then(404, "nothing of ours")
        with pytest.raises(ServiceRefused, match="404"):
            client.study("pricing").tell("a", 1.0)
        script.then(200, {})
        client.study("pricing").amend(reason="r", policy=infex.Greedy())
        assert script.asked[-1].body["policy"]["kind"] == "Greedy"
        assert time.pauses == []


@pytest.mark.parametrize("url", ["localhost:8321", "ftp://x", "http://", "http://x?y=1"])
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting, match="url"):
        infex.Client(url)


def test_settings_and_bodies_that_cannot_be_are_refused() -> None:
    for settings in ({"seconds": 0}, {"fallback": 1}):
        with pytest.raises(InvalidSetting):
            infex.Client("http://localhost", **settings)
    with pytest.raises(InvalidSetting):
        infex.AsyncClient("http://localhost", connections=0)
    time = Time()
    with scripted() as script, client_of(script, time) as client:
        study = client.study("pricing")
        for context in ([float("nan")], {"a": [float("inf")]}, {"a": object()}):
            with pytest.raises(InvalidSetting):
                study.ask("a", context=context)
        assert script.asked == []
        script.then(200, DECIDED)
        study.ask("a", context={"age": float("nan"), "of": (np.float64(1.5), np.int64(2))})
        assert script.asked[0].body["context"] == {"age": None, "of": [1.5, 2]}
