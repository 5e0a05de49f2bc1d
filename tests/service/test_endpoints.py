"""Decisions, rewards, reasons and changes over HTTP, as a study gives them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import infex
from infex.service.schemas import ServiceLimits
from tests.service.held_disk import HeldDisk, failing_disk
from tests.service.running import CONTEXT, PRICING, Running, running
from tests.study.studies import Clock, shop
from tests.waiting import PATIENCE, until

DECISIONS, REWARDS = "/v1/studies/pricing/decisions", "/v1/studies/pricing/rewards"


def ask(call: Running, key: str, **more: object) -> Any:
    return call("POST", DECISIONS, {"key": key, "context": CONTEXT, **more})


def test_the_service_decides_as_a_study_in_the_same_process_does(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        assert call("POST", "/v1/studies", PRICING).status == 201
        served = [ask(call, f"o{number}").json for number in range(9)]
        for number in range(0, 9, 2):
            reply = call("POST", REWARDS, {"key": f"o{number}", "reward": 0.1 * number})
            assert reply.json == {"key": f"o{number}", "state": "rewarded"}
        served += call(
            "POST", DECISIONS, [{"key": f"b{number}", "context": CONTEXT} for number in range(4)]
        ).json
    shop = infex.features.disjoint(["tea", "juice", "water"], context_dim=2)
    policy = infex.Infex(infex.LinUCB(), infex.every(3))
    own = infex.Bandit(features=shop, policy=policy, seed=7)
    alone = [own.ask(context=CONTEXT, id=f"o{number}") for number in range(9)]
    for number in range(0, 9, 2):
        own.tell(f"o{number}", 0.1 * number)
    alone += [own.ask(context=CONTEXT, id=f"b{number}") for number in range(4)]
    for answer, decision in zip(served, alone, strict=True):
        assert answer["key"] == decision.id
        assert (answer["round"], answer["label"]) == (decision.t, decision.label)
        assert (answer["explored"], answer["reason"]) == (decision.explored, decision.reason)
        assert (answer["estimate"], answer["low"]) == (decision.estimate, decision.low)


def test_what_is_not_on_offer_is_not_played_and_nobody_is_explored_on_who_must_not_be(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        for number in range(6):
            assert ask(call, f"a{number}", offered=["water"]).json["label"] == "water"
        assert [ask(call, f"b{number}", explore=False).json["explored"] for number in range(6)] == [False] * 6
        assert ask(call, "c", offered=["beer"]).status == 422
        batch = [{"key": f"d{number}", "context": CONTEXT, "offered": ["juice"]} for number in range(3)]
        assert [each["label"] for each in call("POST", DECISIONS, batch).json] == ["juice"] * 3


def test_the_same_again_gets_the_same_and_another_request_422(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        first = ask(call, "a")
        assert ask(call, "a").body == first.body
        other = ask(call, "a", unit="somebody else")
        assert (other.status, other.json["error"], other.json["field"]) == (422, "AnotherRequest", "key")
        assert call("POST", REWARDS, {"key": "a", "reward": 1.0}).json["state"] == "rewarded"
        assert call("POST", REWARDS, {"key": "a", "reward": 1.0}).json["state"] == "rewarded"
        again = call("POST", REWARDS, {"key": "a", "reward": 0.5})
        assert (again.status, again.json["field"]) == (422, "reward")
        unknown = call("POST", REWARDS, {"key": "b", "reward": 0.5})
        assert (unknown.status, unknown.json["error"]) == (404, "UnknownDecision")
    with running(tmp_path) as call:  # opened again
        assert ask(call, "a").body == first.body
        assert call("GET", f"{DECISIONS}/a").json["reward"] == 1.0


@pytest.mark.parametrize("more", [{}, {"explore": False}], ids=["columns", "rows"])
def test_a_batch_of_which_one_is_refused_changes_nothing(tmp_path: Path, more: dict[str, Any]) -> None:
    with running(tmp_path, ServiceLimits(batch=3)) as call:
        call("POST", "/v1/studies", PRICING)
        batch = [{"key": key, "context": CONTEXT, **more} for key in "abc"]
        wrong = [batch[0], {**batch[1], "context": [1.0]}, batch[2]]
        reply = call("POST", DECISIONS, wrong)
        assert (reply.status, reply.json["field"]) == (422, "[1].context")
        assert "Nothing of this batch was taken in" in reply.json["message"]
        assert [call("GET", f"{DECISIONS}/{key}").status for key in "abc"] == [404, 404, 404]
        right = call("POST", DECISIONS, batch)
        assert [each["round"] for each in right.json] == [1, 2, 3]
        for size in ([], [batch[0]] * 4):
            assert call("POST", DECISIONS, size).json["field"] == "body"


@pytest.mark.parametrize("more", [{}, {"weight": 2.0}], ids=["columns", "rows"])
def test_rewards_of_which_one_is_refused_are_not_told(tmp_path: Path, more: dict[str, Any]) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", DECISIONS, [{"key": key, "context": CONTEXT} for key in "ab"])
        for second, status, field in (
            ({"key": "zz", "reward": 1.0}, 404, "[1].key"),
            ({"key": "b", "reward": 1e300}, 422, "[1].reward"),
            ({"key": "a", "reward": 0.25, **more}, 422, "[1].reward"),  # which only the batch contradicts
            ({"key": "b"}, 422, "[1].reward"),
        ):
            refused = call("POST", REWARDS, [{"key": "a", "reward": 1.0, **more}, second])
            assert (refused.status, refused.json["field"]) == (status, field)
            assert [call("GET", f"{DECISIONS}/{key}").json["state"] for key in "ab"] == ["pending"] * 2
        right = [{"key": "a", "reward": 1.0, **more}, {"key": "b", "reward": 0.5}]
        assert [each["state"] for each in call("POST", REWARDS, right).json] == ["rewarded"] * 2


def test_a_batch_names_the_row_without_a_key_and_the_one_with_too_many_arms(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(arms=3)) as call:
        call("POST", "/v1/studies", PRICING)
        one = {"key": "a", "context": CONTEXT}
        assert call("POST", DECISIONS, [one, {"context": CONTEXT}]).json["field"] == "[1].key"
        assert call("POST", DECISIONS, {"context": CONTEXT}).json["field"] == "key"
        many = {"key": "b", "arms": [[1.0, 0.0]] * 4}
        assert call("POST", DECISIONS, [one, many]).json["field"] == "[1].arms"
        assert call("POST", DECISIONS, many).json["field"] == "arms"


def test_keys_may_hold_any_letters(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        for place, key in enumerate(("a/b/explain/c", "ключ", "x y#z", "%2F", "/", "..", "a\nb"), 1):
            assert ask(call, key).status == 200
            assert (
                call("GET", f"/v1/studies/pricing/explain/{quote(key, safe='')}").json["why"]["decision"]["t"]
                == place
            )
            assert call("GET", f"{DECISIONS}/{quote(key, safe='')}").json["decision"]["round"] == place
        reply = ask(call, "a\0b")
        assert (reply.status, reply.json["field"]) == (422, "key")


def test_an_idempotency_key_is_another_way_to_say_the_key(tmp_path: Path) -> None:
    head, body = {"idempotency-key": '"abc"'}, {"context": CONTEXT}
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        first = call("POST", DECISIONS, body, head)
        assert first.json["key"] == "abc"
        assert call("POST", DECISIONS, body, head).body == first.body
        assert ask(call, "abc").body == first.body, "the same as the key in the body"
        other = call("POST", DECISIONS, {"context": [0.0, 1.0]}, head)
        assert (other.status, other.json["error"], other.json["field"]) == (422, "AnotherRequest", "key")
        own = call("POST", DECISIONS, body | {"key": "own"}, head)
        assert own.json["key"] == "own", "the body says it first"
        many = call("POST", DECISIONS, [body, body | {"key": "z"}, body], {"idempotency-key": "xyz"})
        assert [each["key"] for each in many.json] == ["xyz#0", "z", "xyz#2"]
        for wrong in ('""', "", "a" * 201, 'a"b', "ö"):
            refused = call("POST", DECISIONS, body, {"idempotency-key": wrong})
            assert (refused.status, refused.json["field"]) == (422, "Idempotency-Key")
        assert call("POST", DECISIONS, body).json["field"] == "key"
        assert call("POST", REWARDS, {"key": "nobody", "reward": 1}, head).status == 404
        assert call("POST", REWARDS, {"reward": 1}, head).json == {"key": "abc", "state": "rewarded"}
        told = call("POST", REWARDS, [{"reward": 1}, {"reward": 1, "key": "z"}], {"idempotency-key": "xyz"})
        assert [each["key"] for each in told.json] == ["xyz#0", "z"]
        assert call("POST", REWARDS, {"reward": 1}).json["field"] == "key"
        assert call("POST", REWARDS, [{"reward": 1}]).json["field"] == "[0].key"
    with running(tmp_path) as call:  # started again
        assert call("POST", DECISIONS, body, head).body == first.body
        assert call("POST", DECISIONS, {"context": [0.0, 1.0]}, head).status == 422
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept <= {"shop.db", "shop.db.lock"}, "nothing is kept beside the journal"


def decided(call: Running) -> int:
    count: int = call("GET", "/v1/studies/pricing").json["figures"]["decisions"]
    return count


def test_nothing_is_answered_before_it_is_on_disk_and_many_share_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    with running(tmp_path, ServiceLimits(waiting=40)) as call, disk:
        call("POST", "/v1/studies", PRICING)
        first = call.begin("POST", DECISIONS, {"key": "first", "context": CONTEXT})
        assert disk.begun.acquire(timeout=PATIENCE)
        others = [call.begin("POST", DECISIONS, {"key": f"o{n}", "context": CONTEXT}) for n in range(39)]
        until(lambda: decided(call) == 40, "all are decided")
        assert not any(each.done() for each in [first, *others])
        more = call("POST", DECISIONS, {"key": "too many", "context": CONTEXT})
        assert (more.status, more.json["error"], more.headers["retry-after"]) == (429, "Overloaded", "1")
        assert call("GET", "/healthz").status == 200, "the loop is not blocked"
        disk.go_on.release(100)
        assert first.result(PATIENCE).json["round"] == 1
        assert sorted(each.result(PATIENCE).json["round"] for each in others) == list(range(2, 41))
        assert disk.sizes[0] == 1
        assert sum(disk.sizes) == 40
        assert len(disk.sizes) <= 3, "those that waited went to the disk together"


def test_the_same_key_twice_at_once_is_one_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = HeldDisk(monkeypatch)
    with running(tmp_path) as call, disk:
        call("POST", "/v1/studies", PRICING)
        head = {"idempotency-key": "k"}
        first = call.begin("POST", DECISIONS, {"context": CONTEXT}, head)
        assert disk.begun.acquire(timeout=PATIENCE)
        second = call.begin("POST", DECISIONS, {"context": CONTEXT}, head)
        third = call.begin("POST", DECISIONS, {"context": [1.0, 0.0]}, head)
        disk.go_on.release(100)
        assert first.result(PATIENCE).status == 200
        assert second.result(PATIENCE).body == first.result().body
        assert third.result(PATIENCE).status == 422
        assert call("GET", "/v1/studies/pricing").json["figures"]["decisions"] == 1


def test_a_disk_that_fails_gives_503_and_the_same_again_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        with failing_disk(monkeypatch):
            reply = ask(call, "a")
        assert (reply.status, reply.json["error"], reply.headers["retry-after"]) == (503, "StoreFailed", "1")
        assert b"10.0.0.7" not in reply.body
        assert b"/dev" not in reply.body
        assert ask(call, "a").json["round"] == 1
        assert ask(call, "b").json["round"] == 2


def test_a_closing_service_finishes_what_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = HeldDisk(monkeypatch)
    with disk:
        with running(tmp_path) as call:
            call("POST", "/v1/studies", PRICING)
            begun = call.begin("POST", DECISIONS, {"key": "a", "context": CONTEXT})
            assert disk.begun.acquire(timeout=PATIENCE)
            disk.go_on.release(100)
        assert begun.result(PATIENCE).status == 200
        with running(tmp_path) as call:
            assert call("GET", f"{DECISIONS}/a").status == 200


def test_a_wrong_method_is_405_and_says_which_are_right(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        for method, path, allow in (
            ("DELETE", "/v1/studies", "GET, HEAD, POST"),
            ("PUT", DECISIONS, "GET, HEAD, POST"),
            ("GET", REWARDS, "POST"),
            ("POST", "/healthz", "GET, HEAD"),
            ("OPTIONS", "/", "GET, HEAD"),
            ("POST", f"{DECISIONS}/a", "GET, HEAD"),
        ):
            reply = call(method, path)
            assert (reply.status, reply.headers["allow"]) == (405, allow), path
            assert (reply.json["error"], reply.json["expected"]) == ("MethodNotAllowed", allow)
        for path in ("/v2", "/v1/studies/", "/v1/studies/pricing/nothing"):
            assert (call("GET", path).status, call("GET", path).json["error"]) == (404, "UnknownAddress")
        head = call("HEAD", "/healthz")
        assert (head.status, head.body) == (200, b"")
        assert call("HEAD", "/v1/events").status == 200


def test_refusals_speak_of_fields_of_the_body_and_not_of_python(tmp_path: Path) -> None:
    fixed = {"name": "fixed", "policy": "Greedy", "arms": [[1.0, 0.0], [0.0, 1.0]], "labels": ["a", "b"]}
    changing = {"name": "changing", "policy": "Greedy", "dim": 2}
    with running(tmp_path) as call:
        for study in (PRICING, fixed, changing):
            assert call("POST", "/v1/studies", study).status == 201
        for name, body, field in (
            ("pricing", {"key": "a"}, "context"),
            ("pricing", {"key": "a", "context": {"age": 4}}, "context"),
            ("pricing", {"key": "a", "context": "x"}, "context"),
            ("pricing", {"key": 1}, "key"),
            ("fixed", {"key": "a", "context": CONTEXT}, "context"),
            ("fixed", {"key": "a", "arms": [[1.0, 0.0]]}, "arms"),
            ("changing", {"key": "a"}, "arms"),
            ("changing", {"key": "a", "allowed": [True]}, "arms"),
            ("changing", {"key": "a", "labels": ["a"]}, "arms"),
        ):
            for body_sent in (body, [body]):
                refused = call("POST", f"/v1/studies/{name}/decisions", body_sent)
                row = "" if isinstance(body_sent, dict) else "[0]."
                assert (refused.status, refused.json["field"]) == (422, row + field), refused.body
                words = refused.json["message"]
                for python in ("ask(", "Bandit", "=...", "infex.", "`str`", "`int`", "float"):
                    assert python not in words, words


def test_a_study_is_begun_once_and_other_settings_are_refused(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(studies=2, arms=50, features=40)) as call:
        assert call("POST", "/v1/studies", PRICING).status == 201
        assert call("POST", "/v1/studies", PRICING).status == 201
        other = call("POST", "/v1/studies", PRICING | {"seed": 8})
        assert (other.status, other.json["error"]) == (409, "OtherSettings")
        fixed = {"name": "fixed", "policy": "Greedy", "arms": [[1.0, 0.0], [0.0, 1.0]], "labels": ["a", "b"]}
        assert call("POST", "/v1/studies", fixed).json["arms"] == ["a", "b"]
        assert call("POST", "/v1/studies", fixed | {"name": "third"}).status == 429
        assert [each["name"] for each in call("GET", "/v1/studies").json] == ["fixed", "pricing"]
        for change, field in (
            ({"policy": "Infex(LinUCB"}, "policy"),
            ({"policy": "__import__('os')"}, "policy"),
            ({"policy": "(" * 1900}, "policy"),
            ({"features": {"kind": "disjoint"}}, "features"),
            ({"features": SHOP_OF(10**9, 2)}, "features.arms"),
            ({"features": SHOP_OF(2, 10**9)}, "features.context_dim"),
            ({"name": "../etc"}, "name"),
            ({"seed": -1}, "seed"),
            ({"penalty": "1"}, "penalty"),
        ):
            reply = call("POST", "/v1/studies", PRICING | {"name": "x"} | change)
            assert (reply.status, reply.json["field"]) == (422, field), change
        assert (
            call("POST", "/v1/studies", {"name": "x", "policy": "Greedy", "dim": 10**9}).json["field"]
            == "dim"
        )
        assert call("POST", "/v1/studies", PRICING | {"name": "x"}).status == 429


def test_those_held_out_may_get_one_arm_by_label_or_number(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        numbered = {"name": "numbered", "policy": "Greedy", "arms": [[1.0, 0.0], [0.0, 1.0]]}
        for study, arm, request in (
            (PRICING, "juice", {"key": "a", "context": CONTEXT}),
            (numbered, 1, {"key": "a"}),
        ):
            body = study | {"holdout": 1, "holdout_policy": {"arm": arm}}
            assert call("POST", "/v1/studies", body).status == 201
            assert call("POST", "/v1/studies", body).status == 201, "the same again changes nothing"
            decision = call("POST", f"/v1/studies/{study['name']}/decisions", request).json
            assert (decision["arm"], decision["reason"]) == (1, "held out")
        for wrong in ("juice", 1, {"arm": 1.5}, {"arm": "juice", "of": 1}, {}, ["juice"], None):
            reply = call("POST", "/v1/studies", PRICING | {"name": "x", "holdout_policy": wrong})
            assert reply.status == 422, wrong
            assert reply.json["field"].startswith("holdout_policy"), wrong
        schemas = call("GET", "/openapi.json").json["components"]["schemas"]
        shown = schemas["StudyRequest"]["properties"]["holdout_policy"]
        assert {"$ref": "#/components/schemas/HoldoutArm"} in shown["anyOf"]
        assert schemas["HoldoutArm"]["required"] == ["arm"]


def test_settings_that_cannot_be_are_refused_by_name(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        assert call("POST", "/v1/studies", {"name": "x", "policy": "Greedy"}).status == 422
        for change, field in (
            ({"penalty": -1}, "penalty"),
            ({"wait": "soon"}, "wait"),
            ({"default": 1}, "default"),
        ):
            reply = call("POST", "/v1/studies", PRICING | change)
            assert (reply.status, reply.json["field"]) == (422, field)
        assert call("GET", "/v1/studies").json == []


def SHOP_OF(arms: int, dim: int) -> dict[str, Any]:  # noqa: N802 - reads as the constant beside it
    return {"kind": "disjoint", "version": 1, "arms": arms, "context_dim": dim, "longest": 1.0}


def test_exploring_is_paused_and_goes_on_as_recorded_events(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        amend = "/v1/studies/pricing/amendments"
        before = call("GET", "/v1/studies/pricing").json["policy"]
        for _ in range(2):  # once more changes nothing, and has its reason in the journal
            assert call("POST", amend, {"explore": False, "reason": "holiday"}).json["paused"] is True
        assert [ask(call, f"p{n}").json["reason"] for n in range(3)] == [
            "greedy",
            "greedy",
            "skipped: paused",
        ]
        resumed = call("POST", amend, {"explore": True, "reason": "over"}).json
        assert (resumed["paused"], resumed["policy"]) == (False, before)
        assert [ask(call, f"q{n}").json["explored"] for n in range(3)] == [False, False, True]
        changed = call("POST", amend, {"policy": "Infex(LinUCB, every(2))", "reason": "more"}).json
        assert changed["policy"].endswith("every(2))")
        assert changed["figures"]["amendments"] == 4
        for wrong, field in (
            ({}, "reason"),
            ({"reason": "r"}, "body"),
            ({"reason": "r", "policy": "No"}, "policy"),
        ):
            assert call("POST", amend, wrong).json["field"] == field
        greedy = {"name": "greedy", "policy": "Greedy", "features": PRICING["features"]}
        call("POST", "/v1/studies", greedy)
        refused = call("POST", "/v1/studies/greedy/amendments", {"explore": False, "reason": "r"})
        assert refused.status == 422


def test_a_preview_counts_the_explorations_of_the_next_rounds_and_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        path = "/v1/studies/pricing/preview"
        shown = call("POST", path, {"policy": "Infex(LinUCB, every(10))"}).json
        assert (shown["rounds"], shown["explorations"]) == (10_000, 1_000)
        assert shown["basis"].startswith("assumed: it decided nothing")
        assert shown["now"] == sum(t % 3 == 0 for t in range(1, 10_001))
        assert call("POST", path, {"policy": "LinUCB"}).json["explorations"] is None
        assert call("GET", "/v1/studies/pricing").json["policy"].endswith("every(3))")


def test_a_preview_for_an_apprentice_is_not_one_of_no_rounds(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING | {"apprentice": True})
        asked = {"key": "a", "context": CONTEXT, "played": "tea"}
        assert call("POST", "/v1/studies/pricing/decisions", asked).status == 200
        shown = call("POST", "/v1/studies/pricing/preview", {"policy": "Infex(LinUCB, every(10))"}).json
        assert (shown["rounds"], shown["explorations"]) == (10_000, 1_000)


def test_a_preview_rests_on_the_rounds_of_a_day_and_not_on_the_pace_of_a_burst(tmp_path: Path) -> None:
    now = datetime.now(UTC).timestamp()
    clock = Clock(now - 30 * 86_400)
    with shop(tmp_path, "pricing", clock=clock) as study:
        study.ask_many([f"old{n}" for n in range(900)])
        for days in (1, 0):  # two bursts of a moment each
            clock.now = now - days * 86_400
            study.ask_many([f"{days} {n}" for n in range(60)])
    with running(tmp_path) as call:
        shown = call("POST", "/v1/studies/pricing/preview", {"policy": "Infex(LinUCB, every(10))"}).json
    assert (shown["rounds"], shown["explorations"], shown["now"]) == (60, 6, 12)
    day = shown["basis"].removeprefix("as many as were decided on ").partition(" ")[0]
    assert day in {datetime.fromtimestamp(now - back * 86_400, UTC).date().isoformat() for back in (0, 1)}


def test_a_study_that_cannot_be_opened_is_named_and_others_are_served(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies", PRICING | {"name": "other"})
        ask(call, "a")
    import apsw

    connection = apsw.Connection(str(tmp_path / "shop.db"))
    connection.execute("update entries set content = x'00' where number = 2")
    connection.execute("delete from snapshots")
    connection.close()
    with running(tmp_path) as call:
        reply = ask(call, "b")
        assert (reply.status, reply.json["error"]) == (503, "DamagedJournal")
        assert call("POST", "/v1/studies/other/decisions", {"key": "a", "context": CONTEXT}).status == 200


def test_a_study_whose_last_entries_are_missing_is_not_served(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        for number in range(5):
            ask(call, f"a{number}")
    import apsw

    connection = apsw.Connection(str(tmp_path / "shop.db"))
    connection.execute("delete from entries where number > 4")
    connection.close()
    with running(tmp_path) as call:
        reply = ask(call, "b")
        assert (reply.status, reply.json["error"]) == (503, "DamagedJournal")
        assert "ends at entry 4, and a snapshot of entry 6 is kept beside it" in reply.json["message"]


def test_figures_for_prometheus_are_those_of_the_studies(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        for number in range(7):
            ask(call, f"a{number}")
        call("POST", REWARDS, {"key": "a0", "reward": 0.5})
        lines = call("GET", "/metrics").body.decode().splitlines()
    figures = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(figures['infex_decisions_total{study="pricing"}']) == 7
    assert float(figures['infex_explorations_total{study="pricing",what="done"}']) == 2
    assert float(figures['infex_decisions_by_state{state="pending",study="pricing"}']) == 6
    assert float(figures['infex_reward_delay_seconds_count{study="pricing"}']) == 1
    assert float(figures['infex_mean_reward{study="pricing"}']) == 0.5
    assert float(figures['infex_requests_total{address="decide",status="200"}']) == 7


def test_the_description_names_every_address_with_its_types(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        described = call("GET", "/openapi.json").json
        endpoints = call.service.endpoints
    assert described["openapi"] == "3.1.0"
    for endpoint in endpoints:
        operation = described["paths"][endpoint.path.replace(":key", "")][endpoint.method.lower()]
        assert operation["summary"]
        assert ("requestBody" in operation) == (endpoint.takes is not None or endpoint.takes_file)
        assert bool(operation["security"]) == (endpoint.scope is not None)
    assert set(described["paths"]["/healthz"]["get"]["responses"]) == {
        "200",
        "400",
        "405",
        "421",
        "431",
        "503",
    }
    names = set(described["components"]["schemas"])
    assert {"DecisionRequest", "RewardRequest", "DecisionAnswer", "RefusalAnswer"} <= names
    text = json.dumps(described)
    used = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert used <= names


def test_all_figures_of_decisions_agree_and_say_whether_those_held_out_are_counted(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING | {"holdout": 0.5})
        batch = [{"key": f"a{n}", "context": CONTEXT, "unit": f"u{n}"} for n in range(40)]
        answers = call("POST", DECISIONS, batch).json
        call("POST", REWARDS, [{"key": f"a{n}", "reward": 0.5} for n in range(30)])
        figures = call("GET", "/v1/studies/pricing").json["figures"]
        lines = call("GET", "/metrics").body.decode().splitlines()
    held = sum(answer["reason"] == "held out" for answer in answers)
    assert 0 < held < 40
    assert figures["decisions"] == sum(figures["states"].values()) == 40
    assert (figures["rounds"], figures["held_out"]["decisions"]) == (40 - held, held)
    assert sum(day["rounds"] for day in figures["days"].values()) == 40 - held
    shown = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(shown['infex_decisions_total{study="pricing"}']) == 40
    assert float(shown['infex_decisions_held_out_total{study="pricing"}']) == held
    assert sum(float(shown[each]) for each in shown if each.startswith("infex_decisions_by_state{")) == 40
    assert sum(float(shown[each]) for each in shown if each.startswith("infex_reasons_total{")) == 40 - held
    told = {line.split()[2]: line for line in lines if line.startswith("# HELP infex_")}
    for name in ("infex_decisions_total", "infex_decisions_by_state", "infex_pending_by_age"):
        assert "those held out included" in told[name]
    for name in ("infex_reasons_total", "infex_reward_delay_seconds", "infex_mean_reward"):
        assert "without those held out" in told[name]


def test_an_answer_for_somebody_held_out_has_the_greedy_arm_and_the_estimate_of_the_model(
    tmp_path: Path,
) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING | {"holdout": 0.5})
        for n in range(60):
            label = call("POST", DECISIONS, {"key": f"a{n}", "context": CONTEXT}).json["label"]
            reward = {"tea": 0.2, "juice": 0.9, "water": 0.1}[label]
            call("POST", REWARDS, {"key": f"a{n}", "reward": reward})
        answers = [call("POST", DECISIONS, {"key": f"b{n}", "context": CONTEXT}).json for n in range(40)]
        held = [each for each in answers if each["reason"] == "held out"]
        others = {each["arm"]: each for each in answers if each["reason"] != "held out"}
        assert {each["label"] for each in held} == {"tea", "juice", "water"}
        assert {each["greedy"] for each in held} == {1}  # juice
        for each in held:
            estimate = {"tea": 0.2, "juice": 0.9, "water": 0.1}[each["label"]]
            assert each["estimate"] == pytest.approx(estimate, abs=0.2)
            assert each["low"] < each["estimate"] < each["high"]
            if each["arm"] in others:
                assert each["estimate"] == pytest.approx(others[each["arm"]]["estimate"], abs=1e-12)
            found = call("GET", f"{DECISIONS}/{each['key']}").json["decision"]
            assert found == each
