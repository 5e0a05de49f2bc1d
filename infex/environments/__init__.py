"""Problems to play: they own the means, the gaps and the regret."""

from infex.environments.contexts import ChangingInstance
from infex.environments.contextual_arms import ContextualInstance
from infex.environments.fixed_arms import LinearInstance
from infex.environments.lateness import Late, late
from infex.environments.moving import Moves, RandomWalk, Steps, Turning, steps, turning, walk
from infex.environments.named import (
    changing,
    collinear,
    contextual,
    gaussian,
    lower_bound,
    many_arms,
    misspecified,
    near_ties,
    settings_of,
    sparse,
    sphere,
)
from infex.environments.own import Environment, OwnInstance
from infex.environments.truths import Stretch

Instance = LinearInstance | ChangingInstance | ContextualInstance | OwnInstance

PROBLEMS = {
    named.__name__: named
    for named in (
        gaussian,
        changing,
        lower_bound,
        sparse,
        sphere,
        near_ties,
        collinear,
        many_arms,
        misspecified,
        contextual,
    )
}

__all__ = [
    "ChangingInstance",
    "ContextualInstance",
    "Environment",
    "Instance",
    "Late",
    "LinearInstance",
    "Moves",
    "OwnInstance",
    "RandomWalk",
    "Steps",
    "Stretch",
    "Turning",
    "changing",
    "collinear",
    "contextual",
    "gaussian",
    "late",
    "lower_bound",
    "many_arms",
    "misspecified",
    "near_ties",
    "settings_of",
    "sparse",
    "sphere",
    "steps",
    "turning",
    "walk",
]
