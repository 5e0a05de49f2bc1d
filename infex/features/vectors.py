"""Contexts as vectors of features, one or many. Error messages never hold values of a context."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from infex.arrays import ROUNDING, Floats, as_mapping, brief, is_masked
from infex.checks import one_of, real, set_fields, whole
from infex.errors import InvalidContext, InvalidSetting
from infex.features.base import CLIPPED, Encoded, EncodedMany, Encoder, checked_dim


def values_of(context: object, names: tuple[str, ...]) -> Sequence[Any]:
    """The values of one context in the order of `names`; None for a name that it does not have.

    A mapping, a pandas Series and a named tuple go by names; anything else is an array in their order.
    """
    if type(context) is dict and len(context) == len(names):  # the common case
        with contextlib.suppress(KeyError):
            return [context[name] for name in names]
    named = as_mapping(context)
    if named is None:
        return _in_order(context, names)
    _refuse_unknown(named, names)
    return [named.get(name) for name in names]


def columns_in_order(contexts: object, names: tuple[str, ...]) -> tuple[int, list[NDArray[Any]]]:
    """How many contexts there are, and the values of all of them for each name, (n,).

    Contexts are a table of pandas, polars or Arrow, a mapping of columns, a two-dimensional array, or a
    sequence of single contexts.
    """
    columns = _columns(contexts)
    if columns is None:
        columns = _columns_of_rows(contexts, names)
    _refuse_unknown(columns, names)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InvalidContext(f"columns of contexts must be equally long, got {sorted(lengths)}")
    count = lengths.pop() if lengths else 0
    nothing = np.full(count, None, dtype=object)
    return count, [columns.get(name, nothing) for name in names]


def table_rows(contexts: Any) -> Any:
    """A table of contexts as a list of dicts; anything else as it is."""
    library, kind = type(contexts).__module__.partition(".")[0], type(contexts).__name__
    if library == "pandas" and kind == "DataFrame":
        _refuse_repeated_names(contexts)
        return contexts.to_dict("records")
    if library == "polars" and kind == "DataFrame":
        return contexts.to_dicts()
    return contexts.to_pylist() if library == "pyarrow" else contexts


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
    """A table by columns; None for anything else."""
    if isinstance(contexts, Mapping):
        refuse_single_values(contexts)
        return {name: as_column(values) for name, values in contexts.items()}
    library = type(contexts).__module__.partition(".")[0]
    table: Any = contexts
    if library == "pandas" and type(contexts).__name__ == "DataFrame":
        _refuse_repeated_names(table)
        return {name: _pandas_column(table[name]) for name in table.columns}
    if library == "polars" and type(contexts).__name__ == "DataFrame":
        return {name: table[name].to_numpy() for name in table.columns}
    if library == "pyarrow":
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.schema.names}
    return None


def _pandas_column(column: Any) -> NDArray[Any]:
    """Numbers as floats, which have a NaN for what is missing; anything else as objects."""
    numbers = column.dtype.kind in "iuf"
    found: NDArray[Any] = column.to_numpy(np.float64, na_value=np.nan) if numbers else column.to_numpy()
    return found


def _columns_of_rows(contexts: object, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
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


MOST_INTEGER = 10**308  # that a float holds


def encoded_context(context: object, dim: int, longest: float, encoder: Encoder | None) -> Floats:
    """The features of a context, (dim,), divided by `longest`: those an encoder makes, or its own numbers."""
    if isinstance(context, Encoded):  # by a bandit, which counts what was noticed
        return _checked(context, dim)
    if encoder is None:
        return vector_of("a context", context, dim, longest).vector
    return _checked(encoder.encode(context), dim)


def _checked(encoded: Encoded, dim: int) -> Floats:
    """A copy of what an encoder gave, which may be a user's: so many floats, no longer than 1."""
    vector = encoded.vector if isinstance(encoded, Encoded) else None
    if type(vector) is not np.ndarray or vector.shape != (dim,) or vector.dtype != np.float64:
        raise InvalidContext(f"an encoder must give an Encoded with {dim} floats, and gave something else")
    if not float(vector.dot(vector)) <= 1.0 + ROUNDING:
        raise InvalidContext("an encoder must give features no longer than 1, and gave longer ones, or NaN")
    return np.array(vector)  # an encoder may write the next context into the same array


def vector_of(name: str, given: object, dim: int, longest: float, *, clip: bool = False) -> Encoded:
    """`given` as `dim` finite numbers, divided by `longest`.

    A longer vector is refused, or with `clip` divided by its own length, which is noticed.
    """
    if clip:
        with np.errstate(over="ignore"):  # what is too large for a float is longer than `longest`
            return _scaled(name, given, dim, longest, clip=True)
    return _scaled(name, given, dim, longest, clip=False)


def vectors_of(
    contexts: Sequence[object] | Floats, dim: int, longest: float, *, clip: bool = False
) -> EncodedMany:
    """Each context as `vector_of` gives it, (n, dim): plain rows at once, and others one by one."""
    places: Iterable[int] = range(len(contexts))
    if type(contexts) is np.ndarray and contexts.dtype == np.float64 and contexts.shape[1:] == (dim,):
        with np.errstate(all="ignore"):
            rows: Floats = contexts / longest
            squares = np.einsum("ij,ij->i", contexts, contexts)
            places = np.flatnonzero(~(squares <= longest * longest * (1.0 - ROUNDING))).tolist()
    else:
        rows = np.empty((len(contexts), dim))
    noticed = Counter[str]()
    for place in places:
        rows[place], rules = vector_of(f"context {place}", contexts[place], dim, longest, clip=clip)
        noticed.update(rules)
    return EncodedMany(rows, noticed)


