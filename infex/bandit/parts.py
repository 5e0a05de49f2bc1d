"""What a bandit is made of."""

from __future__ import annotations

from typing import NamedTuple

from infex.bandit.arms import Arms
from infex.bandit.lives import Lives
from infex.bandit.prior import Prior, prior_of
from infex.bandit.pulls import no_pulls
from infex.bandit.waiting import Waiting
from infex.checks import whole
from infex.linear import Memory
from infex.linear.estimating import Estimator, checked_estimator, in_unit
from infex.policies.traits import Policy, checked, traits_of
from infex.rounds import Player


class Parts(NamedTuple):
    """All that a bandit holds; what it derives from them is not kept in a file."""

    arms: Arms
    player: Player
    seed: int
    estimator: Estimator | None
    lives: Lives
    waiting: Waiting
    prior: Prior


def new_parts(
    arms: Arms, policy: Policy | None, seed: int, penalty: float, estimator: Estimator | None
) -> Parts:
    """Those of a bandit that has decided and learnt nothing yet."""
    known = checked("policy", policy)
    apart = traits_of(known).uses_explored
    prior = prior_of(penalty, checked_estimator(estimator), arms.unit)
    memory = Memory.empty(arms.layout, prior.inside, apart, in_unit(estimator, arms.unit))
    memory.pulls = no_pulls(arms)
    player = Player(known, memory)
    return Parts(arms, player, whole("seed", seed), estimator, Lives(), Waiting(), prior)
