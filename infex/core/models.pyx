"""What a run learns, as the general loop reads and updates it; `models.pxd` names the kinds."""

import numpy as np

from libc.math cimport log, sqrt
from libc.string cimport memcpy, memset
from numpy.random.c_distributions cimport random_standard_normal

from infex.core.choosing cimport (
    GREEDY, LINTS_SPHERICAL, LINUCB, READS_NOTHING, READS_SCORES, READS_WIDTHS, ROUND_ROBIN, UNIFORM, Kind,
    choose, greedy_arm, is_plain, kind_at, law_size, pick, radius_at, to_probabilities, uniform_arm,
)
from infex.core.estimators cimport descend, lay_out, solve_least_squares, sparse_size
from infex.core.ridge cimport (
    absorb, distances, dot, estimates, larger, learn, log_det_ratio, product, square_widths, upper, whole_sums,
)

cdef extern from "<math.h>" nogil:
    double INFINITY

cdef extern from "loops.h" nogil:
    double largest(const double *scores, int64_t K)
    double tie_bar(double top)


cdef class Model:
    """What a run has learnt of its arms.

    In each round the loop calls `offer`; then `choose`, by the base, or `greedy_arm`; and `update` with the reward and
    the `row` that it is learnt on. Where rewards are late, it says which are to be expected.
    """

    cdef bint is_apart_from(self, Model other) except -1:
        """Is it another model of this kind, over as many features and arms, in memory of its own?"""
        return (
            self is not other and type(self) is type(other) and self.arms == other.arms and self.dim == other.dim
            and self.changing == other.changing
        )

    cdef int prepare(self, Base base, bint narrows) except -1:
        """A base will be asked; with `narrows`, decisions that are pending narrow what it reads."""
        if narrows:
            raise ValueError("pending decisions narrow a RegressionModel alone")
        return 0

    cdef void offer(self, const double *offered) noexcept nogil:
        """Reads the arms or the context of a round from the caller's memory; NULL: no more."""

    cdef const double *row(self, int64_t arm) noexcept nogil:
        """What a reward of an arm on offer is learnt on, (dim,)."""

    cdef int64_t greedy_arm(self, bint random_ties, bitgen_t *rng) noexcept nogil:
        """The arm of the largest estimate; -1 if no estimate is a number."""

    cdef int64_t choose(self, const Settings *base, double *policy_state, int64_t t, bitgen_t *rng,
                        bint *explored) noexcept nogil:
        """The arm of a base in round t, -1 if no score is a number, and whether it was chosen to explore."""

    cdef int update(self, int64_t arm, const double *x, double reward, bint is_arm) except -1 nogil:
        """Takes in a reward that is learnt on x, which is the arm's own row, or, if not `is_arm`, another."""

    # Rewards that come late

    cdef void set_warm_start(self) noexcept nogil:
        """A decision was taken: the next search starts from the present estimate, whatever arrives meanwhile."""

    cdef double information(self, int64_t arm) noexcept nogil:
        """The weight in V of a reward of an arm on offer."""
        return 1.0

    cdef void add_pending(self, int64_t arm, const double *x, double weight, int64_t sign) noexcept nogil:
        """A decision is pending from now on (1), or no more (-1)."""

    # What controls read

    cdef double estimated_loss(self, int64_t arm) noexcept nogil:
        """How far the estimate of an arm is below the best."""

    cdef bint is_certain(self, const Radius *radius) noexcept nogil:
        """Does the greedy arm's lower bound exceed every other arm's upper bound?"""

    cdef void compare(self, double *gaps, double *widths) noexcept nogil:
        """In `gaps` how far each arm's estimate is below the greedy arm's, in `widths` the width of that difference."""


