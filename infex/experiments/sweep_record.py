"""A sweep as plain data, which `sweep.json` holds and `infex run FOLDER` plays again."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from infex.checks import settings_by_name
from infex.errors import InfexError, InvalidSetting, NoRecord
from infex.experiments.folder import SWEEP_FILE, held
from infex.experiments.loading import load
from infex.experiments.sweep import Sweep
from infex.registry import from_record, to_record

SWEEP_RECORD_FORMAT = 1


def sweep_record(sweep: Sweep) -> dict[str, Any]:
    """All settings of a sweep as they were given, for JSON.

    Text and numbers stay; what infex has is a record; a function, a class or a dataclass of a module is named
    as `package.module:object`. What has no such name is marked as missing, and `sweep_of` says so.
    """
    settings = {name: list(v) if isinstance(v, tuple) else v for name, v in settings_by_name(sweep).items()}
    return {"format": SWEEP_RECORD_FORMAT} | {name: _kept(value) for name, value in settings.items()}


def sweep_of(kept: Mapping[str, Any]) -> Sweep:
    """The sweep of such data."""
    if not isinstance(kept, Mapping):
        raise InvalidSetting(f"a sweep must be a mapping of its settings, got {kept!r}")
    if kept.get("format") != SWEEP_RECORD_FORMAT:
        raise InvalidSetting(f"format {kept.get('format')!r} of a sweep is not known here, only 1")
    known = {field.name for field in dataclasses.fields(Sweep) if field.init}
    strange = [name for name in kept if name not in known and name != "format"]
    if strange:
        raise InvalidSetting(f"a sweep has no setting {', '.join(strange)}; a newer infex may have kept it")
    return Sweep(**{name: _alive(value, name) for name, value in kept.items() if name != "format"})


def sweep_in(folder: Path) -> Sweep:
    """The sweep that a folder's `sweep.json` holds."""
    about = held(folder)
    if "sweep" not in about:
        raise InvalidSetting(
            f"{folder / SWEEP_FILE} holds no sweep to be played again; play it into the folder anew"
        )
    try:
        return sweep_of(about["sweep"])
    except InfexError as error:
        raise InvalidSetting(f"{folder / SWEEP_FILE}: {error}") from error


def sweep_behind(about: Mapping[str, Any]) -> Sweep:
    """The sweep that results tell of themselves to come from."""
    if "sweep" not in about:
        raise InvalidSetting("these runs are of no sweep, so nothing knows how to play more of them")
    return sweep_of(about["sweep"])


def _kept(value: Any) -> Any:
    """Plain data for one value: text, numbers and lists as they are, all else with its kind."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_kept(each) for each in value]
    if isinstance(value, tuple | range):
        return {"kind": "tuple", "items": [_kept(each) for each in value]}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return {"kind": "array", "dtype": value.dtype.str, "items": value.tolist()}
    if isinstance(value, Mapping):
        return {"kind": "dict", "items": [[_kept(key), _kept(each)] for key, each in value.items()]}
    try:
        return {"kind": "record", "record": to_record(value)}
    except NoRecord:
        return _named(value)


def _named(value: Any) -> dict[str, Any]:
    """A user's object by the name under which a module has it, or a dataclass by its class and settings."""
    if isinstance(value, functools.partial):
        parts = {"of": value.func, "arguments": value.args, "settings": value.keywords}
        return {"kind": "partial"} | {name: _kept(part) for name, part in parts.items()}
    if isinstance(value, types.FunctionType | type):
        reference = f"{value.__module__}:{value.__qualname__}"
        if _is(reference, value):
            return {"kind": "reference", "reference": reference}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        maker = _named(type(value))
        if maker["kind"] == "reference":
            settings = {name: _kept(each) for name, each in settings_by_name(value).items()}
            return {"kind": "made", "by": maker["reference"], "settings": settings}
    return {"kind": "missing", "type": f"{type(value).__module__}:{type(value).__qualname__}"}


def _is(reference: str, thing: object) -> bool:
    """Does a module other than the program itself have this very thing under this name?"""
    with contextlib.suppress(InfexError):
        return not reference.startswith("__main__:") and load(reference) is thing
    return False


def _alive(kept: Any, where: str) -> Any:
    """The value of plain data; `where` names its place for an error."""
    if isinstance(kept, list):
        return [_alive(each, f"{where}[{place}]") for place, each in enumerate(kept)]
    match kept:
        case {"kind": "float", "value": value}:
            return float(value)
        case {"kind": "tuple", "items": items}:
            return tuple(_alive(items, where))
        case {"kind": "array", "dtype": dtype, "items": items}:
            return np.array(items, dtype=dtype)
        case {"kind": "dict", "items": items}:
            return {_alive(key, where): _alive(each, where) for key, each in items}
        case {"kind": "record", "record": data}:
            return from_record(data)
        case {"kind": "reference", "reference": reference}:
            return load(reference)
        case {"kind": "made", "by": reference, "settings": settings}:
            return _made(reference, {name: _alive(each, where) for name, each in settings.items()}, where)
        case {"kind": "partial", "of": inner, "arguments": arguments, "settings": settings}:
            named = _alive(settings, where)
            return functools.partial(_alive(inner, where), *_alive(arguments, where), **named)
        case {"kind": "missing", "type": kind}:
            raise InvalidSetting(
                f"{where} was an object of {kind}, which no file can hold; functions, classes and dataclass "
                "objects that a module has under their names can be played again"
            )
        case dict():
            raise InvalidSetting(f"{where} is nothing that a sweep holds: {kept!r}")
    return kept


def _made(reference: str, settings: dict[str, Any], where: str) -> Any:
    """A user's object from its class and settings; the class may have changed since."""
    kind = load(reference)
    try:
        return kind(**settings)
    except Exception as error:  # a user's code may raise anything
        raise InvalidSetting(f"{where}: {reference} cannot be made of {settings}: {error}") from error
