"""Statements about orders of growth: C18, the cost of a round, and C20, the constant of the bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infex.lab.theory.bounds import Setting
from infex.lab.theory.paper_tables import table_1
from infex.lab.theory.scheduled import constants
from infex.lab.verification.statement import Effort, Measured, Statement
from infex.schedules import Schedule, every, power, stretched
from infex.streams import stream

ROUND_SIZES = ((4, 8), (4, 64), (12, 8), (12, 64))
FALLING_GAPS = (0.5, 0.1, 0.02, 0.004)


@final
class Ticked:
    """A number whose products are counted."""

    products = 0
    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = float(value)

    def __mul__(self, other: Ticked | float) -> Ticked:
        Ticked.products += 1
        return Ticked(self.value * _value(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Ticked | float) -> Ticked:
        Ticked.products += 1
        return Ticked(self.value / _value(other))

    def __add__(self, other: Ticked | float) -> Ticked:
        return Ticked(self.value + _value(other))

    __radd__ = __add__

    def __sub__(self, other: Ticked | float) -> Ticked:
        return Ticked(self.value - _value(other))

    def sqrt(self) -> Ticked:
        """The root, which counts as one product."""
        Ticked.products += 1
        return Ticked(math.sqrt(self.value))


def _value(number: Ticked | float) -> float:
    return number.value if isinstance(number, Ticked) else float(number)


TickedArray = NDArray[np.object_]


def ticked(numbers: ArrayLike) -> TickedArray:
    """An array of counted numbers."""
    counted: TickedArray = np.vectorize(Ticked, otypes=[object])(numbers)
    return counted


def greedy_round(arms: TickedArray, inverse: TickedArray, theta: TickedArray, reward: float) -> None:
    """Choosing by x'theta, and one Sherman-Morrison step."""
    x = arms[int(np.argmax([score.value for score in arms @ theta]))]
    u = inverse @ x
    scale = x @ u + 1.0
    inverse = inverse - np.outer(u / scale, u)
    theta = theta + u * ((x @ theta) * -1.0 + reward) / scale


def linucb_round(arms: TickedArray, inverse: TickedArray, theta: TickedArray, reward: float) -> None:
    """The textbook's LinUCB: a product with V^-1 for every arm."""
    for x in arms:
        (x @ (inverse @ x)).sqrt() * 2.0
    greedy_round(arms, inverse, theta, reward)


def fast_linucb_round(arms: TickedArray, inverse: TickedArray, theta: TickedArray, reward: float) -> None:
    """LinUCB on a fixed arm set: squared widths are kept, and fall by g^2/(1 + q) for g = arms @ u."""
    u = inverse @ arms[0]
    scale = arms[0] @ u + 1.0
    for g in arms @ u:
        (g * g / scale).sqrt() * 2.0
    greedy_round(arms, inverse, theta, reward)


def lints_round(arms: TickedArray, inverse: TickedArray, theta: TickedArray, reward: float) -> None:
    """The textbook's LinTS: a Cholesky factor of V^-1 for every sample."""
    dim = len(theta)
    factor = ticked(np.zeros((dim, dim)))
    for i in range(dim):
        for j in range(i + 1):
            rest = inverse[i, j] - sum((factor[i, k] * factor[j, k] for k in range(j)), Ticked(0.0))
            factor[i, j] = rest.sqrt() if i == j else rest / factor[j, j]
    greedy_round(arms, inverse, theta + (factor @ ticked(np.ones(dim))) * 2.0, reward)


ROUND_ORDERS: tuple[tuple[Callable[..., None], Callable[[int, int], int]], ...] = (
    (greedy_round, lambda d, k: d * d + d * k),
    (linucb_round, lambda d, k: d * d * k),
    (fast_linucb_round, lambda d, k: d * d + d * k),
    (lints_round, lambda d, k: d**3 + d * k),
)


def cost(play: Callable[..., None], dim: int, arms: int) -> int:
    """The products of one round."""
    rng = stream(0, "cost of a round", dim, arms)
    rows = rng.standard_normal((arms, dim))
    unit_rows = ticked(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    inverse, theta = ticked(np.eye(dim)), ticked(rng.standard_normal(dim))
    Ticked.products = 0
    play(unit_rows, inverse, theta, 1.0)
    return Ticked.products


def check_costs(effort: Effort) -> Measured:
    """The most products of a round, divided by its order."""
    return Measured(
        max(cost(play, *size) / model(*size) for play, model in ROUND_ORDERS for size in ROUND_SIZES), 4.0
    )


def constant(dim: int, gap: float, schedule: Schedule) -> float:
    """2 S tau_0 + (7/16) Delta tau_1 for LinUCB with delta = 0.01."""
    setting = Setting(dim=dim, gap=gap, delta=0.01)
    return constants(setting, schedule, "LinUCB", 0.01).cost(setting)


def growth(schedule: Schedule, order: Callable[[int, float], float], dim: int) -> float:
    """The greatest factor by which the constant outgrows its order when the gap falls to a fifth."""
    shares = [constant(dim, gap, schedule) / order(dim, gap) for gap in FALLING_GAPS]
    return max(later / sooner for sooner, later in pairwise(shares))


def widening(order: Callable[[int, float, int], float], dim: int = 10, gap: float = 0.1) -> float:
    """The factor by which the constant of `every(m)` outgrows its order when m goes from 5 to 100."""
    few, many = (constant(dim, gap, every(m)) / order(dim, gap, m) for m in (5, 100))
    return many / few


def check_orders(effort: Effort) -> Measured:
    """The greatest growth against the rows of Table 1, in the gap and in m."""
    rows = ((every(20), 0, 1.0), (stretched(1), 1, 1.0), (stretched(2), 1, 2.0), (power(0.5), 2, 0.5))

    def order(row: int, r: float) -> Callable[[int, float], float]:
        return lambda dim, gap: table_1(dim, gap, 20, r)[row].value

    factors = [growth(schedule, order(row, r), dim) for schedule, row, r in rows for dim in (10, 40)]
    return Measured(max(*factors, widening(lambda dim, gap, m: table_1(dim, gap, m, 1)[0].value)))


ORDER_STATEMENTS = (
    Statement(
        "C18",
        "textbook rounds cost O(d^2 + dK), LinUCB O(d^2 K), LinTS O(d^3 + dK): products by order",
        check_costs,
    ),
    Statement(
        "C20",
        "the bound's constant has the order of Table 1: its growth against it as gaps fall and m rises",
        check_orders,
    ),
)
