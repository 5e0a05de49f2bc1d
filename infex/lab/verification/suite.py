"""All statements, and checking them: once, or in passes that each have runs of their own."""

from collections.abc import Callable, Iterable, Iterator

from infex.errors import InvalidSetting
from infex.lab.verification.orders import ORDER_STATEMENTS
from infex.lab.verification.ridge_runs import RIDGE_STATEMENTS
from infex.lab.verification.round_checks import ROUND_STATEMENTS
from infex.lab.verification.statement import Effort, Finding, Statement
from infex.lab.verification.tails import TAIL_STATEMENTS
from infex.lab.verification.two_arms import TWO_ARM_STATEMENTS
from infex.streams import place

STATEMENTS = tuple(
    sorted(
        (*RIDGE_STATEMENTS, *TAIL_STATEMENTS, *TWO_ARM_STATEMENTS, *ROUND_STATEMENTS, *ORDER_STATEMENTS),
        key=lambda statement: int(statement.id[1:]),
    )
)
THOROUGH_SCALE = 100  # times the runs of a quick check, in one pass
THOROUGH_PASSES = 12  # each with runs of its own: more runs at once would take too much memory

Listener = Callable[[Statement], None]


def ignore(statement: Statement) -> None:
    """Does nothing with the statement that is checked next."""


def verify(
    seed: int = 0, *, thorough: bool = False, only: Iterable[str] = (), listener: Listener = ignore
) -> list[Finding]:
    """What checking the statements gave, all of them or `only` those named.

    The listener is called with each statement before it is checked.

    `seed` is that of all draws; a `thorough` check has a hundred times the runs, in twelve passes.

    >>> [finding.holds for finding in verify(only=["C13"])]
    [True]
    """
    return list(passes(seed, thorough=thorough, only=only, listener=listener))[-1]


def passes(
    seed: int = 0, *, thorough: bool = False, only: Iterable[str] = (), listener: Listener = ignore
) -> Iterator[list[Finding]]:
    """The worst findings so far, after each pass; a quick check has one pass.

    `seed`, `thorough`, `only` and `listener` are those of `verify`.
    """
    statements = chosen(only)
    worst: list[Finding] = []
    for effort in _efforts(seed, thorough):
        findings = []
        for statement in statements:
            listener(statement)
            findings.append(statement.find(effort))
        worst = [_worse(*pair) for pair in zip(worst, findings, strict=True)] if worst else findings
        yield worst


def _efforts(seed: int, thorough: bool) -> Iterator[Effort]:
    """The seed and the size of each pass."""
    if not thorough:
        yield Effort(seed)
        return
    yield Effort(seed, THOROUGH_SCALE)
    for number in range(1, THOROUGH_PASSES):
        yield Effort(place(seed, "pass", number, size=2**63), THOROUGH_SCALE)


def _worse(one: Finding, other: Finding) -> Finding:
    """The finding that fails or, if both or none do, the one with the greater figure."""
    if one.holds != other.holds:
        return other if one.holds else one
    return one if one.measured >= other.measured else other


def chosen(only: Iterable[str] = ()) -> list[Statement]:
    """The statements of these names, in order; all of them without names.

    `only` are names such as "C13".
    """
    names = [name.upper() for name in only]
    known = {statement.id for statement in STATEMENTS}
    for name in names:
        if name not in known:
            raise InvalidSetting(f"there is no statement {name!r}; there are C1 to C21")
    return [statement for statement in STATEMENTS if not names or statement.id in names]
