"""Arms and logged rewards from files: CSV, Parquet or NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidArms, InvalidReward
from infex.logs import Log, is_own_log, read
from infex.logs.files import read_with_map

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
        return _of_array(_array(place))
    table = table_in(place, InvalidArms)
    _refuse_no_rows(table, path)
    _refuse_same_names(table.column_names, path)
    named = [name for name in table.column_names if _holds_labels(table, name)]
    if len(named) > 1:
        raise InvalidArms(
            f"{path}: at most one column may hold labels (give categories as columns of 0 and 1), got "
            f"{_samples(table, named)}"
        )
    features = [name for name in table.column_names if name not in named]
    if not features:
        raise InvalidArms(
            f"{path}: no column holds numbers, got {_samples(table, table.column_names)}; "
            "columns are to be separated by commas, with decimal points"
        )
    rows = np.column_stack([np.asarray(table[name].to_numpy(), np.float64) for name in features])
    _refuse_holes(rows, features, place)
    words = f"{len(rows)} arms of {len(features)} features: {few_of(features)}"
    if not named:
        return ArmFile(rows, None, words)
    return ArmFile(rows, _labels(table, named[0]), f"{words}; labels from {named[0]}")


def _of_array(rows: Floats) -> ArmFile:
    return ArmFile(rows, None, f"{len(rows)} arms of {rows.shape[1]} features")


def _refuse_no_rows(table: pa.Table, path: str | Path) -> None:
    if not table.num_rows:
        raise InvalidArms(f"{path}: there are no rows of arms, only {', '.join(table.column_names)}")


def _refuse_same_names(names: list[str], path: str | Path) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArms(f"{path}: two columns are called {twice!r}")


def _holds_labels(table: pa.Table, name: str) -> bool:
    """Is a column one of labels, by its name or because it has no numbers?"""
    return name.lower() in LABEL_COLUMNS or not is_numeric(table, name)


def _labels(table: pa.Table, name: str) -> list[str]:
    """A column as texts, empty where it has nothing."""
    return ["" if label is None else str(label) for label in table[name].to_pylist()]


def _samples(table: pa.Table, names: list[str]) -> str:
    """Columns with the first entry that is no number."""
    return ", ".join(f"{name} ({_sample(table, name)})" for name in names)


def _sample(table: pa.Table, name: str) -> str:
    words = map(str, table[name].to_pylist())
    return next((word for word in words if not _is_number(word)), "")


def few_of(names: list[str]) -> str:
    """Names of columns, of many only some."""
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


def table_in(path: Path, error: type[Exception]) -> pa.Table:
    """The table of a file, CSV or Parquet."""
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


def is_numeric(table: pa.Table, name: str) -> bool:
    """Does a column hold numbers?"""
    import pyarrow as pa

    kind = table[name].type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


class LoggedRewards(NamedTuple):
    """Rewards of a file and their arms; rows and labels of arms, if it has them; and what was read.

    `log` is all of it where arms are other ones in every round, or contexts are joined with them.
    """

    arms: list[object]
    rewards: Floats
    rows: Floats | None
    labels: list[str] | None
    words: str
    log: Log | None = None


def read_logged(
    path: str | Path,
    features: str | None = None,
    context: Sequence[str] = (),
    arms: Floats | None = None,
    labels: Sequence[str] | None = None,
    *,
    arm: str = "arm",
    reward: str = "reward",
) -> LoggedRewards:
    """The rewards of a log: one in infex's own form, a table with contexts, or a plain one of two columns.

    `features` name a map for the columns `context`, as `map_named` reads it; `arms` are features of arms
    for it, in the order of `labels`. `arm` and `reward` name the columns of arms and rewards. What is not
    read is named in `words`.
    """
    if features is not None:
        found = read_with_map(path, features, context, arms, labels=labels, arm=arm, reward=reward)
        return _whole(found.log, f"; map: {found.code}")
    if context:
        raise InvalidReward(
            f"{path}: contexts need a map that joins them with arms, as in --features disjoint"
        )
    if is_own_log(path):
        return _own_log(path)
    played, rewards = read_log(path, arm, reward)
    names = [name for name in table_in(Path(path), InvalidReward).column_names if name not in (arm, reward)]
    return LoggedRewards(played, rewards, None, None, f"{len(rewards):,} logged rewards{_ignored(names)}")


def _ignored(names: list[str]) -> str:
    return f"; columns that are not read: {few_of(names)}" if names else ""


def _whole(log: Log, more: str = "") -> LoggedRewards:
    """A log of which all is needed."""
    missing = int((~log.rewarded).sum())
    words = f"{len(log) - missing:,} logged rewards of {log.count} arms" + (
        f"; {missing:,} rounds have none" if missing else ""
    )
    return LoggedRewards([], np.zeros(0), None, None, words + more, log)


def _own_log(path: str | Path) -> LoggedRewards:
    log = read(path)
    if log.arms is None or log.offers is not None or log.offered is not None:
        return _whole(log)
    rows = log.rewarded
    names = None if log.labels is None else [str(label) for label in log.labels]
    arms: list[object] = [place if names is None else names[place] for place in log.arm[rows].tolist()]
    return LoggedRewards(arms, log.reward[rows], log.arms, names, _whole(log).words)


def read_log(path: str | Path, arm: str = "arm", reward: str = "reward") -> tuple[list[object], Floats]:
    """The columns `arm` (a label, or an index from 0 where arms have none) and `reward` of a file."""
    table = table_in(Path(path), InvalidReward)
    for option, name in (("arm", arm), ("reward", reward)):
        if name not in table.column_names:
            raise InvalidReward(
                f"{path}: a column {name!r} is needed, got {', '.join(table.column_names)}; "
                f"another is named by --{option}"
            )
    if not is_numeric(table, reward) or table[reward].null_count:
        raise InvalidReward(f"{path}: the column {reward!r} must hold a number in every row")
    return table[arm].to_pylist(), table[reward].to_numpy().astype(np.float64)
