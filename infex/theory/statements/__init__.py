"""Statements of the paper that can be checked, C1 to C21, each on fresh runs.

A check measures one figure that may not exceed a limit, and could fail.
"""

from collections.abc import Callable, Iterable, Iterator

from infex.errors import InvalidSetting
from infex.streams import place
from infex.theory.statements import orders, ridge, rounds, tails, two_arms
from infex.theory.statements.statement import Effort, Finding, Measured, Statement

STATEMENTS = tuple(
    sorted(
        (*ridge.STATEMENTS, *tails.STATEMENTS, *two_arms.STATEMENTS, *rounds.STATEMENTS, *orders.STATEMENTS),
        key=lambda each: int(each.id[1:]),
    )
)
THOROUGH = 100  # times the runs of a quick check, in one pass
PASSES = 12  # of a thorough check, each with runs of its own: more at once would take too much memory


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
    return list(passes(seed, thorough=thorough, only=only, told=told))[-1]


def passes(
    seed: int = 0,
    *,
    thorough: bool = False,
    only: Iterable[str] = (),
    told: Callable[[Statement], None] = lambda statement: None,
) -> Iterator[list[Finding]]:
    """The same after each of its passes, of which a quick check has one: the worst figures so far."""
    some = chosen(only)
    worst: list[Finding] = []
    for number in range(PASSES if thorough else 1):
        effort = Effort(
            seed if number == 0 else place(seed, "pass", number, size=2**63), THOROUGH if thorough else 1
        )
        found = []
        for statement in some:
            told(statement)
            found.append(statement.find(effort))
        worst = [_worse(*pair) for pair in zip(worst, found, strict=True)] if worst else found
        yield worst


def _worse(one: Finding, other: Finding) -> Finding:
    """The one that fails or, if both or none do, has the greater figure."""
    if one.holds != other.holds:
        return other if one.holds else one
    return one if one.measured >= other.measured else other


def chosen(only: Iterable[str] = ()) -> list[Statement]:
    """The statements of these names, in order; all of them without names."""
    names = [name.upper() for name in only]
    known = {statement.id for statement in STATEMENTS}
    for name in names:
        if name not in known:
            raise InvalidSetting(f"there is no statement {name!r}; there are C1 to C21")
    return [statement for statement in STATEMENTS if not names or statement.id in names]


__all__ = ["STATEMENTS", "Effort", "Finding", "Measured", "Statement", "chosen", "passes", "verify"]
