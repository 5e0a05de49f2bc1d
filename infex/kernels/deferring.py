"""Machine code made where it is asked for, and not of every piece that Numba compiles.

Numba makes machine code of each kernel, and of each small function of its own that a kernel calls, though
most of them are only ever written out in other kernels. Here a piece waits until somebody asks where it
stands in memory: others take over its code as it is before LLVM's full optimisation, which then runs once, on
what is entered. A third of the time of the first compilation went into what nobody called.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from llvmlite.binding import create_new_function_pass_manager
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering

from infex.kernels.hastening import hastened

ENVIRONMENT = "_ZN08NumbaEnv"  # how the symbol of a function's environment begins
ENTRANCE = "_ZN7cpython"  # and that of a function that Python calls
LONG_ENTRANCE = 150  # blocks: that of an `ask` has some 40


def passes_for_entrances() -> Any:
    """Takes variables out of memory and drops what nobody reaches: all that an entrance needs."""
    passes = create_new_function_pass_manager()
    passes.add_simplify_cfg_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def is_entrance(function: Any) -> bool:
    """Is it what Python calls, which takes numbers and arrays out of Python's objects?"""
    return bool(function.name.startswith(ENTRANCE) and not function.is_declaration)


def _leave_entrances(module: Any) -> None:
    """Has LLVM leave long entrances as they are: those of whole runs, of whose time they take no part."""
    for function in filter(is_entrance, module.functions):
        if len(list(function.blocks)) > LONG_ENTRANCE:
            function.add_function_attribute("optnone")
            function.add_function_attribute("noinline")  # without which LLVM refuses the other


class DeferredLibrary(JITCodeLibrary):
    """Compiled code that becomes machine code when its address is asked for."""

    _codegen: Any
    waits = False  # is it compiled, and not yet machine code?

    @property
    def codegen(self) -> Any:
        """What sets environments: they have a place as soon as there is machine code."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Tells a function where its environment is."""
        if not self.waits:
            self._codegen.set_env(name, environment)

    def _optimize_functions(self, module: Any) -> None:
        """Makes functions short; what is costly is done once, at the end."""
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder(opt=1)
        passes, for_entrances = builder.getFunctionPassManager(), passes_for_entrances()
        for function in module.functions:
            if is_entrance(function):
                for_entrances.run(function, builder)
            elif not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Writes out what is called, so that what needs no counting of references is found in time.

        Loops are left as they are: turned over so early, most of them could not be vectorised later.
        """
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=0)
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self.waits = self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Where the function stands in memory; 0 if there is none of this name."""
        with global_compiler_lock:
            self._ensure_finalized()  # type: ignore[no-untyped-call]
            if self.waits and self._defines(name):
                self._generate()
        return 0 if self.waits else super().get_pointer_to_function(name)  # type: ignore[no-untyped-call]

    def _defines(self, name: str) -> bool:
        try:
            return not self._final_module.get_function(name).is_declaration
        except NameError:
            return False

    def _generate(self) -> None:
        self.waits = False
        if self._get_module_for_linking() is self._final_module:  # type: ignore[no-untyped-call]
            self._final_module = self._final_module.clone()
        _leave_entrances(self._final_module)
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._final_module.verify()
        super()._finalize_final_module()  # type: ignore[no-untyped-call]
        for variable in self._final_module.global_variables:
            name = variable.name
            if name.startswith(ENVIRONMENT) and (environment := lookup_environment(name)) is not None:  # type: ignore[no-untyped-call]
                self._codegen.set_env(name, environment)

    def serialize_using_object_code(self) -> Any:
        """The code for the disk: machine code, if there is any."""
        form: Any = self.serialize_using_bitcode if self.waits else super().serialize_using_object_code
        return form()


@contextlib.contextmanager
def libraries(codegen: Any, kind: type[JITCodeLibrary]) -> Iterator[None]:
    """Code that is compiled or loaded meanwhile is of this kind; whoever does so holds Numba's lock."""
    before = codegen._library_class
    codegen._library_class = kind
    try:
        yield
    finally:
        codegen._library_class = before


def loading(codegen: Any, form: str) -> contextlib.AbstractContextManager[None]:
    """Code from the disk waits if it is no machine code yet."""
    return libraries(codegen, DeferredLibrary if form == "bitcode" else JITCodeLibrary)


def lowering() -> Any:
    """What writes a kernel out for LLVM; Numba's own, where an inner part of it is missing."""
    try:
        from infex.kernels.lowering import LeanLowering
    except (ImportError, AttributeError):
        return NativeLowering
    return LeanLowering


class KernelCompiler(Compiler):
    """Numba's compiler, whose code waits."""

    def define_pipelines(self) -> list[Any]:
        """The passes over a kernel: Numba's, but for the last."""
        pipelines: list[Any] = super().define_pipelines()  # type: ignore[no-untyped-call]
        for each in pipelines:
            each.passes = [
                (lowering() if name is NativeLowering else name, what) for name, what in each.passes
            ]
            each.finalize()
        return pipelines

    def compile_extra(self, function: object) -> CompileResult:
        """The compiled function."""
        with hastened(), libraries(self.state.targetctx.codegen(), DeferredLibrary):
            return super().compile_extra(function)  # type: ignore[no-any-return, no-untyped-call]
