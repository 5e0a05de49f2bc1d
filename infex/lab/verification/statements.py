"""What a checkable statement is, and checking all of them: once, or in passes with runs of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from infex.errors import InvalidSetting
from infex.lab.text import text_table
from infex.streams import place, stream

THOROUGH_SCALE = 100  # times the runs of a quick check, in one pass
THOROUGH_PASSES = 12  # each with runs of its own: more runs at once would take too much memory


class Effort(NamedTuple):
    """How much is checked: the `seed` of all draws, and `scale` times the runs of a quick check."""

    seed: int = 0
    scale: int = 1

    def rng(self, name: str) -> np.random.Generator:
        """The draws of one check."""
        return stream(self.seed, "verify", name)

    def seeds(self, name: str, count: int) -> list[int]:
        """Seeds of `count` times `scale` runs of one check."""
        return [place(self.seed, "verify", name, n, size=2**63) for n in range(count * self.scale)]

    def seed_parts(self, name: str, count: int, size: int = 200) -> list[list[int]]:
        """The same seeds in parts of at most `size`, because recorded runs take memory."""
        seeds = self.seeds(name, count)
        return [seeds[first : first + size] for first in range(0, len(seeds), size)]


class Finding(NamedTuple):
    """A statement with the figure that was measured, its limit, and whether the statement held.

    `id` is its name, such as "C13", and `holds` says whether it did.
    """

    id: str
    statement: str
    measured: float
    limit: float
    holds: bool


class Statement(NamedTuple):
    """What is claimed, in words that say what is measured, and the check that measures it.

    `id` is its name, such as "C13"; what `check` measures may not exceed `limit`.
    """

    id: str
    words: str
    check: Callable[[Effort], float]
    limit: float = 1.0

    def find(self, effort: Effort) -> Finding:
        """Checks it on fresh runs."""
        measured = float(self.check(effort))
        return Finding(self.id, self.words, measured, float(self.limit), measured <= self.limit)


STATEMENTS: list[Statement] = []
Check = TypeVar("Check", bound=Callable[[Effort], float])
Listener = Callable[[Statement], None]


def states(name: str, words: str, limit: float = 1.0) -> Callable[[Check], Check]:
    """Makes a function the check of a statement; `STATEMENTS` stay in the order of their numbers."""

    def add(check: Check) -> Check:
        STATEMENTS.append(Statement(name, words, check, limit))
        STATEMENTS.sort(key=lambda statement: int(statement.id[1:]))
        return check

    return add


def verify(
    seed: int = 0, *, thorough: bool = False, only: Iterable[str] = (), listener: Listener | None = None
) -> list[Finding]:
    """What checking the statements gave, all of them or `only` those named.

    The listener is called with each statement before it is checked.

    `seed` is that of all draws; a `thorough` check has a hundred times the runs, in twelve passes.

    >>> [finding.holds for finding in verify(only=["C13"])]
    [True]
    """
    return list(passes(seed, thorough=thorough, only=only, listener=listener))[-1]


def passes(
    seed: int = 0, *, thorough: bool = False, only: Iterable[str] = (), listener: Listener | None = None
) -> Iterator[list[Finding]]:
    """The worst findings so far, after each pass; a quick check has one pass.

    `seed`, `thorough`, `only` and `listener` are those of `verify`.
    """
    statements = chosen(only)
    efforts = [Effort(seed, THOROUGH_SCALE if thorough else 1)]
    if thorough:
        others = (place(seed, "pass", number, size=2**63) for number in range(1, THOROUGH_PASSES))
        efforts += [Effort(other, THOROUGH_SCALE) for other in others]
    worst: list[Finding] = []
    for effort in efforts:
        findings = []
        for statement in statements:
            if listener is not None:
                listener(statement)
            findings.append(statement.find(effort))
        worst = [_worse(*pair) for pair in zip(worst, findings, strict=True)] if worst else findings
        yield worst


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


def verdict(findings: Sequence[Finding], otherwise: str) -> str:
    """Which statements failed; `otherwise` if none has."""
    failed = [finding.id for finding in findings if not finding.holds]
    return f"{', '.join(failed)} failed" if failed else otherwise


def findings_text(findings: Sequence[Finding]) -> str:
    """`findings` as a table, and which of them failed."""
    rows = [
        [
            each.id,
            each.statement,
            f"{each.measured:.4g}",
            f"{each.limit:.4g}",
            "holds" if each.holds else "FAILS",
        ]
        for each in findings
    ]
    table = text_table(["", "statement: what is measured", "measured", "limit", ""], rows, {0: 4, 1: 48})
    return f"{table}\n{verdict(findings, f'all {len(findings)} hold')}"
