"""LASSO of the sums of a ridge, for the loop of the LASSO bandits."""

import numpy as np

from infex.arrays import Floats
from infex.kernels.compiling import within
from infex.kernels.least_squares import descend


@within
def lasso(truth: Floats, told: float, strength: float, theta: Floats) -> None:
    """LASSO by sums of so many rewards, from theta on, in its place."""
    d = theta.size
    if told == 0.0:
        return
    gram, moment = np.empty((d, d)), np.empty(d)
    for i in range(d):
        moment[i] = (truth[0, d, i] + truth[1, d, i]) / told
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = (truth[0, i, j] + truth[1, i, j]) / told
    descend(gram, moment, strength, theta)
