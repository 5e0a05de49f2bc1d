"""The decisions of a study as a log in Parquet, which evaluation and other tools read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from infex.bandit import Bandit
from infex.checks import safe_repr
from infex.errors import DamagedJournal, InvalidLog, InvalidSetting
from infex.features.base import Encoder, encoder_of
from infex.files import replacing
from infex.logs.schema import UNJOINED, Era, JoinedHeaders, LogHeader, joined_headers
from infex.policies import Infex
from infex.registry import label_of, record_of
from infex.study.assigned import offered_arms
from infex.study.events import (
    ASSIGNED,
    DECISIONS,
    Amended,
    Assigned,
    Decided,
    EventKind,
    Opened,
    event_of,
)
from infex.study.journal import BEGINNING, Entry
from infex.study.settings import ARM_CHANGES, Settings, amend, bandit_of
from infex.study.snapshot import without_erased
from infex.study.state import tracked_rewards
from infex.study.stores.base import Store

if TYPE_CHECKING:
    import pyarrow as pa

LOG_VERSION = 1
ROWS_AT_ONCE = 10_000
POLICY_CHANGES = ("policy", "pause", "resume")
ASSIGNED_COLUMNS = {
    EventKind.HELD: "held_out",
    EventKind.STICKY: "sticky",
    EventKind.APPRENTICE: "apprentice",
}
"""Which column of a log says that a decision was none of the policy's."""


class Exported(NamedTuple):
    """How many decisions were written, and how many of them were for units that are held out."""

    rows: int
    held_out: int


