"""What is not said to be open is closed: every endpoint, every scope."""

import contextlib
import logging
import re
import socket
from pathlib import Path

import pytest

from infex.service.auth import Scope, TokenFile
from infex.service.middleware import DOCUMENT_HEADERS, SAFE_HEADERS
from infex.service.routes import Endpoint
from infex.service.schemas import ServiceLimits
from infex.study.study import Study
from tests.service.running import CONTEXT, PRICING, Running, running
from tests.waiting import PATIENCE, until

OPEN = {
    "/",
    "/page.js",
    "/overview.js",
    "/study.js",
    "/chart.js",
    "/page.css",
    "/healthz",
    "/readyz",
    "/openapi.json",
}
STREAMS = {"/v1/events"}


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "shop.db.tokens")


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def path_of(endpoint: Endpoint, study: str) -> str:
    return endpoint.path.replace("{name}", study).replace("{key:key}", "order-1")


def body_of(endpoint: Endpoint) -> object:
    return {} if endpoint.method == "POST" else None


def open_paths(call: Running) -> set[str]:
    return {each.path for each in call.service.endpoints if each.scope is None}


def test_every_address_is_closed_unless_it_is_on_this_list(tmp_path: Path, tokens: TokenFile) -> None:
    tokens.make(["read"])
    with running(tmp_path) as call:
        assert open_paths(call) == OPEN
        for endpoint in call.service.endpoints:
            if endpoint.path in OPEN:
                assert call(endpoint.method, endpoint.path).status == 200
                continue
            reply = call(endpoint.method, path_of(endpoint, "pricing"), body_of(endpoint))
            assert (reply.status, reply.json["error"]) == (401, "TokenNeeded"), endpoint.path
            assert reply.headers["www-authenticate"].startswith("Bearer")


def test_what_is_open_to_all_is_the_same_whatever_studies_there_are(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        until(lambda: call("GET", "/readyz").status == 200, "the service is ready")
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
        for endpoint in call.service.endpoints:
            if endpoint.path in OPEN:
                continue
            needed = endpoint.scope
            assert needed is not None
            for headers in (
                {},
                bearer(revoked),
                bearer("infex_x_y"),
                {"authorization": "Basic eA=="},
                bearer(small[needed]),
            ):
                known, unknown = (
                    call(endpoint.method, path_of(endpoint, study), body_of(endpoint), headers)
                    for study in ("pricing", "nothing")
                )
                assert known.status == unknown.status == (403 if headers == bearer(small[needed]) else 401)
                assert known.body == unknown.body
                assert known.headers == unknown.headers


def test_a_scope_is_enough_for_what_it_names(tmp_path: Path, tokens: TokenFile) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        held = {scope: bearer(tokens.make([scope])) for scope in Scope}
        for endpoint in call.service.endpoints:
            if endpoint.path in OPEN | STREAMS:
                continue
            needed = endpoint.scope
            assert needed is not None
            reply = call(endpoint.method, path_of(endpoint, "pricing"), body_of(endpoint), held[needed])
            assert reply.status not in (401, 403, 500), endpoint


def test_an_address_that_is_not_on_the_table_is_not_told_to_strangers(
    tmp_path: Path, tokens: TokenFile
) -> None:
    token = tokens.make(["read"])
    with running(tmp_path) as call:
        for method, path, status in (
            ("GET", "/v2", 404),
            ("DELETE", "/v1/studies", 405),
            ("GET", "/v1/studies/", 404),
            ("GET", "/healthz%0A", 200),
            ("TRACE", "/v1/me", 405),
        ):
            assert call(method, path).status == 401
            assert call(method, path, None, bearer(token)).status == status


def test_without_any_token_everybody_here_may_do_everything_but_other_sites(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        assert call("GET", "/v1/me").json["scopes"] == sorted(Scope)
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


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", "localhost:"])
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
        monkeypatch.setattr(Study, "ask", broken)
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


def test_a_body_that_does_not_come_is_408(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(seconds=1)) as call:
        head = b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        with socket.create_connection(("127.0.0.1", call.port), PATIENCE) as connection:
            connection.sendall(head)
            back = b""
            while part := connection.recv(65_536):  # until the service ends the connection
                back += part
        assert back.startswith(b"HTTP/1.1 408")
        assert b'"error":"TooSlow"' in back


def test_too_many_requests_at_once_are_told_when_to_come_again(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(waiting=2)) as call, contextlib.ExitStack() as ending:
        call("POST", "/v1/studies", PRICING)
        head = b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        for _ in range(4):  # twice as many as may wait: their bodies have not come
            connection = socket.create_connection(("127.0.0.1", call.port), PATIENCE)
            ending.enter_context(connection)
            connection.sendall(head)
        until(lambda: call("GET", "/v1/me").status == 503, "four requests are under way")
        refused = call("GET", "/v1/me")
        assert (refused.json["error"], refused.headers["retry-after"]) == ("Overloaded", "1")
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert refused.headers["connection"] == "close"
        assert call("GET", "/healthz").status == 200, "whoever watches it is let in"
        ending.close()
        until(lambda: call("GET", "/v1/me").status == 200, "there is room again")
        counted = call("GET", "/metrics").body.decode()
        assert re.search(r'infex_requests_total\{.*status="503"\}', counted)
