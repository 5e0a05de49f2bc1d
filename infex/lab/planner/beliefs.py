"""The problems that a plan simulates: by arms and what is known of their rewards, or a user's own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import ROUNDING, Floats, Integers, columns_of, labels_of, length_of
from infex.checks import LARGEST_REWARD, callers_level, real, whole
from infex.errors import InvalidArms, InvalidReward, InvalidSetting, LargeReward, UnevenFeatures
from infex.features import Disjoint, FeatureMap
from infex.features.base import unit_of
from infex.lab.environments import ChangingInstance, ContextualInstance, Instance, LinearInstance, gaussian
from infex.lab.environments.instances import OfferSets
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
from infex.streams import place, stream

if TYPE_CHECKING:
    from infex.lab.specs import ProblemSpec

LARGEST_FEATURE = 1e100
LEAST_POSTERIOR_PENALTY = 1e-9  # with less, the sums of a posterior lose too many digits
SIZE_RATIO_WARNED = 10.0  # one is warned of a feature so many times as large as the smallest
MOST_OFFERS = 4096  # rounds of a log whose offers are drawn from
MOST_NUMBERS = 1 << 22  # that these may be
ERRORS_ALLOWED = 4.0
LENGTH_HALVINGS = 100

PlannedProblem = LinearInstance | ChangingInstance | ContextualInstance


@final
@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Problems to simulate: a user's arms, or arms drawn as in the paper, and a law of the parameter.

    A user's arms were divided by `longest`, so that none is longer than 1. Without logged
    rewards the parameter is uniform on the sphere of radius `bound`; with them it is drawn from
    their Gaussian posterior, and every run begins with what they have taught: `learnt`. Where arms change
    from round to round, they are drawn from `offers`; with one row each, `offers` are contexts, and every
    arm has a parameter of its own: `mean` is (K, c). `penalty` is that of the runs. `noise_by` says
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
        rows = self.arms if self.offers is None else self.offers.rows[0]
        if rows is None:
            rows = gaussian(self.dim, self.count, rng).arms
        if self.mean is None or self.root is None:
            drawn = rng.standard_normal(self.dim)
            theta = np.asarray(self.bound * drawn / length_of(drawn))
        else:
            theta = self.mean + (self.root @ rng.standard_normal(self.mean.shape)[..., None])[..., 0]
        if self.offers is None:
            return LinearInstance(rows, theta, "gaussian", noise=self.noise)
        law: dict[str, Any] = {"sets": self.offers, "rewards": "gaussian", "noise": self.noise}
        if theta.ndim == 2:
            return ContextualInstance(thetas=theta, **law)
        return ChangingInstance(theta=theta, arms=self.count, **law)


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenProblem:
    """A user's problem: another one for every seed, or the same one with other noise.

    `noise` and `bound` are settings of the policies, not of the problem. `own_code` says that its runs
    call a user's Python.
    """

    spec: ProblemSpec
    dim: int
    count: int
    noise: float
    bound: float
    own_code: bool
    longest: float = 1.0
    learnt: None = None
    penalty: float = 1.0

    @property
    def label(self) -> str:
        """The problem as a text."""
        return self.spec.label

    def instance(self, number: int, seed: int) -> Instance:
        """The problem of one number."""
        return self.spec.make(place(seed, "planned problem", number, size=2**63))


Problems = Belief | GivenProblem


def given_problem(problem: object, noise: float | None, bound: float, seed: int) -> GivenProblem:
    """A user's problem: an expression, an environment, or a function that makes one of a seed."""
    from infex.lab.simulation.simulator import has_own_code
    from infex.lab.specs import problem_specs

    found = problem_specs(problem)
    if len(found) != 1:
        raise InvalidSetting(f"a plan is for one problem; {problem!r} stands for {len(found)}")
    noise = 1.0 if noise is None else real("noise", noise, above=0)
    known = GivenProblem(found[0], 0, 0, noise, real("bound", bound, above=0), own_code=True)
    first = known.instance(0, seed)
    if first.count < 2:
        raise InvalidArms(f"{known.label} has one arm, so there is nothing to choose")
    return replace(known, dim=first.dim, count=first.count, own_code=has_own_code(first))


