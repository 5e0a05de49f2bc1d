"""`evaluate`: what a log says of policies that did not write it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.errors import InvalidLog, InvalidSetting, InvalidTarget, NoSupport
from infex.evaluation import estimators, findings
from infex.evaluation.estimators import ESTIMATORS, MODELLED, SETTINGS, draw_weights, drawn_by, frozen_value
from infex.evaluation.evaluation import Evaluation
from infex.evaluation.groundwork import Groundwork, TargetRounds, groundwork, rounds_of
from infex.evaluation.interval_choice import FEWEST_EFFECTIVE, NO_BOUNDS, bounds_of, mean_and_error
from infex.evaluation.log_arguments import confidence_level, positive, require_log, reward_range
from infex.evaluation.log_model import warn_of_misfit
from infex.evaluation.robust_sequence import has_all_laws
from infex.evaluation.supporting import has_gaps, lacking, require_support
from infex.evaluation.target_value import LogFinding, TargetValue
from infex.evaluation.targets import targets_of
from infex.logs import Log
from infex.logs.log import refuse


def evaluate(
    log: Log,
    targets: object,
    *,
    rewards: tuple[float, float] | None = None,
    confidence: float = 0.95,
    against: str | None = None,
    estimator: str = "auto",
    anytime: bool = False,
    noise: float | None = None,
    bound: float | None = None,
    setting: float | None = None,
    limit: float | None = None,
    embedding_probabilities: ArrayLike | None = None,
    bound_missing: bool = False,
) -> Evaluation:
    """The values of targets on the rounds of a log, with intervals and what they rest on.

    `targets` maps names to what is to be judged: `evaluation.logged` (what the log played), a bandit as it
    stands (its greedy arm), `Greedy()` (by all that this log has taught), `Uniform()`, a label (always that
    arm), probabilities of the arms, or a function of (offers, context) that gives probabilities or arms of
    many rounds.
    A policy that learns is refused: `evaluation.replay` and `evaluation.simulate` are for these.

    `rewards` is the least and the greatest reward there can be, which some intervals need. `against` names
    the target that all others are compared with. `estimator` is one of `estimators.ESTIMATORS`: "auto" takes
    `dr` (the model frozen at block starts, corrected by drawn rounds) where the log supports the target and
    has 50 effective explorations, else `dm` (the linear model, with an interval that holds for all targets
    at once); `ips`, `snips`, `clipped`, `switch`, `shrinkage`, `subgaussian`, `slope` and `mips` are those of
    the literature. With `anytime` intervals hold however often one looks. `noise` and `bound` are those of
    the model where the log does not say them; `LargeReward` warns where a value is the model's and the
    rewards do not fit them. `setting` is that of `clipped`, `switch`, `shrinkage` and `subgaussian`, `limit`
    the greatest weight there can be, and `embedding_probabilities` (n, K) are for `mips`. With
    `bound_missing` a target that the log could not always play is judged by `ips`, and what is missing
    counts as any of the `rewards`.

    `confidence` is that of every interval.

    Decisions for those held out (`log.held_out`) are left out, as a fixed rule took them, unless there are no
    others: `evaluate(log.take(log.held_out), ...)` judges by these alone, with that rule's propensities.

    >>> from infex.evaluation import Log, logged
    >>> log = Log(arm=[0, 1] * 100, reward=[1.0, 0.0] * 100, propensity=[0.5] * 200)
    >>> found = evaluate(log, {"first": 0, "now": logged}, rewards=(0, 1), estimator="snips")
    >>> round(found["first"].value, 12)
    1.0
    """
    require_log(log)
    one_of("estimator", estimator, ESTIMATORS)
    known = reward_range(log.facts, rewards)
    _check_rewards(log, known)
    if setting is not None and estimator not in SETTINGS:
        raise InvalidSetting(
            f"setting is for estimator={' or '.join(map(repr, SETTINGS))}, got {estimator!r}"
        )
    if embedding_probabilities is not None and estimator != "mips":
        raise InvalidSetting(f"embedding_probabilities are for estimator='mips', got {estimator!r}")
    if anytime and known is None and estimator != "dm":
        raise InvalidSetting("anytime intervals of weighted estimators need rewards=(least, greatest)")
    if bound_missing and (known is None or estimator not in ("auto", "ips") or anytime):
        raise InvalidSetting("bound_missing is for ips, and needs rewards=(least, greatest)")
    work = groundwork(
        log,
        rewards=known,
        confidence=confidence_level(confidence),
        noise=positive("noise", noise),
        bound=positive("bound", bound),
        anytime=anytime,
    )
    wanted = targets_of(targets, work.log, work.looks, work.model.theta)
    if against is not None and against not in [target.name for target in wanted]:
        raise InvalidTarget(f"against must name one of the targets, got {against!r}")
    most = math.inf if limit is None else real("limit", limit, above=0)
    given = embedding_probabilities
    embedding = None if given is None else np.asarray(given, dtype=np.float64)
    judged = [
        _bounded(work, rounds, limit=most)
        if bound_missing and has_gaps(work, rounds)
        else _judge(
            work, rounds, estimator, anytime=anytime, setting=setting, limit=most, embedding=embedding
        )
        for rounds in (rounds_of(target, work) for target in wanted)
    ]
    noted = findings.of_log(work)
    if any(each.estimator == "dm" for each in judged):
        noted += findings.misfit(work)
        warn_of_misfit(work.model)
    return Evaluation(work=work, judged=tuple(judged), against=against, findings=noted)


def _check_rewards(log: Log, rewards: tuple[float, float] | None) -> None:
    if not log.rewarded.any():
        raise InvalidLog("no round of this log has a reward")
    if rewards is not None:
        with np.errstate(invalid="ignore"):
            beyond = (log.reward < rewards[0]) | (log.reward > rewards[1])
        refuse("reward", beyond, log.round, f"must lie from {rewards[0]:g} to {rewards[1]:g}")


def _judge(
    work: Groundwork,
    rounds: TargetRounds,
    estimator: str,
    *,
    anytime: bool,
    setting: float | None,
    limit: float,
    embedding: Floats | None,
) -> TargetValue:
    """One target by the estimator that was asked for, or the best that the log allows."""
    chosen, why = (estimator, "as it was asked for")
    if estimator == "auto":
        chosen, why = chosen_estimator(work, rounds, anytime=anytime)
    if rounds.target.is_logged and chosen != "dm":
        return _weighted(
            work, rounds, "on_policy", why, anytime=anytime, setting=None, limit=limit, embedding=None
        )
    if chosen == "dm":
        return _modelled(work, rounds, why)
    require_support(work, rounds)
    if anytime and not (chosen == "dr" and has_all_laws(work, rounds)):
        chosen, why = "ips", f"{why}; anytime intervals are those of ips"
    return _weighted(
        work, rounds, chosen, why, anytime=anytime, setting=setting, limit=limit, embedding=embedding
    )


def _bounded(work: Groundwork, rounds: TargetRounds, *, limit: float) -> TargetValue:
    """Inverse propensity scores for what the log could play; the rest may have earned any reward."""
    assert rounds.support is not None
    assert work.rewards is not None
    least, most = work.rewards
    gap = 1.0 - rounds.support
    why = f"{gap:.1%} of its choices could not be played: they count as anything from {least:g} to {most:g}"
    free = dataclasses.replace(work, rewards=None)  # values of a part may lie outside of what rewards can be
    found = _weighted(free, rounds, "ips", why, anytime=False, setting=None, limit=limit, embedding=None)
    bounds = found.bounds._replace(low=found.low + gap * least, high=found.high + gap * most)
    value = found.value + gap * 0.5 * (least + most)
    gains = found.gains + gap * 0.5 * (least + most)
    method = f"{bounds.method}, gaps bounded"
    return dataclasses.replace(
        found,
        value=value,
        bounds=bounds.within(least, most)._replace(method=method),
        estimator="manski",
        gains=gains,
    )


def chosen_estimator(work: Groundwork, rounds: TargetRounds, *, anytime: bool) -> tuple[str, str]:
    """The estimator that the log allows for a target, and why."""
    if rounds.target.is_logged:
        return "dr", "what was played"
    without = lacking(work, rounds)
    if without is not None:
        return "dm", without
    effective = estimators.effective(draw_weights(work, rounds))
    if effective >= FEWEST_EFFECTIVE or anytime:
        return "dr", "the log supports it"
    few = f"only {effective:.0f} effective explorations"
    if work.log.dim is None:
        if effective == 0.0:
            return "dm", f"{few}, and no features: by the mean of each arm"
        return "snips", f"{few}, and no features for a model"
    return "dm", few


def _modelled(work: Groundwork, rounds: TargetRounds, why: str) -> TargetValue:
    row = rounds.mean_row
    value, bounds = float(row @ work.model.theta), work.model.bounds(row)
    weight = np.zeros(0)
    if work.design.rows.size:
        weight = draw_weights(work, rounds)
    words = f"holds if rewards are linear in the features; {work.model.words}"
    notes = [LogFinding("model", words, warns=False), *findings.of_model(work, rounds, weight, value)]
    if not bounds.low < bounds.high:
        notes.append(LogFinding("no interval", "no interval: its arms have no features but 0"))
        bounds = NO_BOUNDS
    elif work.rewards is not None and work.rewards[0] <= value <= work.rewards[1]:
        bounds = bounds.within(*work.rewards)
    return TargetValue(
        name=rounds.target.name,
        value=value,
        bounds=bounds,
        estimator="dm",
        why=why,
        support=rounds.support,
        effective=estimators.effective(weight),
        explorations=int(work.design.rows.size),
        model=value,
        correction=math.nan,
        correction_error=math.nan,
        error=math.nan,
        findings=tuple(notes),
        gains=np.zeros(0),
        weights=np.zeros(0),
        draws=np.zeros(0, dtype=np.int64),
        rounds=rounds,
    )


def _weighted(
    work: Groundwork,
    rounds: TargetRounds,
    estimator: str,
    why: str,
    *,
    anytime: bool,
    setting: float | None,
    limit: float,
    embedding: Floats | None,
) -> TargetValue:
    drawn = drawn_by(estimator, work, rounds, setting, embedding)
    if not drawn.gains.size:
        raise NoSupport(
            f"the log has no drawn round with a reward by which {rounds.target.name!r} could be judged"
        )
    mean, error, _ = mean_and_error(work, drawn)
    effective = estimators.effective(drawn.weight)
    most = min(limit, rounds.limit)
    bounds, notes = bounds_of(estimator, work, rounds, drawn, effective, anytime=anytime, limit=most)
    if work.rewards is not None and math.isfinite(bounds.low):
        bounds = bounds.within(*work.rewards)
    modelled = estimator in MODELLED
    if not rounds.target.is_logged:
        notes = notes + findings.of_target(work, rounds, drawn, modelled=modelled)
    return TargetValue(
        name=rounds.target.name,
        value=drawn.model + mean,
        bounds=bounds,
        estimator=estimator,
        why=why,
        support=1.0 if rounds.target.is_logged else rounds.support,
        effective=effective,
        explorations=int(drawn.weight.size),
        model=drawn.model if modelled else frozen_value(work, rounds),
        correction=mean if modelled else math.nan,
        correction_error=error if modelled else math.nan,
        error=error,
        findings=tuple(notes),
        carriers=() if rounds.target.is_logged else findings.carriers(work, drawn),
        gains=drawn.gains,
        weights=drawn.weight if drawn.taken is None else drawn.taken,
        draws=drawn.rows,
        rounds=rounds,
    )
