"""The ridge of compiled kernels, for hybrids and regressions of each arm until these stand on the core."""

from __future__ import annotations

from sys import getrefcount
from typing import NamedTuple, final

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, fitting, fitting_counts, moved, shown
from infex.errors import DamagedFile, InvalidChoice, NotKept
from infex.kernels.awaiting import narrow
from infex.kernels.layout import CLOSED, LARGE, RUNS, VOLUME, blank
from infex.kernels.many_rewards import gather_arms, gather_rows, learn_each
from infex.kernels.view import View, viewed
from infex.linear.estimating import Arrays
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.learnable import (
    readable_rows,
    refuse_block,
    refuse_place,
    refuse_places,
    refuse_separate,
)
from infex.linear.moments import Moments, fitting_sums
from infex.linear.offers import InContext, Layout, Offer, On, Radius, radius_at
from infex.linear.regression import checked_penalty
from infex.linear.revising import Revision, revise_sums
from infex.linear.scatter import Scatter, Scattered, scatter_of, scattered

LINEAR, LOGISTIC = "linear", "logistic"


def _count_of_one_name() -> int:
    held = object()
    return getrefcount(held)


ALONE = _count_of_one_name()


def arm_of(run: Floats) -> int:
    """The arm whose run goes on with any reward that is not large; -1 if there is none."""
    n = run[kernels.N]
    return int(run[kernels.ARM]) if n > 0.0 and abs(run[kernels.SUM]) <= LARGE * n else -1


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

    def view(self, settings: Floats, state: Floats) -> View:
        """What a policy written as a kernel sees; it cannot write to it."""
        if self._learnt.link == LOGISTIC:
            raise NotKept(
                "a kernel reads linear scores; these are chances of a reward of 1: write the policy in Python"
            )
        learnt, board = self._learnt, self._scored()
        counts = np.zeros((2, 0)) if self._counts is None else self._counts
        truth = np.zeros((2, 0, 0)) if learnt.truth is None else learnt.truth
        arrays = (board, learnt.run, learnt.solved, learnt.vectors, counts, state, truth)
        kept = (shown(array.copy()) for array in arrays)  # which may outlive this object
        return viewed(shown(self.columns), shown(settings), learnt.penalty, *kept)

    def _scored(self) -> Floats:
        board = self._board
        if board is None:
            board, learnt = np.empty((4, self.columns.shape[1])), self._learnt
            kernels.score(learnt.solved, learnt.vectors, learnt.run, self.columns, board)
            if self._same and learnt.link == LINEAR:
                board[0] = self._estimates
            self._board = board  # whole: another thread may read it
        return board


NEAR = 1e-6  # how far a kept figure may be from one that is computed anew
LAST_BITS = 1e-15  # of what is added up, how far two orders of adding may differ


def refuse_no_numbers(known: Known) -> None:
    """Refuses what leads to no numbers: sums of a file may be anything."""
    for name, numbers in ({"theta": known.theta} | _figures(known)).items():
        if not np.isfinite(numbers).all():
            raise DamagedFile(f"its {name} would be no numbers")


def refuse_strange(mine: Known, theta: Floats, fresh: Known) -> None:
    """Refuses figures, and the theta behind them, that are not those which were computed anew."""
    kept, anew = _figures(mine), _figures(fresh)
    off, size = _length(theta - fresh.theta, fresh.factor), _length(fresh.theta, fresh.factor)
    if not off <= NEAR * (1.0 + size):  # far less than a width, whatever the penalty
        raise DamagedFile("its theta does not follow from what was learnt")
    for name in kept:
        if not near(kept[name], anew[name]):
            raise DamagedFile(f"its {name} does not follow from what was learnt")


def refuse_run(learnt: Learnt, columns: Floats, board: Floats, whole: Floats, truth: Floats) -> None:
    """Refuses a run under way that is none of its arm, or does not follow from what was learnt before it."""
    run, arm = learnt.run, learnt.run[kernels.ARM]
    if arm != int(arm) or not -1 <= arm < columns.shape[1] or run[kernels.N] < 0.0:
        raise DamagedFile(f"a run of arm {arm:g} with {run[kernels.N]:g} pulls cannot be")
    if arm >= 0 and not np.array_equal(learnt.vectors[0], columns[:, int(arm)]):
        raise DamagedFile("the run under way is not of the arm that it names")
    if not np.array_equal(whole, truth):
        raise DamagedFile("the run under way is not what its sums lack")
    if not all(near(*pair, _slack(learnt)) for pair in _pairs(learnt, columns, board)):
        raise DamagedFile("the run under way does not follow from what was learnt before it")
    runs = run[RUNS]
    if not 0.0 <= runs <= CLOSED * columns.shape[0] or run[VOLUME] < 0.0 or (board[3] < 0.0).any():
        raise DamagedFile("the counts of runs in it cannot be")


