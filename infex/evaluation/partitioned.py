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
from numpy.typing import NDArray

from infex.arrays import Floats
from infex.bandit import Bandit, Changes
from infex.errors import InvalidLog, InvalidTarget
from infex.evaluation.design import Kind
from infex.evaluation.intervals import (
    FEWEST_EFFECTIVE,
    NO_BOUNDS,
    Bounds,
    Ground,
    PowerSums,
    cressie_read,
    dot,
    student,
)
from infex.evaluation.learn import Explorations, bandit, explorations
from infex.evaluation.model import (
    LogAnalysis,
    LogModel,
    ModelSettings,
    ModelSums,
    analyse,
    fit_model,
    model_settings,
    of_policy,
)
from infex.evaluation.overlap import MOST_MISSING, MOST_UNKNOWN, overlap_of, support_of
from infex.evaluation.targets import TargetPolicy, targets_of
from infex.features.base import unit_of
from infex.logs import Log, LogFacts, log_of
from infex.logs.files import guarded_reading
from infex.logs.log import Fingerprint, is_match
from infex.logs.schema import header_of
from infex.policies.base import Policy

ROUNDING = 1e-14  # of the squares of terms, below which these are equal
StreamRound = tuple[Any, int]  # a stream, and one of its rounds

# Evaluation


