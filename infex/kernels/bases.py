"""What decides in a compiled loop, by kind."""

from typing import Any, NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers
from infex.kernels import ARM
from infex.kernels.calling import call
from infex.kernels.compiling import lend, within, woven
from infex.kernels.view import View

GREEDY, UNIFORM, EPSILON, LINUCB, LINTS, LINTS_SPHERICAL, KERNEL, ROBIN, HYBRID = range(9)

# Those that read pulls or keep notes, which `choosing` plays and no loop without a state.
PLAIN_UCB, GAUSSIAN_TS, PLAIN_HYBRID, SWITCHING = range(9, 13)

# How much of the board a base reads: nothing, its scores, or widths too.
READS_NOTHING, READS_SCORES, READS_WIDTHS = range(3)


class NoSuchKind(Exception):
    """A compiled loop was given a base of a kind that it does not know."""


class NoSuchArm(Exception):
    """A compiled loop was given an arm that is not on offer, in a round: both are its arguments."""


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
    address: Any = 0  # of a kernel


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
def greedy_arm(
    board: Floats, run: Floats, random_ties: bool, rng: np.random.Generator, scores: Floats
) -> int:
    """The greedy arm."""
    arm = kernels.estimates(board, run, scores)
    return pick(scores, random_ties, rng) if random_ties else arm


@woven
def radius(base: Base, penalty: float, run: Floats) -> float:
    """scale beta, as `Confidence.choosing_radius` has it, or a constant bonus."""
    beta = kernels.radius(kernels.volume(run), penalty, base.noise, base.bound, base.delta)
    return base.scale * beta + base.bonus


@woven
def optimistic_arm(
    base: Base,
    penalty: float,
    board: Floats,
    run: Floats,
    rng: np.random.Generator,
    scores: Floats,
    places: Integers,
) -> int:
    """The arm of the largest upper bound."""
    beta = radius(base, penalty, run)
    if base.random_ties:
        kernels.upper(board, run, beta, scores)
        return pick(scores, base.random_ties, rng)
    return kernels.best_upper(board, run, beta, max(int(run[ARM]), 0), scores, places)


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


@woven
def sampled_arm(
    base: Base, penalty: float, columns: Floats, solved: Floats, vectors: Floats, run: Floats,
    rng: np.random.Generator, sample: Floats, scores: Floats,
) -> int:  # fmt: skip
    """The best arm under one sampled parameter."""
    spherical, beta = base.kind == LINTS_SPHERICAL, radius(base, penalty, run)
    sample_scores(spherical, beta, columns, solved, vectors, run, rng, sample, scores)
    return pick(scores, base.random_ties, rng) if base.random_ties else kernels.best(scores)


@within
def base_arm(base: Base, t: int, seen: View, rng: np.random.Generator) -> tuple[int, bool, int]:
    """The arm the base chooses, whether it calls that exploring, and the fault of a kernel that raised."""
    board, run, scores, count = seen.board, seen.run, seen.scores[2], seen.arms.shape[1]
    kind = base.kind
    if kind == EPSILON:
        rate = min(1.0, t ** (-1.0 / 3.0)) if base.rate < 0.0 else base.rate
        if rng.random() >= rate:
            return greedy_arm(board, run, base.random_ties, rng, scores), False, 0
        return any_arm(count, rng), True, 0
    if kind == HYBRID and rng.random() >= base.rate:
        return greedy_arm(board, run, base.random_ties, rng, scores), False, 0
    if kind == ROBIN:
        return (t - 1) % count, True, 0
    if kind == UNIFORM:
        return any_arm(count, rng), True, 0
    if kind == GREEDY:
        return greedy_arm(board, run, base.random_ties, rng, scores), False, 0
    if kind == LINUCB:
        return optimistic_arm(base, seen.penalty, board, run, rng, scores, seen.places), True, 0
    if kind == KERNEL:
        arm, fault = call(base.address, t, seen, rng)
        return (arm, True, fault) if arm >= -1 else (-2 - arm, False, fault)
    if kind not in (LINTS, LINTS_SPHERICAL, HYBRID):
        raise NoSuchKind(kind)
    arm = sampled_arm(base, seen.penalty, seen.arms, seen.solved, seen.vectors, run, rng, seen.sample, scores)
    return arm, True, 0
