"""What is believed of a problem: its arms, and what the parameter may be, also by a log."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import ROUNDING, Floats, Integers, columns_of, labels_of, length_of
from infex.checks import LARGEST_REWARD, real, whole
from infex.errors import InvalidArms, InvalidReward, InvalidSetting, LargeReward, UnevenFeatures
from infex.features import Disjoint, FeatureMap
from infex.features.base import unit_of
from infex.lab.environments import ChangingInstance, ContextualInstance, LinearInstance, gaussian
from infex.lab.environments.contexts import OfferSets
from infex.logs import Log
from infex.logs.arm_features import (
    ArmFeatures,
    LogSums,
    OuterFeatures,
    Residuals,
    arm_features,
    penalty_of,
    played_rows,
    residuals_of,
    sums_over,
)
from infex.models.layout import DesignRows, PerArm
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.streams import stream

ERRORS_ALLOWED = 4.0
LENGTH_HALVINGS = 100


def misfit_words(sums: Sequence[LogSums], left: float, noise: float, bound: float, unit: float) -> str:
    """Why logged rewards do not fit noise and bound, or nothing; `left` is the summed square of residuals.

    There are sums for each regression, whose features are divided by `unit`, as `bound` is multiplied by it.
    """
    count = sum(each.count for each in sums)
    if not count:
        return ""
    noise = max(noise, ROUNDING * math.sqrt(sum(each.square for each in sums) / count))
    least = max(least_length(each, noise) for each in sums)
    longer = ""
    if least > bound * (1.0 + ROUNDING):
        longer = f"they need a bound of at least {rounded_up(least / unit):g}"
    surprise = left / noise**2 if left > 0.0 else 0.0
    if surprise > count + 6.0 * math.sqrt(2.0 * count):
        words = f"do not fit noise {noise:.3g} and bound {bound / unit:g}: they lie "
        words += f"{math.sqrt(surprise / count):.3g} times as far off as these allow"
        words += f" ({longer})" if longer else ""
    elif longer:
        words = f"lie beyond what bound {bound / unit:g} allows: {longer}"
    else:
        return ""
    return f"{count:,} logged rewards {words}"


def warn_of_misfit(sums: Sequence[LogSums], left: float, noise: float, bound: float, unit: float) -> None:
    """Warns of logged rewards that do not fit the noise and the bound of a plan, as `misfit_words` says."""
    words = misfit_words(sums, left, noise, bound, unit)
    if words:
        warnings.warn(
            f"{words}, so that the plan would be of problems unlike yours", LargeReward, stacklevel=6
        )


def rounded_up(length: float) -> float:
    """The next number of three digits, which is easy to type.

    >>> rounded_up(3.99643), rounded_up(1.0), rounded_up(12345.6)
    (4.0, 1.0, 12400.0)
    """
    digit = 10.0 ** (math.floor(math.log10(length)) - 2)
    return float(f"{math.ceil(length / digit * (1.0 - 1e-12)) * digit:.3g}")


def least_length(sums: LogSums, noise: float) -> float:
    """The length of the shortest parameter that logged rewards may come from, by their noise.

    Among all theta with |theta - estimate| in V at most noise (sqrt d + 4): where logs say little, a short
    one fits. It is a ridge estimate whose penalty makes it just so far off, which is found by halving.
    """
    values, turned = np.linalg.eigh(sums.gram)
    seen = values > 1e-12 * max(float(values[-1]), 1e-300)
    spread, moment = values[seen], (turned.T @ sums.moment)[seen]
    far = noise * (math.sqrt(len(values)) + ERRORS_ALLOWED)
    if float((moment**2 / spread).sum()) <= far**2:
        return 0.0
    low, high = (math.log(float(end)) for end in (1e-15 * spread[0], 1e15 * spread[-1]))
    for _ in range(LENGTH_HALVINGS):
        middle = 0.5 * (low + high)
        penalty = math.exp(middle)
        off = float((moment**2 * (penalty / (spread + penalty)) ** 2 / spread).sum())
        low, high = (middle, high) if off <= far**2 else (low, middle)
    return float(np.linalg.norm(moment / (spread + math.exp(low))))


LARGEST_FEATURE = 1e100
LEAST_POSTERIOR_PENALTY = 1e-9  # with less, the sums of a posterior lose too many digits
SIZE_RATIO_WARNED = 10.0  # one is warned of a feature so many times as large as the smallest


PlannedProblem = LinearInstance | ChangingInstance | ContextualInstance


@final
@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Problems to simulate: a user's arms, or arms drawn as in the paper, and a law of the parameter.

    A user's arms were divided by `longest`, so that none is longer than 1. Without logged
    rewards the parameter is uniform on the sphere of radius `bound`; with them it is drawn from
    their Gaussian posterior, and every run begins with what they have taught: `learnt`. Where arms are other
    ones in every round, these are drawn from `offers`; with one row each, `offers` are contexts, and every
    arm has a parameter of its own: `mean` is (K, c). `penalty` is that of the runs. `noise_by` says in words
    where the noise is from, if there is a log.
    """

    dim: int
    count: int
    noise: float
    bound: float
    arms: Floats | None = None
    longest: float = 1.0
    mean: Floats | None = None
    root: Floats | None = None
    labels: list[str] | None = None
    learnt: RidgeModel | RidgeBankModel | None = None
    offers: OfferSets | None = None
    penalty: float = 1.0
    noise_by: str = ""

    def instance(self, number: int, seed: int) -> PlannedProblem:
        """One of the problems."""
        rng = stream(seed, "planned", number)
        rows = self._rows(rng)
        return self._with(rows, self._theta(rng))

    def _rows(self, rng: np.random.Generator) -> Floats:
        """The arms, or those of the first round; drawn where nobody has said them."""
        rows = self.arms if self.offers is None else self.offers.rows[0]
        return gaussian(self.dim, self.count, rng).arms if rows is None else rows

    def _theta(self, rng: np.random.Generator) -> Floats:
        """A parameter by its law."""
        if self.mean is None or self.root is None:
            return self._on_sphere(rng)
        return self.mean + (self.root @ rng.standard_normal(self.mean.shape)[..., None])[..., 0]

    def _on_sphere(self, rng: np.random.Generator) -> Floats:
        drawn = rng.standard_normal(self.dim)
        return np.asarray(self.bound * drawn / length_of(drawn))

    def _with(self, rows: Floats, theta: Floats) -> PlannedProblem:
        if self.offers is None:
            return LinearInstance(rows, theta, "gaussian", noise=self.noise)
        if theta.ndim == 2:
            return ContextualInstance(thetas=theta, sets=self.offers, rewards="gaussian", noise=self.noise)
        return ChangingInstance(
            theta=theta, arms=self.count, sets=self.offers, rewards="gaussian", noise=self.noise
        )