# Fixed arms


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

    Without `noise` it is that of logged rewards, else 1.
    """
    bound = real("bound", bound, above=0)
    known_noise = 1.0 if noise is None else real("noise", noise, above=0)
    if arms is None:
        if logged is not None or labels is not None:
            raise InvalidSetting("logged rewards and labels need the arms that they are of")
        if dim is None or arms_count is None:
            raise InvalidSetting("give the arms, or their dim and arms_count")
        return Belief(
            whole("dim", dim, least=1), whole("arms_count", arms_count, least=2), known_noise, bound
        )
    if dim is not None or arms_count is not None:
        raise InvalidSetting("give either the arms, or their dim and arms_count")
    rows = _rows(arms)
    longest = rounded_up(max(float(np.linalg.norm(rows, axis=1).max()), 1.0))
    columns = columns_of(rows / longest)
    names = labels_of(None if labels is None else [str(label) for label in labels], len(rows))
    prior = Belief(
        columns.shape[0],
        len(rows),
        known_noise,
        float(f"{bound * longest:.6g}"),
        columns.T.copy(),
        longest,
        labels=None if names is None else [str(name) for name in names],
    )
    if logged is None:
        return prior
    if not isinstance(logged, (tuple, list)) or len(logged) != 2:
        raise InvalidReward(f"logged must be a pair: arms and their rewards, got {str(logged)[:80]!r}")
    return _posterior_of_arms(prior, *logged, given_noise=noise)


def _rows(arms: ArrayLike) -> Floats:
    """A user's arms as rows of numbers, if there is something to choose among them."""
    try:
        rows = np.array(arms, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArms(f"arms must be rows of as many numbers each, got {str(arms)[:80]!r}") from None
    if rows.ndim != 2 or len(rows) < 2:
        raise InvalidArms(f"arms must be two or more rows of numbers, got shape {rows.shape}")
    bad = np.argwhere(~(np.abs(rows) <= LARGEST_FEATURE))
    if bad.size:
        row, column = bad[0]
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
            stacklevel=callers_level(),
        )
    return rows


