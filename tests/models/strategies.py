"""Random boards and rewards for property tests."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from infex.arrays import Floats
from infex.testing.reference import Pull


class Case(NamedTuple):
    arms: Floats
    pulls: list[Pull]
    penalty: float
    rng: np.random.Generator


@st.composite
def cases(draw: Any, most_dim: int = 50, most_arms: int = 12, most_pulls: int = 60) -> Case:
    """Arms in the unit ball, pulls in runs, and a penalty from 0.01 to 100; no pulls at all, too."""
    dim = draw(st.integers(1, most_dim))
    count = draw(st.integers(1, most_arms))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    arms = rng.standard_normal((count, dim))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    arms *= rng.random((count, 1)) ** (1 / dim)
    pulls: list[Pull] = []
    for _ in range(draw(st.integers(0, 8))):
        arm = int(rng.integers(count))
        for _ in range(int(rng.integers(1, max(most_pulls // 8, 2)))):
            pulls.append(Pull(arm, float(rng.standard_normal()), bool(rng.random() < 0.5)))
    return Case(arms, pulls, 10 ** draw(st.floats(-2, 2)), rng)
