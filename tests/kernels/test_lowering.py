"""Kernels written out for LLVM in our way: they compute what Python does, and hold arrays as Numba does."""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from llvmlite import ir
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering

from infex.kernels import deferring
from infex.kernels.compiling import compiled, inner, lending, within, woven
from infex.kernels.hastening import all_references, counted_references
from infex.kernels.lowering import LeanLower, LeanLowering
from infex.kernels.writing import LeanBuilder

pytestmark = pytest.mark.compiled


class Pair(NamedTuple):
    """Two arrays and a number between them."""

    one: Any
    number: float
    other: Any


def at(a: Any, i: int, j: int, k: int) -> Any:
    return a[i, j, k], a[i, j][k], a[i][j, k], a[-1, 0, -2], a[i][-1][0]


def at_unsigned(a: Any, i: int, j: int, k: int) -> Any:
    return a[np.uint64(i % 2), np.uint8(j % 2), np.int32(k)]


def of_rows(a: Any, i: int, j: int, k: int) -> Any:
    row, plane = a[i, j], a[i]
    shape, (first, second) = plane.shape, plane.shape
    sizes = row.size + 10 * plane.size + 100 * len(plane) + 1000 * row.shape[0] + 10**4 * shape[1]
    return sizes, first, second, row.strides[0], plane.strides[0], plane.ndim, row[:2][1], plane[1:, 1][0]


def put(a: Any, i: int, j: int, k: int) -> Any:
    b = a.copy()
    b[i, j, k] = 7
    b[i, j][k % 3] += 0.5
    b[0][j, -1], b[i, 1] = True, 3.0
    b[:, 0, 0] = b[:, 0, 1]
    return b.sum(), b[i, j, k], b[0, j, -1]


def counted(a: Any, i: int, j: int, k: int) -> Any:
    total, last = 0, -1
    for n in range(i + 3):
        for m in range(n, j + 4):
            total += n * m
        for m in range(j + 4, n, -2):
            total -= m
        for m in range(n, i, 1):
            total += 100 * m
        last = n
    for _ in range(-3):
        last = 1000
    for n in range(3, -3):
        last = n
    return total, last


def branched(a: Any, i: int, j: int, k: int) -> Any:
    found, total = a[0, 0], 0.0
    if i > 0:
        found, step = a[1, 1], 2.0
    else:
        step = 3.0
        if j > 0:
            return found[0], step
    while total < 5.0:
        size = found.size
        if k > 1 and total > 1.0:
            found = a[0, 1]
        total += step + 0.25 * size
    return found[k], total


def tried(a: Any, i: int, j: int, k: int) -> Any:
    before = a[i]
    try:
        if k > 0:
            raise ValueError("k")
        inside = before[j]
    except Exception:
        inside = before[j - 1]
    return inside[0] + before[0, 0]


def unpacked(a: Any, i: int, j: int, k: int) -> Any:
    first, second = Pair(a, 2.0, a[i])[0:2]
    pair = Pair(first[j % 2], second, a[1])
    (x, y), z = (pair.one[0], pair.other[1]), pair.number
    return x[k] + y[k] * z


def made(a: Any, i: int, j: int, k: int) -> Any:
    total = 0.0
    for n in range(3):
        fresh = np.full(4, float(n))
        if n > i:
            fresh = a[i, j] + 1.0
        for value in fresh:
            total += value
    x, y = np.array([1.0, 2.0]) * total
    return x + y + a[0, 0][a[0, 0] > 3.0].sum()


