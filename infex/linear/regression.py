"""Ridge regression, kept up with every reward in O(d^2) and, over a fixed arm set, O(d K)."""

from __future__ import annotations

import math
from sys import getrefcount
from typing import final

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.checks import real
from infex.errors import DamagedFile
from infex.kernels.layout import CLOSED, RUNS, VOLUME, blank
from infex.linear.estimating import Arrays
from infex.linear.known import Known, Learnt

LEAST_PENALTY = 1e-10  # with which V can still be factored when arms lie in a plane
NEAR = 1e-6  # how far a kept figure may be from one that is computed anew


def checked_penalty(penalty: float) -> float:
    """`penalty`, if V can be factored with it."""
    return real("penalty", real("penalty", penalty, above=0), least=LEAST_PENALTY)


@final
class RidgeStatistics:
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    The truth is what was learnt, summed without loss, from `told` rewards; all else is derived from
    it, kept up by exact algebra, and computed anew before rounding can tell (see `kernels`).
    `columns` are the arms, (d, K); K may be 0. `counts` are pulls and summed rewards of each.
    """

    __slots__ = (
        "_arm",
        "_board",
        "_known",
        "_learnt",
        "_stale",
        "columns",
        "counts",
        "penalty",
        "told",
        "truth",
    )

    squares = True

    def __init__(self, columns: Floats, penalty: float = 1.0) -> None:
        dim, arms = columns.shape
        self.penalty = checked_penalty(penalty)
        self.columns = np.ascontiguousarray(columns, dtype=np.float64)
        self.told = 0
        self._known: Known | None = None
        self._stale = False  # is `_known` of before the last change? (Then nobody else holds it.)
        self.counts: Floats = np.zeros((2, arms))
        truth, solved, self._board, vectors, run = blank(dim, arms)
        self._take(truth, solved, vectors, run)
        self._refresh()

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def state(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """The six arrays of `kernels`, for a loop that changes them."""
        self._part()
        self._arm = -1  # after which this one does not know what run is under way
        learnt = self._learnt
        return self.truth, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run

    def greedy_glance(self, numbers: Floats) -> tuple[int, int, float, float, float]:
        """One greedy decision in one call: see `kernels.greedy_glance`."""
        return kernels.greedy_glance(self._board, self._learnt.run, numbers)

    def glance(self, numbers: Floats, work: Floats, places: Integers) -> tuple[int, int, float, float, float]:
        """One optimistic decision in one call: see `kernels.glance`."""
        return kernels.glance(self._board, self._learnt.run, numbers, work, places)

    def known(self) -> Known:
        """What is known of the arms, as numbers that stay as they are."""
        known = self._known
        if known is None:
            known = self._known = Known(
                self._learnt, self.columns, self.told, board=self._board, counts=self.counts, lasting=True
            )
        elif self._stale:
            known.look(self.told)
        self._stale = False
        return known

    def refuse(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def entered(self) -> None:
        """Nothing is searched for."""

    def learn(self, on: int | Floats, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm, O(1) while the same arm goes on, or of any x."""
        if self._known is not None and not self._stale:
            self._part()
        self.told += 1
        learnt = self._learnt
        if weight == 1.0 and isinstance(on, int):
            if on == self._arm:  # the common case, with fewer arrays to hand over
                if kernels.pull_counted(learnt.run, self.counts, on, reward):
                    self._close()
                    self._arm = -1
                return
            kernels.learn_counted(
                self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors,
                learnt.run, self.counts, on, reward,
            )  # fmt: skip
            self._arm = int(learnt.run[kernels.ARM])
            return
        self._arm = -1
        if isinstance(on, int):
            self.counts[:, on] += 1.0, reward
            x: Floats = self.columns[:, on].copy()
        else:
            x = on
        root = math.sqrt(weight)
        kernels.absorb(
            self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run,
            x if weight == 1.0 else root * x, reward if weight == 1.0 else root * reward,
        )  # fmt: skip

    def add(self, other: RidgeStatistics, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self._part()
        self._close()
        self.told += other.told
        kernels.add_truth(self.truth, other.snapshot())
        self.counts += moved(other.counts, places, self.counts.shape[1])
        self._refresh()

    def over(self, columns: Floats, places: Integers) -> RidgeStatistics:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other = RidgeStatistics(columns, self.penalty)
        other._begin(self.snapshot(), self.told)
        known = places >= 0
        other.counts[:, known] = self.counts[:, places[known]]
        return other

    def arrays(self) -> Arrays:
        """What was learnt, and all that it takes to go on bit for bit.

        The truth has the run under way in it, for an estimator that knows of no runs; `closed` has not.
        """
        learnt = self._learnt
        kept = {"closed": self.truth, "counts": self.counts, "told": np.array(self.told)}
        kept |= {"solved": learnt.solved, "vectors": learnt.vectors, "run": learnt.run, "board": self._board}
        return {"truth": self.snapshot()} | {name: array.copy() for name, array in kept.items()}

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; what is derived must follow from the truth."""
        kept = self.arrays()
        told = int(fitting("told", arrays["told"], (), whole=True))
        truth = fitting("truth", arrays["truth"], kept["truth"].shape)
        counts = fitting_counts(arrays["counts"], self.columns.shape[1])
        if "closed" not in arrays:  # of format 1, or of another estimator
            self._begin(truth, told)
            self.counts[:] = counts
            return
        names = ("closed", "solved", "vectors", "run", "board")
        closed, solved, vectors, run, board = (
            fitting(name, arrays[name], kept[name].shape) for name in names
        )
        other = RidgeStatistics(self.columns, self.penalty)
        other._take(closed, solved, vectors, run)
        other._board, other.counts, other.told = board, counts, told
        with np.errstate(all="ignore"):  # numbers of a file may be anything
            other._refuse_strange(truth)
        self.told, self.counts, self._board = told, counts, board
        self._known, self._stale = None, False
        self._take(closed, solved, vectors, run)

    def snapshot(self) -> Floats:
        """A copy of the truth with the run under way in it, which goes on as it is."""
        truth, learnt = self.truth.copy(), self._learnt
        kernels.add_pulls(
            truth, self.penalty, learnt.vectors[0], learnt.run[kernels.N], learnt.run[kernels.SUM]
        )
        return truth

    def _begin(self, truth: Floats, told: int) -> None:
        """Starts from a truth, with no run under way."""
        self._part()
        self.truth[:] = truth
        self.told = told
        self._learnt.run[:] = 0.0
        self._refresh()

    def _take(self, truth: Floats, solved: Floats, vectors: Floats, run: Floats) -> None:
        self.truth = truth
        self._arm = int(run[kernels.ARM]) if run[kernels.N] > 0.0 else -1
        self._learnt = Learnt(solved, vectors, run, self.penalty, truth)

    def _part(self) -> None:
        """Before a change: leaves the arrays to whoever still reads them, and goes on with copies."""
        known, self._known = self._known, None
        if known is None:
            return
        if getrefcount(known) == ALONE and self._board.shape[1]:
            self._known, self._stale = known, True  # nobody else reads it: it can be read anew
            return
        if getrefcount(known) > ALONE:
            learnt = self._learnt
            self._board, self.counts = self._board.copy(), self.counts.copy()
            self._take(self.truth.copy(), learnt.solved.copy(), learnt.vectors.copy(), learnt.run.copy())

    def _refuse_strange(self, truth: Floats) -> None:
        """Refuses numbers that do not follow from the truth, before a loop reads them."""
        run, arm = self._learnt.run, self._learnt.run[kernels.ARM]
        if arm != int(arm) or not -1 <= arm < self.columns.shape[1] or run[kernels.N] < 0.0:
            raise DamagedFile(f"a run of arm {arm:g} with {run[kernels.N]:g} pulls cannot be")
        if arm >= 0 and not np.array_equal(self._learnt.vectors[0], self.columns[:, int(arm)]):
            raise DamagedFile("the run under way is not of the arm that it names")
        if not np.array_equal(self.snapshot(), truth):
            raise DamagedFile("the run under way is not what its sums lack")
        self._refuse_run()
        fresh = self.over(self.columns, np.full(self.columns.shape[1], -1)).known()
        mine = self.known()
        pairs: dict[str, tuple[Floats | float, Floats | float]] = {
            "theta": (mine.theta, fresh.theta),
            "factor": (mine.factor, fresh.factor),
            "estimates": (mine.estimates, fresh.estimates),
            "widths": (mine.widths, fresh.widths),
            "volume": (mine.volume, fresh.volume),
        }
        for name, (kept, anew) in pairs.items():
            if not _near(kept, anew):
                raise DamagedFile(f"its {name} does not follow from what was learnt")

    def _refuse_run(self) -> None:
        """Refuses a run whose scalars and vectors do not follow from the factor and its x."""
        solved, vectors, run, *_ = self._learnt
        x, n = vectors[0], run[kernels.N]
        p = solved[:-1] @ x if n > 0.0 else np.zeros(x.size)
        u, q = solved[:-1].T @ p, float(p @ p)
        start = float(x @ solved[-1]) if n > 0.0 else 0.0
        phi, psi = (run[kernels.SUM] - n * start) / (1.0 + n * q), n / (1.0 + n * q)
        pairs = [
            (run[kernels.Q], q),
            (run[kernels.START], start),
            (run[kernels.PHI], phi),
            (run[kernels.PSI], psi),
        ]
        if n > 0.0:
            pairs += [(vectors[1], p), (vectors[2], u), (self._board[2], self.columns.T @ u)]
        if not all(_near(kept, anew) for kept, anew in pairs):
            raise DamagedFile("the run under way does not follow from what was learnt before it")
        if (
            run[RUNS] < 0.0
            or run[RUNS] > CLOSED * self.dim
            or run[VOLUME] < 0.0
            or (self._board[3] < 0.0).any()
        ):
            raise DamagedFile("the counts of runs in it cannot be")

    def _close(self) -> None:
        self._arm = -1
        learnt = self._learnt
        kernels.close_run(
            self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run
        )

    def _refresh(self) -> None:
        self._arm = -1
        learnt = self._learnt
        kernels.refresh(self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.run)


def _near(kept: Floats | float, anew: Floats | float) -> bool:
    """Is every kept number as good as the one computed anew? Never of one that is no number."""
    return bool(np.all(np.abs(kept - anew) <= NEAR * (1.0 + np.max(np.abs(anew), initial=0.0))))


def _count_of_one_name() -> int:
    held = object()
    return getrefcount(held)


ALONE = _count_of_one_name()  # what `getrefcount` says of an object that one local name holds
