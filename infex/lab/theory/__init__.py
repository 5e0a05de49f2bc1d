"""The paper's theory in numbers: radii, regret bounds, and how rarely one may explore at all.

`Setting` says what a problem is like; `linucb`, `lints` and `infex` bound the regret in it, and each
bound says whether it is vacuous. `formulas` has every equation by itself, for numbers or arrays.
`infex.lab.verification` checks the statements behind them on fresh runs.
"""

from infex.lab.theory.bounds import (
    Bound,
    Ellipsoid,
    InfexBound,
    Setting,
    base_tau,
    ellipsoid,
    infex,
    lints,
    linucb,
)
from infex.lab.theory.formulas import (
    best_width_bound,
    exceeding_chance,
    greedy_regret,
    lints_regret,
    linucb_regret,
    potential_bound,
    radius,
    sample_factor,
    volume_bound,
    volume_bound_by_pulls,
    volume_bound_by_regret,
)
from infex.lab.theory.necessity import (
    Growth,
    LowerBound,
    divergence,
    grows,
    lower_bound,
    worst_case_bound,
)
from infex.lab.theory.paper_tables import Order, table_1, table_2, tau_order

__all__ = [
    "Bound", "Ellipsoid", "Growth", "InfexBound", "LowerBound", "Order", "Setting", "base_tau",
    "best_width_bound", "divergence", "ellipsoid", "exceeding_chance", "greedy_regret", "grows", "infex",
    "lints", "lints_regret", "linucb", "linucb_regret", "lower_bound", "potential_bound", "radius",
    "sample_factor", "table_1", "table_2", "tau_order", "volume_bound", "volume_bound_by_pulls",
    "volume_bound_by_regret", "worst_case_bound",
]  # fmt: skip
