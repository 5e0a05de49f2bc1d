"""How the compiled loop plays a policy, if it can."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from infex.errors import OutOfReach
from infex.linear.kernels import Integers
from infex.policies import EpsilonGreedy, Greedy, Infex, LinTS, LinUCB, Uniform
from infex.policies.confidence import Confidence
from infex.schedules import Every, Schedule, never
from infex.schedules.protocol import Family
from infex.simulation import loop
from infex.simulation.loop import Base


class Plan(NamedTuple):
    """A policy in the terms of the compiled loop; without a schedule the base decides always."""

    base: Base
    schedule: Schedule | None
    own: bool
    random_ties: bool


def plan(policy: Any) -> Plan | None:
    """The plan of a built-in policy; None for any other, and for what only Python can evaluate."""
    if type(policy) is Infex:
        base = base_of(policy.base)
        return base and Plan(base, policy.schedule, policy.data == "own", policy.ties == "random")
    base = base_of(policy)
    quiet = never() if type(policy) is Greedy else None
    return base and Plan(base, quiet, own=False, random_ties=policy.ties == "random" if quiet else False)


def base_of(policy: Any) -> Base | None:
    """A policy that decides by itself, as the compiled loop knows it."""
    random_ties = getattr(policy, "ties", "lowest") == "random"
    kinds = {Greedy: loop.GREEDY, Uniform: loop.UNIFORM, LinUCB: loop.LINUCB, LinTS: loop.LINTS}
    kind = kinds.get(type(policy))
    if isinstance(policy, Confidence) and kind is not None:
        if isinstance(policy, LinTS) and policy.sampling == "spherical":
            kind = loop.LINTS_SPHERICAL
        numbers = policy.noise, policy.bound, policy.delta, policy.scale
        return Base(kind, *numbers, rate=0.0, random_ties=random_ties)
    if type(policy) is EpsilonGreedy and not callable(policy.rate):
        kind = loop.EPSILON
    if kind is None:
        return None
    rate = getattr(policy, "rate", None)
    return Base(kind, 0.0, 0.0, 1.0, 0.0, -1.0 if rate is None else rate, random_ties)


def exploring_rounds(schedule: Schedule | None, start: int, stop: int) -> Integers:
    """The rounds from start to stop that a schedule names; none without one."""
    if schedule is None:
        return np.zeros(0, dtype=np.int64)
    if isinstance(schedule, Every):
        first = schedule.when(schedule.count(start - 1) + 1)
        return np.arange(first, stop + 1, schedule.period, dtype=np.int64)
    if isinstance(schedule, Family):
        return _numbered(schedule, start, stop)
    return _one_by_one(schedule, start, stop)


@lru_cache(maxsize=64)
def _numbered(schedule: Any, start: int, stop: int) -> Integers:
    """The same for a built-in schedule: by number where its rounds are few, else one by one."""
    with contextlib.suppress(OutOfReach):
        first, last = schedule.count(start - 1) + 1, schedule.count(stop)
        if 8 * (last - first) < stop - start:
            return np.array([schedule.when(n) for n in range(first, last + 1)], dtype=np.int64)
    return _one_by_one(schedule, start, stop)


def _one_by_one(schedule: Schedule, start: int, stop: int) -> Integers:
    return np.array([t for t in range(start, stop + 1) if schedule.explores(t)], dtype=np.int64)
