"""What is believed of a problem: its arms, and what the parameter may be."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import Floats, Integers, columns_of, labels_of, length_of
from infex.checks import LARGEST_REWARD, real, whole
from infex.environments import ChangingInstance, ContextualInstance, LinearInstance, gaussian
from infex.environments.offer_sets import OfferSets
from infex.errors import InvalidArms, InvalidReward, InvalidSetting, UnevenFeatures
from infex.logs.log_sums import Residuals, residuals_of, sums_over
from infex.models.layout import DesignRows
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.planning.misfits import rounded_up, warn_of_misfit
from infex.streams import stream

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