def near(kept: Floats | float, anew: Floats | float, slack: float = 0.0) -> bool:
    """Is every kept number as good as the one computed anew? Never of one that is no number."""
    limit = NEAR * (1.0 + float(np.max(np.abs(anew), initial=0.0))) + slack
    return bool(np.all(np.abs(kept - anew) <= limit))


def _figures(known: Known) -> dict[str, Floats | float]:
    """All that is read, but for theta, of which no more than its length in V is known."""
    return {
        "factor": known.factor,
        "estimates": known.estimates,
        "widths": known.widths,
        "volume": known.volume,
    }


def _length(theta: Floats, factor: Floats) -> float:
    """|theta| in V, that is |M'^-1 theta|."""
    return float(np.linalg.norm(np.linalg.solve(factor.T, theta)))


def _slack(learnt: Learnt) -> float:
    """How far rounding alone may bring u = M'M x, which is added up from parts of the size of M'M."""
    return LAST_BITS * learnt.solved.size * float(np.max(np.abs(learnt.solved[:-1]), initial=0.0)) ** 2


def _pairs(learnt: Learnt, columns: Floats, board: Floats) -> list[tuple[Floats | float, Floats | float]]:
    """The scalars and vectors of a run, each with what the factor and its x give."""
    solved, vectors, run, *_ = learnt
    x, n = vectors[0], run[kernels.N]
    p = solved[:-1] @ x if n > 0.0 else np.zeros(x.size)
    u, q = solved[:-1].T @ p, float(p @ p)
    start = float(x @ solved[-1]) if n > 0.0 else 0.0
    phi, psi = kernels.shift(n, run[kernels.SUM], start, q)
    scalars = zip(
        run[[kernels.Q, kernels.START, kernels.PHI, kernels.PSI]], (q, start, phi, psi), strict=True
    )
    vectors_too = [(vectors[1], p), (vectors[2], u), (board[2], columns.T @ u)]
    return [*scalars, *(vectors_too if n > 0.0 else [])]


