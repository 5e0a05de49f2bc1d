"""How a compiled loop calls a kernel that is chosen at run time: at its native address.

There are three kinds: a chooser gives the arm of a round, a learner takes a reward into a policy's own
state, and a fitter takes one into an estimator. A loop that calls them stays the same, and cached,
whatever they are; and each is compiled only where it is used.
"""

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

from infex.arrays import Floats, shown
from infex.errors import InvalidSetting
from infex.kernels.borrowing import uncounted
from infex.kernels.compiling import Intrinsic, Values, compiled, plain_python
from infex.kernels.view import View, viewed

Chooser = Callable[[int, View, np.random.Generator], int]
LearnKernel = Callable[[Floats, Floats, Floats, int, Floats, float, bool], None]
Fitter = Callable[[Floats, float, float, float, Floats, Floats, Floats], float]
Emitter = Callable[[CPUContext, ir.IRBuilder, Signature, Values], ir.Value]

ANSWER: Any = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
FITTED: Any = types.Tuple((types.float64, types.int64))  # type: ignore[no-untyped-call]


@functools.cache
def arguments(built_in: bool = False) -> tuple[Any, ...]:
    """The types of a chooser's arguments: those of a user's are such that they cannot be written to.

    A compiled loop hands over arrays that it writes to itself; in memory they are the same.
    """
    matrix, vector, truth = np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1, 1))
    if not built_in:
        matrix, vector, truth = shown(matrix), shown(vector), shown(truth)
    seen = viewed(matrix, vector, 1.0, matrix, vector, matrix, matrix, matrix, vector, truth)
    typeof: Any = numba.typeof
    return types.int64, typeof(seen), typeof(np.random.default_rng(0))


@functools.cache
def learner_arguments() -> tuple[Any, ...]:
    """The types of a learner's: its state, settings, the arms, the arm, its features, reward, explored."""
    typeof: Any = numba.typeof
    vector, matrix, state = shown(np.zeros(1)), shown(np.zeros((1, 1))), np.zeros(1)
    given = typeof(state), typeof(vector), typeof(matrix)
    return *given, types.int64, typeof(vector), types.float64, types.boolean


@functools.cache
def fitter_arguments(built_in: bool = False) -> tuple[Any, ...]:
    """The types of a fitter's: x, reward, weight, penalty, settings, memory, what is solved."""
    typeof: Any = numba.typeof
    vector = typeof(np.zeros(1) if built_in else shown(np.zeros(1)))
    numbers = types.float64, types.float64, types.float64
    return vector, *numbers, vector, typeof(np.zeros(1)), typeof(np.zeros((1, 1)))


def address_of(kernel: Any, kinds: tuple[Any, ...]) -> Any:
    """Where a kernel for arguments of these types stands in memory; good as long as the kernel lives."""
    return kernel if plain_python else _pointer(compiled_for(kernel, kinds))


def _pointer(code: Any) -> int:
    return code.library.get_pointer_to_function(code.fndesc.llvm_func_name)  # type: ignore[no-any-return]


def compiled_for(kernel: Any, kinds: tuple[Any, ...]) -> Any:
    """What Numba knows of a kernel once it is compiled for arguments of these types."""
    kernel.compile(kinds)
    return kernel.overloads[kinds]


def result_of(kernel: Any, kinds: tuple[Any, ...]) -> Any:
    """The type of what a kernel returns."""
    return types.unliteral(compiled_for(kernel, kinds).signature.return_type)  # type: ignore[no-untyped-call]


def users_address(named: str, kernel: Any, kinds: tuple[Any, ...], result: object, wanted: str) -> Any:
    """Where a user's kernel stands in memory, if it can be compiled and returns what is wanted."""
    if plain_python:
        return kernel
    try:
        given = result_of(kernel, kinds)
    except Exception as error:  # Numba raises more kinds than its own
        hint = " (what a kernel is given can be read alone)" if "readonly array" in str(error) else ""
        raise InvalidSetting(f"{named} cannot be compiled{hint}: {error}") from error
    if given != result:
        raise InvalidSetting(f"{named} must return {wanted}; it returns {given}")
    return address_of(kernel, kinds)


