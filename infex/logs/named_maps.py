"""Feature maps by the words of a command line, made for the contexts of a log."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Floats, Label
from infex.errors import InvalidLog, InvalidSetting
from infex.features import ContextTable, FeatureMap, disjoint, hybrid, interactions, table
from infex.features.base import checked_map
from infex.logs.log import Log
from infex.logs.reading_logs import read

MAP_WORDS = ("disjoint", "interactions", "hybrid")
MOST_VALUES = 1000  # of a column that is taken for a category
LABELS_TOLD = 6


class MappedLog(NamedTuple):
    """A log whose contexts a map joins with its arms, and the map as code."""

    log: Log
    code: str


def read_with_map(
    source: object, words: str, columns: Sequence[str], arms: Floats | None, **names: Any
) -> MappedLog:
    """The log in a file or a table with the map that words name, as `map_named` reads them.

    `columns` are those of the contexts, `arms` features of arms (in the order of `labels`, if these are among
    the `names`), and `names` further arguments of `read`.
    """
    if ":" in words:
        found = _map_in_module(words)
        return _with_module_map(read(source, context=columns, features=found, **names), found, words)
    by_table = "table" in words.replace(",", " ").split()
    return map_named(words, read(source, context=() if by_table else columns, **names), columns, arms)


def map_named(words: str, log: Log, columns: Sequence[str], arms: Floats | None) -> MappedLog:
    """The log with the map that words name: "disjoint", "interactions" or "hybrid", or a module's own.

    `columns` are those of the contexts. With the word "table" before, as in "table disjoint", numbers
    are brought to -1 to 1 and texts become categories, as the log has them; without it contexts are vectors
    of numbers. `arms` (K, p) are the features of arms, for interactions and hybrid. "shop.maps:visitors" is
    a map of a module.

    >>> log = Log(arm=[0, 1], reward=[0.0, 1.0], others={"age": [20, 60], "from": ["FR", "DE"]})
    >>> found = map_named("table disjoint", log, ["age", "from"], None)
    >>> found.code
    "disjoint(2, context=table({'age': (20.0, 60.0)}, {'from': ['DE', 'FR']}))"
    >>> found.log.context.shape, found.log.features.dim
    ((2, 4), 8)
    """
    if ":" in words:
        return _with_module_map(log, _map_in_module(words), words)
    said = words.replace(",", " ").split()
    kinds = [word for word in said if word != "table"]
    if len(kinds) != 1 or kinds[0] not in MAP_WORDS or len(said) > 2:
        raise InvalidSetting(
            f"features must be one of {', '.join(MAP_WORDS)}, after the word table if contexts have "
            f"categories, or module:name; got {words!r}"
        )
    if "table" in said:
        return _of_table(kinds[0], log, columns, arms)
    if log.context is None:
        raise InvalidLog("this log has no contexts: name their columns, as in --context age --context visits")
    longest = _longest(log.context)
    found = _made(kinds[0], log, arms, context_dim=log.context.shape[1], longest=longest)
    code = f"context_dim={log.context.shape[1]}, longest={longest:g}"
    return MappedLog(_with(log, found), _code(kinds[0], log, code))


def _map_in_module(words: str) -> FeatureMap:
    module, _, name = words.partition(":")
    try:
        found = checked_map(vars(importlib.import_module(module))[name])
    except (ImportError, KeyError) as error:
        raise InvalidSetting(f"{words!r}: there is no such map ({error})") from None
    if found is None:
        raise InvalidSetting(f"{words!r} is None, and no map")
    return found


def _with_module_map(log: Log, features: FeatureMap, words: str) -> MappedLog:
    if log.context is None:
        raise InvalidLog("this log has no contexts for a map: name their columns, as in --context age")
    return MappedLog(_with(log, features), words)


def _with(log: Log, features: FeatureMap) -> Log:
    return replace(log, features=features, labels=log.labels or features.labels, arms=None, offers=None)


def _longest(contexts: Floats) -> float:
    """The greatest length of a context, rounded up to three digits."""
    length = float(np.linalg.norm(contexts, axis=1).max())
    if not length > 0.0:
        raise InvalidLog("all contexts of this log are 0, so that nothing can be learnt from them")
    digit = 10.0 ** (math.floor(math.log10(length)) - 2)
    return float(f"{math.ceil(length / digit * (1.0 - 1e-12)) * digit:.3g}")


def _made(kind: str, log: Log, arms: Floats | None, **context: Any) -> FeatureMap:
    """One of infex's own maps over the arms of a log."""
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


def _of_table(kind: str, log: Log, columns: Sequence[str], arms: Floats | None) -> MappedLog:
    found = table_of_columns(log, columns)
    features = _made(kind, log, arms, context=found)
    rows = found.encode_many({name: log.others[name] for name in columns}).rows
    mapped = _with(replace(log, context=rows, facts=replace(log.facts, encoded=True)), features)
    ranges, values = dict(found.numbers), {name: list(each) for name, each in found.categories}
    given = ", ".join(str(part) for part in (ranges, values) if part) if ranges else f"categories={values}"
    return MappedLog(mapped, _code(kind, log, f"context=table({given})"))


def table_of_columns(log: Log, columns: Sequence[str]) -> ContextTable:
    """What reads these columns of a log: numbers by their ranges, all else by its values."""
    numbers: dict[str, tuple[float, float]] = {}
    categories: dict[str, list[Label]] = {}
    for name in columns:
        if name not in log.others:
            raise InvalidLog(f"the log has no column {name!r} for contexts")
        values = log.others[name]
        if values.dtype.kind in "iuf":
            numbers[name] = _range(name, values)
        else:
            categories[name] = _values(name, values)
    if not columns:
        raise InvalidLog("name the columns of contexts, as in --context age --context country")
    return table(numbers, categories)


def _range(name: str, values: np.ndarray) -> tuple[float, float]:
    if not np.isfinite(values).all():
        raise InvalidLog(f"column {name!r} must hold a number in every row")
    low, high = float(values.min()), float(values.max())
    if not low < high:
        raise InvalidLog(f"column {name!r} is {low:g} in all rows: it tells nothing of contexts")
    return low, high


def _values(name: str, values: np.ndarray) -> list[Label]:
    seen = set(values.tolist())
    if None in seen or not all(isinstance(each, str | bool) for each in seen):
        raise InvalidLog(f"column {name!r} must hold a text in every row")
    if len(seen) > MOST_VALUES:
        raise InvalidLog(f"column {name!r} has {len(seen):,} values, too many for a category")
    return sorted(seen)


def _code(kind: str, log: Log, context: str) -> str:
    """The map as a line of Python, on names of `infex.features`."""
    labels = log.labels or ()
    some = f"{list(labels)}" if len(labels) <= LABELS_TOLD else "labels"
    if kind == "disjoint":
        return f"disjoint({some if labels else log.count}, {context})"
    joined = f"interactions(arms{f', labels={some}' if labels else ''}, {context})"
    return joined if kind == "interactions" else f"hybrid(shared={joined})"
