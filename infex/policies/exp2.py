"""Exponential weights, for rewards that an adversary may choose."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import optional, real, set_fields, whole
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import Problem, are_numbers
from infex.policies.choice import Choice, LawPolicy, draw
from infex.policies.design import optimal_design
from infex.policies.last_play import LastPlay, LastPlayPolicy, last_play, restored_play, reward_of


class WeightsState(NamedTuple):
    """The sum of all estimates of theta; Q^-1 x of the last play, and that play."""

    theta: tuple[float, ...]
    direction: tuple[float, ...]
    last_play: LastPlay

    @property
    def has_parameters(self) -> bool:
        """It is of the features that arms have now."""
        return True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EXP2(LastPlayPolicy, LawPolicy):
    """Plays arm x with probability (1 - g) exp(rate x'theta)/sum + g pi(x), by unbiased estimates of theta.

    A reward y of x adds Q^-1 x y to theta, where Q = sum p x x' is by the law p that it was played by; pi is
    the optimal design (`lab.optimal_design`), and g = d rate. Without a `rate` it is sqrt(log K/(3 d T)), at
    most 1/d, for a `horizon` T, which a simulation tells by itself (Lattimore and Szepesvari, 2020, Theorem
    27.1, for a pi whose largest squared width is d). Rewards are between -`bound` and `bound`, and may depend
    on anything but the draws of the round. (The code of Balagopalan and Jun, 2025, has the round for T, and
    adds I to Q, which makes estimates biased.)

    Probabilities are known exactly. As a base of `Infex` it needs data="own", as greedy rounds are not played
    by its law, and it must be told each reward before its next decision. Some problems cost it of order
    sqrt(T), whatever their gaps are.

    >>> from infex import Bandit
    >>> from infex.policies import EXP2
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], EXP2(rate=0.1)).ask().propensity
    0.5
    """

    rate: float | None = None
    bound: float = 1.0
    horizon: int | None = None

    needs_own_data = True

    def __post_init__(self) -> None:
        set_fields(self, bound=real("bound", self.bound, above=0))
        set_fields(self, rate=optional(real, "rate", self.rate, above=0))
        set_fields(self, horizon=optional(whole, "horizon", self.horizon, least=1))

    def for_problem(self, instance: Problem, horizon: int) -> "EXP2":
        """The policy once it is told the horizon, where it asks for that."""
        asks = self.rate is None and self.horizon is None
        return replace(self, horizon=horizon) if asks else self

    @property
    def missing_setting(self) -> str | None:
        """Is neither the rate nor the horizon known?"""
        known = self.rate is not None or self.horizon is not None
        return None if known else "the rate of EXP2 is not known: say rate, or the horizon"

    def rate_for(self, dim: int, arms: int) -> float:
        """The rate, if none is named by the dimension, the arms and the horizon; at most 1/d."""
        if self.missing_setting is not None:
            raise InvalidSetting(self.missing_setting)
        rate = self.rate or math.sqrt(math.log(max(arms, 2)) / (3.0 * dim * (self.horizon or 1)))
        return min(rate, 1.0 / dim)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """An arm by its probability."""
        theta = self.theta(posterior)
        law = self._law(posterior, theta)
        choice = draw(law, rng)
        arms = posterior.arms
        direction = np.linalg.pinv((arms.T * law) @ arms, rcond=1e-10, hermitian=True) @ arms[choice.arm]
        state = WeightsState(
            tuple(theta.tolist()), tuple(direction.tolist()), last_play(posterior, choice.arm)
        )
        return choice._replace(policy_state=state)

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """The probability of every arm, (K,)."""
        return self._law(posterior, self.theta(posterior))

    def theta(self, posterior: Posterior) -> Floats:
        """The sum of all estimates, with that of the last reward, (d,)."""
        state: WeightsState | None = posterior.policy_state
        if state is None:
            return np.zeros(posterior.dim)
        reward = reward_of(self, state.last_play, posterior) / self.bound
        theta, direction = np.array((state.theta, state.direction), dtype=np.float64)
        found: Floats = theta + reward * direction
        return found

    def _law(self, posterior: Posterior, theta: Floats) -> Floats:
        rate = self.rate_for(posterior.dim, len(posterior))
        scores = rate * posterior.scores(theta)
        weights = np.exp(scores - scores.max())
        share = posterior.dim * rate
        found: Floats = (1.0 - share) * weights / weights.sum() + share * optimal_design(posterior.arms)
        found /= found.sum()
        return found

    def restore_state(self, state: Any, dim: int) -> WeightsState | None:
        """A state of its own, with as many numbers as there are features."""
        if not isinstance(state, WeightsState):
            return None
        last = restored_play(state.last_play, dim)
        if last is None or not are_numbers(state.theta, dim) or not are_numbers(state.direction, dim):
            return None
        return state._replace(last_play=last)
