"""From contexts to a fixed set of actions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, columns_of
from infex.checks import safe_repr, set_fields, whole
from infex.errors import InvalidArms, InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import (
    ChangingProblem,
    Policy,
    Problem,
    StatefulPolicy,
    checked,
    for_problem,
    policy_info,
    restore_state,
)
from infex.policies.choice import Choice, best, checked_arm, first_best
from infex.policies.ucb import LinUCB
from infex.streams import stream

REDUCED_BASE = LinUCB()
MOST_DIRECTIONS = 10**6
LOGGED = 200  # arm sets that a simulation shows it


@final
@dataclass(frozen=True, slots=True)
class ContextReduction(StatefulPolicy):
    """Lets `base` play a fixed set of actions where arms are drawn anew each round.

    The reduction of Hanna, Yang and Fragouli (2023). An action is a direction w of the parameter. To
    play it is to play the arm x of the round with the largest x'w, and its features are g(w), the
    mean of that arm over the law of arm sets; the reward is learnt on g(w), not on the arm's own
    features. So the base meets a linear bandit with fixed arms, whatever the contexts do.

    `samples`, (n, K, d), are arm sets seen before, over which the mean is taken; a simulation shows
    200 by itself. `directions` are so many drawn uniformly, from `seed`. Their best is only as good
    as the direction that comes nearest to the parameter.
    """

    base: Policy = REDUCED_BASE
    samples: Any = field(default=None, repr=False, compare=False)
    directions: int = 500
    seed: int = 0
    content: str = field(init=False, repr=False, default="")
    actions: Any = field(init=False, repr=False, compare=False, default=None)
    towards: Any = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        _check_base(self.base)
        set_fields(self, directions=_checked_directions(self.directions), seed=whole("seed", self.seed))
        if self.samples is not None:
            samples = _checked_samples(self.samples)
            drawn = stream(self.seed, "directions", samples.shape[2]).standard_normal(
                (self.directions, samples.shape[2])
            )
            towards = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
            set_fields(
                self,
                samples=samples,
                content=hashlib.blake2b(samples.tobytes()).hexdigest(),
                towards=towards,
                actions=np.ascontiguousarray(_means(samples, towards).T),
            )

    def __repr__(self) -> str:
        return f"ContextReduction({safe_repr(self.base)}, directions={self.directions}, seed={self.seed})"

    @property
    def missing_setting(self) -> str | None:
        """Is the law of arm sets not known?"""
        known = self.samples is not None
        return None if known else "the law of arm sets is not known: give samples of them, (n, K, d)"

    def for_problem(self, instance: Problem, horizon: int) -> ContextReduction:
        """The policy once a simulation has shown it arm sets that it will not meet."""
        base = for_problem(self.base, instance, horizon)
        if self.samples is not None:
            return self if base is self.base else replace(self, base=base)
        if not isinstance(instance, ChangingProblem):
            return replace(self, base=base, samples=np.array(instance.arms)[None])
        sets = [columns.T for _, block in instance.blocks(self.seed + 2**40, LOGGED) for columns in block]
        return replace(self, base=base, samples=np.array(sets))

    def restore_state(self, state: Any, dim: int) -> Any:
        """That of the base."""
        return restore_state(self.base, state, dim)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm towards which the base's action points; the reward is learnt on the action."""
        if self.actions is None:
            raise InvalidSetting(self.missing_setting)
        if posterior.dim != self.actions.shape[0]:
            raise InvalidSetting(
                f"samples have {self.actions.shape[0]} features, the arms on offer {posterior.dim}"
            )
        if not posterior.shows_all:  # whose best is not the arm that the mean of an action was taken over
            raise InvalidArms(f"{safe_repr(self)} needs all arms of a round: none may be masked or left out")
        choice = self.base.choose(t, posterior.on(self.actions), rng)
        action = checked_arm(choice, self.directions)
        arm = best(posterior.arms @ self.towards[action])
        return Choice(
            arm, choice.explored, choice.policy_state, choice.reason, self.actions[:, action].copy()
        )


def _check_base(base: Policy) -> None:
    info = policy_info(checked("base", base))
    if info.uses_explored:
        raise InvalidSetting(f"the base must not keep exploring rounds apart: {safe_repr(base)}")
    if info.controlled_schedules:  # whose losses would be those of actions, not of the arms that are played
        raise InvalidSetting(
            f"the base must not say itself when it explores: {safe_repr(base)}; put ContextReduction inside, "
            "as in Infex(ContextReduction(LinUCB()), every(20))"
        )


def _checked_directions(directions: object) -> int:
    if (count := whole("directions", directions, least=1)) > MOST_DIRECTIONS:
        raise InvalidSetting(f"directions must be at most {MOST_DIRECTIONS}, got {count}")
    return count


def _checked_samples(samples: npt.ArrayLike) -> Floats:
    try:
        found = np.array(samples, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting("samples must be arm sets as numbers of one shape (n, K, d)") from None
    if found.ndim != 3 or 0 in found.shape:
        raise InvalidSetting(f"samples must be arm sets as numbers of shape (n, K, d), got {found.shape}")
    columns_of(found.reshape(-1, found.shape[2]))  # none longer than 1
    return found


def _means(samples: Floats, towards: Floats) -> Floats:
    """g(w) of every direction: the mean, over arm sets, of the arm that `best` finds by x'w."""
    found = np.empty_like(towards)
    for place, direction in enumerate(towards):
        tops = [first_best(scores) for scores in np.ascontiguousarray(samples @ direction)]
        found[place] = samples[np.arange(len(samples)), tops].mean(axis=0)
    return found
