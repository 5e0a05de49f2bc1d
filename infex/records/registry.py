"""The registry: every built-in policy, schedule, control, estimator, feature map and environment by its name.

Policies, models and environments are found where their rooms list them. What is made by a function
is a row of `MADE`: the class, the function, and how the one's settings become the other's arguments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from infex import environments, features, models, policies, schedules
from infex.checks import settings_by_name
from infex.policies.controls import Guarded, Limited, Paused
from infex.policies.until_certain import UntilCertain
from infex.schedules.counted import Logarithmic, Power, Stretched

if TYPE_CHECKING:
    pass

Settings = dict[str, Any]


class Row(NamedTuple):
    """One kind of thing: its name, its class, what makes it, and the arguments that make an equal one.

    `settings` gives None for one that a record cannot hold, as it holds a user's function.
    """

    name: str
    kind: type
    make: Callable[..., Any]
    settings: Callable[[Any], Settings | None]


def _listed_in(room: ModuleType, verb: str) -> dict[str, Row]:
    """The dataclasses that a room lists and that have a verb."""
    kinds = [
        kind for kind in vars(room).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)
    ]
    own = [kind for kind in kinds if callable(getattr(kind, verb, None))]
    return {kind.__name__: Row(kind.__name__, kind, kind, settings_by_name) for kind in own}


def _target(kind: type[Stretched | Power | Logarithmic]) -> Callable[[Any], Settings | None]:
    """The settings of a schedule that follows a target of this very kind."""
    return lambda counted: {"r": counted.target.r} if type(counted.target) is kind else None


def _blocks(disjoint: features.Disjoint) -> Settings | None:
    arms = disjoint.count if disjoint.labels is None else list(disjoint.labels)
    context = {"context_dim": disjoint.context_dim, "longest": disjoint.longest, "context": disjoint.context}
    return _recorded({"arms": arms} | context)


def _recorded(settings: Settings) -> Settings | None:
    """The settings of a map, unless what reads its contexts is a user's; no word of it if there is none."""
    if settings["context"] is None:
        return {name: value for name, value in settings.items() if name != "context"}
    return settings if isinstance(settings["context"], features.ContextTable | features.Shortened) else None


def _hybrid(hybrid: features.Hybrid) -> Settings | None:
    shared = hybrid.shared
    if not isinstance(shared, features.Interactions) or _recorded(settings_by_name(shared)) is None:
        return None
    return {"shared": shared, "own": list(hybrid.own)}


def _paused(paused: Paused) -> Settings | None:
    return settings_by_name(paused) if paused.by_rounds and not paused.catches_up else None


def _catching_up(paused: Paused) -> Settings | None:
    return {"schedule": paused.schedule, "at_most": paused.at_most} if paused.catches_up else None


MADE = (
    Row("every", schedules.Every, schedules.every, lambda e: {"m": e.period, "offset": e.offset}),
    Row("listed", schedules.Listed, schedules.listed, lambda s: {"rounds": list(s.rounds)}),
    Row("jittered", schedules.Jittered, schedules.jittered, lambda s: {"m": s.period, "seed": s.seed}),
    Row("stretched", schedules.Counted, schedules.stretched, _target(Stretched)),
    Row("power", schedules.Counted, schedules.power, _target(Power)),
    Row("logarithmic", schedules.Counted, schedules.logarithmic, _target(Logarithmic)),
    Row(
        "union",
        schedules.Union,
        lambda members: schedules.union(*members),
        lambda u: {"members": list(u.members)},
    ),
    Row("budget", schedules.Budget, policies.budget, lambda b: settings_by_name(b) | {"window": None}),
    Row("budget", Limited, policies.budget, settings_by_name),
    Row("guarded", Guarded, policies.guarded, settings_by_name),
    Row("until_certain", UntilCertain, policies.until_certain, settings_by_name),
    Row("paused", Paused, policies.paused, _paused),
    Row("catching_up", Paused, policies.catching_up, _catching_up),
    Row("disjoint", features.Disjoint, features.disjoint, _blocks),
    Row(
        "interactions",
        features.Interactions,
        features.interactions,
        lambda map_: _recorded(settings_by_name(map_)),
    ),
    Row("hybrid", features.Hybrid, features.hybrid, _hybrid),
    Row("table", features.ContextTable, features.table, settings_by_name),
    Row("shortened", features.Shortened, features.shortened, settings_by_name),
)

MAPS = (
    *(features.Disjoint, features.Interactions, features.Hybrid),
    *(features.ContextTable, features.Shortened),
)

NATURE = (
    Row("late", environments.Late, environments.late, settings_by_name),
    Row("steps", environments.Steps, environments.steps, settings_by_name),
    Row("turning", environments.Turning, environments.turning, settings_by_name),
    Row("walk", environments.RandomWalk, environments.walk, settings_by_name),
)

POLICIES: Mapping[str, Row] = _listed_in(policies, "choose")
ESTIMATORS: Mapping[str, Row] = _listed_in(models, "new_model")
ENVIRONMENTS: Mapping[str, Row] = _listed_in(environments, "draws")
SCHEDULES: Mapping[str, Row] = {row.name: row for row in MADE if not issubclass(row.kind, MAPS)}
OTHER_NAMES: Mapping[str, Callable[[], Any]] = {"always": schedules.always, "never": schedules.never}
FEATURES: Mapping[str, Row] = {row.name: row for row in MADE if issubclass(row.kind, MAPS)}
ROWS = (*POLICIES.values(), *ESTIMATORS.values(), *ENVIRONMENTS.values(), *MADE, *NATURE)
BY_KIND: Mapping[type, tuple[Row, ...]] = {
    kind: tuple(row for row in ROWS if row.kind is kind) for kind in {row.kind for row in ROWS}
}
NAMED: Mapping[str, Row] = {row.name: row for row in ROWS}


def _made_by(room: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that a room shows and that make one of the dataclasses that it shows."""
    shown = {name: value for name, value in vars(room).items() if not name.startswith("_")}
    makers = {name: value for name, value in shown.items() if isinstance(value, FunctionType)}
    return {
        name: make for name, make in makers.items() if dataclasses.is_dataclass(shown.get(_returned(make)))
    }


def _returned(function: FunctionType) -> str:
    return str(function.__annotations__.get("return"))


GENERATORS: Mapping[str, Callable[..., Any]] = environments.PROBLEMS
"""The problems of `infex.environments` that are made from settings and a seed."""
PROBLEM_PARTS: Mapping[str, Callable[..., Any]] = {
    name: make for name, make in _made_by(environments).items() if name not in GENERATORS
}
"""What makes settings of problems, such as how a parameter moves."""


def row_of(thing: object) -> tuple[Row, Settings] | None:
    """The row of a thing and its settings; None if it is no built-in one, or holds a user's code."""
    found = ((row, row.settings(thing)) for row in BY_KIND.get(type(thing), ()))
    return next(((row, settings) for row, settings in found if settings is not None), None)
