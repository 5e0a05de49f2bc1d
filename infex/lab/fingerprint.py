"""What an object does, as a digest of its settings and code; and the versions that results come from."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import itertools
import platform
import subprocess
import sys
import types
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from infex import registry
from infex.checks import DATA_KINDS
from infex.errors import InvalidExpression
from infex.lab.environments import ChangingInstance, ContextualInstance, LinearInstance, OwnInstance

ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD")
NAME_READS = (
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS",
    "LOAD_FROM_DICT_OR_DEREF",
)  # fmt: skip
PACKAGE_FOLDERS = ("site-packages", "dist-packages")
GENERATED_CODE = "<string>"  # the file name of methods that dataclasses generate
PACKAGES = ("infex", "numpy", "scipy", "joblib", "pyarrow")
GIT_SECONDS = 10  # a repository on a slow disk is left out rather than waited for


def digest(thing: object) -> str:
    """The same text for the same content, in every process.

    Built-in policies and schedules enter by their expressions, problems by their keys and what these do not
    say, data by their values; a user's functions and classes by their code and all it refers to, through
    modules too, except what is installed: that enters by its name. A module that is passed about, or imported
    inside a function, enters with its whole file. No `repr` of a user's object is called.

    >>> digest([1, 2.0]) == digest([1, 2.0]), digest([1, 2.0]) == digest([1, 2])
    (True, False)
    """
    return hashlib.blake2b(repr(_Content().of(thing, ())).encode(), digest_size=16).hexdigest()


class _Content:
    """Objects as nested tuples of plain values; functions, classes and modules are written out once."""

    def __init__(self) -> None:
        self.known: dict[int, object] = {}  # what was written out, by id

    def of(self, thing: object, path: tuple[int, ...]) -> object:
        """The content of an object; `path` holds the ids of the objects that it is part of."""
        for kind in DATA_KINDS:
            if isinstance(thing, kind):  # perhaps a user's subclass, whose own repr is not called
                return type(thing).__name__, kind.__repr__(thing)  # type: ignore[call-arg]
        if id(thing) in path:
            return "itself"
        path = (*path, id(thing))
        with contextlib.suppress(InvalidExpression):
            return registry.expression(thing)
        for hidden in ("__wrapped__", "py_func"):  # by functools.cache, and by compilers of Python
            inner = inspect.getattr_static(thing, hidden, None)
            if inner is not None and (hidden == "py_func" or type(thing).__module__ == "functools"):
                thing = inner
        if isinstance(thing, types.ModuleType | types.FunctionType | type):
            return self._code(thing, path)
        if isinstance(thing, np.ndarray | np.generic) and not thing.dtype.hasobject:
            return thing.dtype.str, thing.shape, thing.tobytes()
        if isinstance(thing, set | frozenset):
            return "set", *sorted(digest(each) for each in thing)
        return tuple(self.of(part, path) for part in _parts(thing))

    def _code(self, thing: Any, path: tuple[int, ...]) -> tuple[object, ...]:
        """A function, a class or a module: by name if it is installed, else by what its code says."""
        is_module = isinstance(thing, types.ModuleType)
        home, name = (thing.__name__, "") if is_module else (thing.__module__, thing.__qualname__)
        if _is_installed(home):
            return "installed", home, name
        name = name.rpartition("<locals>.")[2] or home  # where a worker unpickled it, that is all of its name
        if id(thing) in self.known:
            return "again", name
        self.known[id(thing)] = thing
        parts = _of_module if is_module else _of_class if isinstance(thing, type) else _of_function
        return name, *(self.of(part, path) for part in parts(thing))


def _parts(thing: Any) -> Iterator[object]:
    """What an object holds: what tells it from others of its class."""
    match thing:
        case OwnInstance():
            yield from ("instance", thing.key, thing.environment)
        case LinearInstance() | ChangingInstance() | ContextualInstance():
            yield from ("instance", thing.key)  # which names its draws; late rewards, say, may differ
            yield thing.contexts if isinstance(thing, ChangingInstance | ContextualInstance) else None
            moves = None if isinstance(thing, ContextualInstance) else thing.moves
            law = thing.rewards if callable(thing.rewards) else None
            beside = {"law": law, "mean": thing.mean, "moves": moves, "late": thing.late}
            yield from ((name, part) for name, part in beside.items() if part is not None)
        case tuple() | list():
            yield from (type(thing).__name__, *thing)
        case dict():
            yield from (type(thing).__name__, *itertools.chain.from_iterable(thing.items()))
        case types.MethodType():
            yield from (thing.__func__, thing.__self__)
        case property():
            yield thing.fget
        case staticmethod() | classmethod():
            yield thing.__func__
        case _ if dataclasses.is_dataclass(thing):
            yield type(thing)
            names = [field.name for field in dataclasses.fields(thing) if field.init or field.compare]
            yield from itertools.chain.from_iterable((name, getattr(thing, name)) for name in names)
        case _:
            yield type(thing)
            with contextlib.suppress(Exception):  # pickle refuses locks, open files, ...
                kept: Any = thing.__reduce_ex__(4)
                parts = [kept] if isinstance(kept, str) else kept[1:]  # behind what pickle would call
                yield from [list(part) if isinstance(part, Iterator) else part for part in parts]


def _of_class(kind: type) -> Iterator[object]:
    """Its bases, and what its body says."""
    yield from kind.__bases__
    for name, value in sorted(vars(kind).items()):
        inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        code = getattr(inner, "__code__", None)
        written = code is not None and code.co_filename != GENERATED_CODE
        plain = not name.startswith("__") and not isinstance(value, types.MemberDescriptorType)
        if written or (plain and name != "_abc_impl"):
            yield from (name, value)


def _of_function(function: types.FunctionType) -> Iterator[object]:
    """Code, defaults, and the values of all global and outer names that it uses."""
    codes = [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        yield from (code.co_code, code.co_names, code.co_varnames)
        yield [each for each in code.co_consts if not isinstance(each, types.CodeType)]
    yield from (function.__defaults__, function.__kwdefaults__)
    outer = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a cell of a closure may be empty
            outer[name] = cell.cell_contents
    chains, imports = _reads(codes)
    for name in sorted(chains.keys() & outer.keys()):
        yield name
        yield from _uses(outer[name], chains[name])
    for name in imports:
        with contextlib.suppress(Exception, SystemExit):  # of any module; running the code will tell
            package = function.__globals__.get("__package__") or None
            yield importlib.import_module(importlib.util.resolve_name(name, package))


def _reads(codes: Sequence[types.CodeType]) -> tuple[dict[str, set[tuple[str, ...]]], list[str]]:
    """For each name that code reads, the attributes that it reads of it in a row; and what it imports.

    >>> _reads([compile("a.b.c + d", "", "eval")])[0] == {"a": {("b", "c")}, "d": {()}}
    True
    """
    chains: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    imports = []
    for code in codes:
        steps = list(dis.get_instructions(code))
        for place, step in enumerate(steps):
            if step.opname in NAME_READS:
                after = itertools.takewhile(lambda each: each.opname in ATTRIBUTE_READS, steps[place + 1 :])
                chains[str(step.argval)].add(tuple(str(each.argval) for each in after))
            elif step.opname == "IMPORT_NAME":
                level = steps[place - 2].argval  # of a relative import, two steps before its name
                imports.append("." * (level if isinstance(level, int) else 0) + str(step.argval))
    return chains, imports


def _uses(value: object, chains: set[tuple[str, ...]]) -> Iterator[object]:
    """What stands behind a name: a user's module by what is read of it, all else by itself."""
    if not isinstance(value, types.ModuleType) or _is_installed(value.__name__) or () in chains or not chains:
        yield value
        return
    for first in sorted({chain[0] for chain in chains}):
        yield first
        if first in vars(value):
            yield from _uses(vars(value)[first], {chain[1:] for chain in chains if chain[0] == first})


