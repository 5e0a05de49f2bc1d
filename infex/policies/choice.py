"""What a policy chooses, checked; and how it picks the best arm, with which probability."""

from __future__ import annotations

import math
from enum import Enum, StrEnum
from typing import Any, Literal, NamedTuple

import numpy as np

from infex.arrays import ROUNDING, Floats
from infex.checks import quick, real, whole
from infex.core.choosing import best_arm, tied_arms
from infex.errors import InvalidChoice
from infex.models.posterior import Posterior

MOST_LIKELY = 1.0 + 1e-9  # a probability, with rounding
LARGEST_WHOLE = 10**100  # as a whole number in a policy state


class Reason(StrEnum):
    """Why a round explored, or why not: text that can be counted."""

    SCHEDULED = "scheduled"
    EXPLORED = "explored"  # by a policy without a schedule
    MADE_UP = "made up for a skipped round"
    GREEDY = "greedy"
    BUDGET_SPENT = "budget spent"
    LITTLE_AT_STAKE = "little at stake"
    JUST_EXPLORED = "just explored"
    COST_LIMIT = "skipped: cost limit"
    BASELINE = "skipped: baseline not safe"
    CERTAIN = "skipped: certain"
    NO_DOUBT = "skipped: no doubt"
    PAUSED = "skipped: paused"
    NO_ARM_ALLOWED = "skipped: no arm is allowed"
    FORBIDDEN = "skipped: the request forbids exploring"
    DECLINED = "skipped: the base was greedy"
    LEAST_SQUARES = "best by least squares"
    LASSO = "best by LASSO"


class ScheduleStatus(Enum):
    """What became of a round's exploration; `None` of a `Choice` is a policy without a schedule."""

    REST = "rest"  # none was due, and none happened
    DUE = "due"  # it was due, and happened
    MADE_UP = "made up"  # it was owed, and happened
    OWED = "owed"  # it was due, did not happen, and is owed from now on
    DROPPED = "dropped"  # it was due, did not happen, and never will


class Choice(NamedTuple):
    """The `arm` a policy chooses, whether it counts as `explored`, and the `reason` in a word or two.

    A policy holds no data. What it must remember of its own choices, such as that it has stopped
    exploring for good, it says in `policy_state` (numbers and texts, in tuples, lists or dicts), and finds in
    `posterior.policy_state` in the next round; None leaves it as it was. A bandit saves it. `reason` is
    one of `Reason` or a text of your own. `features` are what the reward is to be learnt on, where
    that is not the arm's own features.

    `propensity` is the chance of this arm, given all rounds before, over the draws of this one;
    `explore_probability` that of exploring in this round, and `base_propensity` that of the arm if it
    explores. Each is None where it is not known. `schedule_status` is for policies with a schedule. Where a
    schedule is drawn at random, greedy rounds too need the law of what was not played: a policy tells
    it by a method `propensity` (see `Hooks`).

    As a base of `Infex` every round of the schedule counts as explored, whatever `explored` says here,
    unless the policy has `reports_explored = True`.
    """

    arm: int
    explored: bool = True
    policy_state: Any = None
    reason: str = ""
    features: Floats | None = None
    propensity: float | None = None
    explore_probability: float | None = None
    base_propensity: float | None = None
    schedule_status: ScheduleStatus | None = None


def exploring_choice(arm: int, propensity: float | None, policy_state: object = None) -> Choice:
    """The choice of a policy that explores in every round, with the probability of its arm."""
    return quick(Choice, (arm, True, policy_state, "", None, propensity, 1.0, propensity, None))


def uniform_choice(arms: int, rng: np.random.Generator) -> Choice:
    """Any of so many arms, in a round that explores."""
    return exploring_choice(int(rng.integers(arms)), 1.0 / arms)


def is_built_in(thing: object) -> bool:
    """Is it an object of one of infex's own classes, and not of a user's?"""
    return type(thing).__module__.startswith("infex.")


def checked_arm(choice: object, arms: int) -> int:
    """The arm of a choice, if it is one of so many on offer."""
    if not isinstance(choice, Choice):
        raise InvalidChoice(f"choose must return a Choice, got {type(choice).__name__}")
    arm = choice.arm
    if type(arm) is not int:
        arm = whole("the arm of a Choice", arm, error=InvalidChoice)
    if not 0 <= arm < arms:
        hint = "; is a score NaN?" if arm == -1 else ""
        raise InvalidChoice(f"the arm of a Choice must be from 0 to {arms - 1}, got {arm}{hint}")
    return arm


def checked_choice(choice: Choice, arms: int, dim: int) -> Choice:
    """A choice, if all of it can be entered: nothing of it may fail later."""
    arm = checked_arm(choice, arms)
    if type(choice.explored) is not bool:
        choice = choice._replace(explored=_truth(choice.explored))
    if choice.policy_state is not None:
        check_policy_state(choice.policy_state)
    if not isinstance(choice.reason, str):
        raise InvalidChoice(f"the reason of a Choice must be a text, got {choice.reason!r}")
    if choice.schedule_status is not None and not isinstance(choice.schedule_status, ScheduleStatus):
        raise InvalidChoice(
            f"the schedule_status of a Choice must be a ScheduleStatus, got {choice.schedule_status!r}"
        )
    if choice.features is not None:
        choice = choice._replace(features=_checked_features(choice.features, dim))
    propensities = (choice.propensity, choice.explore_probability, choice.base_propensity)
    propensity, explore, base = map(_checked_probability, propensities)
    return choice._replace(arm=arm, propensity=propensity, explore_probability=explore, base_propensity=base)