@final
@dataclass(frozen=True, slots=True, eq=False)
class UnitSums:
    """Sums of h x and of h by unit, where several rounds may belong to one; empty if the log has no units."""

    units: NDArray[Any]
    sums: Floats

    @staticmethod
    def of(units: NDArray[Any], sums: Floats) -> UnitSums:
        """Rows of `sums`, (n, 2), added up by their units."""
        own, which = np.unique(units, return_inverse=True)
        total = np.zeros((own.size, 2))
        np.add.at(total, which, sums)
        return UnitSums(own, total)

    def __add__(self, other: UnitSums) -> UnitSums:
        if not self.units.size or not other.units.size:
            return self if self.units.size else other
        return UnitSums.of(np.concatenate([self.units, other.units]), np.concatenate([self.sums, other.sums]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class TargetSums:
    """Sums over the rounds of a part, for one target.

    `features` are its mean features. `weights` are the sums of h, h^2, h w, (h w)^2, h x, h^2 x, (h x)^2 and
    h^2 w x over `draws` drawn rounds of weight w that stand for h rounds each, with x = w reward. `largest`
    is the largest h w, and `possible` the largest w that propensities allow. `units` are sums by unit, and
    `unknown` counts drawn rounds of unknown propensity. `missing` are probabilities of arms that the log
    could not play, over `known` rounds.
    """

    features: Floats
    weights: Floats
    largest: float
    possible: float
    units: UnitSums
    draws: int
    unknown: int
    missing: float
    known: float
    is_logged: bool = False
    learnt: bool = False
    shared: int = 0
    hashes: int = 0

    @property
    def effective(self) -> float:
        """The number of draws of equal weight that carry as much information."""
        return float(self.weights[2] ** 2 / self.weights[3]) if self.weights[3] > 0.0 else 0.0

    @property
    def is_learnt(self) -> bool:
        """Whether the target was learnt from these rounds."""
        return self.learnt or is_match(self.shared, self.hashes)

    def __add__(self, other: TargetSums) -> TargetSums:
        return TargetSums(
            self.features + other.features,
            self.weights + other.weights,
            max(self.largest, other.largest),
            max(self.possible, other.possible),
            self.units + other.units,
            self.draws + other.draws,
            self.unknown + other.unknown,
            self.missing + other.missing,
            self.known + other.known,
            self.is_logged,
            self.learnt or other.learnt,
            self.shared + other.shared,
            self.hashes,
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class PartSums:
    """All that is needed of a part of a log; parts add up, in any order.

    `model` are sums over its `rounds`, `targets` those of each target; `facts` are those of the log, and
    `unit` is what features were divided by. `is_known`: has the log the propensities of all arms? `rewards`
    are the smallest and the largest that came. `kinds` say how rounds were drawn, `begins` are the first
    rounds of streams in a part, and `cut` those with which a block should have gone on.
    """

    model: ModelSums
    rounds: float
    targets: Mapping[str, TargetSums]
    facts: LogFacts
    unit: float
    is_known: bool
    rewards: tuple[float, float]
    kinds: frozenset[Kind]
    begins: frozenset[StreamRound]
    cut: frozenset[StreamRound]

    def __add__(self, other: PartSums) -> PartSums:
        return PartSums(
            self.model + other.model,
            self.rounds + other.rounds,
            {name: sums + other.targets[name] for name, sums in self.targets.items()},
            self.facts,
            self.unit,
            self.is_known and other.is_known,
            (min(self.rewards[0], other.rewards[0]), max(self.rewards[1], other.rewards[1])),
            self.kinds | other.kinds,
            self.begins | other.begins,
            self.cut | other.cut,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SummedValue:
    """A target on a log of many parts: by the direct method, `dm`, and by `ips` of drawn rounds.

    `ips` is None if the log could not play what the target plays, or has no known propensities, or
    if the target was learnt from this very log. Of `evaluation.logged` it is the mean reward.

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

    `log` is the part, and `targets` are those of `evaluate`, the same for every part. A part must not end
    within a block of a schedule that draws the exploring round of each: `evaluate_sums` refuses that.

    >>> part = Log(arm=[0, 1], reward=[1.0, 0.0], propensity=[0.5, 0.5])
    >>> (part_sums(part, {"first": 0}) + part_sums(part, {"first": 0})).rounds
    4.0
    """
    analysis = analyse(of_policy(log))
    log, design, policies = analysis.log, analysis.design, targets_of(targets, analysis)
    whole = next((each.name for each in policies if each.needs_whole), None)
    if whole is not None:
        raise InvalidTarget(f"{whole!r} needs the whole log, which is read in parts: give a bandit")
    rounds = float(len(log)) if log.inverse_kept is None else float(log.inverse_kept.sum())
    came = log.reward[log.rewarded]
    stream = np.zeros(len(log)) if log.stream is None else log.stream
    begins = np.flatnonzero(np.r_[True, stream[1:] != stream[:-1]])
    return PartSums(
        analysis.sums,
        rounds,
        {each.name: _target_sums(each, analysis, rounds) for each in policies},
        log.facts,
        unit_of(log.features),
        log.base_propensities is not None,
        (float(came.min(initial=math.inf)), float(came.max(initial=-math.inf))),
        frozenset([design.kind] if design.rows.size else []),
        frozenset(zip(stream[begins].tolist(), log.round[begins].tolist(), strict=True)),
        frozenset(zip(stream[design.cut].tolist(), (log.round[design.cut] + 1).tolist(), strict=True)),
    )


def _target_sums(target: TargetPolicy, analysis: LogAnalysis, rounds: float) -> TargetSums:
    log, design, overlap = analysis.log, analysis.design, overlap_of(target, analysis)
    unit = log.own_unit
    rows, counts = design.rows, design.counts
    if target.is_logged:
        if design.drawn_blocks or not rows.size:
            rows = np.flatnonzero(log.rewarded & design.covered)
        counts = np.ones(rows.size) if log.inverse_kept is None else log.inverse_kept[rows]
        weight = np.ones(rows.size)
    else:
        weight = overlap.probability[rows] / design.propensity
    whole, terms = counts * weight, counts * weight * log.reward[rows]
    weights = [
        counts.sum(), dot(counts, counts), whole.sum(), dot(whole, whole),
        terms.sum(), dot(counts, terms), dot(terms, terms), dot(whole, terms),
    ]  # fmt: skip
    by_unit = np.stack([terms, counts], axis=1)
    return TargetSums(
        overlap.mean_features * rounds,
        np.array(weights),
        float(whole.max(initial=0.0)),
        overlap.largest_weight,
        UnitSums(np.zeros(0), by_unit[:0]) if unit is None else UnitSums.of(unit[rows], by_unit),
        rows.size,
        0 if target.is_logged else design.unknown,
        overlap.missing_rounds * (rounds / len(log)),
        overlap.known_rounds * (rounds / len(log)),
        target.is_logged,
        target.is_learnt,
        target.shared,
        target.hashes,
    )


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
    _check_parts(sums, settings.rewards)
    model = fit_model(sums.model, sums.facts, sums.unit, settings)
    model.warn_of_misfit()
    return {name: _summed_value(name, each, sums, model, settings) for name, each in sums.targets.items()}


def _check_parts(sums: PartSums, rewards: tuple[float, float] | None) -> None:
    """Refuses rewards out of their range, and parts that do not add up to the whole log."""
    if not sums.model.count:
        raise InvalidLog("no round of this log has a reward")
    least, most = sums.rewards
    if rewards is not None and not rewards[0] <= least <= most <= rewards[1]:
        raise InvalidLog(
            f"reward must lie from {rewards[0]:g} to {rewards[1]:g}; those of this log go from {least:g} to "
            f"{most:g}"
        )
    within = sorted(t for _, t in sums.cut & sums.begins)
    if within:
        period = sums.facts.period
        size = "whole blocks" if period is None else f"a multiple of {period} rounds"
        raise InvalidLog(
            f"a part begins within a block of the schedule, at round {within[0]}, so that the exploration of "
            f"this block would not count: give parts of {size}, as by read_parts(..., rows=...), or "
            "evaluate(...) the whole log"
        )
    if len(sums.kinds) > 1:
        raise InvalidLog(
            f"some parts look as if drawn otherwise than others ({', '.join(sorted(sums.kinds))}): give "
            "larger parts, or evaluate(...) the whole log"
        )


def _summed_value(
    name: str, sums: TargetSums, whole: PartSums, model: LogModel, settings: ModelSettings
) -> SummedValue:
    row, rewards = sums.features / whole.rounds, settings.rewards
    dm, dm_bounds = float(row @ model.theta), model.bounds(row)
    if not dm_bounds.low < dm_bounds.high:
        dm_bounds = NO_BOUNDS
    elif rewards is not None and rewards[0] <= dm <= rewards[1]:
        dm_bounds = dm_bounds.within(*rewards)
    support = support_of(sums.missing, sums.known, is_known=whole.is_known)
    known = sums.unknown <= MOST_UNKNOWN * (sums.unknown + sums.draws)
    value, bounds = None, None
    if sums.draws and known and not sums.is_learnt and (support is None or 1.0 - support <= MOST_MISSING):
        value = float(sums.weights[4] / sums.weights[0])
        bounds = _weighted_bounds(sums, whole, value, settings)
        if rewards is not None and math.isfinite(bounds.low):
            bounds = bounds.within(*rewards)
    return SummedValue(
        name=name,
        dm=dm,
        dm_bounds=dm_bounds,
        ips=value,
        ips_bounds=bounds,
        draws=sums.draws,
        effective=sums.effective,
        support=support,
    )


def _weighted_bounds(sums: TargetSums, whole: PartSums, value: float, settings: ModelSettings) -> Bounds:
    """The interval of ips: Cressie-Read's if explorations are few and rewards bounded, else a normal one."""
    h, hh, w, ww, x, hx, xx, wx = (float(each) for each in sums.weights)
    square, count = xx - 2.0 * value * hx + value**2 * hh, sums.draws  # the sum of (h x - h value)^2
    ground: Ground = "assumed" if "fixed" in whole.kinds else "asymptotic"
    if 0 < sums.units.units.size < count:
        apart = sums.units.sums @ [1.0, -value]
        square, count = dot(apart, apart), apart.size
    varies = square > ROUNDING * xx
    if (
        settings.rewards is not None
        and not sums.is_logged
        and (sums.effective < FEWEST_EFFECTIVE or not varies)
    ):
        least, width, n = settings.rewards[0], settings.rewards[1] - settings.rewards[0], sums.draws
        equal = not whole.model.is_thinned and math.isclose(hh * n, h * h, rel_tol=ROUNDING)
        share = n / h
        scaled = PowerSums(
            n,
            w * share,
            ww * share**2,
            (x - least * w) / width * share,
            (wx - least * ww) / width * share**2,
            (xx - 2.0 * least * wx + least**2 * ww) / width**2 * share**2,
            0.0,
            max(sums.largest * share, sums.possible) if equal else math.inf,
        )
        found = cressie_read(scaled, settings.confidence)._replace(ground=ground).scaled(settings.rewards)
        if found.low < found.high:
            return found
    if count < 2 or not varies:
        return NO_BOUNDS
    return student(value, math.sqrt(square) / h, count, settings.confidence, ground)


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
    log = of_policy(part.read() if isinstance(part, LogPart) else part)
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
