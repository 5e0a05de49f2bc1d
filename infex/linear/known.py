"""What is known of some arms, as numbers that stay as they are."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, shown
from infex.errors import InvalidChoice, NotKept
from infex.kernels.awaiting import narrow
from infex.kernels.layout import RUNS, blank
from infex.linear.moments import Moments
from infex.linear.offers import InContext, Offer, On, Radius, radius_at

LINEAR, LOGISTIC = "linear", "logistic"


class Learnt(NamedTuple):
    """What was learnt, in the arrays that `infex.kernels` describes: theta, a factor M, the volume, a run.

    M'M is the covariance of theta. `link` says what a score x'theta is: a mean, or the log-odds of
    a reward of 1. `truth` are the sums, None where an estimator keeps none.
    """

    solved: Floats
    vectors: Floats
    run: Floats
    penalty: float
    truth: Floats | None
    link: str = LINEAR

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        """The parameter theta + scale M'direction."""
        out, work = np.empty(direction.size), np.empty(direction.size)
        kernels.perturb(self.solved, self.vectors, self.run, scale, direction, out, work)
        return out

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""
        return self.perturbed(0.0, np.zeros(self.vectors.shape[1]))

    @property
    def factor(self) -> Floats:
        """M, (d, d): the run under way is in it."""
        dim = self.vectors.shape[1]
        if self.run[kernels.N] == 0.0:
            return self.solved[:dim].copy()
        at_zero = self._at_zero()  # theta, if it is large, would round M away
        return np.array([at_zero.perturbed(1.0, unit) for unit in np.eye(dim)])

    @property
    def volume(self) -> float:
        """alpha = log(det V/det V_0)."""
        return kernels.volume(self.run)

    def settled(self) -> Learnt:
        """The same for arms that are not kept up: computed anew where updates may have lost theta there."""
        updated = self.run[RUNS] > 0.0 or self.run[kernels.N] > 0.0
        if self.truth is None or not updated or not kernels.is_steep(self.truth, self.solved):
            return self
        truth, dim = self.whole_truth(), self.vectors.shape[1]
        _, solved, board, vectors, run = blank(dim, 0)
        kernels.refresh(truth, self.penalty, solved, np.zeros((dim, 0)), board, run)
        return Learnt(solved, vectors, run, self.penalty, truth, self.link)

    def narrowed(self, awaited: Integers) -> Learnt:
        """The same theta with a sum of x x' over pending decisions in V: see `kernels.awaiting`."""
        solved, run = np.empty_like(self.solved), np.empty_like(self.run)
        narrow(self.solved, self.vectors, self.run, awaited, solved, run)
        truth = None if self.truth is None else self.whole_truth()
        return Learnt(solved, np.zeros_like(self.vectors), run, self.penalty, truth, self.link)

    def _at_zero(self) -> Learnt:
        """The same about a theta of 0."""
        solved, run = self.solved.copy(), self.run.copy()
        solved[-1], run[kernels.PHI] = 0.0, 0.0
        return self._replace(solved=solved, run=run)

    def whole_truth(self) -> Floats:
        """A copy of the sums, with the run under way in them."""
        truth, run = np.array(self.truth), self.run
        kernels.add_pulls(truth, self.penalty, self.vectors[0], run[kernels.N], run[kernels.SUM])
        return truth


def chance(odds: Floats) -> Floats:
    """1/(1 + exp(-odds)), for odds of any size."""
    chances: Floats = np.array(odds, dtype=np.float64)
    kernels.to_chances(chances)
    return chances


def one_radius(radius: Radius) -> float:
    """A radius, if it is one for all arms."""
    if isinstance(radius, np.ndarray) and radius.ndim:
        raise InvalidChoice(f"arms that share one regression have one radius, got {radius.size}")
    return float(radius)


