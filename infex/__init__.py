"""Linear bandits that explore only when they are told to.

A base policy decides in the rounds that a schedule names; in all other rounds the greedy arm of
a ridge estimate is played (Lee and Oh, *Infrequent Exploration in Linear Bandits*, NeurIPS 2025).
"""

import importlib
from typing import TYPE_CHECKING, Any

from infex import environments, estimators, features
from infex.bandit import Bandit, Decision, Exploration
from infex.errors import InfexError, InfexWarning, LargeReward, SparseExploration
from infex.kernels import view
from infex.linear import Evidence
from infex.policies import (
    UCB1,
    AgnosticLassoBandit,
    Choice,
    ContextReduction,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedBonusUCB,
    GaussianTS,
    Greedy,
    GreedyFirst,
    HybridTS,
    Infex,
    LassoBandit,
    Learner,
    LinTS,
    LinUCB,
    OLSBandit,
    Policy,
    RarelySwitchingUCB,
    Uniform,
    best,
    guarded,
    kernel,
    paused,
    until_certain,
)
from infex.schedules import (
    Schedule,
    always,
    budget,
    every,
    from_count,
    jittered,
    listed,
    logarithmic,
    never,
    power,
    stretched,
    union,
)
from infex.simulation import Run, play, play_many
from infex.streams import stream

if TYPE_CHECKING:
    from infex import theory
    from infex.experiments import Results, Sweep
    from infex.planning import plan

__version__ = "0.1.0"


LATER = {"Results": "infex.experiments", "Sweep": "infex.experiments", "plan": "infex.planning"}


def __getattr__(name: str) -> Any:
    """What is loaded when it is asked for; `Sweep` and `Results` need infex[experiments]."""
    if name == "theory":
        return importlib.import_module("infex.theory")
    if name in LATER:
        return getattr(importlib.import_module(LATER[name]), name)
    raise AttributeError(f"module 'infex' has no attribute {name!r}")


__all__ = [
    "UCB1",
    "AgnosticLassoBandit",
    "Bandit",
    "Choice",
    "ContextReduction",
    "Decision",
    "EpsilonGreedy",
    "Evidence",
    "Exploration",
    "ExploreThenCommit",
    "FixedBonusUCB",
    "GaussianTS",
    "Greedy",
    "GreedyFirst",
    "HybridTS",
    "Infex",
    "InfexError",
    "InfexWarning",
    "LargeReward",
    "LassoBandit",
    "Learner",
    "LinTS",
    "LinUCB",
    "OLSBandit",
    "Policy",
    "RarelySwitchingUCB",
    "Results",
    "Run",
    "Schedule",
    "SparseExploration",
    "Sweep",
    "Uniform",
    "always",
    "best",
    "budget",
    "environments",
    "estimators",
    "every",
    "features",
    "from_count",
    "guarded",
    "jittered",
    "kernel",
    "listed",
    "logarithmic",
    "never",
    "paused",
    "plan",
    "play",
    "play_many",
    "power",
    "stream",
    "stretched",
    "theory",
    "union",
    "until_certain",
    "view",
]
