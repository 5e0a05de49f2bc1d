"""Estimators of a target's value from the drawn rounds of a log, each by its name in the literature.

Round i has a weight w = (target's probability of the arm)/(propensity), a reward r, the model's value q of
the arm played, and the model's value d of the target. The estimate is the mean of d + g(w) (r - q), with
d = q = 0 where there is no model; g leaves weights as they are, or makes large ones smaller. Where a round
stands for several, of a block or of rows that were left out, it counts so often in every mean.

| name | what it is |
|---|---|
| `dm` | direct method: the linear model of all rounds |
| `ips` | inverse propensity scoring: w r (Horvitz and Thompson, 1952) |
| `snips` | self-normalised ips: w r over the mean of w (Swaminathan and Joachims, 2015) |
| `dr` | doubly robust: d + w (r - q) (Dudik et al., 2011), with the model frozen at block starts |
| `clipped` | dr with min(w, setting) |
| `switch` | SWITCH-DR: dr where w <= setting, else dm (Wang et al., 2017) |
| `shrinkage` | dr with optimistic shrinkage, s w/(w^2 + s) (Su et al., 2020) |
| `subgaussian` | dr with w/(1 - s + s w) (Metelli et al., 2021) |
| `slope` | `shrinkage` as SLOPE sets it (Su, Srinath and Krishnamurthy, 2020); the interval of `dr` |
| `mips` | marginalised ips: weights of what arms have in common (Saito and Joachims, 2022) |
| `blocks` | dr over all rounds of a block up to its exploration; infex's own, without a published name |

Values have two further names: `on_policy`, the mean reward of the log itself, and `manski`, ips with
worst-case bounds for what the log could not play (Manski, 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.errors import InvalidSetting, NoSupport
from infex.evaluation.intervals import dot, reweighted
from infex.evaluation.model import LogAnalysis
from infex.evaluation.overlap import Overlap
from infex.logs.arm_features import spans

WEIGHTED = (
    "ips", "snips", "dr", "blocks", "clipped", "switch", "shrinkage", "subgaussian", "slope", "mips",
)  # fmt: skip
MODELLED = ("dr", "clipped", "switch", "shrinkage", "subgaussian", "slope")
ESTIMATORS = ("auto", "dm", *WEIGHTED)
SETTINGS = {"clipped": 10.0, "switch": 10.0, "shrinkage": 100.0, "subgaussian": 0.1}
SLOPE_FACTOR = math.sqrt(6.0) - 1.0
SLOPE_SETTINGS = (1000.0, 100.0, 10.0, 1.0, 0.1)
SLOPE_ERROR_RATE = 0.1
Change = Literal["none", "clip", "switch", "shrinkage", "subgaussian"]


# Formulas


class WeightedRounds(NamedTuple):
    """Each round's weight and reward, and the model's values of target and arm; 0 without a model.

    `shares` say how much each round counts, with mean 1; None if all count the same.
    """

    weight: Floats
    reward: Floats
    direct: Floats
    at: Floats
    shares: Floats | None = None


class Estimate(NamedTuple):
    """A value and its standard error."""

    value: float
    error: float


@final
@dataclass(frozen=True, slots=True)
class WeightedEstimator:
    """One estimator. `change` makes large weights smaller, by `setting`; `ratio` divides by their mean.

    >>> import numpy as np
    >>> zero = np.zeros(2)
    >>> rounds = WeightedRounds(np.array([2.0, 0.0]), np.array([1.0, 3.0]), zero, zero)
    >>> WeightedEstimator().estimate(rounds).value, WeightedEstimator(ratio=True).estimate(rounds).value
    (1.0, 1.0)
    """

    change: Change = "none"
    setting: float = math.inf
    ratio: bool = False

    def __post_init__(self) -> None:
        if self.setting != math.inf:
            most = 1.0 if self.change == "subgaussian" else None
            object.__setattr__(self, "setting", real("setting", self.setting, least=0, most=most))

    def terms(self, rounds: WeightedRounds) -> Floats:
        """The term of each round: their mean, by the shares of rounds, is the estimate."""
        scale = _mean_weight(rounds) if self.ratio else 1.0
        terms = self.changed(rounds.weight) * (rounds.reward - rounds.at)
        terms /= scale
        terms += rounds.direct
        return terms

    def changed(self, weight: Floats) -> Floats:
        """The weights of rounds in the estimate."""
        setting = self.setting
        if self.change == "clip":
            return np.minimum(weight, setting)
        if self.change == "switch":
            return np.where(weight <= setting, weight, 0.0)
        if self.change == "shrinkage" and setting == 0.0:
            return np.zeros(weight.size)
        if self.change == "shrinkage" and setting < math.inf:
            return setting * weight / (weight * weight + setting)
        if self.change == "subgaussian" and 0.0 < setting < math.inf:
            return np.divide(
                weight, 1.0 - setting + setting * weight, out=np.zeros(weight.size), where=weight > 0.0
            )
        return weight

    def estimate(self, rounds: WeightedRounds) -> Estimate:
        """The estimate and its standard error: of a mean, or of a ratio by the delta method."""
        if not rounds.weight.size:
            raise NoSupport("there is no round that the log drew with a known propensity and a reward")
        n = rounds.weight.size
        terms = self.terms(rounds)
        value = float(reweighted(terms, rounds.shares).mean())
        if self.ratio:
            mean, direct = _mean_weight(rounds), float(reweighted(rounds.direct, rounds.shares).mean())
            terms = terms - (value - direct) * (rounds.weight / mean - 1.0)
        apart = reweighted(terms, rounds.shares) - value
        return Estimate(value, math.sqrt(dot(apart, apart) / n / n) if n > 1 else math.nan)


def _mean_weight(rounds: WeightedRounds) -> float:
    mean = float(reweighted(rounds.weight, rounds.shares).mean())
    if not mean > 0.0:
        raise NoSupport("the log never played an arm that the target plays: all weights are 0")
    return mean


IPS = WeightedEstimator()
SNIPS = WeightedEstimator(ratio=True)


def clipped(most: float) -> WeightedEstimator:
    """Weights of at most `most`."""
    return WeightedEstimator("clip", most)


def switch(most: float) -> WeightedEstimator:
    """Weights up to `most`; where they are larger, the model alone (Wang et al., 2017)."""
    return WeightedEstimator("switch", most)


def shrinkage(setting: float) -> WeightedEstimator:
    """s w/(w^2 + s): the plain weights for s = inf, the model alone for s = 0 (Su et al., 2020)."""
    return WeightedEstimator("shrinkage", setting)


def subgaussian(setting: float) -> WeightedEstimator:
    """w/(1 - s + s w), s from 0 to 1: plain weights for s = 0, none for s = 1 (Metelli et al., 2021)."""
    return WeightedEstimator("subgaussian", setting)


BY_NAME: dict[str, Callable[[float], WeightedEstimator]] = {
    "dr": lambda setting: IPS,
    "clipped": clipped,
    "switch": switch,
    "shrinkage": shrinkage,
    "subgaussian": subgaussian,
}


def slope_choice(estimators: Sequence[WeightedEstimator], rounds: WeightedRounds) -> int:
    """Where to stop from the widest interval to the narrowest, while all agree (Su et al., 2020).

    Estimator i is kept while |v_j - v_i| <= c_i + (sqrt 6 - 1) c_j for all j that were kept.
    """
    from scipy.special import stdtrit

    n = rounds.weight.size
    if n < 2:
        raise NoSupport("settings are tuned on two draws or more, got one")
    found = [each.estimate(rounds) for each in estimators]
    stretch = float(stdtrit(n - 1, 1.0 - SLOPE_ERROR_RATE)) * math.sqrt(n / (n - 1))
    half = [each.error * stretch for each in found]
    order = sorted(range(len(estimators)), key=lambda place: -half[place])
    kept = [order[0]]
    for this in order[1:]:
        if any(abs(found[j].value - found[this].value) > half[this] + SLOPE_FACTOR * half[j] for j in kept):
            break
        kept.append(this)
    return kept[-1]


def marginal_weights(probabilities: Floats, propensities: Floats, embedding: Floats) -> Floats:
    """Weights by what arms have in common: p(e | target)/p(e | log) (Saito and Joachims, 2022).

    All are (n, K); `embedding` is the probability of what was seen in each round, had that arm been played.
    """
    below = (propensities * embedding).sum(axis=1)
    if (below <= 0.0).any():
        raise NoSupport(f"{int((below <= 0.0).sum()):,} rounds saw what no arm of the log could have")
    found: Floats = (probabilities * embedding).sum(axis=1) / below
    return found


# Estimators on a log


@final
@dataclass(frozen=True, slots=True, eq=False)
class WeightedTerms:
    """An estimate as `model` plus the mean of `terms`, one for each of `rows` (draws, or blocks).

    `weight` and `reward` are those of drawn rounds; `changed` are weights that the estimator made smaller.
    Both weights, and the terms, are times the share of the round. `direct` is the part of the terms by which
    the model's value is uncertain because rows were left out; its mean is 0.
    """

    model: float
    terms: Floats
    rows: Integers
    weight: Floats
    reward: Floats
    changed: Floats | None = None
    direct: Floats | None = None


def weighted_terms(
    estimator: str,
    analysis: LogAnalysis,
    overlap: Overlap,
    setting: float | None = None,
    embedding: Floats | None = None,
) -> WeightedTerms:
    """The terms of a target by one of the `WEIGHTED` estimators; for `logged`, what the log itself earned."""
    if overlap.target.is_logged:
        return _on_policy(analysis, overlap)
    rows, shares = analysis.design.rows, analysis.design.shares
    plain, reward = overlap.probability[rows] / analysis.design.propensity, analysis.log.reward[rows]
    if estimator == "mips":
        plain = _marginal_weights(analysis, overlap, embedding)
    weight = plain if shares is None else plain * shares
    if estimator in ("ips", "mips"):
        return WeightedTerms(0.0, reweighted(plain * reward, shares), rows, weight, reward)
    if estimator == "snips":
        none = np.zeros(rows.size)
        value = SNIPS.estimate(WeightedRounds(plain, reward, none, none, shares)).value
        return WeightedTerms(0.0, value + weight * (reward - value) / weight.mean(), rows, weight, reward)
    if estimator == "blocks":
        return _by_blocks(analysis, overlap, weight, reward)
    left = WeightedRounds(plain, reward, np.zeros(rows.size), analysis.drawn_estimates, shares)
    number = SETTINGS.get(estimator, 0.0) if setting is None else setting
    if estimator == "slope":
        place = slope_choice([shrinkage(each) for each in SLOPE_SETTINGS], left)
        estimator, number = "shrinkage", SLOPE_SETTINGS[place]
    chosen = BY_NAME[estimator](number)
    changed = None if estimator == "dr" else chosen.changed(plain) * (1.0 if shares is None else shares)
    terms, direct = reweighted(chosen.terms(left), shares), None
    if analysis.shares is not None:
        direct = reweighted(direct_values(analysis, overlap, rows), shares)
        direct -= direct.mean()
        terms = terms + direct
    return WeightedTerms(frozen_value(analysis, overlap), terms, rows, weight, reward, changed, direct)


def draw_weights(analysis: LogAnalysis, overlap: Overlap) -> Floats:
    """The weight of each drawn round: the target's probability of its arm over the log's, times its share."""
    design = analysis.design
    weight = overlap.probability[design.rows] / design.propensity
    return weight if design.shares is None else weight * design.shares


def frozen_value(analysis: LogAnalysis, overlap: Overlap) -> float:
    """The value of a target on the represented rounds, each by the model frozen at its block's start."""
    covered = int(analysis.design.covered.sum())
    if not covered:
        return math.nan
    return float(np.einsum("ij,ij->", overlap.block_features, analysis.thetas)) / covered


