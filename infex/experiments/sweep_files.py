"""Sweeps in TOML files, read strictly: an error is named before anything runs."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from infex.errors import InfexError, InvalidSetting
from infex.experiments.naming import hint
from infex.experiments.recipes import Recipe, of_kind, recipe
from infex.experiments.sweep import Sweep

OneOrMore = int | list[int]


class GaussianTable(msgspec.Struct, tag_field="kind", tag="gaussian", forbid_unknown_fields=True):
    """The paper's generator, for every dimension with every number of arms."""

    dim: OneOrMore
    arms: OneOrMore
    rewards: Literal["sign", "gaussian"] = "sign"


class ChangingTable(msgspec.Struct, tag_field="kind", tag="changing", forbid_unknown_fields=True):
    """Arms drawn anew in every round."""

    dim: OneOrMore
    arms: OneOrMore
    best: Literal["moving", "fixed", "recurring"] = "moving"
    gap: float = 0.1
    rewards: Literal["sign", "gaussian"] = "sign"


class ObjectTable(msgspec.Struct, tag_field="kind", tag="object", forbid_unknown_fields=True):
    """An instance, or a function that makes one from a seed, as `package.module:object`."""

    object: str
    label: str = ""


TABLES_BY_KIND: dict[str, type[msgspec.Struct]] = {
    "gaussian": GaussianTable,
    "changing": ChangingTable,
    "object": ObjectTable,
}
TOML_WORDS = {
    "`str | object`": "text or a table",
    "`object`": "a table",
    "`array`": "a list",
    " - at `$.": " - at `",
    "`$`": "the top",
}


class SweepFile(msgspec.Struct, forbid_unknown_fields=True):
    """What a sweep file may say."""

    environments: list[GaussianTable | ChangingTable | ObjectTable | str]
    policies: list[str] = []
    bases: list[str] = []
    schedules: list[str] = []
    data: tuple[Literal["shared", "own"], ...] = ("shared",)
    horizon: int = 10_000
    seeds: int | list[int] = 20
    penalty: float = 1.0
    delta: float | Literal["1/T"] = "1/T"
    title: str = ""


def read_sweep(path: str | Path) -> Sweep:
    """The sweep of a TOML file."""
    place = Path(path)
    try:
        file = msgspec.toml.decode(place.read_bytes(), type=SweepFile)
    except OSError as error:
        raise InvalidSetting(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a ValidationError is a DecodeError
        raise InvalidSetting(f"{path}: {_plainly(str(error), place)}") from None
    try:
        return Sweep(
            environments=[
                problem for place, table in enumerate(file.environments) for problem in _recipes(place, table)
            ],
            policies=file.policies,
            bases=file.bases,
            schedules=file.schedules,
            data=file.data,
            horizon=file.horizon,
            seeds=file.seeds,
            penalty=file.penalty,
            delta=file.delta,
            title=file.title,
        )
    except InfexError as error:
        raise InvalidSetting(f"{path}: {error}") from None


def _recipes(place: int, table: GaussianTable | ChangingTable | ObjectTable | str) -> list[Recipe]:
    try:
        if isinstance(table, str):
            return [recipe(table)]
        if isinstance(table, ObjectTable):
            made = recipe(table.object)
            return [Recipe(made.source, made.settings, table.label)] if table.label else [made]
        return _grid(place, table)
    except InfexError as error:
        raise InvalidSetting(f"{error} - at `environments[{place}]`") from None


def _grid(place: int, table: GaussianTable | ChangingTable) -> list[Recipe]:
    kind = "gaussian" if isinstance(table, GaussianTable) else "changing"
    settings: dict[str, Any] = msgspec.structs.asdict(table)
    dims, counts = (value if isinstance(value, list) else [value] for value in (table.dim, table.arms))
    for name, values in (("dim", dims), ("arms", counts)):
        if not values:
            raise InvalidSetting(f"an empty list of {name}; say one number or more")
    return [
        of_kind(kind, settings | {"dim": dim, "arms": count})
        for dim, count in itertools.product(dims, counts)
    ]


def _plainly(message: str, path: Path) -> str:
    """An error of msgspec in the words of TOML: `$.environments[0]` is the first table of environments."""
    unknown = re.fullmatch(r"Object contains unknown field `(.*?)`(?: - at `\$\.?(.*)`)?", message)
    if unknown:
        known = [each.encode_name for each in msgspec.structs.fields(_table_at(unknown[2] or "", path))]
        known += ["kind"] if unknown[2] else []
        where = f" - at `{unknown[2]}`" if unknown[2] else ""
        return f"unknown key `{unknown[1]}`{hint(unknown[1], known)}; known are {', '.join(known)}{where}"
    missing = re.fullmatch(r"Object missing required field `(.*?)`(?: - at `\$\.?(.*)`)?", message)
    if missing:
        return f"the key `{missing[1]}` is missing" + (f" - at `{missing[2]}`" if missing[2] else "")
    for old, new in TOML_WORDS.items():
        message = message.replace(old, new)
    return f"{message}; kinds are {', '.join(TABLES_BY_KIND)}" if message.endswith(".kind`") else message


def _table_at(where: str, path: Path) -> type[msgspec.Struct]:
    """The keys that the table at this place may have."""
    place = re.fullmatch(r"environments\[(\d+)\]", where)
    if place is None:
        return SweepFile
    kind = tomllib.loads(path.read_text(encoding="utf-8"))["environments"][int(place[1])]["kind"]
    return TABLES_BY_KIND[kind]
