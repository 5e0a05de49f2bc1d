"""Linear bandits that explore only when they are told to.

A base policy decides in the rounds that a schedule names; in all other rounds the greedy arm of
a ridge estimate is played (Lee and Oh, *Infrequent Exploration in Linear Bandits*, NeurIPS 2025).

Here is what a decision needs. Further algorithms are in `infex.policies`, further schedules in
`infex.schedules`, and simulation, sweeps, the paper and the planner in `infex.lab`.
"""

import importlib as _importlib
from importlib.util import find_spec as _find_spec
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from infex import features as features
from infex import models as models
from infex import policies as policies
from infex import schedules as schedules
from infex.bandit import Bandit as Bandit
from infex.bandit import Decision as Decision
from infex.bandit import DecisionRecord as DecisionRecord
from infex.bandit import Decisions as Decisions
from infex.errors import InfexError as InfexError
from infex.policies import Choice as Choice
from infex.policies import EpsilonGreedy as EpsilonGreedy
from infex.policies import Greedy as Greedy
from infex.policies import Infex as Infex
from infex.policies import LinTS as LinTS
from infex.policies import LinUCB as LinUCB
from infex.policies import Policy as Policy
from infex.policies import Softened as Softened
from infex.policies import best as best
from infex.policies import budget as budget
from infex.policies import guarded as guarded
from infex.policies import paused as paused
from infex.policies import until_certain as until_certain
from infex.registry import from_record as from_record
from infex.registry import to_record as to_record
from infex.schedules import Schedule as Schedule
from infex.schedules import always as always
from infex.schedules import every as every
from infex.schedules import jittered as jittered
from infex.schedules import listed as listed
from infex.schedules import logarithmic as logarithmic
from infex.schedules import never as never
from infex.schedules import power as power
from infex.schedules import stretched as stretched
from infex.version import __version__ as __version__

if _TYPE_CHECKING:
    from infex import adapters as adapters
    from infex import errors as errors
    from infex import evaluation as evaluation
    from infex import lab as lab
    from infex import testing as testing
    from infex.client import AsyncClient as AsyncClient
    from infex.client import Client as Client
    from infex.study.stores.base import studies as studies
    from infex.study.study import Study as Study

_MODULES = (
    "adapters",
    "errors",
    "evaluation",
    "features",
    "lab",
    "models",
    "policies",
    "schedules",
    "testing",
)
_LAZY = {
    "AsyncClient": "infex.client",
    "Client": "infex.client",
    "Study": "infex.study.study",
    "studies": "infex.study.stores.base",
}


def __getattr__(name: str) -> object:
    """Modules, and names that need an extra, loaded when they are asked for."""
    if name in _MODULES:
        return _importlib.import_module(f"infex.{name}")
    if name not in _LAZY:
        homes = [home for home in (policies, schedules, models, features) if name in home.__all__]
        advice = f": it is {homes[0].__name__}.{name}" if homes else ""
        raise AttributeError(f"module 'infex' has no attribute {name!r}{advice}")
    try:
        return vars(_importlib.import_module(_LAZY[name]))[name]
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "infex":
            raise
        raise ModuleNotFoundError(
            f"{error.name} is missing; infex.{name} needs: pip install 'infex[study]'", name=error.name
        ) from None


def __dir__() -> list[str]:
    """The public names, and nothing else."""
    here = {
        name
        for name, value in globals().items()
        if not name.startswith("_") and not isinstance(value, _ModuleType)
    }
    return sorted({*here, *_MODULES, *_LAZY, "__version__"})


_OPTIONAL = () if _find_spec("msgspec") and _find_spec("apsw") else ("Study", "studies")
globals()["__all__"] = [  # a star import needs what it names; a type checker reads the lines above
    name for name in __dir__() if name not in _OPTIONAL and name != "__version__"
]
