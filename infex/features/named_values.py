"""Values of contexts by the names of their features, of one context or of many."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infex.arrays import brief, is_masked
from infex.errors import InvalidContext


def values_of(context: object, names: tuple[str, ...]) -> Sequence[Any]:
    """The values of one context in the order of `names`; None for a name that it does not have.

    A mapping, a pandas Series and a named tuple go by names; anything else is an array in their order.
    """
    if type(context) is dict and len(context) == len(names):  # the common case
        with contextlib.suppress(KeyError):
            return [context[name] for name in names]
    named = by_name(context)
    if named is None:
        return _in_order(context, names)
    _refuse_unknown(named, names)
    return [named.get(name) for name in names]


def by_name(context: object) -> Mapping[Any, Any] | None:
    """A context that has names as a mapping; None of one that has none."""
    if isinstance(context, Mapping):
        return context
    if isinstance(context, tuple):
        return context._asdict() if hasattr(context, "_asdict") else None
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(context, pandas.Series):
        return None
    if not context.index.is_unique:
        raise InvalidContext("a context has a name more than once")
    named: Mapping[Any, Any] = context.to_dict()
    return named


def columns_by_place(contexts: object, names: tuple[str, ...]) -> tuple[int, list[NDArray[Any]]]:
    """How many contexts there are, and the values of all of them for each name, (n,).

    Contexts are a table of pandas, polars or Arrow, a mapping of columns, a two-dimensional array, or a
    sequence of single contexts.
    """
    columns = _columns(contexts)
    if columns is None:
        columns = _gathered(contexts, names)
    _refuse_unknown(columns, names)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InvalidContext(f"columns of contexts must be equally long, got {sorted(lengths)}")
    count = lengths.pop() if lengths else 0
    nothing = np.full(count, None, dtype=object)
    return count, [columns.get(name, nothing) for name in names]


def one_by_one(contexts: Any) -> Any:
    """A table of contexts as a list of dicts; anything else as it is."""
    room, kind = type(contexts).__module__.partition(".")[0], type(contexts).__name__
    if room == "pandas" and kind == "DataFrame":
        _refuse_repeated_names(contexts)
        return contexts.to_dict("records")
    if room == "polars" and kind == "DataFrame":
        return contexts.to_dicts()
    return contexts.to_pylist() if room == "pyarrow" else contexts


def refuse_single_values(columns: Mapping[Any, Any]) -> None:
    """Refuses a mapping of columns in which a name has one value, as in a single context."""
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InvalidContext(
                f"a mapping of columns has a list for each name, and {name!r} has one value: "
                "give a list of contexts"
            )


def _refuse_repeated_names(table: Any) -> None:
    if not table.columns.is_unique:
        raise InvalidContext("a table of contexts has a name more than once")


def _columns(contexts: object) -> dict[Any, NDArray[Any]] | None:
    """A table by columns; None of what is no table."""
    if isinstance(contexts, Mapping):
        refuse_single_values(contexts)
        return {name: as_column(values) for name, values in contexts.items()}
    room = type(contexts).__module__.partition(".")[0]
    table: Any = contexts
    if room == "pandas" and type(contexts).__name__ == "DataFrame":
        _refuse_repeated_names(table)
        return {name: _of_pandas(table[name]) for name in table.columns}
    if room == "polars" and type(contexts).__name__ == "DataFrame":
        return {name: table[name].to_numpy() for name in table.columns}
    if room == "pyarrow":
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.schema.names}
    return None


def _of_pandas(column: Any) -> NDArray[Any]:
    """Numbers as floats, which have a NaN for what is missing; anything else as objects."""
    numbers = column.dtype.kind in "iuf"
    found: NDArray[Any] = column.to_numpy(np.float64, na_value=np.nan) if numbers else column.to_numpy()
    return found


def _gathered(contexts: object, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Columns of an array with a row for each context, or of a sequence of contexts."""
    if isinstance(contexts, np.ndarray) and contexts.ndim == 2 and not is_masked(contexts):
        _refuse_length(contexts.shape[1], names)
        return dict(zip(names, contexts.T, strict=True))
    if isinstance(contexts, str) or not isinstance(contexts, Sequence | np.ndarray):
        raise InvalidContext(
            "contexts must be a table, a mapping of columns, a (n, c) array or a list of contexts, got a "
            f"{type(contexts).__name__}"
        )
    rows = [values_of(context, names) for context in contexts]
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: as_column(column) for name, column in zip(names, columns, strict=True)}


def as_column(values: Any) -> NDArray[Any]:
    """Values as an array, (n,): of numbers or truths if all of them are, else of objects."""
    listed = list(values)
    kinds = set(map(type, listed))
    if kinds <= {float, int} or kinds == {bool}:
        try:
            return np.array(listed, dtype=bool if kinds == {bool} else np.float64)
        except OverflowError:
            pass
    column = np.empty(len(listed), dtype=object)
    column[:] = listed
    return column


def _in_order(context: object, names: tuple[str, ...]) -> Sequence[Any]:
    if isinstance(context, str) or not isinstance(context, Sequence | np.ndarray):
        raise InvalidContext(
            f"a context must have the names {brief(list(names))}, as a dict or a row of a table has, or be "
            f"the values in this order; got a {type(context).__name__}"
        )
    if isinstance(context, np.ndarray):
        _refuse_length(context.size if context.ndim == 1 else -1, names)
        listed: list[Any] = context.tolist()
        return listed
    _refuse_length(len(context), names)
    return context


def _refuse_length(length: int, names: tuple[str, ...]) -> None:
    if length != len(names):
        shown = "an array of another shape" if length < 0 else str(length)
        raise InvalidContext(f"a context must be {len(names)} values, {brief(list(names))}; got {shown}")


def _refuse_unknown(named: Mapping[Any, Any], names: tuple[str, ...]) -> None:
    if not named.keys() <= set(names):
        strange = next(name for name in named if name not in names)
        raise InvalidContext(f"a context has no feature {brief(strange)}; its names are {brief(list(names))}")