@final
class RidgeStatistics:
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    The truth is what was learnt, summed without loss, from `told` rewards; all else is derived from
    it, kept up by exact algebra, and computed anew before rounding can tell (see `kernels`).
    `columns` are the arms, (d, K); K may be 0. `counts` are pulls and summed rewards of each.
    """

    __slots__ = (
        "_arm", "_board", "_known", "_learnt", "_stale",
        "columns", "counts", "penalty", "scatter", "told", "truth",
    )  # fmt: skip

    squares = True

    def __init__(self, columns: Floats, penalty: float = 1.0) -> None:
        dim, arms = columns.shape
        self.penalty = checked_penalty(penalty)
        self.columns = np.ascontiguousarray(columns, dtype=np.float64)
        self.told = 0
        self.scatter = Scatter()
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

    @property
    def solved_sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Truth, solved, vectors and run, for a kernel that reads them at once."""
        solved, vectors, run, *_ = self._learnt
        return self.truth, solved, vectors, run

    @property
    def settled(self) -> Learnt:
        """What arms that are not kept up are read from."""
        return self._learnt.settled()

    @property
    def kept_up(self) -> tuple[Floats, Floats]:
        """The board and the run, for a kernel that reads them at once."""
        return self._board, self._learnt.run

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

    def counted(self, on: On, weight: float) -> float:
        """The weight itself."""
        return weight

    def entered(self) -> None:
        """Nothing is searched for."""

    def learn(self, on: On, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm, O(1) while the same arm goes on, or of any x."""
        if self._known is not None and not self._stale:
            self._part()
        if type(on) is int and on == self._arm >= 0 and weight == 1.0 and -LARGE <= reward <= LARGE:
            self.told += 1  # the common case, with fewer arrays to hand over
            self.scatter.squares += reward * reward
            if kernels.pull_counted(self._learnt.run, self.counts, on, reward):
                self._close()
        else:
            self._learn(on, reward, weight)

    def _learn(self, on: On, reward: float, weight: float) -> None:
        """The same for a reward that is not simply one more of the run under way."""
        on = on if isinstance(on, int) else refuse_block(on)
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])  # else compiled code would write beyond its arrays
        self.told += 1
        self.scatter.squares += weight * reward * reward
        learnt = self._learnt
        if weight == 1.0 and isinstance(on, int):
            kernels.learn_counted(
                self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors,
                learnt.run, self.counts, on, reward,
            )  # fmt: skip
            self._arm = arm_of(learnt.run)
            return
        self._arm = -1
        if isinstance(on, int):
            self.counts[:, on] += 1.0, reward
            x: Floats = self.columns[:, on].copy()
        else:
            x = on
        kernels.absorb_weighted(
            self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run,
            x, reward, float(weight),
        )  # fmt: skip

    def learn_many(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        if not rewards.size:
            return
        refuse_places(grounds, self.columns.shape)
        self._part()
        self.told += rewards.size
        self.scatter.learn_many(rewards, weights)
        learnt = self._learnt
        learn_each(
            self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run,
            self.counts, grounds.place, grounds.row, readable_rows(grounds, self.dim), rewards, weights,
        )  # fmt: skip
        self._arm = arm_of(learnt.run)

    def gather(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        if not rewards.size:
            return
        refuse_places(grounds, self.columns.shape)
        truth, fixed = self.snapshot(), grounds.place >= 0
        self._part()
        gather_arms(
            truth,
            self.penalty,
            self.columns,
            self.counts,
            grounds.place[fixed],
            rewards[fixed],
            weights[fixed],
        )
        rows = readable_rows(grounds, self.dim)[grounds.row[~fixed]]
        gather_rows(truth, self.penalty, rows, rewards[~fixed], weights[~fixed])
        self.scatter.learn_many(rewards, weights)
        self.begin(truth, self.told + rewards.size)

    def turn(self, on: On) -> int:
        """How many rewards were told."""
        return self.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; O(d^3 + d^2 K)."""
        on = revision.on if isinstance(revision.on, int) else refuse_block(revision.on)
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])
        self._part()
        self._close()
        x = np.array(self.columns[:, on] if isinstance(on, int) else on)
        revise_sums(self.truth, self.penalty, x, revision)
        if isinstance(on, int):
            self.counts[:, on] += revision.pulls, revision.gain
        self.told += revision.pulls
        self._refresh()
        self.scatter.revise(revision, self.truth, self.penalty, self.told)

    def add(self, other: RidgeStatistics, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self._part()
        self._close()
        self.told += other.told
        kernels.add_truth(self.truth, other.snapshot())
        self.counts += moved(other.counts, places, self.counts.shape[1])
        self._refresh()
        self.scatter.join(other.scatter, self.truth, self.penalty, self.told)

    def growth(self) -> Gained:
        """All that was learnt, as sums."""
        return Gained(self.snapshot(), self.counts.copy(), self.told)

    def grow(self, growth: Gained) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self._part()
        self._close()
        self.told += growth.told
        kernels.add_truth(self.truth, growth.truth)
        self.counts += growth.counts
        self._refresh()
        self.scatter.begin(self.truth, self.penalty, self.told)

    def over(self, layout: Layout, places: Integers) -> RidgeStatistics:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other = RidgeStatistics(refuse_separate(layout), self.penalty)
        other.begin(self.snapshot(), self.told)
        other.scatter = self.scatter.copy()
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
        kept |= {"scatter": np.array(self.scatter.figures)}
        return {"truth": self.snapshot()} | {name: array.copy() for name, array in kept.items()}

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; what is derived must follow from the truth."""
        kept = self.arrays()
        told = int(fitting("told", arrays["told"], (), whole=True))
        truth = fitting_sums("truth", arrays["truth"], self.dim, told, self.penalty)
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], told)
        if "closed" not in arrays:  # of format 1, or of another estimator
            self.begin(truth, told)
            self.counts[:] = counts
            refuse_no_numbers(self.known())
            self.scatter = scatter_of(arrays, self.snapshot(), self.penalty, told)
            return
        names = ("closed", "solved", "vectors", "run", "board")
        closed, solved, vectors, run, board = (
            fitting(name, arrays[name], kept[name].shape) for name in names
        )
        other = RidgeStatistics(self.columns, self.penalty)
        other._take(closed, solved, vectors, run)
        other._board, other.counts, other.told = board, counts, told
        with np.errstate(all="ignore"):  # numbers of a file may be anything
            refuse_run(other._learnt, other.columns, board, other.snapshot(), truth)
            fresh = other.over(other.columns, np.full(other.columns.shape[1], -1))
            refuse_strange(other.known(), other._learnt.theta, fresh.known())
        self.told, self.counts, self._board = told, counts, board
        self._known, self._stale = None, False
        self._take(closed, solved, vectors, run)
        self.scatter = scatter_of(arrays, self.snapshot(), self.penalty, told)

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says of the fixed arms, or of those on offer."""
        columns = self.columns if offer is None or not isinstance(offer, np.ndarray) else offer
        return scattered(self.snapshot(), self.penalty, self.scatter, self.told, columns.T, most)

    def snapshot(self) -> Floats:
        """A copy of the truth with the run under way in it, which goes on as it is."""
        return self._learnt.whole_truth()

    def begin(self, truth: Floats, told: int) -> None:
        """Starts from a truth, with no run under way."""
        self._part()
        self.truth[:] = truth
        self.told = told
        self._learnt.run[:] = 0.0
        self._refresh()

    def _take(self, truth: Floats, solved: Floats, vectors: Floats, run: Floats) -> None:
        self.truth = truth
        self._arm = arm_of(run)
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
