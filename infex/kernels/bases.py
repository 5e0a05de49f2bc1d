"""What decides in a compiled loop, by kind."""

from typing import NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.kernels.compiling import lend, within, woven

GREEDY, UNIFORM, ROBIN, EPSILON, LINUCB, LINTS, LINTS_SPHERICAL = range(7)  # as `core.choosing.Kind` has them


class Base(NamedTuple):
    """What decides in exploring rounds: its kind, its numbers, and whether ties are broken at random."""

    kind: int
    reads: int
    noise: float = 0.0
    bound: float = 0.0
    delta: float = 1.0
    scale: float = 0.0
    rate: float = 0.0  # of epsilon-greedy (below 0 it is t^(-1/3)), of sampling, or growth between switches
    bonus: float = 0.0  # a radius beside that of the theory
    random_ties: bool = False


@within
def any_arm(count: int, rng: np.random.Generator) -> int:
    """One of so many arms, all of them equally likely."""
    return int(rng.integers(0, count))


@within
def pick(scores: Floats, random_ties: bool, rng: np.random.Generator) -> int:
    """The best arm; among ties the lowest index, or one drawn uniformly, as `ties.picked` does."""
    if not random_ties:
        return kernels.best(scores)
    tied = kernels.tied_count(scores)
    return kernels.tied_arm(scores, any_arm(tied, rng) if tied > 1 else 0)


@woven
def radius(base: Base, penalty: float, run: Floats) -> float:
    """scale beta, as `Confidence.choosing_radius` has it, or a constant bonus."""
    beta = kernels.radius(kernels.volume(run), penalty, base.noise, base.bound, base.delta)
    return base.scale * beta + base.bonus


@within
def sample_scores(
    spherical: bool, beta: float, columns: Floats, solved: Floats, vectors: Floats, run: Floats,
    rng: np.random.Generator, sample: Floats, scores: Floats,
) -> None:  # fmt: skip
    """Every arm's score under one sampled parameter."""
    columns, solved, vectors, run = lend(columns), lend(solved), lend(vectors), lend(run)
    sample, scores = lend(sample), lend(scores)
    direction, theta = sample[0], sample[1]
    for i in range(direction.size):
        direction[i] = rng.standard_normal()
    if spherical:
        kernels.to_sphere(direction)
    kernels.perturb(solved, vectors, run, beta, direction, theta, sample[2])
    kernels.product(columns, theta, scores)
