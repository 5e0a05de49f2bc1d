"""Which rewards a bandit takes, and what it was told lately, so that a second reward can be told."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, NamedTuple, SupportsFloat, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, fitting, is_masked, within
from infex.bandit.decision import Decision
from infex.bandit.pending import Pending, PendingEntry
from infex.checks import HEAVIEST_WEIGHT, LARGEST_REWARD, callers_level, real, safe_repr, whole
from infex.errors import DamagedFile, InvalidReward, InvalidSetting, RewardOutOfRange
from infex.models import Logistic
from infex.models.base import Arrays, Estimator
from infex.models.layout import DesignRow, Layout
from infex.models.state import ObservationNumbers
from infex.policies.base import Policy
from infex.policies.ucb import warn_of_large

Reward = SupportsFloat | bool
OnDuplicate = Literal["refuse", "same", "sum", "replace"]
ON_DUPLICATE = ("refuse", "same", "sum", "replace")
WORSE = 10.0  # times the reward that was warned of, from which on another is
TRUTHS = (bool, np.bool_)
NOT_APART = -1  # the number among exploring rounds of a reward that is in none


class RewardRule:
    """The `range` of rewards, if one was said; whether True and False are rewards, being 1 and 0 (`binary`);
    and the size of a reward from which on it is warned that the policy's settings do not fit it.
    """

    __slots__ = ("_fits", "binary", "range")

    def __init__(self, rewards: object, estimator: Estimator | None) -> None:
        self.binary = isinstance(estimator, Logistic)  # whose rewards are 0 and 1 anyhow
        self.range: tuple[float, float] | None = None
        self._fits = LARGEST_REWARD
        if rewards is None:
            return
        if not isinstance(rewards, tuple | list) or len(rewards) != 2:
            raise InvalidSetting(
                f"rewards must be the least and the greatest, as in (0, 250), got {safe_repr(rewards)}"
            )
        least, most = (real("an end of rewards", end) for end in rewards)
        if not -LARGEST_REWARD <= least < most <= LARGEST_REWARD:
            raise InvalidSetting(f"rewards must be from a least to a greater one, got {rewards!r}")
        self.range = least, most
        self.binary |= self.range == (0.0, 1.0)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest reward that can be told."""
        return (-LARGEST_REWARD, LARGEST_REWARD) if self.range is None else self.range

    @property
    def largest_variance(self) -> float:
        """That of rewards in their range; 0 if it is not known."""
        return 0.0 if self.range is None else ((self.range[1] - self.range[0]) / 2.0) ** 2

    def follow(self, greatest: float | None) -> None:
        """From now on rewards larger than `greatest` are warned of; None: none."""
        self._fits = LARGEST_REWARD if greatest is None else min(greatest, LARGEST_REWARD)

    def number(self, reward: object, row: int | None = None, ranged: bool = True) -> float:
        """The reward as a float, if it is one that can be told; `row` is where it stands among many."""
        if type(reward) is not float:
            reward = self._converted(reward, "" if row is None else f" in row {row}")
        least, most = self.ends if ranged else (-LARGEST_REWARD, LARGEST_REWARD)
        if not least <= reward <= most:
            where = "" if row is None else f" in row {row}"
            real(f"reward{where}", reward, least=-LARGEST_REWARD, most=LARGEST_REWARD, error=InvalidReward)
            raise RewardOutOfRange(f"a reward{where} must be from {least:g} to {most:g}, got {reward!r}")
        return reward

    def _converted(self, reward: object, where: str) -> float:
        if isinstance(reward, TRUTHS):
            if not self.binary:
                raise InvalidReward(
                    f"a reward{where} must be a number, got {reward!r}: say rewards=(0, 1) to the bandit "
                    "if True and False are 1 and 0"
                )
            return float(reward)
        given = float(reward) if isinstance(reward, Decimal) else reward
        return real(f"reward{where}", given, error=InvalidReward)

    def numbers(self, rewards: npt.ArrayLike, count: int) -> Floats:
        """So many rewards as floats, each as `number` takes it."""
        values = listed("rewards", rewards, count)
        if values.dtype.kind not in "iuf" and count:
            return np.array([self.number(each, row) for row, each in enumerate(values.tolist())])
        given = np.array(values, dtype=np.float64)
        least, most = self.ends
        for row in np.flatnonzero(~((given >= least) & (given <= most))).tolist():
            self.number(given[row].item(), row)
        return given

    def warn(self, reward: float, policy: Policy) -> None:
        """Warns of a reward far beyond the settings of the policy, and again of one WORSE times as large."""
        if abs(reward) > self._fits:
            self._fits = min(WORSE * abs(reward), LARGEST_REWARD)
            warn_of_large(policy, reward, callers_level())


