"""What a checkable statement is, and what checking it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from infex.streams import place, stream


class Effort(NamedTuple):
    """A seed for all draws, and the number of runs as a multiple of a quick check's.

    The `seed` is that of all draws; `scale` is that multiple.
    """

    seed: int = 0
    scale: int = 1

    def rng(self, name: str) -> np.random.Generator:
        """The draws of one check."""
        return stream(self.seed, "verify", name)

    def seeds(self, name: str, count: int) -> list[int]:
        """Seeds of `count` times `scale` runs of one check."""
        return [place(self.seed, "verify", name, n, size=2**63) for n in range(count * self.scale)]


def parts(seeds: list[int], size: int = 200) -> list[list[int]]:
    """The seeds in parts of at most `size`, because recorded runs take memory."""
    return [seeds[first : first + size] for first in range(0, len(seeds), size)]


class Measured(NamedTuple):
    """A figure, and what it may not exceed.

    `value` may not exceed `limit`.
    """

    value: float
    limit: float = 1.0


class Finding(NamedTuple):
    """A statement with the figure that was measured, its limit, and whether the statement held.

    `id` is its name, such as "C13", and `holds` says whether it did.
    """

    id: str
    statement: str
    measured: float
    limit: float
    holds: bool


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """What is claimed, in words that say what is measured, and how it is checked.

    `id` is its name, such as "C13", and `check` gives what was measured.
    """

    id: str
    words: str
    check: Callable[[Effort], Measured]

    def find(self, effort: Effort) -> Finding:
        """Checks it on fresh runs."""
        value, limit = self.check(effort)
        return Finding(self.id, self.words, float(value), float(limit), bool(value <= limit))
