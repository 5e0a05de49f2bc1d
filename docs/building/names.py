"""Public names as Markdown, from their signatures and docstrings."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

MODULES = (
    "adapters", "bandit", "errors", "evaluation", "features", "lab", "lab.environments", "lab.theory",
    "lab.verification", "models", "policies", "schedules", "testing",
)  # fmt: skip
EXAMPLE = re.compile(r"(?:^>>> .*\n(?:(?!^>>> )[^\n]+\n)*)+", re.MULTILINE)


def public() -> dict[str, object]:
    """Every public name by its full name: those of infex, and those of its modules that are not there."""
    infex = importlib.import_module("infex")
    found = dict(members("infex", infex))
    for module in MODULES:
        for name, value in members(f"infex.{module}", importlib.import_module(f"infex.{module}")):
            if not any(value is known for known in found.values()):
                found[name] = value
    return found


def members(called: str, module: ModuleType) -> Iterator[tuple[str, object]]:
    """What a module shows, without modules."""
    shown = vars(module).get("__all__") or [name for name in vars(module) if not name.startswith("_")]
    for name in sorted(shown):
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            yield f"{called}.{name}", value


def write(module: str, lines: list[str]) -> str:
    """The names of a module that stand in the lines, or all of them, each with all that is known of it."""
    wanted = [f"{module}.{name}" for line in lines for name in line.split()]
    known = public()
    if not wanted:
        wanted = [name for name in known if name.rpartition(".")[0] == module]
    return "\n\n".join(entry(name, known[name]) for name in wanted)


def entry(name: str, value: object) -> str:
    """One name: signature, docstring, and what its methods do."""
    if inspect.isclass(value):
        return a_class(name, value)
    if callable(value):
        return directive("py:function", name + signature(value), docstring(value))
    return directive("py:data", name, docstring(value))


def a_class(name: str, kind: type) -> str:
    """A class with its public methods and properties."""
    body = docstring(kind) + "".join("\n\n" + each for each in methods(kind))
    word = "py:exception" if issubclass(kind, BaseException) else "py:class"
    return directive(word, name + ("" if plain(kind) else signature(kind)), body)


def plain(kind: type) -> bool:
    """Is it a class that nobody makes with arguments: a protocol, an enumeration, an error?"""
    return bool(vars(kind).get("_is_protocol")) or issubclass(kind, enum.Enum | BaseException)


def methods(kind: type) -> Iterator[str]:
    """The public methods and properties of a class, in the order in which they are written."""
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    for name in dict.fromkeys(each for base in kind.__mro__[:-1] for each in vars(base)):
        if name.startswith("_") or name in fields or name.startswith("test_"):
            continue
        value = inspect.getattr_static(kind, name)
        if isinstance(value, property):
            yield directive("py:property", name, docstring(value))
        elif isinstance(value, staticmethod | classmethod):
            yield directive("py:method", name + signature(value.__func__), docstring(value.__func__))
        elif inspect.isfunction(value):
            yield directive("py:method", name + signature(value), docstring(value))


def signature(function: object) -> str:
    """The arguments with their defaults, without types and without self."""
    assert callable(function)
    try:
        given = inspect.signature(function)
    except ValueError:
        return ""
    kept = [each for each in given.parameters.values() if each.name not in ("self", "cls", "_")]
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in kept]
    return re.sub(
        r"<[^>]*>", "...", str(given.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    )


def docstring(value: object) -> str:
    """Its docstring as Markdown: examples in blocks, and no sign of Markdown outside of code."""
    text = inspect.getdoc(value) or ""
    parts, end = [], 0
    for found in EXAMPLE.finditer(text + "\n"):
        parts += [prose(text[end : found.start()]), "```pycon\n" + found.group().rstrip() + "\n```\n"]
        end = found.end()
    return "\n".join([*parts, prose(text[end:])]).strip()


def prose(text: str) -> str:
    """Words in which only backticks and lists mean something."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else escaped(piece) for piece in pieces)


def escaped(text: str) -> str:
    """Signs that Markdown would take for its own."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)


def directive(word: str, head: str, body: str) -> str:
    """A directive of MyST around Markdown, with more colons than any inside."""
    most = max((len(found) for found in re.findall(r"^:{3,}", body, re.MULTILINE)), default=2) + 1
    fence = ":" * max(most, 3)
    return f"{fence}{{{word}}} {head}\n{body}\n{fence}"