@final
class Known:
    """What is known of the K arms in `columns`, (d, K); every figure is of the moment it was made.

    With a `board` the scores are kept up (and linear), else each figure is computed when asked for.
    `counts` are pulls and summed rewards of fixed arms, (2, K). Whoever made the arrays leaves them
    alone as long as this object lives: `source` is another one whose arrays it reads. With `same_estimates`
    these are those of the source, over the same arms.
    """

    __slots__ = (
        "_board", "_counts", "_estimates", "_greedy_width", "_learnt", "_same", "_source", "_told", "_widths",
        "columns", "greedy", "lasting", "volume",
    )  # fmt: skip

    def __init__(
        self,
        learnt: Learnt,
        columns: Floats,
        told: int,
        *,
        board: Floats | None = None,
        counts: Floats | None = None,
        lasting: bool = False,
        source: Known | None = None,
        same_estimates: bool = False,
    ) -> None:
        self._learnt = learnt
        self._board = board
        self._counts = counts
        self._told = told
        self._source = source
        self._widths: Floats | None = None
        self._greedy_width: float | None = None
        self.columns = columns
        self.lasting = lasting
        self._same = same_estimates
        self.greedy: int = -1
        self._estimates: Floats = np.empty(columns.shape[1])
        if source is not None and same_estimates:
            self._estimates, self.greedy, self.volume = source._estimates, source.greedy, learnt.volume
            return
        if board is not None and self._estimates.size:
            self.look()
            return
        self.volume = learnt.volume
        if self._estimates.size:  # none are there where arms change every round
            kernels.product(columns, learnt.theta, self._estimates)
            if learnt.link == LOGISTIC:
                self._estimates = chance(self._estimates)
            self.greedy = kernels.best(self._estimates)

    def look(self, told: int | None = None) -> None:
        """Reads all figures anew, of arms that are kept up: for its maker, if nobody else holds it."""
        self._told = self._told if told is None else told
        self._widths = None
        self._estimates = np.empty(self._estimates.size)  # somebody may still hold the old ones
        run = self._learnt.run
        self.greedy, self.volume, self._greedy_width = kernels.look(self._scored(), run, self._estimates)

    @property
    def count(self) -> int:
        """K."""
        return int(self.columns.shape[1])

    @property
    def dim(self) -> int:
        """d."""
        return int(self.columns.shape[0])

    @property
    def drawn(self) -> tuple[int, ...]:
        """One draw for each feature, (d,)."""
        return (self.columns.shape[0],)

    @property
    def counted(self) -> bool:
        """Were rewards counted by arm?"""
        return self._counts is not None

    @property
    def told(self) -> int:
        """How many rewards are in it."""
        return self._told

    @property
    def learnt(self) -> Learnt:
        """What was learnt, as it is read for arms that are not kept up."""
        return self._learnt.settled()

    @property
    def penalty(self) -> float:
        """The ridge penalty: V_0 = penalty I."""
        return self._learnt.penalty

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""
        return self._learnt.settled().theta

    @property
    def factor(self) -> Floats:
        """A lower triangular M with M'M the covariance of theta, (d, d)."""
        return self._learnt.factor

    @property
    def estimates(self) -> Floats:
        """Every arm's estimated mean reward, (K,)."""
        return shown(self._estimates)

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""
        return self._estimates.item(arm)

    @property
    def widths(self) -> Floats:
        """Every arm's width, (K,)."""
        found = self._widths
        if found is None:
            found = np.empty(self.columns.shape[1])
            kernels.widths(self._scored(), self._learnt.run, found)
            if self._learnt.link == LOGISTIC:
                found *= self._estimates * (1.0 - self._estimates)
            self._widths = found  # whole: another thread may read it
        return shown(found)

    def width(self, arm: int) -> float:
        """One arm's width."""
        if arm == self.greedy and self._greedy_width is not None:
            return self._greedy_width
        if self._learnt.link == LOGISTIC:
            return float(self.widths[arm])
        if self._board is not None:
            return kernels.arm_width(self._board, self._learnt.run, arm)
        return self._over(self._learnt, self.columns[:, arm : arm + 1]).widths.item()

    def radii(self, noise: float, bound: float, delta: float) -> float:
        """The confidence radius, one for all arms."""
        return kernels.radius(self.volume, self.penalty, noise, bound, delta)

    def upper(self, beta: Radius) -> Floats:
        """Every arm's upper bound: estimate + beta width; for chances, that of the log-odds."""
        out = np.empty(self.columns.shape[1])
        kernels.upper(self._scored(), self._learnt.run, one_radius(beta), out)
        return chance(out) if self._learnt.link == LOGISTIC else out

    def perturbed(self, scale: Radius, direction: Floats) -> Floats:
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""
        out = self.scores(self._learnt.perturbed(one_radius(scale), direction))
        return chance(out) if self._learnt.link == LOGISTIC else out

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (K,), to the last bit as compiled loops have it."""
        out = np.empty(self.columns.shape[1])
        kernels.product(self.columns, np.ascontiguousarray(theta), out)
        return out

    def parameter(self, scale: float, direction: Floats) -> Floats:
        """theta + scale M'direction, (d,)."""
        return self._learnt.perturbed(scale, direction)

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,)."""
        learnt, x = self._learnt, self.columns[:, arm].copy()
        out = np.empty(x.size)
        kernels.optimistic(learnt.solved, learnt.vectors, learnt.run, x, radius_at(radius, arm), out)
        return out

    def on(self, offer: Offer) -> Known:
        """What is known of other arms."""
        if isinstance(offer, InContext):
            raise NotKept("a context alone says nothing of arms that share one regression: give their rows")
        return self._over(self._learnt.settled(), offer)

    def among(self, places: Integers) -> Known:
        """What is known of some of the arms, at these places; the figures of those kept up stay."""
        counts = None if self._counts is None else self._counts[:, places]
        kept_up = self.lasting and self._board is not None and self._learnt.link == LINEAR
        board = np.ascontiguousarray(self._board[:, places]) if kept_up else None  # type: ignore[index]
        return self._over(self._learnt, self.columns[:, places], counts, board)

    def learnt_on(self, arm: int, features: Floats | None) -> On:
        """The index of a fixed arm, the row of one that changes, or the features themselves."""
        if features is not None:
            return np.array(features, dtype=np.float64)
        return arm if self.lasting else np.array(self.columns[:, arm])

    def narrowed(self, awaited: Integers) -> Known:
        """The same with a sum of x x' over pending decisions in V; estimates stay as they are."""
        return Known(
            self._learnt.narrowed(awaited), self.columns, self._told, counts=self._counts,
            lasting=self.lasting, source=self, same_estimates=True,
        )  # fmt: skip

    def _over(
        self, learnt: Learnt, columns: Floats, counts: Floats | None = None, board: Floats | None = None
    ) -> Known:
        rows = np.ascontiguousarray(columns)
        return Known(learnt, rows, self._told, board=board, counts=counts, source=self)

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of every fixed arm, (2, K)."""
        if self._counts is None:
            raise NotKept("arms that change every round have no pulls of their own")
        return shown(self._counts)

    @property
    def moments(self) -> Moments:
        """What was learnt, as sums."""
        if self._learnt.truth is None:
            raise NotKept("the estimator keeps no sums of x x' and y x, which the policy asks for")
        return Moments.of(self._learnt.whole_truth(), self._told)

    def _scored(self) -> Floats:
        board = self._board
        if board is None:
            board, learnt = np.empty((4, self.columns.shape[1])), self._learnt
            kernels.score(learnt.solved, learnt.vectors, learnt.run, self.columns, board)
            if self._same and learnt.link == LINEAR:
                board[0] = self._estimates
            self._board = board  # whole: another thread may read it
        return board
