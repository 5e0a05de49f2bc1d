"""Which columns of a table hold what, and feature maps made for the columns of a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Label
from infex.checks import imported
from infex.errors import InvalidLog, InvalidSetting
from infex.features import ContextTable, FeatureMap, Transformed, disjoint, hybrid, interactions, table
from infex.features.base import checked_map, encoder_of
from infex.logs.log import Log
from infex.logs.parquet import array_of, list_column, listed_names, numbers, refuse_repeated_columns

if TYPE_CHECKING:
    import pyarrow as pa

ENCODED_KEY = b"infex: encoded contexts"  # in the metadata of a table whose contexts are features already
MAPS = ("disjoint", "interactions", "hybrid")  # of the registry's names, those that join contexts with arms
MOST_VALUES = 1000  # of a column that is read as a category
LABELS_SHOWN = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The names of the columns of a log; `context` and `arms` may be several columns, or features of events.

    `labels` are those of the arms; without them arms that are texts are labelled in alphabetical order.
    `features` is the map that joins contexts with arms. Over a `features.table` it reads the columns of
    `context`, or all that the table names, numbers and texts, by their names.

    `arm`, `reward`, `propensity`, `round`, `explored`, `greedy`, `explore_probability`,
    `base_propensity`, `unit`, `stream` and `time` are those of the columns of a `Log`.
    """

    arm: str = "arm"
    reward: str = "reward"
    propensity: str = "propensity"
    round: str = "round"
    explored: str = "explored"
    greedy: str = "greedy"
    explore_probability: str = "explore_probability"
    base_propensity: str = "base_propensity"
    unit: str = "unit"
    stream: str = "stream"
    time: str = "time"
    context: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    labels: tuple[Label, ...] | None = None
    features: FeatureMap | None = None

    def __post_init__(self) -> None:
        for name, given in (("context", self.context), ("arms", self.arms)):
            if not isinstance(given, tuple) or not all(isinstance(each, str) for each in given):
                raise InvalidLog(f"{name} must be names of columns, got {given!r}")
        for name, column in self.single.items():
            if not isinstance(column, str):
                raise InvalidLog(f"{name} must be the name of a column")
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        checked_map(self.features)

    @property
    def single(self) -> dict[str, str]:
        """The column of each thing that has one column."""
        return {each.name: getattr(self, each.name) for each in fields(self) if isinstance(each.default, str)}

    @property
    def encoder(self) -> ContextTable | Transformed | None:
        """The part of the map that reads the columns of a context by their names, if it has one."""
        encoder = encoder_of(self.features)
        has_names = isinstance(encoder, ContextTable) or (isinstance(encoder, Transformed) and encoder.inputs)
        return encoder if has_names else None  # type: ignore[return-value]

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Columns that can hold nothing but numbers."""
        own = (self.reward, self.propensity, self.explore_probability, self.base_propensity)
        encoder = self.encoder
        if encoder is None:
            return (*own, *self.context)
        return (*own, *dict(encoder.numbers)) if isinstance(encoder, ContextTable) else own


def named_columns(given: pa.Table, names: ColumnNames) -> pa.Table:
    """A table with the column names of the schema; columns that nobody named stay as they are."""
    import pyarrow as pa

    present = given.column_names
    for wanted in ("arm", "reward"):
        if names.single[wanted] not in present:
            raise InvalidLog(
                f"a log needs a column for {wanted}, and none is called {names.single[wanted]!r}: "
                f"name the one it is; there are {listed_names(present)}"
            )
    refuse_repeated_columns(present)
    encoder, context = names.encoder, names.context
    if encoder is not None and not context and "context" not in present:
        context = encoder.inputs or ()
    renamed = [column for name, column in names.single.items() if column != name]
    missing = next((name for name in (*renamed, *context) if name not in present), None)
    if missing is not None:
        raise InvalidLog(f"no column is called {missing!r}; there are {listed_names(present)}")
    if names.arms:
        raise InvalidLog("arms=... names features of events; in a table the column 'arms' holds lists")
    _refuse_texts(given, names)
    schema_names = {column: name for name, column in names.single.items()}
    found = {}
    for column in present:
        if column in schema_names:
            found[schema_names[column]] = given[column]
        elif (encoder is not None or column not in context) and column not in names.single:
            found[column] = given[column]
    if context:
        found["context"] = _context_column(given, context, encoder)
    marks = {ENCODED_KEY: b"yes"} if context and encoder is not None else {}
    return pa.table(found).replace_schema_metadata({**(given.schema.metadata or {}), **marks} or None)


def _refuse_texts(given: pa.Table, names: ColumnNames) -> None:
    """Refuses texts in a column of numbers; the message names the first such row, but not its text."""
    for name in names.number_columns:
        if name not in given.column_names or not _is_text(given[name].type):
            continue
        texts = enumerate(given[name].to_pylist(), 1)
        row = next((row for row, text in texts if text is not None and not _is_number(text)), None)
        more = '; texts are read by --features "table disjoint", or a map over infex.features.table'
        raise InvalidLog(
            f"column {name!r} must hold numbers, and "
            + ("holds texts" if row is None else f"row {row} holds a text")
            + (more if name in names.context and names.encoder is None else "")
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _context_column(
    given: pa.Table, names: tuple[str, ...], encoder: ContextTable | Transformed | None
) -> Any:
    """The columns of a context as one column of lists; a single column of lists as it is."""
    import pyarrow as pa

    if encoder is not None:
        values = {name: _values(given[name]) for name in names}
        return list_column(encoder.encode_many(values).rows, nan_is_null=True)
    if len(names) == 1 and pa.types.is_nested(given[names[0]].type):
        return given[names[0]]
    rows = np.arange(1, given.num_rows + 1)
    columns = np.column_stack([numbers(given[name], name, rows) for name in names])
    return list_column(columns, nan_is_null=True)


def _values(column: Any) -> list[Any]:
    """The values of a column, None for a null or an empty text."""
    values = column.to_pylist()
    return [None if value == "" else value for value in values] if _is_text(column.type) else values


def arms_by_index(given: pa.Table, labels: tuple[Label, ...] | None) -> pa.Table:
    """A table whose arms are indices among the labels; arms that are indices already stay."""
    import pyarrow as pa

    column = given["arm"]
    if labels is None and not _is_text(column.type):
        return given
    if column.null_count:
        rows = "1 row has" if column.null_count == 1 else f"{column.null_count:,} rows have"
        raise InvalidLog(f"arm must be there in every row; {rows} none")
    coded = column.combine_chunks()
    coded = coded if pa.types.is_dictionary(column.type) else coded.dictionary_encode()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    words = coded.dictionary.to_pylist()
    known = {label: place for place, label in enumerate(labels or sorted(set(words)))}
    by_text = {str(label): place for label, place in known.items()} | known
    codes = np.array([by_text.get(word, by_text.get(str(word), -1)) for word in words], dtype=np.int64)
    places = codes[array_of(coded.indices).astype(np.int64)]
    if (places < 0).any():
        unknown = words[int(np.argmin(codes))]
        rows = f"{(places < 0).sum():,} rows are not, such as {unknown!r}"
        raise InvalidLog(f"arm must be one of the {len(known)} labels; {rows}")
    return given.set_column(given.column_names.index("arm"), "arm", pa.array(places))


def labels_in(given: pa.Table) -> set[str]:
    """The labels of arms that are texts; none if arms are indices."""
    arms = given["arm"]
    words = arms.unique().to_pylist() if _is_text(arms.type) else []
    return {str(word) for word in words if word is not None}


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
    )


# Feature maps by name, made for the contexts of a log


class MappedLog(NamedTuple):
    """A log with the feature map that joins its contexts with its arms, and that map as a line of Python."""

    log: Log
    code: str


def map_named(text: str, log: Log, columns: Sequence[str], arms: Floats | None) -> MappedLog:
    """The log with the map that a text names: "disjoint", "interactions", "hybrid", or "module:name".

    `columns` are those of the contexts, vectors of numbers. With the word "table" before the name, as in
    "table disjoint", numbers are scaled to [-1, 1] by their range in the log, and texts become categories.
    `arms` (K, p) are the features of arms, for interactions and hybrid.

    >>> log = Log(arm=[0, 1], reward=[0.0, 1.0], others={"age": [20, 60], "from": ["FR", "DE"]})
    >>> found = map_named("table disjoint", log, ["age", "from"], None)
    >>> found.code
    "disjoint(2, context=table({'age': (20.0, 60.0)}, {'from': ['DE', 'FR']}))"
    >>> found.log.context.shape, found.log.features.dim
    ((2, 4), 8)
    """
    if ":" in text:
        return with_map(log, imported_map(text), text)
    words = text.replace(",", " ").split()
    kinds = [word for word in words if word != "table"]
    if len(kinds) != 1 or kinds[0] not in MAPS or len(words) > 2:
        raise InvalidSetting(
            f"features must be one of {', '.join(MAPS)}, after the word table if contexts have "
            f"categories, or module:name; got {text!r}"
        )
    if "table" in words:
        return _over_table(kinds[0], log, columns, arms)
    if log.context is None:
        raise InvalidLog("this log has no contexts: name their columns, as in --context age --context visits")
    width, longest = log.context.shape[1], _longest(log.context)
    features = _make_map(kinds[0], log, arms, context_dim=width, longest=longest)
    return with_map(log, features, _map_code(kinds[0], log, f"context_dim={width}, longest={longest:g}"))


def imported_map(reference: str) -> FeatureMap:
    """The feature map that "module:name" refers to."""
    found = checked_map(imported(reference, InvalidSetting, f"cannot load the feature map {reference!r}"))
    if found is None:
        raise InvalidSetting(f"{reference!r} is None, not a feature map")
    return found


def with_map(log: Log, features: FeatureMap, code: str) -> MappedLog:
    """The log with another map over its contexts."""
    if log.context is None:
        raise InvalidLog("this log has no contexts for a map: name their columns, as in --context age")
    labels = log.labels or features.labels
    return MappedLog(replace(log, features=features, labels=labels, arms=None, offers=None), code)


def _longest(contexts: Floats) -> float:
    """The largest length of a context, rounded up to three digits."""
    length = float(np.linalg.norm(contexts, axis=1).max())
    if not length > 0.0:
        raise InvalidLog("all contexts of this log are 0: nothing can be learnt from them")
    digit = 10.0 ** (math.floor(math.log10(length)) - 2)
    return float(f"{math.ceil(length / digit * (1.0 - 1e-12)) * digit:.3g}")


def _make_map(kind: str, log: Log, arms: Floats | None, **context: Any) -> FeatureMap:
    labels = log.labels
    if kind == "disjoint":
        return disjoint(log.count if labels is None else labels, **context)
    rows = log.arms if arms is None else arms
    if rows is None:
        raise InvalidSetting(f"{kind} needs the features of arms: a file of them, as in --arms arms.csv")
    if len(rows) != log.count:
        raise InvalidSetting(f"there are features of {len(rows)} arms, and the log has {log.count}")
    joined = interactions(rows, labels=labels, **context)
    return joined if kind == "interactions" else hybrid(shared=joined)


def _over_table(kind: str, log: Log, columns: Sequence[str], arms: Floats | None) -> MappedLog:
    """A map over `features.table`, with ranges and values as the log has them."""
    if not columns:
        raise InvalidLog("name the columns of contexts, as in --context age --context country")
    ranges: dict[str, tuple[float, float]] = {}
    values: dict[str, list[Label]] = {}
    for name in columns:
        if name not in log.others:
            raise InvalidLog(f"the log has no column {name!r} for contexts")
        if log.others[name].dtype.kind in "iuf":
            ranges[name] = _range(name, log.others[name])
        else:
            values[name] = _categories(name, log.others[name])
    encoder = table(ranges, values)
    features = _make_map(kind, log, arms, context=encoder)
    rows = encoder.encode_many({name: log.others[name] for name in columns}).rows
    ranges, values = dict(encoder.numbers), {name: list(each) for name, each in encoder.categories}
    given = ", ".join(str(part) for part in (ranges, values) if part) if ranges else f"categories={values}"
    encoded = replace(log, context=rows, facts=replace(log.facts, encoded=True))
    return with_map(encoded, features, _map_code(kind, log, f"context=table({given})"))


def _range(name: str, values: np.ndarray) -> tuple[float, float]:
    if not np.isfinite(values).all():
        raise InvalidLog(f"column {name!r} must hold a number in every row")
    low, high = float(values.min()), float(values.max())
    if not low < high:
        raise InvalidLog(f"column {name!r} is {low:g} in all rows: it says nothing about contexts")
    return low, high


def _categories(name: str, values: np.ndarray) -> list[Label]:
    seen = set(values.tolist())
    if None in seen or not all(isinstance(each, str | bool) for each in seen):
        raise InvalidLog(f"column {name!r} must hold a text in every row")
    if len(seen) > MOST_VALUES:
        raise InvalidLog(f"column {name!r} has {len(seen):,} values, too many for a category")
    return sorted(seen)


def _map_code(kind: str, log: Log, context: str) -> str:
    """The map as a line of Python, with the names of `infex.features`."""
    labels = log.labels or ()
    some = f"{list(labels)}" if len(labels) <= LABELS_SHOWN else "labels"
    if kind == "disjoint":
        return f"disjoint({some if labels else log.count}, {context})"
    joined = f"interactions(arms{f', labels={some}' if labels else ''}, {context})"
    return joined if kind == "interactions" else f"hybrid(shared={joined})"
