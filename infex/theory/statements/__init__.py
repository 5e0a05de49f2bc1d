"""Statements of the paper that can be checked, C1 to C21, each on fresh runs.

A check measures one figure that may not exceed a limit, and could fail.
"""

from collections.abc import Callable, Iterable

from infex.errors import InvalidSetting
from infex.theory.statements import orders, ridge, rounds, tails, two_arms
from infex.theory.statements.statement import Effort, Finding, Measured, Statement

STATEMENTS = tuple(
    sorted(
        (*ridge.STATEMENTS, *tails.STATEMENTS, *two_arms.STATEMENTS, *rounds.STATEMENTS, *orders.STATEMENTS),
        key=lambda each: int(each.id[1:]),
    )
)
THOROUGH = 100  # times the runs of a quick check


def verify(
    seed: int = 0,
    *,
    thorough: bool = False,
    only: Iterable[str] = (),
    told: Callable[[Statement], None] = lambda statement: None,
) -> list[Finding]:
    """What checking the statements gave, all of them or `only` those named; `told` hears which comes next.

    >>> [finding.holds for finding in verify(only=["C13"])]
    [True]
    """
    effort = Effort(seed, THOROUGH if thorough else 1)
    found = []
    for statement in chosen(only):
        told(statement)
        found.append(statement.find(effort))
    return found


def chosen(only: Iterable[str] = ()) -> list[Statement]:
    """The statements of these names, in order; all of them without names."""
    names = [name.upper() for name in only]
    known = {statement.id for statement in STATEMENTS}
    for name in names:
        if name not in known:
            raise InvalidSetting(f"there is no statement {name!r}; there are C1 to C21")
    return [statement for statement in STATEMENTS if not names or statement.id in names]


__all__ = ["STATEMENTS", "Effort", "Finding", "Measured", "Statement", "chosen", "verify"]
