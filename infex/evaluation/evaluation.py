"""What `evaluate` found: the value of each target, paired comparisons, and the page that shows them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from infex.errors import InvalidTarget
from infex.evaluation.comparing import Comparison, NeededExplorations, compare, needed
from infex.evaluation.evaluation_words import sentences
from infex.evaluation.groundwork import Groundwork
from infex.evaluation.target_value import LogFinding, TargetValue


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evaluation:
    """All targets of one log, by name; `print` tells it in words.

    `found["mine"]` is a `TargetValue`: value, low, high, estimator and more. `findings` are of the log.

    `judged` are all of these, `against` is the name that the others were compared with, `work` is what
    it was found by, and `known` keeps the comparisons that were asked for.
    """

    judged: tuple[TargetValue, ...]
    against: str | None
    findings: tuple[LogFinding, ...]
    work: Groundwork = field(repr=False)
    known: dict[tuple[str, str], Comparison] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> TargetValue:
        for each in self.judged:
            if each.name == name:
                return each
        raise InvalidTarget(f"no target is called {name!r}; there are {', '.join(map(repr, self))}")

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in self.judged)

    def __len__(self) -> int:
        return len(self.judged)

    def compare(self, first: str, second: str) -> Comparison:
        """The paired difference of two targets with its interval, and the verdict."""
        return compare(self, first, second)

    def needed(self, first: str, second: str, half: float | None = None) -> NeededExplorations:
        """How many more explorations would bring the difference within -+`half`.

        Without `half`: within its own size, so that the verdict is settled if it is what it seems.
        """
        return needed(self, first, second, half)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every other target with `against`."""
        if self.against is None:
            return ()
        return tuple(self.compare(name, self.against) for name in self if name != self.against)

    def table(self) -> list[dict[str, object]]:
        """A row for each target, as plain data: what a data frame takes."""
        rows = [each.as_record() for each in self.judged]
        return [{name: value for name, value in row.items() if name != "carriers"} for row in rows]

    def as_record(self) -> dict[str, object]:
        """All of it as plain data."""
        return {
            "rounds": len(self.work.log),
            "arms": self.work.log.count,
            "confidence": self.work.confidence,
            "targets": [each.as_record() for each in self.judged],
            "comparisons": [each._asdict() for each in self.comparisons],
            "findings": [each._asdict() for each in self.findings],
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.as_record(), indent=1, default=str)

    def page(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained HTML file that tells all of it."""
        from infex.evaluation.evaluation_page import write_evaluation

        write_evaluation(self, path)

    def plot(self) -> str:
        """The intervals of all targets as an SVG picture."""
        from infex.evaluation.interval_picture import interval_picture

        return interval_picture(self)

    def __str__(self) -> str:
        return "\n".join(sentences(self))