cdef class SharedModel(Model):
    """One theta for all arms, from the sums of a ridge."""

    cdef int _begin(self, Ridge ridge, bint changing) except -1:
        cdef State *s = &ridge.state
        self.ridge, self.state, self.own_columns, self.x = ridge, s, s.columns, np.zeros(s.d)
        self.arms, self.dim, self.changing, self.offer_shape = s.K, s.d, changing, (s.d, s.K)
        return 0

    cdef bint is_apart_from(self, Model other) except -1:
        return Model.is_apart_from(self, other) and self.ridge is not (<SharedModel>other).ridge

    @property
    def log_det_ratio(self):
        """log(det V/det V_0)."""
        return 0.0 if self.ridge is None else log_det_ratio(self.state)

    cdef void offer(self, const double *offered) noexcept nogil:
        self.state.columns = self.own_columns if offered is NULL else offered

    cdef const double *row(self, int64_t arm) noexcept nogil:
        cdef int64_t i
        for i in range(self.dim):
            self.x[i] = self.state.columns[i * self.arms + arm]
        return &self.x[0]

    cdef int64_t choose(self, const Settings *base, double *policy_state, int64_t t, bitgen_t *rng,
                        bint *explored) noexcept nogil:
        return choose(base, self.state, False, policy_state, t, rng, explored)

    cdef int update(self, int64_t arm, const double *x, double reward, bint is_arm) except -1 nogil:
        if self._count(arm, reward, is_arm):
            learn(self.state, arm, reward)
        else:
            absorb(self.state, x, reward, 1.0)
        return 0

    cdef bint _count(self, int64_t arm, double reward, bint is_arm) noexcept nogil:
        """Counts a reward; True if it is one of a fixed arm."""
        self.state.told += 1.0
        if self.changing or not is_arm:
            return False
        self.state.pulls[arm] += 1.0
        self.state.rewards[arm] += reward
        return True


