"""What Numba does over and over while it compiles, done once: the first compilation takes less time.

Numba is changed only while a kernel is compiled, by whoever holds its lock; what it compiles is the same.
These are inner parts of it, so that all stays as it is where one of them is missing.
"""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite.binding import ffi
from numba.core import base, ir, targetconfig, types
from numba.core.datamodel.models import StructModel, UniTupleModel
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.runtime.context import NRTContext
from numba.core.transforms import canonicalize_cfg

# What Numba's own functions are compiled without, whoever calls them.
OF_THE_CALLER = {"no_cpython_wrapper", "no_cfunc_wrapper", "release_gil"}
OBJECTS = 50_000  # made before Python looks for cycles among them: Numba makes millions that stay

Path = tuple[int, ...]  # where a part of a value stands, from the whole down
Change = tuple[Any, str, Any]  # an owner, the name of one of its parts, and what takes its place


def equal_options(ours: Any, other: Any) -> Any:
    """Are two sets of options the same? Numba writes out all of them; here it is those that were set."""
    if type(other) is not type(ours):
        return NotImplemented
    mine, theirs = ours._values, other._values
    defaults = {name: ours.options[name].default for name in mine.keys() | theirs.keys()}
    return defaults | mine == defaults | theirs


def hash_of_options(options: Any) -> int:
    """The hash that Numba gives to a set of options: by their names, and so the same for all of a kind."""
    return _hash_of_names(tuple(options.options))


@functools.cache
def _hash_of_names(names: tuple[str, ...]) -> int:
    return hash(tuple(sorted(names)))


def options_handed_on() -> Any:
    """The options of the kernel that is being compiled, without those that are its own."""
    options = targetconfig.ConfigStack.top_or_none()  # type: ignore[no-untyped-call]
    if options is not None:
        options = options.copy()
        for name in OF_THE_CALLER & options.options.keys():
            options.discard(name)
    return options


class Signatures:
    """The signatures of Numba's own functions for arguments of some types, as Numba found them.

    It tries dozens of definitions of `+` or of `[]` at each place where one of these stands, and compiles a
    function anew for each set of options that a caller may have.
    """

    def __init__(self, find: Callable[..., Any]) -> None:
        self.find = find
        self.known: dict[Any, tuple[Any, Any, Any]] = {}

    def of(self, function: Any, context: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The signature; the function then knows what implements it."""
        implementations = vars(function).get("_impl_keys")
        if named or implementations is None:
            return self.find(function, context, args, named)
        key = id(function), context, tuple(args), options_handed_on()
        if key not in self.known:
            signature = self.find(function, context, args, named)
            found = signature, implementations[signature.args]
            self.known[key] = *found, function  # which is held, so that no other has its id
        signature, implementation, _ = self.known[key]
        implementations[signature.args] = implementation
        return signature


@functools.cache
def counted_parts(models: Any, kind: Any) -> tuple[tuple[Any, Path], ...] | None:
    """The parts of values of a type to which references are counted: their types, and where they stand.

    None if they stand at no fixed place.
    """
    model = models[kind]
    found: list[tuple[Any, Path]] = [(kind, ())] if model.has_nrt_meminfo() else []
    members = model.traverse(None)
    if members and type(model).traverse not in (StructModel.traverse, UniTupleModel.traverse):
        return None
    for place, (member, _) in enumerate(members):
        parts = counted_parts(models, member)
        if parts is None:
            return None
        found += [(each, (place, *path)) for each, path in parts]
    return tuple(found)


def counted_references(count: Any, builder: Any, kind: Any, value: Any) -> Any:
    """What counts references to the parts of a value; Numba takes out all of its parts to find it."""
    models = count._context.data_model_manager
    parts = counted_parts(models, kind)
    if parts is None:
        return all_references(count, builder, kind, value)
    taken = [(each, builder.extract_value(value, path) if path else value) for each, path in parts]
    return [(each, models[each].get_nrt_meminfo(builder, part)) for each, part in taken]


all_references: Any = NRTContext.get_meminfos


def process(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What Numba does with a function between its passes: where variables live is found out if somebody asks.

    The last time, when it says where they end, and in generators it does all of it.
    """
    function = processor.func_ir
    if emit_dels or function.is_generator:
        process_all(processor, emit_dels, extend_lifetimes)
    else:
        function.blocks = canonicalize_cfg(function.blocks)  # type: ignore[no-untyped-call]
        function.variable_lifetime = VariableLifetime(function.blocks)  # type: ignore[no-untyped-call]
        function.generator_info = None


process_all: Any = PostProcessor.run


class Kinds(dict[type, int]):
    """What may hold variables of Numba's, by its type; 0 what cannot."""

    VARIABLE, INSTRUCTION, SEQUENCE, MAPPING = range(1, 5)
    KNOWN: Any = (ir.Var, ir.Inst, list | tuple, dict)

    def __missing__(self, kind: type) -> int:
        fits = (number for number, known in enumerate(self.KNOWN, 1) if issubclass(kind, known))
        self[kind] = next(fits, 0)
        return self[kind]


KINDS_OF_PARTS = Kinds()


def variables_in(instruction: object, value: Any) -> list[Any]:
    """The variables that stand in a part of an instruction; Numba tries five types on each part of it."""
    found: list[Any] = []
    gather(value, found)
    return found


def gather(value: Any, found: list[Any]) -> None:
    """Adds the variables in a value to those that were found, in their order."""
    kind = KINDS_OF_PARTS[type(value)]
    if kind == Kinds.VARIABLE:
        found.append(value)
    elif kind == Kinds.INSTRUCTION:
        found += value.list_vars()
    elif kind:
        for part in value if kind == Kinds.SEQUENCE else value.values():
            if KINDS_OF_PARTS[type(part)]:
                gather(part, found)


@functools.cache
def changes() -> tuple[Change, ...]:
    """What is changed in Numba; nothing if a part of it is missing."""
    try:
        options: Any = targetconfig.TargetConfig
        inner: Any = base
        functions: Any = types.BaseFunction
        instructions: Any = ir.Inst
        signatures = Signatures(functions.get_call_type)
        options._values, targetconfig.ConfigStack.top_or_none  # noqa: B018 (are they there?)
        instructions._rec_list_vars  # noqa: B018
        return (
            (options, "__eq__", equal_options),
            (options, "__hash__", hash_of_options),
            (NRTContext, "get_meminfos", counted_references),
            (PostProcessor, "run", process),
            (instructions, "_rec_list_vars", variables_in),
            (base, "_has_loc", functools.cache(inner._has_loc)),
            (functions, "get_call_type", lambda *given: signatures.of(*given)),
            (ffi.lib._lock, "_cblist", type(ffi.lib._lock._cblist)()),  # nobody times each call of LLVM
        )
    except AttributeError:
        return ()


@contextlib.contextmanager
def hastened() -> Iterator[None]:
    """Meanwhile Numba compiles in less time; within another one nothing more is to be done."""
    with contextlib.ExitStack() as stack:
        for owner, name, part in changes():
            before = getattr(owner, name)
            if before is not part:
                stack.callback(setattr, owner, name, before)
                setattr(owner, name, part)
        threshold = gc.get_threshold()
        if 0 < threshold[0] < OBJECTS:
            stack.callback(gc.set_threshold, *threshold)
            gc.set_threshold(OBJECTS, *threshold[1:])
        yield
