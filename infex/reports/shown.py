"""What can be drawn: the results of a sweep, as far as figures and pages ask for them."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from infex.statistics import Difference, Interval, Spread

Floats = NDArray[np.float64]


class ShownProblem(Protocol):
    """One problem of a sweep."""

    @property
    def environment(self) -> str:
        """Its label."""

    @property
    def dim(self) -> int:
        """Its dimension."""


P = TypeVar("P", bound=ShownProblem)


class Shown(Protocol[P]):
    """The results of a sweep."""

    bases: dict[str, str]
    """The base of each policy that has one."""
    failures: tuple[dict[str, str], ...]
    about: dict[str, Any]

    @property
    def rules(self) -> dict[str, str]:
        """When each policy with a base explores."""

    @property
    def finals(self) -> Sized:
        """One row for each run."""

    @property
    def cells(self) -> list[P]:
        """The problems."""

    @property
    def policies(self) -> list[str]:
        """The policies."""

    def title(self, cell: P) -> str:
        """What a reader calls a problem."""

    def has(self, cell: P, policy: str) -> bool:
        """Are there runs of it?"""

    def band(self, cell: P, policy: str) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Rounds, mean regret up to them, and its standard deviation."""

    def bands(self, cell: P, policy: str) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
        """Rounds, mean regret up to them, and the ends of its interval; NaN where runs are too few."""

    def curves(self, cell: P, policy: str) -> tuple[NDArray[np.int64], Floats]:
        """Rounds, and regret up to them, one row for each run."""

    def interval(self, cell: P, policy: str) -> Interval:
        """Mean final regret with its interval; NaN where runs are too few."""

    def spread(self, cell: P, policy: str) -> Spread:
        """How final regret is spread over runs."""

    def compare(self, cell: P, one: str, other: str) -> Difference:
        """Final regret of one policy less that of another, paired."""

    def seconds(self, cell: P, policy: str) -> Floats:
        """Computation time by run."""


def played(results: Shown[P], cell: P) -> list[str]:
    """The policies that have runs of a problem."""
    return [policy for policy in results.policies if results.has(cell, policy)]


class Judgement(Protocol):
    """A claim, and in how many of the cells that can tell it holds."""

    @property
    def claim(self) -> str:
        """The claim in words."""

    @property
    def holds(self) -> int:
        """In how many cells it holds."""

    @property
    def cells(self) -> int:
        """How many cells can tell."""

    @property
    def undecided(self) -> int:
        """In how many of the other cells the difference is within noise."""

    @property
    def unit(self) -> str:
        """What a cell is called here."""

    @property
    def note(self) -> str:
        """What more there is to say."""
