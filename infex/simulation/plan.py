"""How the compiled loop plays a policy, if it can."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import InvalidExpression, OutOfReach
from infex.kernels import bases
from infex.kernels.bases import Base
from infex.policies import (
    EpsilonGreedy,
    ExploreThenCommit,
    FixedBonusUCB,
    Greedy,
    HybridTS,
    Infex,
    LinTS,
    LinUCB,
    Uniform,
    catalog,
)
from infex.policies.confidence import Confidence
from infex.policies.control import Control
from infex.policies.kernel import KernelPolicy
from infex.schedules import Every, Schedule, always, budget, never
from infex.schedules.protocol import Family

KNOWN = (Greedy, Uniform, EpsilonGreedy, LinUCB, LinTS, FixedBonusUCB, HybridTS, KernelPolicy)


class Plan(NamedTuple):
    """A policy in the terms of the compiled loop; without a schedule the base decides always."""

    base: Base
    settings: Floats
    schedule: Schedule | None
    own: bool
    random_ties: bool
    listed: Integers | None = None  # all rounds of the schedule up to the horizon, if they are at hand

    def exploring(self, start: int, stop: int) -> Integers:
        """The rounds of the base from start to stop."""
        if self.listed is None:
            return exploring_rounds(self.schedule, start, stop)
        first, last = np.searchsorted(self.listed, (start, stop + 1))
        return self.listed[first:last]


def plan(policy: Any) -> Plan | None:
    """The plan of a built-in policy or a kernel; None for what only Python can evaluate."""
    if type(policy) is ExploreThenCommit:
        return _first_phase(policy)
    inner = policy.base if type(policy) is Infex else policy
    base = base_of(inner)
    if base is None or (type(policy) is Infex and isinstance(policy.schedule, Control)):
        return None
    settings = np.array(inner.settings if type(inner) is KernelPolicy else ())
    if type(policy) is Infex:
        schedule: Any = policy.schedule
        return Plan(base, settings, schedule, policy.data == "own", policy.ties == "random")
    if type(policy) is Greedy:
        return Plan(base, settings, never(), own=False, random_ties=base.random_ties)
    return Plan(base, settings, None, own=False, random_ties=False)


def _first_phase(policy: ExploreThenCommit) -> Plan | None:
    """Exploring at first and greedy for good, if the length is known."""
    if policy.rounds is None or policy.then == "commit":
        return None
    base = Base(bases.UNIFORM if policy.order == "uniform" else bases.ROBIN)
    return Plan(base, np.array(()), budget(always(), policy.rounds), False, policy.ties == "random")


def base_of(policy: Any) -> Base | None:
    """A policy that decides by itself, as the compiled loop knows it; a subclass may decide otherwise."""
    if type(policy) not in KNOWN:
        return None
    match policy:
        case Greedy():
            return Base(bases.GREEDY, random_ties=policy.ties == "random")
        case Uniform():
            return Base(bases.UNIFORM)
        case EpsilonGreedy() if not callable(policy.rate):
            rate = -1.0 if policy.rate is None else policy.rate
            return Base(bases.EPSILON, rate=rate, random_ties=policy.ties == "random")
        case LinUCB():
            return _confident(bases.LINUCB, policy)
        case LinTS():
            spherical = policy.sampling == "spherical"
            return _confident(bases.LINTS_SPHERICAL if spherical else bases.LINTS, policy)
        case FixedBonusUCB():
            return Base(bases.LINUCB, bonus=policy.bonus, random_ties=policy.ties == "random")
        case HybridTS() if policy.form == "linear":
            return _confident(bases.HYBRID, policy)._replace(rate=policy.p)
        case KernelPolicy():
            return Base(bases.KERNEL, address=policy.kernel.address)
    return None


def _confident(kind: int, policy: Confidence) -> Base:
    numbers = policy.noise, policy.bound, policy.delta, policy.scale
    return Base(kind, *numbers, random_ties=policy.ties == "random")


def exploring_rounds(schedule: Schedule | None, start: int, stop: int) -> Integers:
    """The rounds from start to stop that a schedule names; none without one."""
    if schedule is None:
        return np.zeros(0, dtype=np.int64)
    if isinstance(schedule, Every):
        first = schedule.when(schedule.count(start - 1) + 1)
        return np.arange(first, stop + 1, schedule.period, dtype=np.int64)
    if is_built_in(schedule):
        found: Integers = _remembered(schedule, start, stop)
        return found
    return (
        _numbered(schedule, start, stop)
        if isinstance(schedule, Family)
        else _one_by_one(schedule, start, stop)
    )


def is_built_in(schedule: Any) -> bool:
    """Is the schedule ours all the way down, with no code of a user's in it?"""
    try:
        catalog.expression(schedule)
    except InvalidExpression:
        return False
    return True


def _numbered(schedule: Any, start: int, stop: int) -> Integers:
    """The rounds of a schedule that numbers them: by number where they are few, else one by one."""
    with contextlib.suppress(OutOfReach):
        first, last = schedule.count(start - 1) + 1, schedule.count(stop)
        if 8 * (last - first) < stop - start:
            found = np.array([schedule.when(n) for n in range(first, last + 1)], dtype=np.int64)
            if np.all(np.diff(found) > 0):  # else `explores` says what is wrong
                return found
    return _one_by_one(schedule, start, stop)


_remembered: Any = lru_cache(maxsize=64)(_numbered)


def _one_by_one(schedule: Schedule, start: int, stop: int) -> Integers:
    return np.array([t for t in range(start, stop + 1) if schedule.explores(t)], dtype=np.int64)
