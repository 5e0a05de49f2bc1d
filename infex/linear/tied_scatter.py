"""The noise that was seen where arms share features: block elimination, as `kernels.tied_ridges` has it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.linear.scatter import Scatter, Scattered, Solved, inverted, noise_of, spread_out


class TiedSums(NamedTuple):
    """The truth of each arm by itself, (K, 2, c + 1, c), sums of x z', (K, c, s), and the shared ridge's."""

    own: Floats
    cross: Floats
    left: Floats
    penalty: float


class TiedSolved(NamedTuple):
    """A_k^-1 and theta_k0 of each arm, G_k = A_k^-1 B_k, the shared ridge, and what the fit takes in all."""

    inverses: Floats
    alone: Floats
    ties: Floats
    shared: Solved
    fitted: float
    spent: float
    length: float

    @staticmethod
    def of(sums: TiedSums) -> TiedSolved:
        """From sums."""
        own, penalty = sums.own.sum(axis=1), sums.penalty
        lower, moments = np.tril(own[:, :-1]), own[:, -1]
        inverses = inverted(lower + np.swapaxes(np.tril(lower, -1), -1, -2), penalty)
        alone = np.einsum("kij,kj->ki", inverses, moments)
        ties, shared = inverses @ sums.cross, Solved.of(sums.left, penalty)
        fitted = float(np.sum(alone * moments)) + shared.fitted
        trace = np.trace(inverses, axis1=1, axis2=2).sum() + np.trace(shared.inverse)
        trace += np.sum(_squared(ties) * shared.inverse)
        thetas = alone - ties @ shared.theta
        length = float(np.sqrt(np.sum(thetas**2) + np.sum(shared.theta**2)))
        return TiedSolved(
            inverses,
            alone,
            ties,
            shared,
            fitted,
            alone.size + len(shared.theta) - penalty * float(trace),
            length,
        )


def tied_scattered(
    sums: TiedSums, scatter: Scatter, told: float, arms: Integers, rows: Floats, most: float, lost: bool
) -> Scattered:
    """What is known of arms k, each in a context, with its shared features behind it, (n, c + s).

    V^-1 (x, z) is w = V_0^-1 (z - G_k'x) of the shared features, A_k^-1 x - G_k w of the arm and -G_j w of
    each other. With arms `lost`, whose G_j are not kept, its length is not known: then the penalty draws an
    estimate by no more than sqrt(penalty) times the width, for a theta of length 1.
    """
    solved, penalty = TiedSolved.of(sums), sums.penalty
    x, z, ties = *np.hsplit(rows, [solved.alone.shape[1]]), solved.ties[arms]
    untold = z - np.einsum("ncs,nc->ns", ties, x)
    common = untold @ solved.shared.inverse
    alone = np.einsum("nij,nj->ni", solved.inverses[arms], x)
    others = np.einsum("ncs,ns->nc", ties, common)
    longs = _squares(common) + _squares(alone - others) - _squares(others)
    longs += np.einsum("ns,st,nt->n", common, _squared(solved.ties), common)
    widths = np.einsum("nc,nc->n", alone, x) + np.einsum("ns,ns->n", common, untold)
    lean = np.sqrt(penalty * widths) if lost else penalty * np.sqrt(np.maximum(longs, 0.0))
    freedom = scatter.freedom(told, solved.spent)
    noise = noise_of(scatter.left(solved.fitted, penalty * solved.length**2), freedom, freedom, most)
    estimates = np.einsum("nc,nc->n", solved.alone[arms], x) + untold @ solved.shared.theta
    return spread_out(estimates, widths - penalty * longs, noise, lean, freedom, solved.length)


def _squares(rows: Floats) -> Floats:
    found: Floats = np.einsum("ij,ij->i", rows, rows)
    return found


def _squared(ties: Floats) -> Floats:
    """sum G_k'G_k over all arms."""
    found: Floats = np.einsum("kcs,kct->st", ties, ties)
    return found
