"""The problems that a plan simulates: by arms and what is known of their rewards, or a user's own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, final

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
    where the noise is from, if there is a log, and `logged` how many rewards it has.
    """

    problem: ClassVar[str] = ""
    own_code: ClassVar[bool] = False

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
    logged: int = 0

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

    longest: ClassVar[float] = 1.0
    learnt: ClassVar[None] = None
    offers: ClassVar[None] = None
    penalty: ClassVar[float] = 1.0
    noise_by: ClassVar[str] = ""
    logged: ClassVar[int] = 0
    spec: ProblemSpec
    dim: int
    count: int
    noise: float
    bound: float
    own_code: bool

    @property
    def problem(self) -> str:
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
        raise InvalidArms(f"{known.problem} has one arm, so there is nothing to choose")
    return replace(known, dim=first.dim, count=first.count, own_code=has_own_code(first))


# Fixed arms


def belief(
    arms: ArrayLike | None,
    labels: Iterable[object] | None,
    dim: int | None,
    arms_count: int | None,
    noise: float | None,
    bound: float,
    logged: tuple[Any, Any] | Log | None,
    features: FeatureMap | None = None,
) -> Belief:
    """A belief from a user's settings; if an arm is longer than 1, all are divided by the greatest length.

    Without `noise` it is that of logged rewards, else 1.
    """
    if isinstance(logged, Log):
        log = with_map(logged, features)
        if log.arms is None or log.offers is not None or log.offered is not None:
            if any(each is not None for each in (arms, labels, dim, arms_count)):
                raise InvalidSetting(
                    "this log says what its arms look like: leave out arms, dim and arms_count"
                )
            return belief_of_log(log, noise, bound)
        played: Any = log.arm[log.rewarded].tolist()
        names = log.labels if arms is not None or labels is None else tuple(labels)
        if arms is None:  # else they are a user's own features, in any order if they have labels
            arms, labels = log.arms, names
        if labels is not None:
            played = [arm if names is None else names[arm] for arm in played]
        logged = (played, log.reward[log.rewarded])
    elif features is not None:
        raise InvalidSetting("features need logged=, a log whose contexts they are for")
    bound = real("bound", bound, above=0)
    given_noise = None if noise is None else real("noise", noise, above=0)
    if arms is None:
        if logged is not None or labels is not None:
            raise InvalidSetting("logged rewards and labels need the arms that they are of")
        if dim is None or arms_count is None:
            raise InvalidSetting("give the arms, or their dim and arms_count")
        count = whole("arms_count", arms_count, least=2)
        return Belief(whole("dim", dim, least=1), count, given_noise or 1.0, bound)
    if dim is not None or arms_count is not None:
        raise InvalidSetting("give either the arms, or their dim and arms_count")
    rows = _rows(arms)
    longest = rounded_up(max(float(np.linalg.norm(rows, axis=1).max()), 1.0))
    columns = columns_of(rows / longest)
    found = labels_of(None if labels is None else [str(label) for label in labels], len(rows))
    prior = Belief(
        len(columns),
        len(rows),
        given_noise or 1.0,
        float(f"{bound * longest:.6g}"),
        columns.T.copy(),
        longest,
        labels=None if found is None else [str(name) for name in found],
    )
    if logged is None:
        return prior
    if not isinstance(logged, (tuple, list)) or len(logged) != 2:
        raise InvalidReward(f"logged must be a pair: arms and their rewards, got {str(logged)[:80]!r}")
    which, values = _indices(logged[0], prior), _rewards(logged[1])
    if which.shape != values.shape or which.ndim != 1:
        raise InvalidReward(
            f"logged rewards must be as many as their arms, got {values.shape} and {which.shape}"
        )
    weights = np.ones(values.size)

    def ridge(penalty: float) -> RidgeModel:
        model = RidgeModel(columns, penalty)
        model.bulk_update(DesignRows.on_arms(which), values, weights)
        return model

    sums = sums_over(columns.T[which], values, weights > 0)
    known = _posterior([sums], given_noise, prior.bound, longest, ridge)
    return replace(prior, learnt=ridge(1.0), **known)  # with the penalty of simulated runs


