"""Arrays: their types, views that cannot be written to, a user's arms and labels checked, values as JSON."""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from infex.checks import LARGEST_REWARD, whole
from infex.errors import DamagedFile, InvalidArms, InvalidContext, InvalidSetting

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
Label = str | int

Numbers = TypeVar("Numbers", bound=NDArray[Any])

MOST_COUNTED = 2.0**53  # whole numbers up to it are exact as floats
LARGEST_SUM = LARGEST_REWARD * MOST_COUNTED
ROUNDING = 1e-9  # by how much a row of length 1 may come out longer
MOST_SQUARED = 1.0 + ROUNDING  # up to which the square of a row's length needs no second look


def length_of(vector: Floats) -> float:
    """The Euclidean length of a vector, to the same bits on every machine, which BLAS does not promise.

    >>> length_of(np.array([3.0, 4.0]))
    5.0
    """
    return math.sqrt(math.fsum(vector * vector))


def products(rows: Floats, vector: Floats) -> Floats:
    """rows @ vector, summed in the order of features: to the same bits on every machine.

    >>> products(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.5])).tolist()
    [2.0, 5.0]
    """
    total = np.zeros(len(rows))
    for column, factor in zip(rows.T, vector, strict=True):
        total += column * factor
    return total


def shown(values: Numbers) -> Numbers:
    """The same numbers, which the reader cannot change."""
    view = values.view()
    view.flags.writeable = False
    return view


def own_copy(values: npt.ArrayLike) -> NDArray[Any]:
    """A copy that cannot be written to; what is already an array of that kind, as it is.

    >>> kept = own_copy([1.0, 2.0])
    >>> kept is own_copy(kept)
    True
    """
    array = np.asarray(values)
    if array.flags.writeable or not array.flags.owndata:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def fitting(name: str, array: object, shape: tuple[int, ...], *, whole: bool = False) -> Any:
    """A copy of an array from a file, if it has this shape and finite numbers.

    A length of -1 fits any. With `whole`, its numbers must be whole, and none below 0.
    """
    numbers = np.array(array)
    fits = len(numbers.shape) == len(shape) and all(
        size in (-1, length) for size, length in zip(shape, numbers.shape, strict=True)
    )
    if not fits or numbers.dtype.kind not in ("iu" if whole else "iuf"):
        raise DamagedFile(
            f"{name} must be numbers of the shape {shape}, got {numbers.dtype} of {numbers.shape}"
        )
    if whole and (numbers < 0).any():
        raise DamagedFile(f"{name} must be whole numbers from 0, got {numbers.min()}")
    if not np.isfinite(numbers).all():
        raise DamagedFile(f"{name} must be finite, and is not")
    if whole and numbers.size and int(numbers.max()) > MOST_COUNTED:
        raise DamagedFile(f"{name} must be at most {MOST_COUNTED:g}, got {numbers.max()}")
    return numbers.astype(np.int64 if whole else np.float64, order="C")


def fitting_rows(name: str, array: object, dim: int) -> Floats:
    """Rows of `dim` features from a file, none longer than 1."""
    rows: Floats = fitting(name, array, (-1, dim))
    if rows.size and float(np.abs(rows).max()) > 1.0 + ROUNDING:
        raise DamagedFile(f"{name} must be no longer than 1, and are not")
    if rows.size and float(np.linalg.norm(rows, axis=1).max()) > 1.0 + ROUNDING:
        raise DamagedFile(f"{name} must be no longer than 1, and are not")
    return rows


def within(name: str, array: object, shape: tuple[int, ...], least: float, most: float) -> Floats:
    """Numbers of this shape from a file, from `least` to `most`."""
    numbers: Floats = fitting(name, array, shape)
    if numbers.size and not (least <= numbers.min() and numbers.max() <= most):
        raise DamagedFile(f"{name} must be from {least:g} to {most:g}, and are not")
    return numbers


def fitting_counts(array: object, arms: int, told: int) -> Floats:
    """Pulls and summed rewards of so many arms from a file, (2, K), of no more than `told` rewards."""
    counts: Floats = fitting("counts", array, (2, arms))
    if (counts[0] != np.floor(counts[0])).any() or counts[0].sum() > told:
        raise DamagedFile(f"pulls must be whole numbers, {told} in all at most")
    within("pulls", counts[0], (arms,), 0.0, MOST_COUNTED)
    within("sums of rewards", counts[1], (arms,), -LARGEST_SUM, LARGEST_SUM)
    return counts


def columns_of(arms: npt.ArrayLike, *, dim: int | None = None, rescale: bool | None = None) -> Floats:
    """The arms as columns, (d, K): finite, at least one, none longer than 1.

    With `rescale`, an arm longer than 1 is divided by its length, and the others stay; None is for
    a caller who does not offer it.

    >>> columns_of([[0.5, 0.0], [0.0, 2.0]], rescale=True).tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """
    rows = rows_of(arms)
    if dim is not None and rows.shape[1] != dim:
        raise InvalidArms(f"arms must have {dim} features each, got {rows.shape[1]}")
    with np.errstate(over="ignore"):
        long = np.linalg.norm(rows, axis=1) > 1.0 + ROUNDING
    if not rescale:
        offer = "" if rescale is None else ", or say `rescale`"
        _refuse(rows, long, f"must be no longer than 1 (divide all arms by the greatest length{offer})")
    elif long.any():
        rows = rows.copy()
        peaks = np.abs(rows[long]).max(axis=1, keepdims=True)
        scaled = rows[long] / peaks  # the square of a huge entry would overflow
        rows[long] = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.array(rows.T, order="C")


