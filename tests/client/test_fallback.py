"""What a client plays while the service is away: an arm on offer, at once, until the service is back."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import infex
from infex.client import Patience, RemoteDecision
from infex.errors import InvalidSetting, ServiceSilent
from tests.client.scripted import Script, scripted
from tests.waiting import PATIENCE, until

REST = 5.0  # seconds; what a Patience has by itself
LABELS = ["tea", "juice", "wine"]


def decided(key: str, arm: int, **more: Any) -> dict[str, Any]:
    """A decision as the service sends it."""
    return {
        "key": key, "round": 3, "arm": arm, "label": LABELS[arm], "explored": False, "reason": "greedy",
        "greedy": arm, "estimate": 0.5, "low": 0.1, "high": None, "propensity": 1.0,
        "explore_probability": 0.0, "base_propensity": None,
    } | more  # fmt: skip


class Clock:
    """Time passes by pauses, and when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def pass_by(self, seconds: float) -> None:
        self.now += seconds

    def patience(self) -> Patience:
        return Patience(seconds=PATIENCE, pause=self.pass_by, clock=lambda: self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted() as found:
        yield found


@pytest.fixture
def client(script: Script, clock: Clock) -> Iterator[infex.Client]:
    with infex.Client(script.url, patience=clock.patience()) as found:
        yield found


def hear(script: Script, study: Any, *arms: int, **more: Any) -> None:
    """The service decides for these arms, one after the other."""
    for arm in arms:
        script.then(200, decided("heard", arm, **more))
        study.ask("heard")


def go_away(script: Script, study: Any) -> None:
    """An ask has no answer: the outage has begun."""
    script.then_away()
    with pytest.raises(ServiceSilent):
        study.ask("unanswered", offered=["nothing that was heard of"])


def test_the_last_greedy_arm_among_those_offered_is_played(script: Script, client: infex.Client) -> None:
    study = client.study("drinks")
    hear(script, study, 1, 0, 2)
    go_away(script, study)
    assert study.ask("a").label == "wine"
    assert study.ask("b", offered=["tea", "juice"]).label == "tea"
    played = study.ask("c", offered=["juice"])
    assert (played.label, played.arm, played.fallback) == ("juice", 1, True)
    assert study.ask("d", allowed=[True, True, False]).label == "wine", "which is about exploring alone"
    with pytest.raises(ServiceSilent):
        study.ask("e", offered=["water"])
    same = client.study("drinks").ask("f", offered=["juice"])
    assert same.label == "juice", "what was heard belongs to the study, and not to one object"
    script.then_away()
    with pytest.raises(ServiceSilent):
        client.study("others").ask("g")


def test_arms_without_labels_are_offered_by_number(script: Script, client: infex.Client) -> None:
    study = client.study("drinks")
    hear(script, study, 1, 2, label=None)
    go_away(script, study)
    assert study.ask("a", offered=[0, 1]).arm == 1
    with pytest.raises(ServiceSilent):
        study.ask("b", offered=[0])
    assert (study.ask("c", offered=[0, 3], default=3).arm, study.ask("d").arm) == (3, 2)
    with pytest.raises(ServiceSilent):
        study.ask("e", offered=[False, True, True])  # a mask, which a service refuses: it names no arm
    with pytest.raises(ServiceSilent):
        study.ask("f", offered=[])


def test_else_the_default_is_played_and_else_nothing(script: Script, client: infex.Client) -> None:
    study = client.study("drinks")
    script.then_away()
    first = study.ask("a", default="tea")
    assert (first.label, first.arm, first.greedy, first.fallback) == ("tea", None, None, True)
    assert "default" in first.reason
    assert (first.t, first.estimate, first.propensity, first.explored) == (0, None, None, False)
    assert study.ask("a", default="juice") == first, "a key gives the same decision again"
    assert study.tell("a", 1.0) == "fallback"
    with pytest.raises(ServiceSilent):
        study.ask("b")
    assert study.ask("c", default=2).arm == 2


def test_the_default_comes_after_what_was_heard(script: Script, client: infex.Client) -> None:
    study = client.study("drinks")
    hear(script, study, 0, 2)
    go_away(script, study)
    assert study.ask("a", default="juice").label == "wine"
    assert study.ask("b", default="juice", offered=["tea", "juice"]).label == "tea"
    assert study.ask("c", default="juice", offered=["juice"]).label == "juice"


def test_a_default_that_is_not_offered_is_refused_before_any_outage(
    script: Script, client: infex.Client
) -> None:
    study = client.study("drinks")
    for request in (
        {"default": "wine", "offered": ["tea", "juice"]},
        {"default": "wine", "arms": [[1.0], [2.0]], "labels": ["tea", "juice"]},
        {"default": 2, "arms": [[1.0], [2.0]]},
        {"default": True},
        {"default": 1.5},
    ):
        with pytest.raises(InvalidSetting, match="default must be"):
            study.ask("a", **request)
        with pytest.raises(InvalidSetting, match="default must be"):
            study.ask_many(["a"], **request)
    assert script.asked == []


def test_of_arms_that_a_request_brings_only_the_default_is_played(
    script: Script, client: infex.Client
) -> None:
    study = client.study("drinks")
    script.then(200, decided("heard", 1))
    study.ask("heard", arms=[[1.0], [2.0]], labels=["tea", "juice"])
    script.then_away()
    with pytest.raises(ServiceSilent):
        study.ask("a", offered=["juice"])  # that juice was another arm
    own = {"arms": [[1.0], [2.0], [3.0]], "labels": ["milk", "tea", "juice"]}
    with pytest.raises(ServiceSilent):
        study.ask("b", **own)
    played = study.ask("c", **own, offered=["tea", "juice"], default="tea")
    assert (played.arm, played.label) == (1, "tea")
    assert study.ask("d", arms=[[1.0], [2.0]], default=1).arm == 1


def test_an_arm_of_the_rule_for_those_held_out_is_not_remembered(
    script: Script, client: infex.Client
) -> None:
    study = client.study("drinks")
    hear(script, study, 1)
    hear(script, study, 2, reason="held out", greedy=1)
    hear(script, study, 0, explored=True, greedy=1)
    go_away(script, study)
    assert study.ask("next").label == "juice"


def test_many_decisions_fall_back_each_by_the_same_rule(script: Script, client: infex.Client) -> None:
    study = client.study("drinks")
    hear(script, study, 0, 1)
    script.then_away()
    many = study.ask_many(["a", "b"], offered=["tea", "wine"])
    assert [(each.id, each.label, each.fallback) for each in many] == [("a", "tea", True), ("b", "tea", True)]
    with pytest.raises(ServiceSilent):
        study.ask_many(["c", "d"], offered=["wine"])
    assert [each.label for each in study.ask_many(["c", "a"], offered=["wine"], default="wine")] == [
        "wine",
        "tea",
    ], "the key a was decided before"
    assert study.tell_many(["a", "c"], [1.0, 0.0]) == ["fallback", "fallback"]


def test_an_outage_costs_one_wait_and_the_service_is_tried_in_the_background(
    script: Script, client: infex.Client, clock: Clock
) -> None:
    study = client.study("drinks")
    hear(script, study, 1)
    script.then_away()
    assert study.ask("first").fallback
    begun, sent = clock.now, len(script.asked)
    for number in range(20):
        assert study.ask(f"at once {number}").fallback
        assert study.ask_many([f"and many {number}"])[0].fallback
        with pytest.raises(ServiceSilent):
            study.ask("nothing to play", offered=["tea"])
    assert (clock.now, len(script.asked)) == (begun, sent), "nobody waited, and nothing was sent"

    clock.pass_by(REST)
    script.then_away()
    assert study.ask("while it is away still").fallback
    until(lambda: len(script.asked) == sent + 1, "the service was tried")
    assert study.ask("just after").fallback
    assert script.asked[sent].path == "/readyz"
    assert script.asked[sent + 1 :] == []

    clock.pass_by(REST)
    script.then(200, {"status": "ready"})
    script.then(200, decided("back", 0))
    assert study.ask("while it is tried").fallback
    keys = (f"back {number}" for number in range(1_000_000))

    def answered() -> list[RemoteDecision]:
        return [each for each in [study.ask(next(keys))] if not each.fallback]

    (back,) = until(answered, "the service decides again")
    assert (back.label, clock.now) == ("tea", begun + 2 * REST)
    script.then(200, decided("next", 2))
    assert study.ask("next").label == "wine", "the outage is over"
    assert study.ask("first").label == "juice", "a key gives the same decision again"


def test_an_outage_goes_on_if_the_first_decision_has_no_answer(
    script: Script, client: infex.Client, clock: Clock
) -> None:
    """As when the service is ready, and its disk stands still."""
    study = client.study("drinks")
    hear(script, study, 1)
    go_away(script, study)
    clock.pass_by(REST)
    script.then(200, {"status": "ready"})
    script.then_away()
    sent = len(script.asked)
    keys = (f"k{number}" for number in range(1_000_000))

    def tried() -> bool:
        assert study.ask(next(keys)).fallback
        return len(script.asked) == sent + 2

    until(tried, "one decision was tried")
    for _ in range(20):
        assert study.ask(next(keys)).fallback
    assert len(script.asked) == sent + 2


def test_an_ask_with_nothing_to_play_tries_the_service_itself(
    script: Script, client: infex.Client, clock: Clock
) -> None:
    study = client.study("drinks")
    for _ in range(3):
        script.then_away()
        with pytest.raises(ServiceSilent, match="sent"):
            study.ask("a")
        with pytest.raises(ServiceSilent, match="away"):
            study.ask("a")
        clock.pass_by(REST)
    script.then(200, decided("a", 1))
    assert study.ask("a").label == "juice", "and not an error although the service is back"


def test_rewards_are_sent_all_the_same(script: Script, client: infex.Client) -> None:
    study = client.study("drinks")
    hear(script, study, 1)
    go_away(script, study)
    script.then(200, {"key": "heard", "state": "rewarded"})
    assert study.tell("heard", 1.0) == "rewarded"
    script.then_away()
    with pytest.raises(ServiceSilent):
        study.tell("heard", 1.0)


def test_a_refusal_is_an_answer(script: Script, client: infex.Client) -> None:
    study = client.study("drinks")
    for _ in range(2):
        script.then(404, {"error": "UnknownStudy", "message": "there is no study 'drinks'"})
        with pytest.raises(infex.errors.UnknownStudy):
            study.ask("a", default="tea")


def test_without_fallback_every_ask_is_sent(script: Script, clock: Clock) -> None:
    with infex.Client(script.url, patience=clock.patience(), fallback=False) as client:
        for number in range(3):
            script.then_away()
            with pytest.raises(ServiceSilent):
                client.study("drinks").ask("a", default="tea")
            assert len(script.asked) == number + 1


def test_an_asynchronous_client_falls_back_and_decides_beside_rewards_that_wait(
    script: Script, clock: Clock
) -> None:
    async def talk() -> None:
        async with infex.AsyncClient(script.url, patience=clock.patience(), connections=1) as client:
            study, gate = client.study("drinks"), threading.Event()
            script.then_held(gate, 200, {"key": "slow", "state": "rewarded"})
            told = asyncio.create_task(study.tell("slow", 1.0))
            while not script.asked:
                await asyncio.sleep(0)
            script.then(200, decided("a", 2))
            assert (await study.ask("a")).label == "wine"
            gate.set()
            assert await told == "rewarded"
            script.then_away()
            assert (await study.ask("b", offered=["tea"], default="tea")).label == "tea"
            many = await study.ask_many(["c", "d"], contexts=[[1.0], [2.0]], default="tea")
            assert [each.label for each in many] == ["wine", "wine"]

    asyncio.run(talk())


FORKED = """
import os, sys, infex
with infex.Client(sys.argv[1]) as client:
    study = client.study("drinks")
    study.ask("before")
    child = os.fork()
    if child == 0:
        study.ask("in the child")
        os._exit(0)
    os.waitpid(child, 0)
    study.ask("in the parent")
"""


def test_processes_that_were_forked_do_not_share_a_connection(script: Script) -> None:
    for _ in range(3):
        script.then(200, decided("a", 1))
    subprocess.run([sys.executable, "-c", FORKED, script.url], check=True, timeout=PATIENCE)
    assert [asked.body["key"] for asked in script.asked] == ["before", "in the child", "in the parent"]
    assert script.connections == 2