@pytest.fixture
def counting() -> Iterator[None]:
    """Numba counts what it allocates and gives back."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


KERNELS = (at, at_unsigned, of_rows, put, counted, branched, tried, unpacked, made)


@pytest.mark.parametrize("function", KERNELS, ids=lambda each: each.__name__)
def test_a_kernel_computes_what_python_does(function: Callable[..., Any]) -> None:
    kernel, random = compiled(function), np.random.default_rng(3)
    for dtype in (np.float64, np.int64):
        for a in (random.integers(0, 9, (2, 3, 4)).astype(dtype), np.zeros((2, 2, 4), dtype)):
            for i, j, k in ((0, 0, 0), (1, 1, 3), (0, 1, 2), (-1, -2, -4), (1, -1, 1)):
                if function is not at_unsigned or k >= 0:
                    assert kernel(a, i, j, k) == function(a, i, j, k), (dtype, i, j, k)
    by_columns = np.asfortranarray(np.ones((2, 3, 4)))
    assert kernel(by_columns, 1, 1, 1) == function(by_columns, 1, 1, 1)


@pytest.mark.parametrize("function", KERNELS, ids=lambda each: each.__name__)
@pytest.mark.usefixtures("counting")
def test_a_kernel_holds_no_array_once_it_has_returned(function: Callable[..., Any]) -> None:
    kernel, a = compiled(function), np.ones((2, 3, 4))
    kernel(a, 1, 1, 1)
    references, before = sys.getrefcount(a), rtsys.get_allocation_stats()
    for _ in range(3):
        kernel(a, 1, 1, 1)
    after = rtsys.get_allocation_stats()
    assert sys.getrefcount(a) == references
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


def test_a_view_that_a_kernel_returns_keeps_its_array() -> None:
    row = compiled(lambda a, i: a[i])(np.arange(1e6).reshape(10, -1), 3)
    assert row.base is not None
    assert row[-1] == 399_999.0


def test_generators_and_exceptions_pass_through_kernels() -> None:
    def rows(a: Any) -> Any:
        for i in range(a.shape[0]):
            yield a[i, 0]

    inner = compiled(rows)

    def refused(a: Any, limit: float) -> float:
        total = 0.0
        for value in inner(a):
            total += value
            if total > limit:
                raise ValueError("too large", total)
        return total

    deep, a = woven(refused), np.ones((4, 2))
    outer = compiled(lambda a, limit: deep(a, limit) + 1.0)
    assert outer(a, 9.0) == 5.0
    with pytest.raises(ValueError, match="too large") as raised:
        outer(a, 2.0)
    assert raised.value.args == ("too large", 3.0)


def test_what_is_lent_is_not_counted_and_what_is_made_cannot_be_lent() -> None:
    first = lending(lambda pair: Pair(pair.other, pair.number, pair.one[0]))
    swapped = compiled(lambda pair: first(pair).one[0] + first(pair).other[1])
    pair = Pair(np.full((2, 3), 2.0), 0.0, np.full(3, 5.0))
    references = sys.getrefcount(pair.one), sys.getrefcount(pair.other)
    assert swapped(pair) == 7.0
    assert (sys.getrefcount(pair.one), sys.getrefcount(pair.other)) == references
    assert first(pair).one is pair.other or np.array_equal(first(pair).one, pair.other)  # by Python: counted
    fresh = lending(lambda a: np.zeros(3) + a)
    with pytest.raises(TypingError, match="cannot lend what it holds itself"):
        compiled(lambda a: fresh(a)[0])(np.ones(3))


def borrowed(function: Callable[..., Any], *given: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Is no reference counted in a kernel for such arguments?"""
    found = []

    class Watched(LeanLower):
        def init(self) -> None:
            super().init()
            found.append(self.borrowed)

    monkeypatch.setattr(LeanLowering, "lowering_class", Watched)
    compiled(function)(*given)
    return found[-1]


def test_references_are_counted_where_a_kernel_makes_or_returns_arrays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a, counts = np.ones((2, 3)), compiled(lambda a: a[0])
    kernels: tuple[tuple[Callable[..., Any], bool], ...] = (
        (lambda a: a[0, 0] + a[1][:2][0] + len(a), True),
        (lambda a: Pair(a, 1.0, a[0]).other[0], True),
        (lambda a: a[0], False),
        (lambda a: np.zeros(2)[0] + a[0, 0], False),
        (lambda a: (a + 1.0)[0, 0], False),
        (lambda a: a.sum(), False),
        (lambda a: counts(a)[0], False),
        (lambda a: a[0][a[0] > 0.0][0], False),
        (lambda a: [a][0][0, 0], False),
    )
    for function, expected in kernels:
        assert borrowed(function, a, monkeypatch=monkeypatch) is expected


