"""Choosing among the arms that exploring may try, and where a request forbids exploring."""

from __future__ import annotations

import numpy as np

from infex.checks import told
from infex.errors import InvalidArms, InvalidChoice
from infex.linear import Posterior
from infex.policies.choice import Choice, Reason, Turn, arm_of, checked_choice
from infex.policies.traits import Policy, Traits


def none_allowed(posterior: Posterior) -> bool:
    """Is there no arm that exploring may try?"""
    return posterior.allowed is not None and not posterior.allowed.any()


def choose_allowed(
    policy: Policy,
    traits: Traits,
    t: int,
    posterior: Posterior,
    rng: np.random.Generator,
    trusted: bool = True,
) -> Choice:
    """The policy's choice; among the arms that are allowed, if it does not look after that itself.

    It is not `trusted` with that where all it chooses counts as explored. If no arm is allowed, the
    greedy one is played.
    """
    if posterior.allowed is None or (trusted and traits.heeds_allowed):
        return _checked(policy.choose(t, posterior, rng), traits, posterior)
    if none_allowed(posterior):
        turn = None if traits.gate is None else Turn.DROPPED
        return Choice(posterior.greedy, False, None, Reason.NO_ARM_ALLOWED, None, 1.0, 0.0, None, turn)
    refuse_some(policy, traits, "`allowed` would", "posterior.allowed itself, and say heeds_allowed = True")
    seen, places = posterior.among(posterior.allowed)
    choice = _checked(policy.choose(t, seen, rng), traits, seen)
    return choice._replace(arm=int(places[arm_of(choice, len(seen))]))


def refuse_some(policy: Policy, traits: Traits, changes: str, advice: str) -> None:
    """Refuses to show some arms alone to a learner that knows arms by their indices."""
    if traits.pupils and not traits.reads_places:
        raise InvalidArms(
            f"{told(policy)} knows arms by their indices, which {changes} change; let it read {advice}"
        )


def refuse_offer(policy: Policy, traits: Traits) -> None:
    """Refuses to offer some arms alone to such a learner."""
    refuse_some(policy, traits, "an offer of some would", "posterior.places, and say reads_places = True")


def unexplored(choice: Choice, posterior: Posterior) -> Choice:
    """What is played in the place of a choice where the request forbids exploring.

    The choice itself if it would not have explored, whatever was drawn; else the greedy arm.
    """
    if not choice.explored and choice.explore_probability == 0.0:
        return choice
    if (
        not choice.explored and choice.explore_probability is None
    ):  # nobody knows what else it might have done
        return choice._replace(propensity=None, explore_probability=0.0, base_propensity=None)
    missed = {Turn.DUE: Turn.DROPPED, Turn.MADE_UP: Turn.REST}
    turn = None if choice.turn is None else missed.get(choice.turn, choice.turn)
    share = None if choice.explore_probability is None else 1.0
    return Choice(posterior.greedy, False, None, Reason.FORBIDDEN, None, share, 0.0, None, turn)


def _checked(choice: Choice, traits: Traits, posterior: Posterior) -> Choice:
    """The choice, whole, if a user's code had a hand in it."""
    if traits.trusted:
        return choice
    whole = checked_choice(choice, len(posterior), posterior.dim)
    refuse_turn(whole, posterior.spent.owed)
    return whole


def refuse_turn(choice: Choice, owed: int) -> None:
    """Refuses a turn that cannot be that of the choice, where so many explorations are owed."""
    if choice.turn is not None and choice.explored != (choice.turn in (Turn.DUE, Turn.MADE_UP)):
        raise InvalidChoice(f"a Choice with explored={choice.explored} cannot have the turn {choice.turn!r}")
    if choice.turn is Turn.MADE_UP and not owed:
        raise InvalidChoice("no exploration is owed that a Choice could make up for")


def law_allowed(traits: Traits, t: int, posterior: Posterior, arm: int, trusted: bool = True) -> float | None:
    """The chance that `choose_allowed` picks `arm`, if the policy tells."""
    if traits.propensity is None:
        return None
    if posterior.allowed is None or (trusted and traits.heeds_allowed):
        return traits.propensity(t, posterior, arm)
    if none_allowed(posterior):
        return float(arm == posterior.greedy)
    seen, places = posterior.among(posterior.allowed)
    if not posterior.allowed[arm]:  # never, if the law is known at all
        return None if traits.propensity(t, seen, 0) is None else 0.0
    return traits.propensity(t, seen, int(np.searchsorted(places, arm)))
