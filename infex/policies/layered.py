"""Layers of independent rewards: SupLinUCB."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import optional, real, set_fields, whole
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import DEFAULT_DELTA, Problem, are_numbers
from infex.policies.choice import Choice, exploring_choice, first_best
from infex.policies.last_play import LastPlay, LastPlayPolicy, last_play, restored_play, reward_of

NO_LAYER = -1


class LayersState(NamedTuple):
    """sum x x' and sum y x of all layers, one behind the other; the layer of the last play, and that play."""

    sums: tuple[float, ...]
    layer: int
    last_play: LastPlay

    @property
    def has_parameters(self) -> bool:
        """It is of the features that arms have now."""
        return True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SupLinUCB(LastPlayPolicy):
    """LinUCB in layers, so that rewards within a layer are independent (Chu, Li, Reyzin and Schapire, 2011).

    Each of ceil(log T) layers has a ridge of its own, with widths w = scale noise sqrt(2 log(2 T K/delta))
    |x| in A^-1. From the first layer on: if all widths are at most 1/sqrt(T), it plays the arm of the largest
    x'theta + w and learns nothing. If all are at most 2^-s in layer s, it keeps the arms whose x'theta + w is
    within 2^(1-s) of the largest, and goes on to the next layer. Else it plays the widest arm, and its reward
    enters this layer alone. The paper's factor is sqrt(log(2 T K/delta)/2) (Theorem 1), for rewards from 0 to
    1, for which `noise` is 1/2; of the arms that are too wide it plays any, where the widest is ours.

    `horizon` is T, which a simulation tells by itself; a `delta` that is not said is 1/T or 0.01, as in
    `LinUCB`. As a base of `Infex` it needs data="own", and it must be told each reward before its next
    decision. It is deterministic. Of regret of order sqrt(d T log K) in theory, it is known to be slow in
    practice.

    >>> from infex.lab import environments, play
    >>> from infex.policies import SupLinUCB
    >>> play(environments.gaussian(dim=3, arms=5, seed=1), SupLinUCB(), horizon=50).horizon
    50
    """

    noise: float = 1.0
    scale: float = 1.0
    delta: float | None = None
    horizon: int | None = None

    needs_own_data = True

    def __post_init__(self) -> None:
        for name, value in (("noise", self.noise), ("scale", self.scale)):
            set_fields(self, **{name: real(name, value, least=0)})
        set_fields(self, delta=optional(real, "delta", self.delta, above=0, most=1))
        set_fields(self, horizon=optional(whole, "horizon", self.horizon, least=1))

    def for_problem(self, instance: Problem, horizon: int) -> "SupLinUCB":
        """The policy once it is told the horizon, where it asks for that."""
        return replace(self, horizon=horizon) if self.horizon is None else self

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the first layer that is not sure of all widths."""
        sums = self.sums(posterior)
        arm, layer = self._pick(posterior, sums)
        state = LayersState(tuple(sums.ravel().tolist()), layer, last_play(posterior, arm))
        return exploring_choice(arm, 1.0, state)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the arm that is played."""
        return float(arm == self._pick(posterior, self.sums(posterior))[0])

    @property
    def missing_setting(self) -> str | None:
        """Is the horizon not known?"""
        return "SupLinUCB needs the horizon: say horizon=..." if self.horizon is None else None

    @property
    def layers(self) -> int:
        """How many there are."""
        if self.horizon is None:
            raise InvalidSetting(self.missing_setting)
        return max(math.ceil(math.log(self.horizon)), 1)

    def sums(self, posterior: Posterior) -> Floats:
        """sum x x', and sum y x below, of every layer, with that of the last play, (layers, d + 1, d)."""
        state: LayersState | None = posterior.policy_state
        shape = self.layers, posterior.dim + 1, posterior.dim
        if state is None:
            return np.zeros(shape)
        sums: Floats = np.array(state.sums, dtype=np.float64).reshape(shape)
        if state.layer != NO_LAYER:
            row = np.array(state.last_play.row, dtype=np.float64)
            sums[state.layer, :-1] += np.outer(row, row)
            sums[state.layer, -1] += reward_of(self, state.last_play, posterior) * row
        return sums

    def _pick(self, posterior: Posterior, sums: Floats) -> tuple[int, int]:
        """The arm, and the layer that its reward enters."""
        arms, horizon = posterior.arms, self.horizon or 1
        doubt = 2.0 * horizon * len(arms) / (self.delta or DEFAULT_DELTA)
        factor = self.scale * self.noise * math.sqrt(2.0 * math.log(doubt))
        kept = np.arange(len(arms))
        for layer in range(self.layers):
            rows = arms[kept]
            gram = sums[layer, :-1] + posterior.penalty * np.eye(posterior.dim)
            widths = factor * np.sqrt(np.sum(rows * np.linalg.solve(gram, rows.T).T, axis=1))
            uppers = rows @ np.linalg.solve(gram, sums[layer, -1]) + widths
            if np.all(widths <= 1.0 / math.sqrt(horizon)):
                break
            level = 0.5 ** (layer + 1)
            if np.any(widths > level):
                return int(kept[first_best(widths)]), layer
            near = uppers >= uppers.max() - 2.0 * level
            kept, uppers = kept[near], uppers[near]
        return int(kept[first_best(uppers)]), NO_LAYER

    def restore_state(self, state: Any, dim: int) -> LayersState | None:
        """A state of its own, with numbers for so many features, and for its layers if these are known."""
        if not isinstance(state, LayersState) or not isinstance(state.sums, tuple):
            return None
        layers, rest = divmod(len(state.sums), (dim + 1) * dim)
        if not layers or rest or (self.horizon is not None and layers != self.layers):
            return None
        fits = are_numbers(state.sums, len(state.sums)) and type(state.layer) is int
        last = restored_play(state.last_play, dim)
        if not fits or last is None or not NO_LAYER <= state.layer < layers:
            return None
        return state._replace(last_play=last)
