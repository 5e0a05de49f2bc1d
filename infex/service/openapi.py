"""The OpenAPI description of the service, made from its routes and the types of their bodies."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from infex.service.answers import RefusalAnswer
from infex.service.route_table import Address
from infex.version import __version__

REF = "#/components/schemas/{name}"
PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
REFUSALS = {
    "400": "The request is not HTTP as it should be.",
    "401": "No valid token was given.",
    "403": "The token does not allow this.",
    "404": "There is no such study or decision.",
    "408": "The body did not come in time.",
    "409": "The same request is under way, or the study has other settings.",
    "413": "The body is too large.",
    "421": "The service is not known by this name.",
    "422": "A field is wrong, or the key has another request already.",
    "429": "Too much waits: the same later.",
    "431": "The line and headers of the request are too large.",
    "503": "The store fails, or the service starts or ends: the same later, with the same key. "
    "What was refused may still take effect.",
}


def openapi(addresses: Iterable[Address]) -> dict[str, Any]:
    """The description, as plain data."""
    shown = list(addresses)
    kinds = [
        RefusalAnswer,
        *(kind for each in shown for kind in (each.takes, each.gives) if kind is not None),
    ]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF)
    schema_of = dict(zip(map(repr, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for address in shown:
        shown_path = PARAMETER.sub(r"{\1}", address.path)
        paths.setdefault(shown_path, {})[address.method.lower()] = _operation(address, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "infex",
            "version": __version__,
            "description": "Decisions of linear bandits that explore only when they are told to.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(address: Address, schema_of: dict[str, Any]) -> dict[str, Any]:
    words = inspect.getdoc(address.answer) or ""
    found: dict[str, Any] = {
        "operationId": address.name,
        "summary": words.split("\n")[0],
        "description": words,
        "security": [{"token": sorted(address.needs)}] if address.needs else [],
        "parameters": _parameters(address),
        "responses": _responses(address, schema_of),
    }
    if address.takes is not None:
        content = {"application/json": {"schema": schema_of[repr(address.takes)]}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _parameters(address: Address) -> list[dict[str, Any]]:
    text = {"type": "string", "minLength": 1, "maxLength": 200}
    inside = [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in PARAMETER.findall(address.path)
    ]
    asked = [{"name": name, "in": "query", "schema": schema} for name, schema in address.query.items()]
    if address.method == "POST":
        key = {"name": "Idempotency-Key", "in": "header", "schema": text}
        return [*inside, *asked, key]
    return [*inside, *asked]


def _responses(address: Address, schema_of: dict[str, Any]) -> dict[str, Any]:
    right: dict[str, Any] = {"description": "Done, and on disk." if address.method == "POST" else "Found."}
    if address.gives is not None:
        right["content"] = {"application/json": {"schema": schema_of[repr(address.gives)]}}
    elif address.media:
        right["content"] = {address.media: {"schema": {"type": "string"}}}
    wrong = {"application/json": {"schema": schema_of[repr(RefusalAnswer)]}}
    refusals = {status: {"description": words, "content": wrong} for status, words in REFUSALS.items()}
    return {str(address.status): right, **refusals}
