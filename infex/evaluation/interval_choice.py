"""Which interval a weighted estimate gets, and what it rests on."""

from __future__ import annotations

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import NoSupport
from infex.evaluation import empirical_likelihood, intervals, sequences
from infex.evaluation.adaptive import weighted_mean
from infex.evaluation.estimators import Drawn, drawn_by
from infex.evaluation.groundwork import Groundwork, TargetRounds
from infex.evaluation.intervals import Bounds, Ground
from infex.evaluation.robust_sequence import robust_sequence
from infex.evaluation.target_value import LogFinding, spread_of

FEWEST_EFFECTIVE = 50.0  # explorations, below which a normal interval is too short
FEWEST_TO_SAY = 10.0  # below which that is a warning, whatever interval is shown
NO_BOUNDS = Bounds(math.nan, math.nan, "none", "assumed")


def mean_and_error(work: Groundwork, drawn: Drawn) -> tuple[float, float, int]:
    """The mean of what draws add, its standard error, and how many draws, or groups of them, it is of."""
    if not drawn.gains.size:
        return math.nan, math.nan, 0
    if work.log.kept is not None:
        mean, error = weighted_mean(drawn.gains, 1.0 / work.log.kept[drawn.rows])
        return mean, error, drawn.gains.size
    error, count = spread_of(drawn.gains, groups_of(work, drawn.rows))
    return float(drawn.gains.mean()), error, count


def groups_of(work: Groundwork, rows: Integers) -> Integers | None:
    """The unit of each draw, where some unit was decided for more than once."""
    if work.log.unit is None:
        return None
    _, codes = np.unique(work.log.unit[rows], return_inverse=True)
    return codes if codes.size and int(codes.max()) + 1 < codes.size else None


def ground_of(work: Groundwork) -> Ground:
    """Where exploring rounds are fixed, that they speak for the others is assumed."""
    return "assumed" if work.design.kind == "fixed" else "asymptotic"


def bounds_of(
    estimator: str,
    work: Groundwork,
    rounds: TargetRounds,
    drawn: Drawn,
    effective: float,
    *,
    anytime: bool,
    limit: float,
) -> tuple[Bounds, list[LogFinding]]:
    """The interval of a weighted estimator, and what there is to say of it."""
    if estimator == "slope" and not anytime and not rounds.target.is_logged:
        return _bounds_of_slope(work, rounds, drawn, effective, limit=limit)
    mean, error, count = mean_and_error(work, drawn)
    if anytime:
        found = at_any_time(estimator, work, rounds, work.confidence)
        crossed = "no interval: bounds from below and above cross, so that logged propensities are wrong"
        return found, [] if math.isfinite(found.low) else [LogFinding("no interval", crossed)]
    few = effective < FEWEST_EFFECTIVE
    plain = estimator in ("ips", "snips", "mips") and work.rewards is not None and not rounds.target.is_logged
    if plain and (few or not error > 0.0):
        words = f"{effective:.0f} effective explorations are too few for a normal interval: "
        words += "Cressie-Read's is shown"
        found = _likelihood(work, drawn, limit)
        if found.low < found.high:
            return found, [LogFinding("few", words, warns=effective < FEWEST_TO_SAY)]
    if count < 2 or not error > 0.0:
        told = "there are fewer than 2 explorations" if count < 2 else "all draws say exactly the same"
        return NO_BOUNDS, [LogFinding("no interval", f"no interval: {told}")]
    found = intervals.student(drawn.model + mean, error, count, work.confidence, ground_of(work))
    notes = []
    if few and not rounds.target.is_logged:
        words = f"with {effective:.0f} effective explorations (below {FEWEST_EFFECTIVE:.0f}) "
        words += "the interval is too short"
        notes.append(LogFinding("few", words))
    return found, notes


def _bounds_of_slope(
    work: Groundwork, rounds: TargetRounds, drawn: Drawn, effective: float, *, limit: float
) -> tuple[Bounds, list[LogFinding]]:
    """The interval of dr, stretched to the estimate: what SLOPE chooses may be biased."""
    plain = drawn_by("dr", work, rounds, None, None)
    found, notes = bounds_of("dr", work, rounds, plain, effective, anytime=False, limit=limit)
    value = drawn.model + mean_and_error(work, drawn)[0]
    if math.isfinite(found.low):
        found = found._replace(low=min(found.low, value), high=max(found.high, value))
    return found, notes


def _scaled(work: Groundwork, reward: Floats) -> Floats:
    assert work.rewards is not None
    least, most = work.rewards
    scaled: Floats = (reward - least) / (most - least)
    return scaled


def _unscaled(work: Groundwork, found: Bounds) -> Bounds:
    assert work.rewards is not None
    least, most = work.rewards
    return found._replace(low=least + found.low * (most - least), high=least + found.high * (most - least))


def _likelihood(work: Groundwork, drawn: Drawn, limit: float) -> Bounds:
    sums = empirical_likelihood.sums_of(drawn.weight, _scaled(work, drawn.reward), limit)
    found = empirical_likelihood.cressie_read_interval(sums, work.confidence)
    return _unscaled(work, found._replace(ground=ground_of(work)))


def drawn_rewards(
    work: Groundwork, rounds: TargetRounds, weight: Floats, reward: Floats
) -> tuple[Floats, Floats]:
    """Weights and rewards of draws; what the log itself played has all its rewards, each once."""
    if not rounds.target.is_logged:
        return weight, reward
    seen = work.log.reward[work.log.rewarded & work.design.covered]
    return np.ones(seen.size), seen


def at_any_time(estimator: str, work: Groundwork, rounds: TargetRounds, confidence: float) -> Bounds:
    """The interval that holds in all rounds at once: with the model's help, or by ips."""
    if work.design.shares is not None:
        raise NoSupport("anytime intervals need blocks of one length, and those of this log differ")
    if estimator == "dr":
        found = robust_sequence(work, rounds, confidence)
    else:
        rows = work.design.rows
        weight = rounds.of_arm[rows] / work.design.propensity
        weight, reward = drawn_rewards(work, rounds, weight, work.log.reward[rows])
        found = sequences.confidence_sequence(weight, _scaled(work, reward), confidence)
    if not found.low < found.high:
        return NO_BOUNDS
    ground: Ground = "assumed" if work.design.kind == "fixed" else "guaranteed"
    return _unscaled(work, found._replace(ground=ground))
