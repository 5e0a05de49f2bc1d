"""How kernels are compiled: Numba, cached on disk where a folder can be written."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function` as a kernel that needs no interpreter lock, compiled at its first call.

    No fast mathematics: sums are taken in the order they are written, so that the same seed gives
    the same numbers to the last bit, wherever arrays lie in memory and whatever the processor.
    (With it, LLVM takes another path through a loop when two small arrays lie close together.)

    Numba raises at import where no cache can be written; such a place compiles in each process.
    """
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True}
    try:
        kernel = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        kernel = numba.njit(**options)(function)
    return kernel  # type: ignore[no-any-return]


def _larger(typing_context: Any, a: Any, b: Any) -> Any:
    """The larger of two numbers as one instruction: the only maximum that LLVM vectorises."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        shape = ir.FunctionType(double, [double, double])
        larger = builder.module.declare_intrinsic("llvm.maxnum", [double], shape)
        return builder.call(larger, arguments, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), emit


# Under NUMBA_DISABLE_JIT=1 kernels are plain Python, where an intrinsic cannot be called.
plain_python: bool = numba.config.DISABLE_JIT  # type: ignore[attr-defined]
larger: Any = max if plain_python else intrinsic(_larger)