def _posterior_of_arms(
    prior: Belief, arms: Sequence[object], rewards: ArrayLike, *, given_noise: float | None
) -> Belief:
    """The posterior after logged rewards, with the prior N(0, bound^2/d I)."""
    rows = prior.arms
    assert rows is not None
    which = _indices(arms, prior)
    try:
        values = np.array(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidReward(f"logged rewards must be numbers, got {str(rewards)[:80]!r}") from None
    if which.shape != values.shape or which.ndim != 1:
        raise InvalidReward(
            f"logged rewards must be as many as their arms, got {values.shape} and {which.shape}"
        )
    fits = np.abs(values) <= LARGEST_REWARD
    if not fits.all():
        raise InvalidReward(
            f"logged rewards must be finite, and no larger than {LARGEST_REWARD:g}, got {values[~fits][0]:g}"
        )
    sums = sums_over(rows[which], values, np.ones(values.size, dtype=bool))
    noise, words = noise_of_log(residuals_of(sums, LEAST_POSTERIOR_PENALTY), given_noise)

    def ridge(penalty: float) -> RidgeModel:
        model = RidgeModel(np.ascontiguousarray(rows.T), penalty)
        model.bulk_update(DesignRows.on_arms(which.astype(np.int64)), values, np.ones(values.size))
        return model

    known = ridge(posterior_penalty(noise, prior.bound, prior.dim)).posterior()
    left = float(values @ values - known.theta @ (rows[which].T @ values))
    warn_of_misfit([sums], left, noise, prior.bound, prior.longest)
    return replace(
        prior,
        noise=noise,
        noise_by=words,
        mean=known.theta,
        root=noise * known.factor.T,
        learnt=ridge(1.0),  # the penalty of simulated runs
    )


def _indices(arms: Sequence[object], known: Belief) -> Integers:
    """The indices of logged arms, looked up by label where arms have labels."""
    if known.labels is None:
        which = np.asarray(arms)
        if which.size and which.dtype.kind not in "iu":
            raise InvalidReward(f"logged arms must be indices of arms, or arms have labels; got {arms[0]!r}")
        unknown_arm = next((int(arm) for arm in which.ravel() if not 0 <= arm < known.count), None)
        if unknown_arm is not None:
            raise InvalidReward(f"logged rewards must be of arms 0 to {known.count - 1}, got {unknown_arm}")
        return which
    places = {label: index for index, label in enumerate(known.labels)}
    unknown = next((arm for arm in arms if str(arm) not in places), None)
    if unknown is not None:
        raise InvalidReward(f"no arm is called {str(unknown)!r}, of which a reward was logged")
    return np.array([places[str(arm)] for arm in arms], dtype=np.int64)


# Whole logs


def with_map(log: Log, features: FeatureMap | None) -> Log:
    """The log, of whose contexts this map makes features."""
    if features is None:
        return log
    if log.context is None:
        raise InvalidSetting("a feature map needs contexts, and this log has none")
    return replace(log, features=features, labels=log.labels or features.labels, arms=None, offers=None)


def belief_of_log(log: Log, noise: float | None, bound: float) -> Belief:
    """Problems with arms or contexts as in the rounds of a log, and parameters by what it has taught.

    Without `noise` it is what the model leaves of the rewards.
    """
    noise, bound = None if noise is None else real("noise", noise, above=0), real("bound", bound, above=0)
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
    if log.count < 2:
        raise InvalidReward("this log has one arm, so that there is nothing to choose")
    if not log.rewarded.any():
        raise InvalidReward("no round of this log has a reward")
    looks = arm_features(log)
    if isinstance(log.features, Disjoint) and isinstance(looks, OuterFeatures):
        found = _of_contexts(log, looks.contexts, noise, bound * unit_of(log.features))
    else:
        found = _of_rows(log, looks, noise, bound * unit_of(log.features))
    names = log.labels or (None if log.features is None else log.features.labels)
    return replace(found, labels=None if names is None else [str(name) for name in names])


def _of_contexts(log: Log, contexts: Floats, given_noise: float | None, bound: float) -> Belief:
    """A regression for each arm."""
    width, rows = contexts.shape[1], np.flatnonzero(log.rewarded)
    sums = []
    for arm in range(log.count):
        own = rows[log.arm[rows] == arm]
        sums.append(sums_over(contexts[own], log.reward[own], np.ones(own.size, dtype=bool)))
    residuals = [residuals_of(each, LEAST_POSTERIOR_PENALTY) for each in sums]
    noise, words = noise_of_log(Residuals(*np.sum(residuals, axis=0).tolist()), given_noise)
    penalty = posterior_penalty(noise, bound, width)
    means, roots = zip(*(_posterior(each, penalty, noise) for each in sums), strict=True)
    left = sum(each.square - float(mean @ each.moment) for each, mean in zip(sums, means, strict=True))
    warn_of_misfit(sums, left, noise, bound, unit_of(log.features))
    learnt = RidgeBankModel(PerArm(log.count, width), penalty_of(log))
    learnt.bulk_update(
        DesignRows.on_arm_rows(log.arm[rows], contexts[rows]), log.reward[rows], np.ones(rows.size)
    )
    return Belief(
        log.count * width,
        log.count,
        noise,
        float(f"{bound:.6g}"),
        mean=np.array(means),
        root=np.array(roots),
        learnt=learnt,
        offers=OfferSets(contexts[_rounds_drawn_from(log, width)][:, None, :]),
        penalty=penalty_of(log),
        noise_by=words,
    )


def _of_rows(log: Log, looks: ArmFeatures, given_noise: float | None, bound: float) -> Belief:
    """One parameter for all arms; rows longer than 1 are divided by the greatest length."""
    played = played_rows(log, looks).inside(slice(None))
    some = _rounds_drawn_from(log, log.count * looks.dim)
    offers = np.concatenate([looks.every(slice(int(row), int(row) + 1)) for row in some])
    longest = max(float(np.linalg.norm(rows, axis=-1).max()) for rows in (offers, played))
    longest = longest * (1.0 + 1e-12) if longest > 1.0 else 1.0
    played, bound = played / longest, bound * longest
    sums = sums_over(played, log.reward, log.rewarded)
    noise, words = noise_of_log(residuals_of(sums, LEAST_POSTERIOR_PENALTY), given_noise)
    mean, root = _posterior(sums, posterior_penalty(noise, bound, looks.dim), noise)
    left = sums.square - float(mean @ sums.moment)
    warn_of_misfit([sums], left, noise, bound, longest * unit_of(log.features))
    rows = log.rewarded
    learnt = RidgeModel(np.zeros((looks.dim, 0)), penalty_of(log))
    learnt.bulk_update(DesignRows.on_rows(played[rows]), log.reward[rows], np.ones(sums.count))
    return Belief(
        looks.dim,
        log.count,
        noise,
        float(f"{bound:.6g}"),
        longest=longest,
        mean=mean,
        root=root,
        learnt=learnt,
        offers=OfferSets(offers / longest),
        penalty=penalty_of(log),
        noise_by=words,
    )


def _rounds_drawn_from(log: Log, numbers: int) -> Integers:
    """Rounds whose offers are drawn from, each of so many numbers."""
    most = max(min(MOST_OFFERS, MOST_NUMBERS // numbers), 1)
    if len(log) <= most:
        return np.arange(len(log))
    return np.sort(stream(0, "planned offers").choice(len(log), most, replace=False))


def _posterior(sums: LogSums, penalty: float, noise: float) -> tuple[Floats, Floats]:
    """N(theta, noise^2 V^-1) with V = penalty I + sum x x': its mean, and a root of its covariance."""
    gram = penalty * np.eye(len(sums.gram)) + sums.gram
    mean: Floats = np.asarray(np.linalg.solve(gram, sums.moment), dtype=np.float64)
    return mean, noise * np.linalg.inv(np.linalg.cholesky(gram)).T


def posterior_penalty(noise: float, bound: float, dim: int) -> float:
    """The ridge penalty of the prior N(0, bound^2/d I)."""
    return max(noise**2 * dim / bound**2, LEAST_POSTERIOR_PENALTY)


def noise_of_log(left: Residuals, given: float | None) -> tuple[float, str]:
    """The noise as given, or by what a model leaves of logged rewards; and where it is from, in words."""
    if given is not None:
        return given, "as it was given"
    found = left.noise()
    if found is None:
        return 1.0, "assumed: logged rewards are too few, or too much alike, to tell it"
    return float(f"{found:.4g}"), "from what the linear model leaves of logged rewards"


# Do logged rewards fit the noise and the bound?


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
        words = f"{words}, so that the plan would be of problems unlike yours"
        warnings.warn(words, LargeReward, stacklevel=callers_level())


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
