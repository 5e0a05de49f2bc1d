"""Expressions of the catalogue as a sweep reads them: a policy here, a schedule there."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from infex.errors import InvalidExpression
from infex.experiments.naming import hint
from infex.records import catalog, registry

CATALOGUE = {"policy": registry.POLICIES, "schedule": {**registry.SCHEDULES, **registry.OTHER_NAMES}}


def parsed(text: str, kind: str) -> Any:
    """The "policy" or the "schedule" that an expression names.

    >>> parsed("every(5) | every(7)", "schedule")
    every(5) | every(7)
    """
    tree = tree_of(text)
    if tree is not None:
        refuse_strangers(tree, text, kind)
    return catalog.parse(text)


def names_delta(text: str) -> bool:
    """Does an expression say what `delta` is?

    >>> names_delta("Infex(LinUCB(delta=0.01), every(5))"), names_delta("LinUCB")
    (True, False)
    >>> names_delta("Infex(LinUCB, until_certain(every(5), delta=0.1))")
    False
    """
    tree = tree_of(text)
    calls = [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    policies = [
        call for call in calls if isinstance(call.func, ast.Name) and call.func.id in registry.POLICIES
    ]
    return any(word.arg == "delta" for call in policies for word in call.keywords)


def tree_of(text: str) -> ast.expr | None:
    """Python's reading of a text; None if it is not an expression: the catalogue then says what is wrong."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def refuse_strangers(node: ast.expr, text: str, kind: str, own: Collection[str] = ()) -> None:
    """Refuses names of anything but policies where a policy is due, and schedules where a schedule is.

    `own` are names that stand for a user's objects.
    """
    inner: list[tuple[ast.expr, str]] = []
    match node:
        case ast.BinOp(left=left, right=right):
            inner = [(left, kind), (right, kind)]
        case ast.Attribute(value=module, attr=name):
            raise InvalidExpression(
                f"cannot read {ast.unparse(node)!r} in {text!r}; an object of yours is written with a colon: "
                f"'{ast.unparse(module)}:{name}'"
            )
        case ast.Name(id=name) if name in own:
            pass
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name not in CATALOGUE[kind]:
            near, known = hint(name, CATALOGUE[kind]), ", ".join(sorted(CATALOGUE[kind]))
            raise InvalidExpression(f"unknown name {name!r} in {text!r}{near}; a {kind} is one of {known}")
        case ast.Call(func=ast.Name(id="Infex"), args=given):
            inner = list(zip(given, ("policy", "schedule"), strict=False))
        case ast.Call(args=given):
            inner = [(each, kind) for each in given]
    for each, what in inner:
        refuse_strangers(each, text, what, own)
