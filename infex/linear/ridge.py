"""Ridge statistics, kept up with every reward in O(d^2) and, over a fixed arm set, O(d K)."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from infex.checks import real
from infex.linear import kernels
from infex.linear.kernels import Floats

GROWTH = 8.0  # growth of the volume, and
CLOSED = 64  # runs for each dimension, after which what is derived is computed anew
LONGEST = math.exp(GROWTH)  # 1 + n q of a run that alone brings that growth


@final
class Ridge:
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    `gram`, sum x x', and `moment`, b, are the truth, summed without loss. Factor, theta, scores
    and squared widths are derived from it, kept up by exact algebra (see `kernels`), and computed
    anew before rounding can tell: after enough runs, or once the volume has grown by 8, as
    cancellation in a squared width is bounded by the growth of the determinant. `columns` are
    the arms, (d, K); K may be 0.
    """

    __slots__ = (
        "_along", "_arm", "_closed", "_fresh", "_n", "_p", "_q", "_start", "_total", "_u", "_volume", "_x",
        "columns", "factor", "gram", "moment", "penalty", "phi", "psi", "scores", "squares", "theta",
    )  # fmt: skip

    def __init__(
        self,
        columns: Floats,
        penalty: float = 1.0,
        *,
        gram: Floats | None = None,
        moment: Floats | None = None,
    ) -> None:
        dim, arms = columns.shape
        self.columns = np.ascontiguousarray(columns, dtype=np.float64)
        self.penalty = real("penalty", penalty, above=0)
        self.gram = np.zeros((2, dim, dim)) if gram is None else gram.copy()
        self.moment = np.zeros((2, dim)) if moment is None else moment.copy()
        self.factor = np.zeros((dim, dim))
        self.theta = np.zeros(dim)
        self.scores = np.empty(arms)
        self.squares = np.empty(arms)
        self._x, self._p, self._u, self._along = (np.zeros(size) for size in (dim, dim, dim, arms))
        self._rest()
        self._refresh()

    @property
    def dim(self) -> int:
        """The dimension d."""
        return self.theta.size

    @property
    def volume(self) -> float:
        """alpha = log(det V/det V_0)."""
        return self._volume + math.log1p(self._n * self._q)

    def learn(self, arm: int, reward: float) -> None:
        """Takes in one reward of an arm; O(1) while the same arm goes on."""
        if arm != self._arm:
            self._close()
            self._open(arm)
        self._pull(reward)

    def absorb(self, x: Floats, reward: float) -> None:
        """Takes in one reward of any x, an arm on the board or not."""
        self._close()
        self._x[:] = x
        self._open(-1)
        self._pull(reward)
        self._close()

    def settle(self) -> None:
        """Computes all that is derived anew from the truth."""
        self._close()
        self._refresh()

    def add(self, other: Ridge) -> None:
        """Takes in all that another has learnt."""
        self._close()
        other._close()
        kernels.add_sums(self.gram.reshape(2, -1), other.gram.reshape(2, -1))
        kernels.add_sums(self.moment, other.moment)
        self._refresh()

    def over(self, columns: Floats) -> Ridge:
        """What was learnt, over other arms."""
        self._close()
        return Ridge(columns, self.penalty, gram=self.gram, moment=self.moment)

    def estimates(self) -> tuple[int, Floats]:
        """The greedy arm, and every arm's estimate x'theta."""
        out = np.empty(self.scores.size)
        return kernels.best_estimate(self.scores, self._along, self.phi, out), out

    def widths(self) -> Floats:
        """Every arm's width |x| in V^-1."""
        out = np.empty(self.scores.size)
        kernels.widths(self.squares, self._along, self.psi, out)
        return out

    def width(self, arm: int) -> float:
        """One arm's width."""
        along = self._along.item(arm)
        return math.sqrt(max(self.squares.item(arm) - self.psi * along * along, 0.0))

    def upper(self, beta: float) -> Floats:
        """Every arm's x'theta + beta |x| in V^-1."""
        out = np.empty(self.scores.size)
        kernels.upper(self.scores, self.squares, self._along, self.phi, self.psi, beta, out)
        return out

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        """The parameter theta + scale M'direction."""
        out = np.empty(self.dim)
        kernels.perturb(
            self.factor, self.theta, self._p, self._u, float(self._n), self.phi, scale, direction, out
        )
        return out

    def _rest(self) -> None:
        """No run is under way."""
        self._arm = -1
        self._n = 0
        self._total = self._start = self._q = self.phi = self.psi = 0.0

    def _open(self, arm: int) -> None:
        self._q, self._start = kernels.open_run(
            self.factor, self.theta, self.columns, arm, self._x, self._p, self._u, self._along
        )
        self._arm = arm

    def _pull(self, reward: float) -> None:
        self._n += 1
        self._total += reward
        pulls = 1.0 + self._n * self._q
        self.phi = (self._total - self._n * self._start) / pulls
        self.psi = self._n / pulls
        if pulls > LONGEST:
            self._close()

    def _close(self) -> None:
        if self._n == 0:
            return
        kernels.close_run(
            self.gram, self.moment, self.factor, self.theta, self.scores, self.squares,
            self._x, self._p, self._u, self._along, float(self._n), self._total, self.phi, self.psi,
        )  # fmt: skip
        self._volume = self.volume
        self._rest()
        self._closed += 1
        if self._closed > CLOSED * self.dim or self._volume - self._fresh > GROWTH:
            self._refresh()

    def _refresh(self) -> None:
        self._volume = kernels.refresh(self.gram, self.moment, self.penalty, self.factor, self.theta)
        kernels.direct(self.factor, self.columns, self.theta, self.scores, self.squares)
        self._fresh = self._volume
        self._closed = 0
