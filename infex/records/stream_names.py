"""What a policy's own stream of draws is named for."""

from __future__ import annotations

import contextlib

from infex.errors import InvalidExpression
from infex.policies import Infex
from infex.policies.base import DEFAULT_DELTA, hook
from infex.records import catalog


def stream_name(thing: object) -> str:
    """The expression of a policy, or what it is made of; not its module, which may be `__main__`.

    A delta of 0.01 is left out: that was the default when streams got their names.
    """
    with contextlib.suppress(InvalidExpression):
        return catalog.expression(thing, {"delta": DEFAULT_DELTA})
    kind = type(thing).__qualname__
    if isinstance(thing, Infex):
        parts = stream_name(thing.base), stream_name(thing.schedule), thing.data, thing.ties
        model = () if thing.greedy is None else (stream_name(thing.greedy),)
        return f"{kind}({', '.join((*parts, *model))})"
    base = hook(thing, "base")
    return kind if base is None else f"{kind}({stream_name(base)})"
