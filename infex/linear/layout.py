"""The layout of a ridge's state, and the limits its kernels keep; see `kernels`."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TIE = 1e-12  # how near the best, relative to 1 + |best|, a tied arm is
SCREEN = 1e-9  # how near it an arm's exact score is looked at
FALL = 8.0
LONGEST = math.exp(FALL)
CLOSED = 64
MOST_PULLS = 4096.0

# The scalars of a run: its arm (-1 is none), n, S, q, x'theta at its start, phi, psi; and of the
# whole: the volume at the run's start, and runs closed since all was computed anew.
ARM, N, SUM, Q, START, PHI, PSI, VOLUME, RUNS, RUN = range(10)
