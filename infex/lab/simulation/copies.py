"""Copies of what users give, so that a run leaves their objects as they were."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from infex.checks import DATA_KINDS, copied
from infex.lab.environments import Instance, LinearInstance
from infex.lab.environments.instances import OfferSets
from infex.policies.base import policy_info

IMMUTABLE_KINDS = (*DATA_KINDS, np.generic, FunctionType, BuiltinFunctionType, type, OfferSets)
"""What nothing changes, or `copy.deepcopy` does not copy."""
COPYING_METHODS = {"__deepcopy__", "__getstate__", "__reduce__", "__reduce_ex__"}


def own_copies(**given: Any) -> tuple[Any, ...]:
    """A deep copy of each object for one run, under the name that an error calls it by.

    What the objects share, their copies share. Frozen settings of infex's own that hold nothing of a user's
    are not copied.
    """
    fixed = {id(thing): thing for thing in given.values() if is_immutable(thing)}
    if len(fixed) == len(given):
        return tuple(given.values())
    memo: dict[int, Any] = dict(fixed)
    for thing in given.values():
        if isinstance(thing, Instance) and id(thing) not in fixed:
            memo.update((id(part), part) for part in _read_only_arrays(thing))
    copies = tuple(copied(name, thing, memo) for name, thing in given.items())
    for name, thing in given.items():
        for part in policy_info(thing).chain if name == "policy" else (thing,):
            _add_attributes(name, part, memo)
    return copies


def _add_attributes(name: str, part: object, memo: dict[int, Any]) -> None:
    """Adds to its copy what an object of a user's subclass keeps beside the fields of infex's dataclass.

    Python copies the fields alone where a dataclass is frozen and has slots.
    """
    kind: Any = type(part)
    below = list(itertools.takewhile(lambda each: _own_settings(each) is None, kind.__mro__))
    if len(below) == len(kind.__mro__) or any(COPYING_METHODS & vars(each).keys() for each in below):
        return
    if id(part) in memo and "__dict__" in dir(part):
        twin = memo[id(part)]
        kept = {word: value for word, value in vars(part).items() if word not in vars(twin)}
        vars(twin).update(copied(name, kept, memo))


def is_immutable(thing: Any) -> bool:
    """Is it made of numbers, texts, functions and infex's own frozen settings alone?"""
    kind: Any = type(thing)
    names = _own_settings(kind)
    if names is not None:
        plain = isinstance(thing, LinearInstance) and thing.is_plain
        return plain or all(is_immutable(getattr(thing, name)) for name in names)
    if isinstance(thing, np.ndarray):
        return not thing.flags.writeable
    return all(map(is_immutable, thing)) if type(thing) is tuple else isinstance(thing, IMMUTABLE_KINDS)


@functools.cache
def _own_settings(kind: Any) -> tuple[str, ...] | None:
    """The settings of a frozen dataclass of infex's own; None of any other class.

    A subclass of one may have a state beside its fields.
    """
    parameters = vars(kind).get("__dataclass_params__")
    if parameters is None or not parameters.frozen or not kind.__module__.startswith("infex."):
        return None
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)


def _read_only_arrays(instance: Instance) -> list[Any]:
    """The arrays of a problem that nothing changes, as of its arms."""
    slots = [getattr(instance, name) for name in type(instance).__slots__]
    return [each for each in slots if isinstance(each, np.ndarray) and not each.flags.writeable]
