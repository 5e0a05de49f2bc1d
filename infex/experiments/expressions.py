"""Expressions of the catalogue as a sweep reads them: where a policy is meant, and where a schedule."""

from __future__ import annotations

import ast
from typing import Any

from infex.errors import InvalidExpression
from infex.policies import catalog

KNOWN = {"policy": catalog.POLICIES, "schedule": catalog.SCHEDULES}


def parsed(text: str, kind: str) -> Any:
    """The "policy" or the "schedule" that an expression names.

    >>> parsed("every(5) | every(7)", "schedule")
    every(5) | every(7)
    """
    tree = _tree(text)
    if tree is not None:
        _refuse_strangers(tree, text, kind)
    return catalog.parse(text)


def names_delta(text: str) -> bool:
    """Does an expression say what `delta` is?

    >>> names_delta("Infex(LinUCB(delta=0.01), every(5))"), names_delta("LinUCB")
    (True, False)
    >>> names_delta("Infex(LinUCB, until_certain(every(5), delta=0.1))")
    False
    """
    tree = _tree(text)
    calls = [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    ours = [call for call in calls if getattr(call.func, "id", None) in catalog.POLICIES]
    return any(word.arg == "delta" for call in ours for word in call.keywords)


def _tree(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None  # which the catalogue refuses in its own words


def _refuse_strangers(node: ast.expr, text: str, kind: str) -> None:
    """Refuses names that are not of policies, or of schedules, where these are meant."""
    inner: list[tuple[ast.expr, str]] = []
    match node:
        case ast.BinOp(left=left, right=right):
            inner = [(left, kind), (right, kind)]
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name not in KNOWN[kind]:
            known = ", ".join(sorted(KNOWN[kind]))
            raise InvalidExpression(f"unknown name {name!r} in {text!r}; a {kind} is one of {known}")
        case ast.Call(func=ast.Name(id="Infex"), args=given):
            inner = list(zip(given, ("policy", "schedule"), strict=False))
        case ast.Call(args=given):
            inner = [(each, kind) for each in given]
    for each, what in inner:
        _refuse_strangers(each, text, what)
