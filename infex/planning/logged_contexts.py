"""What is believed of a problem by a log of contexts, or of arms that are other ones in every round."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.environments.offer_sets import OfferSets
from infex.errors import InvalidReward, InvalidSetting
from infex.features import Disjoint, FeatureMap
from infex.features.base import unit_of
from infex.logs import Log
from infex.logs.log_sums import LogSums, Residuals, penalty_of, played_rows, residuals_of, sums_over
from infex.logs.looks import JoinedWithContexts, Looks, looks_of
from infex.models.layout import DesignRows, PerArm
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.planning.beliefs import (
    LEAST_POSTERIOR_PENALTY,
    Belief,
    noise_of_log,
    posterior_penalty,
)
from infex.planning.misfits import warn_of_misfit
from infex.streams import stream

MOST_OFFERS = 4096  # rounds of a log whose offers are drawn from
MOST_NUMBERS = 1 << 22  # that these may be


class Posterior(NamedTuple):
    """A Gaussian law of parameters: its mean, and a root of its covariance, for each arm or for all."""

    mean: Floats
    root: Floats


def with_map(log: Log, features: FeatureMap | None) -> Log:
    """The log, of whose contexts this map makes features."""
    if features is None:
        return log
    if log.context is None:
        raise InvalidSetting("a feature map needs contexts, and this log has none")
    return replace(log, features=features, labels=log.labels or features.labels, arms=None, offers=None)


def belief_of_log(log: Log, noise: float | None, bound: float) -> Belief:
    """Problems with arms or contexts as in the rounds of a log, and parameters by what it has taught.

    Where `noise` is not said, it is by what the model leaves of the rewards.
    """
    told, bound = None if noise is None else real("noise", noise, above=0), real("bound", bound, above=0)
    _refuse(log)
    looks = looks_of(log)
    names = log.labels or (None if log.features is None else log.features.labels)
    labels = None if names is None else [str(name) for name in names]
    if isinstance(log.features, Disjoint) and isinstance(looks, JoinedWithContexts):
        return replace(_of_blocks(log, looks.contexts, told, bound * unit_of(log.features)), labels=labels)
    return replace(_of_rows(log, looks, told, bound * unit_of(log.features)), labels=labels)


def _refuse(log: Log) -> None:
    if log.dim is None:
        raise InvalidReward(
            "this log does not say what its arms look like: it needs contexts and a map, or offers"
        )
    if log.offered is not None and not log.offered.all():
        fewer = int((~log.offered.all(axis=1)).sum())
        raise InvalidReward(
            f"in {fewer:,} of {len(log):,} rounds of this log some of its {log.count} arms were not on "
            "offer: rounds have other numbers of arms, and a plan is for as many in all. Plan by those that "
            "had all, logged=log.take(log.offered.all(axis=1)), or let policies go through the log as it is: "
            "evaluation.replay"
        )
    _refuse_one_arm(log)
    _refuse_unrewarded(log)


def _refuse_one_arm(log: Log) -> None:
    if log.count < 2:
        raise InvalidReward("this log has one arm, so that there is nothing to choose")


def _refuse_unrewarded(log: Log) -> None:
    if not log.rewarded.any():
        raise InvalidReward("no round of this log has a reward")


def _some(log: Log, numbers: int) -> Integers:
    """Rounds whose offers are drawn from, each of so many numbers."""
    most = max(min(MOST_OFFERS, MOST_NUMBERS // numbers), 1)
    if len(log) <= most:
        return np.arange(len(log))
    return np.sort(stream(0, "planned offers").choice(len(log), most, replace=False))


def _of_blocks(log: Log, contexts: Floats, told: float | None, bound: float) -> Belief:
    """A regression for each arm."""
    width, rows = contexts.shape[1], np.flatnonzero(log.rewarded)
    sums = [_sums(contexts, log, rows[log.arm[rows] == arm]) for arm in range(log.count)]
    each_left = [residuals_of(each, LEAST_POSTERIOR_PENALTY) for each in sums]
    noise, words = noise_of_log(Residuals(*np.sum(each_left, axis=0).tolist()), told)
    penalty = posterior_penalty(noise, bound, width)
    laws = [posterior(each, penalty, noise) for each in sums]
    left = sum(each.square - float(law.mean @ each.moment) for each, law in zip(sums, laws, strict=True))
    warn_of_misfit(sums, left, noise, bound, unit_of(log.features))
    inside = penalty_of(log)
    learnt = RidgeBankModel(PerArm(log.count, width), inside)
    learnt.bulk_update(
        DesignRows.on_arm_rows(log.arm[rows], contexts[rows]), log.reward[rows], np.ones(rows.size)
    )
    return Belief(
        log.count * width,
        log.count,
        noise,
        float(f"{bound:.6g}"),
        mean=np.array([law.mean for law in laws]),
        root=np.array([law.root for law in laws]),
        learnt=learnt,
        offers=OfferSets(contexts[_some(log, width)][:, None, :]),
        penalty=inside,
        noise_by=words,
    )


def _sums(contexts: Floats, log: Log, rows: Integers) -> LogSums:
    return sums_over(contexts[rows], log.reward[rows], np.ones(rows.size, dtype=bool))


def _of_rows(log: Log, looks: Looks, told: float | None, bound: float) -> Belief:
    """One parameter for all arms; rows longer than 1 are divided by the greatest length."""
    played = played_rows(log, looks).inside(slice(None))
    some = _some(log, log.count * looks.dim)
    offers = np.concatenate([looks.every(slice(int(row), int(row) + 1)) for row in some])
    longest = max(float(np.linalg.norm(rows, axis=-1).max()) for rows in (offers, played))
    longest = longest * (1.0 + 1e-12) if longest > 1.0 else 1.0
    played, bound = played / longest, bound * longest
    sums = sums_over(played, log.reward, log.rewarded)
    noise, words = noise_of_log(residuals_of(sums, LEAST_POSTERIOR_PENALTY), told)
    law = posterior(sums, posterior_penalty(noise, bound, looks.dim), noise)
    left = sums.square - float(law.mean @ sums.moment)
    warn_of_misfit([sums], left, noise, bound, longest * unit_of(log.features))
    inside, rows = penalty_of(log), log.rewarded
    learnt = RidgeModel(np.zeros((looks.dim, 0)), inside)
    learnt.bulk_update(DesignRows.on_rows(played[rows]), log.reward[rows], np.ones(sums.count))
    return Belief(
        looks.dim,
        log.count,
        noise,
        float(f"{bound:.6g}"),
        longest=longest,
        mean=law.mean,
        root=law.root,
        learnt=learnt,
        offers=OfferSets(offers / longest),
        penalty=inside,
        noise_by=words,
    )


def posterior(sums: LogSums, penalty: float, noise: float) -> Posterior:
    """N(theta, noise^2 V^-1) with V = penalty I + sum x x'."""
    gram = penalty * np.eye(len(sums.gram)) + sums.gram
    lower = np.linalg.cholesky(gram)
    mean: Floats = np.asarray(np.linalg.solve(gram, sums.moment), dtype=np.float64)
    return Posterior(mean, noise * np.linalg.inv(lower).T)
