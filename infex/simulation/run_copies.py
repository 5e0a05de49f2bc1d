"""Copies of what a run plays: whatever a user's object keeps lasts for one run."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from infex.checks import DATA_KINDS, copied, settings_by_name
from infex.environments import Instance, LinearInstance, RewardKernel
from infex.environments.offer_sets import OfferSets
from infex.estimators.fit_kernel import FitKernel
from infex.policies.kernel import Kernel

ATOMS = (
    *DATA_KINDS,
    np.generic,
    FunctionType,
    BuiltinFunctionType,
    type,
    Kernel,
    FitKernel,
    RewardKernel,
    OfferSets,
)
"""What nothing changes, or `copy.deepcopy` does not copy."""


def own_copies(**given: Any) -> tuple[Any, ...]:
    """A deep copy of each object for one run, under the name that an error calls it by.

    What the objects share, their copies share. Frozen settings of infex's own that hold nothing of a user's
    are not copied.
    """
    memo: dict[int, Any] = {}
    for thing in given.values():
        if is_immutable(thing):
            memo[id(thing)] = thing
        elif isinstance(thing, Instance):
            memo.update((id(part), part) for part in _read_only_arrays(thing))
    return tuple(copied(name, thing, memo) for name, thing in given.items())


def is_immutable(thing: Any) -> bool:
    """Is it made of numbers, texts, functions and infex's own frozen settings alone?"""
    if isinstance(thing, ATOMS) or (isinstance(thing, LinearInstance) and thing.is_plain):
        return True
    if isinstance(thing, np.ndarray):
        return not thing.flags.writeable
    if type(thing) is tuple:
        return all(map(is_immutable, thing))
    return _is_own_setting(type(thing)) and all(map(is_immutable, settings_by_name(thing).values()))


def _is_own_setting(kind: Any) -> bool:
    """Is a class one of infex's frozen dataclasses? A subclass of one may have a state beside its fields."""
    parameters = vars(kind).get("__dataclass_params__")
    return kind.__module__.startswith("infex.") and parameters is not None and bool(parameters.frozen)


def _read_only_arrays(instance: Instance) -> list[Any]:
    """The arrays of a problem that nothing changes, as of its arms."""
    slots = [getattr(instance, name) for name in type(instance).__slots__]
    return [each for each in slots if isinstance(each, np.ndarray) and not each.flags.writeable]
