"""What is known of arms that have a regression each, in one context."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, shown
from infex.errors import InvalidChoice, NotKept
from infex.kernels import small_ridges
from infex.kernels.awaiting import narrow_blocks
from infex.kernels.layout import ARM, RUN, VOLUME
from infex.linear.block_moments import BlockMoments, diagonal_of
from infex.linear.known import LINEAR, LOGISTIC, Known, Learnt, chance
from infex.linear.moments import Moments
from infex.linear.offers import InBlock, InContext, Offer, Radius, radius_at

NO_ROWS = (
    "arms with a regression each are known in a context, not by rows of features: "
    "features.interactions(np.eye(K), context_dim) keeps one regression for all"
)


class Blocks(NamedTuple):
    """What K regressions of c features have learnt, in the arrays that `kernels.small_ridges` describes.

    Whoever made the arrays leaves them alone as long as somebody else holds this object. `truth` is None
    where an estimator keeps no sums; `told` is how many rewards are in them.
    """

    solved: Floats
    wide: Floats
    runs: Floats
    counts: Floats
    truth: Floats | None
    told: int
    penalty: float
    link: str = LINEAR

    @property
    def size(self) -> int:
        """c."""
        return int(self.solved.shape[2])

    def narrowed(self, awaited: Integers) -> Blocks:
        """The same thetas with sums of x x' over pending decisions in each V, (K, 2, c, c)."""
        solved, runs, wide = np.empty_like(self.solved), np.empty_like(self.runs), np.empty_like(self.wide)
        narrow_blocks(self.solved, self.runs, awaited, solved, runs)
        small_ridges.turn_blocks(solved, wide)
        return self._replace(solved=solved, runs=runs, wide=wide)

    @property
    def everyone(self) -> Integers:
        """The places of all arms."""
        return np.arange(len(self.solved))


