"""Policies: settings that choose an arm from the posterior. Each line is a row of the registry."""

from infex.policies.agnostic_lasso import AgnosticLassoBandit as AgnosticLassoBandit
from infex.policies.choice import Choice as Choice
from infex.policies.choice import Reason as Reason
from infex.policies.context_reduction import ContextReduction as ContextReduction
from infex.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from infex.policies.explore_then_commit import ExploreThenCommit as ExploreThenCommit
from infex.policies.fixed_bonus import FixedBonusUCB as FixedBonusUCB
from infex.policies.gate import Control as Control
from infex.policies.gaussian_ts import GaussianTS as GaussianTS
from infex.policies.greedy import Greedy as Greedy
from infex.policies.greedy_first import GreedyFirst as GreedyFirst
from infex.policies.guarded import guarded as guarded
from infex.policies.hybrid_ts import HybridTS as HybridTS
from infex.policies.infex import Infex as Infex
from infex.policies.lasso_bandit import LassoBandit as LassoBandit
from infex.policies.limited import budget as budget
from infex.policies.lints import LinTS as LinTS
from infex.policies.linucb import LinUCB as LinUCB
from infex.policies.ols_bandit import OLSBandit as OLSBandit
from infex.policies.paused import catching_up as catching_up
from infex.policies.paused import paused as paused
from infex.policies.rarely_switching import RarelySwitchingUCB as RarelySwitchingUCB
from infex.policies.softened import Softened as Softened
from infex.policies.ties import best as best
from infex.policies.traits import Hooks as Hooks
from infex.policies.traits import Learner as Learner
from infex.policies.traits import Policy as Policy
from infex.policies.ucb1 import UCB1 as UCB1
from infex.policies.uniform import Uniform as Uniform
from infex.policies.until_certain import until_certain as until_certain

globals()["__all__"] = sorted(  # the names above, without modules; a type checker reads the lines themselves
    name
    for name, value in list(globals().items())
    if not name.startswith("_") and type(value).__name__ != "module"
)
