"""The laboratory: problems, runs, sweeps, the paper, the planner and the theory, for researchers.

- An *environment* is a problem: arms, the law of their rewards, and how both may change. It is named by text
  (`gaussian(dim=10, arms=100)`), or is an object of yours.
- An *instance* is an environment with a seed: fixed arms, parameters and noise that all policies meet.
- A *run* is one policy on one instance from one seed (`play`); a *task* is a run that a sweep has to do.
- A *cell* of results is one environment with one horizon: the runs of all policies and seeds on it.

`from infex import lab` is light: what needs pyarrow, SciPy or matplotlib is imported when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from infex.lab import environments
from infex.lab.simulation import Run, play, play_many
from infex.policies.design import optimal_design
from infex.streams import stream

if TYPE_CHECKING:
    from infex.lab import paper, suite, theory, verification
    from infex.lab.bases.atlas import atlas
    from infex.lab.planner import plan
    from infex.lab.results import Results
    from infex.lab.sweep import Sweep

_LAZY = {
    "Results": "infex.lab.results",
    "Sweep": "infex.lab.sweep",
    "atlas": "infex.lab.bases.atlas",
    "plan": "infex.lab.planner",
}
_MODULES = ("paper", "suite", "theory", "verification")

__all__ = [
    "Results",
    "Run",
    "Sweep",
    "atlas",
    "environments",
    "optimal_design",
    "paper",
    "plan",
    "play",
    "play_many",
    "stream",
    "suite",
    "theory",
    "verification",
]


def __getattr__(name: str) -> object:
    """What needs further libraries, loaded when it is asked for."""
    if name not in (*_MODULES, *_LAZY):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        if name in _MODULES:
            return import_module(f"infex.lab.{name}")
        return vars(import_module(_LAZY[name]))[name]
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "infex":
            raise
        raise ModuleNotFoundError(
            f"{error.name} is missing; infex.lab.{name} needs: pip install 'infex[experiments]'",
            name=error.name,
        ) from None


def __dir__() -> list[str]:
    """The public names, and nothing else."""
    return list(__all__)
