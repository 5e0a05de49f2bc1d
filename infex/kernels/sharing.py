"""Kernels that stand once in memory, and that others call there by a symbol.

Numba writes the code of a kernel into every kernel that calls it, and LLVM works on it anew in each of
them. A shared kernel is compiled by itself alone; code that calls it is linked to it when it is loaded, as
to a function of a library. So that is for what is long, or stands in many loops.
"""

import copy
import hashlib
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext

from infex.kernels.deferring import loading


class SharedCode(NamedTuple):
    """A shared kernel, by its name, for arguments of some types."""

    kernel: str
    kinds: tuple[Any, ...]

    @property
    def symbol(self) -> str:
        """What stands for it in code that calls it, the same in any process."""
        return f"{self.kernel}.{hashlib.blake2b(repr(self.kinds).encode(), digest_size=8).hexdigest()}"


SHARED_KERNELS: dict[str, Any] = {}
PUBLISHED: set[SharedCode] = set()  # what is in memory


def share(kernel: Any) -> None:
    """Has all that is compiled from now on call the kernel, where it would have taken over its code."""
    name = f"{kernel.__module__}.{kernel.__qualname__}"
    SHARED_KERNELS[name] = kernel
    add = kernel.add_overload

    def added(result: Any) -> None:
        add(result)
        _publish(SharedCode(name, tuple(result.signature.args)), result)

    kernel.add_overload = added  # which Numba calls with what it has compiled, or read from the disk


def _publish(code: SharedCode, result: Any) -> None:
    context, known = result.target_context, copy.copy(result.fndesc)
    binding.add_symbol(code.symbol, result.library.get_pointer_to_function(known.llvm_func_name))
    known.mangled_name = code.symbol
    del context._defns[result.entry_point]
    context.insert_user_function(result.entry_point, known)
    PUBLISHED.add(code)


class LinkedResults(CompileResultCacheImpl):
    """Compiled code on the disk, with the shared kernels that it calls: it cannot be loaded without them."""

    def reduce(self, result: Any) -> tuple[Any, ...]:
        """The code as it is written, and what it calls."""
        payload = super().reduce(result._replace(type_annotation=""))  # type: ignore[no-untyped-call]
        functions = {each.name for each in result.library._final_module.functions}
        return [code for code in PUBLISHED if code.symbol in functions], payload

    def rebuild(self, target_context: CPUContext, payload: tuple[Any, ...]) -> CompileResult:
        """The code in memory."""
        called, whole = payload
        for name, kinds in called:
            SHARED_KERNELS[name].compile(kinds)
        with loading(target_context.codegen(), form=whole[0][1]):  # type: ignore[no-untyped-call]
            return super().rebuild(target_context, whole)  # type: ignore[no-any-return, no-untyped-call]
