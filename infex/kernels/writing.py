"""How instructions for LLVM are written with fewer of them: parts of values, calls of kernels."""

from typing import Any

from llvmlite import ir as llvm
from llvmlite.ir.instructions import ExtractValue, InsertValue
from numba.core.callconv import (
    RETCODE_EXC,
    RETCODE_NONE,
    RETCODE_OK,
    RETCODE_STOPIT,
    RETCODE_USEREXC,
    CPUCallConv,
    excinfo_t,
)
from numba.core.cpu import CPUContext

from infex.kernels.hastening import Path


def part_of(value: Any, path: Path) -> tuple[Any, Path]:
    """What was put at `path` of a value, and (); else a value, and where in it that stands."""
    while path:
        if isinstance(value, InsertValue):
            at = tuple(value.indices)
            if at == path[: len(at)]:
                value, path = value.value, path[len(at) :]
            elif at[: len(path)] == path:
                break  # a part of it was put there
            else:
                value = value.aggregate
        elif isinstance(value, ExtractValue):
            value, path = value.aggregate, (*value.indices, *path)
        else:
            break
    return value, path


class LeanBuilder(llvm.IRBuilder):  # type: ignore[misc]
    """Writes instructions, but none to take out a part that was put in before."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """A part of a value."""
        value, path = part_of(agg, tuple(idx) if isinstance(idx, tuple | list) else (idx,))
        return super().extract_value(value, path, name=name) if path else value


class LeanStatus:
    """How a call ended, as Numba's `Status`: what is asked for is written where it is asked for."""

    def __init__(self, builder: Any, code: Any, fault: Any) -> None:
        self.builder = builder
        self.code = code
        self.fault = fault

    def _is(self, sign: str, code: Any) -> Any:
        return self.builder.icmp_signed(sign, self.code, code)

    is_none = property(lambda self: self._is("==", RETCODE_NONE))
    is_ok = property(lambda self: self.builder.or_(self._is("==", RETCODE_OK), self.is_none))
    is_error = property(lambda self: self.builder.not_(self.is_ok))
    is_python_exc = property(lambda self: self._is("==", RETCODE_EXC))
    is_stop_iteration = property(lambda self: self._is("==", RETCODE_STOPIT))
    is_user_exc = property(lambda self: self._is(">=", RETCODE_USEREXC))
    excinfoptr = property(lambda self: self.builder.load(self.fault))


class LeanCalls(CPUCallConv):
    """Numba's convention of calls, for functions without `try`: an exception leaves them at once."""

    def call_function(
        self, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None
    ) -> tuple[LeanStatus, Any]:
        """How a call ended, and what it gave."""
        kind = self.get_return_type(resty).pointee  # type: ignore[no-untyped-call]
        given = self._get_arg_packer(argtys).as_arguments(builder, args)  # type: ignore[no-untyped-call]
        with builder.goto_entry_block():
            result, fault = builder.alloca(kind), builder.alloca(llvm.PointerType(excinfo_t))
        for place in (result, fault):  # a callee with `try` takes what it finds in `fault` for an exception
            builder.store(place.type.pointee(None), place)
        code = builder.call(callee, [result, fault, *given], attrs=tuple(attrs or ()))
        found = self.context.get_returned_value(builder, resty, builder.load(result))
        return LeanStatus(builder, code, fault), found

    def check_try_status(self, builder: Any) -> None:
        """There is nothing to be checked."""

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Leaves the function with what the one that it called has raised."""
        builder.store(status.excinfoptr, self._get_excinfo_argument(builder.function))  # type: ignore[no-untyped-call]
        self._return_errcode_raw(builder, status.code)  # type: ignore[no-untyped-call]


class LeanContext(CPUContext):
    """What writes the parts of a function without `try`."""

    @property
    def call_conv(self) -> CPUCallConv:
        """How functions are called."""
        return LeanCalls(self)  # type: ignore[no-untyped-call]

    def subtarget(self, **options: Any) -> Any:
        """What writes another function that is compiled on the way: it may have a `try`."""
        other = super().subtarget(**options)  # type: ignore[no-untyped-call]
        other.__class__ = CPUContext
        return other
