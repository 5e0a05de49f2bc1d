"""A base that gives every arm a chance."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from infex.checks import real, repr_settings, safe_repr, set_fields
from infex.core.choosing import Wrap
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import (
    Policy,
    PolicyInfo,
    StatefulPolicy,
    checked,
    choose_allowed,
    policy_info,
    propensity_allowed,
    restore_state,
    with_draws,
)
from infex.policies.choice import Choice, checked_arm
from infex.policies.compiled import CompiledSpec, WrapperSpec, wrapped
from infex.policies.thompson import checked_draws


@final
@dataclass(frozen=True, slots=True)
class Softened(StatefulPolicy):
    """With probability `share` a uniform arm, else the base's: every arm has a chance of at least share/K.

    For logs that are to be judged later: weights need the probability of each arm that was played,
    and every arm must be possible. A base that samples, such as LinTS, plays one of `draws` samples of each
    round, so that its probabilities are known (see `LinTS`).

    >>> from infex import Bandit, Infex, LinUCB, jittered
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Infex(Softened(LinUCB(), 0.2), jittered(1)))
    >>> decision = bandit.ask()
    >>> decision.explore_probability, decision.base_propensity in (0.9, 0.1)
    (1.0, True)
    """

    base: Policy
    share: float = 0.1
    draws: int = 1000
    _base_info: PolicyInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        info = policy_info(checked("base", self.base))
        if info.controlled_schedules or info.uses_explored:
            raise InvalidSetting(
                f"a base that says itself when it explores cannot be softened: {safe_repr(self.base)}; "
                "put Softened inside, as in Infex(Softened(LinUCB()), every(20))"
            )
        if info.needs_own_data:
            raise InvalidSetting(
                f"{safe_repr(self.base)} learns by the law of its own arms, which softening would change"
            )
        set_fields(self, share=real("share", self.share, above=0, most=1))
        set_fields(self, draws=checked_draws("draws", self.draws))
        set_fields(self, _base_info=policy_info(with_draws(self.base, self.draws)))

    __repr__ = repr_settings

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """A uniform arm with probability `share`, else the base's."""
        tries = bool(rng.random() < self.share)
        uniform = int(rng.integers(len(posterior)))
        choice = choose_allowed(self._base_info, t, posterior, rng)
        arm = uniform if tries else checked_arm(choice, len(posterior))
        propensity = self._softened(self._base_propensity(t, posterior, arm, choice), len(posterior))
        features = choice.features if arm == choice.arm else None
        return Choice(arm, True, choice.policy_state, "", features, propensity, 1.0, propensity)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """share/K, and the rest by the base's propensity."""
        return self._softened(propensity_allowed(self._base_info, t, posterior, arm), len(posterior))

    def _base_propensity(self, t: int, posterior: Posterior, arm: int, choice: Choice) -> float | None:
        """The base's probability of an arm: known of all arms, or of none."""
        if choice.propensity == 1.0:
            return float(arm == choice.arm)
        if choice.propensity is not None and arm == choice.arm and self._base_info.propensity is not None:
            return choice.propensity
        return propensity_allowed(self._base_info, t, posterior, arm)

    def _softened(self, propensity: float | None, arms: int) -> float | None:
        return None if propensity is None else self.share / arms + (1.0 - self.share) * propensity

    def restore_state(self, state: Any, dim: int) -> Any:
        """That of the base."""
        return restore_state(self.base, state, dim)

    def compiled(self) -> CompiledSpec | None:
        """A uniform arm in a share of rounds, if compiled loops can play the base."""
        return wrapped(self._base_info.policy, WrapperSpec(Wrap.SOFTENED, self.share))