def _scaled(name: str, given: object, dim: int, longest: float, *, clip: bool) -> Encoded:
    if (short := _short(given, dim, longest)) is not None:
        return Encoded(short)
    vector = _finite(name, given, dim)
    length = float(np.linalg.norm(vector))
    if length <= longest * (1.0 + ROUNDING):
        return Encoded(vector / max(longest, length))
    if not clip:
        raise InvalidContext(
            f"{name} must be no longer than longest={longest:g}, got one of length {length:.6g}; "
            'give a larger longest, or beyond="clip" where the map has it'
        )
    vector = vector / np.abs(vector).max()  # so that squares cannot overflow
    return Encoded(vector / np.linalg.norm(vector), (CLIPPED,))


def _short(given: object, dim: int, longest: float) -> Floats | None:
    """Floats of the right shape that are short enough, by one product; None for what needs a closer look."""
    if type(given) is not np.ndarray and type(given) is not list:
        return None
    try:
        found = np.asarray(given)
    except (ValueError, OverflowError):
        return None
    if found.shape != (dim,) or found.dtype != np.float64:
        return None
    scaled: Floats = found / longest
    return scaled if scaled.dot(scaled) <= 1.0 else None


def _finite(name: str, given: object, dim: int) -> Floats:
    try:
        plain = np.asarray(given)
        if plain.shape != (dim,) or plain.dtype.kind not in "iufO" or _has_names(given) or is_masked(given):
            raise ValueError
        found: Floats = plain.astype(np.float64)
        if not np.isfinite(found).all():
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidContext(f"{name} must be {dim} finite numbers{_wrong(given, dim)}") from None
    return found


def _has_names(given: object) -> bool:
    """Has it names of its own, which would be ignored? The order of a named tuple is fixed by its class."""
    if isinstance(given, np.ndarray | list | tuple):
        return False
    names = as_mapping(given)
    return names is not None and list(names) != list(range(len(names)))


def _wrong(given: object, dim: int) -> str:
    """What is wrong with a context, and where; never what it holds, which is somebody's data."""
    if as_mapping(given) is not None and not isinstance(given, tuple):
        return f", got a {type(given).__name__} with names: a map over a table of features reads these"
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return f", got a {type(given).__name__}"
    if len(given) != dim:
        return f", got {len(given)}"
    for place, feature in enumerate(given):
        if isinstance(feature, bool | np.bool_) or not isinstance(feature, Real):
            return f"; feature {place} is a {type(feature).__name__}"
        if isinstance(feature, int) and abs(feature) > MOST_INTEGER:
            return f"; feature {place} is too large a number"
        if not math.isfinite(feature):
            return f"; feature {place} is {float(feature)}"
    return ""


def context_sequence(given: object) -> Sequence[object]:
    """`given`, if it is a sequence of contexts: rows of an array, or anything else one by one."""
    if isinstance(given, np.ndarray) and given.ndim >= 1:
        return given  # type: ignore[return-value]
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise InvalidContext(
            f"contexts must be a list with one for each decision, or an array of rows; got a "
            f"{type(given).__name__}"
        )
    return given


@final
@dataclass(frozen=True, slots=True)
class ClipNorm:
    """An encoder of contexts that are vectors of `size` numbers; see `clip_norm`.

    `longest` is that of `clip_norm`.
    """

    size: int
    longest: float = 1.0

    def __post_init__(self) -> None:
        set_fields(
            self, size=whole("size", self.size, least=1), longest=real("longest", self.longest, above=0)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The features by their places: x0, x1, and so on."""
        return tuple(f"x{place}" for place in range(self.size))

    def encode(self, context: object) -> Encoded:
        """One context, divided by `longest`, or by its own length if that is more."""
        return vector_of("a context", context, self.size, self.longest, clip=True)

    def encode_many(self, contexts: object) -> EncodedMany:
        """The same of many contexts, (n, size)."""
        return vectors_of(context_sequence(contexts), self.size, self.longest, clip=True)


def clip_norm(size: int, longest: float = 1.0) -> ClipNorm:
    """Contexts that are `size` numbers, for `disjoint(arms, context=...)`: a longer one is shortened.

    A context longer than `longest` keeps its direction and gets that length; `bandit.noticed` counts it. Maps
    without such an encoder refuse it. `beyond="clip"` of `disjoint` and `interactions` says the same.

    >>> clip_norm(2, longest=10).encode([30.0, 40.0])
    Encoded(vector=array([0.6, 0.8]), noticed=('context clipped',))
    """
    return ClipNorm(size, longest)


def encoder_for(
    beyond: str, context_dim: int | None, longest: float, context: Encoder | None
) -> Encoder | None:
    """The encoder of a map that refuses contexts `beyond` the greatest length, or clips them."""
    if one_of("beyond", beyond, ("refuse", "clip")) == "refuse":
        return context
    if context is not None:
        raise InvalidSetting("beyond is for contexts that are plain vectors: say it to the encoder instead")
    return clip_norm(checked_dim(context_dim), longest)
