"""Bandits that pass on what they have learnt, as sums, and take in what others have, each reward once.

Every instance of a bandit (see `ids`) numbers the rewards that it learns by itself. What others are given is
a span of these numbers, so that nothing is counted twice, and nothing is left out, without a word.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts
from infex.bandit.archive import read_arrays
from infex.bandit.ids import past_from
from infex.checks import whole
from infex.errors import CannotMerge, DamagedFile, InvalidRecord
from infex.models.base import Arrays
from infex.models.layout import Layout, PerArm
from infex.models.state import ModelState, StateStatistics
from infex.models.sums import SufficientStatistics

CHANGES_VERSION = 1
MOST_LEARNT = 2**53
PREFIX = "changes "  # what the names of arrays begin with that were not passed on yet
AGREEING = ("dim", "blocks", "shared", "penalty", "estimator", "features")

Spans = dict[str, tuple[int, int]]
"""By the name of an instance: how many rewards it had learnt before these, and with them."""


class Delta(NamedTuple):
    """What was learnt in some spans of instances, as sums."""

    spans: Spans
    statistics: StateStatistics


@final
class Changes:
    """What was learnt since `changes` was last called, as sums: `bandit.apply` adds them to another's.

    A bandit makes it: `problem` says what it was learnt about (features, penalty, arms), which must agree
    with the other bandit, and `deltas` are the sums. It is plain data: `to_bytes` and `from_bytes` take it
    anywhere. `n_observations` is how many rewards are in it.

    >>> from infex import Bandit, Greedy
    >>> worker, centre = (Bandit([[1.0]], Greedy()) for _ in range(2))
    >>> worker.learn(arms=[0, 0], rewards=[1.0, 0.5])
    >>> sent = Changes.from_bytes(worker.changes().to_bytes())  # as if by post
    >>> centre.apply(sent), centre.apply(sent)  # the same a second time: nothing more is learnt
    (2, 0)
    >>> centre.estimates().pulls.tolist()
    [2]
    """

    __slots__ = ("deltas", "problem")

    def __init__(self, problem: dict[str, Any], deltas: tuple[Delta, ...]) -> None:
        self.problem, self.deltas = problem, deltas

    @property
    def n_observations(self) -> int:
        """How many rewards are in it."""
        return sum(last - first for delta in self.deltas for first, last in delta.spans.values())

    def __repr__(self) -> str:
        return f"Changes({self.n_observations} rewards)"

    def to_bytes(self) -> bytes:
        """All of it, without pickle."""
        spans = [delta.spans for delta in self.deltas]
        header = {"version": CHANGES_VERSION, "problem": self.problem, "spans": spans}
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        stored: Any = _arrays(self.deltas) | {"header": text}
        content = io.BytesIO()
        np.savez(content, **stored)
        return content.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Changes:
        """What `to_bytes` gave; refuses anything else."""
        try:
            arrays = read_arrays(io.BytesIO(data))
            header = json.loads(arrays.pop("header").tobytes())
            if header["version"] != CHANGES_VERSION or not isinstance(header["problem"], dict):
                raise InvalidRecord(f"version {header['version']!r} of changes is not known")
            problem = header["problem"]
            return Changes(problem, _deltas(header["spans"], arrays, problem))
        except Exception as error:  # zipfile, NumPy and JSON raise many kinds
            raise InvalidRecord(f"these are no changes that a bandit gave: {error}") from None


@final
class Replication:
    """Whose rewards a bandit has learnt: its own, those of its earlier names, and others' it was given.

    `known` says up to which reward of each other instance all is known here.
    """

    __slots__ = ("_exchanged", "_lost", "_mark", "_sent", "_unsent", "known")

    def __init__(
        self,
        known: Mapping[str, int] | None = None,
        unsent: tuple[Delta, ...] = (),
        exchanged: bool = False,
        mark: StateStatistics | None = None,
    ) -> None:
        self.known, self._unsent = dict(known or {}), unsent
        self._exchanged = exchanged  # was anything ever passed on, or taken in?
        self._mark = mark  # all that this instance has not learnt by itself, or has passed on
        self._sent = 0  # how many of its own rewards were passed on
        self._lost = 0  # and how many were forgotten with their arms

    def _position(self, model: ModelState) -> int:
        """How many rewards this instance has learnt by itself."""
        before = 0 if self._mark is None else self._mark[0].n_observations
        return self._sent + self._lost + model.all.n_observations - before

    def successor(self, name: str, model: ModelState) -> Replication:
        """That of another instance that goes on from this one, which is called `name`."""
        position, now = self._position(model), sums_of(model)
        if now is None:
            return Replication()
        known = self.known | ({name: position} if position else {})
        if self._exchanged:
            return Replication(known, (*self._unsent, *self._own(name, model)), True, now)
        spans: Spans = {}
        for delta in self._unsent:
            spans |= delta.spans
        spans |= {name: (0, position)} if position else {}
        return Replication(known, (Delta(spans, now),) if spans else (), False, now)

    def take(self, name: str, model: ModelState) -> tuple[Delta, ...]:
        """All that was not passed on yet, which from now on is."""
        deltas = (*self._unsent, *self._own(name, model))
        self._sent, self._lost, self._mark = self._position(model), 0, model.sufficient_statistics()
        self._unsent, self._exchanged = (), True
        return deltas

    def _own(self, name: str, model: ModelState) -> tuple[Delta, ...]:
        position, now = self._position(model), model.sufficient_statistics()
        if position == self._sent:
            return ()
        since = now if self._mark is None else _minus(now, self._mark)
        return (Delta({name: (self._sent, position)}, since),)

    def revise(self) -> None:
        """A reward got another value: one more change that others are to learn of."""
        self._lost += 1

    def knows(self, spans: Spans, name: str, model: ModelState) -> bool:
        """Are all of these rewards known? If none is, they can be added; anything else is refused."""
        states = {self._knows(each, *span, name, model) for each, span in spans.items()}
        if len(states) > 1:
            raise CannotMerge(
                f"of these changes some were learnt here already, and some not: of {sorted(spans)}"
            )
        return states.pop()

    def _knows(self, other: str, first: int, last: int, name: str, model: ModelState) -> bool:
        have = self._position(model) if other == name else self.known.get(other, 0)
        if last <= have:
            return True
        if other == name:
            raise CannotMerge(f"rewards {first} to {last} of this very bandit come back, and it has {have}")
        if first != have:
            what = "missing" if first > have else "here already"
            raise CannotMerge(
                f"changes must come in order: these are rewards {first} to {last} of {other!r}, "
                f"and those {min(first, have)} to {max(first, have)} are {what}"
            )
        return False

    def add(self, delta: Delta, model: ModelState) -> None:
        """Marks others' rewards as known, just before the model adds them."""
        mark = self._mark
        if mark is None:
            empty = model.sufficient_statistics()
            mark = _minus(empty, empty)
        self._mark, self._exchanged = _plus(mark, delta.statistics), True
        self.known |= {name: last for name, (_, last) in delta.spans.items()}

    def move(self, before: ModelState, after: ModelState, places: Integers) -> Replication:
        """The same over other arms, `places` being their old ones.

        Where arms share features, what one that goes has told of these cannot be taken out of sums that
        were passed on, or not: what was not yet cannot be any more, and will be missed.
        """
        now = sums_of(after)
        position = self._position(before)
        if now is not None:
            there = np.full(before.sufficient_statistics()[0].counts.shape[1], -1)
            there[places[places >= 0]] = np.flatnonzero(places >= 0)
            if now[0].common is not None and (there < 0).any():
                return self.restart(before, after)
            count = now[0].counts.shape[1]
            self._unsent = tuple(
                Delta(each.spans, _brought(each.statistics, there, count)) for each in self._unsent
            )
            self._mark = None if self._mark is None else _brought(self._mark, there, count)
        self._lost += position - self._position(after)
        return self

    def restart(self, before: ModelState, after: ModelState) -> Replication:
        """The same after a change of features: what was not passed on yet cannot be any more."""
        found = Replication(self.known, (), True, sums_of(after))
        found._sent = self._position(before)
        return found

    def arrays(self, name: str, model: ModelState) -> tuple[dict[str, Any], Arrays]:
        """What the next instance begins with; sums only where they are not all that was learnt."""
        next_one = self.successor(name, model)
        spans = [delta.spans for delta in next_one._unsent]
        header = {"known": next_one.known, "spans": spans, "exchanged": next_one._exchanged}
        return header, _arrays(next_one._unsent) if next_one._exchanged else {}

    @staticmethod
    def restored(kept: Any, arrays: Arrays, problem: Mapping[str, Any], model: ModelState) -> Replication:
        """That of a file."""
        known, exchanged, now = past_from(kept["known"]), kept["exchanged"], sums_of(model)
        if now is None:
            return Replication()
        if not isinstance(exchanged, bool) or not isinstance(kept["spans"], list):
            raise DamagedFile("what was passed on is not told by a list")
        if exchanged:
            return Replication(known, _deltas(kept["spans"], arrays, problem), True, now)
        spans = [_spans(each) for each in kept["spans"]]
        if len(spans) > 1:
            raise DamagedFile("what was learnt is told of more than once")
        return Replication(known, tuple(Delta(each, now) for each in spans), False, now)


