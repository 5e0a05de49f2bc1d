"""Sweeps in TOML files, read strictly: an error is named before anything runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from infex.errors import InfexError, InvalidSetting
from infex.experiments.naming import hint
from infex.experiments.sweep import Sweep

TOML_WORDS = {
    "`float | array`": "a number or a list",
    "`int | array`": "a whole number or a list",
    "`array | object`": "a list or a table of names",
    "`str | object`": "text or a table",
    "`object`": "a table",
    "`array`": "a list",
    " - at `$.": " - at `",
    "`$`": "the top",
}
Names = list[str] | dict[str, str]
Numbers = float | list[float]


class SweepFile(msgspec.Struct, forbid_unknown_fields=True):
    """What a sweep file may say."""

    environments: list[str | dict[str, Any]] | dict[str, str | dict[str, Any]]
    policies: Names = []
    bases: Names = []
    schedules: Names = []
    data: list[Literal["shared", "own"]] = msgspec.field(default_factory=lambda: ["shared"])
    horizon: float | list[float] = 10_000
    seeds: int | list[int] = 20
    penalty: Numbers = 1.0
    delta: float | Literal["1/T"] | list[float | Literal["1/T"]] = "1/T"
    estimator: str | list[str] | dict[str, str] | None = None
    title: str = ""


def read_sweep(path: str | Path) -> Sweep:
    """The sweep of a TOML file."""
    place = Path(path)
    try:
        file = msgspec.toml.decode(place.read_bytes(), type=SweepFile)
    except OSError as error:
        raise InvalidSetting(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a ValidationError is a DecodeError
        raise InvalidSetting(f"{path}: {_plainly(str(error))}") from None
    try:
        return Sweep(**msgspec.structs.asdict(file))
    except InfexError as error:
        raise InvalidSetting(f"{path}: {error}") from None


def _plainly(message: str) -> str:
    """An error of msgspec in the words of TOML: `$.environments[0]` is the first table of environments."""
    unknown = re.fullmatch(r"Object contains unknown field `(.*?)`", message)
    if unknown:
        known = [each.encode_name for each in msgspec.structs.fields(SweepFile)]
        return f"unknown key `{unknown[1]}`{hint(unknown[1], known)}; known are {', '.join(known)}"
    missing = re.fullmatch(r"Object missing required field `(.*?)`", message)
    if missing:
        return f"the key `{missing[1]}` is missing"
    for old, new in TOML_WORDS.items():
        message = message.replace(old, new)
    return message
