"""Contracts for what users write themselves, and slow obvious versions to compare with."""

from infex.testing.environments import EnvironmentContract
from infex.testing.policies import PolicyContract, agree
from infex.testing.problems import Problem, odd_arm_sets, play, problem
from infex.testing.reference import SlowRidge, slow_play
from infex.testing.schedules import ControlContract, ScheduleContract
from infex.testing.stores import StoreContract

__all__ = [
    "ControlContract",
    "EnvironmentContract",
    "PolicyContract",
    "Problem",
    "ScheduleContract",
    "SlowRidge",
    "StoreContract",
    "agree",
    "odd_arm_sets",
    "play",
    "problem",
    "slow_play",
]
