"""Estimators of a target's value from the drawn rounds of a log, each by its name in the literature.

Round i has a weight w = (target's probability of the arm)/(propensity), a reward r, the model's value q of
the arm played, and the model's value d of the target. The estimate is the mean of d + g(w) (r - q), with
d = q = 0 where there is no model; g leaves weights as they are, or makes large ones smaller.

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

Values say two further names: `on_policy`, the mean reward of the log itself, and `manski`, ips with
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
from infex.evaluation.designs import reached_rounds
from infex.evaluation.groundwork import Groundwork, TargetRounds
from infex.logs.arm_features import spans

WEIGHTED = (
    "ips", "snips", "dr", "blocks", "clipped", "switch", "shrinkage", "subgaussian", "slope", "mips",
)  # fmt: skip
MODELLED = ("dr", "clipped", "switch", "shrinkage", "subgaussian", "slope")
ESTIMATORS = ("auto", "dm", *WEIGHTED)
SETTINGS = {"clipped": 10.0, "switch": 10.0, "shrinkage": 100.0, "subgaussian": 0.1}
SLOPE_FACTOR = math.sqrt(6.0) - 1.0
GRID = (1000.0, 100.0, 10.0, 1.0, 0.1)  # settings that `slope` chooses from
Change = Literal["none", "clip", "switch", "shrinkage", "subgaussian"]


class WeightedRounds(NamedTuple):
    """Each round's weight, reward, and the model's values of the target and of the arm; 0 without a model."""

    weight: Floats
    reward: Floats
    direct: Floats
    at: Floats


class Estimate(NamedTuple):
    """A value and its standard error."""

    value: float
    error: float


@final
@dataclass(frozen=True, slots=True)
class WeightedEstimator:
    """One estimator. `change` makes weights smaller, by `setting`; `ratio` divides by their mean.

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
        """What each round adds: their mean is the estimate."""
        scale = _mean_weight(rounds) if self.ratio else 1.0
        terms = self.changed(rounds.weight) * (rounds.reward - rounds.at)
        terms /= scale
        terms += rounds.direct
        return terms

    def changed(self, weight: Floats) -> Floats:
        """The weights that rounds have in the estimate."""
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
            raise NoSupport("there is no round that the log has drawn with a known propensity and a reward")
        n = rounds.weight.size
        if self.ratio:
            mean, missed = _mean_weight(rounds), rounds.reward - rounds.at
            direct, ratio = float(rounds.direct.mean()), dot(rounds.weight, missed) / n / mean
            value, apart = direct + ratio, rounds.direct - direct + rounds.weight * (missed - ratio) / mean
        else:
            terms = self.terms(rounds)
            value = float(terms.mean())
            apart = terms - value
        return Estimate(value, math.sqrt(dot(apart, apart) / n / n) if n > 1 else math.nan)


def dot(a: Floats, b: Floats) -> float:
    """The sum of a_i b_i, infinite where that overflows; BLAS would start threads."""
    return float(np.einsum("i,i->", a, b))


def _mean_weight(rounds: WeightedRounds) -> float:
    mean = float(rounds.weight.mean())
    if not mean > 0.0:
        raise NoSupport("the log never played an arm that the target plays, so that weights say nothing")
    return mean


IPS = WeightedEstimator()
SNIPS = WeightedEstimator(ratio=True)


def clipped(most: float) -> WeightedEstimator:
    """Weights of at most so much."""
    return WeightedEstimator("clip", most)


def switch(most: float) -> WeightedEstimator:
    """Weights up to so much; where they are larger, the model alone (Wang et al., 2017)."""
    return WeightedEstimator("switch", most)


def shrinkage(setting: float) -> WeightedEstimator:
    """s w/(w^2 + s): the plain weights for s = inf, the model alone for s = 0 (Su et al., 2020)."""
    return WeightedEstimator("shrinkage", setting)


def subgaussian(setting: float) -> WeightedEstimator:
    """w/(1 - s + s w), s from 0 to 1: plain weights for s = 0, none for s = 1 (Metelli et al., 2021)."""
    return WeightedEstimator("subgaussian", setting)


def weighted_rounds(
    arm: Integers,
    reward: Floats,
    propensity: Floats,
    probabilities: Floats,
    fitted: Floats | None = None,
) -> WeightedRounds:
    """Weights and model values of rounds; (n, K): the target's `probabilities`, the model's `fitted`."""
    each = np.arange(arm.size)
    weight = probabilities[each, arm] / propensity
    if fitted is None:
        zero = np.zeros(arm.size)
        return WeightedRounds(weight, reward, zero, zero)
    return WeightedRounds(weight, reward, np.einsum("nk,nk->n", probabilities, fitted), fitted[each, arm])