@final
class BlockKnown:
    """What is known of the arms at `places` in a context, (c,); it answers as `Known` does.

    A row has the context in the arm's own block, and 0 elsewhere. Where each arm has a radius of its own,
    `radii` gives all of them, and the other methods take them.
    """

    __slots__ = ("_blocks", "_context", "_estimates", "_places", "_radii", "_scores", "_widths", "greedy")

    lasting = False
    counted = True

    def __init__(self, blocks: Blocks, context: Floats, places: Integers) -> None:
        self._blocks, self._context, self._places = blocks, context, places
        self._widths: Floats | None = None
        self._radii: tuple[tuple[float, float, float], Floats] | None = None
        scores = np.empty(len(blocks.solved))
        small_ridges.look_at_blocks(blocks.wide, context, scores)
        self._scores = scores[places]
        self._estimates = chance(self._scores) if blocks.link == LOGISTIC else self._scores
        self.greedy = kernels.best(self._estimates) if places.size else -1

    @property
    def count(self) -> int:
        """K."""
        return self._places.size

    @property
    def dim(self) -> int:
        """How many parameters all arms have together, those that are not shown included."""
        return len(self._blocks.solved) * self._context.size

    @property
    def drawn(self) -> tuple[int, ...]:
        """A draw for each arm, those that are not shown included: what one draws depends on no mask."""
        return len(self._blocks.solved), self._context.size

    @property
    def columns(self) -> Floats:
        """The arms, (K c, K), made when they are asked for."""
        rows = np.zeros((self.count, len(self._blocks.solved), self._context.size))
        rows[np.arange(self.count), self._places] = self._context
        return np.ascontiguousarray(rows.reshape(self.count, self.dim).T)

    @property
    def penalty(self) -> float:
        """That of each regression."""
        return self._blocks.penalty

    @property
    def volume(self) -> float:
        """log(det V/det V_0) of all arms together; `radii` go by each arm's own."""
        return small_ridges.whole_volume(self._blocks.runs)

    @property
    def theta(self) -> Floats:
        """The estimates of all arms, one behind the other."""
        theta: Floats = self._blocks.solved[:, -1].reshape(-1).copy()
        return theta

    @property
    def factor(self) -> Floats:
        """The factors of all arms, as blocks of one matrix, made when it is asked for."""
        return diagonal_of(list(self._blocks.solved[:, :-1]))

    def factor_of(self, arm: int) -> Floats:
        """The factor of one arm, (c, c)."""
        return self._blocks.solved[self._places.item(arm), :-1]

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
        return shown(self._slopes * self._lengths if self._blocks.link == LOGISTIC else self._lengths)

    def width(self, arm: int) -> float:
        """One arm's width; O(c^2)."""
        if self._widths is not None or self._blocks.link == LOGISTIC:
            return self.widths.item(arm)
        return small_ridges.width_of_block(self._blocks.solved, self._context, self._places.item(arm))

    def radii(self, noise: float, bound: float, delta: float) -> Floats:
        """The confidence radius of each arm, by its own data alone, (K,)."""
        asked = noise, bound, delta
        if self._radii is None or self._radii[0] != asked:
            found, blocks = np.empty(len(self._blocks.solved)), self._blocks
            small_ridges.radii_of_blocks(blocks.runs, blocks.penalty, *asked, found)
            self._radii = asked, found[self._places]  # whole: another thread may read it
        return shown(self._radii[1])

    def upper(self, beta: Radius) -> Floats:
        """Every arm's upper bound: estimate + beta width; for chances, that of the log-odds."""
        out: Floats = self._scores + beta * self._lengths
        return chance(out) if self._blocks.link == LOGISTIC else out

    def perturbed(self, scale: Radius, direction: Floats) -> Floats:
        """Every arm's mean under a parameter theta_k + scale_k M_k'direction_k of its own, (K,)."""
        out, scales = np.empty(self.count), np.ascontiguousarray(np.broadcast_to(scale, self.count))
        where = self._blocks.wide, self._context, self._places, self._scores
        small_ridges.sampled_blocks(*where, scales, direction, out)
        return chance(out) if self._blocks.link == LOGISTIC else out

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (K c,)."""
        out, thetas = np.empty(self.count), np.ascontiguousarray(theta).reshape(-1, self._context.size)
        small_ridges.scores_of_blocks(thetas, self._context, self._places, out)
        return out

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (K c,)."""
        place, size = self._places.item(arm), self._context.size
        theta, block = self.theta, np.empty(size)
        solved, run, x = self._blocks.solved[place], self._blocks.runs[place], self._context
        kernels.optimistic(solved, np.zeros((4, size)), run, x, radius_at(radius, arm), block)
        theta[place * size : (place + 1) * size] = block
        return theta

    def on(self, offer: Offer) -> BlockKnown:
        """What is known of all arms in another context."""
        if not isinstance(offer, InContext):
            raise NotKept(NO_ROWS)
        return BlockKnown(self._blocks, offer.context, self._blocks.everyone)

    def among(self, places: Integers) -> BlockKnown:
        """What is known of some of the arms, at these places."""
        return BlockKnown(self._blocks, self._context, self._places[places])

    def narrowed(self, awaited: Integers) -> BlockKnown:
        """The same with pending decisions in V; estimates stay as they are."""
        return BlockKnown(self._blocks.narrowed(awaited), self._context, self._places)

    def learnt_on(self, arm: int, features: Floats | None) -> InBlock:
        """The arm's own regression, in this context."""
        if features is not None:
            raise InvalidChoice(f"a reward cannot be learnt on the features of a Choice: {NO_ROWS}")
        return InBlock(self._places.item(arm), self._context)

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of every arm, (2, K)."""
        return shown(self._blocks.counts[:, self._places])

    @property
    def moments(self) -> BlockMoments:
        """What was learnt, as sums."""
        if self._blocks.truth is None:
            raise NotKept("the estimator keeps no sums of x x' and y x, which the policy asks for")
        parts = tuple(Moments.of(truth, self._blocks.told) for truth in self._blocks.truth)
        return BlockMoments(parts, self._blocks.told)

    def _dense(self) -> Known:
        """The same as one regression."""
        blocks, run = self._blocks, np.zeros(RUN)
        run[ARM], run[VOLUME] = -1.0, self.volume
        truth = None if blocks.truth is None else np.array([stacked(half) for half in _halves(blocks.truth)])
        solved = np.vstack([self.factor, self.theta])
        learnt = Learnt(solved, np.zeros((4, self.dim)), run, blocks.penalty, truth, blocks.link)
        return Known(learnt, self.columns, blocks.told, counts=self.counts)

    @property
    def _lengths(self) -> Floats:
        """Every |x| in V_k^-1."""
        found = self._widths
        if found is None:
            work, widths = np.empty((2, len(self._blocks.solved)))
            small_ridges.widths_of_blocks(self._blocks.wide, self._context, work, widths)
            found = self._widths = widths[self._places]  # whole: another thread may read it
        return found

    @property
    def _slopes(self) -> Floats:
        """p(1 - p) of every chance."""
        return self._estimates * (1.0 - self._estimates)


def _halves(truth: Floats) -> tuple[Floats, Floats]:
    """The sums of all blocks, and their carries."""
    return truth[:, 0], truth[:, 1]


def stacked(sums: Floats) -> Floats:
    """Sums of x x' and y x of all blocks, (K, c + 1, c), as those of one regression, (K c + 1, K c)."""
    return np.vstack([diagonal_of(list(sums[:, :-1])), sums[:, -1].reshape(1, -1)])