def sums_of(model: ModelState) -> StateStatistics | None:
    """All that was learnt, as sums; None where an estimator keeps none."""
    with contextlib.suppress(CannotMerge):
        return model.sufficient_statistics()
    return None


def shape_of(layout: Layout, model: ModelState) -> dict[str, Any]:
    """What sums are like: how many features, regressions and arms there are, and the penalty."""
    apart = isinstance(layout, PerArm)
    dim, arms = (layout.dim, layout.arms) if isinstance(layout, PerArm) else layout.shape
    return {
        "dim": int(dim),
        "blocks": arms if apart else None,
        "shared": layout.shared if isinstance(layout, PerArm) else 0,
        "arms": int(arms) if model.pulls is None else model.pulls.size,
        "penalty": model.all.penalty,
        "apart": model.explored is not None,
    }


def new_deltas(
    changes: Changes, mine: dict[str, Any], replication: Replication, name: str, model: ModelState
) -> list[Delta]:
    """The deltas that are new here, with statistics moved to this bandit's arms.

    Raises CannotMerge for what does not fit.
    """
    theirs = changes.problem
    for key in AGREEING:
        if mine[key] != theirs[key]:
            raise CannotMerge(f"{key} must agree, got {mine[key]!r} and {theirs[key]!r}")
    _refuse_range(mine["rewards"], theirs.get("rewards"))
    if mine["apart"] and not theirs["apart"]:
        raise CannotMerge("this bandit keeps exploring rounds apart, the other bandit does not")
    new = [each for each in changes.deltas if not replication.knows(each.spans, name, model)]
    model.sufficient_statistics()  # which says so where rewards are not kept as sums
    places, count = _places(theirs, mine), mine["arms"]
    found = []
    for spans, (everything, apart) in new:
        own = apart.moved_to(places, count) if mine["apart"] and apart is not None else None
        found.append(Delta(spans, (everything.moved_to(places, count), own)))
    return found