def check_policy_state(policy_state: object, of_infex: bool = False) -> None:
    """Refuses a policy state that a file could not hold, or not give back as it was."""
    if policy_state is None or isinstance(policy_state, str | bool):
        return
    if isinstance(policy_state, int):
        if abs(policy_state) > LARGEST_WHOLE:
            raise InvalidChoice("whole numbers in the policy_state of a Choice must be below 10^100 in size")
        return
    if isinstance(policy_state, float):
        if not math.isfinite(policy_state):
            raise InvalidChoice(
                f"numbers in the policy_state of a Choice must be finite, got {policy_state!r}"
            )
        return
    if isinstance(policy_state, dict) and all(isinstance(key, str) for key in policy_state):
        policy_state = list(policy_state.values())
    named = isinstance(policy_state, tuple) and type(policy_state) is not tuple
    if not isinstance(policy_state, list | tuple) or (
        named and not of_infex and not is_built_in(policy_state)
    ):
        raise InvalidChoice(
            "the policy_state of a Choice must be numbers and texts in tuples, lists or dicts; got a "
            f"{_kind_and_advice(policy_state)}"
        )
    for part in policy_state:
        check_policy_state(part, of_infex or is_built_in(policy_state))


def _kind_and_advice(value: object) -> str:
    """The kind of a value that no policy state can hold and, for NumPy's, how to say it instead."""
    if isinstance(value, np.ndarray):
        return "NumPy array: say .tolist()"
    kind = type(value).__name__
    if isinstance(value, np.generic) and isinstance(value.item(), int | float):
        return f"NumPy {kind}: say {type(value.item()).__name__}(...)"
    return kind


def _checked_probability(probability: object) -> float | None:
    if probability is None:
        return None
    called = "propensity, explore_probability and base_propensity of a Choice"
    number = real(called, probability, least=0, error=InvalidChoice)
    if number > MOST_LIKELY:
        raise InvalidChoice(f"{called} must be at most 1, got {probability!r}")
    return number


def _truth(explored: object) -> bool:
    if not isinstance(explored, np.bool_):
        raise InvalidChoice(f"explored of a Choice must be True or False, got {explored!r}")
    return bool(explored)


def _checked_features(features: object, dim: int) -> Floats:
    try:
        x = np.array(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidChoice(f"the features of a Choice must be {dim} numbers") from None
    if x.shape != (dim,) or not np.isfinite(x).all():
        raise InvalidChoice(f"the features of a Choice must be {dim} finite numbers, got the shape {x.shape}")
    if float(np.linalg.norm(x)) > 1.0 + ROUNDING:
        raise InvalidChoice(
            f"the features of a Choice must be no longer than 1, got length {np.linalg.norm(x):g}"
        )
    return x


Ties = Literal["lowest", "random"]
TIES = ("lowest", "random")


def best(scores: Floats) -> int:
    """The arm of the largest score; the lowest index among ties.

    `scores` has one number for each arm.

    >>> best(np.array([0.1, 0.3, 0.3 + 1e-15]))
    1
    """
    given = np.ascontiguousarray(scores, dtype=np.float64)
    if given.ndim != 1 or given.size == 0:
        raise InvalidChoice(f"scores must be one number for each arm, got an array of shape {given.shape}")
    if np.isnan(given).any():
        raise InvalidChoice(f"a score is NaN: that of arm {int(np.argmax(np.isnan(given)))}")
    return best_arm(given)


def first_best(scores: Floats) -> int:
    """`best` without its checks of shape and type; refuses scores that hold a NaN."""
    if (arm := best_arm(scores)) < 0:
        raise InvalidChoice("no arm has a finite score: are the settings of the policy too large?")
    return arm


def best_arms(scores: Floats) -> list[int]:
    """All arms of the largest score.

    >>> best_arms(np.array([0.1, 0.3, 0.3 + 1e-15]))
    [1, 2]
    """
    arms = tied_arms(scores)
    return arms or [first_best(scores)]  # which refuses scores that are no numbers


def pick(scores: Floats, ties: Ties, rng: np.random.Generator) -> tuple[int, float]:
    """The best arm, among ties the lowest index or one drawn uniformly; and its probability."""
    if ties == "lowest":
        return first_best(scores), 1.0
    arms = best_arms(scores)
    return (arms[0], 1.0) if len(arms) == 1 else (arms[int(rng.integers(len(arms)))], 1.0 / len(arms))


def pick_propensity(scores: Floats, ties: Ties, arm: int) -> float:
    """The probability that `pick` picks `arm`."""
    if ties == "lowest":
        return float(arm == first_best(scores))
    arms = best_arms(scores)
    return (arm in arms) / len(arms)


def draw(probabilities: Floats, rng: np.random.Generator) -> Choice:
    """The choice of an arm by the probabilities of all, (K,), in a round that explores."""
    arm = int(rng.choice(probabilities.size, p=probabilities))
    return exploring_choice(arm, float(probabilities[arm]))


class LawPolicy:
    """A policy that explores in every round, by an arm that it draws from probabilities that it knows."""

    __slots__ = ()

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """The probability of every arm in round t, (K,)."""
        raise NotImplementedError

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """An arm by its probability."""
        return draw(self.probabilities(t, posterior), rng)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """The probability of `arm`."""
        return float(self.probabilities(t, posterior)[arm])


class IndexPolicy:
    """A policy that explores in every round, by the arm of the largest index."""

    __slots__ = ()

    ties: Ties

    def index(self, posterior: Posterior) -> Floats:
        """The index of every arm, (K,)."""
        raise NotImplementedError

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the largest index."""
        return exploring_choice(*pick(self.index(posterior), self.ties, rng))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the arm of the largest index; shared among ties that are broken at random."""
        return pick_propensity(self.index(posterior), self.ties, arm)
