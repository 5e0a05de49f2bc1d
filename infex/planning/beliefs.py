"""What is believed of a problem: its arms, and what the parameter may be."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
    labels: list[str] | None = None

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
    labels: Any,
    dim: int | None,
    arms_count: int | None,
    noise: float,
    bound: float,
    logged: tuple[Any, Any] | None,
) -> Belief:
    """A belief from what a user says; arms that are too long are divided by their greatest length."""
    noise, bound = real("noise", noise, above=0), real("bound", bound, above=0)
    if arms is None:
        if dim is None or arms_count is None:
            raise InvalidSetting("give the arms, or their dim and arms_count")
        if logged is not None or labels is not None:
            raise InvalidSetting("logged rewards and labels need the arms that they are of")
        return Belief(whole("dim", dim, least=1), whole("arms_count", arms_count, least=2), noise, bound)
    if dim is not None or arms_count is not None:
        raise InvalidSetting("give either the arms, or their dim and arms_count")
    rows = np.array(arms, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise InvalidArms(f"arms must be two or more rows of finite numbers, got shape {rows.shape}")
    longest = _rounded_up(max(float(np.linalg.norm(rows, axis=1).max()), 1.0))
    columns = columns_of(rows / longest)
    names = None if labels is None else _names(labels, len(rows))
    found = Belief(
        columns.shape[0], len(rows), noise, bound * longest, columns.T.copy(), longest, labels=names
    )
    return found if logged is None else _informed(found, *logged)


def _rounded_up(length: float) -> float:
    """The next number of three digits, which is easy to type.

    >>> _rounded_up(3.99643), _rounded_up(1.0), _rounded_up(12345.6)
    (4.0, 1.0, 12400.0)
    """
    digit = 10.0 ** (math.floor(math.log10(length)) - 2)
    return float(f"{math.ceil(length / digit * (1.0 - 1e-12)) * digit:.3g}")


def _names(labels: Any, count: int) -> list[str]:
    names = [str(label) for label in labels]
    if len(names) != count:
        raise InvalidArms(f"there must be one label for each of {count} arms, got {len(names)}")
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InvalidArms(f"labels must differ, got {twice!r} twice")
    return names


def _places(arms: Any, known: Belief) -> Any:
    """The indices of logged arms: by their labels where there are labels."""
    if known.labels is None:
        which = np.array(arms)
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


def _informed(prior: Belief, arms: Any, rewards: Any) -> Belief:
    """The posterior after logged rewards, with the prior N(0, bound^2/d I)."""
    assert prior.arms is not None
    which, values = _places(arms, prior), np.array(rewards, dtype=np.float64)
    if which.shape != values.shape or which.ndim != 1:
        raise InvalidReward(
            f"logged rewards must be as many as their arms, got {values.shape} and {which.shape}"
        )
    if not np.isfinite(values).all():
        raise InvalidReward(f"logged rewards must be finite, got {values[~np.isfinite(values)][0]:g}")
    penalty = prior.noise**2 * prior.dim / prior.bound**2
    ridge = Ridge(np.zeros((prior.dim, 0)), penalty)
    for arm, value in zip(which, values, strict=True):
        ridge.absorb(prior.arms[arm], float(value))
    theta = ridge.theta
    rows = np.array([ridge.perturbed(prior.noise, unit) for unit in np.eye(prior.dim)]) - theta
    return replace(prior, mean=theta, root=rows.T.copy())
