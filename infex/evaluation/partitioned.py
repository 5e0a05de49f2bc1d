"""Logs of any size, one part at a time: what is needed of each part adds up, on one machine or on many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from infex.arrays import Bools, Floats
from infex.bandit import Bandit, Changes
from infex.errors import InvalidLog, InvalidTarget
from infex.evaluation.design import Design, design_of, logging_propensities
from infex.evaluation.intervals import NO_BOUNDS, Bounds, dot, student
from infex.evaluation.learn import Explorations, bandit, explorations
from infex.evaluation.model import LogModel, fit_model, model_settings, without_held_out
from infex.evaluation.overlap import MOST_MISSING
from infex.evaluation.targets import TargetPolicy, targets_of
from infex.features.base import unit_of
from infex.logs import Log, LogFacts, log_of
from infex.logs.arm_features import ArmFeatures, LogSums, arm_features, played_rows, played_sums, spans
from infex.logs.files import guarded_reading
from infex.logs.log import Fingerprint, is_match
from infex.logs.schema import header_of
from infex.policies.base import Policy

# Evaluation


@final
@dataclass(frozen=True, slots=True, eq=False)
class TargetSums:
    """Sums over the rounds of a part, for one target.

    `features` are its mean features; `weights` are the sums of w, w^2, w r and (w r)^2 over `draws` drawn
    rounds; `missing` are probabilities of arms that the log could not play, over `known` rounds.
    """

    features: Floats
    weights: Floats
    draws: int
    missing: float
    known: int
    learnt: bool = False
    shared: int = 0
    hashes: int = 0

    @property
    def is_learnt(self) -> bool:
        """Whether the target was learnt from these rounds."""
        return self.learnt or is_match(self.shared, self.hashes)

    def __add__(self, other: TargetSums) -> TargetSums:
        return TargetSums(
            self.features + other.features,
            self.weights + other.weights,
            self.draws + other.draws,
            self.missing + other.missing,
            self.known + other.known,
            self.learnt or other.learnt,
            self.shared + other.shared,
            self.hashes,
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class PartSums:
    """All that is needed of a part of a log; parts add up, in any order.

    `log` are sums over its `rounds`, `targets` those of each target; `facts` are those of the log, and
    `unit` is what features were divided by.
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
    """A target on a log of many parts: by the direct method, `dm`, and by `ips` of drawn rounds.

    `ips` is None if the log could not play what the target plays, or has no known propensities, or
    if the target was learnt from this very log.

    `name` is the target's; `dm_bounds` and `ips_bounds` are the intervals. `support` is the share of its
    choices that the log could have played, `effective` how many of the `draws`, with equal weights, carry as
    much information.
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
    log = without_held_out(log)
    features, design = arm_features(log), design_of(log)
    policies = targets_of(targets, log, features, np.zeros(features.dim))
    whole = next((each.name for each in policies if each.needs_whole), None)
    if whole is not None:
        raise InvalidTarget(f"{whole!r} needs the whole log, which is read in parts: give a bandit")
    found = {each.name: _target_sums(each, log, features, design) for each in policies}
    sums = played_sums(played_rows(log, features), log.reward, log.rewarded)
    return PartSums(sums, len(log), found, log.facts, unit_of(log.features))


def _target_sums(target: TargetPolicy, log: Log, features: ArmFeatures, design: Design) -> TargetSums:
    propensity = np.full(len(log), np.nan)  # of arms that were drawn
    if design.drawn_blocks and log.base_propensity is not None and log.explored is not None:
        propensity = np.where(log.explored, log.base_propensity, np.nan)
    elif design.kind == "every round" and log.propensity is not None:
        propensity = log.propensity
    total, weights = np.zeros(features.dim), np.zeros(4)
    draws, known, missing = 0, 0, 0.0
    for span in spans(len(log)):
        probabilities = target.probabilities(span)
        total += features.mixed(span, probabilities).sum(axis=0)
        propensities = logging_propensities(log, design, span)
        if propensities is not None:
            seen: Bools = ~np.asarray(np.isnan(propensities).any(axis=1))
            missing += float(probabilities[(propensities <= 0.0) & seen[:, None]].sum())
            known += int(seen.sum())
        drawn = ~np.isnan(propensity[span]) & log.rewarded[span]
        weight = probabilities[np.arange(len(probabilities)), log.arm[span]][drawn] / propensity[span][drawn]
        weighted = weight * log.reward[span][drawn]
        weights += weight.sum(), dot(weight, weight), weighted.sum(), dot(weighted, weighted)
        draws += weight.size
    return TargetSums(total, weights, draws, missing, known, target.is_learnt, target.shared, target.hashes)


def evaluate_sums(
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
    settings = model_settings(sums.facts, rewards=rewards, confidence=confidence, noise=noise, bound=bound)
    model = fit_model(sums.log, sums.facts, sums.unit, settings)
    model.warn_of_misfit()
    return {
        name: _summed_value(name, each, sums.rounds, model, settings.confidence)
        for name, each in sums.targets.items()
    }


def _summed_value(
    name: str, sums: TargetSums, rounds: int, model: LogModel, confidence: float
) -> SummedValue:
    row = sums.features / rounds
    w, ww, wr, square = (float(each) for each in sums.weights)
    support = 1.0 - sums.missing / sums.known if sums.known else None
    value, bounds = None, None
    if sums.draws and not sums.is_learnt and (support is None or 1.0 - support <= MOST_MISSING):
        value, bounds = wr / sums.draws, NO_BOUNDS
        spread = square / sums.draws - value**2
        if sums.draws > 1 and spread > 0.0:
            bounds = student(value, math.sqrt(spread / sums.draws), sums.draws, confidence)
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
    return evaluate_sums(total, rewards=rewards, confidence=confidence, noise=noise, bound=bound)


# A bandit


class Cluster(Protocol):
    """What is asked of a client of Dask (`dask.distributed.Client`)."""

    def map(self, function: Callable[..., Any], *iterables: Iterable[Any], pure: bool) -> Sequence[Any]:
        """Futures of a function of each."""

    def gather(self, futures: Sequence[Any]) -> Sequence[Any]:
        """Their results."""


@final
class LogPart(NamedTuple):
    """One row group of a Parquet file: whoever reads it needs the path alone."""

    path: str
    group: int

    def read(self) -> Log:
        """Its rows."""
        import pyarrow.parquet as pq

        with guarded_reading(self.path), pq.ParquetFile(self.path) as file:
            table = file.read_row_group(self.group, use_threads=False)
            return log_of(table, header_of(file.schema_arrow.metadata))


def log_parts(path: str | Path) -> list[LogPart]:
    """The row groups of a log that `write` or `infex log convert` has written.

    For `bandit_of_parts`, on several machines that see the same files.

    `path` is the Parquet file.
    """
    import pyarrow.parquet as pq

    with guarded_reading(str(path)), pq.ParquetFile(path) as file:
        return [LogPart(str(path), group) for group in range(file.num_row_groups)]


class PartLearnt(NamedTuple):
    """What was learnt from one part: the bandit itself for the first part, otherwise its sums."""

    learnt: Bandit | Changes
    last_round: int
    explorations: Explorations
    taught: Fingerprint


def learn_part(part: Log | LogPart, policy: Policy, settings: dict[str, Any], is_first: bool) -> PartLearnt:
    """Learns one part, here or on a worker."""
    log = without_held_out(part.read() if isinstance(part, LogPart) else part)
    found = bandit(log, policy, fresh=True, **settings)
    learnt = found if is_first else found.changes()
    return PartLearnt(learnt, int(log.round.max()), explorations(log), Fingerprint.of(log))


def bandit_of_parts(
    parts: Iterable[Log | LogPart],
    policy: Policy,
    *,
    client: Cluster | None = None,
    fresh: bool = False,
    **settings: Any,
) -> Bandit:
    """The bandit that was told all rewards of a log, learnt part by part: V and b add up.

    `parts` are those of `read_parts`, or of `log_parts`; with a `client` of Dask each is learnt by one of its
    workers, and only sums come back. `fresh` and the `settings` are those of `evaluation.bandit`. Not for
    estimators for which the order of rewards counts.

    `policy` is the bandit's.

    >>> from infex import Greedy, evaluation
    >>> log = evaluation.Log(arm=[0, 1, 0, 1], reward=[1.0, 0.0, 1.0, 0.5], arms=[[1.0, 0.0], [0.0, 1.0]])
    >>> parts = [log.take(slice(0, 2)), log.take(slice(2, 4))]
    >>> evaluation.bandit_of_parts(parts, Greedy()).pulls.tolist()
    [2, 2]
    """
    if client is None:
        results: Iterable[PartLearnt] = (
            learn_part(part, policy, settings, not number) for number, part in enumerate(parts)
        )
    else:
        given = list(parts)
        more = [policy] * len(given), [settings] * len(given), [not number for number in range(len(given))]
        results = client.gather(client.map(learn_part, given, *more, pure=False))
    found: Bandit | None = None
    last, explored = 0, list[Explorations]()
    for part in results:
        if isinstance(part.learnt, Bandit):
            found = part.learnt
        else:
            assert found is not None
            found.apply(part.learnt)
            found.taught = found.taught + part.taught
        last = max(last, part.last_round)
        explored.append(part.explorations)
    if found is None:
        raise InvalidLog("a log must have at least one row, got none")
    if not fresh:
        rounds, different, losses = (np.concatenate(columns) for columns in zip(*explored, strict=True))
        found.resume(last, rounds, different, losses)
    return found