def _rows(arms: ArrayLike) -> Floats:
    """A user's arms as rows of numbers, if there is something to choose among them."""
    try:
        rows = np.array(arms, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArms(f"arms must be rows of as many numbers each, got {str(arms)[:80]!r}") from None
    bad = np.argwhere(~(np.abs(rows) <= LARGEST_FEATURE))
    if rows.ndim != 2 or (len(rows) < 2 and not bad.size):
        raise InvalidArms(f"arms must be two or more rows of numbers, got shape {rows.shape}")
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


def _rewards(rewards: ArrayLike) -> Floats:
    """Logged rewards as numbers."""
    try:
        values = np.array(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidReward(f"logged rewards must be numbers, got {str(rewards)[:80]!r}") from None
    fits = np.abs(values) <= LARGEST_REWARD
    if not fits.all():
        raise InvalidReward(
            f"logged rewards must be finite, and no larger than {LARGEST_REWARD:g}, got {values[~fits][0]:g}"
        )
    return values


def _indices(arms: Sequence[object], known: Belief) -> Integers:
    """The indices of logged arms, looked up by label where arms have labels."""
    if known.labels is None:
        which = np.asarray(arms)
        if which.size and which.dtype.kind not in "iu":
            raise InvalidReward(f"logged arms must be indices of arms, or arms have labels; got {arms[0]!r}")
        unknown_arm = next((int(arm) for arm in which.ravel() if not 0 <= arm < known.count), None)
        if unknown_arm is not None:
            raise InvalidReward(f"logged rewards must be of arms 0 to {known.count - 1}, got {unknown_arm}")
        return which.astype(np.int64)
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
    looks, rewarded, unit = arm_features(log), log.rewarded, unit_of(log.features)
    penalty, bound, longest = penalty_of(log), bound * unit, 1.0
    learnt: RidgeModel | RidgeBankModel
    if isinstance(log.features, Disjoint) and isinstance(looks, OuterFeatures):  # a regression for each arm
        contexts, width = looks.contexts, looks.contexts.shape[1]
        offers = contexts[_rounds_drawn_from(log, width)][:, None, :]
        sums = [sums_over(contexts, log.reward, rewarded & (log.arm == arm)) for arm in range(log.count)]
        learnt = RidgeBankModel(PerArm(log.count, width), penalty)
        design = DesignRows.on_arm_rows(log.arm[rewarded], contexts[rewarded])
    else:  # one parameter for all arms; rows longer than 1 are divided by the greatest length
        played = played_rows(log, looks).inside(slice(None))
        some = _rounds_drawn_from(log, log.count * looks.dim)
        offers = np.concatenate([looks.every(slice(int(row), int(row) + 1)) for row in some])
        greatest = max(float(np.linalg.norm(rows, axis=-1).max()) for rows in (offers, played))
        longest = greatest * (1.0 + 1e-12) if greatest > 1.0 else 1.0
        offers, played, bound = offers / longest, played / longest, bound * longest
        sums = [sums_over(played, log.reward, rewarded)]
        learnt = RidgeModel(np.zeros((looks.dim, 0)), penalty)
        design = DesignRows.on_rows(played[rewarded])
    learnt.bulk_update(design, log.reward[rewarded], np.ones(int(rewarded.sum())))
    names = log.labels or (None if log.features is None else log.features.labels)
    return Belief(
        looks.dim,
        log.count,
        bound=float(f"{bound:.6g}"),
        longest=longest,
        labels=None if names is None else [str(name) for name in names],
        learnt=learnt,
        offers=OfferSets(offers),
        penalty=penalty,
        **_posterior(sums, noise, bound, longest * unit),
    )


def _rounds_drawn_from(log: Log, numbers: int) -> Integers:
    """Rounds whose offers are drawn from, each of so many numbers."""
    most = max(min(MOST_OFFERS, MOST_NUMBERS // numbers), 1)
    if len(log) <= most:
        return np.arange(len(log))
    return np.sort(stream(0, "planned offers").choice(len(log), most, replace=False))


def _posterior(
    sums: Sequence[LogSums],
    given_noise: float | None,
    bound: float,
    unit: float,
    ridge: Callable[[float], RidgeModel] | None = None,
) -> dict[str, Any]:
    """What a belief has of logged rewards, with the prior N(0, bound^2/d I): noise, `mean` and `root`.

    The posterior is N(theta, noise^2 V^-1) with V = penalty I + sum x x', for each of some regressions.
    Without a given noise it is by what the model leaves of the rewards. Warns if rewards fit neither; `unit`
    is what features were divided by. `ridge` makes a model of the rewards with some penalty, if there is one.
    """
    left = Residuals(*np.sum([residuals_of(each, LEAST_POSTERIOR_PENALTY) for each in sums], axis=0).tolist())
    noise, words = given_noise, "as it was given"
    if noise is None:
        noise, words = left.noise(), "from what the linear model leaves of logged rewards"
        noise = None if noise is None else float(f"{noise:.4g}")
    if noise is None:
        noise, words = 1.0, "assumed: logged rewards are too few, or too much alike, to tell it"
    dim = len(sums[0].gram)
    penalty = max(noise**2 * dim / bound**2, LEAST_POSTERIOR_PENALTY)
    if ridge is None:
        grams = [penalty * np.eye(dim) + each.gram for each in sums]
        means = [np.linalg.solve(gram, each.moment) for gram, each in zip(grams, sums, strict=True)]
        roots = [noise * np.linalg.inv(np.linalg.cholesky(gram)).T for gram in grams]
    else:
        learnt = ridge(penalty).posterior()
        means, roots = [learnt.theta], [noise * learnt.factor.T]
    square = sum(each.square - float(mean @ each.moment) for each, mean in zip(sums, means, strict=True))
    misfit = misfit_words(sums, square, noise, bound, unit)
    if misfit:
        misfit += ", so that the plan would be of problems unlike yours"
        warnings.warn(misfit, LargeReward, stacklevel=callers_level())
    one = len(sums) == 1
    return {
        "noise": noise,
        "noise_by": words,
        "logged": sum(each.count for each in sums),
        "mean": means[0] if one else np.array(means),
        "root": roots[0] if one else np.array(roots),
    }


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
