"""What a log says once for all rows (its header), one decision as a row, and headers that change on the way.

In a table of Arrow or a file of Parquet there is one row for each decision. `round`, `arm` and `reward` are
always there; a missing column is unknown, and a null is unknown in that round. `arms` is a list of K lists of
d numbers (a null among them is an arm that was not on offer), or is in the header if it is the same in all
rows.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats, Integers, Label
from infex.checks import settings_by_name
from infex.errors import InfexError, InvalidLog
from infex.features import Disjoint, FeatureMap, Interactions
from infex.features.base import encoder_of
from infex.logs.log import Log, LogFacts, former_label
from infex.registry import from_record, parse, to_record
from infex.schedules.periodic import Every, Jittered

LOG_FORMAT = 1
METADATA_KEY = b"infex"
UNJOINED = "unjoined"  # in metadata: why the rows of all eras cannot be read under one header
NO_DATE = np.datetime64("NaT", "us")


class LogHeader(NamedTuple):
    """What holds for all rows: facts, arms that do not change, labels, feature map, number of arms.

    `dim` is the number of features of an arm. `has_blocks`: does each arm have features of its own, in rows
    that hold those of all arms?
    """

    facts: LogFacts = LogFacts()
    arms: Floats | None = None
    labels: tuple[Label, ...] | None = None
    features: FeatureMap | None = None
    arms_count: int | None = None
    dim: int | None = None
    has_blocks: bool = False

    def as_data(self) -> dict[str, Any]:
        """The header as plain data, for JSON."""
        rewards = None if self.facts.rewards is None else list(self.facts.rewards)
        return (
            {"format": LOG_FORMAT}
            | settings_by_name(self.facts)
            | {
                "rewards": rewards,
                "dim": self.dim if self.arms is None else int(self.arms.shape[1]),
                "arms": None if self.arms is None else self.arms.tolist(),
                "labels": None if self.labels is None else list(self.labels),
                "features": None if self.features is None else map_data(self.features),
                "count": self.arms_count,
                **({"blocks": True} if self.has_blocks else {}),
            }
        )

    def metadata(self) -> dict[bytes, bytes]:
        """The header as metadata of an Arrow schema."""
        return {METADATA_KEY: json.dumps(self.as_data()).encode()}


def map_data(features: FeatureMap) -> dict[str, Any] | None:
    """The record of a map; None if it holds a user's code (the features of arms are then kept in rows)."""
    with contextlib.suppress(InfexError):
        return to_record(features)
    return None


def header_of(metadata: Mapping[bytes, bytes] | None) -> LogHeader | None:
    """The header in the metadata of an Arrow schema; None if infex did not write it."""
    if not metadata or METADATA_KEY not in metadata:
        return None
    try:
        data = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError):
        raise InvalidLog("the metadata of this log cannot be read") from None
    return header_from(data)