def _of_module(module: types.ModuleType) -> Iterator[object]:
    """A user's module as a whole: its file, and the modules that it refers to."""
    file = Path(vars(module).get("__file__") or "")
    yield file.read_bytes() if file.is_file() else b""
    for value in list(vars(module).values()):
        if isinstance(value, types.FunctionType | type):
            value = sys.modules.get(str(value.__module__))
        if isinstance(value, types.ModuleType):
            yield value


def _is_installed(module: str | None) -> bool:
    """Does it belong to Python, to infex or to another package that only an installation changes?"""
    top = (module or "").partition(".")[0]
    if top == "__main__":  # a user's program, also in a worker, which was started by another
        return False
    loaded = sys.modules.get(module or "")
    file = None if loaded is None else vars(loaded).get("__file__")
    return (
        top in ("infex", "builtins")
        or top in sys.stdlib_module_names
        or any(part in PACKAGE_FOLDERS for part in Path(file or "").parts)
    )


def versions() -> dict[str, str]:
    """The version of Python, and of each package that results depend on and that is installed."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found | {"python": platform.python_version()}


def commit() -> str:
    """The commit that the current folder is at, marked if files differ from it; "" outside git."""
    run = partial(subprocess.run, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    try:
        head = run(["git", "rev-parse", "HEAD"], timeout=GIT_SECONDS).stdout.strip()
        changed = run(["git", "status", "--porcelain", "--untracked-files=no"], timeout=GIT_SECONDS).stdout
        return f"{head}, with changes" if changed.strip() else head
    except (OSError, subprocess.SubprocessError):
        return ""