def _refuse_range(mine: Sequence[float] | None, theirs: Sequence[float] | None) -> None:
    """Refuses sums of rewards that may lie outside the range of those that can be told here."""
    if mine is not None and (theirs is None or not mine[0] <= theirs[0] <= theirs[1] <= mine[1]):
        got = "any at all" if theirs is None else f"{theirs[0]:g} to {theirs[1]:g}"
        raise CannotMerge(
            f"rewards here are from {mine[0]:g} to {mine[1]:g}, those of the other bandit {got}: "
            "say the same range to both"
        )


def _places(theirs: dict[str, Any], mine: dict[str, Any]) -> Integers:
    """Where each of their arms is here, -1 being nowhere."""
    if mine["features"] is not None:  # the same map, with the same arms
        return np.arange(theirs["arms"])
    here = {key: place for place, key in enumerate(_keys(mine["rows"], mine["labels"]))}
    return np.array([here.get(key, -1) for key in _keys(theirs["rows"], theirs["labels"])], dtype=np.int64)


def _keys(rows: list[list[float]], labels: Iterable[Any] | None) -> list[tuple[object, ...]]:
    """What tells each fixed arm from others: its label, its features, and how many like it stand before."""
    before: Counter[object] = Counter()
    keys: list[tuple[object, ...]] = []
    names = [None] * len(rows) if labels is None or not rows else labels
    for label, row in zip(names, rows, strict=True):
        key = (label, *row)
        keys.append((*key, before[key]))
        before[key] += 1
    return keys


