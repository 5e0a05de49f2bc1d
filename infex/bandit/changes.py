"""What a bandit has learnt since it was last asked, as sums for others to take in."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats, fitting, fitting_counts
from infex.checks import whole
from infex.errors import DamagedFile, InvalidRecord
from infex.linear.estimating import Arrays
from infex.linear.gained import Gained
from infex.linear.memory import Growths
from infex.linear.moments import fitting_sums

CHANGES_VERSION = 1
MOST_LEARNT = 2**53
OF_CHANGES = "changes "  # what the names of sums begin with that were not passed on yet
Spans = dict[str, tuple[int, int]]
"""By the name of a life: how many rewards it had learnt before these, and with them."""


class Portion(NamedTuple):
    """What was learnt in some spans of lives, as sums."""

    spans: Spans
    growths: Growths


@final
class Changes:
    """What was learnt since `changes` was last called, as sums: `bandit.apply` adds them to another's.

    A bandit makes it: `problem` says what it was learnt about (features, penalty, arms), which must agree
    with the other bandit, and `portions` are the sums. It is plain data: `to_bytes` and `from_bytes` take it
    anywhere. `told` is how many rewards are in it.

    >>> from infex import Bandit, Greedy
    >>> worker, centre = (Bandit([[1.0]], Greedy()) for _ in range(2))
    >>> worker.learn(arms=[0, 0], rewards=[1.0, 0.5])
    >>> sent = Changes.from_bytes(worker.changes().to_bytes())  # as if by post
    >>> centre.apply(sent), centre.apply(sent)  # the same a second time: nothing more is learnt
    (2, 0)
    >>> centre.estimates().pulls.tolist()
    [2]
    """

    __slots__ = ("portions", "problem")

    def __init__(self, problem: dict[str, Any], portions: tuple[Portion, ...]) -> None:
        self.problem, self.portions = problem, portions

    @property
    def told(self) -> int:
        """How many rewards are in it."""
        return sum(last - first for portion in self.portions for first, last in portion.spans.values())

    def __repr__(self) -> str:
        return f"Changes({self.told} rewards)"

    def to_bytes(self) -> bytes:
        """All of it, without pickle."""
        settings, arrays = (
            {"version": CHANGES_VERSION, "problem": self.problem},
            portions_arrays(self.portions),
        )
        settings |= {"spans": [portion.spans for portion in self.portions]}
        stored: Any = arrays | {"settings": np.frombuffer(json.dumps(settings).encode(), dtype=np.uint8)}
        content = io.BytesIO()
        np.savez(content, **stored)
        return content.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Changes:
        """What `to_bytes` gave; refuses anything else."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            settings = json.loads(arrays.pop("settings").tobytes())
            if settings["version"] != CHANGES_VERSION or not isinstance(settings["problem"], dict):
                raise InvalidRecord(f"version {settings['version']!r} of changes is not known")
            problem = settings["problem"]
            return Changes(problem, portions_kept(settings["spans"], arrays, problem))
        except Exception as error:  # zipfile, NumPy and JSON raise many kinds
            raise InvalidRecord(f"these are no changes that a bandit gave: {error}") from None


def portions_arrays(portions: tuple[Portion, ...]) -> Arrays:
    """Their sums, by names."""
    found: Arrays = {}
    for number, portion in enumerate(portions):
        for name, growth in zip(("all", "explored"), portion.growths, strict=True):
            if growth is not None:
                parts = {"truth": growth.truth, "counts": growth.counts, "told": np.array(growth.told)}
                parts |= {} if growth.common is None else {"common": growth.common}
                found |= {f"{OF_CHANGES}{number} {name} {part}": array for part, array in parts.items()}
    return found


def portions_kept(spans: object, arrays: Arrays, problem: Mapping[str, Any]) -> tuple[Portion, ...]:
    """Portions from anywhere, each checked: names, numbers, and sums that can be."""
    if not isinstance(spans, list):
        raise DamagedFile("the lives of what was learnt are no list")
    return tuple(
        Portion(spans_kept(each), (_growth(arrays, number, "all", problem), _apart(arrays, number, problem)))
        for number, each in enumerate(spans)
    )


def spans_kept(kept: object) -> Spans:
    """Lives, and from where to where each learnt."""
    if not isinstance(kept, dict) or not kept:
        raise DamagedFile("what was learnt names no life")
    return {str(name): _span(each) for name, each in kept.items()}


def _span(kept: Any) -> tuple[int, int]:
    first, last = (whole("a number of rewards", number, least=0, error=DamagedFile) for number in kept)
    if not first < last <= MOST_LEARNT:
        raise DamagedFile(f"a life cannot learn from reward {first} to {last}")
    return first, last


def _apart(arrays: Arrays, number: int, problem: Mapping[str, Any]) -> Gained | None:
    return _growth(arrays, number, "explored", problem) if problem["apart"] else None


def _growth(arrays: Arrays, number: int, name: str, problem: Mapping[str, Any]) -> Gained:
    """Sums, if they can be those of so many rewards."""
    dim, penalty, blocks = (problem[key] for key in ("dim", "penalty", "blocks"))
    told, truth, counts = (
        arrays[f"{OF_CHANGES}{number} {name} {part}"] for part in ("told", "truth", "counts")
    )
    count = int(fitting("told", told, (), whole=True))
    shared = problem.get("shared", 0)
    shape = (2, dim + 1, dim) if blocks is None else (blocks, 2, dim + 1 + shared, dim)
    sums: Floats = fitting("truth", truth, shape)
    for part in [sums] if blocks is None else sums:
        fitting_sums("truth", part[:, : dim + 1], dim, count, penalty)
    common = arrays[f"{OF_CHANGES}{number} {name} common"] if shared else None
    if common is not None:
        common = fitting_sums("common", common, shared, count, penalty)
    return Gained(sums, fitting_counts(counts, problem["arms"], count), count, common)
