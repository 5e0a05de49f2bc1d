"""The law of all arms, given that a round explores."""

from __future__ import annotations

import numpy as np

from infex.arrays import Floats
from infex.linear import Posterior
from infex.policies.epsilon_greedy import EpsilonGreedy
from infex.policies.infex import Infex
from infex.policies.masks import law_allowed
from infex.policies.traits import Policy, hook, traits_of

MOST_LAWS = 1000  # arms; each is asked about by itself, and a law looks at all arms
SUM_ROUNDING = 1e-9


def laws_of(policy: Policy, t: int, posterior: Posterior) -> Floats | None:
    """The chance of every arm if round t explores, (K,); None where it is not known, or takes long to find.

    That of a policy that samples takes many draws for each arm; of the arm that it plays a `Choice` tells it.
    """
    traits = traits_of(policy)
    if len(posterior) > MOST_LAWS or any(hook(link, "with_law") is not None for link in traits.chain):
        return None
    if isinstance(policy, EpsilonGreedy) and posterior.allowed is None:
        return np.full(len(posterior), 1.0 / len(posterior))
    if isinstance(policy, Infex):
        shares = policy._likelihood.laws(t, posterior, posterior.note or policy._begin)
    elif traits.gates:
        return None
    else:
        shares = [law_allowed(traits, t, posterior.narrowed, arm) for arm in range(len(posterior))]
    laws = np.array([np.nan if share is None else share for share in shares])
    return laws if abs(float(laws.sum()) - 1.0) <= SUM_ROUNDING else None