def belief(
    arms: ArrayLike | None,
    labels: Iterable[object] | None,
    dim: int | None,
    arms_count: int | None,
    noise: float | None,
    bound: float,
    logged: tuple[Any, Any] | None,
) -> Belief:
    """A belief from a user's settings; if an arm is longer than 1, all are divided by the greatest length.

    Where `noise` is not said, it is that of logged rewards, else 1.
    """
    bound = real("bound", bound, above=0)
    if arms is None or logged is None:
        noise = 1.0 if noise is None else noise
    if noise is not None:
        noise = real("noise", noise, above=0)
    if arms is None:
        _refuse_without_arms(logged, labels)
        return _of_drawn_arms(dim, arms_count, 1.0 if noise is None else noise, bound)
    if dim is not None or arms_count is not None:
        raise InvalidSetting("give either the arms, or their dim and arms_count")
    prior = _of_own_arms(arms, labels, 1.0 if noise is None else noise, bound)
    if logged is None:
        return prior
    _refuse_no_pair(logged)
    return _informed(prior, *logged, is_told=noise is not None)


def _refuse_no_pair(logged: object) -> None:
    if not isinstance(logged, (tuple, list)) or len(logged) != 2:
        raise InvalidReward(f"logged must be a pair: arms and their rewards, got {str(logged)[:80]!r}")


def _refuse_without_arms(logged: object, labels: object) -> None:
    if logged is not None or labels is not None:
        raise InvalidSetting("logged rewards and labels need the arms that they are of")


def _of_drawn_arms(dim: int | None, arms_count: int | None, noise: float, bound: float) -> Belief:
    if dim is None or arms_count is None:
        raise InvalidSetting("give the arms, or their dim and arms_count")
    return Belief(whole("dim", dim, least=1), whole("arms_count", arms_count, least=2), noise, bound)


def _of_own_arms(arms: ArrayLike, labels: Iterable[object] | None, noise: float, bound: float) -> Belief:
    rows = _rows(arms)
    longest = rounded_up(max(float(np.linalg.norm(rows, axis=1).max()), 1.0))
    columns = columns_of(rows / longest)
    names = labels_of(None if labels is None else [str(label) for label in labels], len(rows))
    return Belief(
        columns.shape[0],
        len(rows),
        noise,
        float(f"{bound * longest:.6g}"),
        columns.T.copy(),
        longest,
        labels=None if names is None else [str(name) for name in names],
    )