def without_model(rounds: WeightedRounds) -> WeightedRounds:
    """The same rounds, of which no model is asked."""
    zero = np.zeros(rounds.weight.size)
    return WeightedRounds(rounds.weight, rounds.reward, zero, zero)


def effective(weight: Floats) -> float:
    """How many rounds of equal weight would say as much: (sum w)^2/sum w^2."""
    squares = dot(weight, weight)
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def slope_choice(estimators: Sequence[WeightedEstimator], rounds: WeightedRounds, doubt: float = 0.1) -> int:
    """Where to stop from the widest interval to the narrowest, while all agree (Su et al., 2020).

    Estimator i is kept while |v_j - v_i| <= c_i + (sqrt 6 - 1) c_j for all j that were kept.
    """
    from scipy.special import stdtrit

    n = rounds.weight.size
    if n < 2:
        raise NoSupport("settings are tuned on two draws or more, got one")
    found = [each.estimate(rounds) for each in estimators]
    stretch = float(stdtrit(n - 1, 1.0 - doubt)) * math.sqrt(n / (n - 1))
    half = [each.error * stretch for each in found]
    order = sorted(range(len(estimators)), key=lambda place: -half[place])
    kept = [order[0]]
    for this in order[1:]:
        apart = (abs(found[j].value - found[this].value) for j in kept)
        reach = (half[this] + SLOPE_FACTOR * half[j] for j in kept)
        if any(far > near for far, near in zip(apart, reach, strict=True)):
            break
        kept.append(this)
    return kept[-1]


def least_error_choice(
    estimators: Sequence[WeightedEstimator], rounds: WeightedRounds, doubt: float = 0.1
) -> int:
    """Which estimator has the least bound on its mean squared error (Su et al., 2020)."""
    n, w = rounds.weight.size, rounds.weight
    zero = np.zeros(n)
    missed = WeightedRounds(w, rounds.reward - rounds.at, zero, zero)
    whole = IPS.estimate(missed).value
    log = math.log(2.0 / doubt)
    more = math.sqrt(2.0 * float(w @ w) / n * log / n) + 2.0 * float(w.max()) * log / (3.0 * n)
    scores = []
    for each in estimators:
        bias = abs(whole - each.estimate(missed).value) + more
        scores.append(each.estimate(rounds).error ** 2 + bias**2)
    return scores.index(min(scores))


def marginal_weights(probabilities: Floats, propensities: Floats, embedding: Floats) -> Floats:
    """Weights by what arms have in common: p(e | target)/p(e | log) (Saito and Joachims, 2022).

    All are (n, K); `embedding` is the probability of what was seen in each round, had that arm been played.
    """
    below = (propensities * embedding).sum(axis=1)
    if (below <= 0.0).any():
        raise NoSupport(f"{int((below <= 0.0).sum()):,} rounds saw what no arm of the log could have")
    found: Floats = (probabilities * embedding).sum(axis=1) / below
    return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """`model` plus the mean of `gains`, one for each of `rows` (draws, or blocks); `weight` of draws.

    `reward` and `weight` are of drawn rounds; `taken` are the weights that the estimator gives them,
    and `setting` is what it was tuned to.
    """

    model: float
    gains: Floats
    rows: Integers
    weight: Floats
    reward: Floats
    setting: float | None = None
    taken: Floats | None = None


def drawn_by(
    estimator: str, work: Groundwork, rounds: TargetRounds, setting: float | None, embedding: Floats | None
) -> Drawn:
    """The draws of a target by one of the `WEIGHTED` estimators."""
    if rounds.target.is_logged:
        return on_policy(work, rounds)
    rows = work.design.rows
    weight, reward = draw_weights(work, rounds), work.log.reward[rows]
    if estimator == "mips":
        weight = _marginal(work, rounds, embedding)
    if estimator in ("ips", "mips"):
        return Drawn(0.0, weight * reward, rows, weight, reward)
    if estimator == "snips":
        none = np.zeros(rows.size)
        value = SNIPS.estimate(WeightedRounds(weight, reward, none, none)).value
        return Drawn(0.0, value + weight * (reward - value) / weight.mean(), rows, weight, reward)
    if estimator == "blocks":
        return by_blocks(work, rounds, weight, reward, with_model=True)
    return _with_model(estimator, work, rounds, setting, weight, reward)


def draw_weights(work: Groundwork, rounds: TargetRounds) -> Floats:
    """The weight of each drawn round: the target's probability of its arm over the log's, times its share."""
    weight, shares = rounds.of_arm[work.design.rows] / work.design.propensity, work.design.shares
    return weight if shares is None else weight * shares


