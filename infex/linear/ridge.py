"""Ridge statistics, kept up with every reward in O(d^2) and, over a fixed arm set, O(d K)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.checks import real
from infex.kernels.layout import blank
from infex.kernels.view import View, viewed
from infex.linear.moments import Moments

if TYPE_CHECKING:
    from infex.linear.offer import Offer

LEAST = 1e-10  # the penalty with which V can still be factored when arms lie in a plane


def checked_penalty(penalty: float) -> float:
    """`penalty`, if V can be factored with it."""
    return real("penalty", real("penalty", penalty, above=0), least=LEAST)


@final
class Ridge:
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    `truth` is what was learnt, summed without loss, from `told` rewards; all else is derived from
    it, kept up by exact algebra, and computed anew before rounding can tell (see `kernels`).
    `columns` are the arms, (d, K); K may be 0.
    """

    __slots__ = ("_board", "_run", "_solved", "_vectors", "columns", "penalty", "told", "truth")

    lasting = True
    """Are these arms on offer in every round?"""
    squares = True

    def __init__(self, columns: Floats, penalty: float = 1.0) -> None:
        dim, arms = columns.shape
        self.penalty = checked_penalty(penalty)
        self.columns = np.ascontiguousarray(columns, dtype=np.float64)
        self.told = 0
        self.truth, self._solved, self._board, self._vectors, self._run = blank(dim, arms)
        self._refresh()

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def theta(self) -> Floats:
        """The estimate V^-1 b."""
        return self.perturbed(0.0, np.zeros(self.dim))

    @property
    def volume(self) -> float:
        """alpha = log(det V/det V_0)."""
        return kernels.volume(self._run)

    @property
    def state(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """The six arrays of `kernels`: truth, solved, columns, board, vectors, run."""
        return self.truth, self._solved, self.columns, self._board, self._vectors, self._run

    def learn(self, arm: int, reward: float) -> None:
        """Takes in one reward of an arm; O(1) while the same arm goes on."""
        self.told += 1
        kernels.learn(
            self.truth, self.penalty, self._solved, self.columns, self._board, self._vectors, self._run,
            arm, reward,
        )  # fmt: skip

    def absorb(self, x: Floats, reward: float, weight: float = 1.0) -> None:
        """Takes in one reward of any x, an arm on the board or not; `weight` is that of its square."""
        if weight != 1.0:
            root = math.sqrt(weight)
            x, reward = root * x, root * reward
        self.told += 1
        kernels.absorb(
            self.truth, self.penalty, self._solved, self.columns, self._board, self._vectors, self._run,
            x, reward,
        )  # fmt: skip

    def settle(self) -> None:
        """Computes all that is derived anew from the truth."""
        self._close()
        self._refresh()

    def add(self, other: Ridge) -> None:
        """Takes in all that another has learnt."""
        self._close()
        self.told += other.told
        kernels.add_truth(self.truth, other.snapshot())
        self._refresh()

    def over(self, columns: Floats) -> Ridge:
        """What was learnt, over other arms."""
        found = Ridge(columns, self.penalty)
        found.restore(self.arrays())
        return found

    def on(self, columns: Floats) -> Offer:
        """What is known of other arms."""
        from infex.linear.offer import Offer

        return Offer(self, columns)

    def arrays(self) -> dict[str, Any]:
        """What was learnt, as arrays to be kept."""
        return {"truth": self.snapshot(), "told": np.array(self.told)}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Takes what was learnt from arrays that were kept, in the place of all that is here."""
        self.truth[:] = arrays["truth"]
        self.told = int(arrays["told"])
        self._run[:] = 0.0
        self._refresh()

    def moments(self) -> Moments:
        """What was learnt, as sums."""
        return Moments.of(self.snapshot(), self.told)

    def snapshot(self) -> Floats:
        """A copy of the truth with the run under way in it, which goes on as it is."""
        truth = self.truth.copy()
        kernels.add_pulls(truth, self.penalty, self._vectors[0], self._run[kernels.N], self._run[kernels.SUM])
        return truth

    def estimates(self) -> tuple[int, Floats]:
        """The greedy arm, and every arm's estimate x'theta."""
        out = np.empty(self.columns.shape[1])
        return kernels.estimates(self._board, self._run, out), out

    def widths(self) -> Floats:
        """Every arm's width |x| in V^-1."""
        out = np.empty(self.columns.shape[1])
        kernels.widths(self._board, self._run, out)
        return out

    def width(self, arm: int) -> float:
        """One arm's width."""
        return kernels.arm_width(self._board, self._run, arm)

    def upper(self, beta: float) -> Floats:
        """Every arm's x'theta + beta |x| in V^-1."""
        out = np.empty(self.columns.shape[1])
        kernels.upper(self._board, self._run, beta, out)
        return out

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        """The parameter theta + scale M'direction, where M'M = V^-1."""
        out = np.empty(self.dim)
        kernels.perturb(self._solved, self._vectors, self._run, scale, direction, out)
        return out

    def means(self, scores: Floats) -> Floats:
        """The scores themselves."""
        return scores

    def view(self, settings: Floats) -> View:
        """What a kernel sees of the arms."""
        return self.view_of(self.columns, self._board, settings)

    def view_of(self, columns: Floats, board: Floats, settings: Floats) -> View:
        """What a kernel sees of other arms, whose board was scored just now."""
        return viewed(columns, settings, self.penalty, board, self._run, self._solved, self._vectors)

    def scored(self, columns: Floats) -> Floats:
        """A board of their own for other arms."""
        self._close()
        board = np.empty((4, columns.shape[1]))
        kernels.direct(self._solved, columns, board)
        return board

    def _close(self) -> None:
        kernels.close_run(
            self.truth, self.penalty, self._solved, self.columns, self._board, self._vectors, self._run
        )

    def _refresh(self) -> None:
        kernels.refresh(self.truth, self.penalty, self._solved, self.columns, self._board, self._run)
