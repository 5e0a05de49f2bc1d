"""What is found of a log once, for all targets: its design, its model, and what each target plays in it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.core.evaluation import add_to_blocks, law_gaps
from infex.evaluation.designs import Design, design_of, logging_propensities
from infex.evaluation.log_model import LogModel, frozen_thetas, model_of
from infex.evaluation.targets import TargetPolicy
from infex.features.base import unit_of
from infex.logs import Log
from infex.logs.arm_features import (
    ArmFeatures,
    LogSums,
    PlayedRows,
    arm_features,
    played_rows,
    played_sums,
    spans,
)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Groundwork:
    """A log with its design and its model; so many decisions for those held out were left out of it."""

    log: Log
    held_out: int
    looks: ArmFeatures
    rows: PlayedRows
    design: Design
    sums: LogSums
    model: LogModel
    confidence: float
    rewards: tuple[float, float] | None
    anytime: bool

    @functools.cached_property
    def thetas(self) -> Floats:
        """Estimates frozen at the starts of blocks, (blocks, d); found when they are asked for."""
        return frozen_thetas(self.rows, self.log, self.design.starts)

    @functools.cached_property
    def estimates(self) -> Floats:
        """What the frozen model said of the arm that was played, in every round."""
        block, found = np.maximum(self.design.of_round, 0), np.empty(len(self.log))
        for span in spans(len(self.log)):
            found[span] = np.einsum("ij,ij->i", self.rows.inside(span), self.thetas[block[span]])
        return found

    @functools.cached_property
    def modelled(self) -> Floats:
        """What the model of all rounds says of the arm that was played, in every round."""
        return self.rows.times(self.model.theta)

    @functools.cached_property
    def fitted_draws(self) -> Floats:
        """What the frozen model said of the arms that were drawn."""
        return self.fitted(self.design.rows)

    def fitted(self, places: np.ndarray) -> Floats:
        """The same in these rounds."""
        found: Floats = self.estimates[places]
        return found


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TargetRounds:
    """What a target plays in a log.

    `of_arm` is its probability of the arm that was played, `missing` that of arms that the log could not
    play (NaN: not known), `blocks` (blocks, d) the sums of its mean features over each block's rounds, and
    `mean_row` (d,) their mean over all rounds. `missing_arms` (K,) adds up missing probabilities by arm,
    and `limit` is the greatest weight that the log's propensities allow (infinite: not known).
    """

    target: TargetPolicy
    of_arm: Floats
    missing: Floats
    missing_arms: Floats
    limit: float
    blocks: Floats
    mean_row: Floats
    has_propensities: bool

    @functools.cached_property
    def support(self) -> float | None:
        """The share of the target's choices that the log could have played; None where that is unknown."""
        known = ~np.isnan(self.missing)
        gone = float(self.missing[known].sum())
        if self.has_propensities:
            return 1.0 - gone / int(known.sum()) if known.any() else None
        return 1.0 - gone / known.size if gone > 0.0 else None


def in_order(log: Log) -> Log:
    """The rounds of several streams one stream after the other."""
    if log.stream is None:
        return log
    codes = np.unique(log.stream, return_inverse=True)[1]
    return log if (np.diff(codes) >= 0).all() else log.take(np.argsort(codes, kind="stable"))


def groundwork(
    log: Log,
    *,
    rewards: tuple[float, float] | None,
    confidence: float,
    noise: float | None,
    bound: float | None,
    anytime: bool = False,
) -> Groundwork:
    """All that does not depend on targets."""
    log, given = in_order(log.without_held_out()), len(log)
    looks = arm_features(log)
    rows = played_rows(log, looks)
    design = design_of(log)
    sums = played_sums(rows, log.reward, log.rewarded)
    return Groundwork(
        log=log,
        held_out=given - len(log),
        looks=looks,
        rows=rows,
        design=design,
        sums=sums,
        model=model_of(
            sums,
            log.facts,
            unit_of(log.features),
            noise=noise,
            bound=bound,
            confidence=confidence,
            rewards=rewards,
        ),
        confidence=confidence,
        rewards=rewards,
        anytime=anytime,
    )


def rounds_of(target: TargetPolicy, work: Groundwork) -> TargetRounds:
    """What a target plays, found some rounds at a time."""
    log, design, size = work.log, work.design, len(work.log)
    of_arm, missing = np.empty(size), np.full(size, np.nan)
    by_arm, limit = np.zeros(log.count), 0.0
    blocks, total = np.zeros((design.starts.size, work.looks.width)), np.zeros(work.looks.width)
    for span in spans(size):
        probabilities = target.probabilities(span)
        of_arm[span] = probabilities[np.arange(len(probabilities)), log.arm[span]]
        propensities = logging_propensities(log, design, span)
        if propensities is not None:
            greatest, missing[span] = law_gaps(probabilities, propensities, by_arm)
            limit = max(limit, greatest)
        parts = work.looks.parts(span, probabilities)
        add_to_blocks(parts, design.of_round[span], blocks)
        left_out = design.of_round[span] < 0
        total += parts[left_out].sum(axis=0) if left_out.any() else 0.0
    has_propensities, blocks, total = (
        log.base_propensities is not None,
        work.looks.whole(blocks),
        work.looks.whole(total),
    )
    return TargetRounds(
        target=target,
        of_arm=of_arm,
        missing=missing,
        missing_arms=by_arm,
        limit=limit if has_propensities and limit > 0.0 else np.inf,
        blocks=blocks,
        mean_row=(total + blocks.sum(axis=0)) / size,
        has_propensities=has_propensities,
    )
