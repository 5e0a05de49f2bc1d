"""Problems to play: they own the means, the gaps and the regret."""

from infex.environments.base import (
    Late,
    Moves,
    RandomWalk,
    Steps,
    Stretch,
    Turning,
    late,
    steps,
    turning,
    walk,
)
from infex.environments.contexts import ChangingInstance, ContextualInstance
from infex.environments.fixed import LinearInstance
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
