"""What operators do to a study over HTTP: corrections, erasures, amendments, exports, verdicts, proofs."""

import io
import logging
import re
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import infex
from infex.service.auth import TokenFile
from infex.service.schemas import ServiceLimits
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.service.held_disk import failing_disk
from tests.service.running import CONTEXT, PRICING, Running, running
from tests.service.test_security import bearer
from tests.study.studies import replayed
from tests.waiting import PATIENCE, until

STUDY = "/v1/studies/pricing"
DECISIONS, REWARDS, AMENDMENTS = f"{STUDY}/decisions", f"{STUDY}/rewards", f"{STUDY}/amendments"
CORRECTIONS, ERASURES = f"{STUDY}/corrections", f"{STUDY}/erasures"
FIXED = {
    "name": "fixed", "policy": "Greedy", "arms": [[1.0, 0.0], [0.0, 1.0]], "labels": ["tea", "juice"],
}  # fmt: skip
CHANGING = {"name": "changing", "policy": "Greedy", "dim": 2}
VISITOR = infex.features.table({"age": (18, 90)}, {"country": ["FR", "DE"]})
NAMED = {
    "name": "named", "policy": "Infex(LinUCB, every(3))",
    "features": infex.to_record(infex.features.disjoint(["tea", "juice"], context=VISITOR)),
}  # fmt: skip


def filled(call: Running) -> None:
    """A study of six decisions, of two units, all with rewards."""
    assert call("POST", "/v1/studies", PRICING).status == 201
    batch = [{"key": f"o{n}", "context": CONTEXT, "unit": f"customer-{n % 2}"} for n in range(6)]
    assert call("POST", DECISIONS, batch).status == 200
    assert call("POST", REWARDS, [{"key": f"o{n}", "reward": n / 4} for n in range(6)]).status == 200


def same_here(folder: Path, work: Callable[[Study], object]) -> str:
    """The digest of a study in this process to which the same happened."""
    shop = infex.features.disjoint(["tea", "juice", "water"], context_dim=2)
    policy = infex.Infex(infex.LinUCB(), infex.every(3))
    url = f"sqlite:///{folder}/here.db"
    with Study.open(url, "pricing", features=shop, policy=policy, seed=7) as study:
        keys, units = [f"o{n}" for n in range(6)], [f"customer-{n % 2}" for n in range(6)]
        study.ask_many(keys, contexts=[CONTEXT] * 6, units=units)
        study.tell_many(keys, [n / 4 for n in range(6)])
        work(study)
        return study.bandit().digest()


def digest_in(folder: Path) -> str:
    with Study.open(f"sqlite:///{folder}/shop.db", "pricing") as study:
        assert replayed(study) == study.digest()
        return study.bandit().digest()


def test_a_correction_is_that_of_a_study_and_on_disk_when_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"key": "o1", "reward": -0.5, "reason": "the goods came back"}
    with running(tmp_path) as call:
        filled(call)
        with failing_disk(monkeypatch):
            failed = call("POST", CORRECTIONS, body)
            assert (failed.status, failed.json["error"]) == (503, "StoreFailed")
            assert not re.search(rb"10\.0\.0\.7|/dev|shop\.db", failed.body), "no host and no file"
        for _ in range(2):
            assert call("POST", CORRECTIONS, body).json == {"key": "o1", "state": "corrected"}
        assert call("GET", f"{DECISIONS}/o1").json["reward"] == -0.5
    assert digest_in(tmp_path) == same_here(tmp_path, lambda study: study.correct("o1", -0.5))


