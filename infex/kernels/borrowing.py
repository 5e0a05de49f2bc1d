"""Which kernels only borrow the arrays that they are given: nobody has to count references in them.

A kernel is given arrays that its caller holds until it returns. If it makes none itself and returns none,
whatever it takes from them lives as long as they do.
"""

import functools
from typing import Any

from llvmlite import ir as llvm
from numba.core import ir, types
from numba.core.errors import TypingError
from numba.core.extending import _Intrinsic

from infex.kernels.hastening import counted_parts

# Statements that leave references alone.
HARMLESS = (ir.Branch, ir.Jump, ir.Return, ir.Del, ir.StaticRaise, ir.PopBlock)
TAKING = "getattr", "exhaust_iter", "getitem", "static_getitem"  # operations that take out a part
INDICES = types.Integer, types.SliceType


LENDING: set[Any] = set()  # functions whose kernels return what they have borrowed, with no reference counted


def counts(context: Any, kind: Any) -> bool:
    """Are references to values of a type counted?"""
    return counted_parts(context.data_model_manager, kind) != ()


def borrows(lower: Any) -> bool:
    """Does a kernel hold nothing but what it is given?"""
    count = functools.partial(counts, lower.context)
    statements = (each for block in lower.func_ir.blocks.values() for each in block.body)
    borrowed = lower.generator_info is None and all(
        _borrows(each, lower.typeof, count) for each in statements
    )
    if lower.lends and not borrowed:
        raise TypingError(f"{lower.func_ir.func_id.func_name} cannot lend what it holds itself")
    return borrowed and (lower.lends or not count(lower.fndesc.restype))


def uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A value, with no reference to its parts counted."""
    for part, path in counted_parts(context.data_model_manager, kind) or ():
        nothing = llvm.Constant(context.get_value_type(part), None)
        value = builder.insert_value(value, nothing, path) if path else nothing
    return value


def _borrows(statement: Any, typeof: Any, count: Any) -> bool:
    if isinstance(statement, ir.Assign):
        value = statement.value
        if isinstance(value, ir.Expr):
            return _hands_on(value, typeof(statement.target.name), typeof, count)
        return isinstance(value, ir.Arg | ir.Var) or not count(typeof(statement.target.name))
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):
        return isinstance(typeof(statement.target.name), types.Array) and not count(
            typeof(statement.value.name)
        )
    if isinstance(statement, ir.DynamicRaise):
        return not any(
            isinstance(each, ir.Var) and count(typeof(each.name)) for each in statement.exc_args or ()
        )
    return isinstance(statement, HARMLESS)


def _hands_on(value: Any, result: Any, typeof: Any, count: Any) -> bool:
    """Is the result of an expression a part of what it is made of, or nothing that is counted?"""
    if value.op == "call":
        return _call_hands_on(value, result, typeof, count)
    if value.op in ("build_tuple", "cast"):
        return True
    if value.op in TAKING and isinstance(typeof(value.value.name), types.BaseTuple):
        return True
    if value.op == "getattr":
        return not count(result) or isinstance(result, types.BoundFunction)
    if value.op in ("getitem", "static_getitem") and isinstance(typeof(value.value.name), types.Array):
        return _is_plain_index(value, typeof)
    return not count(result) and not any(count(typeof(each.name)) for each in value.list_vars())


def _is_plain_index(value: Any, typeof: Any) -> bool:
    index = value.index if value.op == "getitem" else value.index_var
    if index is None:
        return False
    kind: Any = typeof(index.name)
    kinds = kind.types if isinstance(kind, types.BaseTuple) else (kind,)  # type: ignore[attr-defined]
    return all(isinstance(each, INDICES) for each in kinds)


def named_by(function: Any) -> Any:
    """What a function is in Python, if Numba has its own for it."""
    return function.typing_key if isinstance(function, types.Function) else None


def _call_hands_on(value: Any, result: Any, typeof: Any, count: Any) -> bool:
    function = typeof(value.func.name)
    if isinstance(function, types.NamedTupleClass):
        return True
    key = named_by(function)
    if isinstance(key, _Intrinsic) and key._defn.__module__.startswith("infex.kernels."):
        return True
    if count(result):
        return isinstance(function, types.Dispatcher) and function.dispatcher.py_func in LENDING
    if type(function) is types.Dispatcher or key is len:  # `objmode` is another: Python may keep what it gets
        return True
    if isinstance(function, types.BoundFunction) and function.this is types.npy_rng:
        return True
    return not any(count(typeof(each.name)) for each in value.list_vars())
