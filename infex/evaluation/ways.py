"""How weights and a model become an estimate: each way once, as what every round adds to it.

Round i has a weight w = (target's chance of the arm)/(log's), a reward r, the model's value q of the arm
played, and the model's value d of the target. The estimate is the mean of d + g(w) (r - q), with d = q = 0
where there is no model; g leaves weights as they are, or makes large ones smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.errors import NoSupport

SLOPE_FACTOR = math.sqrt(6.0) - 1.0
Change = Literal["none", "clip", "switch", "shrink", "bend"]
GRID = (1000.0, 100.0, 10.0, 1.0, 0.1)  # settings that `tuned` chooses from


class Weighed(NamedTuple):
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
class Way:
    """One estimator. `change` makes weights smaller, by `setting`; `ratio` divides by their mean.

    >>> import numpy as np
    >>> zero = np.zeros(2)
    >>> rounds = Weighed(np.array([2.0, 0.0]), np.array([1.0, 3.0]), zero, zero)
    >>> Way().estimate(rounds).value, Way(ratio=True).estimate(rounds).value
    (1.0, 1.0)
    """

    change: Change = "none"
    setting: float = math.inf
    ratio: bool = False

    def __post_init__(self) -> None:
        if self.setting != math.inf:
            most = 1.0 if self.change == "bend" else None
            object.__setattr__(self, "setting", real("setting", self.setting, least=0, most=most))

    def terms(self, rounds: Weighed) -> Floats:
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
        if self.change == "shrink" and setting == 0.0:
            return np.zeros(weight.size)
        if self.change == "shrink" and setting < math.inf:
            return setting * weight / (weight * weight + setting)
        if self.change == "bend" and 0.0 < setting < math.inf:
            return np.divide(
                weight, 1.0 - setting + setting * weight, out=np.zeros(weight.size), where=weight > 0.0
            )
        return weight

    def estimate(self, rounds: Weighed) -> Estimate:
        """The estimate and its standard error: of a mean, or of a ratio by the delta method."""
        if not rounds.weight.size:
            raise NoSupport("there is no round that the log has drawn with a known chance and a reward")
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


def _mean_weight(rounds: Weighed) -> float:
    mean = float(rounds.weight.mean())
    if not mean > 0.0:
        raise NoSupport("the log never played an arm that the target plays, so that weights say nothing")
    return mean


WEIGHTS = Way()
RATIO = Way(ratio=True)


def clipped(most: float) -> Way:
    """Weights of at most so much."""
    return Way("clip", most)


def switch(most: float) -> Way:
    """Weights up to so much; where they are larger, the model alone (Wang et al., 2017)."""
    return Way("switch", most)


def shrunk(setting: float) -> Way:
    """s w/(w^2 + s): the plain weights for s = inf, the model alone for s = 0 (Su et al., 2020)."""
    return Way("shrink", setting)


def bent(setting: float) -> Way:
    """w/(1 - s + s w), s from 0 to 1: plain weights for s = 0, none for s = 1 (Metelli et al., 2021)."""
    return Way("bend", setting)


def weighed(
    arm: Integers,
    reward: Floats,
    probability: Floats,
    chances: Floats,
    fitted: Floats | None = None,
) -> Weighed:
    """Weights and model values of rounds; `chances` (n, K) are the target's, `fitted` (n, K) the model's."""
    each = np.arange(arm.size)
    weight = chances[each, arm] / probability
    if fitted is None:
        zero = np.zeros(arm.size)
        return Weighed(weight, reward, zero, zero)
    return Weighed(weight, reward, np.einsum("nk,nk->n", chances, fitted), fitted[each, arm])


def without_model(rounds: Weighed) -> Weighed:
    """The same rounds, of which no model is asked."""
    zero = np.zeros(rounds.weight.size)
    return Weighed(rounds.weight, rounds.reward, zero, zero)


def effective(weight: Floats) -> float:
    """How many rounds of equal weight would say as much: (sum w)^2/sum w^2."""
    squares = dot(weight, weight)
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def slope_choice(ways: Sequence[Way], rounds: Weighed, doubt: float = 0.1) -> int:
    """Which way to stop at, from the widest interval to the narrowest, while all agree (Su et al., 2020).

    Way i is kept while |v_j - v_i| <= c_i + (sqrt 6 - 1) c_j for all ways j that were kept.
    """
    from scipy.special import stdtrit

    n = rounds.weight.size
    if n < 2:
        raise NoSupport("settings are tuned on two draws or more, got one")
    found = [way.estimate(rounds) for way in ways]
    stretch = float(stdtrit(n - 1, 1.0 - doubt)) * math.sqrt(n / (n - 1))
    half = [each.error * stretch for each in found]
    order = sorted(range(len(ways)), key=lambda place: -half[place])
    kept = [order[0]]
    for this in order[1:]:
        apart = (abs(found[j].value - found[this].value) for j in kept)
        reach = (half[this] + SLOPE_FACTOR * half[j] for j in kept)
        if any(far > near for far, near in zip(apart, reach, strict=True)):
            break
        kept.append(this)
    return kept[-1]


def least_error_choice(ways: Sequence[Way], rounds: Weighed, doubt: float = 0.1) -> int:
    """Which way has the least bound on its mean squared error (Su et al., 2020)."""
    n, w = rounds.weight.size, rounds.weight
    zero = np.zeros(n)
    missed = Weighed(w, rounds.reward - rounds.at, zero, zero)
    whole = WEIGHTS.estimate(missed).value
    log = math.log(2.0 / doubt)
    more = math.sqrt(2.0 * float(w @ w) / n * log / n) + 2.0 * float(w.max()) * log / (3.0 * n)
    scores = []
    for way in ways:
        bias = abs(whole - way.estimate(missed).value) + more
        scores.append(way.estimate(rounds).error ** 2 + bias**2)
    return scores.index(min(scores))


def marginal_weights(chances: Floats, laws: Floats, seen: Floats) -> Floats:
    """Weights by what arms have in common: p(e | target)/p(e | log) (Saito and Joachims, 2022).

    `seen` (n, K) is the chance of what was seen in each round, if that arm had been played; `chances` and
    `laws` (n, K) are the target's and the log's.
    """
    below = (laws * seen).sum(axis=1)
    if (below <= 0.0).any():
        raise NoSupport(f"{int((below <= 0.0).sum()):,} rounds saw what no arm of the log could have")
    found: Floats = (chances * seen).sum(axis=1) / below
    return found