def _calling(result: Any) -> Emitter:
    """The code of a call by Numba's own convention: what the kernel gives and 0, or -1 and a fault.

    An exception that passes through a compiled function leaves it at once, and all arrays that the
    function holds are never given back. So what the kernel raised becomes a number, the address of
    Numba's description of it, with which the loop ends like any other; `throw` then raises it.
    """

    def emit(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Values) -> ir.Value:
        convention, kinds = context.call_conv, signature.args[1:]
        shape = convention.get_function_type(result, kinds)
        pointer = builder.inttoptr(given[0], shape.as_pointer())
        values = [uncounted(context, builder, *each) for each in zip(kinds, given[1:], strict=True)]
        status, answer = convention.call_function(builder, pointer, result, kinds, values)
        raised, word = status.is_user_exc, ir.IntType(64)
        with builder.if_then(builder.and_(status.is_error, builder.not_(raised)), likely=False):
            convention.return_status_propagate(builder, status)  # Python knows of it already
        fault = builder.select(raised, builder.ptrtoint(status.excinfoptr, word), word(0))
        if result is types.none:
            return fault
        given = builder.select(raised, answer.type(-1), answer), fault
        return context.make_tuple(builder, signature.return_type, given)  # type: ignore[no-untyped-call]

    return emit


def _call(
    typing_context: object, address: types.Type, t: types.Type, view: types.NamedTuple, rng: types.Type
) -> Intrinsic:
    """Calls the chooser at `address`."""
    return ANSWER(types.intp, types.int64, view, rng), _calling(types.int64)


def _call_learner(
    typing_context: object, address: types.Type, state: types.Type, settings: types.Type, arms: types.Type,
    arm: types.Type, x: types.Type, reward: types.Type, explored: types.Type,
) -> Intrinsic:  # fmt: skip
    """Calls the learner at `address`."""
    given = state, settings, arms, types.int64, x, types.float64, types.boolean
    return types.int64(types.intp, *given), _calling(types.none)


def _call_fitter(
    typing_context: object, address: types.Type, x: types.Type, reward: types.Type, weight: types.Type,
    penalty: types.Type, settings: types.Type, memory: types.Type, solved: types.Type,
) -> Intrinsic:  # fmt: skip
    """Calls the fitter at `address`."""
    numbers = types.float64, types.float64, types.float64
    return FITTED(types.intp, x, *numbers, settings, memory, solved), _calling(types.float64)


READ_ALONE = ("arms", "settings", "board", "run", "solved", "vectors", "counts", "truth")


def _call_plainly(function: Chooser, t: int, view: View, rng: np.random.Generator) -> tuple[int, int]:
    state = {name: shown(part) for name, part in view._asdict().items() if name in READ_ALONE}
    return int(function(t, view._replace(**state), rng)), 0


def _call_learner_plainly(
    function: LearnKernel, state: Floats, settings: Floats, arms: Floats, arm: int, x: Floats, reward: float,
    explored: bool,
) -> int:  # fmt: skip
    function(state, shown(settings), shown(arms), arm, shown(x), reward, explored)
    return 0


def _call_fitter_plainly(
    function: Fitter, x: Floats, reward: float, weight: float, penalty: float, settings: Floats,
    memory: Floats, solved: Floats,
) -> tuple[float, int]:  # fmt: skip
    return function(shown(x), reward, weight, penalty, shown(settings), memory, solved), 0


call: Any = _call_plainly if plain_python else intrinsic(_call)
call_learner: Any = _call_learner_plainly if plain_python else intrinsic(_call_learner)
call_fitter: Any = _call_fitter_plainly if plain_python else intrinsic(_call_fitter)

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
        with builder.if_then(ir.IntType(1)(1)):  # else what follows would stand after the end
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.none(types.int64), emit


leave: Any = intrinsic(_leave)


@compiled
def throw(fault: int) -> None:
    """Raises what a kernel raised; once, as its description is then given back."""
    leave(fault)