def export(store: Store, name: str, given: Mapping[str, object], path: Path) -> Exported:
    """Writes all decisions that were not erased; how many.

    One row for each: round, arm, label, reward (null: none counts), weight (if there is one other than 1),
    explored, explore_probability, base_propensity, greedy, propensity, what was on offer (`context` with a
    map that can be kept, else `arms`; `offered`), held_out, sticky, apprentice, id, time, reward_time, unit,
    stream, policy, reason. Metadata `infex` say what is the same in all rows.

    Decisions for units that are held out are a stream of their own, with rounds from 1: `held_out` is true,
    `policy` is the rule that decided, and `propensity` is that of its arm.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if store.end(name) == BEGINNING:
        raise InvalidSetting(f"there is no study {name!r}")
    scan = Scan(store, name, given)
    schema, count, held = scan.schema(), 0, 0
    with replacing(Path(path)) as file, pq.ParquetWriter(file, schema) as writer:
        for page in scan.pages():
            writer.write_table(pa.Table.from_pylist(page, schema=schema))
            count += len(page)
            held += sum(row["held_out"] for row in page)
    return Exported(count, held)


class Scan:
    """Goes through a journal twice: for settings, changes and rewards, and for the decisions."""

    def __init__(self, store: Store, name: str, given: Mapping[str, object]) -> None:
        self._store, self._name = store, name
        self._settings: Settings = {}
        self._changes: list[Amended] = []
        self._decided_in: list[int] = []  # how many changes of arms came before each decision
        self._chooses = False  # does a request say which arms are on offer?
        self._rewards = tracked_rewards(self._noted(without_erased(store, name, store.read(name))))
        self.bandit = bandit_of(dict(self._settings), given)
        self.reshaped = any(change.what in ARM_CHANGES for change in self._changes)
        eras = self._eras(given) if self.reshaped and self._decided_in else []
        found = _joined(eras, self._decided_in[0], self._decided_in[-1]) if eras else None
        self.joined = found if isinstance(found, JoinedHeaders) else None
        self.unjoined = {UNJOINED: found} if isinstance(found, str) else {}

    def _noted(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Passes entries on, and notes what is to be known before the first row."""
        era = 0
        for entry in entries:
            if entry.key and entry.content is not None:
                self._chooses = self._chooses or b'"offered"' in entry.content
                if entry.kind in DECISIONS:
                    self._decided_in.append(era)
            elif entry.content is not None:
                content = event_of(entry).content
                if isinstance(content, Opened):
                    self._settings = content.settings
                elif isinstance(content, Amended):
                    self._changes.append(content)
                    era += content.what in ARM_CHANGES
            yield entry

    def _eras(self, given: Mapping[str, object]) -> list[LogHeader]:
        """What is true of the rows before the first change of arms or features, and after each."""
        settings = dict(self._settings)
        bandit = bandit_of(dict(settings), given)
        headers = [bandit.log_header()]
        for change in self._changes:
            amend(bandit, settings, change.what, change.to)
            if change.what in ARM_CHANGES:
                headers.append(bandit.log_header())
        return headers

    def pages(self) -> Iterator[list[dict[str, Any]]]:
        """The rows, so many at a time."""
        page: list[dict[str, Any]] = []
        settings, self._era, self._assigned_rounds = dict(self._settings), 0, Counter[EventKind]()
        for entry in without_erased(self._store, self._name, self._store.read(self._name)):
            content = event_of(entry).content
            if isinstance(content, Amended):
                amend(self.bandit, settings, content.what, content.to)
                self._era += content.what in ARM_CHANGES
            elif isinstance(content, Decided | Assigned):
                page.append(self._row(entry, content))
            if len(page) == ROWS_AT_ONCE:
                yield page
                page = []
        if page:
            yield page

    def _row(self, entry: Entry, c: Decided | Assigned) -> dict[str, Any]:
        tracked, request = self._rewards.get(entry.key), msgspec.json.decode(c.request)
        row = {
            "arm": c.arm,
            "label": None if c.label is None else str(c.label),
            "reward": None if tracked is None else tracked.reward,
            "weight": 1.0 if tracked is None else tracked.weight,
            "greedy": c.greedy,
            "propensity": c.probability,
            **offer_of(self.bandit, request, self._by_arms and self.reshaped),
            "offered": _offered(self.bandit, request),
            "id": entry.key,
            "time": entry.at,
            "reward_time": None if tracked is None else tracked.rewarded_at,
            "unit": entry.unit or None,
            **(self._decided(c) if isinstance(c, Decided) else self._assigned(EventKind(entry.kind))),
        }
        return row if self.joined is None else row | _joined_cells(row, self.joined.eras[self._era])

    def _decided(self, c: Decided) -> dict[str, Any]:
        """What is said of a round of the policy."""
        return {
            "round": c.t,
            "explored": c.explored,
            "explore_probability": c.chance,
            "base_propensity": c.law,
            **dict.fromkeys(ASSIGNED_COLUMNS.values(), False),
            "stream": self._name,
            "policy": label_of(self.bandit.policy),
            "reason": c.reason,
        }

    def _assigned(self, kind: EventKind) -> dict[str, Any]:
        """What is said of a decision that the policy did not take: each kind is a stream of its own."""
        self._assigned_rounds[kind] += 1
        rule, reason = self._settings["holdout_policy"], ASSIGNED[kind]
        fixed = rule if isinstance(rule, str) else f"always {rule['arm']}"
        return {
            "round": self._assigned_rounds[kind],
            "explored": False,
            "explore_probability": None,
            "base_propensity": None,
            **{ASSIGNED_COLUMNS[each]: each is kind for each in ASSIGNED},
            "stream": f"{self._name} {reason}",
            "policy": fixed if kind is EventKind.HELD else reason,
            "reason": reason,
        }

    def schema(self) -> pa.Schema:
        """Columns and metadata."""
        import pyarrow as pa

        floats, time = pa.float64(), pa.timestamp("us", tz="UTC")
        kinds = {
            "round": pa.int64(), "arm": pa.int32(), "label": pa.string(), "reward": floats, "weight": floats,
            "explored": pa.bool_(), "explore_probability": floats, "base_propensity": floats,
            "greedy": pa.int32(), "propensity": floats, "offered": pa.list_(pa.bool_()),
            "context": pa.list_(floats),
            "arms": pa.list_(pa.list_(floats)), **dict.fromkeys(ASSIGNED_COLUMNS.values(), pa.bool_()),
            "id": pa.string(), "time": time, "reward_time": time, "unit": pa.string(), "stream": pa.string(),
            "policy": pa.string(), "reason": pa.string(),
        }  # fmt: skip
        offers = {"context"} if self._by_context else {"arms"} if self._by_arms else set()
        offers |= {"offered"} if self._chooses or self._is_fixed_or_mapped else set()
        offers |= {"weight"} if any(each.weight != 1.0 for each in self._rewards.values()) else set()
        optional = ("context", "arms", "offered", "weight")
        kept = {word: kind for word, kind in kinds.items() if word not in optional or word in offers}
        header = header_of(self.bandit, self.reshaped) | _joined_header(self.joined) | self.unjoined
        if any(change.what in POLICY_CHANGES for change in self._changes):
            header |= {"policy": None, "schedule": None}  # the column `policy` has them
        said = json.dumps(header).encode()
        return pa.schema(list(kept.items()), metadata={"infex": said})

    @property
    def _is_fixed_or_mapped(self) -> bool:
        """Has every arm that there ever was a place of its own?"""
        return self.joined is not None and self.joined.eras[0].places is not None

    @property
    def _by_context(self) -> bool:
        return self.bandit.features is not None and (not self.reshaped or self._is_fixed_or_mapped)

    @property
    def _by_arms(self) -> bool:
        if self._is_fixed_or_mapped:
            return False
        return self.reshaped or (self.bandit.features is None and not len(self.bandit.arms))