def _rows(arms: ArrayLike) -> Floats:
    """A user's arms as rows of numbers, if there is something to choose among them."""
    try:
        rows = np.array(arms, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArms(f"arms must be rows of as many numbers each, got {str(arms)[:80]!r}") from None
    if rows.ndim != 2 or len(rows) < 2:
        raise InvalidArms(f"arms must be two or more rows of numbers, got shape {rows.shape}")
    if not (np.abs(rows) <= LARGEST_FEATURE).all():
        row, column = np.argwhere(~(np.abs(rows) <= LARGEST_FEATURE))[0]
        raise InvalidArms(
            f"arms must be finite numbers up to {LARGEST_FEATURE:g}, got {rows[row, column]:g} in row {row}, "
            f"column {column}, counted from 0"
        )
    if np.ptp(rows, axis=0).max() == 0.0:
        raise InvalidArms(f"all {len(rows)} arms are alike, so there is nothing to choose")
    sizes = np.abs(rows).max(axis=0)
    small, large = int(np.argmin(np.where(sizes > 0, sizes, np.inf))), int(np.argmax(sizes))
    if sizes[large] > SIZE_RATIO_WARNED * sizes[small]:
        warnings.warn(
            f"features differ in size: up to {sizes[large]:g} in column {large}, up to {sizes[small]:g} in "
            f"column {small}. The ridge penalty and the bound treat all alike, so that small ones are hardly "
            "learnt; bring columns to a like size first",
            UnevenFeatures,
            stacklevel=5,
        )
    return rows


def _places(arms: Sequence[object], known: Belief) -> Integers:
    """The indices of logged arms, looked up by label where arms have labels."""
    if known.labels is None:
        which = np.asarray(arms)
        if which.size and which.dtype.kind not in "iu":
            raise InvalidReward(f"logged arms must be indices of arms, or arms have labels; got {arms[0]!r}")
        strange = next((int(arm) for arm in which.ravel() if not 0 <= arm < known.count), None)
        if strange is not None:
            raise InvalidReward(f"logged rewards must be of arms 0 to {known.count - 1}, got {strange}")
        return which
    places = {label: place for place, label in enumerate(known.labels)}
    unknown = next((arm for arm in arms if str(arm) not in places), None)
    if unknown is not None:
        raise InvalidReward(f"no arm is called {str(unknown)!r}, of which a reward was logged")
    return np.array([places[str(arm)] for arm in arms], dtype=np.int64)


def noise_of_log(left: Residuals, told: float | None) -> tuple[float, str]:
    """The noise as it was told, or by what a model leaves of logged rewards; and in words."""
    if told is not None:
        return told, "as it was told"
    found = left.noise()
    if found is None:
        return 1.0, "assumed: logged rewards are too few, or too much alike, to tell it"
    return float(f"{found:.4g}"), "from what the linear model leaves of logged rewards"


def _informed(prior: Belief, arms: Sequence[object], rewards: ArrayLike, *, is_told: bool) -> Belief:
    """The posterior after logged rewards, with the prior N(0, bound^2/d I)."""
    arms_known = prior.arms
    assert arms_known is not None
    which = _places(arms, prior)
    try:
        values = np.array(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidReward(f"logged rewards must be numbers, got {str(rewards)[:80]!r}") from None
    if which.shape != values.shape or which.ndim != 1:
        raise InvalidReward(
            f"logged rewards must be as many as their arms, got {values.shape} and {which.shape}"
        )
    _refuse_too_large(values)
    seen = sums_over(arms_known[which], values, np.ones(values.size, dtype=bool))
    left_over = residuals_of(seen, LEAST_POSTERIOR_PENALTY)
    noise, words = noise_of_log(left_over, prior.noise if is_told else None)
    prior = replace(prior, noise=noise, noise_by=words)
    penalty = posterior_penalty(prior.noise, prior.bound, prior.dim)
    ridge = _ridge_of(arms_known, which, values, penalty)
    known = ridge.posterior()
    theta = known.theta
    left = float(values @ values - theta @ (arms_known[which].T @ values))
    warn_of_misfit([seen], left, prior.noise, prior.bound, prior.longest)
    learnt = _ridge_of(arms_known, which, values, 1.0)  # the penalty of simulated runs
    return replace(prior, mean=theta, root=prior.noise * known.factor.T, learnt=learnt)


def _refuse_too_large(values: Floats) -> None:
    fits = np.abs(values) <= LARGEST_REWARD
    if not fits.all():
        words = f"logged rewards must be finite, and no larger than {LARGEST_REWARD:g}"
        raise InvalidReward(f"{words}, got {values[~fits][0]:g}")


def posterior_penalty(noise: float, bound: float, dim: int) -> float:
    """The ridge penalty of the prior N(0, bound^2/d I)."""
    return max(noise**2 * dim / bound**2, LEAST_POSTERIOR_PENALTY)


def _ridge_of(arms: Floats, which: Integers, rewards: Floats, penalty: float) -> RidgeModel:
    """What rewards of arms teach."""
    ridge = RidgeModel(np.ascontiguousarray(arms.T), penalty)
    ridge.bulk_update(DesignRows.on_arms(which.astype(np.int64)), rewards, np.ones(rewards.size))
    return ridge


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
    looks = arm_features(log)
    names = log.labels or (None if log.features is None else log.features.labels)
    labels = None if names is None else [str(name) for name in names]
    if isinstance(log.features, Disjoint) and isinstance(looks, OuterFeatures):
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


def _of_rows(log: Log, looks: ArmFeatures, told: float | None, bound: float) -> Belief:
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
