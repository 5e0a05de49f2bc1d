"""Arms that are drawn anew, and parameters that walk."""

import math

import numpy as np

from infex.arrays import Floats
from infex.kernels.compiling import compiled


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


@compiled
def walk_on(
    theta: Floats, length: float, size: float, begun: bool, rng: np.random.Generator, out: Floats
) -> Floats:
    """A walk on the sphere of that length, a row for each round; the first is theta unless `begun`."""
    rows, d = out.shape
    here = theta.copy()
    for r in range(rows):
        if r > 0 or begun:
            square = 0.0
            for i in range(d):
                here[i] += size * length * rng.standard_normal() / math.sqrt(float(d))
                square += here[i] * here[i]
            for i in range(d):
                here[i] *= length / math.sqrt(square) if square > 0.0 else 0.0
        for i in range(d):
            out[r, i] = here[i]
    return here