def test_a_part_that_was_put_in_is_not_taken_out_again() -> None:
    word, module = ir.IntType(64), ir.Module()
    pair = ir.LiteralStructType([word, ir.ArrayType(word, 2)])
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pair, word, word]), "f")
    build, (whole, x, y) = LeanBuilder(function.append_basic_block()), function.args
    one = build.insert_value(whole, x, (1, 0))
    both = build.insert_value(one, y, 0)
    written = len(build.block.instructions)
    assert build.extract_value(both, 0) is y
    assert build.extract_value(both, (1, 0)) is x
    assert len(build.block.instructions) == written
    array = build.extract_value(both, [1])  # a part of it was put in: it has to be taken from there
    assert (array.aggregate, array.indices) == (one, (1,))
    assert build.extract_value(array, 0) is x
    untouched = build.extract_value(array, 1)
    assert (untouched.aggregate, untouched.indices) == (whole, (1, 1))


@pytest.mark.parametrize(
    "value",
    [np.ones(2), Pair(np.ones(2), 1.0, np.ones((2, 2))), ((np.ones(1), 3), np.random.default_rng(0)), 1.5],
    ids=["array", "tuple", "nested", "number"],
)
def test_the_references_that_are_counted_are_those_that_numba_finds(value: Any) -> None:
    found, typeof = [], numba.typeof

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        for find in (all_references, counted_references):
            found.append([kind for kind, _ in find(context.nrt, builder, signature.args[0], given[0])])
        return context.get_dummy_value()

    look: Any = numba.extending.intrinsic(lambda context, value: (numba.types.none(value), emit))
    numba.njit(lambda value: look(value))(value)
    assert found[0] == found[1]
    assert bool(found[0]) == (typeof(value) is not numba.float64)


def test_kernels_are_written_out_by_numba_where_a_part_of_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert deferring.lowering() is LeanLowering
    monkeypatch.setitem(sys.modules, "infex.kernels.lowering", None)
    assert deferring.lowering() is NativeLowering
    a = np.arange(24.0).reshape(2, 3, 4)
    assert compiled(put)(a, 1, 1, 3) == put(a, 1, 1, 3)


def test_an_exception_that_a_kernel_catches_does_not_depend_on_who_calls_it() -> None:
    def caught(a: Any, refused: bool) -> float:
        total = 0.0
        try:
            total += a[1]
            if refused:
                raise ValueError("caught")
            total += 100.0
        except Exception:
            total += 10.0
        return total

    a = np.arange(3.0)
    for style in (inner, woven, within):
        kernel = style(caught)
        outer = compiled(lambda a, refused, kernel=kernel: kernel(a, refused) + kernel(a, not refused))
        for refused in (False, True, False):
            assert outer(a, refused) == 112.0, style


TABLE = np.array([[1.0, 2.0], [3.0, 4.0]])


def test_a_kernel_may_refer_to_arrays_outside_of_it() -> None:
    assert compiled(lambda i, j: TABLE[i, j])(1, -1) == 4.0


@pytest.mark.filterwarnings("ignore:Code running in object mode")
def test_python_is_handed_the_row_of_an_array_and_not_the_whole() -> None:
    seen = []

    def shown(a: Any) -> float:
        total = 0.0
        for i in range(a.shape[0]):
            row = a[i]
            with numba.objmode(first="float64"):
                seen.append(row)
                first = float(row[0])
            total += first
        return total

    kernel, a = compiled(shown), np.arange(6.0).reshape(3, 2)
    assert kernel(a) == 6.0
    del a
    np.testing.assert_array_equal(seen, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def test_a_function_that_is_compiled_within_a_kernel_catches_its_exceptions() -> None:
    raised = numba.njit(lambda x: 1 // x)

    def caught(x: int) -> int:
        found = 0
        try:
            found = raised(x)
        except Exception:
            found = -1
        return found

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return context.compile_internal(builder, caught, signature, given)

    catch: Any = numba.extending.intrinsic(lambda context, x: (numba.int64(numba.int64), emit))
    assert compiled(lambda x: 10 * catch(x) + catch(x + 1))(0) == -9