cdef class RegressionModel(SharedModel):
    """One theta for all arms, by ridge regression or by the estimator `fit` in its place.

    `ridge` has the arms as columns; if they are `changing`, as many as there are in a round. Rewards have the `weights`
    of their arms, if there is an estimator; if it is `logistic`, scores are log-odds.
    """

    def __cinit__(self, Ridge ridge not None, *, bint changing=False, Fit fit=None, weights=None, bint logistic=False):
        cdef State *s = &ridge.state
        self._begin(ridge, changing)
        self.fit, self.logistic, self.warm_start, self.law = fit, logistic, np.zeros(0), np.zeros(0)
        self.fresh = READS_NOTHING if changing else READS_WIDTHS
        if fit is None:
            return
        if fit.dim != s.d:
            raise ValueError(f"an estimator of {fit.dim} features cannot learn {s.d}")
        self.weights = np.ones(s.K) if weights is None else np.array(weights, dtype=np.float64)
        if self.weights.shape[0] != s.K:
            raise ValueError(f"there must be {s.K} weights, got {len(weights)}")
        self._fit(s.x, 0.0, 0.0)
        if fit.search_start >= 0:
            self.warm_start = np.zeros(s.d)
            self.set_warm_start()

    cdef bint is_apart_from(self, Model other) except -1:
        return SharedModel.is_apart_from(self, other) and (
            self.fit is None or self.fit is not (<RegressionModel>other).fit
        )

    cdef void offer(self, const double *offered) noexcept nogil:
        SharedModel.offer(self, offered)
        self.fresh = READS_NOTHING

    cdef void _read(self, Reads reads) noexcept nogil:
        """Brings scores and squared widths up to date, as far as they are read."""
        cdef State *s = self.state
        if self.fresh < READS_SCORES <= reads:
            product(s.columns, s.K, s.theta, s.d, s.scores)
        if self.fresh < READS_WIDTHS <= reads:
            square_widths(s.columns, s.K, s.M, s.d, s.squares, s.along, s.floors)
        self.fresh = max(self.fresh, reads)

    cdef int64_t greedy_arm(self, bint random_ties, bitgen_t *rng) noexcept nogil:
        self._read(READS_SCORES)
        return greedy_arm(self.state, self.logistic, random_ties, rng)

    cdef int64_t choose(self, const Settings *base, double *policy_state, int64_t t, bitgen_t *rng,
                        bint *explored) noexcept nogil:
        cdef State *s = self.state
        if self.pending is not None and self.pending.count > 0:
            s = self._narrowed(base.reads)
        else:
            self._read(base.reads)
        s.law = &self.law[0] if self.law.shape[0] > 0 else NULL
        return choose(base, s, self.logistic, policy_state, t, rng, explored)

    cdef int update(self, int64_t arm, const double *x, double reward, bint is_arm) except -1 nogil:
        if self.fit is None:
            return SharedModel.update(self, arm, x, reward, is_arm)
        self._count(arm, reward, is_arm)
        return self._fit(x, reward, self.weights[arm])

    cdef int _fit(self, const double *x, double reward, double weight) except -1 nogil:
        """The estimator takes in a reward, searching from the estimate of the last decision."""
        cdef State *s = self.state
        if self.warm_start.shape[0] > 0:
            memcpy(self.fit.numbers + self.fit.search_start, &self.warm_start[0], s.d * sizeof(double))
        s.run.log_det_ratio = self.fit.take(x, reward, weight, s.M)
        if not self.changing:
            product(s.columns, s.K, s.theta, s.d, s.scores)
            self.fresh = READS_SCORES
        return 0

    cdef void set_warm_start(self) noexcept nogil:
        if self.warm_start.shape[0] > 0:
            memcpy(&self.warm_start[0], self.fit.numbers + self.fit.search_start, self.dim * sizeof(double))

    cdef double information(self, int64_t arm) noexcept nogil:
        """1, or p (1 - p) where the reward is 1 with probability p."""
        cdef double p
        if not self.logistic:
            return 1.0
        self._read(READS_SCORES)
        p = self.state.scores[arm]
        to_probabilities(&p, 1)
        return p * (1.0 - p)

    cdef int prepare(self, Base base, bint narrows) except -1:
        if narrows:
            self.pending = Pending(self.dim, 0 if self.changing or self.logistic else self.arms)
            self.narrowed = Ridge(self.ridge.columns, self.state.penalty, None, False)
        size = law_size(&base.settings, self.dim, self.arms)
        if size > self.law.shape[0]:
            self.law = np.empty(size)
        return 0

    cdef void add_pending(self, int64_t arm, const double *x, double weight, int64_t sign) noexcept nogil:
        if self.pending is None:
            return
        if self.pending.K > 0:
            self.pending.add_arm(arm, sign)
        else:
            self.pending.add(x, weight, sign)

    cdef State *_narrowed(self, Reads reads) noexcept nogil:
        """What a base reads with all that is pending in V."""
        cdef State *s = self.state
        cdef State *out = &self.narrowed.state
        out.columns, out.pulls, out.rewards, out.told = s.columns, s.pulls, s.rewards, s.told
        self.pending.narrow(s, out)
        whole_sums(s)
        memcpy(out.sums, s.whole, 2 * (s.d + 1) * s.d * sizeof(double))
        if reads == READS_WIDTHS:
            square_widths(out.columns, out.K, out.M, out.d, out.squares, out.along, out.floors)
        if not self.changing:
            estimates(s.scores, s.along, s.K, s.run.phi, out.scores)
        elif reads >= READS_SCORES:
            product(out.columns, out.K, out.theta, out.d, out.scores)
        return out

    cdef double estimated_loss(self, int64_t arm) noexcept nogil:
        cdef int64_t best = self.greedy_arm(False, NULL)
        return max(self.state.room[best] - self.state.room[arm], 0.0) if best >= 0 else 0.0

    cdef bint is_certain(self, const Radius *radius) noexcept nogil:
        cdef State *s = self.state
        cdef double beta = radius_at(radius, log_det_ratio(s), s.penalty), lower, top = -INFINITY
        cdef int64_t best, k
        self._read(READS_WIDTHS)
        best = self.greedy_arm(False, NULL)
        if best < 0:
            return False
        upper(s.scores, s.squares, s.along, s.K, s.run.phi, s.run.psi, -beta, s.room)
        if self.logistic:
            to_probabilities(s.room, s.K)
        lower = s.room[best]
        upper(s.scores, s.squares, s.along, s.K, s.run.phi, s.run.psi, beta, s.room)
        if self.logistic:
            to_probabilities(s.room, s.K)
        for k in range(s.K):
            if k != best:
                top = larger(top, s.room[k])
        return lower > top

    cdef void compare(self, double *gaps, double *widths) noexcept nogil:
        cdef State *s = self.state
        cdef int64_t best = self.greedy_arm(False, NULL), k
        if best < 0:
            return
        self._read(READS_WIDTHS)
        for k in range(s.K):
            gaps[k] = larger(s.room[best] - s.room[k], 0.0)
        distances(s, best, s.room if self.logistic else NULL, s.sample, widths)


cpdef double fading_strength(double scale, double of_n, double of_d, double rewards, double dim) noexcept nogil:
    """scale sqrt((of_n log n + of_d log d)/n), the strength of LASSO after n rewards of d features."""
    cdef double n = max(rewards, 1.0)
    return scale * sqrt((of_n * log(n) + of_d * log(dim)) / n)


cpdef double least_estimate(double top, double keep) noexcept nogil:
    """The estimate from which on forced rounds keep an arm: within keep/2 of the `top` one, or tied with that."""
    return tie_bar(top) - keep / 2.0


