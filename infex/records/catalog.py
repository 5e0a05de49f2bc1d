"""The catalogue: policies, schedules and estimators as text, both ways; a view of their records.

An expression is written like the Python that makes the object, with defaults left out, the
brackets of a call without arguments too, and words without quotes: `Greedy`,
`LinUCB(delta=0.001)`, `Infex(LinTS, every(100), data=own)`, `every(20) | listed([1, 2, 3])`,
`Discounted(rate=0.95)`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

import numpy as np

from infex import schedules
from infex.checks import plain
from infex.errors import InfexError, InvalidExpression
from infex.records import registry
from infex.records.registry import Row, Settings, row_of

Maker = Callable[..., Any]

NAMES: Mapping[str, Maker] = {
    **{name: row.make for name, row in registry.POLICIES.items()},
    **{name: row.make for name, row in registry.SCHEDULES.items() if name != "union"},
    **{name: row.make for name, row in registry.ESTIMATORS.items()},
    **registry.OTHER_NAMES,
}
ALWAYS_SAID = {("jittered", "seed")}  # though they have defaults


def expression(thing: object, said: Collection[str] = ()) -> str:
    """A policy, a schedule or an estimator as an expression that `parse` reads back.

    Settings whose names are in `said` are written out though they have their defaults.

    >>> from infex import Infex, LinUCB, every
    >>> expression(Infex(LinUCB(delta=1e-3), every(20), data="own"))
    'Infex(LinUCB(delta=0.001), every(20), data=own)'
    """
    row = row_of(thing)
    if row is None or (row[0].name not in NAMES and row[0].name != "union"):
        raise InvalidExpression(f"not in the catalogue: {type(thing).__name__}")
    return _written(*row, said)


def shown(thing: object) -> str:
    """A thing in a line: its expression, or its own repr if it is not in the catalogue."""
    try:
        return expression(thing)
    except InvalidExpression:
        return repr(thing)


def _written(row: Row, settings: Settings, said: Collection[str]) -> str:
    name = row.name
    if name == "union":
        return " | ".join(expression(member, said) for member in settings["members"])
    if (name, settings.get("m")) == ("every", 1):
        return "always()"
    if name == "listed":
        return f"listed({settings['rounds']})" if settings["rounds"] else "never()"
    arguments = []
    for word, default in _defaults(row.make).items():
        value = settings[word]
        if isinstance(value, np.ndarray):
            raise InvalidExpression(f"{word} of {name} is not text: an array")
        if default is inspect.Parameter.empty:
            arguments.append(_value(value, said))
        elif (name, word) in ALWAYS_SAID or word in said or value != default:
            arguments.append(f"{word}={_value(value, said)}")
    return f"{name}({', '.join(arguments)})" if arguments else name


@cache
def _defaults(make: Maker) -> dict[str, Any]:
    return {name: word.default for name, word in inspect.signature(make).parameters.items()}


def parse(text: str) -> Any:
    """The policy, the schedule or the estimator that an expression names.

    >>> parse("Infex(LinTS, every(100), data=own)").data
    'own'
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (AttributeError, SyntaxError, ValueError):
        raise InvalidExpression(f"not an expression like 'Infex(LinUCB, every(20))': {text!r}") from None
    return _read(tree, text)


def arguments(text: str) -> dict[str, Any]:
    """The named values in brackets behind any name.

    >>> arguments("gaussian(dim=10, rewards=sign)")
    {'dim': 10, 'rewards': 'sign'}
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        tree = ast.Constant(None)
    if not isinstance(tree, ast.Call) or tree.args or any(word.arg is None for word in tree.keywords):
        raise InvalidExpression(f"not a name with named values in brackets: {text!r}")
    return {str(word.arg): _word(word.value, text) for word in tree.keywords}


def _value(value: object, said: Collection[str]) -> str:
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return plain(value)
    return expression(value, said)


def _read(node: ast.expr, text: str) -> Any:
    """What one node of an expression stands for."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_read(item, text) for item in items]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return schedules.union(_read(left, text), _read(right, text))
        case ast.Name(id=name) if name in NAMES:
            return _make(name, [], {}, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in NAMES:
            given = {str(word.arg): _word(word.value, text) for word in keywords}
            return _make(name, [_read(argument, text) for argument in args], given, text)
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
            raise InvalidExpression(
                f"unknown name {name!r} in {text!r}; known are {', '.join(sorted(NAMES))}"
            )
    raise InvalidExpression(f"cannot read {ast.unparse(node)!r} in {text!r}")


def _word(node: ast.expr, text: str) -> Any:
    """The value of a keyword: a bare word that names nothing is text, such as `own`."""
    if isinstance(node, ast.Name) and node.id not in NAMES:
        return node.id
    return _read(node, text)


def _make(name: str, given: list[Any], named: dict[str, Any], text: str) -> Any:
    try:
        return NAMES[name](*given, **named)
    except (TypeError, InfexError) as error:
        raise InvalidExpression(f"in {text!r}: {error}".replace(".__init__()", "()")) from None