def _joined(eras: list[LogHeader], first: int, last: int) -> JoinedHeaders | str:
    """One header for all arms and features there ever were; where there is none, why (rows are kept).

    What came before the first era with a decision, or after the last one, is in no row.
    """
    try:
        return joined_headers([eras[min(max(era, first), last)] for era in range(len(eras))])
    except InvalidLog as error:
        return str(error)


def _joined_cells(row: dict[str, Any], era: Era) -> dict[str, Any]:
    """What a row says of arms and features, among all there ever were."""
    if era.places is None:
        return {"arms": era.rows(row["arms"])}
    greedy = row["greedy"]
    cells: dict[str, Any] = {
        "arm": int(era.places[row["arm"]]),
        "greedy": greedy if greedy is None or greedy < 0 else int(era.places[greedy]),
        "offered": era.offered(np.array(row["offered"])).tolist(),
    }
    return cells | ({"context": era.rows(row["context"])} if "context" in row else {})


def _joined_header(joined: JoinedHeaders | None) -> dict[str, Any]:
    if joined is None:
        return {}
    said = joined.header.as_data()
    return {name: said[name] for name in ("dim", "arms", "labels", "features", "count")}


def offer_of(bandit: Bandit, request: dict[str, Any], reshaped: bool) -> dict[str, Any]:
    """What was on offer: a context for the map, or the arms as rows."""
    features = bandit.features
    if "arms" in request:
        return {"arms": request["arms"]}
    if features is None:
        return {"arms": bandit.arms.tolist()} if reshaped else {}
    context, encoder = request["context"], encoder_of(features)
    read: Any = context if encoder is None else encoder.encode(context)
    if reshaped:
        return {"arms": features(read).tolist()}
    return {"context": _vector(context, encoder)}


def _vector(context: Any, encoder: Encoder | None) -> list[float]:
    if encoder is not None:
        return [float(each) for each in encoder.encode(context).vector]
    if not isinstance(context, list):
        raise DamagedJournal("a context that no encoder reads must be a list of numbers")
    return [float(each) for each in context]


def _offered(bandit: Bandit, request: dict[str, Any]) -> list[bool]:
    """Which arms were on offer: all, where the request does not say."""
    if "arms" in request:
        labels = request.get("labels") or [None] * len(request["arms"])
    else:
        count = len(bandit.arms) if bandit.features is None else bandit.features.count
        labels = [None] * count if bandit.labels is None else list(bandit.labels)
    return offered_arms(request, labels)


def header_of(bandit: Bandit, reshaped: bool) -> dict[str, Any]:
    """What is said once of all rows."""
    policy, features = bandit.policy, bandit.features
    schedule = safe_repr(policy.schedule) if isinstance(policy, Infex) else None
    fixed = bandit.arms.tolist() if features is None and len(bandit.arms) and not reshaped else None
    return {
        "format": LOG_VERSION,
        "policy": label_of(policy),
        "schedule": schedule,
        "penalty": bandit.penalty,
        "seed": bandit.seed,
        "estimator": None if bandit.estimator is None else label_of(bandit.estimator),
        "encoded": encoder_of(features) is not None,
        "dim": None if fixed is None else len(fixed[0]),
        "arms": fixed,
        "labels": None if bandit.labels is None or reshaped else list(bandit.labels),
        "features": None if features is None or reshaped else record_of(features),
        "count": None if features is None or reshaped else features.count,
    }
