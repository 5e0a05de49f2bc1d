"""Arms that came and went, and features that were added, brought together: one header for all rows of a log.

Every arm that there ever was has a place of its own, the last ones first; features that came later were 0
before. So sums over all rows are those that the bandit itself has kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Bools, Floats, Integers, Label
from infex.errors import InvalidLog
from infex.features import Disjoint, FeatureMap, Interactions
from infex.features.base import encoder_of
from infex.logs.log_rows import LogRow
from infex.logs.log_schema import LogHeader

Keys = Sequence[Hashable]


class Era(NamedTuple):
    """Rows under one header: where its arms stand among all there were, and its features among the last.

    Where `places` is None arms are those of each row, and only their features are widened. Contexts that an
    encoder has read were divided by the greatest length of that time: `scale` makes it the last one.
    """

    places: Integers | None
    features: Integers
    arms: int
    width: int
    scale: float = 1.0

    def row(self, row: LogRow) -> LogRow:
        """A row as it reads under the common header."""
        if self.places is None:
            return row._replace(offers=None if row.offers is None else self._wide(row.offers))
        greedy = row.greedy if row.greedy < 0 else int(self.places[row.greedy])
        return row._replace(
            arm=int(self.places[row.arm]),
            greedy=greedy,
            base_propensities=None
            if row.base_propensities is None
            else self._spread(row.base_propensities, 0.0),
            offered=self.offered(row.offered),
            context=None if row.context is None else self._wide(row.context),
        )

    def offered(self, offered: Bools | None) -> Bools:
        """Which of all arms were on offer."""
        assert self.places is not None
        there = np.ones(self.places.size, dtype=bool) if offered is None else offered
        found: Bools = self._spread(there, False)
        return found

    def rows(self, values: list[Any]) -> list[Any]:
        """A context, or rows of arms, with features that came later."""
        found: list[Any] = self._wide(np.asarray(values, dtype=np.float64)).tolist()
        return found

    def _spread(self, values: Any, empty: Any) -> Any:
        found = np.full(self.arms, empty)
        found[self.places] = values
        return found

    def _wide(self, values: Floats) -> Floats:
        found = np.zeros((*values.shape[:-1], self.width))
        found[..., self.features] = values * self.scale
        return found


class JoinedHeaders(NamedTuple):
    """One header for all rows, and how rows of each era read under it."""

    header: LogHeader
    eras: tuple[Era, ...]


def joined_headers(
    headers: Sequence[LogHeader], between: Sequence[Sequence[LogHeader]] | None = None
) -> JoinedHeaders:
    """What is true of all rows, from headers of some each.

    `between` are headers of no rows, before each: they tell of arms that went and came again at once.
    """
    refuse_nameless_removals(headers)
    maps = [each.features for each in headers]
    if all(isinstance(each, Disjoint | Interactions) for each in maps):
        return _mapped(headers, [[]] * len(headers) if between is None else between)
    if all(each is None for each in maps) and all(each.arms is not None for each in headers):
        return _fixed(headers)
    if any(each is not None for each in maps):
        raise InvalidLog("this log has rows with a map that joins contexts with arms, and rows without one")
    return _given(headers)


def refuse_nameless_removals(headers: Sequence[LogHeader]) -> None:
    """Refuses arms of a map that are known by their places, once some of them went."""
    if any(_lost_nameless(before, after) for before, after in pairwise(headers)):
        raise InvalidLog("arms without labels went, and this log does not say which: give arms labels")


def _lost_nameless(before: LogHeader, after: LogHeader) -> bool:
    named = before.labels is not None and after.labels is not None
    mapped = after.features is not None or after.has_blocks
    return mapped and not named and (after.arms_count or 0) < (before.arms_count or 0)


def _keys(headers: Sequence[LogHeader]) -> list[Keys]:
    """What the arms of maps are known by: their features, or labels, or places as long as none went."""
    return [_named_arms(each.features, each.labels) for each in headers]


def _named_arms(features: Any, labels: tuple[Label, ...] | None) -> Keys:
    if isinstance(features, Interactions):
        return _by_looks(features.arms, labels)
    return range(features.count) if labels is None else labels


def _given(headers: Sequence[LogHeader]) -> JoinedHeaders:
    """Arms that stand in the rows themselves."""
    if any(each.has_blocks for each in headers) and len({(each.labels, each.dim) for each in headers}) > 1:
        raise InvalidLog(
            "arms or features of a map with features of each arm's own have changed, and this log keeps how "
            "arms looked alone, in which places of features have moved: read it in parts, before and after"
        )
    widths = [each.dim for each in headers]
    known = [width for width in widths if width is not None]
    width = max(known, default=0)
    eras = [Era(None, np.arange(width if each is None else each), 0, width) for each in widths]
    return JoinedHeaders(LogHeader(headers[-1].facts), tuple(eras))


def _fixed(headers: Sequence[LogHeader]) -> JoinedHeaders:
    """Arms that are the same in many rows; two of one label that look different have a place each."""
    rows = [_arms(each) for each in headers]
    width = max(each.shape[1] for each in rows)
    wide = [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in rows]
    named = [_by_looks(each, header.labels) for each, header in zip(wide, headers, strict=True)]
    order, places = _places(named)
    header = LogHeader(headers[-1].facts, _looks(order, named, wide), _labels(order, named, headers))
    eras = [
        Era(each, np.arange(row.shape[1]), len(order), width) for each, row in zip(places, rows, strict=True)
    ]
    return JoinedHeaders(header, tuple(eras))


def _looks(order: list[Hashable], named: Sequence[Keys], wide: Sequence[Floats]) -> Floats:
    """The features of all arms, in this order."""
    pairs = (zip(keys, rows, strict=True) for keys, rows in zip(named, wide, strict=True))
    looks = dict(itertools.chain.from_iterable(pairs))
    return np.array([looks[key] for key in order])


def _labels(
    order: list[Hashable], named: Sequence[Keys], headers: Sequence[LogHeader]
) -> tuple[Label, ...] | None:
    """The labels of all arms; None where some have none, or two have the same."""
    names: dict[Hashable, Label] = {}
    for keys, header in zip(named, headers, strict=True):
        names.update(zip(keys, header.labels or (), strict=False))
    return tuple(names[key] for key in order) if len(set(names.values())) == len(order) else None


def _arms(header: LogHeader) -> Floats:
    assert header.arms is not None
    return header.arms


def _by_looks(rows: Floats, labels: tuple[Label, ...] | None) -> list[Hashable]:
    """Label and features of each arm, and which of those alike it is."""
    seen: dict[Hashable, int] = {}
    found: list[Hashable] = []
    for place, row in enumerate(rows):
        look = (None if labels is None else labels[place], row.tobytes())
        seen[look] = seen.get(look, 0) + 1
        found.append((*look, seen[look]))
    return found


def _places(named: Sequence[Keys]) -> tuple[list[Hashable], list[Integers]]:
    """All arms, those of the last era first, and where those of each era stand among them."""
    order = list(dict.fromkeys(key for some in reversed(named) for key in some))
    place = {key: at for at, key in enumerate(order)}
    return order, [np.array([place[key] for key in some], dtype=np.int64) for some in named]


def _mapped(headers: Sequence[LogHeader], between: Sequence[Sequence[LogHeader]]) -> JoinedHeaders:
    """Arms that a map joins with contexts: the last map, with those that went behind its own.

    Two arms of one label, of which one went before the other came, have a place each.
    """
    whole: Any = headers[-1].features
    named = _lives(headers, between) if isinstance(whole, Disjoint) else _keys(headers)
    order, places = _places(named)
    for key in order[whole.count :]:
        era = next(at for at, some in enumerate(named) if key in some)
        whole = _with_arm(whole, headers[era].features, list(named[era]).index(key))
    eras = []
    for header, place in zip(headers, places, strict=True):
        features: Any = header.features
        eras.append(Era(place, _at(features, whole), whole.count, whole.context_dim, _scale(features, whole)))
    known = headers[-1]._replace(features=whole, labels=whole.labels, arms_count=whole.count, dim=whole.dim)
    return JoinedHeaders(known, tuple(eras))


def has_returned(headers: Sequence[LogHeader]) -> bool:
    """Did an arm with a regression of its own go, and another come under its label?"""
    if not all(isinstance(each.features, Disjoint) for each in headers):
        return False
    return any(life > 1 for some in _lives(headers, [[]] * len(headers)) for _, life in some)


def _lives(
    headers: Sequence[LogHeader], between: Sequence[Sequence[LogHeader]]
) -> list[list[tuple[Hashable, int]]]:
    """The arms of each header with how often they had come by then: who comes again begins to learn anew."""
    found = []
    lives: dict[Hashable, int] = {}
    before: set[Hashable] = set()
    for header, unused in zip(headers, between, strict=True):
        for some in _keys([*unused, header]):
            lives |= {key: lives.get(key, 0) + 1 for key in some if key not in before}
            before = set(some)
        found.append([(key, lives[key]) for key in _keys([header])[0]])
    return found


def _at(features: Any, whole: Any) -> Integers:
    """Where the features of a context stand among the last ones: by name, or in their order."""
    before, names = encoder_of(features), encoder_of(whole)
    if before is None or names is None:
        return np.arange(features.context_dim)
    return np.array([names.names.index(name) for name in before.names], dtype=np.int64)


def _scale(features: Any, whole: Any) -> float:
    return 1.0 if encoder_of(features) is None else features.longest / whole.longest


def _with_arm(whole: Any, features: FeatureMap | None, place: int) -> Any:
    """A map with one more arm, as an earlier one had it."""
    known = None if features is None else features.labels
    labels = None if known is None or whole.labels is None else [_unlike(known[place], whole.labels)]
    if isinstance(features, Interactions):
        return whole.with_arms(features.arms[[place]], labels)
    return whole.with_arms(1 if labels is None else labels, None)


def _unlike(label: Label, others: Sequence[Label]) -> Label:
    """The label of an arm that went; another one, if an arm came again under it."""
    if label not in others:
        return label
    return next(new for n in itertools.count(1) if (new := f"{label} (before, {n})") not in others)