def direct_values(analysis: LogAnalysis, overlap: Overlap, rows: Integers) -> Floats:
    """The frozen model's value of a target in these rounds."""
    features, of_round = analysis.features, analysis.design.of_round
    found, thetas = np.empty(len(analysis.log)), features.across(analysis.thetas)
    for span in spans(len(analysis.log)):
        parts = features.parts(span, overlap.target.probabilities(span))
        found[span] = np.einsum("ij,ij->i", parts, thetas[np.maximum(of_round[span], 0)])
    return found[rows]


def _on_policy(analysis: LogAnalysis, overlap: Overlap) -> WeightedTerms:
    """The rewards of the log or, in blocks, the frozen model's value and the mean residual of each block."""
    design, log = analysis.design, analysis.log
    places = np.flatnonzero(log.rewarded & design.covered)
    if not (design.drawn_blocks and design.rows.size):
        rows = design.rows if design.rows.size else places
        reward, shares = log.reward[rows], None
        if log.inverse_kept is not None and rows.size:
            shares = log.inverse_kept[rows] / log.inverse_kept[rows].mean()
        weight = np.ones(rows.size) if shares is None else shares
        return WeightedTerms(0.0, reweighted(reward, shares), rows, weight, reward)
    left = log.reward[places] - analysis.frozen_estimates[places]
    blocks = design.of_round[places]
    count = np.bincount(blocks, minlength=design.starts.size)
    means = np.bincount(blocks, weights=left, minlength=design.starts.size) / np.maximum(count, 1)
    rows, terms = design.rows, reweighted(means[design.block], design.shares)
    return WeightedTerms(frozen_value(analysis, overlap), terms, rows, np.ones(rows.size), log.reward[rows])