def checked_weight(weight: object) -> float:
    """How much a reward counts in the squared error."""
    return real("weight", weight, above=0, most=HEAVIEST_WEIGHT, error=InvalidReward)


def checked_weights(weights: npt.ArrayLike | None, count: int) -> Floats:
    """So many weights as floats; 1 if there are none."""
    if weights is None:
        return np.ones(count)
    return np.array([checked_weight(each) for each in listed("weights", weights, count).tolist()])


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


class Learnt(NamedTuple):
    """A reward that was learnt: its weight as it was told and as it counts, and its numbers among all."""

    reward: float
    weight: float
    counted: float
    numbers: ObservationNumbers


@final
class RewardHistory:
    """What was told for the last decisions, at most so many (`most`)."""

    __slots__ = ("_learnt", "_waited", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._waited: dict[str, PendingEntry] = {}
        self._learnt: dict[str, Learnt] = {}

    @staticmethod
    def of(remembers: object) -> RewardHistory | None:
        """A history of so many decisions; None if none is wanted."""
        most = whole("remembers", remembers, least=0)
        return RewardHistory(most) if most else None

    def add(self, waited: PendingEntry, learnt: Learnt) -> None:
        """One more, which takes the place of an earlier one of the same id."""
        key = waited.decision.id
        self._learnt.pop(key, None)
        while len(self._learnt) >= self.most:
            oldest = next(iter(self._learnt))
            del self._learnt[oldest], self._waited[oldest]
        self._waited[key], self._learnt[key] = waited, learnt

    def find(self, key: str) -> tuple[Decision, DesignRow, Learnt] | None:
        """The decision with that id, what it was learnt on, and what was learnt."""
        return (*self._waited[key], self._learnt[key]) if key in self._learnt else None

    def replace(self, key: str, reward: float) -> None:
        """What was told for a decision is another reward now."""
        self._learnt[key] = self._learnt[key]._replace(reward=reward)

    def change(self, changed: Callable[[DesignRow], DesignRow]) -> None:
        """Brings what rewards were learnt on to other arms or features."""
        self._waited = {key: PendingEntry(each, changed(on)) for key, (each, on) in self._waited.items()}

    def arrays(self) -> tuple[dict[str, Any], Arrays]:
        """All of it: texts as plain data, numbers as arrays."""
        waited = sorted(self._waited.values(), key=lambda each: each.decision.t)
        texts, arrays = Pending({each.decision.id: each for each in waited}).arrays("remembered")
        order = {key: place for place, key in enumerate(self._learnt)}
        rows = [
            [learnt.reward, learnt.weight, learnt.counted, learnt.numbers[0], own, order[each.decision.id]]
            for each in waited
            for learnt in [self._learnt[each.decision.id]]
            for own in [NOT_APART if learnt.numbers[1] is None else learnt.numbers[1]]
        ]
        arrays["remembered rewards"] = np.array(rows, dtype=np.float64).reshape(len(rows), 6)
        return {"most": self.most} | texts, arrays

    @staticmethod
    def restored(kept: Any, arrays: Arrays, layout: Layout, t: int) -> RewardHistory:
        """That of a file."""
        history = RewardHistory(whole("remembers", kept["most"], least=1, error=DamagedFile))
        waited = list(Pending.restored(kept, arrays, "remembered", layout, t))
        count = len(waited)
        rows: Floats = fitting("rewards that are remembered", arrays["remembered rewards"], (count, 6))
        if count > history.most or sorted(rows[:, 5].tolist()) != list(range(count)):
            raise DamagedFile("what is remembered is more than there is room for, or in no order")
        within("a reward that is remembered", rows[:, 0], (count,), -LARGEST_REWARD, LARGEST_REWARD)
        for weights in (rows[:, 1], rows[:, 2]):
            within("a weight that is remembered", weights, (count,), 0.0, HEAVIEST_WEIGHT)
        for place in np.argsort(rows[:, 5]).tolist():
            reward, weight, counted, number, own, _ = rows[place].tolist()
            if not (number >= 0.0 and number.is_integer() and own >= NOT_APART and own.is_integer()):
                raise DamagedFile("the number of a reward that is remembered is none")
            numbers = int(number), None if own == NOT_APART else int(own)
            history.add(waited[place], Learnt(reward, weight, counted, numbers))
        return history
