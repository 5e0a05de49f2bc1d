"""Runs that begin with what was learnt before round 1."""

from __future__ import annotations

from collections.abc import Sequence

from infex.environments import ChangingInstance, ContextualInstance, Instance, LinearInstance
from infex.errors import InvalidSetting
from infex.linear import RidgeStatistics
from infex.linear.ridge_bank import BlockRidge
from infex.simulation.course import Course

Beginning = RidgeStatistics | BlockRidge


def refuse_beginning(learnt: Beginning, problems: Sequence[Instance], course: Course | None) -> None:
    """Refuses what runs cannot begin with."""
    if course is None or not course.is_hot:
        raise InvalidSetting("runs begin with what was learnt only if the policy is compiled, with ridge")
    for problem in problems:
        _refuse(learnt, problem)


def _refuse(learnt: Beginning, problem: Instance) -> None:
    if isinstance(problem, ContextualInstance):
        mine = (problem.count, problem.context_dim, 0)
        if not isinstance(learnt, BlockRidge) or learnt.layout != mine:
            raise InvalidSetting(
                f"runs in contexts begin with a BlockRidge of {problem.count} arms on {problem.context_dim} "
                "features"
            )
    elif not isinstance(learnt, RidgeStatistics) or problem.dim != learnt.dim:
        size = learnt.dim if isinstance(learnt, RidgeStatistics) else "other"
        raise InvalidSetting(f"what was learnt is of {size} features, and a problem has {problem.dim}")
    plain = isinstance(problem, LinearInstance) and problem.is_plain
    if not plain and (
        not isinstance(problem, ChangingInstance | ContextualInstance) or problem.late is not None
    ):
        raise InvalidSetting("runs begin with what was learnt only if rewards come at once")
