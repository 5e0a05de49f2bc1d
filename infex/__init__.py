"""Linear bandits that explore only when they are told to.

A base policy decides in the rounds that a schedule names; in all other rounds the greedy arm of
a ridge estimate is played (Lee and Oh, *Infrequent Exploration in Linear Bandits*, NeurIPS 2025).
"""

import importlib as _importlib
from importlib.util import find_spec as _find_spec
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from infex import environments as environments
from infex import features as features
from infex import models as models
from infex.bandit import Bandit as Bandit
from infex.bandit import Changes as Changes
from infex.bandit import Decision as Decision
from infex.bandit import DecisionRecord as DecisionRecord
from infex.bandit import Decisions as Decisions
from infex.bandit import Exploration as Exploration
from infex.errors import FewExplorations as FewExplorations
from infex.errors import InfexError as InfexError
from infex.errors import InfexWarning as InfexWarning
from infex.errors import LargeReward as LargeReward
from infex.errors import SparseExploration as SparseExploration
from infex.models.posterior import Posterior as Posterior
from infex.models.posterior import Spent as Spent
from infex.policies import *  # noqa: F403 - a new policy is a line there, and stands here too
from infex.registry import from_record as from_record
from infex.registry import to_record as to_record
from infex.schedules import *  # noqa: F403
from infex.simulation import Run as Run
from infex.simulation import play as play
from infex.simulation import play_many as play_many
from infex.streams import stream as stream
from infex.version import __version__ as __version__

if _TYPE_CHECKING:
    from infex import evaluation as evaluation
    from infex import testing as testing
    from infex import theory as theory
    from infex import verification as verification
    from infex.client import AsyncClient as AsyncClient
    from infex.client import Client as Client
    from infex.experiments.results import Results as Results
    from infex.experiments.sweep import Sweep as Sweep
    from infex.planning import plan as plan
    from infex.study.stores.base import studies as studies
    from infex.study.study import Study as Study

_LATER = {
    "AsyncClient": "infex.client.async_client",
    "Client": "infex.client.client",
    "Results": "infex.experiments.results",
    "Study": "infex.study.study",
    "Sweep": "infex.experiments.sweep",
    "plan": "infex.planning",
    "studies": "infex.study.stores.base",
}
_ROOMS = (
    "adapters", "environments", "errors", "evaluation", "features", "models", "testing", "theory",
    "verification",
)  # fmt: skip
_EXTRAS = {"Study": "study", "studies": "study"}  # what each of these needs, if not infex[experiments]


def __getattr__(name: str) -> object:
    """What is loaded when it is asked for; `Study` needs infex[study], the others infex[experiments]."""
    if name in _ROOMS:
        return _importlib.import_module(f"infex.{name}")
    if name in _LATER:
        try:
            return vars(_importlib.import_module(_LATER[name]))[name]
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "infex":
                raise
            raise ModuleNotFoundError(
                f"{error.name} is missing; infex.{name} needs: pip install "
                f"'infex[{_EXTRAS.get(name, 'experiments')}]'",
                name=error.name,
            ) from None
    raise AttributeError(f"module 'infex' has no attribute {name!r}")


globals()["__all__"] = sorted(  # all that stands above; a type checker reads the lines themselves
    {
        *_ROOMS,
        *(_LATER.keys() - _EXTRAS if _find_spec("pyarrow") else ("AsyncClient", "Client")),
    }  # a star import needs what it names
    | {*(_EXTRAS if _find_spec("msgspec") and _find_spec("apsw") else ())}
    | {
        name
        for name, value in list(globals().items())
        if not name.startswith("_") and not isinstance(value, _ModuleType)
    }
)


def __dir__() -> list[str]:
    """The public names, and nothing else."""
    return sorted({*globals()["__all__"], *_LATER, "__version__"})
