"""Arms and logged rewards from files: CSV, Parquet or NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from infex.errors import InvalidArms, InvalidReward
from infex.linear.kernels import Floats

KINDS = (".csv", ".parquet", ".npy")
NAMES = ("arm", "label", "name", "id")  # columns of labels, also if these are numbers


def read_arms(path: str | Path) -> tuple[Floats, list[str] | None]:
    """The rows of numbers in a file, one for each arm, and their labels if there is a column of them.

    Labels are a column that is not of numbers, or is called arm, label, name or id.
    """
    place = Path(path)
    if place.suffix == ".npy":
        return _numbers(np.load(place, allow_pickle=False), place), None
    table = _table(place, InvalidArms)
    named = [name for name in table.column_names if name.lower() in NAMES or not _is_numeric(table, name)]
    if len(named) > 1:
        raise InvalidArms(f"{path}: at most one column may hold labels, got {', '.join(named)}")
    features = [table[name].to_numpy() for name in table.column_names if name not in named]
    if not features:
        raise InvalidArms(f"{path}: no column holds numbers")
    labels = [str(label) for label in table[named[0]].to_pylist()] if named else None
    return _numbers(np.column_stack(features), place), labels


def read_log(path: str | Path) -> tuple[list[Any], Any]:
    """The columns `arm` (a label, or an index from 0 where arms have none) and `reward` of a file."""
    table = _table(Path(path), InvalidReward)
    for name in ("arm", "reward"):
        if name not in table.column_names:
            raise InvalidReward(f"{path}: a column {name!r} is needed, got {', '.join(table.column_names)}")
    if not _is_numeric(table, "reward") or table["reward"].null_count:
        raise InvalidReward(f"{path}: the column 'reward' must hold a number in every row")
    return table["arm"].to_pylist(), table["reward"].to_numpy().astype(np.float64)


def _table(path: Path, error: type[Exception]) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix not in KINDS[:2]:
        raise error(f"{path}: a file must end in {', '.join(KINDS)}")
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        return _with_header(path)
    except (pa.ArrowInvalid, OSError, ValueError) as fault:
        raise error(f"{path}: {fault}") from None


def _with_header(path: Path) -> Any:
    """A CSV file, whose first line are names unless all of it are numbers."""
    import pyarrow.csv

    with path.open(encoding="utf-8") as file:
        first = file.readline().strip().split(",")
    bare = all(_is_number(word) for word in first)
    options = pyarrow.csv.ReadOptions(autogenerate_column_names=bare)
    return pyarrow.csv.read_csv(path, read_options=options)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_numeric(table: Any, name: str) -> bool:
    import pyarrow as pa

    kind = table[name].type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _numbers(rows: Any, path: Path) -> Floats:
    found = np.asarray(rows, dtype=np.float64)
    if found.ndim != 2 or not np.isfinite(found).all():
        raise InvalidArms(f"{path}: arms must be rows of finite numbers, got shape {found.shape}")
    return found
