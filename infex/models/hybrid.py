"""A ridge regression for each arm and one for features that all arms share, as one regression.

theta_k of each arm and beta of all are those of one ridge regression on (x in block k, z). A reward costs
O(c^2 + c s + s^2), and all takes O(s^2 + K (c^2 + c s)) numbers; `core.hybrid` explains the algebra.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers, fitting, shown, within
from infex.core.bank import NO_ROWS, RidgeBank, block_diagonal, greedy, products
from infex.core.choosing import confidence_radius
from infex.core.hybrid import Hybrid
from infex.core.posterior import radius_of
from infex.errors import DamagedFile, InvalidChoice, NotKept, StalePosterior
from infex.models.base import Arrays, Model
from infex.models.layout import (
    GONE,
    ArmRow,
    DesignRow,
    DesignRows,
    Layout,
    PerArm,
    Radius,
    arm_row_of,
    per_arm_of,
)
from infex.models.noise import RidgeSolution, SquaredRewards, StandardErrors, inverted
from infex.models.ridge import checked_penalty
from infex.models.ridge_bank import bank_arrays, restored_bank
from infex.models.sums import Revision, SufficientStatistics

OF_THE_SHARED = "shared "
MOST_VOLUME = 1e12
NO_ARMS: Integers = np.zeros(0, dtype=np.int64)


@final
class HybridModel(Model):
    """theta_k for each arm and beta for all, by ridge regression.

    `hybrid` holds all numbers but squared rewards. Rewards of arms that were removed stay in beta.
    """

    __slots__ = ("_squares", "columns", "hybrid", "layout")

    def __init__(self, layout: PerArm, penalty: float = 1.0) -> None:
        self.layout: PerArm = layout
        self.hybrid, self._squares = Hybrid(*layout, checked_penalty(penalty)), SquaredRewards()
        self.columns: Floats = np.empty((layout.parameters, 0))  # none are fixed

    @property
    def n_observations(self) -> int:
        """How many rewards were learnt, those of arms that are gone included."""
        return self.hybrid.told

    @property
    def penalty(self) -> float:
        return self.hybrid.own.penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self.hybrid.own.counts

    def posterior(self) -> HybridPosterior:
        """The posterior, of no arms until it is given a context."""
        return HybridPosterior(self.hybrid)

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        arm, row = arm_row_of(on)
        if arm != GONE:
            self.hybrid.update(arm, row, reward, weight)
            self._squares.total += weight * reward * reward

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        self.hybrid.update_many(*design.for_each_arm(), rewards, weights)
        there = design.place >= 0
        self._squares.add_many(rewards[there], weights[there])

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Adds many observations to the sums, and computes all else anew once: their order does not count."""
        self.hybrid.gather(*design.for_each_arm(), rewards, weights)
        there = design.place >= 0
        self._squares.add_many(rewards[there], weights[there])

    def revise(self, revision: Revision) -> None:
        arm, row = arm_row_of(revision.on)
        if arm == GONE:
            raise NotKept(
                "the arm of this decision was removed: what its rewards told of features that arms share is "
                "kept as one sum, in which no single reward can be changed"
            )
        self.hybrid.revise(arm, row, revision.before, revision.after, float(revision.weight))
        if not self._squares.revise(revision):
            self._forget_squares()

    def sufficient_statistics(self) -> SufficientStatistics:
        hybrid = self.hybrid
        sums = np.concatenate([hybrid.own.sums, np.swapaxes(hybrid.cross, -1, -2)], axis=-2)
        return SufficientStatistics(sums, np.array(self.counts), hybrid.told, np.array(hybrid.common))

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        both, counts, n_observations, common = statistics
        assert common is not None
        arms, dim, _ = self.layout
        sums = np.ascontiguousarray(both[..., : dim + 1, :])
        cross = np.ascontiguousarray(np.swapaxes(both[..., dim + 1 :, :], -1, -2))
        pulls = int(counts[0].sum())
        self.hybrid.add(sums, counts, cross, common, np.arange(arms), pulls, n_observations)
        self._forget_squares()

    def rearranged(self, layout: Layout, places: Integers) -> HybridModel:
        """A model of the same rewards over other arms; `places` are their old indices, -1 for a new arm.

        What rewards of an arm that goes have told of the shared features stays, with its own parameter
        unknown: beta and its widths are as they were.
        """
        other = HybridModel(per_arm_of(layout), self.penalty)
        other.hybrid, other._squares = self.hybrid.over(places), self._squares.copy()
        if self.counts[0, np.setdiff1d(np.arange(self.layout.arms), places)].any():
            other._forget_squares()
        return other

    def arrays(self) -> Arrays:
        hybrid = self.hybrid
        own, shared = bank_arrays(hybrid.own), bank_arrays(hybrid.shared)
        kept = {"tied": hybrid.ties, "cross": hybrid.cross, "common": hybrid.common, "gone": hybrid.gone}
        kept |= {"told": hybrid.told, "pulled": hybrid.own.told, "squares": self._squares.figures}
        kept |= {f"{OF_THE_SHARED}{name}": shared[name] for name in ("truth", "factors", "runs")}
        return own | {name: np.array(value) for name, value in kept.items()}

    def restore(self, arrays: Arrays) -> None:
        """Replaces the state by saved arrays; what is derived is computed anew if it is not there."""
        arms, dim, shared = self.layout
        n_observations = int(fitting("told", arrays["told"], (), whole=True))
        gone = float(within("the log_det_ratio of arms that are gone", arrays["gone"], (), 0.0, MOST_VOLUME))
        own = restored_bank(self.hybrid.own, arrays | {"told": arrays["pulled"]})
        if own.told > n_observations:
            raise DamagedFile(f"its arms have learnt {own.told} rewards, and all together {n_observations}")
        cross = fitting("cross", arrays["cross"], (arms, 2, dim, shared))
        common = fitting("common", arrays["common"], (2, shared + 1, shared))
        ties = left = None
        if "tied" in arrays:
            ties, left = fitting("tied", arrays["tied"], (arms, dim, shared)), self._restored_shared(arrays)
        fresh = Hybrid(*self.layout, self.penalty)
        fresh.restore(own, left, ties, cross, common, gone, n_observations)
        if not (np.isfinite(fresh.ties).all() and np.isfinite(fresh.shared.solved).all()):
            raise DamagedFile("beta is not finite: the sums in it are no sums of x x'")
        figures = arrays.get("squares")
        squares = None if figures is None else SquaredRewards.restored(figures, n_observations)
        self.hybrid = fresh
        if squares is None:
            self._forget_squares()
        else:
            self._squares = squares

    def _restored_shared(self, arrays: Arrays) -> RidgeBank:
        """The ridge of shared features, of a file."""
        bank = RidgeBank(1, self.layout.shared, self.penalty)
        shapes = {"truth": bank.sums.shape, "factors": bank.solved.shape, "runs": bank.runs.shape}
        sums, solved, runs = (
            fitting(name, arrays[f"{OF_THE_SHARED}{name}"], shape) for name, shape in shapes.items()
        )
        bank.restore(sums, solved, runs, np.zeros((2, 1)), 0)
        return bank

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        """Standard errors for arms k in contexts, with shared features behind them, (n, c + s).

        V^-1 (x, z) is w = V_0^-1 (z - G_k'x) of the shared features, A_k^-1 x - G_k w of the arm and -G_j w
        of each other. Once arms are gone, whose G_j are not kept, its length is not known: then the penalty
        draws an estimate by no more than sqrt(penalty) times the width, for a theta of length 1.
        """
        assert arms is not None
        fit, penalty = HybridSolution.of(self.hybrid), self.penalty
        x, z, ties = *np.hsplit(rows, [self.layout.dim]), fit.ties[arms]
        untold = z - np.einsum("ncs,nc->ns", ties, x)
        common = untold @ fit.shared.inverse
        alone = np.einsum("nij,nj->ni", fit.inverses[arms], x)
        others = np.einsum("ncs,ns->nc", ties, common)
        longs = _squares(common) + _squares(alone - others) - _squares(others)
        longs += np.einsum("ns,st,nt->n", common, _gram_of(fit.ties), common)
        widths = np.einsum("nc,nc->n", alone, x) + np.einsum("ns,ns->n", common, untold)
        lost = self.hybrid.gone > 0.0
        bias = np.sqrt(penalty * widths) if lost else penalty * np.sqrt(np.maximum(longs, 0.0))
        shrinkage = penalty * fit.norm**2
        noise, freedom = self._squares.residuals(
            self.n_observations, fit.fitted, fit.spent, shrinkage, largest_variance
        )
        estimates = np.einsum("nc,nc->n", fit.alone[arms], x) + untold @ fit.shared.theta
        return StandardErrors.of(estimates, widths - penalty * longs, noise, bias, freedom, fit.norm)

    def _forget_squares(self) -> None:
        """Marks the squares of all rewards so far as unknown."""
        fit = HybridSolution.of(self.hybrid)
        self._squares = SquaredRewards(max(fit.fitted, 0.0), float(self.n_observations), fit.spent)


