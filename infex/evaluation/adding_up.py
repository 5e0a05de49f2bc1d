"""Logs of any size, a part at a time: what is needed of each part adds up, on one machine or on many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import final

import numpy as np

from infex.arrays import Bools, Floats
from infex.errors import InvalidLog, InvalidTarget
from infex.evaluation import intervals
from infex.evaluation.designs import Design, design_of, logging_propensities
from infex.evaluation.estimators import dot
from infex.evaluation.intervals import Bounds
from infex.evaluation.log_arguments import confidence_level, own_part, reward_range
from infex.evaluation.log_model import LogModel, model_of, warn_of_misfit
from infex.evaluation.supporting import MOST_MISSING
from infex.evaluation.targets import TargetPolicy, targets_of
from infex.features.base import unit_of
from infex.logs import Log, LogFacts
from infex.logs.arm_features import LogSums, arm_features, played_rows, played_sums, spans
from infex.logs.log import is_match

NO_BOUNDS_OF_SUMS = Bounds(math.nan, math.nan, "none", "assumed")


@final
@dataclass(frozen=True, slots=True, eq=False)
class TargetSums:
    """Sums of one target: its mean features; of draws w, w^2, w r and (w r)^2; and missing probabilities."""

    row: Floats
    weights: Floats
    draws: int
    missing: float
    known: int
    learnt: bool = False
    shared: int = 0
    marks: int = 0

    @property
    def is_learnt(self) -> bool:
        """Has the target learnt from these rounds?"""
        return self.learnt or is_match(self.shared, self.marks)

    def __add__(self, other: TargetSums) -> TargetSums:
        return TargetSums(
            self.row + other.row,
            self.weights + other.weights,
            self.draws + other.draws,
            self.missing + other.missing,
            self.known + other.known,
            self.learnt or other.learnt,
            self.shared + other.shared,
            self.marks,
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class PartSums:
    """All that is needed of a part of a log; parts add up, in any order.

    `log` are sums over its `rounds`, `targets` those of each target; `facts` say what the log is, and
    `unit` is what arms were divided by.
    """

    log: LogSums
    rounds: int
    targets: Mapping[str, TargetSums]
    facts: LogFacts
    unit: float

    def __add__(self, other: PartSums) -> PartSums:
        both = {name: sums + other.targets[name] for name, sums in self.targets.items()}
        return PartSums(self.log + other.log, self.rounds + other.rounds, both, self.facts, self.unit)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SummedValue:
    """A target on a log of many parts: by the direct method, `dm`, and by `ips` of draws.

    `ips` is None where the log could not play what the target plays, or has no known propensities, or
    where the target has learnt from this very log.

    `name` is the target's; `dm_bounds` and `ips_bounds` are the intervals. `support` is the share
    of its choices that the log could have played, `effective` how many explorations of equal weight say
    as much.
    """

    name: str
    dm: float
    dm_bounds: Bounds
    ips: float | None
    ips_bounds: Bounds | None
    draws: int
    effective: float
    support: float | None


def part_sums(log: Log, targets: object) -> PartSums:
    """The sums of one part: for a worker, whose answers are added up.

    `log` is the part, and `targets` are those of `evaluate`, the same for every part.

    >>> part = Log(arm=[0, 1], reward=[1.0, 0.0], propensity=[0.5, 0.5])
    >>> (part_sums(part, {"first": 0}) + part_sums(part, {"first": 0})).rounds
    4
    """
    log = own_part(log)
    looks, design = arm_features(log), design_of(log)
    wanted = targets_of(targets, log, looks, np.zeros(looks.dim))
    whole = [each.name for each in wanted if each.needs_whole]
    if whole:
        raise InvalidTarget(f"{whole[0]!r} needs the whole log, which is read in parts: give a bandit")
    found = {each.name: _target_sums(each, log, design) for each in wanted}
    sums = played_sums(played_rows(log, looks), log.reward, log.rewarded)
    return PartSums(sums, len(log), found, log.facts, unit_of(log.features))


def _target_sums(target: TargetPolicy, log: Log, design: Design) -> TargetSums:
    looks, propensity = arm_features(log), _propensity(log, design)
    row, weights = np.zeros(looks.dim), np.zeros(4)
    draws, known, missing = 0, 0, 0.0
    for span in spans(len(log)):
        probabilities = target.probabilities(span)
        row += looks.mixed(span, probabilities).sum(axis=0)
        propensities = logging_propensities(log, design, span)
        if propensities is not None:
            seen: Bools = ~np.asarray(np.isnan(propensities).any(axis=1))
            missing += float(probabilities[(propensities <= 0.0) & seen[:, None]].sum())
            known += int(seen.sum())
        taken = ~np.isnan(propensity[span]) & log.rewarded[span]
        weight = probabilities[np.arange(len(probabilities)), log.arm[span]][taken] / propensity[span][taken]
        weighted = weight * log.reward[span][taken]
        weights += weight.sum(), dot(weight, weight), weighted.sum(), dot(weighted, weighted)
        draws += weight.size
    learnt = target.is_learnt, target.shared, target.marks
    return TargetSums(row, weights, draws, missing, known, *learnt)


def _propensity(log: Log, design: Design) -> Floats:
    """The propensity of each arm that was drawn; NaN elsewhere."""
    none = np.full(len(log), np.nan)
    if design.drawn_blocks and log.base_propensity is not None and log.explored is not None:
        return np.where(log.explored, log.base_propensity, np.nan)
    return log.propensity if design.kind == "every round" and log.propensity is not None else none


def judged_sums(
    sums: PartSums,
    *,
    rewards: tuple[float, float] | None = None,
    confidence: float = 0.95,
    noise: float | None = None,
    bound: float | None = None,
) -> dict[str, SummedValue]:
    """The values of all targets, from sums over all parts.

    `rewards`, `confidence`, `noise` and `bound` are those of `evaluate`.
    """
    level = confidence_level(confidence)
    known = reward_range(sums.facts, rewards)
    model = model_of(
        sums.log, sums.facts, sums.unit, noise=noise, bound=bound, confidence=level, rewards=known
    )
    warn_of_misfit(model)
    return {name: _summed(name, each, sums.rounds, model, level) for name, each in sums.targets.items()}


def _summed(name: str, sums: TargetSums, rounds: int, model: LogModel, confidence: float) -> SummedValue:
    row = sums.row / rounds
    w, ww, wr, square = (float(each) for each in sums.weights)
    support = 1.0 - sums.missing / sums.known if sums.known else None
    value, bounds = None, None
    if sums.draws and not sums.is_learnt and (support is None or 1.0 - support <= MOST_MISSING):
        value, bounds = wr / sums.draws, NO_BOUNDS_OF_SUMS
        spread = square / sums.draws - value**2
        if sums.draws > 1 and spread > 0.0:
            bounds = intervals.student(value, math.sqrt(spread / sums.draws), sums.draws, confidence)
    return SummedValue(
        name=name,
        dm=float(row @ model.theta),
        dm_bounds=model.bounds(row),
        ips=value,
        ips_bounds=bounds,
        draws=sums.draws,
        effective=w * w / ww if ww > 0.0 else 0.0,
        support=support,
    )


def evaluate_parts(
    parts: Iterable[Log],
    targets: object,
    *,
    rewards: tuple[float, float] | None = None,
    confidence: float = 0.95,
    noise: float | None = None,
    bound: float | None = None,
) -> dict[str, SummedValue]:
    """What `evaluate` finds by `dm` and by `ips`, of a log that is read in parts.

    `parts` are logs, as `evaluation.read_parts` gives them, one at a time in memory; `targets` and the other
    arguments are those of `evaluate`. On many machines, `part_sums` of each part add up to the same numbers.

    `rewards`, `confidence`, `noise` and `bound` are among them.

    >>> part = Log(arm=[0, 1], reward=[1.0, 0.0], propensity=[0.5, 0.5])
    >>> evaluate_parts([part] * 50, {"first": 0})["first"].ips
    1.0
    """
    found = (part_sums(part, targets) for part in parts)
    first = next(found, None)
    if first is None:
        raise InvalidLog("a log must have at least one row, got no part")
    total = reduce(add, found, first)
    return judged_sums(total, rewards=rewards, confidence=confidence, noise=noise, bound=bound)
