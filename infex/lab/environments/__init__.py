"""Problems to play: they own the means, the gaps and the regret."""

from collections.abc import Callable
from typing import Any

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
from infex.lab.environments.instances import (
    ChangingInstance,
    ContextualInstance,
    Environment,
    LinearInstance,
    OwnInstance,
)
from infex.lab.environments.named import (
    changing,
    collinear,
    contextual,
    gaussian,
    kernel,
    lower_bound,
    many_arms,
    misspecified,
    near_ties,
    settings_of,
    sparse,
    sphere,
)
from infex.registry import Entry, register

PROBLEMS: dict[str, Callable[..., Any]] = {
    make.__name__: make
    for make in (
        gaussian, changing, lower_bound, sparse, sphere, near_ties, collinear, many_arms, misspecified,
        kernel,
        contextual,
    )
}  # fmt: skip

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
    "contextual", "gaussian", "kernel", "late", "lower_bound", "many_arms", "misspecified", "near_ties",
    "settings_of", "sparse", "sphere", "steps", "turning", "walk",
]  # fmt: skip
