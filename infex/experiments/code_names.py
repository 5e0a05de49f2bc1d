"""What compiled Python code reads of the names it uses: attributes of modules, and modules it imports."""

from __future__ import annotations

import contextlib
import dis
import importlib
import importlib.util
import types
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD")
NAME_READS = (
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS",
    "LOAD_FROM_DICT_OR_DEREF",
)  # fmt: skip

Chains = dict[str, set[tuple[str, ...]]]


def used_names(codes: Iterable[types.CodeType]) -> Chains:
    """For each name that is read, the attributes that are read of it in a row; () if it is used by itself.

    >>> dict(used_names([compile("a.b.c + d", "", "eval")]))
    {'a': {('b', 'c')}, 'd': {()}}
    """
    found: Chains = defaultdict(set)
    for steps in map(_steps, codes):
        for place, step in enumerate(steps):
            if step.opname in NAME_READS:
                found[str(step.argval)].add(tuple(_attributes(steps[place + 1 :])))
    return found


def _steps(code: types.CodeType) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


def _attributes(steps: Iterable[dis.Instruction]) -> Iterator[str]:
    for step in steps:
        if step.opname not in ATTRIBUTE_READS:
            return
        yield str(step.argval)


def imported_modules(codes: Iterable[types.CodeType], names: Mapping[str, Any]) -> Iterator[types.ModuleType]:
    """The modules that code imports when it runs, as far as they can be imported."""
    package = names.get("__package__") or ""
    for steps in map(_steps, codes):
        for place, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                yield from _imported(_dots(steps[place - 2].argval) + str(step.argval), package)


def _dots(level: object) -> str:
    """Those of a relative import, whose level stands two steps before its name."""
    return "." * level if isinstance(level, int) else ""


def _imported(name: str, package: str) -> Iterator[types.ModuleType]:
    with contextlib.suppress(Exception, SystemExit):  # of any module; running the code will tell
        yield importlib.import_module(importlib.util.resolve_name(name, package or None))
