"""Policies: settings that choose an arm from the evidence."""

from infex.policies.control import guarded, paused, until_certain
from infex.policies.epsilon_greedy import EpsilonGreedy
from infex.policies.greedy import Greedy
from infex.policies.infex import Infex
from infex.policies.kernel import Kernel, KernelPolicy, kernel
from infex.policies.lints import LinTS
from infex.policies.linucb import LinUCB
from infex.policies.protocol import Choice, Learner, Policy
from infex.policies.ties import best
from infex.policies.uniform import Uniform

__all__ = [
    "Choice",
    "EpsilonGreedy",
    "Greedy",
    "Infex",
    "Kernel",
    "KernelPolicy",
    "Learner",
    "LinTS",
    "LinUCB",
    "Policy",
    "Uniform",
    "best",
    "guarded",
    "kernel",
    "paused",
    "until_certain",
]
