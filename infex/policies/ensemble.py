"""Ensemble sampling."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real, set_fields, whole
from infex.models.posterior import Posterior
from infex.policies.base import StatefulPolicy, are_numbers
from infex.policies.choice import TIES, Choice, Ties, exploring_choice, pick, pick_propensity
from infex.streams import stream

LEAST_PIVOT = 1e-9  # of the largest number on the diagonal, as of an eigenvalue: less is rounding
LARGEST_SEED = 2**53


class EnsembleState(NamedTuple):
    """Whence perturbations are drawn, the sum of x x' that they are of, and those of all members."""

    seed: int
    gram: tuple[float, ...]
    perturbations: tuple[float, ...]

    @property
    def has_parameters(self) -> bool:
        """It is of the features that arms have now."""
        return True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleSampling(StatefulPolicy):
    """Plays the best arm of one of `members` ridges, each with its own noise (Lu and Van Roy, 2017).

    Member j learns y + z_j from a reward y, with z_j of N(0, `noise`^2) drawn once, and its prior is drawn
    from N(0, noise^2/penalty I). A round plays a member drawn uniformly. The sum of x z_j over some rewards
    is N(0, noise^2 sum x x'), and drawn as such: the policy remembers it for each member, and no rewards.
    Greedy rounds teach all members too. Where rewards have left, as those do that a window or a discount
    forgets, perturbations are drawn anew.

    Lee and Oh (2024) prove a bound for members of order K log T and a noise of the confidence radius; the
    noise of rewards is practice. Few members may all agree on a wrong arm. Probabilities are known exactly,
    as shares of members, but in the first round, which draws the priors. `ties` go to the "lowest" index, or
    at "random".

    >>> from infex import Bandit
    >>> from infex.policies import EnsembleSampling
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], EnsembleSampling(members=4), seed=1)
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.ask().propensity in (0.25, 0.5, 0.75, 1.0)
    True
    """

    keeps_rows: ClassVar[bool] = True

    members: int = 20
    noise: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        set_fields(self, members=whole("members", self.members, least=1))
        set_fields(self, noise=real("noise", self.noise, least=0))
        one_of("ties", self.ties, TIES)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one member."""
        last = posterior.policy_state
        seed = int(rng.integers(LARGEST_SEED)) if last is None else last.seed
        state = self.state_at(posterior, last, seed)
        scores = self._scores(posterior, state)
        arm, _ = pick(scores[int(rng.integers(self.members))], self.ties, rng)
        return exploring_choice(arm, None if last is None else self._share(scores, arm), state)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The share of members for which `arm` is the best; not known before the priors are drawn."""
        last = posterior.policy_state
        if last is None:
            return None
        return self._share(self._scores(posterior, self.state_at(posterior, last, last.seed)), arm)

    def _share(self, scores: Floats, arm: int) -> float:
        return sum(pick_propensity(own, self.ties, arm) for own in scores) / self.members

    def _scores(self, posterior: Posterior, state: EnsembleState) -> Floats:
        """x'(theta + V^-1 sum x z_j) of every member and arm, (members, K)."""
        factor = posterior.factor
        drawn = np.array(state.perturbations, dtype=np.float64).reshape(self.members, -1)
        return np.array([posterior.scores(theta) for theta in posterior.theta + drawn @ factor.T @ factor])

    def state_at(self, posterior: Posterior, last: EnsembleState | None, seed: int) -> EnsembleState:
        """The state with what was learnt since the last round: perturbations of the rewards that came."""
        moments = posterior.moments
        gram, dim = moments.gram, posterior.dim
        drawn = stream(seed, "ensemble", moments.n_observations).standard_normal((self.members, dim))
        fits = last is not None and (len(last.gram), len(last.perturbations)) == (dim**2, self.members * dim)
        if last is not None and fits:
            more = gram - np.array(last.gram, dtype=np.float64).reshape(dim, dim)
            rounding = LEAST_PIVOT * np.max(np.diagonal(gram), initial=1.0)
            if np.linalg.eigvalsh(more)[0] >= -rounding:  # else rewards have left
                before = np.array(last.perturbations, dtype=np.float64).reshape(self.members, dim)
                return _state(seed, gram, before + self.noise * drawn @ semidefinite_root(more).T)
        whole = gram + posterior.penalty * np.eye(dim)
        return _state(seed, gram, self.noise * drawn @ semidefinite_root(whole).T)

    def restore_state(self, state: object, dim: int) -> EnsembleState | None:
        """A state of its own, with as many numbers as there are features and members."""
        if not isinstance(state, EnsembleState) or type(state.seed) is not int:
            return None
        fits = are_numbers(state.gram, dim**2) and are_numbers(state.perturbations, self.members * dim)
        return state if fits else None


def _state(seed: int, gram: Floats, perturbations: Floats) -> EnsembleState:
    return EnsembleState(seed, tuple(gram.ravel().tolist()), tuple(perturbations.ravel().tolist()))


def semidefinite_root(matrix: Floats) -> Floats:
    """A lower triangular L with L L' = `matrix`, which may be singular; columns of rounding are 0."""
    size = len(matrix)
    root = np.zeros((size, size))
    least = LEAST_PIVOT * max(float(np.max(np.diagonal(matrix))), 0.0)
    for j in range(size):
        pivot = float(matrix[j, j] - root[j, :j] @ root[j, :j])
        if pivot > least:
            root[j, j] = math.sqrt(pivot)
            root[j + 1 :, j] = (matrix[j + 1 :, j] - root[j + 1 :, :j] @ root[j, :j]) / root[j, j]
    return root
