"""What is known of arms that have a regression each and share one, in one context."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, shown
from infex.errors import InvalidChoice, NotKept
from infex.kernels import awaiting_tied, small_ridges, tied_ridges
from infex.kernels.layout import ARM, RUN, VOLUME
from infex.linear.block_known import NO_ROWS, BlockKnown, Blocks, stacked
from infex.linear.block_moments import diagonal_of
from infex.linear.known import Known, Learnt, one_radius
from infex.linear.moments import Moments
from infex.linear.offers import InBlock, InContext, Offer, Radius, radius_at


class AwaitedSums(NamedTuple):
    """Sums over pending decisions, as `kernels.awaiting_tied` has them."""

    own: Integers
    cross: Integers
    common: Integers


class Ties(NamedTuple):
    """What was learnt, in the arrays of `kernels.tied_ridges`: arms by themselves, and what they share.

    `gone` is the volume of arms that were removed; `sums` are those of x z', and of z z' and y z.
    """

    own: Blocks
    left: Known
    tied: Floats
    gone: float
    sums: tuple[Floats, Floats]

    @property
    def beta(self) -> Floats:
        """The parameter of shared features, (s,)."""
        return self.left.theta

    @property
    def theta(self) -> Floats:
        """The parameters of all arms, and behind them those of shared features."""
        beta = self.beta
        own: Floats = self.own.solved[:, -1] - self.tied @ beta
        return np.concatenate([own.ravel(), beta])

    def factor(self) -> Floats:
        """M, lower triangular: arms first, so that what they share stands in the last rows."""
        arms, dim, shared = self.tied.shape
        factor = np.zeros((arms * dim + shared, arms * dim + shared))
        factor[:-shared, :-shared] = diagonal_of(list(self.own.solved[:, :-1]))
        below = self.left.factor
        factor[-shared:, -shared:] = below
        factor[-shared:, :-shared] = -below @ self.tied.reshape(-1, shared).T
        return factor

    def narrowed(self, awaited: AwaitedSums) -> Ties:
        """The same thetas with pending decisions in V."""
        own, left, tied = self.own, self.left.learnt, self.tied.copy()
        solved, runs, wide = np.empty_like(own.solved), np.empty_like(own.runs), np.empty_like(own.wide)
        left_solved, run = np.empty_like(left.solved), np.empty_like(left.run)
        learnt = own.solved, own.runs, tied, left.solved, left.vectors, left.run
        awaiting_tied.narrow_tied(*learnt, *awaited, solved, runs, left_solved, run)
        solved[:, -1] += (tied - self.tied) @ self.beta  # so that theta_k stays as it is
        small_ridges.turn_blocks(solved, wide)
        after = left._replace(solved=left_solved, vectors=np.zeros_like(left.vectors), run=run)
        known = Known(after, self.left.columns, self.left.told)
        return Ties(own._replace(solved=solved, runs=runs, wide=wide), known, tied, self.gone, self.sums)


@final
class HybridKnown:
    """What is known of the arms at `places`: in a context, (c,), with their shared features, (K, s).

    It answers as `Known` does. A row has the context in the arm's own block, and shared features at the end.
    """

    __slots__ = ("_context", "_estimates", "_left", "_own", "_places", "_rows", "_ties", "_widths", "greedy")

    lasting = False
    counted = True

    def __init__(self, ties: Ties, context: Floats, rows: Floats, places: Integers) -> None:
        self._ties, self._context, self._rows, self._places = ties, context, rows, places
        self._own = BlockKnown(ties.own, context, places)
        untold = np.empty((rows.shape[1], places.size))
        tied_ridges.untold(ties.tied, context, rows, places, untold)
        self._left = ties.left.on(untold)
        self._widths: Floats | None = None
        self._estimates: Floats = self._own.estimates + self._left.estimates
        self.greedy = kernels.best(self._estimates) if places.size else -1

    @property
    def count(self) -> int:
        """K."""
        return self._places.size

    @property
    def dim(self) -> int:
        """How many parameters there are, those of arms that are not shown included."""
        arms, dim, shared = self._ties.tied.shape
        return int(arms * dim + shared)

    @property
    def drawn(self) -> tuple[int, ...]:
        """One draw for each parameter: what one draws depends on no mask."""
        return (self.dim,)

    @property
    def columns(self) -> Floats:
        """The arms, (d, K), made when they are asked for."""
        return np.ascontiguousarray(np.vstack([self._own.columns, self._rows.T]))

    @property
    def penalty(self) -> float:
        """That of all parameters."""
        return self._ties.own.penalty

    @property
    def volume(self) -> float:
        """log(det V/det V_0), with that of arms that were removed."""
        return self._own.volume + self._ties.left.volume + self._ties.gone

    @property
    def theta(self) -> Floats:
        """The parameters of all arms, one behind the other, and then those of shared features."""
        return self._ties.theta

    @property
    def factor(self) -> Floats:
        """M of one regression of all of them, made when it is asked for."""
        return self._ties.factor()

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
            own, left = self._own.widths, self._left.widths
            found = self._widths = np.sqrt(own * own + left * left)
        return shown(found)

    def width(self, arm: int) -> float:
        """One arm's width."""
        return self.widths.item(arm)

    def radii(self, noise: float, bound: float, delta: float) -> float:
        """The confidence radius, one for all arms: they share a parameter."""
        return kernels.radius(self.volume, self.penalty, noise, bound, delta)

    def upper(self, beta: Radius) -> Floats:
        """Every arm's upper bound: estimate + beta width."""
        found: Floats = self._estimates + one_radius(beta) * self.widths
        return found

    def perturbed(self, scale: Radius, direction: Floats) -> Floats:
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""
        own, shared = self._parted(direction)
        about = one_radius(scale)
        found: Floats = self._estimates + (
            (self._own.perturbed(about, own) - self._own.estimates)
            + (self._left.perturbed(about, shared) - self._left.estimates)
        )
        return found

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (d,)."""
        own, shared = self._parted(np.ascontiguousarray(theta))
        found: Floats = self._own.scores(own) + self._rows @ shared
        return found

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,)."""
        width, theta = self.width(arm), self.theta
        if width == 0.0:
            return theta
        block, below = self._own.factor_of(arm), self._ties.left.factor
        untold, place = self._left.columns[:, arm], self._places.item(arm)
        shared = below.T @ (below @ untold)  # V^-1 (x, z), by parts
        own = -(self._ties.tied @ shared)
        own[place] += block.T @ (block @ self._context)
        found: Floats = theta + radius_at(radius, arm) / width * np.concatenate([own.ravel(), shared])
        return found

    def on(self, offer: Offer) -> HybridKnown:
        """What is known of all arms in another context."""
        if not isinstance(offer, InContext):
            raise NotKept(NO_ROWS)
        arms, _, shared = self._ties.tied.shape
        rows = np.zeros((arms, shared)) if offer.rows is None else offer.rows
        return HybridKnown(self._ties, offer.context, rows, self._ties.own.everyone)

    def among(self, places: Integers) -> HybridKnown:
        """What is known of some of the arms, at these places."""
        found = HybridKnown(self._ties, self._context, self._rows[places], self._places[places])
        found._estimates = self._estimates[places]
        found.greedy = kernels.best(found._estimates) if places.size else -1
        return found

    def narrowed(self, awaited: AwaitedSums) -> HybridKnown:
        """The same with pending decisions in V; estimates stay as they are."""
        found = HybridKnown(self._ties.narrowed(awaited), self._context, self._rows, self._places)
        found._estimates, found.greedy = self._estimates, self.greedy
        return found

    def learnt_on(self, arm: int, features: Floats | None) -> InBlock:
        """The arm's own regression and the shared one, in this context."""
        if features is not None:
            raise InvalidChoice(f"a reward cannot be learnt on the features of a Choice: {NO_ROWS}")
        return InBlock(self._places.item(arm), np.concatenate([self._context, self._rows[arm]]))

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of every arm, (2, K)."""
        return self._own.counts

    @property
    def moments(self) -> Moments:
        """What was learnt, as sums of one regression; made when they are asked for."""
        return Moments.of(self._truth(), self._ties.left.told)

    def _dense(self) -> Known:
        """The same as one regression."""
        run = np.zeros(RUN)
        run[ARM], run[VOLUME] = -1.0, self.volume
        solved = np.vstack([self.factor, self.theta])
        learnt = Learnt(solved, np.zeros((4, self.dim)), run, self.penalty, self._truth())
        return Known(learnt, self.columns, self._ties.left.told, counts=self.counts)

    def _truth(self) -> Floats:
        """The sums of one regression, (2, d + 1, d); arms that are gone are eliminated from it."""
        cross, common = self._ties.sums
        arms, _, dim, shared = cross.shape
        assert self._ties.own.truth is not None
        found = np.zeros((2, self.dim + 1, self.dim))
        for half in range(2):
            own = stacked(self._ties.own.truth[:, half])
            found[half, : arms * dim, : arms * dim], found[half, -1, : arms * dim] = own[:-1], own[-1]
            found[half, arms * dim : -1, : arms * dim] = cross[:, half].reshape(-1, shared).T
            found[half, arms * dim :, arms * dim :] = common[half]
        return found

    def _parted(self, numbers: Floats) -> tuple[Floats, Floats]:
        """Numbers of all arms, (K, c), and those that are shared, (s,)."""
        arms, dim, _ = self._ties.tied.shape
        return numbers[: arms * dim].reshape(arms, dim), numbers[arms * dim :]
