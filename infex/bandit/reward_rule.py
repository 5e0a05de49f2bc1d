"""Which rewards a bandit takes: numbers, in a range if one is said, and True and False if it is 0 to 1."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, is_masked
from infex.checks import LARGEST_REWARD, callers_level, real, told
from infex.errors import InvalidReward, InvalidSetting, RewardOutOfRange
from infex.estimators import Logistic
from infex.linear.estimating import Estimator
from infex.policies.confidence import warn_of_large

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

Reward = SupportsFloat | bool
WORSE = 10.0  # times the reward that was warned of, from which on another is
TRUTHS = (bool, np.bool_)


class RewardRule(NamedTuple):
    """The range of rewards, if one was said; are True and False rewards, being 1 and 0?"""

    range: tuple[float, float] | None
    binary: bool

    @staticmethod
    def of(rewards: object, estimator: Estimator | None) -> RewardRule:
        """That of a bandit: rewards of Logistic are 0 and 1 anyhow."""
        if rewards is None:
            return RewardRule(None, isinstance(estimator, Logistic))
        if not isinstance(rewards, tuple | list) or len(rewards) != 2:
            raise InvalidSetting(
                f"rewards must be the least and the greatest, as in (0, 250), got {told(rewards)}"
            )
        least, most = (real("an end of rewards", end) for end in rewards)
        if not -LARGEST_REWARD <= least < most <= LARGEST_REWARD:
            raise InvalidSetting(f"rewards must be from a least to a greater one, got {rewards!r}")
        return RewardRule((least, most), isinstance(estimator, Logistic) or (least, most) == (0.0, 1.0))

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest reward that can be told."""
        return (-LARGEST_REWARD, LARGEST_REWARD) if self.range is None else self.range

    def number(self, reward: object, row: int | None = None) -> float:
        """The reward as a float, if it is one that can be told; `row` is where it stands among many."""
        where = "" if row is None else f" in row {row}"
        if isinstance(reward, TRUTHS):
            if not self.binary:
                raise InvalidReward(
                    f"a reward{where} must be a number, got {reward!r}: say rewards=(0, 1) to the bandit "
                    "if True and False are 1 and 0"
                )
            return float(reward)
        given = float(reward) if isinstance(reward, Decimal) else reward
        value = real(f"reward{where}", given, least=-LARGEST_REWARD, most=LARGEST_REWARD, error=InvalidReward)
        self.refuse_outside(value, where)
        return value

    def refuse_outside(self, value: float, where: str = "") -> None:
        """Refuses a number that is not in the range."""
        least, most = self.ends
        if not least <= value <= most:
            raise RewardOutOfRange(f"a reward{where} must be from {least:g} to {most:g}, got {value!r}")


def limits(rule: RewardRule, fitting: float) -> tuple[float, float]:
    """Rewards that need no second look: in the range, and not beyond what fits the settings of the policy."""
    least, most = rule.ends
    return max(least, -fitting), min(most, fitting)


def checked_reward(bandit: Bandit, reward: object) -> float:
    """The reward as a float; warns if the settings of the policy are far too small for it, or for a worse."""
    value = bandit._rule.number(reward)
    warn_if_worse(bandit, value)
    return value


def warn_if_worse(bandit: Bandit, value: float) -> None:
    """Warns of a reward that does not fit the settings, and again of one that is WORSE times as large."""
    if abs(value) > bandit._fitting:
        bandit._fitting = min(WORSE * abs(value), LARGEST_REWARD)
        bandit._least, bandit._greatest = limits(bandit._rule, bandit._fitting)
        warn_of_large(bandit.policy, value, callers_level())


def checked_rewards(bandit: Bandit, rewards: npt.ArrayLike, count: int) -> Floats:
    """The rewards as floats, as many as there are decisions; each as `tell` takes it."""
    given = reward_numbers(bandit._rule, rewards, count)
    beyond = np.flatnonzero(~((given >= bandit._least) & (given <= bandit._greatest)))
    for row in beyond.tolist():
        bandit._rule.number(given[row].item(), row)
    if beyond.size:
        warn_if_worse(bandit, given[beyond[np.argmax(np.abs(given[beyond]))]].item())
    return given


def reward_numbers(rule: RewardRule, rewards: npt.ArrayLike, count: int) -> Floats:
    """Rewards as floats, of any kind that one reward may be of; a range is not looked at."""
    numbers = listed("rewards", rewards, count)
    if numbers.dtype.kind in "iuf" or not count:
        return np.array(numbers, dtype=np.float64)
    return np.array([rule.number(each, row) for row, each in enumerate(numbers.tolist())])


def listed(name: str, given: npt.ArrayLike, count: int) -> npt.NDArray[np.generic]:
    """A list of so many values as an array of any kind."""
    if is_masked(given):
        raise InvalidReward(
            f"{name} must be numbers, and some are masked, as if missing: leave these rows out"
        )
    try:
        values = np.asarray(given)
    except ValueError:
        raise InvalidReward(f"{name} must be a list of numbers, got lists of several lengths") from None
    if values.shape != (count,):
        raise InvalidReward(f"{name} must be as many as the decisions, {count}, got the shape {values.shape}")
    return values
