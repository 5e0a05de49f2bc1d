"""What is believed of a problem: its arms, and what the parameter may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from infex.checks import real, whole
from infex.environments import LinearInstance, gaussian
from infex.errors import InvalidArms, InvalidReward, InvalidSetting
from infex.linear import Ridge, columns_of
from infex.linear.kernels import Floats
from infex.streams import stream


@final
@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Problems to simulate: arms of one's own or drawn as in the paper, and a law of the parameter.

    `longest` is what arms of one's own were divided by, so that none is longer than 1. Without logged
    rewards the parameter is uniform on the sphere of radius `bound`; with them it is drawn from
    their Gaussian posterior.
    """

    dim: int
    count: int
    noise: float
    bound: float
    arms: Floats | None = None
    longest: float = 1.0
    mean: Floats | None = None
    root: Floats | None = None

    def instance(self, number: int, seed: int) -> LinearInstance:
        """One of the problems."""
        rng = stream(seed, "planned", number)
        rows = self.arms
        if rows is None:
            rows = gaussian(self.dim, self.count, rng).arms
        drawn = rng.standard_normal(self.dim)
        if self.mean is None or self.root is None:
            theta = self.bound * drawn / np.linalg.norm(drawn)
        else:
            theta = self.mean + self.root @ drawn
        return LinearInstance(rows, theta, "gaussian", noise=self.noise)


def belief(
    arms: Any,
    dim: int | None,
    arms_count: int | None,
    noise: float,
    bound: float,
    logged: tuple[Any, Any] | None,
) -> Belief:
    """A belief from what a user says; arms that are too long are all divided by the greatest length."""
    noise, bound = real("noise", noise, above=0), real("bound", bound, above=0)
    if arms is None:
        if dim is None or arms_count is None:
            raise InvalidSetting("give the arms, or their dim and arms_count")
        if logged is not None:
            raise InvalidSetting("logged rewards need the arms that they are of")
        return Belief(whole("dim", dim, least=1), whole("arms_count", arms_count, least=2), noise, bound)
    if dim is not None or arms_count is not None:
        raise InvalidSetting("give either the arms, or their dim and arms_count")
    rows = np.array(arms, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise InvalidArms(f"arms must be two or more rows of finite numbers, got shape {rows.shape}")
    longest = max(float(np.linalg.norm(rows, axis=1).max()), 1.0)
    columns = columns_of(rows / longest)
    found = Belief(columns.shape[0], len(rows), noise, bound * longest, columns.T.copy(), longest)
    return found if logged is None else _informed(found, *logged)


def _informed(prior: Belief, arms: Any, rewards: Any) -> Belief:
    """The posterior after logged rewards, with the prior N(0, bound^2/d I)."""
    assert prior.arms is not None
    which, values = np.array(arms), np.array(rewards, dtype=np.float64)
    if which.dtype.kind not in "iu" or which.shape != values.shape or which.ndim != 1:
        raise InvalidReward("logged rewards must be as many indices of arms as rewards")
    if not np.isfinite(values).all() or (which < 0).any() or (which >= prior.count).any():
        raise InvalidReward(f"logged rewards must be finite, of arms 0 to {prior.count - 1}")
    penalty = prior.noise**2 * prior.dim / prior.bound**2
    ridge = Ridge(np.zeros((prior.dim, 0)), penalty)
    for arm, value in zip(which, values, strict=True):
        ridge.absorb(prior.arms[arm], float(value))
    theta = ridge.theta
    rows = np.array([ridge.perturbed(prior.noise, unit) for unit in np.eye(prior.dim)]) - theta
    return Belief(
        prior.dim, prior.count, prior.noise, prior.bound, prior.arms, prior.longest, theta, rows.T.copy()
    )