def _with_model(
    estimator: str,
    work: Groundwork,
    rounds: TargetRounds,
    setting: float | None,
    weight: Floats,
    reward: Floats,
) -> Drawn:
    """The frozen model's value, and residuals of drawn rounds by weights that may be made smaller."""
    rows, model = work.design.rows, frozen_value(work, rounds)
    left = WeightedRounds(weight, reward, np.zeros(rows.size), work.fitted_draws)
    number = SETTINGS.get(estimator, 0.0) if setting is None else setting
    if estimator == "slope":
        place = slope_choice([shrinkage(each) for each in GRID], left)
        estimator, number = "shrinkage", GRID[place]
    made: dict[str, Callable[[float], WeightedEstimator]] = {
        "dr": lambda _: IPS,
        "clipped": clipped,
        "switch": switch,
        "shrinkage": shrinkage,
        "subgaussian": subgaussian,
    }
    chosen = made[estimator](number)
    taken = None if estimator == "dr" else chosen.changed(weight)
    return Drawn(model, chosen.terms(left), rows, weight, reward, number, taken)


def frozen_value(work: Groundwork, rounds: TargetRounds) -> float:
    """The value of a target on the covered rounds, each by the model frozen at its block's start."""
    covered = int(work.design.covered.sum())
    return float(np.einsum("ij,ij->", rounds.blocks, work.thetas)) / covered if covered else float("nan")


def on_policy(work: Groundwork, rounds: TargetRounds) -> Drawn:
    """What the log itself earned: its rewards or, in blocks, the frozen model's value and residuals."""
    design, log = work.design, work.log
    places = np.flatnonzero(log.rewarded & design.covered)
    if not (design.drawn_blocks and design.rows.size):
        rows = design.rows if design.rows.size else places
        return Drawn(0.0, log.reward[rows], rows, np.ones(rows.size), log.reward[rows])
    left = log.reward[places] - work.fitted(places)
    model = frozen_value(work, rounds)
    blocks = design.of_round[places]
    count = np.bincount(blocks, minlength=design.starts.size)
    means = np.bincount(blocks, weights=left, minlength=design.starts.size) / np.maximum(count, 1)
    rows, shares = design.rows, design.shares
    means = means[design.block] if shares is None else means[design.block] * shares
    return Drawn(model, means, rows, np.ones(rows.size), log.reward[rows])


def by_blocks(
    work: Groundwork, rounds: TargetRounds, weight: Floats, reward: Floats, *, with_model: bool
) -> Drawn:
    """Each block from all its rounds up to the exploration, each over its probability to be reached."""
    design, log = work.design, work.log
    if design.kind != "jittered" or log.propensity is None:
        raise NoSupport(
            'estimator="blocks" needs the log of a jittered schedule with the propensity of each arm'
        )
    rows, propensity, share = reached_rounds(design, log)
    v = rounds.of_arm[rows] / propensity
    terms = v * log.reward[rows]
    if with_model:
        direct = direct_values(work, rounds, rows)
        terms = direct + v * (log.reward[rows] - work.fitted(rows))
    means = np.zeros(design.starts.size)
    np.add.at(means, design.of_round[rows], share * terms)
    kept = np.unique(design.of_round[rows])
    sizes = design.lengths[kept]
    return Drawn(0.0, means[kept] * (sizes / sizes.mean()), design.starts[kept], weight, reward)


def direct_values(work: Groundwork, rounds: TargetRounds, rows: Integers) -> Floats:
    """The frozen model's value of a target in these rounds."""
    found, thetas = np.empty(len(work.log)), work.looks.across(work.thetas)
    for span in spans(len(work.log)):
        parts = work.looks.parts(span, rounds.target.probabilities(span))
        found[span] = np.einsum("ij,ij->i", parts, thetas[np.maximum(work.design.of_round[span], 0)])
    return found[rows]


def _marginal(work: Groundwork, rounds: TargetRounds, embedding: Floats | None) -> Floats:
    if embedding is None or work.log.base_propensities is None:
        raise InvalidSetting(
            'estimator="mips" needs base_propensities in the log, and embedding_probabilities (n, K): those '
            "of what was seen in each round, had that arm been played"
        )
    if np.shape(embedding) != (len(work.log), work.log.count):
        raise InvalidSetting(
            f"embedding_probabilities must have the shape {(len(work.log), work.log.count)}, "
            f"got {np.shape(embedding)}"
        )
    parts = [
        marginal_weights(
            rounds.target.probabilities(span), work.log.base_propensities[span], np.asarray(embedding)[span]
        )
        for span in spans(len(work.log))
    ]
    return np.concatenate(parts)[work.design.rows]