def _plus(one: StateStatistics, two: StateStatistics) -> StateStatistics:
    apart = one[1] if one[1] is None or two[1] is None else one[1].plus(two[1])
    return one[0].plus(two[0]), apart


def _minus(one: StateStatistics, two: StateStatistics) -> StateStatistics:
    apart = one[1] if one[1] is None or two[1] is None else one[1].minus(two[1])
    return one[0].minus(two[0]), apart


def _brought(statistics: StateStatistics, there: Integers, count: int) -> StateStatistics:
    """The same over so many arms, each of these at a place there, or nowhere (-1)."""
    everything, apart = statistics
    return everything.moved_to(there, count), None if apart is None else apart.moved_to(there, count)


def _arrays(deltas: tuple[Delta, ...]) -> Arrays:
    """Sums, by names."""
    found: Arrays = {}
    for number, delta in enumerate(deltas):
        for name, growth in zip(("all", "explored"), delta.statistics, strict=True):
            if growth is not None:
                parts = {
                    "truth": growth.sums,
                    "counts": growth.counts,
                    "told": np.array(growth.n_observations),
                }
                parts |= {} if growth.common is None else {"common": growth.common}
                found |= {f"{PREFIX}{number} {name} {part}": array for part, array in parts.items()}
    return found


def _deltas(spans: object, arrays: Arrays, problem: Mapping[str, Any]) -> tuple[Delta, ...]:
    """Deltas from anywhere, each checked: names, numbers, and the shapes of sums."""
    if not isinstance(spans, list):
        raise DamagedFile("the spans of what was learnt are no list")
    return tuple(
        Delta(
            _spans(each),
            (
                _growth(arrays, number, "all", problem),
                _growth(arrays, number, "explored", problem) if problem["apart"] else None,
            ),
        )
        for number, each in enumerate(spans)
    )


def _spans(kept: object) -> Spans:
    if not isinstance(kept, dict) or not kept:
        raise DamagedFile("what was learnt names no instance")
    found: Spans = {}
    for name, span in kept.items():
        first, last = (whole("a number of rewards", each, least=0, error=DamagedFile) for each in span)
        if not first < last <= MOST_LEARNT:
            raise DamagedFile(f"nobody can learn from reward {first} to {last}")
        found[str(name)] = first, last
    return found


def _growth(arrays: Arrays, number: int, name: str, problem: Mapping[str, Any]) -> SufficientStatistics:
    """Sums of the right shapes."""
    dim, blocks, shared = (problem[key] for key in ("dim", "blocks", "shared"))
    told, truth, counts = (arrays[f"{PREFIX}{number} {name} {part}"] for part in ("told", "truth", "counts"))
    count = int(fitting("told", told, (), whole=True))
    shape = (2, dim + 1, dim) if blocks is None else (blocks, 2, dim + 1 + shared, dim)
    sums: Floats = fitting("truth", truth, shape)
    common = None
    if shared:
        common = fitting("common", arrays[f"{PREFIX}{number} {name} common"], (2, shared + 1, shared))
    return SufficientStatistics(sums, fitting_counts(counts, problem["arms"], count), count, common)
