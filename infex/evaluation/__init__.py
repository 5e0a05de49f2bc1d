"""What logs can tell of policies that did not write them.

>>> from infex import evaluation
>>> from infex.logs import Log
>>> log = Log(arm=[0, 1] * 100, reward=[1.0, 0.0] * 100, propensity=[0.5] * 200)
>>> found = evaluation.evaluate(log, {"first": 0, "now": evaluation.logged}, against="now", estimator="ips")
>>> found.compare("first", "now").verdict
'better'
"""

from infex.evaluation.adding_up import PartSums, SummedValue, evaluate_parts, judged_sums, part_sums
from infex.evaluation.bandit_of_parts import LogPart, bandit_of_parts, log_parts
from infex.evaluation.checking import LogCheck, check
from infex.evaluation.comparing import Comparison, NeededExplorations, compare, needed
from infex.evaluation.evaluating import evaluate
from infex.evaluation.evaluation import Evaluation
from infex.evaluation.pessimism import LearntPolicy, learn
from infex.evaluation.replaying import Reach, ReplayedRun, reach, replay
from infex.evaluation.simulating import Simulation, simulate
from infex.evaluation.target_value import LogFinding, TargetValue
from infex.evaluation.targets import Logged, logged
from infex.evaluation.warm_bandit import bandit
from infex.logs import ColumnNames, Log, read, read_parts, write

__all__ = [
    "ColumnNames",
    "Comparison",
    "Evaluation",
    "LearntPolicy",
    "Log",
    "LogCheck",
    "LogFinding",
    "LogPart",
    "Logged",
    "NeededExplorations",
    "PartSums",
    "Reach",
    "ReplayedRun",
    "Simulation",
    "SummedValue",
    "TargetValue",
    "bandit",
    "bandit_of_parts",
    "check",
    "compare",
    "evaluate",
    "evaluate_parts",
    "judged_sums",
    "learn",
    "log_parts",
    "logged",
    "needed",
    "part_sums",
    "reach",
    "read",
    "read_parts",
    "replay",
    "simulate",
    "write",
]
