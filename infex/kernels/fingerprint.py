"""What a user's kernel does, as a digest: Numba's own cache sees its bytecode alone."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

FIXED = ("numpy", "math", "infex")  # modules that do not change under a kernel, but by an installation


def fingerprint(function: object) -> str | None:
    """A digest of a function's code, its constants, and all it refers to; None if something cannot be told.

    Numba compiles the values of globals into a kernel, and the code of functions it calls.
    """
    python = _python(function)
    assert isinstance(python, types.FunctionType)
    try:
        parts = list(_parts(python, set()))
    except LookupError:
        return None
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def mentions(function: object, *words: str) -> bool:
    """May a function, or one that it calls, name one of these words? Yes, if that cannot be told."""
    python = _python(function)
    assert isinstance(python, types.FunctionType)
    try:
        return not set(words).isdisjoint(_texts(list(_parts(python, set()))))
    except LookupError:
        return True


def _texts(parts: object) -> Iterator[str]:
    """All texts in nested lists and tuples."""
    if isinstance(parts, str):
        yield parts
    elif isinstance(parts, tuple | list):
        for part in parts:
            yield from _texts(part)


def _parts(function: types.FunctionType, seen: set[int]) -> Iterator[Any]:
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _code(function.__code__)
    yield function.__defaults__, function.__kwdefaults__
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in _names(function.__code__):
        if name in cells:
            yield name, list(_value(cells[name].cell_contents, seen))
        elif name in function.__globals__:
            yield name, list(_value(function.__globals__[name], seen))


def _python(function: object) -> object:
    """The function that a kernel was compiled from."""
    return getattr(function, "py_func", function)


def _code(code: types.CodeType) -> Iterator[Any]:
    yield code.co_code, code.co_names, code.co_varnames, code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield constant


def _names(code: types.CodeType) -> list[str]:
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part)]
    return sorted({*code.co_names, *code.co_freevars, *inner})


def _value(value: object, seen: set[int]) -> Iterator[Any]:
    """A value that a kernel refers to; LookupError if it cannot be told by what it does."""
    home = str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))
    if value is None or isinstance(value, bool | int | float | complex | str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _value(item, seen)
    elif isinstance(value, np.ndarray | np.generic):
        yield value.dtype.str, value.shape, value.tobytes()
    elif isinstance(value, types.ModuleType | types.BuiltinFunctionType | type) or (
        home.split(".")[0] in FIXED
    ):
        name = str(getattr(value, "__name__", ""))
        if home.split(".")[0] not in (*FIXED, "builtins") and name.split(".")[0] not in FIXED:
            raise LookupError(value)
        yield home, name
    elif isinstance(function := _python(value), types.FunctionType):
        yield from _parts(function, seen)
    else:
        raise LookupError(value)