def test_decisions_are_answered_while_a_unit_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, of_unit, read = threading.Event(), threading.Event(), SQLiteStore.of_unit, SQLiteStore.read
    erasing: list[int] = []

    def looked_up(store: SQLiteStore, name: str, unit: str) -> Any:
        erasing.append(threading.get_ident())
        return of_unit(store, name, unit)

    def held(store: SQLiteStore, *words: Any) -> Any:
        """The replay without the unit waits, and nobody else who reads."""
        if threading.get_ident() in erasing and not begun.is_set():
            begun.set()
            assert go_on.wait(PATIENCE)
        return read(store, *words)

    with running(tmp_path) as call:
        filled(call)
        monkeypatch.setattr(SQLiteStore, "of_unit", looked_up)
        monkeypatch.setattr(SQLiteStore, "read", held)
        erasure = call.begin("POST", ERASURES, {"unit": "customer-1", "reason": "asked for it"})
        assert begun.wait(PATIENCE)
        assert call("POST", DECISIONS, {"key": "meanwhile", "context": CONTEXT}).json["round"] == 7
        mine = {"key": "mine", "context": CONTEXT, "unit": "customer-1"}
        assert call("POST", DECISIONS, mine).json["round"] == 8
        other = call("POST", ERASURES, {"unit": "customer-0"})
        assert (other.status, other.json["error"], other.headers["retry-after"]) == (429, "Overloaded", "1")
        assert not erasure.done()
        go_on.set()
        assert erasure.result(PATIENCE).json == {"erased": 7}
        assert call("POST", ERASURES, {"unit": "customer-1"}).json == {"erased": 0}
        assert call("GET", f"{DECISIONS}/o1").json["state"] == "erased"
        assert call("GET", f"{DECISIONS}/mine").json["state"] == "erased"
        assert call("GET", f"{DECISIONS}/meanwhile").json["state"] == "pending"
        assert call("GET", f"{STUDY}/verify").json["holds"] is True

    def same(study: Study) -> None:
        study.ask("meanwhile", context=CONTEXT)
        study.ask("mine", context=CONTEXT, unit="customer-1")
        study.forget("customer-1")

    assert digest_in(tmp_path) == same_here(tmp_path, same)


def test_a_unit_is_in_no_path_no_refusal_and_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("Jane of Lyon")

    told = []
    with running(tmp_path) as call, caplog.at_level(logging.DEBUG):
        filled(call)
        assert not any("unit" in each.path for each in call.service.endpoints)
        for body in ({"unit": ["Jane of Lyon"]}, {"unit": "Jane of Lyon\0"}, {"unit": "Jane of Lyon" * 50}):
            told.append(call("POST", ERASURES, body))
            assert (told[-1].status, told[-1].json["field"]) == (422, "unit")
        monkeypatch.setattr(Study, "forget", broken)
        told.append(call("POST", ERASURES, {"unit": "Jane of Lyon"}))
        assert told[-1].status == 500
    assert not any(b"Jane" in each.body for each in told)
    assert "Jane" not in caplog.text


