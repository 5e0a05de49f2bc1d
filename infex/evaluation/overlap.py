"""What a target plays in the rounds of a log, and how much of that the log could have played.

If that is too little, importance weights cannot evaluate the target: `require_support` says which rounds and
arms lack support, and what could answer instead.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.core.evaluation import add_to_blocks, law_gaps
from infex.errors import InvalidTarget, NoSupport
from infex.evaluation.design import logging_propensities
from infex.evaluation.model import LogAnalysis
from infex.evaluation.targets import TargetPolicy
from infex.logs.arm_features import spans

MOST_MISSING = 1e-3  # of a target's choices that a log may not be able to play
MOST_UNKNOWN = 0.01  # of drawn rounds, whose propensity may be unknown
ROUNDS_SHOWN, ARMS_SHOWN = 3, 3


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Overlap:
    """A target on the rounds of a log.

    `probability` is its probability of the arm played, `missing` that of arms that the log could not play
    (NaN: unknown), `missing_arms` (K,) the sum of these by arm. `largest_weight` is the largest weight that
    the log's propensities allow (infinite: unknown). `block_features` (blocks, d) are sums of the target's
    mean features over the rounds of each block, `mean_features` (d,) their mean over all rounds. `is_known`:
    does the log have the propensities of all arms? `shares` say how much each round counts, if rows were left
    out of the log; sums and means are by these.
    """

    target: TargetPolicy
    probability: Floats
    missing: Floats
    missing_arms: Floats
    largest_weight: float
    block_features: Floats
    mean_features: Floats
    is_known: bool
    shares: Floats | None

    @functools.cached_property
    def known_rounds(self) -> float:
        """The number of rounds, each by its share, of which it is known what the log could not play."""
        known = ~np.isnan(self.missing) if self.is_known else np.ones(self.missing.size, dtype=bool)
        return float(known.sum() if self.shares is None else self.shares[known].sum())

    @functools.cached_property
    def missing_rounds(self) -> float:
        """The sum of what the log could not play, each by its share."""
        return float(np.nansum(self.missing if self.shares is None else self.missing * self.shares))

    @property
    def support(self) -> float | None:
        """The share of the target's choices that the log could have played; None if that is unknown."""
        return support_of(self.missing_rounds, self.known_rounds, is_known=self.is_known)

    @property
    def share_missing(self) -> float:
        """The share of the target's choices that the log could not play; 0 if that is unknown."""
        return 0.0 if self.support is None else 1.0 - self.support


def support_of(missing: float, known: float, *, is_known: bool) -> float | None:
    """The share of choices that a log could have played, by sums over its rounds; None if that is unknown."""
    if not known or (not is_known and not missing > 0.0):
        return None
    return 1.0 - missing / known


def overlap_of(target: TargetPolicy, analysis: LogAnalysis) -> Overlap:
    """The overlap of a target with a log, computed some rounds at a time."""
    log, design, features, size = analysis.log, analysis.design, analysis.features, len(analysis.log)
    probability, missing = np.empty(size), np.full(size, np.nan)
    missing_arms, largest = np.zeros(log.count), 0.0
    blocks, total = np.zeros((design.starts.size, features.width)), np.zeros(features.width)
    for span in spans(size):
        probabilities = target.probabilities(span)
        probability[span] = probabilities[np.arange(len(probabilities)), log.arm[span]]
        propensities = logging_propensities(log, design, span)
        if propensities is not None:
            greatest, missing[span] = law_gaps(probabilities, propensities, missing_arms)
            largest = max(largest, greatest)
        parts = features.parts(span, probabilities)
        if analysis.shares is not None:
            parts = parts * analysis.shares[span, None]
        add_to_blocks(parts, design.of_round[span], blocks)
        left_out = design.of_round[span] < 0
        total += parts[left_out].sum(axis=0) if left_out.any() else 0.0
    is_known = log.base_propensities is not None
    blocks, total = features.whole(blocks), features.whole(total)
    return Overlap(
        target=target,
        probability=probability,
        missing=missing,
        missing_arms=missing_arms,
        largest_weight=largest if is_known and largest > 0.0 else np.inf,
        block_features=blocks,
        mean_features=(total + blocks.sum(axis=0)) / size,
        is_known=is_known,
        shares=analysis.shares,
    )


def why_unsupported(analysis: LogAnalysis, overlap: Overlap) -> str | None:
    """Why importance weights cannot evaluate a target; None if they can."""
    design = analysis.design
    if overlap.target.is_learnt:
        return "it was learnt from this very log, or a part of it, which weights do not allow for"
    if not design.rows.size:
        if design.kind == "thinned blocks":
            return "rows of its blocks were left out (`kept`), and weights need whole blocks"
        if design.unknown:
            return f"in {design.unknown:,} drawn rounds the propensity of the arm is not known"
        if design.drawn_blocks:
            return "no block of its schedule is complete with a reward of its exploration"
        return "the log does not say the propensities of its arms"
    drawn = design.unknown + design.rows.size
    if design.unknown > MOST_UNKNOWN * drawn:
        return f"in {design.unknown:,} of {drawn:,} drawn rounds the propensity is not known"
    if overlap.share_missing > MOST_MISSING:
        return f"the log could not play {overlap.share_missing:.1%} of its choices"
    return None


def has_gaps(analysis: LogAnalysis, overlap: Overlap) -> bool:
    """Whether weights could evaluate a target but for choices that the log could not play."""
    if overlap.target.is_logged or overlap.target.is_learnt or not analysis.design.rows.size:
        return False
    return overlap.share_missing > MOST_MISSING


def require_support(analysis: LogAnalysis, overlap: Overlap) -> None:
    """Refuses a weighted estimator if the log could not play what the target plays."""
    reason = why_unsupported(analysis, overlap)
    if reason is None:
        return
    log, name = analysis.log, overlap.target.name
    if overlap.target.is_learnt:
        raise InvalidTarget(
            f'{name!r}: {reason}; say estimator="dm", whose interval holds for all targets at once, '
            "or evaluate it by rounds that it has not learnt from"
        )
    if log.propensity is not None and (log.propensity == 1.0).all():
        apart = float(1.0 - overlap.probability.mean())
        problem = (
            f"in {len(log):,} of {len(log):,} rounds the log could play one arm only; weights cannot "
            f"evaluate {name!r}, which differs from it in {apart:.0%} of rounds."
        )
    else:
        where = _where_missing(analysis, overlap) if overlap.share_missing > MOST_MISSING else ""
        problem = f"weights cannot evaluate {name!r}: {reason}{where}."
    by_means = "" if log.dim is not None else ", by the mean reward of each arm"
    raise NoSupport(f'{problem} estimator="dm" can{by_means}, if rewards are linear in the features.')


def _where_missing(analysis: LogAnalysis, overlap: Overlap) -> str:
    """The first rounds in which a target plays what the log could not, and the arms that it plays most so."""
    log = analysis.log
    gone = np.flatnonzero(overlap.missing > 0.0)
    first = ", ".join(f"{log.round[row]}" for row in gone[:ROUNDS_SHOWN])
    more = ", ..." if gone.size > ROUNDS_SHOWN else ""
    order = np.argsort(-overlap.missing_arms, kind="stable")[:ARMS_SHOWN]
    arms = ", ".join(f"{log.label(int(arm))!r}" for arm in order if overlap.missing_arms[arm] > 0.0)
    return f"; it plays arms with propensity 0 in {gone.size:,} rounds ({first}{more}), most of all {arms}"