cdef class LassoModel(SharedModel):
    """One theta for all arms, by LASSO where a greedy round reads it; least squares where the strength is 0.

    After n rewards of d features the strength is `strength` + `fading` sqrt((`of_n` log n + `of_d` log d)/n). Greedy
    rounds play the best of the arms that `screen` keeps, if there is one: those whose estimate by that other model is
    within `keep`/2 of its best. Least squares of arms that differ much in length depends on the last bits of sums: so
    `ridge` adds rewards up by runs, and what is estimated is solved from its sums.
    """

    def __cinit__(self, Ridge ridge not None, *, bint changing=False, double strength=0.0, double fading=0.0,
                  double of_n=1.0, double of_d=1.0, LassoModel screen=None, double keep=0.0):
        cdef int64_t d = ridge.state.d, K = ridge.state.K
        settings = {"strength": strength, "fading": fading, "of_n": of_n, "of_d": of_d, "keep": keep}
        for name, value in settings.items():
            if not 0.0 <= value < float("inf"):
                raise ValueError(f"{name} must be a number of at least 0, got {value}")
        self._begin(ridge, changing)
        if screen is not None and not screen.is_apart_from(self):
            raise ValueError("screen must be another model over as many features and arms")
        self.strength, self.fading, self.of_n, self.of_d, self.keep = strength, fading, of_n, of_d, keep
        self.screen, self.screened, self.kept, self.n_kept = screen, -1.0, np.arange(K), K
        self.theta, self.scores, self.kept_scores = np.zeros(d), np.zeros(K), np.zeros(K)
        self.moment, self.gram, self.memory = np.zeros(d), np.zeros((d, d)), np.zeros(sparse_size(d))
        lay_out(&self.room, &self.memory[0], d)

    cdef int prepare(self, Base base, bint narrows) except -1:
        if base.settings.reads != READS_NOTHING:
            raise ValueError("a base beside LASSO must be one that reads nothing of the arms")
        return SharedModel.prepare(self, base, narrows)

    cdef int64_t greedy_arm(self, bint random_ties, bitgen_t *rng) noexcept nogil:
        cdef int64_t k, place
        self._keep_arms()
        self._score()
        for k in range(self.n_kept):
            self.kept_scores[k] = self.scores[self.kept[k]]
        place = pick(&self.kept_scores[0], self.n_kept, random_ties, rng) if self.n_kept > 0 else -1
        return self.kept[place] if place >= 0 else -1

    cdef void _keep_arms(self) noexcept nogil:
        """Keeps the arms whose estimates by `screen` are near its best."""
        cdef double least
        cdef int64_t k
        if self.screen is None or (self.screened == self.screen.state.told and not self.changing):
            return
        self.screen._score()
        self.screened, self.n_kept = self.screen.state.told, 0
        least = least_estimate(largest(&self.screen.scores[0], self.arms), self.keep)
        for k in range(self.arms):
            if self.screen.scores[k] >= least:
                self.kept[self.n_kept] = k
                self.n_kept += 1

    cdef void _score(self) noexcept nogil:
        """In `scores` every arm's estimate."""
        cdef State *s = self.state
        cdef int64_t d = s.d, size = (d + 1) * d, i, j
        cdef double strength = self.strength + fading_strength(self.fading, self.of_n, self.of_d, s.told, d)
        cdef double by = 1.0 if strength == 0.0 else s.told
        cdef double *theta = &self.theta[0]
        memset(theta, 0, d * sizeof(double))
        if s.told > 0.0:
            whole_sums(s)
            for i in range(d):
                self.moment[i] = (s.whole[d * d + i] + s.whole[size + d * d + i]) / by
                for j in range(i + 1):
                    self.gram[i, j] = (s.whole[i * d + j] + s.whole[size + i * d + j]) / by
                    self.gram[j, i] = self.gram[i, j]
            if strength == 0.0:
                solve_least_squares(&self.gram[0, 0], &self.moment[0], d, theta, &self.room)
            else:
                descend(&self.gram[0, 0], &self.moment[0], strength, theta, d, &self.room)
        product(s.columns, s.K, theta, d, &self.scores[0])


