"""What a policy is."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np

from infex.arrays import Floats
from infex.checks import whole
from infex.errors import InfexWarning, InvalidArms, InvalidChoice, InvalidSetting
from infex.linear import Evidence

SKIPPED = "skipped: "  # how the reason of a round begins that was to explore and did not
NO_ARM_ALLOWED = f"{SKIPPED}no arm is allowed"


class Choice(NamedTuple):
    """The arm a policy chooses, whether it counts as exploration, and why in a word or two.

    A policy holds no data. What it must remember of its own choices, such as that it has stopped
    exploring for good, it says in `note` (numbers in tuples), and finds in `evidence.note` in the
    next round; None leaves the note as it was. A bandit saves it. `features` are what the reward
    is to be learnt on, where that is not the arm's own features.
    """

    arm: int
    explored: bool = True
    note: Any = None
    reason: str = ""
    features: Floats | None = None


class Policy(Protocol):
    """Settings and no data: one method, which changes nothing.

    A policy may have more, each read where it is there:

    - `uses_explored = True`: the exploring rounds are kept apart too, as `evidence.explored`;
    - `probability(t, evidence, arm)`: the chance that `choose` picks `arm`, or None;
    - `radius(evidence)`: the factor of the width in the confidence interval of a decision; a
      policy that holds a `base` has the base's;
    - `informed(instance, horizon)`: the policy that a simulation plays in its place, for one that
      asks for what theory takes for known;
    - `learn(arm, features, reward, explored)`: for a learner with a state of its own, called
      with every reward;
    - `heeds_allowed = True`: it reads `evidence.allowed` itself, and what it calls explored is
      allowed; any other policy is shown the allowed arms alone.
    """

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The choice of round t, which counts from 1."""


class Learner(Policy, Protocol):
    """A policy with a state of its own, such as a wrapped model of another library."""

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Takes in the reward of one decision."""


def checked(name: str, policy: Any) -> Policy:
    """`policy`, if it is an object with a method choose."""
    if isinstance(policy, type):
        raise InvalidSetting(
            f"{name} must be a policy; got the class {policy.__name__}, say {policy.__name__}(...)"
        )
    if not callable(getattr(policy, "choose", None)):
        hint = f", say {policy.__name__}()" if callable(policy) and hasattr(policy, "__name__") else ""
        raise InvalidSetting(f"{name} must be a policy, an object with a method choose; got {policy!r}{hint}")
    found: Policy = policy
    return found


def chosen(choice: Any, arms: int) -> int:
    """The arm of a choice, if it is one of so many on offer."""
    if not isinstance(choice, Choice):
        raise InvalidChoice(f"choose must return a Choice, got {choice!r}")
    arm = (
        choice.arm
        if type(choice.arm) is int
        else whole("the arm of a Choice", choice.arm, error=InvalidChoice)
    )
    if not 0 <= arm < arms:
        raise InvalidChoice(f"the arm of a Choice must be from 0 to {arms - 1}, got {arm}")
    return arm


def noted(choice: Choice, before: Any) -> Any:
    """The note after a choice."""
    return before if choice.note is None else choice.note


def informed(policy: Any, instance: Any, horizon: int) -> Any:
    """The policy, or its base, once it is told the problem it plays, where it asks for that.

    Only a simulation can: some policies need a number that theory takes for known.
    """
    tells = getattr(policy, "informed", None)
    if callable(tells):
        return tells(instance, horizon)
    base = getattr(policy, "base", None)
    told = base if base is None else informed(base, instance, horizon)
    if told is base:
        return policy
    with warnings.catch_warnings():  # whoever made the policy has been told
        warnings.simplefilter("ignore", InfexWarning)
        return dataclasses.replace(policy, base=told)


def heeds_allowed(policy: Policy) -> bool:
    """Does the policy itself see to it that exploring tries allowed arms alone?"""
    return bool(getattr(policy, "heeds_allowed", False))


def none_allowed(evidence: Evidence) -> bool:
    """Is there no arm that exploring may try?"""
    return evidence.allowed is not None and not evidence.allowed.any()


def choose_allowed(
    policy: Policy, t: int, evidence: Evidence, rng: np.random.Generator, *, trusted: bool = True
) -> Choice:
    """The policy's choice; among the arms that are allowed, if it does not look after that itself.

    It is not `trusted` with that where all it chooses counts as explored. If no arm is allowed, the
    greedy one is played.
    """
    if evidence.allowed is None or (trusted and heeds_allowed(policy)):
        return policy.choose(t, evidence, rng)
    if none_allowed(evidence):
        return Choice(evidence.greedy, False, None, NO_ARM_ALLOWED)
    if learns(policy):
        raise InvalidArms(
            f"{policy!r} knows arms by their indices, which `allowed` would change; let it read "
            "evidence.allowed itself, and say heeds_allowed = True"
        )
    seen, places = evidence.among(evidence.allowed)
    choice = policy.choose(t, seen, rng)
    return choice._replace(arm=int(places[chosen(choice, len(seen))]))


def learns(policy: Policy) -> bool:
    """Does the policy, or its base, keep a state of its own? One may say so by `learns`."""
    if hasattr(policy, "learns"):
        return bool(policy.learns)
    if callable(getattr(policy, "learn", None)):
        return True
    return hasattr(policy, "base") and learns(policy.base)


def teach(policy: Any, arm: int, features: Floats, reward: float, explored: bool) -> None:
    """Passes a reward on to a learner, or to the learner that a policy holds as its base."""
    if callable(getattr(policy, "learn", None)):
        policy.learn(arm, features, reward, explored)
    elif hasattr(policy, "base"):
        teach(policy.base, arm, features, reward, explored)


def uses_explored(policy: Policy) -> bool:
    """Must the exploring rounds be kept apart for the policy?"""
    return bool(getattr(policy, "uses_explored", False))


def probability(
    policy: Policy, t: int, evidence: Evidence, arm: int, *, trusted: bool = True
) -> float | None:
    """The chance that `choose_allowed` picks `arm`, if the policy tells."""
    tells = getattr(policy, "probability", None)
    if not callable(tells):
        return None
    if evidence.allowed is None or (trusted and heeds_allowed(policy)):
        return tells(t, evidence, arm)  # type: ignore[no-any-return]
    if none_allowed(evidence):
        return float(arm == evidence.greedy)
    if not evidence.allowed[arm]:
        return 0.0
    seen, places = evidence.among(evidence.allowed)
    return tells(t, seen, int(np.searchsorted(places, arm)))  # type: ignore[no-any-return]
