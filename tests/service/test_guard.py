"""What is not said to be open is closed: every address, every scope."""

import logging
from pathlib import Path

import pytest

from infex.service.guard import OPEN_TO_ALL
from infex.service.http_exchange import DOCUMENT_HEADERS, SAFE_HEADERS
from infex.service.route_table import Address
from infex.service.service_limits import ServiceLimits
from infex.service.tokens import Scope, TokenFile
from tests.service.running import CONTEXT, PRICING, Running, running

OPEN = {"/", "/page.js", "/study.js", "/chart.js", "/page.css", "/healthz", "/readyz", "/openapi.json"}
STREAMS = {"/v1/events"}


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "shop.db.tokens")


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def path_of(address: Address, study: str) -> str:
    return address.path.replace("{name}", study).replace("{key:path}", "order-1")


def body_of(address: Address) -> object:
    return {} if address.method == "POST" else None


def test_every_address_is_closed_unless_it_is_on_this_list(tmp_path: Path, tokens: TokenFile) -> None:
    tokens.make(["read"])
    with running(tmp_path) as call:
        assert {
            each.path for each in call.service.addresses if each.needs is OPEN_TO_ALL or not each.needs
        } == OPEN
        for address in call.service.addresses:
            if address.path in OPEN:
                assert call(address.method, address.path).status == 200
                continue
            reply = call(address.method, path_of(address, "pricing"), body_of(address))
            assert (reply.status, reply.json["error"]) == (401, "TokenNeeded"), address.path
            assert reply.headers["www-authenticate"].startswith("Bearer")


def test_what_is_open_to_all_is_the_same_whatever_studies_there_are(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        assert {*OPEN} == {each.path for each in call.service.addresses if each.needs is OPEN_TO_ALL}
        before = {path: call("GET", path).body for path in OPEN}
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies/pricing/decisions", {"key": "a", "context": CONTEXT})
        assert {path: call("GET", path).body for path in OPEN} == before


def test_a_refusal_does_not_tell_whether_a_study_exists(tmp_path: Path, tokens: TokenFile) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        revoked = tokens.make(["read", "admin", "decide", "reward"])
        small = {scope: tokens.make([each for each in Scope if each != scope]) for scope in Scope}
        tokens.revoke(revoked.split("_")[1])
        for address in call.service.addresses:
            if address.path in OPEN:
                continue
            (needed,) = address.needs
            for headers in (
                {},
                bearer(revoked),
                bearer("infex_x_y"),
                {"authorization": "Basic eA=="},
                bearer(small[needed]),
            ):
                known, unknown = (
                    call(address.method, path_of(address, study), body_of(address), headers)
                    for study in ("pricing", "nothing")
                )
                assert known.status == unknown.status == (403 if headers == bearer(small[needed]) else 401)
                assert known.body == unknown.body
                assert known.headers == unknown.headers


def test_a_scope_is_enough_for_what_it_names(tmp_path: Path, tokens: TokenFile) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        held = {scope: bearer(tokens.make([scope])) for scope in Scope}
        for address in call.service.addresses:
            if address.path in OPEN | STREAMS:
                continue
            (needed,) = address.needs
            reply = call(address.method, path_of(address, "pricing"), body_of(address), held[needed])
            assert reply.status not in (401, 403, 500), address


def test_an_address_that_is_not_on_the_table_is_not_told_to_strangers(
    tmp_path: Path, tokens: TokenFile
) -> None:
    token = tokens.make(["read"])
    with running(tmp_path) as call:
        for method, path in (
            ("GET", "/v2"),
            ("DELETE", "/v1/studies"),
            ("GET", "/v1/studies/"),
            ("OPTIONS", "/"),
            ("TRACE", "/v1/me"),
        ):
            assert call(method, path).status == 401
            assert call(method, path, None, bearer(token)).status == 404


def test_without_any_token_everybody_here_may_do_everything_but_other_sites(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        assert call("GET", "/v1/me").json["scopes"] == ["admin", "decide", "read", "reward"]
        for headers in (
            {"origin": "http://evil.example"},
            {"sec-fetch-site": "cross-site"},
            {"origin": "null"},
        ):
            assert call("POST", "/v1/studies", PRICING, headers).json["error"] == "OtherSite"
        assert call("GET", "/v1/studies").json == []
        assert (
            call(
                "GET", "/v1/me", None, {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
            ).status
            == 200
        )
        assert call("GET", "/v1/me", None, bearer("infex_x_y")).status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "", "localhost.evil.example", "localhost:"]
)
def test_another_name_for_this_host_is_refused(tmp_path: Path, host: str) -> None:
    with running(tmp_path) as call:
        assert call("GET", "/healthz", None, {"host": host}).status == 421
        assert call("GET", "/healthz", None, {"host": "LocalHost:8321"}).status == 200


def test_every_answer_has_the_headers_that_keep_browsers_safe(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        for path in ("/", "/metrics", "/healthz", "/v1/studies", "/nothing"):
            headers = call("GET", path).headers
            shown = headers["content-type"] != "application/json"
            for name, value in (*SAFE_HEADERS, *(DOCUMENT_HEADERS if shown else ())):
                assert headers[name.decode()] == value.decode()
            assert headers["cache-control"] in ("no-store", "no-cache")
        assert "unsafe" not in headers["content-security-policy"]


def test_a_body_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(body=100)) as call:
        reply = call("POST", "/v1/studies", b"x" * 101)
        assert (reply.status, reply.json["field"]) == (413, "body")
        assert reply.json["expected"] == "at most 100 bytes"


def test_what_fails_within_is_told_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "born 1971 in Lyon"

    def broken(*words: object, **more: object) -> None:
        raise RuntimeError(secret)

    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        monkeypatch.setattr("infex.service.endpoints.asked_one", broken)
        with caplog.at_level(logging.DEBUG):
            reply = call("POST", "/v1/studies/pricing/decisions", {"key": "a", "context": CONTEXT})
    assert (reply.status, reply.json["error"]) == (500, "InternalError")
    assert secret not in reply.body.decode() + caplog.text
    assert "RuntimeError" in caplog.text


def test_contexts_are_in_no_log_and_no_refusal(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(tmp_path) as call, caplog.at_level(logging.DEBUG):
        call("POST", "/v1/studies", PRICING)
        told = [
            refused(call, context)
            for context in ([0.123456, True], {"age": 7654321}, ["7654321"], [7654321.0, 1.0])
        ]
    assert "7654321" not in caplog.text + "".join(told)
    assert "0.123456" not in caplog.text + "".join(told)


def refused(call: Running, context: object) -> str:
    reply = call("POST", "/v1/studies/pricing/decisions", {"key": "a", "context": context, "unit": "u"})
    assert reply.status == 422
    assert reply.json["field"].startswith("context")
    return reply.body.decode()
