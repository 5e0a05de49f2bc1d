"""Arms and logged rewards from files: CSV, Parquet or NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidArms, InvalidReward

if TYPE_CHECKING:
    import pyarrow as pa

FILE_ENDINGS = (".csv", ".parquet", ".npy")
LABEL_COLUMNS = ("arm", "label", "name", "id", "")  # they hold labels, even if these are numbers


class ArmFile(NamedTuple):
    """What a file of arms holds: rows of numbers, labels if any, and which columns these are, in words."""

    rows: Floats
    labels: list[str] | None
    words: str


def read_arms(path: str | Path) -> ArmFile:
    """The rows of numbers in a file, one for each arm, and their labels if there is a column of them.

    Labels are a column that is not of numbers, or is called arm, label, name or id.
    """
    place = Path(path)
    if place.suffix.lower() == ".npy":
        rows = _array(place)
        return ArmFile(rows, None, f"{len(rows)} arms of {rows.shape[1]} features")
    table = _table(place, InvalidArms)
    if not table.num_rows:
        raise InvalidArms(f"{path}: there are no rows of arms, only {', '.join(table.column_names)}")
    twice = next((name for name in table.column_names if table.column_names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArms(f"{path}: two columns are called {twice!r}")
    named = [
        name for name in table.column_names if name.lower() in LABEL_COLUMNS or not _is_numeric(table, name)
    ]
    if len(named) > 1:
        raise InvalidArms(f"{path}: at most one column may hold labels, got {_samples(table, named)}")
    features = [name for name in table.column_names if name not in named]
    if not features:
        raise InvalidArms(
            f"{path}: no column holds numbers, got {_samples(table, table.column_names)}; "
            "columns are to be separated by commas, with decimal points"
        )
    rows = np.column_stack([np.asarray(table[name].to_numpy(), np.float64) for name in features])
    _refuse_holes(rows, features, place)
    labels = ["" if label is None else str(label) for label in table[named[0]].to_pylist()] if named else None
    words = f"{len(rows)} arms of {len(features)} features: {_few(features)}"
    return ArmFile(rows, labels, f"{words}; labels from {named[0]}" if named else words)


def _samples(table: pa.Table, names: list[str]) -> str:
    """Columns with the first entry that is no number."""
    return ", ".join(
        f"{name} ({next((each for each in table[name].to_pylist() if not _is_number(str(each))), '')!s})"
        for name in names
    )


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])}, ..., {names[-1]}"


def _refuse_holes(rows: Floats, names: list[str], path: Path) -> None:
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        row, column = bad[0]
        raise InvalidArms(
            f"{path}: arms must be finite numbers, got {rows[row, column]:g} or nothing in row {row + 1} of "
            f"column {names[column]}"
        )


def _array(path: Path) -> Floats:
    try:
        rows = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
    except (OSError, ValueError, TypeError, EOFError):
        raise InvalidArms(f"{path}: there is no NumPy array of numbers that can be read") from None
    if rows.ndim != 2:
        raise InvalidArms(f"{path}: arms must be rows of numbers, got shape {rows.shape}")
    _refuse_holes(rows, [str(place) for place in range(rows.shape[1])], path)
    return rows


class LoggedRewards(NamedTuple):
    """Rewards of a file and their arms; rows and labels of arms, if it has them; and what was read."""

    arms: list[object]
    rewards: Floats
    rows: Floats | None
    labels: list[str] | None
    words: str


def read_logged(path: str | Path) -> LoggedRewards:
    """The rewards of a log: one in infex's own form, whose arms are fixed, or a plain table of two columns.

    What is not read is named in `words`; contexts cannot be planned for, and are refused.
    """
    from infex.logs import is_own_log

    if is_own_log(path):
        return _own_log(path)
    arms, rewards = read_log(path)
    names = [name for name in _table(Path(path), InvalidReward).column_names if name not in ("arm", "reward")]
    return LoggedRewards(arms, rewards, None, None, f"{len(rewards):,} logged rewards{_ignored(names)}")


def _ignored(names: list[str]) -> str:
    return f"; columns that are not read: {_few(names)}" if names else ""


def _own_log(path: str | Path) -> LoggedRewards:
    from infex.logs import read

    log = read(path)
    if log.arms is None or log.offers is not None:
        raise InvalidReward(
            f"{path}: arms of this log change with every round or context, and a plan is for arms that stay; "
            "infex evaluate --schedule tries schedules on such a log"
        )
    rows = log.rewarded
    missing = int((~rows).sum())
    words = f"{int(rows.sum()):,} logged rewards of {log.count} arms" + (
        f"; {missing:,} rounds have none" if missing else ""
    )
    names = None if log.labels is None else [str(label) for label in log.labels]
    arms: list[object] = [place if names is None else names[place] for place in log.arm[rows].tolist()]
    return LoggedRewards(arms, log.reward[rows], log.arms, names, words)


def read_log(path: str | Path) -> tuple[list[object], Floats]:
    """The columns `arm` (a label, or an index from 0 where arms have none) and `reward` of a file."""
    table = _table(Path(path), InvalidReward)
    for name in ("arm", "reward"):
        if name not in table.column_names:
            raise InvalidReward(f"{path}: a column {name!r} is needed, got {', '.join(table.column_names)}")
    if not _is_numeric(table, "reward") or table["reward"].null_count:
        raise InvalidReward(f"{path}: the column 'reward' must hold a number in every row")
    return table["arm"].to_pylist(), table["reward"].to_numpy().astype(np.float64)


def _table(path: Path, error: type[Exception]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet

    kind = path.suffix.lower()
    if kind not in FILE_ENDINGS[:2]:
        raise error(f"{path}: a file must end in {', '.join(FILE_ENDINGS)}")
    if not path.is_file():
        raise error(f"{path}: there is no such file")
    try:
        return pyarrow.parquet.read_table(path) if kind == ".parquet" else _with_header(path)
    except (pa.ArrowInvalid, OSError, ValueError) as fault:
        raise error(f"{path}: {' '.join(str(fault).split())}") from None


def _with_header(path: Path) -> pa.Table:
    """A CSV file; its first line has the names of columns unless there is a number among them."""
    import pyarrow.csv

    with path.open(encoding="utf-8-sig") as file:
        first = next((line for line in file if line.strip()), "").strip().split(",")
    words = [word.strip().strip('"') for word in first]
    numbered = words == [str(place) for place in range(len(words))]  # as pandas names columns
    bare = any(_is_number(word) for word in words) and not numbered
    options = pyarrow.csv.ReadOptions(autogenerate_column_names=bare)
    return pyarrow.csv.read_csv(path, read_options=options)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_numeric(table: pa.Table, name: str) -> bool:
    import pyarrow as pa

    kind = table[name].type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
