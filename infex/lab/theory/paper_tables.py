"""Tables 1 and 2 of the paper for numbers of one's own.

They have orders, not bounds: what stands inside O(...), with a constant of 1. Use `infex.lab.theory.infex`
for a bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from infex.checks import one_of, real, whole
from infex.errors import InvalidSetting
from infex.lab.theory.bounds import BASES

LOST_FACTOR_NOTE = "Table 2 as printed loses the factor m on tau; this follows Table 1."
EXPONENT_NOTE = (
    "The exponent of the logarithm is 1/r for r < 1, by the paper's own example; Table 1 prints 2/r."
)


class Order(NamedTuple):
    """One row: f(t), the order as a formula, its value, and which slip of the paper was corrected.

    `schedule` is f(t), `value` is infinite where it is past 10^308, and `note` tells of the slip.
    """

    schedule: str
    formula: str
    value: float
    note: str = ""


def tau_order(dim: int, gap: float, base: str = "LinUCB") -> float:
    """The order of tau_Alg: (d/Delta)^2 log^2(d/Delta) for LinUCB, d^3/Delta^2 log^3(d/Delta) for LinTS.

    `dim` is d, `gap` is Delta, and `base` is "LinUCB" or "LinTS".
    """
    dim, gap, log = _checked(dim, gap)
    return dim**2 / gap**2 * log**2 if one_of("base", base, BASES) == "LinUCB" else dim**3 / gap**2 * log**3


def table_1(dim: int, gap: float, m: int, r: float, tau: float | None = None) -> list[Order]:
    """The orders of G_const(tau, f), by schedule; tau is that of LinUCB if it is not given.

    Rows for which r is out of range are left out: t^r asks for r <= 1, (log t)^r for r > 1.

    `dim` is d, and `gap` is Delta.

    >>> [row.schedule for row in table_1(10, 0.1, m=20, r=0.5)]
    ['t/m', 't/(log t)^r', 't^r']
    """
    m, r = whole("m", m, least=1), real("r", r, least=0)
    dim, gap, log = _checked(dim, gap)
    tau = tau_order(dim, gap) if tau is None else real("tau", tau, above=1)
    rate, start, tail = dim / gap, np.float64(tau), np.float64(dim / gap**2)
    with np.errstate(over="ignore"):
        periodic = m * start + m * rate * math.log(m * rate) ** 2
        stretched = start * np.log(start) ** r + rate * np.float64(log) ** (2 + r)
        rows = [
            Order("t/m", "m tau + m d/Delta log^2(m d/Delta)", float(periodic)),
            Order("t/(log t)^r", "tau log^r tau + d/Delta log^(2+r)(d/Delta)", float(stretched)),
        ]
        if r > 1:
            value = np.exp(start ** (1 / r)) + gap * np.exp(tail ** (1 / (r - 1)))
            rows.append(Order("(log t)^r", "e^(tau^(1/r)) + Delta e^((d/Delta^2)^(1/(r-1)))", float(value)))
        elif r > 0:
            power = 2.0 if r == 1 else 1.0 / r
            value = start ** (1 / r) + gap * tail ** (1 / r) * np.float64(log) ** power
            formula = f"tau^(1/r) + d^(1/r)/Delta^(2/r-1) log^{'2' if r == 1 else '(1/r)'}(d/Delta)"
            rows.append(Order("t^r", formula, float(value), "" if r == 1 else EXPONENT_NOTE))
    return rows


def table_2(dim: int, gap: float, m: int, r: float, horizon: int, base: str = "LinUCB") -> list[Order]:
    """The order of the base's own regret, and by schedule what INFEX adds to it.

    `dim` is d, and `gap` is Delta.

    >>> [row.schedule for row in table_2(10, 0.1, m=20, r=2, horizon=10**6)]
    ['t', 't/m', 't/(log t)^r', '(log t)^r']
    """
    late = math.log(whole("horizon", horizon, least=3))
    dim, gap, _ = _checked(dim, gap)
    tau, plain = tau_order(dim, gap, base), (late + dim * math.log(late)) ** 2 / gap
    if base == "LinUCB":
        own = Order("t", "(log T + d log log T)^2/Delta", plain)
        name = "(d/Delta log(d/Delta))^2"
    else:
        own = Order("t", "d log T (log T + d log log T)^2/Delta", dim * late * plain)
        name = "d^3/Delta^2 log^3(d/Delta)"
    first, *others = table_1(dim, gap, m, r, tau)
    return [
        own,
        first._replace(formula=first.formula.replace("tau", name), note=LOST_FACTOR_NOTE),
        *(row._replace(formula=row.formula.replace("tau", f"[{name}]")) for row in others),
    ]


def _checked(dim: int, gap: float) -> tuple[int, float, float]:
    """d, Delta and log(d/Delta); the orders hold where the logarithm is above 1."""
    dim, gap = whole("dim", dim, least=1), real("gap", gap, above=0)
    if dim / gap <= math.e:
        raise InvalidSetting(f"the orders speak of hard problems: dim/gap must be above e, got {dim / gap:g}")
    return dim, gap, math.log(dim / gap)
