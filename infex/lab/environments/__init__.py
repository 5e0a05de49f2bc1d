"""Problems to play: they own the means, the gaps and the regret."""

from infex.checks import settings_by_name
from infex.lab.environments.base import (
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
from infex.lab.environments.contexts import ChangingInstance, ContextualInstance
from infex.lab.environments.fixed import LinearInstance
from infex.lab.environments.named import (
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
from infex.lab.environments.own import Environment, OwnInstance
from infex.registry import Entry, register

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

NATURE = (
    Entry("late", Late, late, settings_by_name),
    Entry("steps", Steps, steps, settings_by_name),
    Entry("turning", Turning, turning, settings_by_name),
    Entry("walk", RandomWalk, walk, settings_by_name),
)
INSTANCES = tuple(
    Entry(kind.__name__, kind, kind, settings_by_name)
    for kind in (ChangingInstance, ContextualInstance, LinearInstance)
)
register(*INSTANCES)
register(*NATURE, kind="setting")

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
