"""A delta that nobody said: 1/T where a horizon is known, 0.01 elsewhere.

A policy or a control that is a dataclass with a field `delta` whose default is None says none by
itself, one of a user's too. Simulations put 1/T there, a bandit 0.01. A number that is said stays.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from infex.errors import InfexWarning

if TYPE_CHECKING:
    from infex.policies.traits import Policy

UNSAID_DELTA = 0.01  # where no horizon is known


@runtime_checkable
class NamesDelta(Protocol):
    """A policy or a control with a delta, which is None where nobody said one."""

    delta: float | None


@runtime_checkable
class HoldsPolicy(Protocol):
    """A policy around another."""

    base: Any


@runtime_checkable
class HoldsGreedy(Protocol):
    """A policy with one that decides where it does not explore."""

    exploiter: Any
    greedy: Any


@runtime_checkable
class HoldsSchedule(Protocol):
    """A policy or a control around a schedule."""

    schedule: Any


@runtime_checkable
class TakesDelta(Protocol):
    """What is no dataclass with a field `delta`, and can be given one."""

    def with_delta(self, delta: float) -> Any:
        """The same with this delta; itself if it has none, or says one."""


def lacks_delta(part: object) -> bool:
    """Has it a delta that nobody said?"""
    if isinstance(part, TakesDelta):
        return part.with_delta(UNSAID_DELTA) is not part
    return isinstance(part, NamesDelta) and part.delta is None and _may_lack(_kind(part))


def _kind(part: object) -> Any:
    return type(part)


@functools.cache
def _may_lack(kind: Any) -> bool:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return any(field.name == "delta" and field.init and field.default is None for field in fields)


def settled(policy: Policy, delta: float) -> Policy:
    """The policy with `delta` wherever it, its base or a control says none; itself if none of them lacks one.

    >>> from infex import Infex, LinUCB, every
    >>> settled(Infex(LinUCB(), every(5)), 0.001).base.delta
    0.001
    >>> settled(LinUCB(delta=0.01), 0.001).delta
    0.01
    """
    from infex.policies.traits import traits_of

    traits = traits_of(policy)
    if not traits.lacks_delta:
        return policy
    if not traits.trusted:
        return cast("Policy", _filled(policy, delta))
    known = SETTLED.get((id(policy), delta))
    if known is None or known[0] is not policy:
        if len(SETTLED) >= MOST_SETTLED:
            SETTLED.clear()
        known = SETTLED[id(policy), delta] = policy, _filled(policy, delta)
    return cast("Policy", known[1])


SETTLED: dict[tuple[int, float], tuple[Any, Any]] = {}  # infex's own policies, which cannot change
MOST_SETTLED = 64


def _filled(part: Any, delta: float, above: tuple[Any, ...] = ()) -> Any:
    """A policy or a control with `delta` in the place of None, there and in what it holds."""
    if isinstance(part, TakesDelta):
        return part.with_delta(delta)
    changed: dict[str, Any] = {"delta": delta} if lacks_delta(part) else {}
    for name, inner in _held(part):
        if not any(inner is outer for outer in (part, *above)):
            filled = _filled(inner, delta, (part, *above))
            changed |= {} if filled is inner else {name: filled}
    return _with(part, changed) if changed else part


def _held(part: object) -> Iterator[tuple[str, object]]:
    if isinstance(part, HoldsPolicy):
        yield "base", part.base
    if isinstance(part, HoldsGreedy):
        yield "greedy", part.greedy
    if isinstance(part, HoldsSchedule):
        yield "schedule", part.schedule


def _with(part: Any, changed: dict[str, Any]) -> Any:
    """The same with other settings; what can change is copied, for it may hold more than its settings."""
    with warnings.catch_warnings():  # whoever made it has been warned already
        warnings.simplefilter("ignore", InfexWarning)
        if _is_frozen(type(part)):
            return dataclasses.replace(part, **changed)
        other = copy.copy(part)
        if "__dict__" in dir(part):  # which a subclass of a dataclass with slots has, and its copy leaves out
            vars(other).update(vars(part))
        for name, value in changed.items():
            object.__setattr__(other, name, value)
        return other


def _is_frozen(kind: Any) -> bool:
    """Is a class itself a frozen dataclass? A subclass of one may have a state beside its fields."""
    params = vars(kind).get("__dataclass_params__")
    return params is not None and bool(params.frozen)