def labels_of(labels: Iterable[Any] | None, count: int) -> tuple[Label, ...] | None:
    """The labels of `count` arms: texts or whole numbers, no two the same; or None."""
    if labels is None:
        return None
    if isinstance(labels, str):
        raise InvalidArms(f"labels must be a list with one label for each arm, got the text {labels!r}")
    found = tuple(_label(label) for label in labels)
    if len(found) != count:
        raise InvalidArms(f"labels must be as many as the arms, {count}, got {len(found)}")
    label, times = Counter(found).most_common(1)[0] if found else ("", 0)
    if times > 1:
        raise InvalidArms(f"labels must differ, got {label!r} {times} times")
    return found


def _label(label: object) -> Label:
    if isinstance(label, str):
        return str(label)  # not NumPy's own kind of text
    return whole("a label that is no text", label, error=InvalidArms)


def is_masked(given: object) -> bool:
    """Are values of an array marked as missing, which reading it as a plain one would bring to light?"""
    return isinstance(given, np.ma.MaskedArray) and bool(np.ma.getmaskarray(given).any())


def rows_of(arms: npt.ArrayLike) -> Floats:
    """The arms as rows of any length, (K, d): finite, at least one.

    >>> rows_of([[1, 2]]).tolist()
    [[1.0, 2.0]]
    """
    try:
        given = np.asarray(arms)
        if given.dtype.kind not in "iufO" or is_masked(arms):
            raise TypeError
        rows = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArms(f"arms must be a (K, d) array of numbers, got {_kind(arms)}") from None
    if rows.ndim != 2:
        raise InvalidArms(f"arms must have the shape (K, d), a row of features for each, got {rows.shape}")
    if 0 in rows.shape:
        raise InvalidArms(f"arms must have at least one row and one feature, got the shape {rows.shape}")
    _refuse(rows, ~np.isfinite(rows).all(axis=1), "must be finite")
    return rows


def _kind(arms: object) -> str:
    """What was given for arms; nothing that it holds, as features of arms may be somebody's data."""
    if arms is None or not isinstance(arms, list | tuple):
        return "None" if arms is None else f"a {type(arms).__name__}"
    rows = [row if isinstance(row, list | tuple) else (row,) for row in arms]
    kinds = {type(part).__name__ for row in rows for part in row}
    lengths = set(map(len, rows))
    uneven = f", in rows of {sorted(lengths)}" if len(lengths) > 1 else ""
    return f"a {type(arms).__name__} with {', '.join(sorted(kinds)) or 'nothing'}{uneven}"


def _refuse(rows: Floats, bad: Bools | np.bool_, must: str) -> None:
    """Refuses the first bad row, by what is wrong with it and no more: it may be somebody's data."""
    if not bad.any():
        return
    k = int(np.argmax(bad))
    if np.isfinite(rows[k]).all():
        with np.errstate(over="ignore", invalid="ignore"):
            wrong = f"arm {k} has a length of {float(np.linalg.norm(rows[k])):.6g}"
    else:
        place = int(np.argmax(~np.isfinite(rows[k])))
        wrong = f"feature {place} of arm {k} is {rows[k, place]}"
    raise InvalidArms(f"arms {must}; {wrong}")


def brief(value: object, most: int = 80) -> str:
    """Its repr, of so many characters at most."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def plain_scalar(value: object) -> object:
    """A number, truth or text of NumPy's as Python's own; anything else as it is.

    >>> plain_scalar(np.int64(3)), plain_scalar(np.float32(0.5)), plain_scalar("x")
    (3, 0.5, 'x')
    """
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.integer | np.bool_ | np.str_) else value


def as_mapping(context: object) -> Mapping[Any, Any] | None:
    """A context with names as a mapping; None for one without names."""
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


def plain_value(name: str, value: object) -> Any:
    """A value as JSON can hold it: arrays as lists, named values as mappings, a NaN with a name as None."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return plain_value(name, value.tolist())
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidSetting(f"{name} must be finite numbers, got {value!r}")
        return float(value)
    if type(value) is tuple or isinstance(value, list | set | frozenset | range):
        return [plain_value(name, part) for part in value]
    if (named := as_mapping(value)) is not None:
        return {str(word): None if _is_nan(part) else plain_value(name, part) for word, part in named.items()}
    raise InvalidSetting(
        f"a study keeps what it is asked: {name} must be numbers, texts, lists or mappings of them, "
        f"got a {type(value).__name__}"
    )


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and math.isnan(value)


@runtime_checkable
class NamedFields(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]:
        """Its fields by name."""


def as_json(data: object) -> str:
    """Dictionaries, lists and named tuples as JSON; what is not a finite number is null.

    >>> as_json({"mean": float("nan"), "runs": [1]}).split()
    ['{', '"mean":', 'null,', '"runs":', '[', '1', ']', '}']
    """

    def plain(value: object) -> object:
        if isinstance(value, NamedFields):
            value = value._asdict()
        if isinstance(value, dict):
            return {name: plain(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(plain(data), indent=2, allow_nan=False)