class HybridSolution(NamedTuple):
    """A_k^-1 and theta_k0 of each arm, G_k = A_k^-1 B_k, the shared ridge, and what the fit takes in all."""

    inverses: Floats
    alone: Floats
    ties: Floats
    shared: RidgeSolution
    fitted: float
    spent: float
    norm: float

    @staticmethod
    def of(hybrid: Hybrid) -> HybridSolution:
        """The solution of a hybrid, from its sums."""
        own, penalty = hybrid.own.sums.sum(axis=1), hybrid.own.penalty
        lower, moments = np.tril(own[:, :-1]), own[:, -1]
        inverses = inverted(lower + np.swapaxes(np.tril(lower, -1), -1, -2), penalty)
        alone = np.einsum("kij,kj->ki", inverses, moments)
        ties, shared = inverses @ hybrid.cross.sum(axis=1), RidgeSolution.of(hybrid.shared.sums[0], penalty)
        fitted = float(np.sum(alone * moments)) + shared.fitted
        trace = np.trace(inverses, axis1=1, axis2=2).sum() + np.trace(shared.inverse)
        trace += np.sum(_gram_of(ties) * shared.inverse)
        thetas = alone - ties @ shared.theta
        norm = float(np.sqrt(np.sum(thetas**2) + np.sum(shared.theta**2)))
        spent = alone.size + len(shared.theta) - penalty * float(trace)
        return HybridSolution(inverses, alone, ties, shared, fitted, spent, norm)


