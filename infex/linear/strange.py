"""What a file says was learnt, against what can be: refused before a loop reads it."""

from __future__ import annotations

import numpy as np

from infex import kernels
from infex.arrays import Floats, fitting
from infex.checks import HEAVIEST_WEIGHT
from infex.errors import DamagedFile
from infex.kernels.layout import CLOSED, RUNS, VOLUME
from infex.linear.known import Known, Learnt
from infex.linear.moments import Moments

NEAR = 1e-6  # how far a kept figure may be from one that is computed anew
ROUNDED_OFF = 1e-12  # of the trace, how far rounding may bring an eigenvalue below 0
LAST_BITS = 1e-15  # of what is added up, how far two orders of adding may differ


def fitting_sums(name: str, array: object, dim: int, told: int, penalty: float) -> Floats:
    """Sums of x x' and y x from a file, of so many rewards, as `kernels` lays them out."""
    truth: Floats = fitting(name, array, (2, dim + 1, dim))
    with np.errstate(all="ignore"):  # numbers of a file may be anything
        gram = Moments.of(truth, told).gram
        trace = float(np.trace(gram))
    if not trace <= told * HEAVIEST_WEIGHT * (1.0 + NEAR):
        raise DamagedFile(f"{name} is more than {told} rewards add up to")
    if not float(np.linalg.eigvalsh(gram)[0]) >= -(NEAR * penalty + ROUNDED_OFF * trace):
        raise DamagedFile(f"{name} is no sum of x x'")
    return truth


def refuse_no_numbers(known: Known) -> None:
    """Refuses what leads to no numbers: sums of a file may be anything."""
    for name, numbers in ({"theta": known.theta} | _figures(known)).items():
        if not np.isfinite(numbers).all():
            raise DamagedFile(f"its {name} would be no numbers")


def refuse_strange(mine: Known, theta: Floats, fresh: Known) -> None:
    """Refuses figures, and the theta behind them, that are not those which were computed anew."""
    kept, anew = _figures(mine), _figures(fresh)
    off, size = _length(theta - fresh.theta, fresh.factor), _length(fresh.theta, fresh.factor)
    if not off <= NEAR * (1.0 + size):  # far less than a width, whatever the penalty
        raise DamagedFile("its theta does not follow from what was learnt")
    for name in kept:
        if not near(kept[name], anew[name]):
            raise DamagedFile(f"its {name} does not follow from what was learnt")


def refuse_run(learnt: Learnt, columns: Floats, board: Floats, whole: Floats, truth: Floats) -> None:
    """Refuses a run under way that is none of its arm, or does not follow from what was learnt before it."""
    run, arm = learnt.run, learnt.run[kernels.ARM]
    if arm != int(arm) or not -1 <= arm < columns.shape[1] or run[kernels.N] < 0.0:
        raise DamagedFile(f"a run of arm {arm:g} with {run[kernels.N]:g} pulls cannot be")
    if arm >= 0 and not np.array_equal(learnt.vectors[0], columns[:, int(arm)]):
        raise DamagedFile("the run under way is not of the arm that it names")
    if not np.array_equal(whole, truth):
        raise DamagedFile("the run under way is not what its sums lack")
    if not all(near(*pair, _slack(learnt)) for pair in _pairs(learnt, columns, board)):
        raise DamagedFile("the run under way does not follow from what was learnt before it")
    runs = run[RUNS]
    if not 0.0 <= runs <= CLOSED * columns.shape[0] or run[VOLUME] < 0.0 or (board[3] < 0.0).any():
        raise DamagedFile("the counts of runs in it cannot be")


def near(kept: Floats | float, anew: Floats | float, slack: float = 0.0) -> bool:
    """Is every kept number as good as the one computed anew? Never of one that is no number."""
    limit = NEAR * (1.0 + float(np.max(np.abs(anew), initial=0.0))) + slack
    return bool(np.all(np.abs(kept - anew) <= limit))


def _figures(known: Known) -> dict[str, Floats | float]:
    """All that is read, but for theta, of which no more than its length in V is known."""
    return {
        "factor": known.factor,
        "estimates": known.estimates,
        "widths": known.widths,
        "volume": known.volume,
    }


def _length(theta: Floats, factor: Floats) -> float:
    """|theta| in V, that is |M'^-1 theta|."""
    return float(np.linalg.norm(np.linalg.solve(factor.T, theta)))


def _slack(learnt: Learnt) -> float:
    """How far rounding alone may bring u = M'M x, which is added up from parts of the size of M'M."""
    return LAST_BITS * learnt.solved.size * float(np.max(np.abs(learnt.solved[:-1]), initial=0.0)) ** 2


def _pairs(learnt: Learnt, columns: Floats, board: Floats) -> list[tuple[Floats | float, Floats | float]]:
    """The scalars and vectors of a run, each with what the factor and its x give."""
    solved, vectors, run, *_ = learnt
    x, n = vectors[0], run[kernels.N]
    p = solved[:-1] @ x if n > 0.0 else np.zeros(x.size)
    u, q = solved[:-1].T @ p, float(p @ p)
    start = float(x @ solved[-1]) if n > 0.0 else 0.0
    phi, psi = kernels.shift(n, run[kernels.SUM], start, q)
    scalars = zip(
        run[[kernels.Q, kernels.START, kernels.PHI, kernels.PSI]], (q, start, phi, psi), strict=True
    )
    vectors_too = [(vectors[1], p), (vectors[2], u), (board[2], columns.T @ u)]
    return [*scalars, *(vectors_too if n > 0.0 else [])]