def _by_blocks(analysis: LogAnalysis, overlap: Overlap, weight: Floats, reward: Floats) -> WeightedTerms:
    """Each block from all its rounds up to the exploration, each over its probability to be reached.

    A round is reached with probability (m - j)/m at place j of its block; as part of the block's mean it
    counts 1/m over that, which is 1/(m - j).
    """
    design, log = analysis.design, analysis.log
    if design.kind != "jittered" or log.propensity is None or log.explore_probability is None:
        raise NoSupport(
            'estimator="blocks" needs the log of a jittered schedule with the propensity of each arm'
        )
    reached = (log.explore_probability > 0.0) & design.covered
    rows = np.flatnonzero(reached & log.rewarded & ~np.isnan(log.propensity))
    block = design.of_round[rows]
    share = 1.0 / (design.lengths[block] - (rows - design.starts[block]))
    v = overlap.probability[rows] / log.propensity[rows]
    terms = direct_values(analysis, overlap, rows) + v * (log.reward[rows] - analysis.frozen_estimates[rows])
    means = np.zeros(design.starts.size)
    np.add.at(means, block, share * terms)
    used = np.unique(block)
    sizes = design.lengths[used]
    terms = reweighted(means[used], sizes / sizes.mean() if sizes.size else None)
    return WeightedTerms(0.0, terms, design.starts[used], weight, reward)


def _marginal_weights(analysis: LogAnalysis, overlap: Overlap, embedding: Floats | None) -> Floats:
    log = analysis.log
    if embedding is None or log.base_propensities is None:
        raise InvalidSetting(
            'estimator="mips" needs base_propensities in the log, and embedding_probabilities (n, K): those '
            "of what was seen in each round, had that arm been played"
        )
    if np.shape(embedding) != (len(log), log.count):
        raise InvalidSetting(
            f"embedding_probabilities must have the shape {(len(log), log.count)}, got {np.shape(embedding)}"
        )
    embedding = analysis.in_order(embedding)
    parts = [
        marginal_weights(overlap.target.probabilities(span), log.base_propensities[span], embedding[span])
        for span in spans(len(log))
    ]
    return np.concatenate(parts)[analysis.design.rows]