def _squares(rows: Floats) -> Floats:
    found: Floats = np.einsum("ij,ij->i", rows, rows)
    return found


def _gram_of(ties: Floats) -> Floats:
    """sum G_k'G_k over all arms."""
    found: Floats = np.einsum("kcs,kct->st", ties, ties)
    return found


@final
class HybridPosterior:
    """The posterior of some arms in a context, (c,), with their shared features, (K, s).

    It reads `hybrid` in place: after an update, reading raises StalePosterior; a `copy` stays. `rows` are the
    shared features of all arms. Without `places` it is of all arms, and without a context of none. As one
    regression, a row has the context in the arm's own block, and shared features at the end.
    """

    __slots__ = ("_context", "_estimates", "_greedy", "_hybrid", "_places", "_rows", "_version", "_widths")

    fixed = False
    has_counts = True

    def __init__(
        self,
        hybrid: Hybrid,
        context: Floats | None = None,
        rows: Floats | None = None,
        places: Integers | None = None,
        estimates: Floats | None = None,
    ) -> None:
        arms, dim, shared = hybrid.ties.shape
        self._hybrid, self._version = hybrid, hybrid.version
        self._places = NO_ARMS if context is None else places
        self._context = np.zeros(dim) if context is None else context
        self._rows = np.zeros((arms, shared)) if rows is None else rows
        self._widths: Floats | None = None
        if context is None:
            estimates = np.zeros(0)
        elif estimates is None:
            estimates = self._some(hybrid.estimates(context, self._rows))
        self._estimates = estimates
        self._greedy = greedy(estimates)

    def over(self, context: Floats, rows: Floats | None) -> HybridPosterior:
        """The posterior of all arms in another context, with their shared features, (K, s)."""
        return HybridPosterior(self._current, context, rows)

    def among(self, places: Integers) -> HybridPosterior:
        """The posterior of the arms at some places."""
        some = places if self._places is None else self._places[places]
        return HybridPosterior(self._current, self._context, self._rows, some, self._estimates[places])

    def narrowed(self, own: Integers, cross: Integers, common: Integers) -> HybridPosterior:
        """The posterior with sums over pending decisions in V; estimates stay as they are."""
        narrowed = self._current.narrowed(own, cross, common)
        return HybridPosterior(narrowed, self._context, self._rows, self._places, self._estimates)

    def copy(self) -> HybridPosterior:
        """A copy, which stays as it is whatever is learnt."""
        return HybridPosterior(self._current.copy(), self._context, self._rows, self._places, self._estimates)

    def _some(self, numbers: Floats) -> Floats:
        """The columns of these arms, of an array for all arms, (..., K)."""
        return numbers if self._places is None else numbers[..., self._places]

    def _place(self, arm: int) -> int:
        """Where an arm stands among all."""
        return arm if self._places is None else self._places.item(arm)

    @property
    def _current(self) -> Hybrid:
        """The hybrid, if it has not learnt since this was made."""
        if self._hybrid.version != self._version:
            raise StalePosterior(
                "the model has learnt since this posterior was read; ask for a new one, or keep a copy()"
            )
        return self._hybrid

    @property
    def n_observations(self) -> int:
        """How many rewards were learnt."""
        return self._current.told

    @property
    def count(self) -> int:
        """K, the number of arms."""
        return self._estimates.size

    @property
    def dim(self) -> int:
        """How many parameters there are, those of arms that are not shown included."""
        arms, dim, shared = self._hybrid.ties.shape
        return int(arms * dim + shared)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The shape of the draws that `perturbed` takes, (d,), with those of arms that are not shown."""
        return (self.dim,)

    @property
    def columns(self) -> Floats:
        """The arms as rows of one regression, (d, K)."""
        arms, dim, _ = self._hybrid.ties.shape
        places = np.arange(arms) if self._places is None else self._places
        own = np.zeros((places.size, arms, dim))
        own[np.arange(places.size), places] = self._context
        rows = np.hstack([own.reshape(places.size, arms * dim), self._rows[places]])
        return np.ascontiguousarray(rows.T)

    @property
    def penalty(self) -> float:
        """The ridge penalty."""
        return self._hybrid.own.penalty

    @property
    def log_det_ratio(self) -> float:
        """log(det V/det V_0), with that of arms that were removed."""
        return self._current.log_det_ratio

    @property
    def theta(self) -> Floats:
        """The parameters of all arms, one behind the other, and then those of shared features."""
        beta = np.array(self._current.shared.solved[0, -1])
        own: Floats = self._hybrid.own.solved[:, -1] - self._hybrid.ties @ beta
        return np.concatenate([own.ravel(), beta])

    @property
    def factor(self) -> Floats:
        """M of one regression of all, with M'M the covariance; what arms share is in its last rows."""
        hybrid = self._current
        arms, dim, shared = hybrid.ties.shape
        factor = np.zeros((self.dim, self.dim))
        below = hybrid.shared.solved[0, :-1]
        factor[:-shared, :-shared] = block_diagonal(hybrid.own.solved[:, :-1])
        factor[-shared:, -shared:] = below
        factor[-shared:, :-shared] = -below @ hybrid.ties.reshape(arms * dim, shared).T
        return factor

    @property
    def greedy(self) -> int:
        """The arm of the largest estimate, -1 without arms."""
        _ = self._current
        return self._greedy

    @property
    def estimates(self) -> Floats:
        """Every arm's estimated mean reward, (K,)."""
        _ = self._current
        return shown(self._estimates)

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""
        _ = self._current
        return self._estimates.item(arm)

    @property
    def widths(self) -> Floats:
        """Every arm's width, (K,)."""
        hybrid, widths = self._current, self._widths
        if widths is None:
            widths = self._widths = self._some(hybrid.widths(self._context, self._rows))
        return shown(widths)

    def width(self, arm: int) -> float:
        """One arm's width."""
        return self.widths.item(arm)

    def radii(self, noise: float, bound: float, delta: float, mixture: bool = False) -> float:
        """The confidence radius of all arms, which share a parameter."""
        return confidence_radius(self.log_det_ratio, self.penalty, noise, bound, delta, mixture)

    def upper(self, radius: Radius) -> Floats:
        """Every arm's upper bound: estimate + radius width."""
        found: Floats = self._estimates + radius_of(radius) * self.widths
        return found

    def perturbed(self, scale: Radius, direction: Floats) -> Floats:
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""
        moved = self._current.deviations(self._context, self._rows, radius_of(scale), direction)
        found: Floats = self._estimates + self._some(moved)
        return found

    def scores(self, theta: Floats) -> Floats:
        """Every arm's x'theta under any parameter, (d,)."""
        arms, dim, _ = self._hybrid.ties.shape
        own, shared = np.split(np.asarray(theta), [arms * dim])
        found: Floats = products(own.reshape(arms, dim).T, self._context) + products(self._rows.T, shared)
        return self._some(found)

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (d,)."""
        hybrid, width, theta = self._current, self.width(arm), self.theta
        if width == 0.0:
            return theta
        place = self._place(arm)
        block, below = hybrid.own.solved[place, :-1], hybrid.shared.solved[0, :-1]
        untold = hybrid.untold(self._context, self._rows)[:, place]
        shared = below.T @ (below @ untold)  # V^-1 (x, z), by parts
        own = -(hybrid.ties @ shared)
        own[place] += block.T @ (block @ self._context)
        found: Floats = theta + radius_of(radius, arm) / width * np.concatenate([own.ravel(), shared])
        return found

    def design_row(self, arm: int, features: Floats | None = None) -> ArmRow:
        """What the reward of an arm is learnt on: its index among all, the context and shared features."""
        if features is not None:
            raise InvalidChoice(f"a reward cannot be learnt on the features of a Choice: {NO_ROWS}")
        place = self._place(arm)
        return ArmRow(place, np.concatenate([self._context, self._rows[place]]))

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of every arm, (2, K)."""
        return shown(np.array(self._some(self._current.own.counts)))

    def sums(self) -> Floats:
        """Sums of one regression, with their carries, (2, d + 1, d); arms that are gone are eliminated."""
        hybrid = self._current
        arms, dim, shared = hybrid.ties.shape
        own = arms * dim
        found = np.zeros((2, self.dim + 1, self.dim))
        for half in range(2):
            sums = hybrid.own.sums[:, half]
            found[half, :own, :own] = block_diagonal(sums[:, :-1])
            found[half, -1, :own] = sums[:, -1].ravel()
            found[half, own:-1, :own] = hybrid.cross[:, half].reshape(-1, shared).T
            found[half, own:, own:] = hybrid.common[half]
        return found
