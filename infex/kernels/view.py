"""What a policy written as a kernel sees, and the functions it reads it with.

They have the names that `Evidence` has in Python, and are compiled into the kernel that calls
them. Each array that they return is new: a second call leaves the first array as it is, and the
kernel may write to it.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from infex import kernels
from infex.arrays import Floats, Integers
from infex.errors import NotKept
from infex.kernels import ARM, learning
from infex.kernels.compiling import woven

__all__ = [
    "View",
    "add",
    "best",
    "best_upper",
    "estimates",
    "greedy",
    "perturbed",
    "pulls",
    "radius",
    "settle",
    "solve",
    "sums",
    "theta",
    "unexplored",
    "upper",
    "volume",
    "width",
    "widths",
]


class View(NamedTuple):
    """A ridge over the K arms on offer, room for scores, and the settings of the policy.

    `arms` is (d, K): one column for each arm. `settings` are the policy's, in their order, and `state` is
    what its `learn` kernel remembers. The rest is what the functions of this module read; a kernel
    changes none of it.
    """

    arms: Floats
    settings: Floats
    penalty: float
    board: Floats
    run: Floats
    solved: Floats
    vectors: Floats
    counts: Floats  # (2, K), or (2, 0) where arms change in every round
    state: Floats  # what a `learn` kernel remembers
    truth: Floats
    scores: Floats  # (4, K)
    places: Integers  # (K,)
    sample: Floats  # (4, d)


@register_jitable
def viewed(
    arms: Floats,
    settings: Floats,
    penalty: float,
    board: Floats,
    run: Floats,
    solved: Floats,
    vectors: Floats,
    counts: Floats,
    state: Floats,
    truth: Floats,
) -> View:
    """A view with room of its own."""
    dim, count = arms.shape
    room = np.empty((4, count)), np.empty(count, dtype=np.int64), np.empty((4, dim))
    return View(arms, settings, penalty, board, run, solved, vectors, counts, state, truth, *room)


@woven
def estimates(view: View) -> Floats:
    """Every arm's estimated mean reward x'theta, (K,)."""
    out = np.empty(view.arms.shape[1])
    kernels.estimates(view.board, view.run, out)
    return out


@woven
def greedy(view: View) -> int:
    """The arm of the largest estimate, the lowest index among ties."""
    return int(kernels.estimates(view.board, view.run, view.scores[0]))


@woven
def widths(view: View) -> Floats:
    """Every arm's width |x| in V^-1, (K,)."""
    out = np.empty(view.arms.shape[1])
    kernels.widths(view.board, view.run, out)
    return out


@woven
def upper(view: View, beta: float) -> Floats:
    """Every arm's estimate + beta width, (K,)."""
    out = np.empty(view.arms.shape[1])
    kernels.upper(view.board, view.run, beta, out)
    return out


@woven
def best_upper(view: View, beta: float) -> int:
    """The arm of the largest estimate + beta width: `best(upper(view, beta))` with few square roots."""
    guess = max(int(view.run[ARM]), 0)
    return kernels.best_upper(view.board, view.run, beta, guess, view.scores[3], view.places)


@woven
def perturbed(view: View, scale: float, rng: np.random.Generator) -> Floats:
    """Every arm's score under one sampled parameter theta + scale V^-1/2 N(0, I), (K,)."""
    direction, theta = view.sample[0], view.sample[1]
    out = np.empty(view.arms.shape[1])
    for i in range(direction.size):
        direction[i] = rng.standard_normal()
    kernels.perturb(view.solved, view.vectors, view.run, scale, direction, theta, view.sample[2])
    kernels.product(view.arms, theta, out)
    return out


@woven
def counts(view: View) -> Floats:
    """Pulls and summed rewards of every fixed arm, (2, K)."""
    found = view.counts
    if found.shape[1] != view.arms.shape[1]:
        raise NotKept("arms that change every round have no pulls of their own")
    return found


@woven
def pulls(view: View) -> Floats:
    """How many rewards every fixed arm was told, (K,)."""
    return counts(view)[0].copy()  # type: ignore[no-any-return]


@woven
def sums(view: View) -> Floats:
    """Every fixed arm's rewards added up, (K,)."""
    return counts(view)[1].copy()  # type: ignore[no-any-return]


@woven
def theta(view: View) -> Floats:
    """The estimated parameter, (d,)."""
    out = np.empty(view.arms.shape[0])
    kernels.parameter(view.solved, view.vectors, view.run, out)
    return out


@woven
def solve(view: View, x: Floats) -> Floats:
    """V^-1 x, (d,)."""
    out = np.empty(view.arms.shape[0])
    kernels.solve(view.solved, view.vectors, view.run, x, out)
    return out


@woven
def width(view: View, x: Floats) -> float:
    """The width |x| in V^-1 of any x, (d,)."""
    return kernels.solve(view.solved, view.vectors, view.run, x, view.sample[3])


@woven
def unexplored(arm: int) -> int:
    """What a kernel returns to play an arm in a round that is not to count as exploring."""
    return -2 - arm


@woven
def add(sums: Floats, penalty: float, x: Floats, reward: float, weight: float) -> None:
    """Adds a reward of x to sums of x x' and y x, (2, d + 1, d), which lose nothing: for an estimator."""
    kernels.add_pulls(sums, penalty, x, weight, weight * reward)


@woven
def settle(sums: Floats, penalty: float, solved: Floats) -> float:
    """Ridge regression by such sums: its factor and parameter in `solved`, (d + 1, d), and the volume."""
    return learning.settle(sums, penalty, solved)


@woven
def volume(view: View) -> float:
    """alpha = log(det V/det V_0)."""
    return kernels.volume(view.run)


@woven
def radius(view: View, noise: float, bound: float, delta: float) -> float:
    """beta = noise sqrt(alpha + 2 log(1/delta)) + sqrt(penalty) bound."""
    return kernels.radius(kernels.volume(view.run), view.penalty, noise, bound, delta)


@woven
def best(scores: Floats) -> int:
    """The lowest index among the arms tied for the largest score."""
    return kernels.best(scores)
