"""A folder that keeps finished runs as they come, so that an interruption loses none of them."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Any, Self, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather

from infex.errors import InvalidSetting
from infex.experiments.results import SCHEMA, Results, rows_of
from infex.experiments.tasks import Outcome
from infex.files import replace

MARK = "sweep.json"
RUNS = "runs"


@final
class Folder:
    """Finished runs in `runs/`, one file for each chunk; at the end all that a reader wants beside them.

    Without a path it keeps them in a folder that goes when it is closed.
    """

    def __init__(self, path: str | Path | None, *, force: bool = False) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="infex-") if path is None else path)
        self.passing = path is None
        if self.path.exists() and not self.path.is_dir():
            raise InvalidSetting(f"{self.path} is not a folder")
        strange = self.path.exists() and any(self.path.iterdir()) and not (self.path / MARK).exists()
        if strange and not force and not self.passing:
            raise InvalidSetting(
                f"the folder {self.path} has other contents; name another, or --force to write there"
            )
        if force:
            shutil.rmtree(self.path / RUNS, ignore_errors=True)
        (self.path / RUNS).mkdir(parents=True, exist_ok=True)
        if not (self.path / MARK).exists():
            replace(self.path / MARK, b"{}\n")
        self._kept = self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.passing:
            shutil.rmtree(self.path, ignore_errors=True)

    def keys(self) -> set[str]:
        """The names of the runs that are there."""
        return set(pc.unique(self._kept["key"]).to_pylist())

    def append(self, outcomes: list[Outcome]) -> None:
        """Keeps the runs of one chunk: after it returns they are on disk."""
        rows = rows_of(outcomes)
        if rows.num_rows == 0:
            return
        sink = pa.BufferOutputStream()
        pyarrow.feather.write_feather(rows, sink)
        replace(self.path / RUNS / f"{uuid.uuid4().hex}.arrow", sink.getvalue().to_pybytes())
        self._kept = pa.concat_tables([self._kept, rows])

    def table(self, keys: Collection[str]) -> pa.Table:
        """The rows of these runs."""
        wanted = pc.is_in(self._kept["key"], value_set=pa.array(list(keys), pa.string()))
        return self._kept.filter(wanted)

    def finish(self, results: Results) -> None:
        """Writes the table, the summary, what the sweep was, and what failed; runs go into one file."""
        if self.passing:
            return
        results.write(self.path)
        replace(self.path / MARK, json.dumps(results.about, indent=2).encode() + b"\n")
        failures = self.path / "failures.json"
        if results.failures:
            replace(failures, json.dumps(results.failures, indent=2).encode() + b"\n")
        else:
            failures.unlink(missing_ok=True)
        old = list((self.path / RUNS).glob("*.arrow"))
        if len(old) > 1:
            sink = pa.BufferOutputStream()
            pyarrow.feather.write_feather(self._kept, sink)
            replace(self.path / RUNS / f"{uuid.uuid4().hex}.arrow", sink.getvalue().to_pybytes())
            for part in old:
                part.unlink()

    def _read(self) -> pa.Table:
        parts = sorted((self.path / RUNS).glob("*.arrow"))
        tables = [pyarrow.feather.read_table(part) for part in parts]
        whole = pa.concat_tables([SCHEMA.empty_table(), *tables])
        return whole if len(parts) < 2 else _once(whole)


def read(path: str | Path) -> Results:
    """The results that a folder holds."""
    folder = Path(path)
    table, mark = folder / "results.parquet", folder / MARK
    if not (table.exists() and mark.exists()):
        raise InvalidSetting(f"{folder} holds no results of a sweep (results.parquet and {MARK})")
    about: dict[str, Any] = json.loads(mark.read_text())
    failures = folder / "failures.json"
    failed = tuple(json.loads(failures.read_text())) if failures.exists() else ()
    return Results(
        pyarrow.parquet.read_table(table), bases=about.get("bases", {}), failures=failed, about=about
    )


def _once(rows: pa.Table) -> pa.Table:
    """Each run once: a crash while files were joined may have left some of them twice."""
    places = rows.append_column("place", pa.array(range(rows.num_rows)))
    firsts = places.group_by(["key", "t"]).aggregate([("place", "min")])["place_min"]
    return rows.take(firsts.sort())
