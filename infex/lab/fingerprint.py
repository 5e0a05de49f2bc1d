"""What an object does, as a digest of its settings and code; and the versions that results come from."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import hashlib
import importlib
import importlib.metadata
import importlib.util
import itertools
import platform
import subprocess
import sys
import types
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from infex import registry
from infex.checks import DATA_KINDS
from infex.errors import InvalidExpression
from infex.lab.environments import ChangingInstance, ContextualInstance, Instance, OwnInstance

ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD")
NAME_READS = (
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS",
    "LOAD_FROM_DICT_OR_DEREF",
)  # fmt: skip

Chains = dict[str, set[tuple[str, ...]]]


def used_names(codes: Iterable[types.CodeType]) -> Chains:
    """For each name that is read, the attributes that are read of it in a row; () if it is used by itself.

    >>> dict(used_names([compile("a.b.c + d", "", "eval")]))
    {'a': {('b', 'c')}, 'd': {()}}
    """
    found: Chains = defaultdict(set)
    for steps in map(_steps, codes):
        for place, step in enumerate(steps):
            if step.opname in NAME_READS:
                found[str(step.argval)].add(tuple(_attributes(steps[place + 1 :])))
    return found


def _steps(code: types.CodeType) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


def _attributes(steps: Iterable[dis.Instruction]) -> Iterator[str]:
    for step in steps:
        if step.opname not in ATTRIBUTE_READS:
            return
        yield str(step.argval)


def imported_modules(codes: Iterable[types.CodeType], names: Mapping[str, Any]) -> Iterator[types.ModuleType]:
    """The modules that code imports when it runs, as far as they can be imported."""
    package = names.get("__package__") or ""
    for steps in map(_steps, codes):
        for place, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                yield from _imported(_dots(steps[place - 2].argval) + str(step.argval), package)


def _dots(level: object) -> str:
    """Those of a relative import, whose level stands two steps before its name."""
    return "." * level if isinstance(level, int) else ""


def _imported(name: str, package: str) -> Iterator[types.ModuleType]:
    with contextlib.suppress(Exception, SystemExit):  # of any module; running the code will tell
        yield importlib.import_module(importlib.util.resolve_name(name, package or None))


PACKAGE_FOLDERS = ("site-packages", "dist-packages")
GENERATED_CODE = "<string>"  # the file name of methods that dataclasses generate


@runtime_checkable
class Compiled(Protocol):
    """What a compiler of Python makes of a function."""

    py_func: object


@runtime_checkable
class Wrapping(Protocol):
    """What `functools` makes of a function."""

    __wrapped__: object


@runtime_checkable
class Written(Protocol):
    """A function with its code."""

    __code__: types.CodeType


def digest(thing: object) -> str:
    """The same text for the same content, in every process.

    Catalogue policies and schedules enter by their expressions, problems by their keys and what these do
    not tell, data by their values; a user's functions and classes by their code and all it refers to,
    through modules too, except what is installed: that enters by its name. A module that is passed about,
    or imported inside a function, enters with its whole file. No `repr` of a user's object is called.

    >>> digest([1, 2.0]) == digest([1, 2.0]), digest([1, 2.0]) == digest([1, 2])
    (True, False)
    """
    return hashlib.blake2b(repr(_described(thing, {}, ())).encode(), digest_size=16).hexdigest()


def _described(thing: object, known: dict[int, object], path: tuple[int, ...]) -> object:
    """Nested tuples of plain values.

    `known` holds code that was described before, `path` the ids of what is being described.
    """
    for kind in DATA_KINDS:
        if isinstance(thing, kind):  # perhaps a subclass of a user's, whose own repr is not called
            return type(thing).__name__, kind.__repr__(thing)  # type: ignore[call-arg]
    if id(thing) in path:
        return "itself"
    path = (*path, id(thing))
    with contextlib.suppress(InvalidExpression):
        return registry.expression(thing)
    if isinstance(thing, Instance):
        parts = (_described(part, known, path) for part in _beside_key(thing))
        return "instance", thing.key, *parts
    if isinstance(thing, types.ModuleType):
        return "module", thing.__name__, *_module_parts(thing, known, path)
    if isinstance(thing, Compiled):
        thing = thing.py_func
    elif type(thing).__module__ == "functools" and isinstance(thing, Wrapping):
        thing = thing.__wrapped__  # of functools.cache, which hides it
    if isinstance(thing, types.FunctionType | type):
        return _code(thing, known, path)
    return tuple(_described(part, known, path) if apart else part for apart, part in _parts(thing))


def _beside_key(instance: Instance) -> Iterator[object]:
    """What its key does not tell of a problem: code of a user's, and how late rewards are.

    A key names the draws of a problem; two that share their draws may still give other runs.
    """
    if isinstance(instance, OwnInstance):
        yield instance.environment
        return
    yield instance.contexts if isinstance(instance, ChangingInstance | ContextualInstance) else None
    moves = None if isinstance(instance, ContextualInstance) else instance.moves
    law = instance.rewards if callable(instance.rewards) else None
    beside = {"law": law, "mean": instance.mean, "moves": moves, "late": instance.late}
    yield from ((name, part) for name, part in beside.items() if part is not None)


def _parts(thing: object) -> Iterator[tuple[bool, object]]:
    """What data hold, and whether each part is to be described in its turn."""
    if isinstance(thing, np.ndarray | np.generic) and not thing.dtype.hasobject:
        yield False, (thing.dtype.str, thing.shape, thing.tobytes())
    elif isinstance(thing, set | frozenset):
        yield False, ("set", *sorted(digest(each) for each in thing))
    elif isinstance(thing, tuple | list):
        yield False, type(thing).__name__
        yield from ((True, each) for each in thing)
    elif isinstance(thing, dict):
        yield False, type(thing).__name__
        yield from ((True, each) for pair in thing.items() for each in pair)
    elif isinstance(thing, types.MethodType):
        yield from ((True, each) for each in (thing.__func__, thing.__self__))
    elif isinstance(thing, property):
        yield True, thing.fget
    elif isinstance(thing, staticmethod | classmethod):
        yield True, thing.__func__
    else:
        yield True, type(thing)
        yield from ((True, each) for each in _state(thing))


def _state(thing: object) -> Iterator[object]:
    """The fields of a dataclass, or what pickle would keep of another object; nothing if pickle refuses."""
    return _fields(thing) if dataclasses.is_dataclass(thing) else _pickled(thing)


def _fields(thing: Any) -> Iterator[object]:
    """Names and values of the fields that tell one object from another."""
    fields = [field.name for field in dataclasses.fields(thing) if field.init or field.compare]
    return itertools.chain.from_iterable((name, getattr(thing, name)) for name in fields)


def _pickled(thing: object) -> Iterator[object]:
    try:
        kept: Any = thing.__reduce_ex__(4)
    except Exception:  # pickle refuses locks, open files, ...
        return
    parts = [kept] if isinstance(kept, str) else kept[1:]  # behind the function that pickle would call
    yield from (list(part) if isinstance(part, Iterator) else part for part in parts)


def _code(
    thing: types.FunctionType | type, known: dict[int, object], path: tuple[int, ...]
) -> tuple[object, ...]:
    """A function or a class: by name if it is installed, else by what its code says."""
    if _is_installed(thing.__module__):
        return "installed", thing.__module__, thing.__qualname__
    name = thing.__qualname__.rpartition("<locals>.")[2]  # what is left of it where a worker unpickled it
    if id(thing) in known:
        return "again", name
    known[id(thing)] = thing
    parts = _of_class(thing) if isinstance(thing, type) else _of_function(thing)
    return name, *(_described(part, known, path) for part in parts)


def _of_class(kind: type) -> Iterator[object]:
    yield from kind.__bases__
    for name, value in sorted(vars(kind).items()):
        inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        written = isinstance(inner, Written) and inner.__code__.co_filename != GENERATED_CODE
        plain = not name.startswith("__") and not isinstance(value, types.MemberDescriptorType)
        if written or (plain and name != "_abc_impl"):
            yield name
            yield value


def _of_function(function: types.FunctionType) -> Iterator[object]:
    """Code, defaults, and the values of all global and outer names that it uses."""
    codes = list(_codes(function.__code__))
    for code in codes:
        yield from (code.co_code, code.co_names, code.co_varnames)
        yield [each for each in code.co_consts if not isinstance(each, types.CodeType)]
    yield from (function.__defaults__, function.__kwdefaults__)
    outer = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a cell of a closure may be empty
            outer[name] = cell.cell_contents
    used = used_names(codes)
    for name in sorted(used.keys() & outer.keys()):
        yield name
        yield from _uses(outer[name], used[name])
    yield from imported_modules(codes, function.__globals__)


def _uses(value: object, chains: set[tuple[str, ...]]) -> Iterator[object]:
    """What stands behind a name: a user's module by what is read of it, all else by itself."""
    if not isinstance(value, types.ModuleType) or _is_installed(value.__name__) or () in chains or not chains:
        yield value
        return
    for first in sorted({chain[0] for chain in chains}):
        yield first
        if first in vars(value):
            yield from _uses(vars(value)[first], {chain[1:] for chain in chains if chain[0] == first})


