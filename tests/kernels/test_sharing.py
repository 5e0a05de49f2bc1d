"""Kernels that stand once in memory, and kernels that Python does not enter."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import kernels
from infex.kernels import algebra, reading
from infex.kernels.sharing import PUBLISHED

PROGRAM = """
import numpy as np
from infex import kernels
board, run = np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]), np.zeros(9)
numbers = np.array([1.0, 1.0, 0.1, 1.0, 0.0, 1.0])
print(kernels.glance(board, run, numbers, np.empty(2), np.empty(2, dtype=np.int64))[:2])
print(sum(kernel.stats.cache_misses.total() for kernel in (kernels.glance, kernels.best_upper)))
"""


@pytest.mark.compiled
def test_code_that_is_read_from_the_disk_finds_the_shared_kernels_it_calls(tmp_path: Path) -> None:
    """It is linked to them by a symbol, and a process that looked for one in vain would die."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for missing in ("2", "0"):
        ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        assert ran.stdout.splitlines() == ["(1, 1)", missing], ran.stderr


@pytest.mark.compiled
def test_a_kernel_is_compiled_from_parts_that_are_read_from_the_disk(tmp_path: Path) -> None:
    """Some of them are machine code there, and others wait to be written out."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for missing in ("2", "1"):
        ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        assert ran.stdout.splitlines() == ["(1, 1)", missing], ran.stderr
        for file in tmp_path.rglob("reading.glance-*"):
            file.unlink()


@pytest.mark.compiled
def test_a_shared_kernel_is_called_and_not_taken_over() -> None:
    glance: Any = kernels.glance
    board, run, numbers = np.ones((4, 2)), np.zeros(9), np.ones(6)
    glance(board, run, numbers, np.empty(2), np.empty(2, dtype=np.int64))
    (code,) = glance.overloads.values()
    functions = list(code.library._get_module_for_linking().functions)
    (called,) = (each for each in functions if each.name.startswith("infex.kernels.reading.best_upper."))
    assert called.is_declaration
    assert called.name in {each.symbol for each in PUBLISHED}
    assert not any("best_upper" in each.name for each in functions if not each.is_declaration)


def test_a_kernel_without_an_entrance_can_be_called_all_the_same() -> None:
    values = np.arange(8.0)
    assert algebra.dot(values, values, 8) == 140.0
    assert reading.largest_of_eight(values, 0) == 7.0
    assert algebra.dot(values, values, 8) == 140.0
