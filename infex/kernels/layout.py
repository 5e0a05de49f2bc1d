"""The layout of a ridge's state, and the limits its kernels keep; see `kernels`."""

import math

import numpy as np

from infex.arrays import Floats

TIE = 1e-12  # how near the best, relative to 1 + |best|, a tied arm is
SCREEN = 1e-9  # how near it an arm's exact score is looked at
FALL = 8.0
LONGEST = math.exp(FALL)
CLOSED = 64
MOST_PULLS = 4096.0
HUGE = 1e150
FINE = 1e-6  # below this penalty sums and the factor are of 32 digits (see `pairs`)
HEAVY = 2.0 * MOST_PULLS  # n |x|^2 against the penalty from which on they are added with 32 digits
STEEP = 1e9  # the trace of V, against its least pivot, from which on floats lose its small directions
LARGE = 2.0**20  # a reward beyond it is in no run with others that are so much smaller
LITTLE = 1e-6  # growth of a pivot, against the penalty, of which log(1 + growth) would lose digits
LINE = 8  # numbers in a line of the processor's cache

# The scalars of a run: its arm (-1 is none), n, S, q, x'theta at its start, phi, psi; and of the
# whole: the volume at the run's start, and runs closed since all was computed anew.
ARM, N, SUM, Q, START, PHI, PSI, VOLUME, RUNS, RUN = range(10)


def aligned(*shapes: tuple[int, ...]) -> list[Floats]:
    """Zeros of these shapes, each from the start of a line of the processor's cache: loops take less time."""
    sizes = [math.prod(shape) for shape in shapes]
    room = np.zeros(sum(sizes) + LINE * len(sizes))
    place = -room.__array_interface__["data"][0] // room.itemsize % LINE
    found = []
    for shape, size in zip(shapes, sizes, strict=True):
        found.append(room[place : place + size].reshape(shape))
        place += -(-size // LINE) * LINE
    return found


def blank(dim: int, arms: int) -> list[Floats]:
    """Room for the state of a ridge beside its columns: truth, solved, board, vectors, run."""
    return aligned((2, dim + 1, dim), (dim + 1, dim), (4, arms), (4, dim), (RUN,))
