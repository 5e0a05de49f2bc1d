"""What problems draw: arms that come anew in every round, and parameters that walk."""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal

from infex.core.choosing cimport bits_of


cdef int _check_count(double[:, :, ::1] block, int64_t count) except -1:
    if not 0 <= count <= block.shape[2]:
        raise ValueError(f"count must be from 0 to {block.shape[2]}, got {count}")
    return 0


def draw_arms(double[:, :, ::1] block not None, int64_t count, rng):
    """Fills the first `count` columns of a block, (rounds, d, K), with arms N(0, I/(2d)) cut to length 1."""
    cdef bitgen_t *bits = bits_of(rng)
    cdef int64_t rounds = block.shape[0], d = block.shape[1], t, i, k
    _check_count(block, count)
    if d == 0:
        raise ValueError("arms must have a feature, got none")
    cdef double[::1] squares = np.empty(count)
    cdef double scale = sqrt(1.0 / (2.0 * d)), value
    with nogil:
        for t in range(rounds):
            for k in range(count):
                squares[k] = 0.0
            for i in range(d):
                for k in range(count):
                    value = scale * random_standard_normal(bits)
                    block[t, i, k] = value
                    squares[k] += value * value
            for k in range(count):
                if squares[k] > 1.0:
                    for i in range(d):
                        block[t, i, k] /= sqrt(squares[k])


def shift_arms(double[:, :, ::1] block not None, int64_t count, const double[::1] theta not None, double limit):
    """Moves the first `count` columns of a block, (rounds, d, K), along theta until their means are at most `limit`."""
    cdef int64_t rounds = block.shape[0], d = block.shape[1], t, i, k
    cdef double square = 0.0, mean
    _check_count(block, count)
    if theta.shape[0] != d:
        raise ValueError(f"theta must have {d} numbers, got {theta.shape[0]}")
    for i in range(d):
        square += theta[i] * theta[i]
    if not square > 0.0:
        raise ValueError("arms cannot be moved along a theta of length 0")
    with nogil:
        for t in range(rounds):
            for k in range(count):
                mean = 0.0
                for i in range(d):
                    mean += block[t, i, k] * theta[i]
                for i in range(d):
                    block[t, i, k] -= max(mean - limit, 0.0) / square * theta[i]


def random_walk(const double[::1] theta not None, double length, double size, int64_t rows, bint started, rng):
    """A walk on the sphere of that length, (rows, d); theta is its first row unless it has `started`.

    Each step adds a normal vector of expected length `size` times `length`, and goes back to the sphere.
    """
    cdef bitgen_t *bits = bits_of(rng)
    cdef int64_t d = theta.shape[0], r, i
    if d == 0 or rows < 0:
        raise ValueError(f"theta must have a number, and there must be 0 rows or more; got {d} and {rows}")
    out = np.empty((rows, d))
    cdef double[:, ::1] thetas = out
    cdef double[::1] here = np.array(theta)
    cdef double square
    with nogil:
        for r in range(rows):
            if r > 0 or started:
                square = 0.0
                for i in range(d):
                    here[i] += size * length * random_standard_normal(bits) / sqrt(<double>d)
                    square += here[i] * here[i]
                for i in range(d):
                    here[i] *= length / sqrt(square) if square > 0.0 else 0.0
            for i in range(d):
                thetas[r, i] = here[i]
    return out
