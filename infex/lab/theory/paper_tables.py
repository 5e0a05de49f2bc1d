"""Tables 1 and 2 of the paper for numbers of one's own.

They have orders, not bounds: what stands inside O(...), with a constant of 1. Use `infex.lab.theory.infex`
for a bound.
"""

from __future__ import annotations

import contextlib
import math
from typing import NamedTuple

from infex.checks import one_of, real, whole
from infex.errors import InvalidSetting
from infex.lab.theory.bounds import BASES

LOST_FACTOR_NOTE = "Table 2 as printed loses the factor m on tau; this follows Table 1."
EXPONENT_NOTE = (
    "The exponent of the logarithm is 1/r for r < 1, by the paper's own example; Table 1 prints 2/r."
)


class Order(NamedTuple):
    """One row: f(t), the order as a formula, its value and log10, and which slip of the paper was mended.

    `schedule` is f(t), and `note` tells of the slip.
    """

    schedule: str
    formula: str
    value: float
    log10: float
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
    whole("m", m, least=1)
    dim, gap, log = _checked(dim, gap)
    tau = tau_order(dim, gap) if tau is None else real("tau", tau, above=1)
    return [
        _order(
            "t/m",
            "m tau + m d/Delta log^2(m d/Delta)",
            _sum(math.log(m * tau), math.log(m * dim / gap) + 2 * math.log(math.log(m * dim / gap))),
        ),
        *_by_exponent(dim, gap, log, real("r", r, least=0), tau),
    ]


def table_2(dim: int, gap: float, m: int, r: float, horizon: int, base: str = "LinUCB") -> list[Order]:
    """The order of the base's own regret, and by schedule what INFEX adds to it.

    `dim` is d, and `gap` is Delta.

    >>> [row.schedule for row in table_2(10, 0.1, m=20, r=2, horizon=10**6)]
    ['t', 't/m', 't/(log t)^r', '(log t)^r']
    """
    late = math.log(whole("horizon", horizon, least=3))
    dim, gap, _ = _checked(dim, gap)
    plain = late + dim * math.log(late)
    tau = tau_order(dim, gap, base)
    name, formula, own = (
        ("(d/Delta log(d/Delta))^2", "(log T + d log log T)^2/Delta", plain**2 / gap)
        if base == "LinUCB"
        else (
            "d^3/Delta^2 log^3(d/Delta)",
            "d log T (log T + d log log T)^2/Delta",
            dim * late * plain**2 / gap,
        )
    )
    first, *others = table_1(dim, gap, m, r, tau)
    return [
        _order("t", formula, math.log(own)),
        first._replace(formula=first.formula.replace("tau", name), note=LOST_FACTOR_NOTE),
        *(row._replace(formula=row.formula.replace("tau", f"[{name}]")) for row in others),
    ]


def _by_exponent(dim: int, gap: float, log: float, r: float, tau: float) -> list[Order]:
    rows = [
        _order(
            "t/(log t)^r",
            "tau log^r tau + d/Delta log^(2+r)(d/Delta)",
            _sum(
                math.log(tau) + r * math.log(math.log(tau)),
                math.log(dim / gap) + (2 + r) * math.log(log),
            ),
        )
    ]
    if r == 0:
        return rows
    if r <= 1:
        power = 2.0 if r == 1 else 1.0 / r
        second = (math.log(dim) - 2 * math.log(gap)) / r + math.log(gap) + power * math.log(log)
        formula = f"tau^(1/r) + d^(1/r)/Delta^(2/r-1) log^{'2' if r == 1 else '(1/r)'}(d/Delta)"
        rows.append(_order("t^r", formula, _sum(math.log(tau) / r, second), "" if r == 1 else EXPONENT_NOTE))
    else:
        exponents = _power(tau, 1 / r), math.log(gap) + _power(dim / gap**2, 1 / (r - 1))
        formula = "e^(tau^(1/r)) + Delta e^((d/Delta^2)^(1/(r-1)))"
        rows.append(_order("(log t)^r", formula, _sum(*exponents)))
    return rows


def _checked(dim: int, gap: float) -> tuple[int, float, float]:
    """d, Delta and log(d/Delta); the orders hold where the logarithm is above 1."""
    dim, gap = whole("dim", dim, least=1), real("gap", gap, above=0)
    if dim / gap <= math.e:
        raise InvalidSetting(f"the orders speak of hard problems: dim/gap must be above e, got {dim / gap:g}")
    return dim, gap, math.log(dim / gap)


def _power(base: float, exponent: float) -> float:
    with contextlib.suppress(OverflowError):
        return float(base**exponent)
    return math.inf


def _sum(one: float, other: float) -> float:
    """log(e^one + e^other)."""
    top = max(one, other)
    return top if top == math.inf else top + math.log1p(math.exp(min(one, other) - top))


def _order(schedule: str, formula: str, log: float, note: str = "") -> Order:
    return Order(schedule, formula, math.exp(log) if log < 709 else math.inf, log / math.log(10), note)
