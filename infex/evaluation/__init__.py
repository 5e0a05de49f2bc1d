"""What logs can tell about policies that did not write them.

>>> from infex import evaluation
>>> from infex.logs import Log
>>> log = Log(arm=[0, 1] * 100, reward=[1.0, 0.0] * 100, propensity=[0.5] * 200)
>>> found = evaluation.evaluate(log, {"first": 0, "now": evaluation.logged}, against="now", estimator="ips")
>>> found.compare("first", "now").verdict
'better'
"""

from infex.evaluation.compare import Comparison, NeededExplorations, compare, needed
from infex.evaluation.diagnostics import LogCheck, LogFinding, check
from infex.evaluation.evaluate import Evaluation, TargetValue, evaluate
from infex.evaluation.learn import LearntPolicy, bandit, learn
from infex.evaluation.partitioned import (
    LogPart,
    PartSums,
    SummedValue,
    bandit_of_parts,
    evaluate_parts,
    evaluate_sums,
    log_parts,
    part_sums,
)
from infex.evaluation.replay import Reach, ReplayedRun, reach, replay
from infex.evaluation.simulate import Simulation, simulate
from infex.evaluation.targets import Logged, logged
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
    "evaluate_sums",
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