def test_amendments_are_those_of_a_study_all_of_them_or_none(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        filled(call)
        more: dict[str, Any] = {"remove_arms": ["tea"], "add_arms": {"arms": ["cola"]}, "extend": {"more": 1}}
        before = call("GET", STUDY).json
        refused = call("POST", AMENDMENTS, more | {"reason": "r", "allowed": [True], "key": "a"})
        assert (refused.status, refused.json["field"]) == (422, "allowed")
        after = call("GET", STUDY).json
        assert (after["arms"], after["figures"]["entries"]) == (before["arms"], before["figures"]["entries"])
        body = more | {"reason": "spring", "key": "a", "allowed": [True, True, False], "pending": "ignore"}
        body |= {"policy": "Infex(LinTS, every(2))", "explore": False, "freeze": True}
        first = call("POST", AMENDMENTS, body)
        assert (first.status, first.json["arms"], first.json["paused"]) == (
            200,
            ["juice", "water", "cola"],
            True,
        )
        assert first.json["figures"]["amendments"] == 8

    def same(study: Study) -> None:
        changes = {"allowed": [True, True, False], "pending": "ignore", "explore": False, "freeze": True}
        study.amend(policy=infex.Infex(infex.LinTS(), infex.every(2)), **more, **changes, reason="spring")

    assert digest_in(tmp_path) == same_here(tmp_path, same)


def test_an_amendment_with_a_key_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, head = {"reason": "new", "add_arms": {"arms": ["cola"]}}, {"idempotency-key": '"spring"'}
    with running(tmp_path) as call:
        filled(call)
        with failing_disk(monkeypatch):
            assert call("POST", AMENDMENTS, body, head).status == 503
        for same, headers in ((body, head), (body | {"key": "spring"}, {}), (body | {"key": "spring"}, head)):
            reply = call("POST", AMENDMENTS, same, headers)
            assert (reply.status, reply.json["arms"]) == (200, ["tea", "juice", "water", "cola"])
        other = call("POST", AMENDMENTS, body | {"reason": "newer"}, head)
        assert (other.status, other.json["error"], other.json["field"]) == (422, "AnotherRequest", "key")
    with running(tmp_path) as call:  # started again
        assert call("POST", AMENDMENTS, body, head).json["figures"]["amendments"] == 1
        again = call("POST", AMENDMENTS, body | {"add_arms": {"arms": ["mate"]}})
        assert again.json["figures"]["amendments"] == 2, "without a key it is another amendment"


def test_an_export_is_the_log_of_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with running(tmp_path) as call:
        filled(call)
        reply = call("GET", f"{STUDY}/export")
        assert (reply.status, reply.headers["content-type"]) == (200, "application/vnd.apache.parquet")
        assert (reply.headers["infex-rows"], reply.headers["infex-held-out"]) == ("6", "0")
        assert list(temporary.iterdir()) == [], "no file is left behind"
        with socket.create_connection(("127.0.0.1", call.port), PATIENCE) as connection:
            connection.sendall(f"GET {STUDY}/export HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert connection.recv(16)  # and then the client goes away
        until(lambda: call("GET", f"{STUDY}/export").status == 200, "others are served")
        assert list(temporary.iterdir()) == []
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        failed = call("GET", f"{STUDY}/export")
        assert (failed.status, failed.json["error"]) == (503, "NotReady")
        assert str(tmp_path).encode() not in failed.body
    with Study.open(f"sqlite:///{tmp_path}/shop.db", "pricing") as study:
        study.export(tmp_path / "here.parquet")
    assert pq.read_table(io.BytesIO(reply.body)).equals(pq.read_table(tmp_path / "here.parquet"))


def test_a_verdict_names_what_does_not_fit(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        filled(call)
        found = call("GET", f"{STUDY}/verify").json
        assert (found["holds"], found["entry"], found["decisions"], found["proven"]) == (True, None, 6, 6)
        call("POST", DECISIONS, {"key": "more", "context": CONTEXT})
        kept = found["checkpoint"]
        assert call("GET", f"{STUDY}/verify?checkpoint={kept}").json["holds"] is True
        forged = kept[:-1] + ("0" if kept[-1] != "0" else "1")
        found = call("GET", f"{STUDY}/verify?checkpoint={forged}").json
        assert (found["holds"], found["entry"]) == (False, int(kept.partition(":")[0]))
        assert "not that of the checkpoint" in found["why"]


def test_contexts_and_units_are_shown_to_whoever_may_export(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "shop.db.tokens")
    both, reads, exports = (
        bearer(tokens.make(scopes)) for scopes in (["read", "export"], ["read"], ["export"])
    )
    with running(tmp_path) as call:
        every = bearer(tokens.make(["admin", "decide"]))
        assert call("POST", "/v1/studies", PRICING, every).status == 201
        call("POST", DECISIONS, {"key": "a", "context": CONTEXT, "unit": "ann"}, every)
        path = f"{STUDY}/explain/a"
        shown = call("GET", f"{path}?contents=true", None, both).json["why"]
        assert (shown["unit"], shown["request"]["context"], shown["proven"]) == ("ann", CONTEXT, True)
        hidden = call("GET", path, None, reads).json["why"]
        assert (hidden["unit"], hidden["request"], hidden["proven"]) == (None, None, True)
        for query, headers in (("?contents=true", reads), ("?contents=true", exports), ("", exports)):
            assert call("GET", path + query, None, headers).status == 403
        assert call("GET", f"{path}?prove=false", None, reads).json["why"]["proven"] is None


NOT_SAID = re.compile(
    r"ask\(|Bandit|Study\.|\bNone\b|\bself\b|127\.0\.0\.1|localhost|shop\.db|/tmp|:\d{4,5}\b|float64|\bdtype\b"
)
R = {"reason": "r"}
REFUSALS: list[tuple[str, str, object, int, str, str]] = [
    # study, address, body, status, error, field
    ("pricing", "amendments", R, 422, "InvalidBody", "body"),
    ("pricing", "amendments", R | {"freeze": False}, 422, "InvalidBody", "body"),
    ("pricing", "amendments", {"explore": True}, 422, "InvalidBody", "reason"),
    ("pricing", "amendments", {"explore": True, "reason": ""}, 422, "InvalidBody", "reason"),
    ("pricing", "amendments", R | {"explore": "no"}, 422, "InvalidBody", "explore"),
    ("pricing", "amendments", R | {"explore": True, "arms": 1}, 422, "InvalidBody", "arms"),
    ("pricing", "amendments", R | {"explore": True, "key": ""}, 422, "InvalidBody", "key"),
    ("pricing", "amendments", R | {"explore": True, "key": "infex:x"}, 422, "InvalidSetting", "key"),
    ("fixed", "amendments", R | {"explore": False}, 422, "InvalidSetting", "explore"),
    ("pricing", "amendments", R | {"pending": "x"}, 422, "InvalidBody", "pending"),
    ("pricing", "amendments", R | {"policy": "Infex(LinUCB"}, 422, "InvalidExpression", "policy"),
    ("pricing", "amendments", R | {"policy": "my.rules:Mine"}, 422, "InvalidExpression", "policy"),
    ("pricing", "amendments", R | {"policy": {"kind": "x"}}, 422, "InvalidRecord", "policy"),
    ("pricing", "amendments", R | {"policy": "every(3)"}, 422, "InvalidSetting", "policy"),
    ("pricing", "amendments", R | {"allowed": [True]}, 422, "InvalidArms", "allowed"),
    ("pricing", "amendments", R | {"allowed": []}, 422, "InvalidArms", "allowed"),
    ("pricing", "amendments", R | {"allowed": [1, 0, 1]}, 422, "InvalidBody", "allowed[0]"),
    ("changing", "amendments", R | {"allowed": [True]}, 422, "InvalidArms", "allowed"),
    ("pricing", "amendments", R | {"remove_arms": ["beer"]}, 422, "UnknownArm", "remove_arms"),
    ("pricing", "amendments", R | {"remove_arms": [1]}, 422, "UnknownArm", "remove_arms"),
    ("pricing", "amendments", R | {"remove_arms": []}, 422, "InvalidBody", "remove_arms"),
    ("pricing", "amendments", R | {"remove_arms": "tea"}, 422, "InvalidBody", "remove_arms"),
    ("pricing", "amendments", R | {"remove_arms": [True]}, 422, "InvalidBody", "remove_arms[0]"),
    ("fixed", "amendments", R | {"remove_arms": ["tea", "juice"]}, 422, "InvalidArms", "remove_arms"),
    ("changing", "amendments", R | {"remove_arms": [0]}, 422, "InvalidArms", "remove_arms"),
    ("pricing", "amendments", R | {"add_arms": {}}, 422, "InvalidBody", "add_arms.arms"),
    ("pricing", "amendments", R | {"add_arms": ["x"]}, 422, "InvalidBody", "add_arms"),
    ("pricing", "amendments", R | {"add_arms": {"arms": 1001}}, 422, "InvalidBody", "add_arms.arms"),
    ("pricing", "amendments", R | {"add_arms": {"arms": ["tea"]}}, 422, "InvalidArms", "add_arms.labels"),
    ("pricing", "amendments", R | {"add_arms": {"arms": [[0.5]]}}, 422, "InvalidArms", "add_arms"),
    (
        "pricing",
        "amendments",
        R | {"add_arms": {"arms": ["x"], "labels": ["y"]}},
        422,
        "InvalidArms",
        "add_arms",
    ),
    ("fixed", "amendments", R | {"add_arms": {"arms": [[0.1, 0.2]]}}, 422, "InvalidArms", "add_arms"),
    ("fixed", "amendments", R | {"add_arms": {"arms": 2}}, 422, "InvalidArms", "add_arms.arms"),
    ("fixed", "amendments", R | {"add_arms": {"arms": ["c"]}}, 422, "InvalidArms", "add_arms.arms"),
    (
        "fixed",
        "amendments",
        R | {"add_arms": {"arms": [[0.1]], "labels": ["c"]}},
        422,
        "InvalidArms",
        "add_arms.arms",
    ),
    (
        "fixed",
        "amendments",
        R | {"add_arms": {"arms": [[9.0, 9.0]], "labels": ["c"]}},
        422,
        "InvalidArms",
        "add_arms.arms",
    ),
    (
        "fixed",
        "amendments",
        R | {"add_arms": {"arms": [[0.1, 0.1]], "labels": ["c", "d"]}},
        422,
        "InvalidArms",
        "add_arms.labels",
    ),
    ("changing", "amendments", R | {"add_arms": {"arms": [[0.1, 0.1]]}}, 422, "InvalidArms", "add_arms"),
    ("pricing", "amendments", R | {"extend": {}}, 422, "InvalidSetting", "extend.more"),
    ("pricing", "amendments", R | {"extend": {"more": 0}}, 422, "InvalidSetting", "extend.more"),
    ("pricing", "amendments", R | {"extend": {"more": 2001}}, 422, "InvalidBody", "extend.more"),
    ("pricing", "amendments", R | {"extend": {"longest": 0.1}}, 422, "InvalidSetting", "extend.longest"),
    ("pricing", "amendments", R | {"extend": {"numbers": {"a": [0, 1]}}}, 422, "InvalidSetting", "extend"),
    ("fixed", "amendments", R | {"extend": {"longest": 2}}, 422, "InvalidSetting", "extend"),
    ("named", "amendments", R | {"extend": {"more": 1}}, 422, "InvalidSetting", "extend"),
    ("named", "amendments", R | {"extend": {"numbers": {"age": [0, 1]}}}, 422, "InvalidSetting", "extend"),
    ("named", "amendments", R | {"extend": {"numbers": {"x": [1, 0]}}}, 422, "InvalidSetting", "extend"),
    (
        "named",
        "amendments",
        R | {"extend": {"numbers": {"x": [1]}}},
        422,
        "InvalidBody",
        "extend.numbers[...]",
    ),
    ("named", "amendments", R | {"extend": {"categories": {"country": []}}}, 422, "InvalidSetting", "extend"),
    ("nothing", "amendments", R | {"explore": True}, 404, "UnknownStudy", "name"),
    ("pricing", "corrections", {"key": "nobody", "reward": 1}, 404, "UnknownDecision", "key"),
    ("pricing", "corrections", {"key": "open", "reward": 1}, 404, "UnknownDecision", "key"),
    ("pricing", "corrections", {"key": "erased", "reward": 1}, 404, "UnknownDecision", "key"),
    ("pricing", "corrections", {"key": "", "reward": 1}, 422, "InvalidBody", "key"),
    ("pricing", "corrections", {"reward": 1}, 422, "InvalidBody", "key"),
    ("pricing", "corrections", {"key": "o1"}, 422, "InvalidBody", "reward"),
    ("pricing", "corrections", {"key": "o1", "reward": "1"}, 422, "InvalidBody", "reward"),
    ("pricing", "corrections", {"key": "o1", "reward": 1e300}, 422, "InvalidReward", "reward"),
    ("pricing", "corrections", {"key": "o1", "reward": 1, "reason": 7}, 422, "InvalidBody", "reason"),
    ("pricing", "corrections", {"key": "o1", "reward": 1, "weight": 2}, 422, "InvalidBody", "weight"),
    ("nothing", "corrections", {"key": "o1", "reward": 1}, 404, "UnknownStudy", "name"),
    ("pricing", "erasures", {}, 422, "InvalidBody", "unit"),
    ("pricing", "erasures", {"unit": ""}, 422, "InvalidBody", "unit"),
    ("pricing", "erasures", {"unit": "a\0b"}, 422, "InvalidSetting", "unit"),
    ("pricing", "erasures", {"unit": "ann", "who": 1}, 422, "InvalidBody", "who"),
    ("nothing", "erasures", {"unit": "ann"}, 404, "UnknownStudy", "name"),
    ("pricing", "verify?checkpoint=7", None, 422, "InvalidSetting", "checkpoint"),
    ("nothing", "verify", None, 404, "UnknownStudy", "name"),
    ("pricing", "explain/nobody", None, 404, "UnknownDecision", "key"),
    ("pricing", "explain/o1?prove=maybe", None, 422, "InvalidBody", "prove"),
    ("pricing", "explain/o1?contents=1", None, 422, "InvalidBody", "contents"),
    ("nothing", "export", None, 404, "UnknownStudy", "name"),
]


def test_refusals_name_the_field_and_speak_of_fields(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        filled(call)
        for study in (FIXED, CHANGING, NAMED):
            assert call("POST", "/v1/studies", study).status == 201
        for key, unit in (("open", None), ("erased", "gone")):
            call("POST", DECISIONS, {"key": key, "context": CONTEXT} | ({"unit": unit} if unit else {}))
        call("POST", ERASURES, {"unit": "gone"})
        before = [study["figures"]["entries"] for study in call("GET", "/v1/studies").json]
        for name, address, body, *expected in REFUSALS:
            method = "GET" if body is None else "POST"
            reply = call(method, f"/v1/studies/{name}/{address}", body)
            found = [reply.status, reply.json["error"], reply.json["field"]]
            assert found == expected, (name, address, body, reply.body)
            said = f"{reply.json['message']} {reply.json['expected']}"
            assert not NOT_SAID.search(said.removesuffix(" None")), said
        after = [study["figures"]["entries"] for study in call("GET", "/v1/studies").json]
        assert after == before, "nothing was half-changed"


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        (AMENDMENTS, "POST"),
        (CORRECTIONS, "POST"),
        (ERASURES, "POST"),
        (f"{STUDY}/export", "GET, HEAD"),
        (f"{STUDY}/verify", "GET, HEAD"),
        (f"{STUDY}/explain/a", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_405(tmp_path: Path, path: str, allow: str) -> None:
    with running(tmp_path) as call:
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - set(allow.split(", ")):
            reply = call(method, path)
            assert (reply.status, reply.headers["allow"]) == (405, allow)


def test_every_scope_opens_its_own_addresses_alone(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        needed = {each.name: each.scope for each in call.service.endpoints}
        described = call("GET", "/openapi.json").json["paths"]
    for name, path, scope in (
        ("amend", "amendments", "admin"),
        ("correct", "corrections", "correct"),
        ("erase", "erasures", "erase"),
        ("export", "export", "export"),
        ("verify", "verify", "read"),
        ("explain", "explain/{key}", "read"),
    ):
        assert needed[name] == scope
        (operation,) = described[f"/v1/studies/{{name}}/{path}"].values()
        assert (operation["operationId"], operation["security"]) == (name, [{"token": [scope]}])
    assert "application/vnd.apache.parquet" in str(described["/v1/studies/{name}/export"])


def test_what_would_take_much_memory_is_refused_before_it_is_made(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(arms=3, features=5)) as call:
        filled(call)
        for changes, field in (
            ({"add_arms": {"arms": ["a", "b", "c", "d"]}}, "add_arms.arms"),
            ({"add_arms": {"arms": 10**12}}, "add_arms.arms"),
            ({"extend": {"more": 10**12}}, "extend.more"),
        ):
            reply = call("POST", AMENDMENTS, {"reason": "r", **changes})
            assert (reply.status, reply.json["field"]) == (422, field)


def test_old_entries_are_archived_while_the_service_runs_and_are_found_all_the_same(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        filled(call)
        before = call("GET", f"{DECISIONS}/o1").json
        with infex.Client(call.url) as client:
            moved = client.study("pricing").archive(keep=3)
        assert moved > 0
        assert any((tmp_path / "shop.db.archive").iterdir())
        assert call("POST", f"{STUDY}/archive", {"keep": 3}).json == {"archived": 0}
        assert call("GET", f"{DECISIONS}/o1").json == before
        assert call("GET", f"{STUDY}/explain/o1").json["why"]["proven"]
        again = {"key": "o0", "context": CONTEXT, "unit": "customer-0"}
        assert call("POST", DECISIONS, again).json["round"] == 1, "a key gives the same decision"
        assert call("POST", ERASURES, {"unit": "customer-0"}).json == {"erased": 6}
        assert call("GET", f"{STUDY}/verify").json["holds"]
        refused = call("POST", f"{STUDY}/archive", {"keep": 0})
        assert (refused.status, refused.json["field"]) == (422, "keep")


@pytest.mark.parametrize(
    ("query", "field", "expected"),
    [
        ("decisions?stat=pending", "stat", "arm or reason or state or explored or most"),
        ("decisions?state=foo", "state", "pending or rewarded"),
        ("decisions?explored=yes", "explored", "true or false"),
        ("explain/o1?foo=1", "foo", "prove or contents"),
        ("explain/o1?prove=perhaps", "prove", "true or false"),
        ("verify?check=1", "check", "checkpoint"),
    ],
)
def test_a_query_that_is_not_declared_is_refused(
    tmp_path: Path, query: str, field: str, expected: str
) -> None:
    with running(tmp_path) as call:
        filled(call)
        refused = call("GET", f"{STUDY}/{query}")
        assert (refused.status, refused.json["field"]) == (422, field)
        assert refused.json["expected"].startswith(expected)
        assert call("GET", f"{DECISIONS}?state=rewarded&explored=false&most=2").status == 200
