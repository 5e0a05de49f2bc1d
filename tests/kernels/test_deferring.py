"""What LLVM does to kernels: loops are vectorised, and only long entrances are left as they are."""

from typing import Any

import numpy as np
import pytest
from numba.core.caching import NullCache

from infex.kernels.compiling import compiled, woven
from infex.kernels.deferring import is_entrance


def module_of(kernel: Any, *arguments: Any) -> Any:
    """The code that became machine code, compiled here and not read from the disk; and what was returned."""
    kernel._cache = NullCache()
    returned = kernel(*arguments)
    (found,) = kernel.overloads.values()
    return found.library._final_module, returned


def is_left(module: Any) -> bool:
    """Does LLVM leave the entrance as it is?"""
    (entrance,) = filter(is_entrance, module.functions)
    return any(b"optnone" in attribute for attribute in entrance.attributes)


@woven
def add_multiple(out: Any, row: Any, factor: float) -> None:
    for k in range(row.size):
        out[k] += factor * row[k]


def combine(rows: Any, factors: Any, out: Any) -> None:
    for i in range(factors.size):
        add_multiple(out, rows[i], factors[i])


def total(vectors: Any) -> float:
    found = 0.0
    for vector in vectors:
        found += vector[0]
    return found


@pytest.mark.compiled
def test_a_loop_over_arms_in_a_kernel_that_is_written_out_in_another_is_vectorised() -> None:
    rows, factors, out = np.arange(36.0).reshape(2, 18), np.array([2.0, 3.0]), np.zeros(18)
    module, _ = module_of(compiled(combine), rows, factors, out)
    assert "x double>" in str(module)
    assert out.tolist() == (2.0 * rows[0] + 3.0 * rows[1]).tolist()


@pytest.mark.compiled
@pytest.mark.parametrize(("count", "left"), [(2, False), (60, True)])
def test_only_a_long_entrance_is_left_as_it_is(count: int, left: bool) -> None:
    vectors = tuple(np.array([float(i)]) for i in range(count))
    module, found = module_of(compiled(total), vectors)
    assert is_left(module) == left
    assert found == sum(range(count))
