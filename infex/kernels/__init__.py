"""The formulas of ridge regression, each written once, compiled.

They stand in `algebra`, `reading`, `factoring` and `learning`; this is where others take them from.

The state of a ridge with V = penalty I + sum x x' and b = sum y x is six arrays:

    truth     (2, d + 1, d)  rows 0 to d-1: sum x x' (its lower triangle), row d: b; each number
                             as a sum and a carry, what rounding took from it
    solved    (d + 1, d)     rows 0 to d-1: M, row d: theta = V^-1 b; M is the inverse of the lower
                             Cholesky factor of V, so M'M = V^-1, and it is unique
    columns   (d, K)         the arms as columns, so that loops over arms run along memory
    board     (4, K)         scores s_k = x_k'theta, squared widths w_k = |M x_k|^2, g_k, and the
                             floor below which w_k may not fall before it is computed anew
    vectors   (4, d)         x, p and u of the run under way, and room for work
    run       (RUN,)         its scalars

A *run* is one x played n times in a row with reward sum S. With p = M x, u = M'p, q = p'p and
g_k = x_k'u, all taken at its start, phi = (S - n x'theta)/(1 + n q) and psi = n/(1 + n q) give
the state after it exactly: theta + phi u, s_k + phi g_k, w_k - psi g_k^2, and the volume
log(det V/det V_0) has grown by log1p(n q). So a pull of the same arm costs O(1), and another arm
closes the run in O(d^2 + d K).

What is derived is computed anew before rounding can tell: all of it from the truth after CLOSED d
runs; the board, from M and theta, once some squared width has fallen to e^-FALL of what it was
when last computed, as that is how much subtraction can cost it. So M and theta do not depend on
the board, and a loop that needs none may leave it out. A run is closed when it brings such a
fall by itself, or after MOST_PULLS pulls, as its reward sum S has no carry.

V is all penalty in a direction that no arm has. If the penalty is below FINE, sums of 10^8 pulls would
hide it under their rounding; so the truth then keeps what rounding takes from products, too, and
its factor is computed with 32 digits (`pairs`). So it is for runs and weights that are HEAVY against a
larger penalty, and for the factor of sums that are. Where V is STEEP, each x that comes by itself has
all computed anew: updates would leave their rounding in theta across the arms, far below a width but
large for whoever reads other arms.
"""

from infex.arrays import Floats, Integers
from infex.kernels.algebra import add, dot, product, project, rank_one, row_dot, to_sphere
from infex.kernels.layout import ARM, LONGEST, PHI, PSI, RUN, START, SUM, TIE, N, Q
from infex.kernels.learning import (
    absorb,
    absorb_weighted,
    add_pulls,
    add_truth,
    close_run,
    direct,
    is_long,
    is_steep,
    learn,
    learn_counted,
    open_run,
    pull,
    pull_counted,
    refresh,
    score,
    shift,
)
from infex.kernels.reading import (
    arm_width,
    best,
    best_upper,
    estimates,
    glance,
    greedy_glance,
    look,
    optimistic,
    parameter,
    perturb,
    radius,
    solve,
    tie_limit,
    tied_arm,
    tied_count,
    to_chances,
    upper,
    volume,
    width,
    widths,
)

__all__ = [
    "ARM",
    "LONGEST",
    "PHI",
    "PSI",
    "RUN",
    "START",
    "SUM",
    "TIE",
    "Floats",
    "Integers",
    "N",
    "Q",
    "absorb",
    "absorb_weighted",
    "add",
    "add_pulls",
    "add_truth",
    "arm_width",
    "best",
    "best_upper",
    "close_run",
    "direct",
    "dot",
    "estimates",
    "glance",
    "greedy_glance",
    "is_long",
    "is_steep",
    "learn",
    "learn_counted",
    "look",
    "open_run",
    "optimistic",
    "parameter",
    "perturb",
    "product",
    "project",
    "pull",
    "pull_counted",
    "radius",
    "rank_one",
    "refresh",
    "row_dot",
    "score",
    "shift",
    "solve",
    "tie_limit",
    "tied_arm",
    "tied_count",
    "to_chances",
    "to_sphere",
    "upper",
    "volume",
    "width",
    "widths",
]
