"""Policies: settings that choose an arm from the evidence."""

from infex.policies.agnostic_lasso import AgnosticLassoBandit
from infex.policies.context_reduction import ContextReduction
from infex.policies.control import guarded, paused, until_certain
from infex.policies.epsilon_greedy import EpsilonGreedy
from infex.policies.explore_then_commit import ExploreThenCommit
from infex.policies.fixed_bonus import FixedBonusUCB
from infex.policies.gaussian_ts import GaussianTS
from infex.policies.greedy import Greedy
from infex.policies.greedy_first import GreedyFirst
from infex.policies.hybrid_ts import HybridTS
from infex.policies.infex import Infex
from infex.policies.kernel import Kernel, KernelPolicy, kernel
from infex.policies.lasso_bandit import LassoBandit
from infex.policies.lints import LinTS
from infex.policies.linucb import LinUCB
from infex.policies.ols_bandit import OLSBandit
from infex.policies.protocol import Choice, Learner, Policy
from infex.policies.rarely_switching import RarelySwitchingUCB
from infex.policies.ties import best
from infex.policies.ucb1 import UCB1
from infex.policies.uniform import Uniform

__all__ = [
    "UCB1",
    "AgnosticLassoBandit",
    "Choice",
    "ContextReduction",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "FixedBonusUCB",
    "GaussianTS",
    "Greedy",
    "GreedyFirst",
    "HybridTS",
    "Infex",
    "Kernel",
    "KernelPolicy",
    "LassoBandit",
    "Learner",
    "LinTS",
    "LinUCB",
    "OLSBandit",
    "Policy",
    "RarelySwitchingUCB",
    "Uniform",
    "best",
    "guarded",
    "kernel",
    "paused",
    "until_certain",
]
