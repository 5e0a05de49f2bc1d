"""`evaluate`: what a log says of policies that did not write it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.errors import InvalidLog, InvalidSetting, InvalidTarget, NoSupport
from infex.evaluation import findings, ways
from infex.evaluation.by_way import MODELLED, SETTINGS, WAYS, draw_weights, drawn_by, frozen_value
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
from infex.logs.log_checks import refuse


def evaluate(
    log: Log,
    targets: object,
    *,
    rewards: tuple[float, float] | None = None,
    confidence: float = 0.95,
    against: str | None = None,
    way: str = "best",
    anytime: bool = False,
    noise: float | None = None,
    bound: float | None = None,
    setting: float | None = None,
    limit: float | None = None,
    seen: ArrayLike | None = None,
    bound_missing: bool = False,
) -> Evaluation:
    """The values of targets on the rounds of a log, with intervals and what they rest on.

    `targets` maps names to what is to be judged: `evaluation.logged` (what the log played), a bandit as it
    stands (its greedy arm), `Greedy()` (by all that this log has taught), `Uniform()`, a label (always that
    arm), chances of the arms, or a function of (offers, context) that gives chances or arms of many rounds.
    A policy that learns is refused: `evaluation.replay` and `evaluation.simulate` are for these.

    `rewards` is the least and the greatest reward there can be, which some intervals need. `against` names
    the target that all others are compared with. `way` is one of `WAYS`: "best" takes `robust` (the model
    frozen at block starts, corrected by drawn rounds) where the log supports the target and has 50 effective
    explorations, else `model` (linear, with an interval that holds for all targets at once). With `anytime`
    intervals hold however often one looks. `noise` and `bound` are those of the model where the log does
    not say them; `LargeReward` warns where a value is the model's and the rewards do not fit them. `setting`
    is that of the ways `clipped`, `switch`, `shrunk` and `bent`, `limit` the greatest weight there can be,
    and `seen` is for `marginal`. With `bound_missing` a target that the log
    could not always play is judged by plain weights, and what is missing counts as any of the `rewards`.

    `confidence` is that of every interval.

    Decisions for those held out (`log.held_out`) are left out, as a fixed rule took them, unless there are no
    others: `evaluate(log.take(log.held_out), ...)` judges by these alone, with the chances of that rule.

    >>> from infex.evaluation import Log, logged
    >>> log = Log(arm=[0, 1] * 100, reward=[1.0, 0.0] * 100, probability=[0.5] * 200)
    >>> found = evaluate(log, {"first": 0, "now": logged}, rewards=(0, 1), way="ratio")
    >>> round(found["first"].value, 12)
    1.0
    """
    require_log(log)
    one_of("way", way, WAYS)
    known = reward_range(log.facts, rewards)
    _check_rewards(log, known)
    if setting is not None and way not in SETTINGS:
        raise InvalidSetting(f"setting is for way={' or '.join(map(repr, SETTINGS))}, got way={way!r}")
    if seen is not None and way != "marginal":
        raise InvalidSetting(f"seen is for way='marginal', got way={way!r}")
    if anytime and known is None and way != "model":
        raise InvalidSetting("anytime intervals of weighted ways need rewards=(least, greatest)")
    if bound_missing and (known is None or way not in ("best", "weights") or anytime):
        raise InvalidSetting("bound_missing is for plain weights, and needs rewards=(least, greatest)")
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
    shown = None if seen is None else np.asarray(seen, dtype=np.float64)
    judged = [
        _bounded(work, rounds, limit=most)
        if bound_missing and has_gaps(work, rounds)
        else _judge(work, rounds, way, anytime=anytime, setting=setting, limit=most, seen=shown)
        for rounds in (rounds_of(target, work) for target in wanted)
    ]
    noted = findings.of_log(work)
    if any(each.way == "model" for each in judged):
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
    way: str,
    *,
    anytime: bool,
    setting: float | None,
    limit: float,
    seen: Floats | None,
) -> TargetValue:
    """One target by the way that was asked for, or the best that the log allows."""
    chosen, why = (way, "as it was asked for") if way != "best" else best_way(work, rounds, anytime=anytime)
    if rounds.target.is_logged and chosen != "model":
        return _weighted(work, rounds, "observed", why, anytime=anytime, setting=None, limit=limit, seen=None)
    if chosen == "model":
        return _modelled(work, rounds, why)
    require_support(work, rounds)
    if anytime and not (chosen == "robust" and has_all_laws(work, rounds)):
        chosen, why = "weights", f"{why}; anytime intervals are those of plain weights"
    return _weighted(work, rounds, chosen, why, anytime=anytime, setting=setting, limit=limit, seen=seen)


def _bounded(work: Groundwork, rounds: TargetRounds, *, limit: float) -> TargetValue:
    """Plain weights for what the log could play; the rest may have earned anything that rewards can be."""
    assert rounds.support is not None
    assert work.rewards is not None
    least, most = work.rewards
    gap = 1.0 - rounds.support
    why = f"{gap:.1%} of its choices could not be played: they count as anything from {least:g} to {most:g}"
    free = dataclasses.replace(work, rewards=None)  # values of a part may lie outside of what rewards can be
    found = _weighted(free, rounds, "weights", why, anytime=False, setting=None, limit=limit, seen=None)
    bounds = found.bounds._replace(low=found.low + gap * least, high=found.high + gap * most)
    value = found.value + gap * 0.5 * (least + most)
    gains = found.gains + gap * 0.5 * (least + most)
    method = f"{bounds.method}, gaps bounded"
    return dataclasses.replace(
        found,
        value=value,
        bounds=bounds.within(least, most)._replace(method=method),
        way="bounded",
        gains=gains,
    )


def best_way(work: Groundwork, rounds: TargetRounds, *, anytime: bool) -> tuple[str, str]:
    """The way that the log allows for a target, and why."""
    if rounds.target.is_logged:
        return "robust", "what was played"
    without = lacking(work, rounds)
    if without is not None:
        return "model", without
    effective = ways.effective(draw_weights(work, rounds))
    if effective >= FEWEST_EFFECTIVE or anytime:
        return "robust", "the log supports it"
    few = f"only {effective:.0f} effective explorations"
    if work.log.dim is None:
        if effective == 0.0:
            return "model", f"{few}, and no features: by the mean of each arm"
        return "ratio", f"{few}, and no features for a model"
    return "model", few


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
        way="model",
        why=why,
        support=rounds.support,
        effective=ways.effective(weight),
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
    way: str,
    why: str,
    *,
    anytime: bool,
    setting: float | None,
    limit: float,
    seen: Floats | None,
) -> TargetValue:
    drawn = drawn_by(way, work, rounds, setting, seen)
    if not drawn.gains.size:
        raise NoSupport(
            f"the log has no drawn round with a reward by which {rounds.target.name!r} could be judged"
        )
    mean, error, _ = mean_and_error(work, drawn)
    effective = ways.effective(drawn.weight)
    most = min(limit, rounds.limit)
    bounds, notes = bounds_of(way, work, rounds, drawn, effective, anytime=anytime, limit=most)
    if work.rewards is not None and math.isfinite(bounds.low):
        bounds = bounds.within(*work.rewards)
    modelled = way in MODELLED
    if not rounds.target.is_logged:
        notes = notes + findings.of_target(work, rounds, drawn, modelled=modelled)
    return TargetValue(
        name=rounds.target.name,
        value=drawn.model + mean,
        bounds=bounds,
        way=way,
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
