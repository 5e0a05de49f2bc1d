"""Are there as many explorations as parameters? If not, that is said when a bandit is made."""

from __future__ import annotations

import math
import warnings

from infex.bandit.arms import Arms
from infex.checks import callers_level, told, whole
from infex.errors import FewExplorations, OutOfReach
from infex.linear import Separate
from infex.policies.gate import Control, Gate, Limit
from infex.policies.limited import Limited
from infex.policies.traits import traits_of
from infex.rounds import Player
from infex.schedules.protocol import Family


def warn_of_few(arms: Arms, player: Player, horizon: object) -> None:
    """Warns of a schedule that stops, in `horizon` rounds or for good, before it has seen every parameter.

    An exploration tells of one direction, so that fewer than there are parameters leave some of them to what
    greedy rounds happen to play. A schedule that never explores is a decision, and not warned of.
    """
    most = None if horizon is None else whole("horizon", horizon, least=1)
    gate, parameters = traits_of(player.policy).gate, parameters_of(arms)
    if gate is None or not isinstance(gate.plan, Family):
        return
    try:
        count = explorations(gate, parameters, most)
    except OutOfReach:
        return
    if 0 < count < parameters:
        rounds = "" if most is None else f" in {most} rounds"
        warnings.warn(
            f"{told(player.policy)} explores {count} times{rounds}, and {parameters} parameters are to be "
            "learnt: explore more often, or use fewer features, or features that arms share "
            "(infex.features.interactions).",
            FewExplorations,
            stacklevel=callers_level(),
        )


def parameters_of(arms: Arms) -> int:
    """How many parameters there are to learn; fixed arms that are fewer than their features span no more."""
    layout = arms.layout
    if isinstance(layout, Separate):
        return layout.arms * layout.dim
    dim, count = layout.shape
    return int(min(dim, count) if count else dim)


def explorations(gate: Gate, enough: int, horizon: int | None) -> int:
    """How many explorations there can be, up to `enough`."""
    last = math.inf if horizon is None else horizon
    limits = [limit for layer in gate.layers if (limit := _limit(layer)) is not None]
    low, high = 0, min([enough, *limits])
    while low < high:
        middle = (low + high + 1) // 2
        when = gate.plan.when(middle)
        low, high = (middle, high) if when < math.inf and when <= last else (low, middle - 1)
    return low


def _limit(layer: Control) -> int | None:
    """How many explorations a control lets happen in all, if it limits them."""
    if isinstance(layer, Limit):
        return layer.budget.limit
    return layer.limit if isinstance(layer, Limited) and layer.window is None else None
