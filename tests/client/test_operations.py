"""A client changes, corrects, erases, exports and verifies a served study as one does with a study here."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import infex
from infex.client import AsyncRemoteStudy, RemoteStudy
from infex.errors import (
    AnotherRequest,
    InvalidSetting,
    Overloaded,
    ServiceRefused,
    ServiceSilent,
    StoreFailed,
    UnknownArm,
    UnknownDecision,
)
from infex.service.auth import Scope, TokenFile
from infex.study.study import Study
from tests.client.scripted import scripted
from tests.client.test_client import Time, client_of
from tests.service.serving_here import served
from tests.waiting import PATIENCE

VISITOR = infex.features.table({"age": (18, 90)}, {"country": ["FR", "DE"]})
SETTINGS: dict[str, Any] = {
    "features": infex.features.disjoint(["tea", "juice"], context=VISITOR),
    "policy": infex.Infex(infex.LinUCB(), infex.every(3)),
    "seed": 7,
    "holdout": 0.3,
}
LOCAL = {
    "flush", "close", "open", "bandit", "digest", "estimates", "intervals", "exploration", "policy",
    "summary", "pending_count", "count_new", "check_settings", "when_flushed", "ask_rows", "tell_rows",
    "learn_rows",
}  # fmt: skip


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_the_three_kinds_of_study_have_the_same_verbs() -> None:
    assert public(RemoteStudy) == public(AsyncRemoteStudy) == public(Study) - LOCAL
    for name in public(AsyncRemoteStudy):
        assert inspect.iscoroutinefunction(getattr(AsyncRemoteStudy, name)), name


def life(study: Any, people: list[dict[str, Any]]) -> Iterator[Any]:
    """All verbs, and what they give that is the same everywhere."""
    keys = [f"o{n}" for n in range(len(people))]
    decisions = study.ask_many(keys, contexts=people)
    yield [(d.t, d.arm, d.label, d.estimate) for d in decisions]
    yield [str(state) for state in study.tell_many(keys[:6], [n / 8 for n in range(6)])]
    yield study.ask("of ann", context=people[0], unit="ann").t
    study.tell("of ann", 0.5)
    yield str(study.correct("o1", -0.25, reason="the goods came back"))
    study.add_arms(["mate", "cola"], reason="new", key="first")
    study.add_arms(["mate", "cola"], reason="new", key="first")
    study.remove_arms(["juice"], reason="sold out")
    study.extend(numbers={"visits": (0, 10)}, categories={"country": ["IT"]}, reason="known since")
    study.amend(policy=infex.Infex(infex.LinTS(), infex.every(2)), allowed=[True, True, False], reason="x")
    study.pause("a holiday")
    study.resume("over")
    person = {"age": 30, "country": "IT", "visits": 3}
    yield [study.ask(f"late-{n}", context=person).arm for n in range(4)]
    yield study.forget("ann", reason="asked for it")
    yield str(study.state("of ann"))
    yield study.metrics()["states"], study.metrics()["amendments"]


def test_a_served_study_lives_as_one_here_does(tmp_path: Path) -> None:
    people = [{"age": 20 + 5 * n, "country": "FR" if n % 2 else "DE"} for n in range(9)]
    token = TokenFile(tmp_path / "shop.db.tokens").make(list(Scope))
    with served(tmp_path) as url, infex.Client(url, token, seconds=PATIENCE) as client:
        study = client.open("pricing", **SETTINGS)
        there = list(life(study, people))
        verdict, why = study.verify(), study.explain("late-1", contents=True)
        lift = study.lift()
        counts = study.export(tmp_path / "there.parquet")
        for error, field, refused in (
            (UnknownArm, "remove_arms", lambda: study.remove_arms("beer", reason="r")),
            (AnotherRequest, "key", lambda: study.pause("other", key="first")),
            (UnknownDecision, "key", lambda: study.correct("nobody", 1.0)),
            (InvalidSetting, "checkpoint", lambda: study.verify("x")),
        ):
            with pytest.raises(error) as raised:
                refused()
            assert raised.value.field == field
        asyncio.run(awaited(url, token, tmp_path / "awaited.parquet"))
    with Study.open(f"sqlite:///{tmp_path}/alone.db", "pricing", **SETTINGS) as alone:
        assert there == list(life(alone, people))
        here = alone.verify()
        assert (verdict["holds"], verdict["decisions"]) == (here.holds, here.decisions) == (True, 14)
        assert verdict["proven"] == here.proven
        known = alone.explain("late-1", contents=True)
        assert (why["proven"], why["digest"]) == (known.proven, known.digest)
        assert why["request"] == known.request
        assert lift["decisions"] == alone.lift().decisions
        assert counts == alone.export(tmp_path / "here.parquet")._asdict()
    tables = [pq.read_table(tmp_path / f"{name}.parquet") for name in ("here", "there", "awaited")]
    kept = [column for column in tables[0].column_names if "time" not in column]
    assert tables[0].select(kept).equals(tables[1].select(kept))
    assert tables[2].num_rows == tables[1].num_rows + 1


async def awaited(url: str, token: str, file: Path) -> None:
    async with infex.AsyncClient(url, token, seconds=PATIENCE) as client:
        study = client.study("pricing")
        await study.ask("async", context={"age": 30, "country": "FR", "visits": 0}, unit="bob")
        await study.tell("async", 1.0)
        assert await study.correct("async", 0.5) == "corrected"
        assert (await study.explain("async", prove=False))["reward"] == 0.5
        await study.add_arms(["oolong"], reason="new")
        await study.remove_arms(["oolong"], reason="gone")
        await study.extend(numbers={"clicks": (0, 1)}, reason="known")
        await study.amend(pending="ignore", reason="r")
        await study.pause("quiet")
        await study.resume("loud")
        assert (await study.verify())["holds"] is True
        assert (await study.export(file))["rows"] > 0
        assert await study.forget("bob") == 3
        assert (await study.lift())["held_decisions"] > 0


def test_an_amendment_that_is_sent_again_has_the_same_key() -> None:
    time = Time()
    with scripted() as script, client_of(script, time) as client:
        study = client.study("pricing")
        for change in (lambda: study.add_arms(["cola"], reason="new"), lambda: study.pause("a holiday")):
            script.then(503, {"error": "StoreFailed", "message": "full"})
            script.then_nothing()
            script.then(200, {})
            change()
        first, second = script.asked[:3], script.asked[3:]
        for asked in (first, second):
            assert len({each.body["key"] for each in asked}) == 1
            assert all(each.body == asked[0].body for each in asked)
        assert first[0].body["key"] != second[0].body["key"]


def test_a_reward_that_is_sent_again_adds_up_once() -> None:
    with scripted() as script, client_of(script, Time()) as client:
        study = client.study("pricing")
        for _ in range(2):
            script.then_nothing()
            script.then(200, {"key": "a", "state": "rewarded"})
            study.tell("a", 0.5)
        script.then_nothing()
        script.then(200, [{"key": "a", "state": "rewarded"}] * 2)
        study.tell_many(["a", "a"], [0.5, 0.5])
        parts = [each.body["part"] for each in script.asked[:4]]
        assert parts[0] == parts[1] != parts[2] == parts[3]
        rows = [row["part"] for row in script.asked[4].body]
        assert script.asked[4].body == script.asked[5].body
        assert len({*parts, *rows}) == 4
        script.then(200, {"key": "a", "state": "rewarded"})
        study.tell("a", 0.5, part="tip")
        assert script.asked[-1].body["part"] == "tip"


def test_what_reads_a_whole_journal_is_sent_once(tmp_path: Path) -> None:
    time = Time()
    with scripted() as script, client_of(script, time) as client:
        study = client.study("pricing")
        reads = (
            study.verify, study.lift,
            lambda: study.explain("a"), lambda: study.export(tmp_path / "a.parquet"),
        )  # fmt: skip
        for read in reads:
            script.then(429, {"error": "Overloaded", "message": "another journal is read"}, retry_after="1")
            with pytest.raises(Overloaded):
                read()
            script.then(503, {"error": "StoreFailed", "message": "full"})
            with pytest.raises(StoreFailed):
                read()
            script.then_nothing()
            script.then_nothing()  # an idle connection that was dead is made anew
            with pytest.raises(ServiceSilent):
                read()
            script.answers.clear()
        assert time.pauses == []
        for verb in (study.verify, study.forget):
            with pytest.raises(InvalidSetting, match="seconds"):
                verb("x", seconds=-1)


def test_an_export_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    file, headers = tmp_path / "log.parquet", {"infex_rows": "2", "infex_held_out": "0"}
    file.write_bytes(b"of yesterday")
    with scripted() as script, client_of(script, Time()) as client:
        study = client.study("pricing")
        script.then(200, "a log" * 99, content_length="100000", connection="close", **headers)
        with pytest.raises(ServiceSilent):
            study.export(file)
        script.then(200, "somebody else's page")
        with pytest.raises(ServiceSilent, match="is the url right"):
            study.export(file)
        script.then(403, {"error": "ScopeTooSmall", "message": "no", "expected": "export"})
        with pytest.raises(ServiceRefused):
            study.export(file)
        assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]
        assert file.read_bytes() == b"of yesterday"
        script.then(200, "a log", **headers)
        assert study.export(file) == {"rows": 2, "held_out": 0}
        assert file.read_bytes() == b'"a log"'
