"""How a compiled loop calls a user's kernel: at its native address."""

import functools
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from infex.kernels.compiling import plain_python
from infex.kernels.view import View, viewed


@functools.cache
def arguments() -> tuple[Any, ...]:
    """The types of a kernel's arguments."""
    matrix, vector = np.zeros((1, 1)), np.zeros(1)
    seen = viewed(matrix, vector, 1.0, matrix, vector, matrix, matrix)
    typeof: Any = numba.typeof
    return types.int64, typeof(seen), typeof(np.random.default_rng(0))


def _call(typing_context: Any, address: Any, t: Any, view: Any, rng: Any) -> Any:
    """Calls the kernel at `address`, by Numba's own convention; what it raises is raised here."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        convention, kinds = context.call_conv, signature.args[1:]
        shape = convention.get_function_type(types.int64, kinds)
        pointer = builder.inttoptr(given[0], shape.as_pointer())
        status, arm = convention.call_function(builder, pointer, types.int64, kinds, given[1:])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return arm

    return types.int64(types.intp, types.int64, view, rng), emit


def _call_plainly(function: Any, t: int, view: View, rng: Any) -> int:
    return int(function(t, view, rng))


call: Any = _call_plainly if plain_python else intrinsic(_call)