cdef class DisjointModel(Model):
    """A theta for each arm, on contexts: a bank of ridges."""

    def __cinit__(self, RidgeBank bank not None):
        self.bank, self.radii, self.directions = bank, np.zeros(bank.K), np.zeros((bank.K, bank.c))
        self.arms, self.dim, self.changing, self.offer_shape = bank.K, bank.c, True, (bank.c,)

    cdef bint is_apart_from(self, Model other) except -1:
        return Model.is_apart_from(self, other) and self.bank is not (<DisjointModel>other).bank

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all arms together."""
        return self.bank.log_det_ratio

    cdef int prepare(self, Base base, bint narrows) except -1:
        if not is_plain(&base.settings):
            raise ValueError("kinds after HYBRID_TS and wraps cannot be played in contexts")
        self.base = base
        for k in range(self.arms):
            self._set_radius(k)
        return Model.prepare(self, base, narrows)

    cdef void offer(self, const double *offered) noexcept nogil:
        self.context = offered

    cdef const double *row(self, int64_t arm) noexcept nogil:
        return self.context

    cdef int64_t greedy_arm(self, bint random_ties, bitgen_t *rng) noexcept nogil:
        self.bank.score(self.context)
        return pick(self.bank.scores, self.arms, random_ties, rng)

    cdef int64_t choose(self, const Settings *base, double *policy_state, int64_t t, bitgen_t *rng,
                        bint *explored) noexcept nogil:
        cdef Kind kind = kind_at(base, t, rng)
        cdef double *indices = self.bank.widths
        cdef int64_t k
        explored[0] = kind != GREEDY
        if kind == ROUND_ROBIN:
            return (t - 1) % self.arms
        if kind == UNIFORM:
            return uniform_arm(self.arms, rng)
        if kind == GREEDY:
            return self.greedy_arm(base.random_ties, rng)
        self.bank.score(self.context)
        if kind == LINUCB:
            self.bank.widen(self.context)
            for k in range(self.arms):
                indices[k] = self.bank.scores[k] + self.radii[k] * self.bank.widths[k]
        else:
            self._draw_directions(rng)
            self.bank.perturb(self.context, &self.directions[0, 0], &self.radii[0])
        return pick(indices, self.arms, base.random_ties, rng)

    cdef int update(self, int64_t arm, const double *x, double reward, bint is_arm) except -1 nogil:
        self.bank.learn(arm, x, reward, 1.0)
        if self.base is not None:
            self._set_radius(arm)
        return 0

    cdef void _set_radius(self, int64_t arm) noexcept nogil:
        cdef const Settings *base = &self.base.settings
        self.radii[arm] = self._radius(&base.radius, arm) + base.bonus

    cdef double _radius(self, const Radius *radius, int64_t arm) noexcept nogil:
        """The confidence radius of an arm, by its own determinant."""
        return radius_at(radius, self.bank.all_runs[arm].log_det_ratio, self.bank.state.penalty)

    cdef void _draw_directions(self, bitgen_t *rng) noexcept nogil:
        """A normal vector for each arm, or, if sampling is spherical, a direction of length sqrt(c)."""
        cdef int64_t c = self.dim, k, i
        cdef double length
        for k in range(self.arms):
            for i in range(c):
                self.directions[k, i] = random_standard_normal(rng)
            if self.base.settings.kind == LINTS_SPHERICAL:
                length = sqrt(c / dot(&self.directions[k, 0], &self.directions[k, 0], c))
                for i in range(c):
                    self.directions[k, i] *= length

    cdef double estimated_loss(self, int64_t arm) noexcept nogil:
        cdef int64_t best = self.greedy_arm(False, NULL)
        return max(self.bank.scores[best] - self.bank.scores[arm], 0.0) if best >= 0 else 0.0

    cdef bint is_certain(self, const Radius *radius) noexcept nogil:
        cdef int64_t best = self.greedy_arm(False, NULL), k
        cdef double margin, lower = 0.0, top = -INFINITY
        if best < 0:
            return False
        self.bank.widen(self.context)
        for k in range(self.arms):
            margin = self._radius(radius, k) * self.bank.widths[k]
            if k == best:
                lower = self.bank.scores[k] - margin
            else:
                top = larger(top, self.bank.scores[k] + margin)
        return lower > top

    cdef void compare(self, double *gaps, double *widths) noexcept nogil:
        cdef int64_t best = self.greedy_arm(False, NULL), k
        if best < 0:
            return
        self.bank.widen(self.context)
        for k in range(self.arms):
            gaps[k] = larger(self.bank.scores[best] - self.bank.scores[k], 0.0)
            widths[k] = 0.0 if k == best else sqrt(
                self.bank.widths[k] * self.bank.widths[k] + self.bank.widths[best] * self.bank.widths[best]
            )