def header_from(data: object) -> LogHeader:
    """The header that `LogHeader.as_data` has made plain, checked."""
    if not isinstance(data, dict):
        raise InvalidLog("the metadata of this log are not infex's")
    version = data.get("format")
    if type(version) is not int or not 1 <= version <= LOG_FORMAT:
        raise InvalidLog(f"this log has format {version!r}, and this infex reads format {LOG_FORMAT} at most")
    if UNJOINED in data:
        raise InvalidLog(f"{data[UNJOINED]}")
    try:
        return _header(data)
    except InvalidLog:
        raise
    except (InfexError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidLog(f"the metadata of this log are not valid: {type(error).__name__}") from None


def _header(data: dict[str, Any]) -> LogHeader:
    facts = {each.name: data[each.name] for each in fields(LogFacts) if each.name in data}
    for name in ("policy", "schedule", "estimator"):
        if not isinstance(facts.get(name), str | None):
            raise InvalidLog(f"{name} in the metadata of this log must be a text")
    if facts.get("period") is None:
        facts["period"] = period_of(facts.get("schedule"))
    facts["encoded"] = facts.get("encoded") is True
    arms, labels, features = data.get("arms"), data.get("labels"), data.get("features")
    if arms is not None:
        arms = np.asarray(arms, dtype=np.float64)
        if arms.ndim != 2 or not np.isfinite(arms).all():
            raise InvalidLog("arms in the metadata of this log must be rows of finite numbers")
    return LogHeader(
        LogFacts(**facts),
        arms,
        None if labels is None else tuple(labels),
        None if features is None else from_record(features),
        count if type(count := data.get("count")) is int else None,
        dim if type(dim := data.get("dim")) is int else None,
        data.get("blocks") is True,
    )


def period_of(schedule: object) -> int | None:
    """The block length of a schedule that explores in one round of each block; None for any other.

    >>> period_of("jittered(20, seed=1)"), period_of("every(5)"), period_of("listed([1, 7])")
    (20, 5, None)
    """
    if isinstance(schedule, str):
        try:
            schedule = parse(schedule)
        except (InfexError, RecursionError, MemoryError):
            return None
    return schedule.period if isinstance(schedule, Jittered | Every) else None


# Rows


class LogRow(NamedTuple):
    """One decision as a row of a log; None means unknown.

    `offers` are the features of arms, (K, d), if they differ from row to row; or `context`, (c,), goes with
    the map of the header. `base_propensities` (K,) are those of all arms, given that the round explores.
    `offered` says which arms were on offer, (K,), where not all were. `at` is in microseconds since 1970,
    UTC. The other fields are those of a `Decision`.
    """

    round: int
    arm: int
    id: str = ""
    label: Label | None = None
    explored: bool = False
    greedy: int = -1
    propensity: float | None = None
    explore_probability: float | None = None
    base_propensity: float | None = None
    base_propensities: Floats | None = None
    offers: Floats | None = None
    context: Floats | None = None
    at: int | None = None
    stream: str = ""
    reason: str = ""
    policy: str | None = None
    loss: float = 0.0
    offered: Bools | None = None


class LogReward(NamedTuple):
    """The reward of a decision, its weight in the squared error, and when it came."""

    reward: float
    weight: float = 1.0
    at: int | None = None


def rows_to_log(
    rows: Sequence[LogRow], rewards: Sequence[LogReward | None], header: LogHeader | None = None
) -> Log:
    """The log of decisions, each with its reward or None.

    >>> explored = LogRow(1, 0, "a-1", explored=True, explore_probability=1.0, base_propensity=0.5)
    >>> log = rows_to_log([explored, LogRow(2, 1, "a-2", explore_probability=0.0)], [LogReward(0.25), None])
    >>> log.reward.tolist()
    [0.25, nan]
    """
    header = header or LogHeader()
    if len(rewards) != len(rows):
        raise InvalidLog(f"rewards must be as many as the decisions, {len(rows)}, got {len(rewards)}")
    if not rows:
        raise InvalidLog("a log must have at least one row, got none")
    known = [LogReward(np.nan) if reward is None else reward for reward in rewards]
    columns: dict[str, Any] = {
        "round": np.array([row.round for row in rows], dtype=np.int64),
        "arm": np.array([row.arm for row in rows], dtype=np.int64),
        "greedy": np.array([row.greedy for row in rows], dtype=np.int64),
        "propensity": np.array([row.propensity for row in rows], dtype=np.float64),  # None becomes NaN
        "explore_probability": np.array([row.explore_probability for row in rows], dtype=np.float64),
        "base_propensity": np.array([row.base_propensity for row in rows], dtype=np.float64),
        "explored": np.array([row.explored for row in rows]),
        "reward": np.array([reward.reward for reward in known], dtype=np.float64),
        "stream": np.array([row.stream for row in rows]),
        "others": _other_columns(rows, known),
    }
    for name, times in (("time", [row.at for row in rows]), ("reward_time", [each.at for each in known])):
        if any(at is not None for at in times):
            columns[name] = np.array([NO_DATE if at is None else np.datetime64(at, "us") for at in times])
    columns |= _array_columns(rows)
    if "offers" not in columns:
        columns |= {"arms": header.arms, "features": header.features}
    facts = header.facts
    if "policy" in columns["others"]:
        facts = replace(facts, policy=None, schedule=None, period=None)
    return Log(**columns, labels=header.labels, facts=facts)


def _other_columns(rows: Sequence[LogRow], rewards: Sequence[LogReward]) -> dict[str, NDArray[Any]]:
    others: dict[str, NDArray[Any]] = {
        "id": np.array([row.id for row in rows]),
        "reason": np.array([row.reason for row in rows]),
        "loss": np.array([row.loss for row in rows], dtype=np.float64),
    }
    if any(reward.weight != 1.0 for reward in rewards):
        others["weight"] = np.array([reward.weight for reward in rewards], dtype=np.float64)
    if len({row.policy for row in rows}) > 1:  # otherwise the header has it
        others["policy"] = np.array([row.policy or "" for row in rows])
    if any(row.label is not None for row in rows):
        others["label"] = np.array(["" if row.label is None else str(row.label) for row in rows])
    return others


def _array_columns(rows: Sequence[LogRow]) -> dict[str, Any]:
    """Contexts, offers and propensities of all arms, padded to the row with the most arms."""
    found: dict[str, Any] = {}
    size = len(rows)
    contexts = [row.context for row in rows if row.context is not None]
    if contexts:
        if len(contexts) != size or len({each.shape for each in contexts}) > 1:
            raise InvalidLog("contexts must be in every row or in none, all of the same length")
        found["context"] = np.array(contexts)
    offers = [row.offers for row in rows if row.offers is not None]
    if offers:
        found |= _padded_offers(offers, size)
    width = found["offers"].shape[1] if offers else 0
    masks = [row.offered for row in rows if row.offered is not None]
    if masks:
        offered = np.ones((size, width or max(mask.size for mask in masks)), dtype=bool)
        offered &= found.get("offered", True)
        for place, row in enumerate(rows):
            if row.offered is not None:
                offered[place] = False
                offered[place, : row.offered.size] = row.offered
        found["offered"] = offered
    known = [row.base_propensities for row in rows if row.base_propensities is not None]
    if known:
        propensities = np.full((size, max(width, *(each.size for each in known))), np.nan)
        for place, row in enumerate(rows):
            if row.base_propensities is not None:
                propensities[place] = 0.0
                propensities[place, : row.base_propensities.size] = row.base_propensities
        found["base_propensities"] = propensities
    return found


def _padded_offers(given: Sequence[Floats], size: int) -> dict[str, Floats | Bools]:
    """Offers as an array (n, K, d), and which of its places are arms, if some rows have fewer than K."""
    if len(given) != size or len({each.shape[1] for each in given}) > 1:
        raise InvalidLog("offers must be in every row or in none, all with the same number of features")
    sizes = np.array([len(each) for each in given])
    if (sizes == sizes[0]).all():
        return {"offers": np.array(given)}
    count = int(sizes.max())
    offers = np.zeros((size, count, given[0].shape[1]))
    for place, each in enumerate(given):
        offers[place, : len(each)] = each
    return {"offers": offers, "offered": np.arange(count) < sizes[:, None]}


# Headers that change: arms are added and removed, features are added
#
# Under the common header every arm that there ever was has an index of its own, the last ones first; features
# that were added later were 0 before. So sums over all rows are those that the bandit itself kept.

Keys = Sequence[Hashable]


class Era(NamedTuple):
    """The rows under one header: the places of its arms and features under the common header.

    If `places` is None, arms are those in each row, and only their features are widened. Contexts that an
    encoder read were divided by the `longest` of their time: `scale` converts them to the last one.
    """

    places: Integers | None
    features: Integers
    arms: int
    width: int
    scale: float = 1.0

    def row(self, row: LogRow) -> LogRow:
        """A row as it reads under the common header."""
        if self.places is None:
            return row._replace(offers=None if row.offers is None else self._widened(row.offers))
        propensities = row.base_propensities
        return row._replace(
            arm=int(self.places[row.arm]),
            greedy=row.greedy if row.greedy < 0 else int(self.places[row.greedy]),
            base_propensities=None if propensities is None else self._scattered(propensities, 0.0),
            offered=self.offered(row.offered),
            context=None if row.context is None else self._widened(row.context),
        )

    def offered(self, offered: Bools | None) -> Bools:
        """Which arms of the common header were on offer."""
        assert self.places is not None
        present = np.ones(self.places.size, dtype=bool) if offered is None else offered
        found: Bools = self._scattered(present, False)
        return found

    def rows(self, values: list[Any]) -> list[Any]:
        """A context, or the features of arms, with the features that were added later."""
        found: list[Any] = self._widened(np.asarray(values, dtype=np.float64)).tolist()
        return found

    def _scattered(self, values: Any, empty: Any) -> Any:
        found = np.full(self.arms, empty)
        found[self.places] = values
        return found

    def _widened(self, values: Floats) -> Floats:
        found = np.zeros((*values.shape[:-1], self.width))
        found[..., self.features] = values * self.scale
        return found


class JoinedHeaders(NamedTuple):
    """One header for all rows, and how the rows of each era read under it."""

    header: LogHeader
    eras: tuple[Era, ...]


def joined_headers(
    headers: Sequence[LogHeader], between: Sequence[Sequence[LogHeader]] | None = None
) -> JoinedHeaders:
    """One header for the rows of several.

    `between` holds, for each header, those before it that have no rows: they tell of arms that were removed
    and added again at once.
    """
    refuse_unlabelled_removals(headers)
    maps = [each.features for each in headers]
    if all(isinstance(each, Disjoint | Interactions) for each in maps):
        return _join_maps(headers, [[]] * len(headers) if between is None else between)
    if all(each is None for each in maps) and all(each.arms is not None for each in headers):
        return _join_fixed_arms(headers)
    if any(each is not None for each in maps):
        raise InvalidLog(
            "some rows of this log have a feature map that joins contexts with arms, some do not"
        )
    return _join_given_arms(headers)


def refuse_unlabelled_removals(headers: Sequence[LogHeader]) -> None:
    """Refuses a log in which arms of a map were removed that only their index identifies."""
    for before, after in itertools.pairwise(headers):
        labelled = before.labels is not None and after.labels is not None
        mapped = after.features is not None or after.has_blocks
        if mapped and not labelled and (after.arms_count or 0) < (before.arms_count or 0):
            raise InvalidLog(
                "arms without labels were removed, and this log does not say which: give arms labels"
            )


def _join_given_arms(headers: Sequence[LogHeader]) -> JoinedHeaders:
    """Arms that are in the rows themselves."""
    if any(each.has_blocks for each in headers) and len({(each.labels, each.dim) for each in headers}) > 1:
        raise InvalidLog(
            "the arms or features of this log have changed. It holds rows of features in which each arm has "
            "features of its own, whose places have moved: read the parts before and after the change"
        )
    widths = [each.dim for each in headers]
    width = max((each for each in widths if each is not None), default=0)
    eras = [Era(None, np.arange(width if each is None else each), 0, width) for each in widths]
    return JoinedHeaders(LogHeader(headers[-1].facts), tuple(eras))


def _join_fixed_arms(headers: Sequence[LogHeader]) -> JoinedHeaders:
    """Arms that are the same in many rows; two with one label and different features stay two."""
    rows = [each.arms for each in headers if each.arms is not None]
    width = max(each.shape[1] for each in rows)
    wide = [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in rows]
    keys = [_feature_keys(each, header.labels) for each, header in zip(wide, headers, strict=True)]
    order, places = _places(keys)
    features: dict[Hashable, Floats] = {}
    labels: dict[Hashable, Label] = {}
    for some, arms, header in zip(keys, wide, headers, strict=True):
        features.update(zip(some, arms, strict=True))
        labels.update(zip(some, header.labels or (), strict=False))
    names: list[Label] = []
    for key in order if len(labels) == len(order) else ():
        names.append(_free_label(labels[key], names))
    header = LogHeader(
        headers[-1].facts,
        np.array([features[key] for key in order]),
        tuple(names) or None,
    )
    eras = [
        Era(each, np.arange(row.shape[1]), len(order), width) for each, row in zip(places, rows, strict=True)
    ]
    return JoinedHeaders(header, tuple(eras))


def _feature_keys(rows: Floats, labels: tuple[Label, ...] | None) -> list[Hashable]:
    """What identifies each arm: its label, its features, and its number among equal ones."""
    seen: dict[Hashable, int] = {}
    found: list[Hashable] = []
    for place, row in enumerate(rows):
        key = (None if labels is None else labels[place], row.tobytes())
        seen[key] = seen.get(key, 0) + 1
        found.append((*key, seen[key]))
    return found


def _places(keys: Sequence[Keys]) -> tuple[list[Hashable], list[Integers]]:
    """All arms, those of the last era first, and the places of those of each era among them."""
    order = list(dict.fromkeys(key for some in reversed(keys) for key in some))
    place = {key: at for at, key in enumerate(order)}
    return order, [np.array([place[key] for key in some], dtype=np.int64) for some in keys]


def _map_keys(header: LogHeader) -> Keys:
    """What identifies the arms of a map: their features, or labels, or places as long as none was removed."""
    features: Any = header.features
    if isinstance(features, Interactions):
        return _feature_keys(features.arms, header.labels)
    return range(features.count) if header.labels is None else header.labels


def _join_maps(headers: Sequence[LogHeader], between: Sequence[Sequence[LogHeader]]) -> JoinedHeaders:
    """Arms that a map joins with contexts: the last map, with removed arms behind its own.

    An arm that was added under the label of a removed one is another arm.
    """
    whole: Any = headers[-1].features
    keys: Sequence[Keys] = (
        _generations(headers, between)
        if isinstance(whole, Disjoint)
        else [_map_keys(each) for each in headers]
    )
    order, places = _places(keys)
    for key in order[whole.count :]:
        era = next(at for at, some in enumerate(keys) if key in some)
        whole = _with_arm(whole, headers[era].features, list(keys[era]).index(key))
    eras = []
    for header, place in zip(headers, places, strict=True):
        features: Any = header.features
        before, after = encoder_of(features), encoder_of(whole)
        columns = np.arange(features.context_dim)
        if before is not None and after is not None:
            columns = np.array([after.names.index(name) for name in before.names], dtype=np.int64)
        scale = 1.0 if before is None else features.longest / whole.longest
        eras.append(Era(place, columns, whole.count, whole.context_dim, scale))
    header = headers[-1]._replace(features=whole, labels=whole.labels, arms_count=whole.count, dim=whole.dim)
    return JoinedHeaders(header, tuple(eras))


def has_readded_arms(headers: Sequence[LogHeader]) -> bool:
    """Was an arm with a regression of its own removed, and another one added under its label?"""
    if not all(isinstance(each.features, Disjoint) for each in headers):
        return False
    return any(number > 1 for some in _generations(headers, [[]] * len(headers)) for _, number in some)


def _generations(
    headers: Sequence[LogHeader], between: Sequence[Sequence[LogHeader]]
) -> list[list[tuple[Hashable, int]]]:
    """The arms of each header with how often each had been added: an arm added again learns from scratch."""
    found = []
    added: dict[Hashable, int] = {}
    before: set[Hashable] = set()
    for header, unused in zip(headers, between, strict=True):
        for each in (*unused, header):
            keys = _map_keys(each)
            added |= {key: added.get(key, 0) + 1 for key in keys if key not in before}
            before = set(keys)
        found.append([(key, added[key]) for key in _map_keys(header)])
    return found


def _free_label(label: Label, taken: Sequence[Label]) -> Label:
    """A label, changed if a later arm has it."""
    others = (former_label(label, n) for n in itertools.count(1))
    return next(each for each in itertools.chain([label], others) if each not in taken)


def _with_arm(whole: Any, features: FeatureMap | None, place: int) -> Any:
    """A map with one more arm, taken from an earlier map; a label that is in use again is changed."""
    known = None if features is None else features.labels
    labels: list[Label] | None = None
    if known is not None and whole.labels is not None:
        labels = [_free_label(known[place], whole.labels)]
    if isinstance(features, Interactions):
        return whole.with_arms(features.arms[[place]], labels)
    return whole.with_arms(1 if labels is None else labels, None)
