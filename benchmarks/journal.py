"""A journal that grows for years: what an explanation, an erasure and a start take, and what is kept.

`python -m benchmarks.journal 1e5` does it with fewer decisions.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.study import CONTEXTS, begun
from infex.study.snapshot import load_state
from infex.study.stores.base import reading
from infex.study.study import Study

DECISIONS = 1_000_000
FAR = 100_000_000  # decisions to which it is extrapolated
VISITS = 4  # decisions of each unit, one after the other
PENDING = 20_000
BATCH = 1000
TAIL = 9 * BATCH  # decisions behind the last snapshot, most of an interval, which a start replays
KEPT = 100_000  # entries that are not archived


class Journal(NamedTuple):
    """Seconds and bytes of a study with so many decisions, each with its reward."""

    decisions: int
    restart: float  # after a kill
    keys: float  # of that, to read which keys are known
    explain_first: float
    explain_middle: float
    explain_last: float
    forget_last: float
    forget_first: float
    file: int
    snapshots: int
    snapshot_bytes: int
    pending_bytes: float  # of memory, for each decision that waits
    archive: float  # seconds, for all but the newest entries
    archive_bytes: int
    file_after: int
    explain_archived: float
    forget_archived: float  # the second unit, from a segment
    forget_kept: float  # the last but one, while the file is small

    def far(self, decisions: int = FAR) -> dict[str, float]:
        """An extrapolation: what reads a part of the journal takes as long, what reads all takes longer."""
        times = decisions / self.decisions
        return {
            "restart": self.restart + (times - 1) * self.keys,
            "explain": max(self.explain_first, self.explain_middle, self.explain_last),
            "forget_last": times * self.forget_last,  # the file is written anew
            "forget_first": times * self.forget_first,
            "forget_archived": times * self.forget_archived,
            "file": times * self.file,
            "archive": times * self.archive,
            "archive_bytes": times * self.archive_bytes,
            "snapshot_bytes": times * self.snapshot_bytes,
        }


def key_of(n: int) -> str:
    """The key of the n-th decision."""
    return f"order-{n}"


def write(url: str, decisions: int) -> None:
    """A study with so many decisions and their rewards, which is then left as it is."""
    study = begun(url)
    for first in range(0, decisions, BATCH):
        numbers = range(first, first + BATCH)
        keys = [key_of(n) for n in numbers]
        units = [f"unit-{n // VISITS}" for n in numbers]
        study.ask_many(keys, contexts=[CONTEXTS[n % 5000] for n in numbers], units=units)
        study.tell_many(keys, [float(n % 3 == 0) for n in numbers])
    print("written", flush=True)
    sys.stdin.read()  # until it is killed


def measured(decisions: int = DECISIONS) -> Journal:
    """Writes a journal, kills the writer, and measures."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "shop.db"
        url = f"sqlite:///{path}"
        words = [sys.executable, "-m", "benchmarks.journal", "write", url, str(decisions + TAIL)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "written\n"
            writer.kill()
        restart, study = timed(lambda: begun(url))
        with study, reading(url) as store:
            known, unknown = (
                min(timed(partial(load_state, store, "shop", {}, with_keys=each))[0] for _ in range(5))
                for each in (True, False)
            )
            sizes = [len(store.snapshot("shop", place) or b"") for place in store.places("shop")]
            last = decisions + TAIL - 1
            first, middle, recent = (
                timed(partial(study.explain, key_of(n)))[0] for n in (0, decisions // 2 + TAIL, last)
            )
            new, old = (timed(partial(study.forget, f"unit-{n // VISITS}"))[0] for n in (last, 0))
            file, pending = path.stat().st_size, pending_bytes(study)
            archive = timed(partial(study.archive, Path(folder) / "archive", keep=KEPT))[0]
            return Journal(
                decisions=decisions,
                restart=restart,
                keys=max(known - unknown, 0.0),
                explain_first=first,
                explain_middle=middle,
                explain_last=recent,
                forget_last=new,
                forget_first=old,
                file=file,
                snapshots=len(sizes),
                snapshot_bytes=sum(sizes),
                pending_bytes=pending,
                archive=archive,
                archive_bytes=sum(each.stat().st_size for each in (Path(folder) / "archive").iterdir()),
                file_after=path.stat().st_size,
                explain_archived=timed(partial(study.explain, key_of(decisions // 2)))[0],
                forget_kept=timed(partial(study.forget, f"unit-{last // VISITS - 1}"))[0],
                forget_archived=timed(partial(study.forget, "unit-1"))[0],
            )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def pending_bytes(study: Study) -> float:
    """Bytes of memory that a decision takes as long as it waits for its reward."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for first in range(0, PENDING, BATCH):
        keys = [f"waits-{n}" for n in range(first, first + BATCH)]
        study.ask_many(keys, contexts=CONTEXTS[:BATCH], units=keys)
    study.flush()
    found = (tracemalloc.get_traced_memory()[0] - before) / PENDING
    tracemalloc.stop()
    return found


def show(found: Journal) -> None:
    """Prints what was measured, and what follows for a far longer journal."""
    far = found.far()
    rows = {
        "a start after a kill": (found.restart, far["restart"]),
        "explain the first": (found.explain_first, far["explain"]),
        "explain the middle one": (found.explain_middle, far["explain"]),
        "explain the last": (found.explain_last, far["explain"]),
        "forget the last unit": (found.forget_last, far["forget_last"]),
        "forget the first unit": (found.forget_first, far["forget_first"]),
        "archive": (found.archive, far["archive"]),
        "then explain an old one": (found.explain_archived, found.explain_archived),
        "then forget a recent one": (found.forget_kept, found.forget_kept),
        "then forget the second": (found.forget_archived, far["forget_archived"]),
    }
    print(f"\na journal of {found.decisions:,} decisions, and by extrapolation of {FAR:,}\n")
    for name, (here, there) in rows.items():
        print(f"{name:<26}{here:8.2f} s{there:12,.2f} s")
    sizes = {
        "the file": (found.file, far["file"]),
        "snapshots in it": (found.snapshot_bytes, far["snapshot_bytes"]),
        "the archive": (found.archive_bytes, far["archive_bytes"]),
    }
    for name, (here, there) in sizes.items():
        print(f"{name:<26}{here / 1e6:7,.0f} MB{there / 1e6:11,.0f} MB")
    print(f"archived but for {KEPT:,} entries, the file has {found.file_after / 1e6:,.0f} MB")
    print(
        f"{found.snapshots} snapshots; a decision that waits takes {found.pending_bytes:,.0f} bytes of memory"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(sys.argv[2], int(sys.argv[3]))
    else:
        show(measured(int(float(sys.argv[1])) if len(sys.argv) > 1 else DECISIONS))
