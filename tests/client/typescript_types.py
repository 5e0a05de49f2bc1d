"""The bodies of requests and responses as types of TypeScript, from the OpenAPI description of the service.

`make typescript` writes them to clients/typescript/src/types.ts.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infex.service.app import Service, description
from infex.service.auth import TokenFile

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
TYPES = CLIENT / "src" / "types.ts"
HEAD = "// Written by `make typescript` from the OpenAPI description of the service.\n"
PLAIN = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}


def types_of(described: dict[str, Any]) -> str:
    """All components of a description, as one module."""
    schemas = described["components"]["schemas"]
    return HEAD + "".join("\n" + _interface(name, schema) for name, schema in schemas.items())


def _interface(name: str, schema: dict[str, Any]) -> str:
    lines = [*_comment(schema, ""), f"export interface {name} {{"]
    for field, kind in schema["properties"].items():
        mark = "" if field in schema["required"] else "?"
        lines += [*_comment(kind, "  "), f"  {field}{mark}: {_type(kind)};"]
    return "\n".join([*lines, "}\n"])


def _comment(schema: dict[str, Any], indent: str) -> Iterator[str]:
    found = [each["description"] for each in (schema, *schema.get("anyOf", ())) if "description" in each]
    if not found:
        return
    words = " Or: ".join(re.sub(r"\n +", "\n", text) for text in found).split("\n")
    if len(words) == 1:
        yield f"{indent}/** {words[0]} */"
    else:
        yield from (f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in words), f"{indent} */")


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema.get("type") == "array" and "prefixItems" in schema:
        return f"readonly [{', '.join(map(_type, schema['prefixItems']))}]"
    if schema.get("type") == "array":
        return f"ReadonlyArray<{_type(schema['items'])}>"
    if schema.get("type") == "object":
        return f"Readonly<Record<string, {_type(schema.get('additionalProperties', {}))}>>"
    return PLAIN[schema["type"]] if "type" in schema else "unknown"


def types_now() -> str:
    """Those of the service as it is in this clone."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(f"sqlite:///{folder}/shop.db", TokenFile(Path(folder) / "tokens"), [])
        return types_of(description(service.endpoints))


if __name__ == "__main__":
    TYPES.write_text(types_now())