def _module_parts(
    module: types.ModuleType, known: dict[int, object], path: tuple[int, ...]
) -> Iterator[object]:
    """A user's module as a whole: its file, and the modules of a user's that it refers to."""
    if _is_installed(module.__name__) or id(module) in known:
        return
    known[id(module)] = module
    file = vars(module).get("__file__")
    yield Path(file).read_bytes() if file is not None and Path(file).is_file() else b""
    for value in list(vars(module).values()):
        home = value if isinstance(value, types.ModuleType) else sys.modules.get(_home(value))
        if home is not None:
            yield _described(home, known, path)


def _home(value: object) -> str:
    """The module in which a function or a class was defined."""
    return str(value.__module__) if isinstance(value, types.FunctionType | type) else ""


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


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


PACKAGES = ("infex", "numpy", "scipy", "joblib", "pyarrow")
GIT_SECONDS = 10  # a repository on a slow disk is left out rather than waited for


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The version of each package that is installed, and of Python."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found | {"python": platform.python_version()}


def commit(folder: Path | None = None) -> str:
    """The commit that a folder (the current one) is at, marked if files differ from it; "" outside git.

    >>> commit(Path("/"))
    ''
    """
    where = Path() if folder is None else folder
    head = _git(where, "rev-parse", "HEAD")
    if not head:
        return ""
    changed = _git(where, "status", "--porcelain", "--untracked-files=no")
    return f"{head}, with changes" if changed else head


def _git(folder: Path, *words: str) -> str:
    """What git says, or nothing where it cannot."""
    try:
        said = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()
