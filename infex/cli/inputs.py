"""Arms and logged rewards from files: CSV, Parquet or NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidArms, InvalidReward, InvalidSetting
from infex.logs import Log, is_own_log, read
from infex.logs.files import read_with_map

if TYPE_CHECKING:
    import pyarrow as pa

FILE_ENDINGS = (".csv", ".parquet", ".npy")
LABEL_COLUMNS = ("arm", "label", "name", "id", "")  # they hold labels, even if these are numbers


def read_inputs(
    arms: Path | None,
    logged: Path | None,
    features: str | None = None,
    context: Sequence[str] = (),
    *,
    arm: str = "arm",
    reward: str = "reward",
) -> tuple[dict[str, Any], list[str]]:
    """What `plan` is given of a file of arms and a file of rewards, and lines that say what was read."""
    file = None if arms is None else read_arms(arms)
    given: dict[str, Any] = {} if file is None else {"arms": file.rows, "labels": file.labels}
    words = [] if file is None else [file.words]
    if logged is None:
        return given, words
    seen, read_words = read_logged(logged, features, context, file, arm=arm, reward=reward)
    if features is not None:
        return {"logged": seen}, [read_words]  # its map has the arms
    if file is None and not isinstance(seen, Log):
        raise InvalidSetting("--logged needs the arms that its rewards are of: --arms")
    return given | {"logged": seen}, [*words, read_words]


class ArmFile(NamedTuple):
    """What a file of arms holds: rows of numbers, labels if any, and which columns these are, in words."""

    rows: Floats
    labels: list[str] | None
    words: str


def read_arms(path: str | Path) -> ArmFile:
    """The rows of numbers in a file, one for each arm, and their labels if there is a column of them.

    Labels are a column that is not of numbers, or is called arm, label, name or id.
    """
    labels, more = None, ""
    if Path(path).suffix.lower() == ".npy":
        try:
            rows = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        except (OSError, ValueError, TypeError, EOFError):
            raise InvalidArms(f"{path}: there is no NumPy array of numbers that can be read") from None
        if rows.ndim != 2:
            raise InvalidArms(f"{path}: arms must be rows of numbers, got shape {rows.shape}")
        features = [str(place) for place in range(rows.shape[1])]
    else:
        table = _table(Path(path), InvalidArms)
        names = table.column_names
        if not table.num_rows:
            raise InvalidArms(f"{path}: there are no rows of arms, only {', '.join(names)}")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidArms(f"{path}: two columns are called {twice!r}")
        labelled = [name for name in names if name.lower() in LABEL_COLUMNS or not _is_numeric(table, name)]
        if len(labelled) > 1:
            raise InvalidArms(
                f"{path}: at most one column may hold labels (give categories as columns of 0 and 1), got "
                f"{_samples(table, labelled)}"
            )
        features = [name for name in names if name not in labelled]
        if not features:
            raise InvalidArms(
                f"{path}: no column holds numbers, got {_samples(table, names)}; columns are to be separated "
                "by commas, with decimal points"
            )
        rows = np.column_stack([np.asarray(table[name].to_numpy(), np.float64) for name in features])
        more = f": {_few(features)}"
        for name in labelled:
            labels = ["" if label is None else str(label) for label in table[name].to_pylist()]
            more += f"; labels from {name}"
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        row, column = bad[0]
        raise InvalidArms(
            f"{path}: arms must be finite numbers, got {rows[row, column]:g} or nothing in row {row + 1} of "
            f"column {features[column]}"
        )
    return ArmFile(rows, labels, f"{len(rows)} arms of {len(features)} features{more}")


def _samples(table: pa.Table, names: list[str]) -> str:
    """Columns with the first entry that is no number."""
    entries = ((name, map(str, table[name].to_pylist())) for name in names)
    return ", ".join(
        f"{name} ({next((word for word in words if not _is_number(word)), '')})" for name, words in entries
    )


def _few(names: list[str]) -> str:
    """Names of columns, of many only some."""
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])}, ..., {names[-1]}"


def _table(path: Path, error: type[Exception]) -> pa.Table:
    """The table of a file, CSV or Parquet.

    The first line of a CSV file has the names of columns, unless there is a number among them.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    kind = path.suffix.lower()
    if kind not in FILE_ENDINGS[:2]:
        raise error(f"{path}: a file must end in {', '.join(FILE_ENDINGS)}")
    if not path.is_file():
        raise error(f"{path}: there is no such file")
    try:
        if kind == ".parquet":
            return pyarrow.parquet.read_table(path)
        with path.open(encoding="utf-8-sig") as file:
            first = next((line for line in file if line.strip()), "").strip().split(",")
        words = [word.strip().strip('"') for word in first]
        numbered = words == [str(place) for place in range(len(words))]  # as pandas names columns
        bare = any(_is_number(word) for word in words) and not numbered
        options = pyarrow.csv.ReadOptions(autogenerate_column_names=bare)
        return pyarrow.csv.read_csv(path, read_options=options)
    except (pa.ArrowInvalid, OSError, ValueError) as fault:
        raise error(f"{path}: {' '.join(str(fault).split())}") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_numeric(table: pa.Table, name: str) -> bool:
    """Does a column hold numbers?"""
    import pyarrow as pa

    kind = table[name].type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def read_logged(
    path: str | Path,
    features: str | None = None,
    context: Sequence[str] = (),
    arms: ArmFile | None = None,
    *,
    arm: str = "arm",
    reward: str = "reward",
) -> tuple[Log | tuple[list[object], Floats], str]:
    """A log, in infex's own form or a table with contexts, or arms and rewards of a plain table; and words.

    `features` name a map for the columns `context`, as `map_named` reads it; `arms` are features of arms
    for it. `arm` (a label, or an index from 0 where arms have none) and `reward` name the columns of arms and
    rewards. The words say what was read, and which columns were not.
    """
    if features is not None:
        rows, labels = (None, None) if arms is None else arms[:2]
        found = read_with_map(path, features, context, rows, labels=labels, arm=arm, reward=reward)
        return found.log, f"{_log_words(found.log)}; map: {found.code}"
    if context:
        raise InvalidReward(
            f"{path}: contexts need a map that joins them with arms, as in --features disjoint"
        )
    if is_own_log(path):
        log = read(path)
        return log, _log_words(log)
    table = _table(Path(path), InvalidReward)
    for option, name in (("arm", arm), ("reward", reward)):
        if name not in table.column_names:
            raise InvalidReward(
                f"{path}: a column {name!r} is needed, got {', '.join(table.column_names)}; "
                f"another is named by --{option}"
            )
    if not _is_numeric(table, reward) or table[reward].null_count:
        raise InvalidReward(f"{path}: the column {reward!r} must hold a number in every row")
    others = [name for name in table.column_names if name not in (arm, reward)]
    ignored = f"; columns that are not read: {_few(others)}" if others else ""
    rewards = table[reward].to_numpy().astype(np.float64)
    return (table[arm].to_pylist(), rewards), f"{table.num_rows:,} logged rewards{ignored}"


def _log_words(log: Log) -> str:
    missing = int((~log.rewarded).sum())
    words = f"{len(log) - missing:,} logged rewards of {log.count} arms"
    return f"{words}; {missing:,} rounds have none" if missing else words
