"""Arms that are drawn anew, and their gaps."""

import math

import numpy as np

from infex.arrays import Floats
from infex.kernels.algebra import product
from infex.kernels.compiling import compiled, inlined, larger
from infex.kernels.layout import TIE


@compiled
def draw_arms(block: Floats, count: int, rng: np.random.Generator) -> None:
    """Arms N(0, I/(2d)) cut to length 1, in the first `count` columns."""
    rounds, d, _ = block.shape
    scale = math.sqrt(1.0 / (2.0 * d))
    squares = np.empty(count)
    for b in range(rounds):
        squares[:] = 0.0
        for i in range(d):  # along memory
            for k in range(count):
                value = scale * rng.standard_normal()
                block[b, i, k] = value
                squares[k] += value * value
        for k in range(count):
            if squares[k] > 1.0:
                for i in range(d):
                    block[b, i, k] /= math.sqrt(squares[k])


@compiled
def shift_arms(block: Floats, count: int, theta: Floats, limit: float) -> None:
    """Moves the first `count` arms along theta until their means are at most the limit."""
    rounds, d, _ = block.shape
    square = 0.0
    for i in range(d):
        square += theta[i] * theta[i]
    for b in range(rounds):
        for k in range(count):
            mean = 0.0
            for i in range(d):
                mean += block[b, i, k] * theta[i]
            for i in range(d):
                block[b, i, k] -= max(mean - limit, 0.0) / square * theta[i]


@inlined
def gaps_of(columns: Floats, theta: Floats, out: Floats) -> float:
    """What each arm's mean falls short of the best, nothing within rounding; the best mean."""
    product(columns, theta, out)
    top = float(out[0])
    for k in range(out.size):
        top = larger(top, out[k])
    slack = TIE * (1.0 + abs(top))
    for k in range(out.size):
        out[k] = 0.0 if top - out[k] <= slack else top - out[k]
    return top
