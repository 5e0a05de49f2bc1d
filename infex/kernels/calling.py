"""How a compiled loop calls a user's kernel: at its native address."""

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.callconv import RETCODE_USEREXC, excinfo_ptr_t
from numba.core.cpu import CPUContext
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from infex.arrays import shown
from infex.kernels.compiling import Intrinsic, Values, compiled, plain_python
from infex.kernels.view import View, viewed

Chooser = Callable[[int, View, np.random.Generator], int]  # a user's kernel
ANSWER: Any = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]


@functools.cache
def arguments() -> tuple[Any, ...]:
    """The types of a kernel's arguments: the state is such that it cannot be written to.

    A compiled loop hands over arrays that it writes to itself; in memory they are the same.
    """
    matrix, vector = shown(np.zeros((1, 1))), shown(np.zeros(1))
    seen = viewed(matrix, vector, 1.0, matrix, vector, matrix, matrix)
    typeof: Any = numba.typeof
    return types.int64, typeof(seen), typeof(np.random.default_rng(0))


def _call(
    typing_context: object, address: types.Type, t: types.Type, view: types.NamedTuple, rng: types.Type
) -> Intrinsic:
    """Calls the kernel at `address`, by Numba's own convention: its arm and 0, or -1 and a fault.

    An exception that passes through a compiled function leaves it at once, and all arrays that the
    function holds are never given back. So what the kernel raised becomes a number, the address of
    Numba's description of it, with which the loop ends like any other; `throw` then raises it.
    """

    def emit(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Values) -> ir.Value:
        convention, kinds = context.call_conv, signature.args[1:]
        shape = convention.get_function_type(types.int64, kinds)
        pointer = builder.inttoptr(given[0], shape.as_pointer())
        values = given[1], _lent(context, builder, view, given[2]), given[3]
        status, arm = convention.call_function(builder, pointer, types.int64, kinds, values)
        raised = status.is_user_exc
        with builder.if_then(builder.and_(status.is_error, builder.not_(raised)), likely=False):
            convention.return_status_propagate(builder, status)  # Python knows of it already
        fault = builder.ptrtoint(status.excinfoptr, arm.type)
        chosen = builder.select(raised, arm.type(-1), arm), builder.select(raised, fault, arm.type(0))
        return context.make_tuple(builder, signature.return_type, chosen)  # type: ignore[no-untyped-call]

    return ANSWER(types.intp, types.int64, view, rng), emit


def _lent(context: CPUContext, builder: ir.IRBuilder, kind: types.NamedTuple, view: ir.Value) -> ir.Value:
    """The view with arrays whose references nobody counts: a kernel that raises would keep some for ever."""
    for place, part in enumerate(kind.types):
        if isinstance(part, types.Array):
            make = context.make_array(part)  # type: ignore[no-untyped-call]
            array = make(context, builder, builder.extract_value(view, place))
            array.meminfo = array.meminfo.type(None)
            view = builder.insert_value(view, array._getvalue(), place)
    return view


READ_ALONE = ("arms", "settings", "board", "run", "solved", "vectors")


def _call_plainly(function: Chooser, t: int, view: View, rng: np.random.Generator) -> tuple[int, int]:
    state = {name: shown(part) for name, part in view._asdict().items() if name in READ_ALONE}
    return int(function(t, view._replace(**state), rng)), 0


call: Any = _call_plainly if plain_python else intrinsic(_call)

Rewarder = Callable[[float, np.random.Generator], float]  # a user's law of rewards
GAIN: Any = types.Tuple((types.float64, types.int64))  # type: ignore[no-untyped-call]


@functools.cache
def law_arguments() -> tuple[Any, ...]:
    """The types of the arguments of a kernel that draws rewards."""
    typeof: Any = numba.typeof
    return types.float64, typeof(np.random.default_rng(0))


def _call_law(typing_context: object, address: types.Type, mean: types.Type, rng: types.Type) -> Intrinsic:
    """Calls a law's kernel as `_call` does a policy's: its reward and 0, or 0.0 and a fault."""

    def emit(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Values) -> ir.Value:
        convention, kinds = context.call_conv, signature.args[1:]
        shape = convention.get_function_type(types.float64, kinds)
        pointer = builder.inttoptr(given[0], shape.as_pointer())
        status, gain = convention.call_function(builder, pointer, types.float64, kinds, given[1:])
        raised = status.is_user_exc
        with builder.if_then(builder.and_(status.is_error, builder.not_(raised)), likely=False):
            convention.return_status_propagate(builder, status)
        number = ir.IntType(64)
        fault = builder.select(raised, builder.ptrtoint(status.excinfoptr, number), number(0))
        found = builder.select(raised, gain.type(0.0), gain), fault
        return context.make_tuple(builder, signature.return_type, found)  # type: ignore[no-untyped-call]

    return GAIN(types.intp, types.float64, rng), emit


def _call_law_plainly(function: Rewarder, mean: float, rng: np.random.Generator) -> tuple[float, int]:
    return float(function(mean, rng)), 0


call_law: Any = _call_law_plainly if plain_python else intrinsic(_call_law)


def _leave(typing_context: object, fault: object) -> Intrinsic:
    """Leaves the compiled function with what a kernel raised."""

    def emit(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Values) -> ir.Value:
        convention = context.call_conv
        found = builder.inttoptr(given[0], excinfo_ptr_t)
        status = convention._get_return_status(builder, RETCODE_USEREXC, found)
        convention.return_status_propagate(builder, status)
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.none(types.int64), emit


leave: Any = intrinsic(_leave)


@compiled
def throw(fault: int) -> None:
    """Raises what a kernel raised; once, as its description is then given back."""
    leave(fault)
