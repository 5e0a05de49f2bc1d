"""Problems to play: they own the means, the gaps and the regret."""

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
from infex.lab.environments.custom import Environment, OwnInstance
from infex.lab.environments.fixed import LinearInstance
from infex.lab.environments.named import PROBLEMS as PROBLEMS
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
from infex.registry import Entry, register

Instance = LinearInstance | ChangingInstance | ContextualInstance | OwnInstance

register(
    *(Entry(kind.__name__, kind, kind) for kind in (ChangingInstance, ContextualInstance, LinearInstance))
)
register(
    Entry("late", Late, late),
    Entry("steps", Steps, steps),
    Entry("turning", Turning, turning),
    Entry("walk", RandomWalk, walk),
    kind="setting",
)

__all__ = [
    "ChangingInstance", "ContextualInstance", "Environment", "Instance", "Late", "LinearInstance",
    "Moves", "OwnInstance", "RandomWalk", "Steps", "Stretch", "Turning", "changing", "collinear",
    "contextual", "gaussian", "late", "lower_bound", "many_arms", "misspecified", "near_ties", "settings_of",
    "sparse", "sphere", "steps", "turning", "walk",
]  # fmt: skip
