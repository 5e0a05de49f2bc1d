"""A ridge for each arm, tied by features that all arms share: what was learnt, and what policies read of it.

theta_k of each arm and beta of all are those of one ridge regression on (x in block k, z). A reward costs
O(c^2 + c s + s^2), and all takes O(s^2 + K (c^2 + c s)) numbers; `core.hybrid` explains the algebra.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers, fitting, shown, within
from infex.core.bank import RidgeBank, greedy, products
from infex.core.hybrid import Hybrid
from infex.core.pending import expect_in_hybrid
from infex.errors import DamagedFile, InvalidChoice, NotKept, StalePosterior
from infex.models.base import Arrays, ModelPosterior
from infex.models.extension import AS_THEY_ARE, FeatureExtension, times_pairs
from infex.models.layout import (
    GONE,
    ArmRow,
    ContextOffer,
    DesignRow,
    DesignRows,
    Layout,
    Offer,
    PerArm,
    Radius,
    radius_at,
)
from infex.models.noise import (
    NoiseEstimate,
    NoiseSums,
    RidgeSolution,
    all_arms_in,
    inverted,
    noise_sums_kept,
    residual_variance,
    standard_errors_of,
)
from infex.models.ridge import checked_penalty, confidence_radius, one_radius
from infex.models.ridge_bank import (
    NO_ARMS,
    NO_ROWS,
    arm_row,
    arms_and_rows,
    per_arm_layout,
    restored_bank,
)
from infex.models.sums import Moments, Revision, SufficientStatistics, diagonal_of

OF_THE_SHARED = "shared "
MOST_VOLUME = 1e12
STALE = "the model has learnt since this posterior was read; ask for a new one, or keep a copy()"


@final
class HybridModel:
    """theta_k for each arm and beta for all, by ridge regression.

    `hybrid` holds all numbers, and `scatter` the sum of squared rewards. Rewards of arms that were removed
    stay in beta.
    """

    __slots__ = ("columns", "hybrid", "layout", "scatter")

    is_least_squares = True

    def __init__(self, layout: PerArm, penalty: float = 1.0) -> None:
        self.layout, self.scatter = layout, NoiseSums()
        self.hybrid = Hybrid(*layout, checked_penalty(penalty))
        self.columns: Floats = np.empty((layout.parameters, 0))  # none are fixed

    @property
    def n_observations(self) -> int:
        """How many rewards were learnt, those of arms that are gone included."""
        return self.hybrid.told

    @property
    def penalty(self) -> float:
        """That of all parameters."""
        return self.hybrid.own.penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self.hybrid.own.counts

    def posterior(self) -> HybridPosterior:
        """What is known as of now; of arms it tells in a context (`on`)."""
        return HybridPosterior(self.hybrid)

    def pending(self) -> HybridPendingSums:
        """Sums over no pending decision."""
        return HybridPendingSums.of(self.layout)

    def check_reward(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        """The weight itself."""
        return weight

    def set_warm_start(self) -> None:
        """Nothing is searched for."""

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm in a context; nothing, if the arm is gone."""
        arm, row = arm_row(on)
        if arm != GONE:
            self.hybrid.update(arm, row, reward, weight)
            self.scatter.squares += weight * reward * reward

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        self.hybrid.update_many(*arms_and_rows(design), rewards, weights)
        self._add_squares(design.place >= 0, rewards, weights)

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        self.hybrid.gather(*arms_and_rows(design), rewards, weights)
        self._add_squares(design.place >= 0, rewards, weights)

    def _add_squares(self, stands: Bools, rewards: Floats, weights: Floats) -> None:
        self.scatter.update_many(rewards[stands], weights[stands])

    def observation_number(self, on: DesignRow) -> int:
        """How many rewards were learnt."""
        return self.n_observations

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none.

        NotKept for an arm that is gone: what its rewards told of the shared features stays as one sum.
        """
        arm, row = arm_row(revision.on)
        if arm == GONE:
            raise NotKept(
                "the arm of this decision was removed: what its rewards told of features that arms share is "
                "kept as one sum, in which no single reward can be changed"
            )
        self.hybrid.revise(arm, row, revision.before, revision.after, float(revision.weight))
        if not self.scatter.revised(revision):
            self._begin_scatter()

    def merge(self, other: HybridModel, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        more = other.hybrid
        sums = more.own.sums, more.own.counts, more.cross, more.common
        self.hybrid.add(*sums, places, more.own.told, more.told, more.gone)
        if not self.scatter.joined(other.scatter):
            self._begin_scatter()

    def sufficient_statistics(self) -> SufficientStatistics:
        """All that was learnt, as sums."""
        hybrid = self.hybrid
        truth = np.concatenate([hybrid.own.sums, np.swapaxes(hybrid.cross, -1, -2)], axis=-2)
        return SufficientStatistics(
            truth, np.array(self.counts), self.n_observations, np.array(hybrid.common)
        )

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        assert statistics.common is not None
        arms, dim, _ = self.layout
        sums = np.ascontiguousarray(statistics.truth[..., : dim + 1, :])
        cross = np.ascontiguousarray(np.swapaxes(statistics.truth[..., dim + 1 :, :], -1, -2))
        totals = int(statistics.counts[0].sum()), statistics.n_observations
        self.hybrid.add(sums, statistics.counts, cross, statistics.common, np.arange(arms), *totals)
        self._begin_scatter()

    def rearranged(self, layout: Layout, places: Integers) -> HybridModel:
        """What was learnt, over other arms: each at its old place, or new (-1).

        What rewards of an arm that goes have told of the shared features stays, with its own parameter
        unknown: beta and its widths are as they were.
        """
        other = HybridModel(per_arm_layout(layout), self.penalty)
        other.hybrid, other.scatter = self.hybrid.over(places), self.scatter.copy()
        gone = np.setdiff1d(np.arange(self.layout.arms), places)
        if self.counts[0, gone].any():
            other._begin_scatter()
        return other

    def arrays(self) -> Arrays:
        """What was learnt, and all that it takes to go on bit for bit."""
        hybrid = self.hybrid
        own, shared = hybrid.own, hybrid.shared
        kept = {"truth": own.sums, "factors": own.solved, "runs": own.runs, "counts": own.counts}
        kept |= {"tied": hybrid.ties, "cross": hybrid.cross, "common": hybrid.common}
        kept |= {f"{OF_THE_SHARED}{name}": array for name, array in _parts_of(shared).items()}
        figures = {"told": hybrid.told, "pulled": own.told, "gone": hybrid.gone}
        found = {name: np.array(value) for name, value in (kept | figures).items()}
        return found | {"squares": np.array(self.scatter.figures)}

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; what is derived is computed anew if it is not there."""
        arms, dim, shared = self.layout
        n_observations = int(fitting("told", arrays["told"], (), whole=True))
        gone = float(within("the log_det_ratio of arms that are gone", arrays["gone"], (), 0.0, MOST_VOLUME))
        own = restored_bank(self.hybrid.own, arrays | {"told": arrays["pulled"]})
        if own.told > n_observations:
            raise DamagedFile(f"its arms have learnt {own.told} rewards, and all together {n_observations}")
        cross = fitting("cross", arrays["cross"], (arms, 2, dim, shared))
        common = fitting("common", arrays["common"], (2, shared + 1, shared))
        ties, left = None, None
        if "tied" in arrays:
            ties, left = fitting("tied", arrays["tied"], (arms, dim, shared)), self._shared_of(arrays)
        fresh = Hybrid(*self.layout, self.penalty)
        fresh.restore(own, left, ties, cross, common, gone, n_observations)
        if not (np.isfinite(fresh.ties).all() and np.isfinite(fresh.shared.solved).all()):
            raise DamagedFile("beta is not finite: the sums in it are no sums of x x'")
        kept = noise_sums_kept(arrays["squares"], n_observations) if "squares" in arrays else None
        self.hybrid = fresh
        if kept is None:
            self._begin_scatter()
        else:
            self.scatter = kept

    def _shared_of(self, arrays: Arrays) -> RidgeBank:
        """The ridge of what arms do not tell of shared features, of a file."""
        bank = RidgeBank(1, self.layout.shared, self.penalty)
        names = _parts_of(bank)
        parts = {name: fitting(name, arrays[f"{OF_THE_SHARED}{name}"], names[name].shape) for name in names}
        bank.restore(parts["truth"], parts["factors"], parts["runs"], np.zeros((2, 1)), 0)
        return bank

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says of every arm in a context."""
        assert isinstance(offer, ContextOffer), offer
        assert offer.rows is not None
        arms, contexts = all_arms_in(self.layout.arms, offer.context)
        return self.noise_estimate_of(arms, np.hstack([contexts, offer.rows]), most)

    def noise_estimate_of(self, arms: Integers, rows: Floats, most: float = 0.0) -> NoiseEstimate:
        """The same of arms k, each in a context, with its shared features behind it, (n, c + s).

        V^-1 (x, z) is w = V_0^-1 (z - G_k'x) of the shared features, A_k^-1 x - G_k w of the arm and -G_j w
        of each other. Once arms are gone, whose G_j are not kept, its length is not known: then the penalty
        draws an estimate by no more than sqrt(penalty) times the width, for a theta of length 1.
        """
        solved, penalty = HybridSolution.of(self.hybrid), self.penalty
        x, z, ties = *np.hsplit(rows, [self.layout.dim]), solved.ties[arms]
        untold = z - np.einsum("ncs,nc->ns", ties, x)
        common = untold @ solved.shared.inverse
        alone = np.einsum("nij,nj->ni", solved.inverses[arms], x)
        others = np.einsum("ncs,ns->nc", ties, common)
        longs = _squares(common) + _squares(alone - others) - _squares(others)
        longs += np.einsum("ns,st,nt->n", common, _squared(solved.ties), common)
        widths = np.einsum("nc,nc->n", alone, x) + np.einsum("ns,ns->n", common, untold)
        lost = self.hybrid.gone > 0.0
        lean = np.sqrt(penalty * widths) if lost else penalty * np.sqrt(np.maximum(longs, 0.0))
        freedom = self.scatter.freedom(self.n_observations, solved.spent)
        left = self.scatter.left(solved.fitted, penalty * solved.length**2)
        noise = residual_variance(left, freedom, freedom, most)
        estimates = np.einsum("nc,nc->n", solved.alone[arms], x) + untold @ solved.shared.theta
        return standard_errors_of(estimates, widths - penalty * longs, noise, lean, freedom, solved.length)

    def _begin_scatter(self) -> None:
        """Of the rewards so far no more than their sums is known."""
        solved = HybridSolution.of(self.hybrid)
        self.scatter = NoiseSums(max(solved.fitted, 0.0), float(self.n_observations), solved.spent)


class HybridSolution(NamedTuple):
    """A_k^-1 and theta_k0 of each arm, G_k = A_k^-1 B_k, the shared ridge, and what the fit takes in all."""

    inverses: Floats
    alone: Floats
    ties: Floats
    shared: RidgeSolution
    fitted: float
    spent: float
    length: float

    @staticmethod
    def of(hybrid: Hybrid) -> HybridSolution:
        """From sums."""
        own, penalty = hybrid.own.sums.sum(axis=1), hybrid.own.penalty
        lower, moments = np.tril(own[:, :-1]), own[:, -1]
        inverses = inverted(lower + np.swapaxes(np.tril(lower, -1), -1, -2), penalty)
        alone = np.einsum("kij,kj->ki", inverses, moments)
        ties, shared = inverses @ hybrid.cross.sum(axis=1), RidgeSolution.of(hybrid.shared.sums[0], penalty)
        fitted = float(np.sum(alone * moments)) + shared.fitted
        trace = np.trace(inverses, axis1=1, axis2=2).sum() + np.trace(shared.inverse)
        trace += np.sum(_squared(ties) * shared.inverse)
        thetas = alone - ties @ shared.theta
        length = float(np.sqrt(np.sum(thetas**2) + np.sum(shared.theta**2)))
        spent = alone.size + len(shared.theta) - penalty * float(trace)
        return HybridSolution(inverses, alone, ties, shared, fitted, spent, length)


def _squares(rows: Floats) -> Floats:
    found: Floats = np.einsum("ij,ij->i", rows, rows)
    return found


def _squared(ties: Floats) -> Floats:
    """sum G_k'G_k over all arms."""
    found: Floats = np.einsum("kcs,kct->st", ties, ties)
    return found


def _parts_of(bank: RidgeBank) -> Arrays:
    """What is kept of the shared ridge."""
    return {"truth": bank.sums, "factors": bank.solved, "runs": bank.runs}


@final
class HybridPosterior:
    """What is known of some arms in a context, (c,), with their shared features, (K, s), as of now.

    It reads `hybrid` in place: after that has learnt, reading raises StalePosterior, and `copy` gives one
    that stays. It answers as `RidgePosterior` does. `rows` are the shared features of all arms. Without
    `places` it is of all of them, and without a context of none. A row has the context in the arm's own
    block, and shared features at the end.
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

    def _some(self, numbers: Floats) -> Floats:
        """Numbers of all arms, (..., K): those of these arms."""
        return numbers if self._places is None else numbers[..., self._places]

    @property
    def _current(self) -> Hybrid:
        """What was learnt, if nothing was since."""
        self._check()
        return self._hybrid

    def _check(self) -> None:
        if self._hybrid.version != self._version:
            raise StalePosterior(STALE)

    @property
    def count(self) -> int:
        """K."""
        return self._estimates.size

    @property
    def dim(self) -> int:
        """How many parameters there are, those of arms that are not shown included."""
        arms, dim, shared = self._hybrid.ties.shape
        return int(arms * dim + shared)

    @property
    def drawn(self) -> tuple[int, ...]:
        """One draw for each parameter: what one draws depends on no mask."""
        return (self.dim,)

    @property
    def columns(self) -> Floats:
        """The arms, (d, K), made when they are asked for."""
        arms, dim, _ = self._hybrid.ties.shape
        places = np.arange(arms) if self._places is None else self._places
        own = np.zeros((places.size, arms, dim))
        own[np.arange(places.size), places] = self._context
        rows = np.hstack([own.reshape(places.size, arms * dim), self._rows[places]])
        return np.ascontiguousarray(rows.T)

    @property
    def penalty(self) -> float:
        """That of all parameters."""
        return self._hybrid.own.penalty

    @property
    def log_det_ratio(self) -> float:
        """log(det V/det V_0), with that of arms that were removed."""
        return self._current.log_det_ratio

    @property
    def _beta(self) -> Floats:
        """The parameter of shared features, (s,)."""
        return np.array(self._current.shared.solved[0, -1])

    @property
    def theta(self) -> Floats:
        """The parameters of all arms, one behind the other, and then those of shared features."""
        hybrid, beta = self._current, self._beta
        own: Floats = hybrid.own.solved[:, -1] - hybrid.ties @ beta
        return np.concatenate([own.ravel(), beta])

    @property
    def factor(self) -> Floats:
        """M of one regression of all, made when it is asked for; what arms share is in its last rows."""
        hybrid = self._current
        arms, dim, shared = hybrid.ties.shape
        factor = np.zeros((self.dim, self.dim))
        below = hybrid.shared.solved[0, :-1]
        factor[:-shared, :-shared] = diagonal_of(list(hybrid.own.solved[:, :-1]))
        factor[-shared:, -shared:] = below
        factor[-shared:, :-shared] = -below @ hybrid.ties.reshape(arms * dim, shared).T
        return factor

    @property
    def greedy(self) -> int:
        """The arm of the largest estimate, -1 without arms."""
        self._check()
        return self._greedy

    @property
    def estimates(self) -> Floats:
        """Every arm's estimated mean reward, (K,)."""
        self._check()
        return shown(self._estimates)

    def estimate(self, arm: int) -> float:
        """One arm's estimate."""
        self._check()
        return self._estimates.item(arm)

    @property
    def widths(self) -> Floats:
        """Every arm's width, (K,)."""
        hybrid, found = self._current, self._widths
        if found is None:
            found = self._widths = self._some(hybrid.widths(self._context, self._rows))
        return shown(found)

    def width(self, arm: int) -> float:
        """One arm's width."""
        return self.widths.item(arm)

    def radii(self, noise: float, bound: float, delta: float) -> float:
        """The confidence radius, one for all arms: they share a parameter."""
        return confidence_radius(self.log_det_ratio, self.penalty, noise, bound, delta)

    def upper(self, beta: Radius) -> Floats:
        """Every arm's upper bound: estimate + beta width."""
        found: Floats = self._estimates + one_radius(beta) * self.widths
        return found

    def perturbed(self, scale: Radius, direction: Floats) -> Floats:
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""
        moved = self._current.deviations(self._context, self._rows, one_radius(scale), direction)
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
        place = arm if self._places is None else self._places.item(arm)
        block, below = hybrid.own.solved[place, :-1], hybrid.shared.solved[0, :-1]
        untold = hybrid.untold(self._context, self._rows)[:, place]
        shared = below.T @ (below @ untold)  # V^-1 (x, z), by parts
        own = -(hybrid.ties @ shared)
        own[place] += block.T @ (block @ self._context)
        found: Floats = theta + radius_at(radius, arm) / width * np.concatenate([own.ravel(), shared])
        return found

    def on(self, offer: Offer) -> HybridPosterior:
        """What is known of all arms in another context."""
        if not isinstance(offer, ContextOffer):
            raise NotKept(NO_ROWS)
        return HybridPosterior(self._current, offer.context, offer.rows)

    def among(self, places: Integers) -> HybridPosterior:
        """What is known of some of the arms, at these places."""
        some = places if self._places is None else self._places[places]
        return HybridPosterior(self._current, self._context, self._rows, some, self._estimates[places])

    def narrowed(self, own: Integers, cross: Integers, common: Integers) -> HybridPosterior:
        """The same with sums over pending decisions in V; estimates stay as they are."""
        narrowed = self._current.narrowed(own, cross, common)
        return HybridPosterior(narrowed, self._context, self._rows, self._places, self._estimates)

    def copy(self) -> HybridPosterior:
        """The same, which stays as it is."""
        return HybridPosterior(self._current.copy(), self._context, self._rows, self._places, self._estimates)

    def design_row(self, arm: int, features: Floats | None) -> ArmRow:
        """The arm's own regression and the shared one, in this context."""
        if features is not None:
            raise InvalidChoice(f"a reward cannot be learnt on the features of a Choice: {NO_ROWS}")
        place = arm if self._places is None else self._places.item(arm)
        return ArmRow(place, np.concatenate([self._context, self._rows[place]]))

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of every arm, (2, K)."""
        return shown(np.array(self._some(self._current.own.counts)))

    @property
    def moments(self) -> Moments:
        """What was learnt, as sums of one regression, made when they are asked for.

        Arms that are gone are eliminated from them.
        """
        hybrid = self._current
        arms, dim, shared = hybrid.ties.shape
        own = arms * dim
        found = np.zeros((2, self.dim + 1, self.dim))
        for half in range(2):
            sums = hybrid.own.sums[:, half]
            found[half, :own, :own] = diagonal_of(list(sums[:, :-1]))
            found[half, -1, :own] = sums[:, -1].ravel()
            found[half, own:-1, :own] = hybrid.cross[:, half].reshape(-1, shared).T
            found[half, own:, own:] = hybrid.common[half]
        return Moments.of(found, hybrid.told)


@final
class HybridPendingSums:
    """Sums over pending decisions, in whole numbers.

    They are of x x', (K, 2, c, c), of x z', (K, 2, c, s), and of z z', (2, s, s).
    """

    __slots__ = ("_sums",)

    def __init__(self, own: Integers, cross: Integers, common: Integers) -> None:
        self._sums = own, cross, common

    @staticmethod
    def of(layout: PerArm) -> HybridPendingSums:
        """Those of no decisions."""
        arms, dim, shared = layout
        shapes = (arms, 2, dim, dim), (arms, 2, dim, shared), (2, shared, shared)
        return HybridPendingSums(*(np.zeros(shape, dtype=np.int64) for shape in shapes))

    def add(self, design: DesignRows, weights: Floats, times: int) -> None:
        """So many decisions on each of these more are pending, or fewer."""
        expect_in_hybrid(*self._sums, *arms_and_rows(design), weights, times)

    def none(self) -> HybridPendingSums:
        """Sums over no decision."""
        return HybridPendingSums(*(np.zeros_like(part) for part in self._sums))

    def copy(self) -> HybridPendingSums:
        """The same, which stays as it is."""
        return HybridPendingSums(*(part.copy() for part in self._sums))

    def rearranged(self, layout: Layout, places: Integers) -> HybridPendingSums:
        """A copy; what is pending of arms that go stays in what is shared, until it is summed anew."""
        other, known = HybridPendingSums.of(per_arm_layout(layout)), places >= 0
        for part, old in zip(other._sums[:2], self._sums[:2], strict=True):
            part[known] = old[places[known]]
        other._sums[2][:] = self._sums[2]
        return other

    def narrowed(self, known: ModelPosterior) -> ModelPosterior:
        """What is known, with these sums in V."""
        assert isinstance(known, HybridPosterior)
        return known.narrowed(*self._sums)


class HybridExtension(NamedTuple):
    """How features of each arm's own come to their new places, and the so many `shared` ones to theirs."""

    own: FeatureExtension
    common: FeatureExtension
    shared: int

    @property
    def scale(self) -> float:
        """What rows become of what they were."""
        return self.own.scale

    def rows(self, rows: Floats) -> Floats:
        """Rows of one arm's features each, (..., c + s)."""
        own, common = rows[..., : -self.shared], rows[..., -self.shared :]
        return np.concatenate([self.own.rows(own), self.common.rows(common)], axis=-1)

    def parameter(self, theta: Floats) -> Floats:
        """A parameter, (K c + s,), that gives the same scores."""
        own, common = theta[: -self.shared], theta[-self.shared :]
        return np.concatenate([self.own.parameter(own), self.common.parameter(common)])

    def arrays(self, kept: Arrays) -> Arrays:
        """All that statistics keep; what they derive from it is left out, and computed anew."""
        return {name: array for name in kept if (array := self._array(name, kept[name])) is not None}

    def _array(self, name: str, array: Floats) -> Floats | None:
        _, _, part = name.partition(" ")
        if part == "truth":
            return self.own.sums(array)
        if part == "common":
            return self.common.sums(array)
        if part == "cross":
            return self._cross(array)
        if part in (*AS_THEY_ARE, "pulled", "gone", "squares"):
            return array
        assert part in ("tied", "factors", "runs") or part.startswith(OF_THE_SHARED), part
        return None

    def _cross(self, cross: Floats) -> Floats:
        """Sums of x z' of each arm, (K, 2, c, s), pairs of floats."""
        arms, _, dim, shared = cross.shape
        found = np.zeros((arms, 2, self.own.size(dim), self.common.size(shared)))
        rows, columns = self.own.positions(dim), self.common.positions(shared)
        found[..., rows[:, None], columns] = times_pairs(cross, self.scale**2, axis=1)
        return found
