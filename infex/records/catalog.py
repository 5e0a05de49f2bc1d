"""The catalogue: policies, schedules and estimators as text, both ways; a view of their records.

An expression is written like the Python that makes the object, with defaults left out, the
brackets of a call without arguments too, and words without quotes: `Greedy`,
`LinUCB(delta=0.001)`, `Infex(LinTS, every(100), data=own)`, `every(20) | listed([1, 2, 3])`,
`Discounted(rate=0.95)`.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from infex import schedules
from infex.checks import plain, safe_repr
from infex.errors import InfexError, InvalidExpression
from infex.records import registry
from infex.records.registry import Row, Settings, row_of

Maker = Callable[..., Any]
Unsaid = Mapping[str, float]

NAMES: Mapping[str, Maker] = {
    **{name: row.make for name, row in registry.POLICIES.items()},
    **{name: row.make for name, row in registry.SCHEDULES.items() if name != "union"},
    **{name: row.make for name, row in registry.ESTIMATORS.items()},
    **registry.OTHER_NAMES,
    **registry.PROBLEM_PARTS,
}
NOTHING_UNSAID: Unsaid = {}
ALWAYS_SAID = {("jittered", "seed")}  # though they have defaults


def expression(thing: object, unsaid: Unsaid = NOTHING_UNSAID) -> str:
    """A policy, a schedule or an estimator as an expression that `parse` reads back.

    A setting that has its default, or the value that `unsaid` has under its name, is left out.

    >>> from infex import Infex, LinUCB, every
    >>> expression(Infex(LinUCB(delta=1e-3), every(20), data="own"))
    'Infex(LinUCB(delta=0.001), every(20), data=own)'
    """
    row = row_of(thing)
    if row is None or (row[0].name not in NAMES and row[0].name != "union"):
        raise InvalidExpression(f"not in the catalogue: {type(thing).__name__}")
    return _written(*row, unsaid)


def shown(thing: object) -> str:
    """A thing in a line: its expression, or what can be told of it if it is not in the catalogue."""
    with contextlib.suppress(InvalidExpression):
        return expression(thing)
    return safe_repr(thing)


def _written(row: Row, settings: Settings, unsaid: Unsaid) -> str:
    name = row.name
    if name == "union":
        return " | ".join(expression(member, unsaid) for member in settings["members"])
    if (name, settings.get("m")) == ("every", 1):
        return "always()"
    if name == "listed":
        return f"listed({settings['rounds']})" if settings["rounds"] else "never()"
    arguments = []
    for word, default in _defaults(row.make).items():
        value = settings[word]
        _refuse_array(value, f"{word} of {name}")
        if default is inspect.Parameter.empty:
            arguments.append(_value(value, unsaid))
        elif (name, word) in ALWAYS_SAID or not _is_unsaid(word, value, default, unsaid):
            arguments.append(f"{word}={_value(value, unsaid)}")
    return f"{name}({', '.join(arguments)})" if arguments else name


def _refuse_array(value: object, name: str) -> None:
    if isinstance(value, np.ndarray):
        raise InvalidExpression(f"{name} is not text: an array")


def _is_unsaid(word: str, value: object, default: object, unsaid: Unsaid) -> bool:
    if value == default or (word in unsaid and value in (None, unsaid[word])):
        return True
    return (
        bool(unsaid) and row_of(default) is not None and expression(default, unsaid) == _value(value, unsaid)
    )


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
    return read_node(tree, text)


def is_known(thing: object) -> bool:
    """Is it a built-in policy, schedule or estimator, as far as its kind goes?"""
    return row_of(thing) is not None


def is_written(thing: object) -> bool:
    """Is it built in with all that it holds, so that an expression says all of it?"""
    with contextlib.suppress(InvalidExpression):
        return bool(expression(thing))
    return False


def data_text(value: object) -> str:
    """Numbers and texts, also in tuples, as an expression writes them."""
    if isinstance(value, list):
        return f"({', '.join(map(data_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value) if value is None or isinstance(value, bool) else _value(value, NOTHING_UNSAID)


def _value(value: object, unsaid: Unsaid) -> str:
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return plain(value)
    return expression(value, unsaid)


def read_node(node: ast.expr, text: str) -> Any:
    """What one node of an expression stands for."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [read_node(item, text) for item in items]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return schedules.union(read_node(left, text), read_node(right, text))
        case ast.Name(id=name) if name in NAMES:
            return _make(name, [], {}, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in NAMES:
            given = {str(word.arg): read_word(word.value, text) for word in keywords}
            return _make(name, [read_node(argument, text) for argument in args], given, text)
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
            raise InvalidExpression(
                f"unknown name {name!r} in {text!r}; known are {', '.join(sorted(NAMES))}"
            )
    raise InvalidExpression(f"cannot read {ast.unparse(node)!r} in {text!r}")


def read_word(node: ast.expr, text: str) -> Any:
    """The value of a keyword: a bare word that names nothing is text, such as `own`."""
    if isinstance(node, ast.Name) and node.id not in NAMES:
        return node.id
    return read_node(node, text)


def _make(name: str, given: list[Any], named: dict[str, Any], text: str) -> Any:
    try:
        return NAMES[name](*given, **named)
    except (TypeError, InfexError) as error:
        raise InvalidExpression(f"in {text!r}: {error}".replace(".__init__()", "()")) from None
