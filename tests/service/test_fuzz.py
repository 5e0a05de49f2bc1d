"""Requests made from the OpenAPI description by schemathesis: no 5xx, and every answer is as described."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core.result import Ok

from tests.service.running import PRICING, Running, running

FEW, MANY = 12, 4000
MOST_GROWTH = 50_000  # kilobytes
UNENDING = ("/v1/events",)


def fuzz(call: Running, examples: int) -> int:
    """Sends so many requests to every address; how many there were."""
    described = call("GET", "/openapi.json").json
    schema = schemathesis.openapi.from_dict(described)
    seen: dict[int, int] = {}
    for operation in schema.get_all_operations():
        assert isinstance(operation, Ok), operation
        found = operation.ok()
        if found.path not in UNENDING:
            fuzz_one(call, found, examples, seen)
    assert not [status for status in seen if status >= 500], seen
    assert {200, 422} <= seen.keys(), seen
    return sum(seen.values())


def fuzz_one(call: Running, operation: Any, examples: int, seen: dict[int, int]) -> None:
    """Sends so many requests to one address."""

    @given(case=operation.as_strategy())
    @settings(max_examples=examples, phases=[Phase.generate], derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    def send(case: Any) -> None:
        status = sent(call, operation.path, case, sum(seen.values()) % 5 > 0)
        seen[status] = seen.get(status, 0) + 1

    send()


def sent(call: Running, path: str, case: Any, known: bool) -> int:
    """The status of an answer, whose body is JSON unless it is a page."""
    path = path.format(**(case.path_parameters or {}) | ({"name": "pricing"} if known else {}))
    query = "&".join(f"{name}={value}" for name, value in (case.query or {}).items())
    body = case.body if isinstance(case.body, bytes | list | dict | str | int | float | bool) else None
    headers = {name: str(value) for name, value in (case.headers or {}).items() if is_sent(name, str(value))}
    reply = call(case.method, f"{path}?{query}" if query else path, body, headers)
    assert reply.status < 500, (case.method, path, body, reply)
    if reply.status >= 400:
        said = json.loads(reply.body)
        assert said["error"], reply
        assert reply.status != 422 or said["field"] or said["message"]
    return reply.status


def is_sent(name: str, value: str) -> bool:
    return name.lower() != "authorization" and value.isascii() and value.isprintable()


def test_requests_by_the_description_never_fail_the_service(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        assert fuzz(call, FEW) > 100


@pytest.mark.slow
def test_a_hundred_thousand_requests_take_no_memory(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        count = fuzz(call, 200)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        while count < 100_000:
            count += fuzz(call, MANY)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWTH
