"""How kernels are compiled: Numba, cached on disk where a folder can be written."""

import contextlib
import functools
import hashlib
import pickle
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.core.codegen import Codegen
from numba.core.cpu import CPUContext
from numba.core.errors import TypingError
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from infex.kernels.borrowing import LENDING, uncounted
from infex.kernels.deferring import KernelCompiler
from infex.kernels.sharing import LinkedResults, share

Function = TypeVar("Function", bound=Callable[..., Any])
Values = Sequence[ir.Value]
Intrinsic = tuple[Signature, Callable[..., ir.Value]]  # a signature, and what writes the code

# Under NUMBA_DISABLE_JIT=1 kernels are plain Python.
plain_python: bool = numba.config.DISABLE_JIT  # type: ignore[attr-defined]


@functools.cache
def sources() -> str:
    """A digest of this room: a kernel may inline what stands in another file, but none outside of it."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files)).hexdigest()


class Cache(FunctionCache):
    """Numba's cache on disk, which by itself notices edits in the kernel's own file alone."""

    _impl_class = LinkedResults
    content = ""  # what more the code depends on

    def load_overload(self, signature: Signature, target_context: CPUContext) -> object:
        """The compiled code, if it is there; an unreadable index that an older infex left is emptied."""
        try:
            return super().load_overload(signature, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            self.flush()  # type: ignore[no-untyped-call]
            return None

    def _index_key(self, signature: Signature, codegen: Codegen) -> tuple[object, ...]:
        key = super()._index_key(signature, codegen)  # type: ignore[no-untyped-call]
        return (*key, sources(), self.content)


def compiled(function: Function) -> Function:
    """`function` as a kernel that needs no interpreter lock, compiled at its first call.

    No fast mathematics: sums are taken in the order they are written, so that the same seed gives
    the same numbers to the last bit, wherever arrays lie in memory and whatever the processor.
    (With it, LLVM takes another path through a loop when two small arrays lie close together.)

    A kernel is cached on disk where a folder can be written; elsewhere each process compiles.
    """
    return _kernel(function)


def inlined(function: Function) -> Function:
    """The same for a kernel that others call, written out in them: handing over arrays costs more.

    By LLVM and not by Numba, which would copy it and find out its types anew in each caller.
    """
    return _kernel(function, forceinline=True)


def shared(function: Function) -> Function:
    """The same for a kernel that many others call, at the one place where it stands: see `sharing`."""
    kernel = _kernel(function)
    if not plain_python:
        share(kernel)
    return kernel


def inner(function: Function) -> Function:
    """The same as `compiled` for a kernel that Python hardly ever calls, for whom it has no entrance."""
    return _without_entrance(function)


def woven(function: Function) -> Function:
    """The same as `inlined` for a kernel that Python hardly ever calls, for whom it has no entrance."""
    return _without_entrance(function, forceinline=True)


def lending(function: Function) -> Function:
    """The same as `woven` for a kernel that returns arrays it was given, with no reference counted.

    What holds them must live on.
    """
    LENDING.add(function)
    return woven(function)


def loosely(function: Function) -> Function:
    """The same as `woven` for sums in any order: for numbers that are held against others with room to spare.

    Nothing that is kept or decided may depend on how they are rounded.
    """
    return _without_entrance(function, forceinline=True, fastmath={"reassoc"})


def within(function: Function) -> Function:
    """The same as `shared` for a kernel that Python hardly ever calls, for whom it has no entrance."""
    kernel = _without_entrance(function)
    if not plain_python:
        share(kernel)
    return kernel


def _without_entrance(function: Function, **options: bool | set[str]) -> Function:
    """A kernel that other kernels call; for Python another one is compiled where it is called."""
    kernel: Any = _kernel(function, no_cpython_wrapper=True, **options)
    if not plain_python:
        entered: Any = _kernel(function)
        entered._cache.content = "entered"  # else Numba would take the one for the other
        kernel.add_overload = lambda found: kernel.overloads.update({tuple(found.signature.args): found})
        kernel._compile_for_args = lambda *_, **__: entered  # asked by Numba where it knows of no way in
    return kernel  # type: ignore[no-any-return]


def _kernel(function: Function, **options: bool | set[str]) -> Function:
    njit: Any = numba.njit  # whose stubs do not know all it takes
    settings = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, **options}
    kernel = njit(pipeline_class=KernelCompiler, **settings)(function)
    if not plain_python:
        _take_any_number(kernel)
        with contextlib.suppress(RuntimeError):  # Numba's word for: no folder can be written
            kernel._cache = Cache(function)  # type: ignore[no-untyped-call]
    return kernel  # type: ignore[no-any-return]


def _take_any_number(kernel: Any) -> None:
    """Has a kernel compiled once for all numbers of a type: Numba compiles it for each one in the text."""
    find = kernel.get_call_template
    kernel.get_call_template = lambda kinds, named: find(
        tuple(types.unliteral(kind) for kind in kinds),  # type: ignore[no-untyped-call]
        {name: types.unliteral(kind) for name, kind in named.items()},  # type: ignore[no-untyped-call]
    )


def _larger(typing_context: object, a: object, b: object) -> Intrinsic:
    """The larger of two numbers as one instruction: the only maximum that LLVM vectorises."""

    def emit(context: object, builder: ir.IRBuilder, signature: object, arguments: Values) -> ir.Value:
        double = ir.DoubleType()
        shape = ir.FunctionType(double, [double, double])
        larger = builder.module.declare_intrinsic("llvm.maxnum", [double], shape)
        return builder.call(larger, arguments, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), emit


larger: Any = max if plain_python else intrinsic(_larger)


def _ticks(typing_context: object) -> Intrinsic:
    """The processor's own clock, in units of its own; 0 where it has none that programs may read."""

    def emit(context: object, builder: ir.IRBuilder, signature: object, arguments: Values) -> ir.Value:
        shape = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=shape), [])

    return types.int64(), emit


ticks: Any = time.perf_counter_ns if plain_python else intrinsic(_ticks)


def _lend(typing_context: object, value: types.Type) -> Intrinsic:
    """An array, or a tuple with arrays, whose references nobody counts; what holds them must live on."""

    def emit(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Values) -> ir.Value:
        return uncounted(context, builder, signature.args[0], given[0])

    return value(value), emit


def _as_it_is(value: Any) -> Any:
    return value


lend: Any = _as_it_is if plain_python else intrinsic(_lend)


def _copy_into(typing_context: object, out: types.Array, source: types.Array) -> Intrinsic:
    """Copies an array into another of the same shape, which nobody checks.

    `out[:] = source` does, and a sentence about shapes that do not fit took more time to compile than most
    kernels.
    """
    if (out.dtype, out.ndim, out.layout) != (source.dtype, source.ndim, "C") or source.layout != "C":
        raise TypingError(f"{source} cannot be copied into {out}")

    def emit(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Values) -> ir.Value:
        kinds = zip(signature.args, given, strict=True)
        to, at = (context.make_array(kind)(context, builder, value) for kind, value in kinds)  # type: ignore[no-untyped-call]
        cgutils.raw_memcpy(builder, to.data, at.data, at.nitems, at.itemsize)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.none(out, source), emit


def _copy_plainly(out: Any, source: Any) -> None:
    out[:] = source


copy_into: Any = _copy_plainly if plain_python else intrinsic(_copy_into)
