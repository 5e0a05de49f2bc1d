"""A file of any length is read and written in little memory."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from collections.abc import Iterator
import numpy as np
from infex.logs import Log, read_parts, write

ROWS, PARTS, path = 1_000_000, int(sys.argv[2]), sys.argv[1]

def parts() -> Iterator[Log]:
    for part in range(PARTS):
        rng = np.random.default_rng(part)
        first = part * ROWS + 1
        yield Log(round=np.arange(first, first + ROWS), arm=rng.integers(10, size=ROWS), arms=np.eye(10),
                  reward=rng.integers(2, size=ROWS).astype(float), propensity=np.full(ROWS, 0.1))

write(parts(), path)
total = sum(float(part.reward.sum()) for part in read_parts(path))
with open("/proc/self/status") as status:  # rusage would count the peak of who started it
    peak = next(line for line in status if line.startswith("VmHWM"))
print(int(total), int(peak.split()[1]) // 1024)
"""


def test_a_log_is_written_and_read_some_rows_at_a_time(tmp_path: Path) -> None:
    assert_small(tmp_path, 2)


@pytest.mark.slow
def test_a_hundred_million_rows_take_less_than_half_a_gigabyte(tmp_path: Path) -> None:
    assert_small(tmp_path, 100)


def assert_small(folder: Path, millions: int) -> int:
    """How many megabytes were taken at most: less than 500."""
    words = [sys.executable, "-c", PROGRAM, str(folder / "log.parquet"), str(millions)]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    total, megabytes = map(int, out.split())
    assert abs(total - millions * 500_000) < 5_000 * millions
    assert megabytes < 500
    return megabytes
