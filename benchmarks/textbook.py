"""Ask and tell as a textbook has it, in NumPy: the yardstick."""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@final
class Textbook:
    """INFEX(LinUCB, every m-th round): Sherman-Morrison, one matrix product for widths; m = 1 is LinUCB."""

    def __init__(self, arms: Floats, period: int, delta: float) -> None:
        self.arms = arms
        self.period = period
        self.inverse = np.eye(arms.shape[1])
        self.moment = np.zeros(arms.shape[1])
        self.log_det_ratio = 0.0
        self.spread = 2 * math.log(1 / delta)
        self.t = 0

    def ask(self) -> int:
        """The arm to play."""
        self.t += 1
        scores = self.arms @ (self.inverse @ self.moment)
        if self.t % self.period == 0:
            widths = np.sqrt(np.sum((self.arms @ self.inverse) * self.arms, axis=1))
            scores = scores + (math.sqrt(self.log_det_ratio + self.spread) + 1) * widths
        return int(np.argmax(scores))

    def tell(self, arm: int, reward: float) -> None:
        """Takes in a reward."""
        x = self.arms[arm]
        u = self.inverse @ x
        q = float(x @ u)
        self.inverse -= np.outer(u, u) / (1 + q)
        self.moment += reward * x
        self.log_det_ratio += math.log1p(q)
