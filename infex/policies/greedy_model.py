"""Who decides in the rounds of an Infex that do not explore: the greedy arm, or a model of the user's."""

from __future__ import annotations

import numpy as np

from infex.checks import told
from infex.errors import InvalidChoice, InvalidSetting
from infex.linear import Posterior
from infex.policies.choice import checked_choice
from infex.policies.greedy import GREEDIES
from infex.policies.ties import Ties
from infex.policies.traits import Policy, Traits, checked, traits_of


def exploited(
    model: Policy | None, ties: Ties, t: int, posterior: Posterior, rng: np.random.Generator
) -> tuple[int, float | None]:
    """The arm of a round that does not explore, and with which probability it is picked."""
    if model is not None:
        return _modelled(model, t, posterior, rng)
    return (posterior.greedy, 1.0) if ties == "lowest" else GREEDIES[ties].picked(posterior, rng)


def _modelled(
    model: Policy, t: int, posterior: Posterior, rng: np.random.Generator
) -> tuple[int, float | None]:
    """The arm of a model; any may be played, also one that exploring may not try."""
    seen = posterior.exploited()
    choice = checked_choice(model.choose(t, seen, rng), len(seen), seen.dim)
    if choice.note is not None or choice.features is not None:
        raise InvalidChoice(f"the model of greedy rounds, {told(model)}, may keep no note and no features")
    known = choice.propensity is not None
    return choice.arm, choice.propensity if known else _told(model, t, posterior, choice.arm)


def share_of(model: Policy | None, ties: Ties, t: int, posterior: Posterior, arm: int) -> float | None:
    """With which probability an arm is played in a round that does not explore, if that is known."""
    greedy = GREEDIES[ties].propensity
    return greedy(t, posterior, arm) if model is None else _told(model, t, posterior, arm)


def _told(model: Policy, t: int, posterior: Posterior, arm: int) -> float | None:
    tells = traits_of(model).propensity
    return None if tells is None else tells(t, posterior.exploited(), arm)


def refuse_model(given: Policy | None, ties: Ties, base: Traits, own: bool) -> None:
    """Refuses a model that explores by itself, or learns from all rounds what the base learns from few."""
    if given is None:
        return
    model = traits_of(checked("greedy", given))
    if ties != "lowest":
        raise InvalidSetting(
            f"ties are the model's own where there is one, got ties={ties!r} and {told(given)}"
        )
    if model.gates:
        raise InvalidSetting(f"a model for greedy rounds has no schedule of its own, got {told(given)}")
    if own and _learners(base) & _learners(model):
        raise InvalidSetting(
            "with own data the base hears of its own rounds alone and the model of all: "
            f"{told(given)} cannot be the learner of both"
        )


def _learners(traits: Traits) -> set[int]:
    return {id(pupil.learner) for pupil in traits.pupils}
