"""The catalogue: policies, schedules and estimators as text, both ways.

An expression is written like the Python that makes the object, with defaults left out, the
brackets of a call without arguments too, and words without quotes: `Greedy`,
`LinUCB(delta=0.001)`, `Infex(LinTS, every(100), data=own)`, `every(20) | listed([1, 2, 3])`,
`Discounted(rate=0.95)`.
"""

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from infex import estimators, schedules
from infex.checks import plain
from infex.errors import InfexError, InvalidExpression
from infex.policies.agnostic_lasso import AgnosticLassoBandit
from infex.policies.context_reduction import ContextReduction
from infex.policies.control import Guarded, UntilCertain, guarded, until_certain
from infex.policies.epsilon_greedy import EpsilonGreedy
from infex.policies.explore_then_commit import ExploreThenCommit
from infex.policies.fixed_bonus import FixedBonusUCB
from infex.policies.gaussian_ts import GaussianTS
from infex.policies.greedy import Greedy
from infex.policies.greedy_first import GreedyFirst
from infex.policies.hybrid_ts import HybridTS
from infex.policies.infex import Infex
from infex.policies.lasso_bandit import LassoBandit
from infex.policies.lints import LinTS
from infex.policies.linucb import LinUCB
from infex.policies.ols_bandit import OLSBandit
from infex.policies.rarely_switching import RarelySwitchingUCB
from infex.policies.ucb1 import UCB1
from infex.policies.uniform import Uniform

POLICIES: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        Greedy,
        Uniform,
        EpsilonGreedy,
        LinUCB,
        LinTS,
        Infex,
        OLSBandit,
        ExploreThenCommit,
        UCB1,
        GaussianTS,
        HybridTS,
        GreedyFirst,
        LassoBandit,
        AgnosticLassoBandit,
        ContextReduction,
        FixedBonusUCB,
        RarelySwitchingUCB,
    )
}
SCHEDULES: dict[str, Callable[..., Any]] = {
    make.__name__: make
    for make in (
        schedules.every,
        schedules.always,
        schedules.never,
        schedules.stretched,
        schedules.power,
        schedules.logarithmic,
        schedules.listed,
        schedules.jittered,
        schedules.budget,
        guarded,
        until_certain,
    )
}
ESTIMATORS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        estimators.Ridge,
        estimators.Discounted,
        estimators.Windowed,
        estimators.Lasso,
        estimators.Logistic,
    )
}
NAMES = POLICIES | SCHEDULES | ESTIMATORS


def expression(thing: Any) -> str:
    """A policy, a schedule or an estimator as an expression that `parse` reads back.

    >>> from infex.schedules import every
    >>> expression(Infex(LinUCB(delta=1e-3), every(20), data="own"))
    'Infex(LinUCB(delta=0.001), every(20), data=own)'
    """
    kind = type(thing)
    if kind in POLICIES.values() or kind in ESTIMATORS.values():
        arguments = ", ".join(_arguments(thing))
        return f"{kind.__name__}({arguments})" if arguments else str(kind.__name__)
    if isinstance(thing, schedules.Union):
        return " | ".join(expression(member) for member in thing.members)
    if isinstance(thing, schedules.Budget):
        return f"budget({expression(thing.schedule)}, {thing.limit})"
    if isinstance(thing, Guarded):
        return f"guarded({expression(thing.schedule)}, {plain(thing.cost_limit)})"
    if isinstance(thing, UntilCertain):
        return f"until_certain({', '.join(_arguments(thing))})"
    if isinstance(thing, schedules.Listed):
        return f"listed({list(thing.rounds)})" if thing.rounds else repr(thing)
    if isinstance(thing, schedules.Every | schedules.Jittered) or _is_family(thing):
        return repr(thing)
    raise InvalidExpression(f"not in the catalogue: {thing!r}")


def parse(text: str) -> Any:
    """The policy, the schedule or the estimator that an expression names.

    >>> parse("Infex(LinTS, every(100), data=own)").base == LinTS()
    True
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


def _is_family(thing: Any) -> bool:
    return isinstance(thing, schedules.Counted) and repr(thing).split("(")[0] in SCHEDULES


def _arguments(policy: Any) -> list[str]:
    found = []
    for setting in dataclasses.fields(policy):
        value = getattr(policy, setting.name)
        if not setting.init:
            continue
        if isinstance(value, np.ndarray):
            raise InvalidExpression(f"{setting.name} of {type(policy).__name__} is not text: an array")
        if setting.default is dataclasses.MISSING:
            found.append(expression(value))
        elif value != setting.default:
            found.append(f"{setting.name}={_value(value)}")
    return found


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return plain(value)
    return expression(value)


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
