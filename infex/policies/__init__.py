"""Policies: settings that choose an arm from the posterior. Each line is a row of the registry."""

from infex.policies.base import Hooks as Hooks
from infex.policies.base import Learner as Learner
from infex.policies.base import Policy as Policy
from infex.policies.choice import Choice as Choice
from infex.policies.choice import Reason as Reason
from infex.policies.choice import best as best
from infex.policies.conservative import conservative as conservative
from infex.policies.context_reduction import ContextReduction as ContextReduction
from infex.policies.controls import Control as Control
from infex.policies.controls import budget as budget
from infex.policies.controls import catching_up as catching_up
from infex.policies.controls import guarded as guarded
from infex.policies.controls import paused as paused
from infex.policies.doubt import doubtful as doubtful
from infex.policies.doubt import ledger as ledger
from infex.policies.ensemble import EnsembleSampling as EnsembleSampling
from infex.policies.exp2 import EXP2 as EXP2
from infex.policies.forced_sampling import AgnosticLassoBandit as AgnosticLassoBandit
from infex.policies.forced_sampling import LassoBandit as LassoBandit
from infex.policies.forced_sampling import OLSBandit as OLSBandit
from infex.policies.greedy import EpsilonGreedy as EpsilonGreedy
from infex.policies.greedy import ExploreThenCommit as ExploreThenCommit
from infex.policies.greedy import Greedy as Greedy
from infex.policies.greedy import GreedyFirst as GreedyFirst
from infex.policies.greedy import Uniform as Uniform
from infex.policies.ids import LinIDS as LinIDS
from infex.policies.igw import SpannerIGW as SpannerIGW
from infex.policies.imed import LinIMED as LinIMED
from infex.policies.infex import Infex as Infex
from infex.policies.layered import SupLinUCB as SupLinUCB
from infex.policies.med import LinMED as LinMED
from infex.policies.perturbed import TSUCB as TSUCB
from infex.policies.perturbed import LinPHE as LinPHE
from infex.policies.perturbed import WeightedBootstrap as WeightedBootstrap
from infex.policies.phased import PhasedElimination as PhasedElimination
from infex.policies.rand_ucb import RandLinUCB as RandLinUCB
from infex.policies.softened import Softened as Softened
from infex.policies.thompson import GaussianTS as GaussianTS
from infex.policies.thompson import HybridTS as HybridTS
from infex.policies.thompson import LinTS as LinTS
from infex.policies.thompson import OptimisticTS as OptimisticTS
from infex.policies.ucb import UCB1 as UCB1
from infex.policies.ucb import FixedBonusUCB as FixedBonusUCB
from infex.policies.ucb import LinUCB as LinUCB
from infex.policies.ucb import RarelySwitchingUCB as RarelySwitchingUCB
from infex.policies.until_certain import until_certain as until_certain
from infex.policies.variance_aware import WeightedOFUL as WeightedOFUL

globals()["__all__"] = sorted(  # the names above, without modules; a type checker reads the lines themselves
    name
    for name, value in list(globals().items())
    if not name.startswith("_") and type(value).__name__ != "module"
)
