"""Forced sampling: which rounds are forced, and which arms forced rounds keep."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from infex.linear.kernels import TIE, Floats

Rule = Literal["log", "blocks"]
RULES = ("log", "blocks")


def is_forced(rule: Rule, scale: float, t: int) -> bool:
    """Is round t forced?

    >>> [t for t in range(1, 40) if is_forced("blocks", 2, t)]
    [1, 2, 3, 4, 7, 8, 15, 16, 31, 32]
    """
    if rule == "log":
        return forced_count(scale, t) > forced_count(scale, t - 1)
    q = math.ceil(scale)
    block = (t - 1) // q + 1  # round t is one of the q after (block - 1) q
    return block & (block - 1) == 0


def forced_count(scale: float, t: int) -> int:
    """How many of rounds 1, ..., t the rule "log" forces.

    Round t is forced if fewer than g(t) = scale log(1 + t) were before it. As g is concave, all
    rounds are at first, and then as many as g, rounded up.
    """
    target = scale * math.log1p(t)
    return t if target >= t else math.ceil(target)


def kept_arms(forced: Floats, keep: float) -> NDArray[np.bool_]:
    """The arms whose estimate from forced rounds is within keep/2 of the best, or ties with that."""
    top = float(np.max(forced))
    return forced >= top - keep / 2.0 - TIE * (1.0 + abs(top))
